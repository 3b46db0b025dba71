"""Units of fairness: which step counts for which, and what is shown of them.

A unit is an action, or one instance of it, or (`each`) one choice of its parameters and message. A
step counts if it changes a variable that is no ghost; ghost fields are no part of anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from math import prod
from typing import TypeAlias, assert_never

from fencepost.spec.core import types
from fencepost.spec.core.ir import Model, Pick
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Field, State, Type, Value, has_ghost
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice, Runner

MOST_UNITS = 4_096
"""Engines that number the units of an action beforehand refuse it with more."""


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """The steps of action number ``action`` whose first choices are ``choices``."""

    action: int
    choices: tuple[Value, ...]


Seen: TypeAlias = Callable[[State], object]
"""What is left of a state without its ghosts; equal for states between which no step counts."""


def without_ghosts(model: Model) -> Seen:
    """The function that takes the ghosts out of the states of a model."""
    kept = [
        (number, variable.type if has_ghost(variable.type) else None)
        for number, variable in enumerate(model.variables)
        if not variable.ghost
    ]
    if len(kept) == len(model.variables) and all(kind is None for _, kind in kept):
        return lambda state: state
    return lambda state: tuple(
        state[number] if kind is None else plain(state[number], kind) for number, kind in kept
    )


def plain(value: Value, kind: Type) -> Value:
    """``value`` without its ghost fields."""
    if not has_ghost(kind):
        return value
    assert isinstance(value, tuple)
    match kind:
        case types.Record(fields=fields):
            return _plain_fields(value, fields)
        case types.Union(variants=variants):
            tag, *payload = value
            assert isinstance(tag, int)
            return tag, *_plain_fields(tuple(payload), variants[tag].fields)
        case types.Option(element) | types.Seq(element):
            return tuple(plain(item, element) for item in value)
        case types.Bag(element):
            return tuple(sorted(plain(item, element) for item in value))
        case types.Set(element):
            return tuple(sorted({plain(item, element) for item in value}))
        case types.Map(value=inner):
            return tuple(plain(item, inner) for item in value)
        case types.Scalar():
            return value
        case _:
            assert_never(kind)


def _plain_fields(payload: tuple[Value, ...], fields: tuple[Field, ...]) -> tuple[Value, ...]:
    pairs = zip(fields, payload, strict=True)
    return tuple(plain(value, field.type) for field, value in pairs if not field.ghost)


def unit_of(model: Model, action: int, choices: tuple[Choice, ...]) -> Unit | None:
    """The unit to which a step with these choices belongs; None: nothing is owed to its action."""
    fairness = model.actions[action].fairness
    if fairness is None:
        return None
    return Unit(action, tuple(plain(one.value, one.type) for one in choices[: fairness.choices]))


def steps(
    runner: Runner, seen: Seen, state: State
) -> Iterator[tuple[State, Unit | None, tuple[Choice, ...]]]:
    """The completed steps from a state, in order, those out of the constraints included; each with
    the unit for which it counts, if it does for one, and its choices.
    """
    here = seen(state)
    for step in runner.successors(state):
        if step.state is not None and step.action is not None:
            unit = unit_of(runner.model, step.action, step.choices)
            counts = unit is not None and seen(step.state) != here
            yield step.state, unit if counts else None, step.choices


Outgoing: TypeAlias = tuple[dict[State, frozenset[Unit]], frozenset[Unit]]
"""What `outgoing` says of a state."""


def outgoing(runner: Runner, seen: Seen, state: State) -> Outgoing:
    """The other states that steps from a state lead to, ascending, each with the units for which
    such a step counts; and the units of which some step counts.
    """
    to: dict[State, set[Unit]] = {}
    for after, unit, _ in steps(runner, seen, state):
        units = to.setdefault(after, set())
        if unit is not None:
            units.add(unit)
    possible = frozenset(unit for units in to.values() for unit in units)
    to.pop(state, None)
    return {after: frozenset(to[after]) for after in sorted(to)}, possible


def first_choices(model: Model, action: int) -> tuple[Pick, ...]:
    """The choices by which steps of an action belong to one unit or another; of one to which
    something is owed.
    """
    fairness = model.actions[action].fairness
    assert fairness is not None
    visible = (
        node
        for node in walk(model.actions[action].body)
        if isinstance(node, Pick) and node.label is not None
    )
    return tuple(islice(visible, fairness.choices))


def chosen_type(pick: Pick) -> Type:
    """The type of what is chosen."""
    return types.as_collection(pick.domain.type).element


def most_units(model: Model, action: int) -> int:
    """How many units an action has at most."""
    return prod(types.cardinality(chosen_type(pick)) for pick in first_choices(model, action))


def units_of(model: Model, action: int) -> Iterator[tuple[Unit, tuple[Choice, ...]]]:
    """The units that an action may have, with the choices that make them: with ghost fields, the
    same one several times.
    """
    picks = first_choices(model, action)
    for found in product(*(types.values(chosen_type(pick)) for pick in picks)):
        pairs = zip(picks, found, strict=True)
        choices = tuple(Choice(one.label or "", chosen_type(one), value) for one, value in pairs)
        unit = unit_of(model, action, choices)
        assert unit is not None
        yield unit, choices


def declared_units(model: Model) -> Iterator[tuple[Unit, tuple[Choice, ...]]]:
    """The units that a model has whatever its states are, those of actions without `each`; and the
    choices that make them.
    """
    for number, action in enumerate(model.actions):
        if action.fairness is not None and not action.fairness.each:
            yield from units_of(model, number)
