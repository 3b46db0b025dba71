"""Lowers sequences, and functions that are made of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.operators import Operator as Arithmetic
from fencepost.spec.tla.inference.kinds import (
    NEVER,
    Fun,
    Kind,
    Never,
    NotLowered,
    Number,
    Partial,
    Seq,
    Tup,
    as_partial,
    as_sequence,
    core,
    join,
)
from fencepost.spec.tla.lowering.membership import Membership
from fencepost.spec.tla.lowering.places import Place
from fencepost.spec.tla.lowering.terms import (
    Term,
    conjunction,
    literal,
)
from fencepost.spec.tla.syntax import tree


class Sequences(Membership):
    """Lowers operators on sequences."""

    def _sequence(self, node: tree.Expr, env: Place) -> Term:
        """Lowers an expression to a sequence of any length, or to an error."""
        term = self.written(self.expr(node, env))
        if isinstance(term.kind, Never):
            return term
        term = self.only(term, (Seq, Tup, Fun, Partial), node.span, "a sequence is expected here")
        if isinstance(term.kind, Never):
            return term
        kind = as_sequence(term.kind)
        if kind is None:
            raise NotLowered("a function that may be no sequence is used as one")
        return Term(kind, self.into(term, kind))

    def _len(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        if not isinstance(term.kind, Seq):
            return term
        kind = Number(0, term.kind.capacity)
        return Term(kind, ir.Size(core(kind), term.code))

    def _head(self, node: Any, env: Place) -> Term:
        return self._nonempty(
            node, env, lambda e, k: Term(k.element, ir.At(core(k.element), e, literal(0)))
        )

    def _tail(self, node: Any, env: Place) -> Term:
        return self._nonempty(node, env, lambda e, k: Term(k, ir.RemoveAt(core(k), e, literal(0))))

    def _nonempty(self, node: Any, env: Place, make: Callable[[Expr, Seq], Term]) -> Term:
        term = self._sequence(node.args[0], env)
        if not isinstance(term.kind, Seq):
            return term
        message = f"{node.name} is applied to the empty sequence"
        kind = term.kind
        if not kind.capacity:
            return self.failing(node.span, message)

        def build(whole: Term) -> Term:
            size = ir.Size(types.Int(0, kind.capacity), whole.code)
            test = ir.Less(literal(0), size)
            return self.demand(test, node.span, message, make(whole.code, kind))

        return self.shared(term, build)

    def _append(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        item = self.written(self.expr(node.args[1], env))
        if not isinstance(term.kind, Seq):
            return term
        kind = Seq(join(term.kind.element, item.kind), term.kind.capacity + 1)
        whole = self.convert(term.code, term.kind, Seq(kind.element, term.kind.capacity))
        return Term(
            kind, ir.Add(core(kind), self.widened(whole, kind), self.into(item, kind.element))
        )

    def widened(self, expr: Expr, kind: Kind) -> Expr:
        """Returns a collection with room for more elements."""
        type = core(kind)
        return expr if expr.type == type else ir.Convert(type, expr)

    def _concatenation(self, node: Any, env: Place) -> Term:
        left, right = (self._sequence(arg, env) for arg in node.args)
        for term in (left, right):
            if not isinstance(term.kind, Seq):
                return term
        assert isinstance(left.kind, Seq)
        assert isinstance(right.kind, Seq)
        element = join(left.kind.element, right.kind.element)
        kind = Seq(element, left.kind.capacity + right.kind.capacity)
        slot, whole = self.slot(), self.slot()
        type, inner = core(kind), core(right.kind.element)
        item = self.convert(ir.Local(inner, slot), right.kind.element, element)
        added = ir.Add(type, ir.Local(type, whole), item)
        start = self.convert(left.code, left.kind, kind)
        return Term(kind, ir.Fold(type, slot, whole, right.code, start, added))

    def _sub_sequence(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        low, high = (self._number(arg, env) for arg in node.args[1:])
        for part in (term, low, high):
            if isinstance(part.kind, Never):
                return part
        kind = term.kind
        assert isinstance(kind, Seq)
        assert isinstance(low.kind, Number)
        assert isinstance(high.kind, Number)
        if not kind.capacity:
            raise NotLowered("SubSeq is about sequences that are always empty")

        def cut(whole: Term, first: Term, last: Term) -> Term:
            size = ir.Size(types.Int(0, kind.capacity), whole.code)
            empty = ir.Less(last.code, first.code)
            fits = conjunction(
                [ir.Less(literal(1), first.code, True), ir.Less(last.code, size, True)]
            )
            # Outside of these bounds, the interval is not evaluated.
            positions = Number(1, kind.capacity)
            slot = self.slot()
            position = ir.Local(core(positions), slot)
            index = ir.Arithmetic(
                types.Int(0, kind.capacity - 1), Arithmetic.SUBTRACT, position, literal(1)
            )
            part = ir.Collect(
                core(kind), slot,
                ir.Interval(types.Set(core(positions)), first.code, last.code), None,
                ir.At(core(kind.element), whole.code, index),
            )  # fmt: skip
            nothing = ir.Literal(core(kind), ())
            message = "SubSeq is outside of the sequence"
            some = self.demand(fits, node.span, message, Term(kind, part))
            return Term(kind, ir.Conditional(core(kind), empty, nothing, some.code))

        return self.shared(
            term,
            lambda t: self.shared(
                Term(low.kind, self.own(low)),
                lambda a: self.shared(Term(high.kind, self.own(high)), lambda b: cut(t, a, b)),
            ),
        )

    def _select(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        if not isinstance(term.kind, Seq):
            return term
        kind, slot = term.kind, self.slot()
        element = Term(kind.element, ir.Local(core(kind.element), slot))
        if isinstance(kind.element, Never):
            return term
        condition = self.truth(self.apply(node.args[1], [element], env), node.span)
        return Term(kind, ir.Collect(core(kind), slot, term.code, condition, element.code))

    def _single(self, node: Any, env: Place) -> Term:
        key = self.written(self.expr(node.args[0], env))
        value = self.written(self.expr(node.args[1], env))
        if isinstance(key.kind, Never) or isinstance(value.kind, Never):
            raise NotLowered("an operand of :> has no value")
        kind = Partial(key.kind, value.kind)
        option = types.Option(core(value.kind))
        slot = self.slot()
        each = ir.Local(core(key.kind), slot)

        def build(fixed: Expr, held: Expr) -> Expr:
            body = ir.Conditional(
                option, ir.Equal(each, fixed), ir.Some(option, held), ir.Literal(option, ())
            )
            return ir.BuildMap(core(kind), slot, body)

        code = self.let(
            self.own(key), NEVER, lambda k: self.let(self.own(value), NEVER, lambda v: build(k, v))
        )
        return Term(kind, code)

    def _merge(self, node: Any, env: Place) -> Term:
        terms = [self.written(self.expr(arg, env)) for arg in node.args]
        for term in terms:
            if isinstance(term.kind, Never):
                return term
            if not isinstance(term.kind, Fun | Partial | Tup | Seq):
                raise NotLowered("an operand of @@ may be no function, or is a record")
        kind = join(as_partial(terms[0].kind), as_partial(terms[1].kind))
        assert isinstance(kind, Partial)
        option = types.Option(core(kind.element))
        slot = self.slot()
        each = ir.Local(core(kind.keys), slot)

        def build(first: Expr, second: Expr) -> Expr:
            mine = ir.Get(option, first, each)
            body = ir.Conditional(option, ir.IsSome(mine), mine, ir.Get(option, second, each))
            return ir.BuildMap(core(kind), slot, body)

        code = self.let(
            self.into(terms[0], kind),
            NEVER,
            lambda a: self.let(self.into(terms[1], kind), NEVER, lambda b: build(a, b)),
        )
        return Term(kind, code)

    BUILT_IN_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        **Membership.BUILT_IN_FORMS,
        "Len": _len, "Head": _head, "Tail": _tail, "Append": _append, "\\o": _concatenation,
        "SubSeq": _sub_sequence, "SelectSeq": _select, ":>": _single, "@@": _merge,
    }  # fmt: skip
