"""Lowers numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.operators import Operator as Arithmetic
from fencepost.spec.core.operators import result_range
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.kinds import (
    Never,
    NotLowered,
    Number,
    core,
    set_of,
)
from fencepost.spec.tla.lowering.names import Names
from fencepost.spec.tla.lowering.places import Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Term,
    is_total,
    literal,
)
from fencepost.spec.tla.syntax import tree


class Numbers(Names):
    """Lowers operators on numbers."""

    def _number(self, node: tree.Expr, env: Place) -> Term:
        term = self.written(self.expr(node, env))
        return self.only(term, Number, node.span, "a number is expected here")

    def _numbers(self, node: Any, env: Place) -> list[Term]:
        return [self._number(arg, env) for arg in node.args]

    def _arithmetic(self, node: Any, env: Place) -> Term:
        terms = self._numbers(node, env)
        for term in terms:
            if isinstance(term.kind, Never):
                return term
        operator = {
            "+": Arithmetic.ADD, "-": Arithmetic.SUBTRACT, "*": Arithmetic.MULTIPLY,
            "\\div": Arithmetic.DIVIDE, "%": Arithmetic.REMAINDER,
        }[node.name]  # fmt: skip
        left, right = terms
        if operator.row.divides:
            kind = right.kind
            assert isinstance(kind, Number)
            least = 1 if operator is Arithmetic.REMAINDER else None
            unknown = not right.is_constant or least is not None or right.value == 0
            if kind.low < 0 and unknown:
                raise NotLowered("the divisor may be negative")
            if kind.low == 0 and unknown:
                return self._divided(operator, left, right, node.span)
        ranges = [(t.kind.low, t.kind.high) for t in terms if isinstance(t.kind, Number)]
        low, high = result_range(operator, *ranges)
        kind = Number(low, high)
        expr = ir.Arithmetic(core(kind), operator, self.own(left), self.own(right))
        return Term(kind, expr)

    def _divided(self, operator: Arithmetic, left: Term, right: Term, span: Span) -> Term:
        """Divides by a number that is zero or positive."""
        assert isinstance(left.kind, Number)
        assert isinstance(right.kind, Number)
        if not right.kind.high:
            return self.failing(span, "division by zero")
        divisor = Number(1, right.kind.high)
        low, high = result_range(
            operator, (left.kind.low, left.kind.high), (divisor.low, divisor.high)
        )
        kind = Number(low, high)

        def divided(over: Term) -> Term:
            positive = ir.Less(literal(0), over.code)
            by = ir.Convert(core(divisor), over.code)
            result = Term(kind, ir.Arithmetic(core(kind), operator, self.own(left), by))
            return self.demand(positive, span, "division by zero", result)

        return self.shared(Term(right.kind, self.own(right)), divided)

    def _minus(self, node: Any, env: Place) -> Term:
        (term,) = self._numbers(node, env)
        if not isinstance(term.kind, Number):
            return term
        kind = Number(-term.kind.high, -term.kind.low)
        return Term(kind, ir.Negate(core(kind), self.own(term)))

    def _comparison(self, node: Any, env: Place) -> Term:
        left, right = self._numbers(node, env)
        for term in (left, right):
            if isinstance(term.kind, Never):
                return term
        if node.name in (">", ">="):
            # The operands are evaluated from left to right all the same.
            if not (is_total(self.own(left)) and is_total(self.own(right))):
                return self.shared(
                    left,
                    lambda a: self.shared(
                        right, lambda b: self.condition(self.less(b, a, node.name == ">="))
                    ),
                )
            left, right = right, left
        return self.condition(self.less(left, right, node.name in ("<=", ">=")))

    def less(self, left: Term, right: Term, or_equal: bool) -> Expr:
        """Compares two numbers."""
        assert isinstance(left.kind, Number)
        assert isinstance(right.kind, Number)
        first, second = self.own(left), self.own(right)
        if is_total(first) and is_total(second):
            a, b = left.kind, right.kind
            if a.high < b.low or (or_equal and a.high <= b.low):
                return TRUE
            if a.low > b.high or (not or_equal and a.low >= b.high):
                return FALSE
        return ir.Less(first, second, or_equal)

    def _interval(self, node: Any, env: Place) -> Term:
        low, high = self._numbers(node, env)
        for term in (low, high):
            if isinstance(term.kind, Never):
                return term
        assert isinstance(low.kind, Number)
        assert isinstance(high.kind, Number)
        number = Number(low.kind.low, high.kind.high)
        if number.low > number.high:
            return self.constant(frozenset())
        kind = set_of(number, number.high - number.low + 1)
        return Term(kind, ir.Interval(types.Set(core(number)), self.own(low), self.own(high)))

    BUILT_IN_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        **dict.fromkeys(("+", "-", "*", "\\div", "%"), _arithmetic), "-.": _minus,
        **dict.fromkeys(("<", "<=", ">", ">="), _comparison), "..": _interval,
    }  # fmt: skip
