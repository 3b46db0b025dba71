"""Elaborates the cases of ``match``, which are the same for statements and expressions, and match
expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.types import Bool, Nominal, Type, Union
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.bidirectional import alternatives
from fencepost.spec.elaborate.types.narrowing import bound_to, reading
from fencepost.spec.elaborate.types.partiality import unified, widened
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.elaborate.values.boolean import known
from fencepost.spec.elaborate.values.patterns import Match, matched
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, listing
from fencepost.spec.text.source import Span

AnyCase: TypeAlias = syntax.Case | syntax.ValueCase


@dataclass(frozen=True, slots=True)
class Subject:
    """The value that a match examines.

    ``operand`` is None if the value is wrong. If ``slot`` is not None, ``operand`` is a local that
    is still to be bound to ``source``, the expression for the value.
    """

    context: Context
    operand: Operand | None
    slot: int | None = None
    source: ir.Expr | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """A case of a match. ``match`` is None if the pattern is wrong. ``taken`` says whether the case
    is taken, or is None if constants do not decide this. ``context`` is the context of its body.
    """

    match: Match | None
    taken: bool | None
    context: Context


def bound_subject(
    context: Context, operand: Operand | None, span: Span, aliased: tuple[type[ir.Expr], ...]
) -> Subject:
    """Binds the subject of a match to a local, unless its core form is ``aliased``."""
    if operand is None or isinstance(operand.expr, aliased):
        return Subject(context, operand)
    slot = context.work.slot()
    local = ir.Local(operand.type, slot, span=span)
    inner = bound_to(context, local, operand.expr)
    return Subject(inner, Operand(local, operand.ghost), slot, operand.expr)


def matched_cases(subject: Subject, node: syntax.Match | syntax.MatchValue) -> Iterator[Arm]:
    """Yields the arm of each case, in order. Each case may assume that those before it do not
    match.

    Reports unreachable cases (F409) and, after the last case, missing ones (F408).
    """
    context, operand = subject.context, subject.operand
    coverage = _Coverage(None if operand is None else operand.type)
    decided = False
    for case in node.cases:
        coverage.reached(context, case)
        match, inner = matched(context, case.pattern, operand)
        taken: bool | None = None
        if match is None or operand is None:
            coverage.unknown = True
        else:
            coverage.cover(context, case, match)
            # After a case that always matches, the other cases are checked, but never run.
            taken = not decided and (True if match.test is None else known(match.test))
            decided = decided or taken is True
            inner = _learned(inner, subject, match.members)
        yield Arm(match, taken, inner.unreached() if taken is False else inner)
        if decided:
            context = context.unreached()
        context = _learned(context, subject, coverage.remaining())
    coverage.report_missing(context, node.subject.span)


def _learned(context: Context, subject: Subject, members: frozenset[int] | None) -> Context:
    """Returns the context in which the subject, a union, is known to have one of these tags."""
    operand = subject.operand
    if not members or operand is None or not isinstance(operand.type, Union):
        return context
    exprs = (operand.expr, subject.source or operand.expr)
    return context.learn({reading(expr): members for expr in exprs})


class _Coverage:
    """The values that the cases of a match have covered so far.

    ``unknown`` is set if the subject or a case is wrong. Missing cases are then not reported.
    """

    def __init__(self, kind: Type | None) -> None:
        self.kind = kind
        self.members: dict[int, Span] = {}
        self.every: Span | None = None
        self.unknown = kind is None
        self.uncertain: list[Note] = []

    def missing(self) -> list[str]:
        if self.unknown or self.every is not None or self.kind is None:
            return []
        return _missing_members(self.kind, set(self.members))

    def reached(self, context: Context, case: AnyCase) -> None:
        """Reports (F409) a case that is unreachable because the cases before it cover every
        value.
        """
        if self.unknown or self.kind is None:
            return
        if self.every is not None or not _missing_members(self.kind, set(self.members)):
            note = (
                self.every or list(self.members.values())[-1],
                "every value is covered up to here",
            )
            message = "this case is unreachable: those before it cover everything"
            context.report("F409", case.pattern.span, message, note)
            self.unknown = True

    def cover(self, context: Context, case: AnyCase, match: Match) -> None:
        """Records the values that a case covers. Reports (F409) a case whose values are all covered
        by an earlier case.
        """
        span = case.pattern.span
        if match.members is not None and match.members <= self.members.keys() and not self.unknown:
            note = (self.members[min(match.members)], "it is covered here")
            message = "this case is unreachable: an earlier one covers it"
            context.report("F409", span, message, note)
        if not match.certain:
            self.uncertain.append((span, "a case with == may not match, so it covers nothing"))
            return
        if match.members is None:
            self.every = self.every or span
        else:
            for member_number in match.members:
                self.members.setdefault(member_number, span)

    def remaining(self) -> frozenset[int] | None:
        """Returns the tags of a union that no case covers."""
        if not isinstance(self.kind, Union):
            return None
        return frozenset(range(len(self.kind.variants))) - self.members.keys()

    def report_missing(self, context: Context, span: Span) -> None:
        """Reports (F408) the values that no case covers."""
        missing = self.missing()
        if not missing or self.kind is None:
            return
        wanted = "add it, or `case _:`"
        if len(missing) > 1:
            wanted = "add a case for each, or `case _:` for all of them"
        message = f"no case covers {listing(missing, 'and')}; {wanted}"
        context.report("F408", span, message, *self.uncertain, *declaration(context, self.kind))


def _missing_members(kind: Type, seen: set[int]) -> list[str]:
    """Returns the members of ``kind`` that no case covers, spelled as in a case."""
    match kind:
        case Nominal(members=names):
            pass
        case Union(variants=variants):
            names = tuple(variant.name for variant in variants)
        case Bool():
            names = ("false", "true")
        case _:
            return ["_"]
    return [name for index, name in enumerate(names) if index not in seen]


# ---------------------------------------------------------------- match expressions


def match_value(context: Context, node: syntax.MatchValue, expected: Type | None) -> Operand | None:
    """Elaborates ``match e: case P: a; case Q: b``. The subject is evaluated once."""
    context.work.limit(len(node.cases), node.span)
    inner = context.inner()
    operand = inner.expression(node.subject)
    # Nothing changes while an expression is evaluated, so a variable needs no binding.
    aliased = (ir.Literal, ir.Local, ir.Variable)
    subject = bound_subject(inner, operand, node.subject.span, aliased)
    arms = list(matched_cases(subject, node))
    values = alternatives(
        [(arm.context, case.value) for arm, case in zip(arms, node.cases, strict=True)], expected
    )
    rows: list[tuple[syntax.ValueCase, Arm, Match, Operand]] = []
    for case, arm, value in zip(node.cases, arms, values, strict=True):
        if arm.match is not None and value is not None:
            rows.append((case, arm, arm.match, value))
        elif arm.taken is not False:
            # A value that is never computed may have failed only because of a size limit.
            return None
    kind = _common(context, [(case.value.span, value) for case, _, _, value in rows])
    if kind is None:
        return None
    result: ir.Expr | None = None
    for case, arm, match, value in reversed(rows):
        expr = widened(value, kind).expr
        if arm.taken is False:
            continue
        if result is None or match.test is None or arm.taken:
            # The cases cover every value, so the last one needs no test.
            result = expr
        else:
            span = case.span.to(node.span)
            result = ir.Conditional(kind, match.test, expr, result, span=span)
    if result is None:
        return None
    if subject.slot is not None and operand is not None:
        result = ir.Let(kind, subject.slot, operand.expr, result, span=node.span)
    ghosts = (ghost for _, _, match, value in rows for ghost in (match.ghost, value.ghost))
    return Operand(result, next(filter(None, ghosts), None))


def _common(context: Context, values: Sequence[tuple[Span, Operand]]) -> Type | None:
    """Returns the common type of the values of cases. Reports F302 if they have none."""
    if not values:
        return None
    (first, whole), *rest = values
    note = (first, "an earlier case has this value")
    for span, value in rest:
        both = unified(context, whole, value, span, "the values of the cases are", note)
        if both is None:
            return None
        whole = both[1]
    return whole.type
