"""Defines units of fairness, which relate steps to fairness constraints.

A unit is an action, an instance of an action, or (with `each`) a choice of its parameters and
message. A step counts for a unit if it changes a variable that is not a ghost; ghost fields are
ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from math import prod
from typing import TypeAlias

from fencepost.spec.core import types
from fencepost.spec.core.ir import Model, Pick
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import State, Type, Value, has_ghost
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice, Runner

MAX_UNITS = 4_096
"""Maximum number of units of an action for engines that number them in advance. These engines
refuse actions with more units.
"""


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A unit of fairness: the steps of an action whose choices begin with ``choices``."""

    action: int
    choices: tuple[Value, ...]


Seen: TypeAlias = Callable[[State], object]
"""Maps a state to the part of it that contains no ghosts. A step between states with equal images
does not count.
"""


def without_ghosts(model: Model) -> Seen:
    """Returns the function that removes ghosts from states."""
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
    """Removes ghost fields from a value."""
    if not has_ghost(kind):
        return value
    case, parts = types.opened(kind, value)
    kept = (plain(inner, part.type) for part, inner in parts if not part.ghost)
    return types.closed(kind, case, kept)


def unit_of(model: Model, action: int, choices: tuple[Choice, ...]) -> Unit | None:
    """Returns the unit of a step with these choices, or None if its action has no fairness
    constraint.
    """
    fairness = model.actions[action].fairness
    if fairness is None:
        return None
    return Unit(
        action, tuple(plain(choice.value, choice.type) for choice in choices[: fairness.choices])
    )


def steps(
    runner: Runner, seen: Seen, state: State
) -> Iterator[tuple[State, Unit | None, tuple[Choice, ...]]]:
    """Yields the completed steps from a state, in order, including steps that leave the
    constraints. Each result consists of the target, the unit that the step counts for (or None),
    and the choices.
    """
    here = seen(state)
    for step in runner.successors(state):
        if step.state is not None and step.action is not None:
            unit = unit_of(runner.model, step.action, step.choices)
            counts = unit is not None and seen(step.state) != here
            yield step.state, unit if counts else None, step.choices


Outgoing: TypeAlias = tuple[dict[State, frozenset[Unit]], frozenset[Unit]]
"""The result of `outgoing`."""


def outgoing(runner: Runner, seen: Seen, state: State) -> Outgoing:
    """Returns the successors of a state other than the state itself, in ascending order, each with
    the units that a step to it counts for. Also returns all units that some step from the state
    counts for.
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
    """Returns the choices that determine the unit of a step. The action must have a fairness
    constraint.
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
    """Returns the type of the value that a pick chooses."""
    return types.as_collection(pick.domain.type).element


def most_units(model: Model, action: int) -> int:
    """Returns the maximum number of units that an action can have."""
    return prod(types.cardinality(chosen_type(pick)) for pick in first_choices(model, action))


def units_of(model: Model, action: int) -> Iterator[tuple[Unit, tuple[Choice, ...]]]:
    """Yields the possible units of an action, with choices that belong to them. If there are ghost
    fields, a unit may occur several times.
    """
    picks = first_choices(model, action)
    for values in product(*(types.values(chosen_type(pick)) for pick in picks)):
        pairs = zip(picks, values, strict=True)
        choices = tuple(Choice(pick.label or "", chosen_type(pick), value) for pick, value in pairs)
        unit = unit_of(model, action, choices)
        assert unit is not None
        yield unit, choices


def declared_units(model: Model) -> Iterator[tuple[Unit, tuple[Choice, ...]]]:
    """Yields the units of actions without `each`, with choices that belong to them. These units do
    not depend on the states.
    """
    for number, action in enumerate(model.actions):
        if action.fairness is not None and not action.fairness.each:
            yield from units_of(model, number)
