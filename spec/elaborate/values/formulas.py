"""Elaborates properties to formulas with temporal operators and the connectives between them.

A part without temporal operators is a state predicate, no matter how large it is. A quantifier
around temporal operators is expanded for each value of its domain, so the domain must be constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from fencepost.spec.core import formulas, ir
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.size_limits import MAX_EFFORT, MAX_INSTANCES
from fencepost.spec.core.traverse import rebuilt, walk
from fencepost.spec.core.type_relations import element_of
from fencepost.spec.core.types import Set, Type, Value
from fencepost.spec.elaborate.base.context import Context, Reported
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.constants import effort
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.collections import drawn, elements, restricted
from fencepost.spec.records import replace
from fencepost.spec.semantics.concrete import EvaluationError, evaluate_constant
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

T = TypeVar("T")

Values: TypeAlias = Mapping[int, ir.Literal]
"""Maps the slots of quantified locals to their values."""

Form: TypeAlias = Callable[[Values], Formula]
"""A checked formula. It is expanded by calling it with values of the locals around it."""


@dataclass(slots=True)
class Formulas:
    """Builds the formula of one property. ``owner`` is the number of the property. Its predicates
    get the numbers that follow, and equal predicates share a number.
    """

    owner: int
    predicates: list[ir.Property] = field(default_factory=list[ir.Property])
    _known: dict[ir.Expr, int] = field(default_factory=dict[ir.Expr, int])
    _instances: int = 0

    def formula(
        self, context: Context, node: syntax.Expr, index: tuple[str, Type, int, Span] | None
    ) -> Formula | None:
        """Elaborates the formula of the property. Returns None if a mistake was reported. In a role
        family, ``index`` is the name, type, slot and span of the role's index, and the formula must
        hold for every instance.
        """
        form = self._form(context, node)
        if form is None:
            return None
        if index is not None:
            name, kind, slot, span = index
            domain = ir.Universe(Set(kind), span=span)
            form = self._quantified(context, True, [(slot, name, kind, domain, span)], form, span)
        return form({})

    # ------------------------------------------------------------ forms

    def _form(self, context: Context, node: syntax.Expr) -> Form | None:
        if not is_temporal(node):
            return self._predicate(context, node)
        inner = context.inner()
        match node:
            case syntax.UnaryTemporal("always", operand):
                return self._of([self._form(context, operand)], formulas.Always, node.span)
            case syntax.UnaryTemporal("eventually", operand):
                return self._of([self._form(inner, operand)], formulas.Eventually, node.span)
            case syntax.Unary("not", operand):
                return self._of([self._form(inner, operand)], formulas.Not, node.span)
            case syntax.BinaryTemporal(operator, left, right) | syntax.Binary(
                "and" | "or" | "implies" | "iff" as operator, left, right
            ):
                implying = operator in ("implies", "leads to")
                left_form = self._antecedent(context, left) if implying else self._form(inner, left)
                forms = [left_form, self._form(inner, right)]
                return self._of(forms, _CONNECTIVES[operator], node.span)
            case syntax.Conjunction(lines):
                return self._of([self._form(context, line) for line in lines], _and, node.span)
            case syntax.Quantifier():
                return self._quantifier(context, node)
            case _:
                # The form cannot contain a formula. Elaborating it reports the misplaced temporal
                # operator.
                truth(inner, node)
                return None

    def _of(
        self, forms: Sequence[Form | None], build: Callable[..., Formula], span: Span
    ) -> Form | None:
        """Returns the form that ``build`` makes of several forms, if all of them are correct."""
        good = [form for form in forms if form is not None]
        if len(good) < len(forms):
            return None
        return lambda values: build(*(form(values) for form in good), span=span)

    def _predicate(
        self, context: Context, node: syntax.Expr, mark: int | None = None
    ) -> Form | None:
        operand = truth(context.inner(), node)
        if operand is None:
            return None
        expr = operand.expr
        if mark is not None:
            expr = ir.Witness(mark, expr, span=node.span)
        context.work.quantified.append(expr)
        return lambda values: formulas.Holds(self._number(given(expr, values)), span=node.span)

    def _number(self, expr: ir.Expr) -> int:
        number = self._known.get(expr)
        if number is None:
            number = self._known[expr] = self.owner + 1 + len(self.predicates)
            assert expr.span is not None
            predicate = ir.Property("", PropertyKind.PREDICATE, expr, expr.span)
            self.predicates.append(predicate)
        return number

    def _antecedent(self, context: Context, node: syntax.Expr) -> Form | None:
        """Elaborates the left side of ``leads to`` or ``implies``. If it is a state predicate and
        only ``always``, ``forall`` and conjunctions enclose it, coverage records whether it was
        ever true.
        """
        if is_temporal(node) or not context.position.outermost:
            return self._form(context.inner(), node)
        text = " ".join(node.span.text.split())
        mark = context.mark("antecedent", node.span, self.owner, text)
        return self._predicate(context, node, mark)

    # ------------------------------------------------------------ quantifiers

    def _quantifier(self, context: Context, node: syntax.Quantifier) -> Form | None:
        every = node.kind == "forall"
        inner = context if every else context.inner()
        bound: list[tuple[int, str, Type, ir.Expr, Span]] = []
        for binder in node.binders:
            domain = elements(inner, binder.domain)
            kind = element_of(domain.type) if domain else None
            if domain is not None and not _is_constant(inner, domain, binder):
                domain = None
            slot, inner = drawn(inner, binder, domain)
            if domain is not None and kind is not None:
                bound.append((slot, binder.label, kind, domain.expr, binder.domain.span))
                context.work.quantified.append(domain.expr)
        body = self._form(inner, restricted(node))
        if body is None or len(bound) < len(node.binders):
            return None
        return self._quantified(context, every, bound, body, node.span)

    def _quantified(
        self,
        context: Context,
        every: bool,
        bound: list[tuple[int, str, Type, ir.Expr, Span]],
        body: Form,
        span: Span,
    ) -> Form:
        connective = formulas.And if every else formulas.Or

        def written_out(values: Values, level: int) -> Formula:
            if level == len(bound):
                self._instances += 1
                return body(values)
            slot, name, kind, domain, where = bound[level]
            parts: list[Formula] = []
            for value in self._values(context, given(domain, values), where):
                if self._instances > MAX_INSTANCES:
                    break
                literal = ir.Literal(kind, value, span=where)
                part = written_out({**values, slot: literal}, level + 1)
                parts.append(formulas.Chosen(name, kind, value, part, span=span))
            return connective(tuple(parts), span=span)

        def expand(values: Values) -> Formula:
            before = self._instances
            formula = written_out(values, 0)
            if before <= MAX_INSTANCES < self._instances:
                context.report(
                    "F832",
                    span,
                    "this formula is expanded for each choice of values, and there are more than"
                    f" {MAX_INSTANCES}",
                )
            return formula

        return expand

    def _values(self, context: Context, domain: ir.Expr, span: Span) -> tuple[Value, ...]:
        if effort(domain) > MAX_EFFORT:
            context.report("F712", span, "evaluating these values would take too long")
            return ()
        try:
            return cast("tuple[Value, ...]", evaluate_constant(domain))
        except EvaluationError as error:
            site = context.work.sites[error.site]
            context.report(site.code, site.span, site.message)
            return ()


def is_temporal(node: syntax.Expr) -> bool:
    """Whether an expression contains a temporal operator."""
    return any(
        isinstance(part, syntax.UnaryTemporal | syntax.BinaryTemporal) for part in walk(node)
    )


def given(part: T, values: Values) -> T:
    """Replaces locals in core by their literal values. Returns the same object if it contains none
    of these locals.
    """
    if isinstance(part, ir.Local) and part.slot in values:
        return cast("T", replace(values[part.slot], span=part.span))
    return rebuilt(part, lambda inner: given(inner, values)) if values else part


def misplaced(context: Context, node: syntax.UnaryTemporal | syntax.BinaryTemporal) -> Reported:
    """Reports a temporal operator in a position that requires a value (F801)."""
    return context.report(
        "F801",
        node.span,
        f"`{node.operator}` makes a formula, but a value is required here: formulas belong in a "
        "property, connected by `and`, `or`, `not`, `implies` and `iff`, and quantified",
    )


def _and(*parts: Formula, span: Span) -> Formula:
    return formulas.And(parts, span=span)


def _or(*parts: Formula, span: Span) -> Formula:
    return formulas.Or(parts, span=span)


_CONNECTIVES: Mapping[str, Callable[..., Formula]] = {
    "and": _and,
    "or": _or,
    "implies": formulas.Implies,
    "iff": formulas.Iff,
    "until": formulas.Until,
    "leads to": formulas.LeadsTo,
}


def _is_constant(context: Context, domain: Operand, binder: syntax.Binder) -> bool:
    """Whether a domain is the same in every state and known before the run. Reports F831 if it is
    not.
    """
    for node in walk(domain.expr):
        match node:
            case ir.Variable() | ir.Enabled():
                why = "depends on the state"
            case ir.Symbol():
                why = "depends on a symbolic constant"
            case _:
                continue
        name = binder.label
        context.report(
            "F831",
            binder.domain.span,
            f"this set {why}, but a formula can only be quantified over a set that is known "
            "before the run",
            (None, f"quantify over a type, and say when: `forall {name} in T: {name} in S leads to"
                   " ...`"),
        )  # fmt: skip
        return False
    return True
