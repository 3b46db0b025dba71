"""Builds the model of the core for a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from fencepost.spec.core import ir, types
from fencepost.spec.core.open_ranges import Range
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.evaluate.temporal import Condition
from fencepost.spec.tla.evaluate.temporal import Part as Written
from fencepost.spec.tla.inference.bounds import bets, with_bets
from fencepost.spec.tla.inference.forms import Forms, Misfit
from fencepost.spec.tla.inference.kinds import Kind, NotLowered, core, join, joined, kind_of
from fencepost.spec.tla.lowering.actions import Actions, Wider
from fencepost.spec.tla.lowering.terms import FALSE, TRUE, Term
from fencepost.spec.tla.modules.scopes import Operator
from fencepost.spec.tla.values.kinds import Value

MAX_INITIAL = 20_000
"""The maximum number of initial states that the evaluator computes."""
MAX_REPEATED = 100
"""The maximum number of times that the module is lowered, each time for wider kinds."""


class InitialNotLowered(NotLowered):
    """Raised for an initial condition that has no form in the core."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A model of the core, the kinds of its variables, and the definitions that name its actions.
    ``tables`` are the expressions that are tables, with their numbers of entries, and ``seconds``
    is the processor time of the evaluator for them.
    """

    model: ir.Model
    kinds: tuple[Kind, ...]
    forms: Forms
    labels: tuple[Operator | None, ...]
    tables: tuple[tuple[Span, int], ...]
    seconds: float

    def values(self, state: types.State) -> list[Value]:
        """Returns the values of the variables in a state."""
        return list(map(self.forms.decode, state, self.kinds))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A property of the model: its condition, or None if it is not evaluated."""

    property: ir.Property
    condition: Condition | None


def seen(specification: Specification, states: Sequence[Sequence[Value]]) -> list[Kind]:
    """Returns the least kinds of the variables that include the values in some states. Raises
    `NotLowered`.
    """
    columns = zip(*states, strict=True)
    return [
        joined(kind_of(specification.universe, value) for value in dict.fromkeys(column))
        for column in columns
    ]


def lowered(
    specification: Specification,
    kinds: Sequence[Kind],
    ranges: Mapping[str, Range],
    initial: Sequence[Sequence[Value]] | None,
    wanted: Sequence[Wanted],
    fairness: Sequence[ir.Fairness] = (),
) -> Lowered:
    """Lowers a module. The kinds of the variables include those of ``kinds``, and the bounds of the
    bets those of ``ranges``. ``initial`` are the initial states; if it is None, the initial
    condition is lowered. Raises `NotLowered`.
    """
    names = [variable.name for variable in specification.variables]
    structures = [*kinds]
    for _ in range(MAX_REPEATED):
        complete = [
            with_bets(kind, name, ranges) for kind, name in zip(structures, names, strict=True)
        ]
        try:
            return _lowered(specification, complete, initial, wanted, fairness)
        except Wider as wider:
            index = wider.variable
            structures[index] = join(structures[index], wider.kind)
    raise NotLowered("the types of the variables have no end")


def _lowered(
    specification: Specification,
    kinds: list[Kind],
    initial: Sequence[Sequence[Value]] | None,
    wanted: Sequence[Wanted],
    fairness: Sequence[ir.Fairness],
) -> Lowered:
    top = specification.config.source_span
    ranges = {key: bounds for kind in kinds for key, bounds in bets(kind)}
    numbers = {key: number for number, key in enumerate(ranges)}
    lowering = Actions(specification, kinds, numbers)
    part = specification.next_part
    assert part is not None
    lowering.allowed = _parts(specification.action_constraints)
    held = [item for item in wanted if item.property.kind.must_hold]
    lowering.invariants, lowering.step_invariants = (
        _parts(item.condition for item in held if item.property.kind.of_steps is of_steps)
        for of_steps in (False, True)
    )
    try:
        beginning = (
            lowering.initially(specification.initial_parts)
            if initial is None
            else _initial(lowering, initial)
        )
    except NotLowered as reason:
        raise InitialNotLowered(*reason.args) from None
    actions = lowering.actions(part.node, lowering.place(part))
    properties = tuple(_property(item, lowering) for item in wanted)
    model = ir.Model(
        name=specification.path.stem,
        variables=tuple(
            ir.StateVariable(variable.name, core(kind), "variable", "", False, variable.span or top)
            for variable, kind in zip(specification.variables, kinds, strict=True)
        ),
        initial=beginning,
        actions=tuple(
            ir.Action(
                "Next" if label is None else label.name,
                "",
                "ordinary",
                body,
                top if label is None else label.place,
            )
            for label, body in actions
        ),
        properties=properties,
        assumptions=(),
        constants=(),
        sites=tuple(lowering.sites),
        guards=tuple(lowering.guards),
        marks=(),
        slots=lowering.slots,
        labels=0,
        fairness=tuple(fairness),
        open_ranges=tuple(
            ir.OpenRange(key, "", low, high, top) for key, (low, high) in ranges.items()
        ),
    )
    labels = tuple(label for label, _ in actions)
    tables = tuple(lowering.tables)
    return Lowered(model, tuple(kinds), lowering.forms, labels, tables, lowering.seconds)


def _parts(conditions: Iterable[Condition | None]) -> list[Written]:
    """Returns where conditions are written."""
    return [item.part for item in conditions if item is not None and item.part is not None]


def _property(item: Wanted, lowering: Actions) -> ir.Property:
    kind, condition = item.property.kind, item.condition
    if condition is None:
        # The property is not evaluated.
        return replace(item.property, body=TRUE)
    assert condition.part is not None
    env = lowering.place(condition.part)
    if kind.of_steps:
        lowering.after = {
            index: partial(Term, inner, ir.Variable(core(inner), index, True))
            for index, inner in enumerate(lowering.kinds)
        }
    else:
        lowering.after = {}
    return replace(item.property, body=lowering.cond(condition.part.node, env))


def _initial(lowering: Actions, states: Sequence[Sequence[Value]]) -> ir.Statement:
    """Returns the choice of an initial state."""
    forms, kinds = lowering.forms, lowering.kinds
    if len(states) > MAX_INITIAL:
        raise NotLowered(f"there are more than {MAX_INITIAL:,} initial states")
    try:
        columns = [
            tuple(forms.encode(state[index], kind) for state in states)
            for index, kind in enumerate(kinds)
        ]
    except Misfit as misfit:
        raise AssertionError("an initial state is outside of the kinds") from misfit
    if not states:
        lowering.guards.append(ir.Guard("choice", lowering.specification.config.source_span, -1))
        return ir.Require(FALSE, len(lowering.guards) - 1)
    if len(states) == 1:
        return ir.Sequence(
            tuple(
                ir.Assign(index, (), ir.Literal(core(kind), column[0]))
                for index, (kind, column) in enumerate(zip(kinds, columns, strict=True))
            )
        )
    slot, number = lowering.slot(), types.Int(0, max(len(states) - 1, 0))
    lowering.guards.append(ir.Guard("choice", lowering.specification.config.source_span, -1))
    guard = len(lowering.guards) - 1
    position = ir.Local(number, slot)
    body = ir.Sequence(
        tuple(
            ir.Assign(
                index,
                (),
                ir.At(
                    core(kind),
                    ir.Literal(types.Seq(core(kind), len(states)), column),
                    position,
                ),
            )
            for index, (kind, column) in enumerate(zip(kinds, columns, strict=True))
        )
    )
    every = ir.Interval(
        types.Set(number, len(states)), ir.Literal(number, 0), ir.Literal(number, len(states) - 1)
    )
    return ir.Pick(slot, every, None, guard, None, body)
