"""Executes statements in all possible ways, in the order of their choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from tests.naive.expressions import Place, Undefined, put
from tests.naive.values import belongs, every
from tests.support.agreement import Chosen

from fencepost.spec.core import ir
from fencepost.spec.core.types import Bag, Map, Record, Seq, Set, State, Type, Value


class Failed(Exception):
    """A failed assertion at a site."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


@dataclass(frozen=True, slots=True)
class Course:
    """The progress of one execution.

    The execution has ended if it was ``disabled`` by a guard or if it ``failed`` at a site, by an
    assertion (true) or by an evaluation error; a block has ended if the execution is ``leaving``
    it. ``marks`` count if the execution completes.
    """

    at: Place
    chosen: tuple[tuple[str | None, Value, Type], ...] = ()
    marks: frozenset[int] = frozenset()
    leaving: int | None = None
    disabled: int | None = None
    failed: tuple[int, bool] | None = None

    @property
    def going(self) -> bool:
        return self.leaving is None and self.disabled is None and self.failed is None

    @property
    def completed(self) -> bool:
        return self.disabled is None and self.failed is None

    @property
    def shown(self) -> Chosen:
        """Returns the choices that traces show."""
        return tuple((label, value) for label, value, _ in self.chosen if label is not None)

    def with_state(self, state: State) -> Course:
        return replace(self, at=replace(self.at, state=state))


def courses(course: Course, statement: ir.Statement) -> Iterator[Course]:
    """Yields all executions of a statement, in the order of their choices."""
    try:
        yield from _courses(course, statement)
    except Undefined as error:
        yield replace(course, failed=(error.site, False))
    except Failed as failure:
        yield replace(course, failed=(failure.site, True))


def _courses(course: Course, statement: ir.Statement) -> Iterator[Course]:
    at = course.at
    match statement:
        case ir.Sequence(statements):
            yield from _in_order(course, statements)
        case ir.Assign(variable, path, value):
            kind = at.model.variables[variable].type
            steps = _steps(at, kind, path)
            new = _changed(at.state[variable], steps, at.value(value))
            assert belongs(new, kind), f"{new} stored by {statement}"
            yield course.with_state(put(at.state, variable, new))
        case ir.Bind(slot, value, body):
            yield from courses(replace(course, at=at.bind(slot, at.value(value))), body)
        case ir.Pick(slot, domain, condition, guard, label, body):
            offered = list(at.parts(domain))
            if condition is not None:
                offered = [x for x in offered if at.bind(slot, x).truth(condition)]
            if isinstance(domain.type, Bag):
                offered = sorted(set(offered))
            if not offered:
                yield replace(course, disabled=guard)
            assert isinstance(domain.type, Set | Bag | Seq)
            for x in offered:
                chosen = (*course.chosen, (label, x, domain.type.element))
                yield from courses(replace(course, at=at.bind(slot, x), chosen=chosen), body)
        case ir.Require(condition, guard):
            yield course if at.truth(condition) else replace(course, disabled=guard)
        case ir.Assert(condition, site):
            if not at.truth(condition):
                raise Failed(site)
            yield course
        case ir.Ensure(condition, site):
            if not at.truth(condition):
                raise Undefined(site)
            yield course
        case ir.If(condition, then, otherwise):
            yield from courses(course, then if at.truth(condition) else otherwise)
        case ir.ForEach(slot, domain, body):
            yield from _rounds(course, slot, at.parts(domain), body)
        case ir.Block(label, body):
            for inner in courses(course, body):
                yield replace(inner, leaving=None) if inner.leaving == label else inner
        case ir.Leave(label):
            yield replace(course, leaving=label)
        case ir.Mark(mark):
            yield replace(course, marks=course.marks | {mark})
        case _:
            assert_never(statement)


def _in_order(course: Course, statements: tuple[ir.Statement, ...]) -> Iterator[Course]:
    if not statements:
        yield course
        return
    for next_ in courses(course, statements[0]):
        if next_.going:
            yield from _in_order(next_, statements[1:])
        else:
            yield next_


def _rounds(
    course: Course, slot: int, items: tuple[Value, ...], body: ir.Statement
) -> Iterator[Course]:
    if not items:
        yield course
        return
    for next_ in courses(replace(course, at=course.at.bind(slot, items[0])), body):
        if next_.going:
            yield from _rounds(next_, slot, items[1:], body)
        else:
            yield next_


def _steps(at: Place, kind: Type, path: Sequence[ir.Step]) -> list[int]:
    """Returns the positions to which a path leads in records, maps and sequences."""
    steps: list[int] = []
    for step in path:
        match step, kind:
            case ir.FieldStep(index), Record(fields=fields):
                steps.append(index)
                kind = fields[index].type
            case ir.KeyStep(key), Map(keys, value):
                steps.append(every(keys).index(at.value(key)))
                kind = value
            case ir.IndexStep(index), Seq(element):
                steps.append(at.number(index))
                kind = element
            case _:
                raise AssertionError(f"{step} leads into {kind}")
    return steps


def _changed(old: Value, steps: Sequence[int], new: Value) -> Value:
    if not steps:
        return new
    assert isinstance(old, tuple)
    return put(old, steps[0], _changed(old[steps[0]], steps[1:], new))


def is_enabled(model: ir.Model, action: int, state: State, first: tuple[Value, ...]) -> bool:
    """Checks whether an action can be taken or ends the run."""
    # The step is evaluated but not taken, so it leaves no marks.
    start = Course(Place(model, state))
    return any(
        # A step that fails before it has made all these choices fails for all of them.
        reached.disabled is None
        and all(
            choice == wanted for (_, choice, _), wanted in zip(reached.chosen, first, strict=False)
        )
        for reached in courses(start, model.actions[action].body)
    )
