"""Defines units of fairness, which relate steps to fairness constraints.

A unit is a fairness constraint, or one member of a family of constraints: an instance of a role or,
with `each`, a choice of an action's parameters and message. A step may count for several units. It
counts only if it changes a variable that is not a ghost; ghost fields are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from fencepost.spec.core import types
from fencepost.spec.core.ir import Fairness, Model, Pick, StepSet
from fencepost.spec.core.traverse import visible_picks
from fencepost.spec.core.types import State, Type, Value, has_ghost
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice, Runner

MAX_UNITS = 4_096
"""Maximum number of units of a constraint for engines that number them in advance. These engines
refuse constraints with more units.
"""
MAX_LABELS = 65_535
"""Maximum number of labels (see `labels_of`) of all actions together, for the same engines."""


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A unit of fairness: the steps that a constraint of the model covers. In a family of
    constraints, their choices begin with ``choices``.
    """

    constraint: int
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


def _constraints(model: Model) -> dict[int, list[tuple[int, Fairness, StepSet]]]:
    """Returns the constraints that cover steps of each action, with their numbers, and the part
    of each that covers these steps.
    """
    of_action: dict[int, list[tuple[int, Fairness, StepSet]]] = {}
    for number, fairness in enumerate(model.fairness):
        for member in fairness.members:
            of_action.setdefault(member.action, []).append((number, fairness, member))
    return of_action


def steps(
    runner: Runner, seen: Seen, state: State
) -> Iterator[tuple[State, frozenset[Unit], tuple[Choice, ...]]]:
    """Yields the completed steps from a state, in order, including steps that leave the
    constraints. Each result consists of the target, the units that the step counts for, and the
    choices.
    """
    here, constraints = seen(state), _constraints(runner.model)
    true: dict[int, bool] = {}

    def holds(condition: int | None) -> bool:
        if condition is None:
            return True
        if condition not in true:
            true[condition] = runner.holds(condition, state)
        return true[condition]

    for step in runner.successors(state):
        if step.state is None or step.action is None:
            continue
        units: list[Unit] = []
        covering = constraints.get(step.action, ())
        if covering and seen(step.state) != here:
            chosen = tuple(plain(choice.value, choice.type) for choice in step.choices)
            units += [
                Unit(number, chosen[: fairness.choices])
                for number, fairness, part in covering
                if chosen[: len(part.choices)] == part.choices and holds(fairness.condition)
            ]
        yield step.state, frozenset(units), step.choices


Outgoing: TypeAlias = tuple[dict[State, frozenset[Unit]], frozenset[Unit]]
"""The result of `outgoing`."""


def outgoing(runner: Runner, seen: Seen, state: State) -> Outgoing:
    """Returns the successors of a state other than the state itself, in ascending order, each with
    the units that a step to it counts for. Also returns all units that some step from the state
    counts for.
    """
    to: dict[State, set[Unit]] = {}
    for after, units, _ in steps(runner, seen, state):
        to.setdefault(after, set()).update(units)
    possible = frozenset(unit for units in to.values() for unit in units)
    to.pop(state, None)
    return {after: frozenset(to[after]) for after in sorted(to)}, possible


def family_choices(model: Model, fairness: Fairness) -> tuple[Pick, ...]:
    """Returns the choices that distinguish the units of a family; () if the constraint is not a
    family.
    """
    if not fairness.choices:
        return ()
    (member,) = fairness.members
    return visible_picks(model.actions[member.action].body, fairness.choices)


def chosen_type(pick: Pick) -> Type:
    """Returns the type of the value that a pick chooses."""
    return types.as_collection(pick.domain.type).element


def most_units(model: Model, fairness: Fairness) -> int:
    """Returns the maximum number of units of a constraint."""
    return prod(types.cardinality(chosen_type(pick)) for pick in family_choices(model, fairness))


def units_of(model: Model, number: int) -> Iterator[tuple[Unit, tuple[Choice, ...]]]:
    """Yields the possible units of a constraint, with choices that belong to them. If there are
    ghost fields, a unit may occur several times.
    """
    picks = family_choices(model, model.fairness[number])
    for values in product(*(types.values(chosen_type(pick)) for pick in picks)):
        pairs = zip(picks, values, strict=True)
        choices = tuple(Choice(pick.label or "", chosen_type(pick), value) for pick, value in pairs)
        yield Unit(number, tuple(plain(choice.value, choice.type) for choice in choices)), choices


def distinguishing_choices(model: Model, action: int) -> tuple[Pick, ...] | None:
    """Returns the first choices of an action that determine which units its steps count for.
    Returns None if no constraint covers steps of the action.
    """
    covering = _constraints(model).get(action)
    if covering is None:
        return None
    count = max(max(fairness.choices, len(part.choices)) for _, fairness, part in covering)
    return visible_picks(model.actions[action].body, count)


def most_labels(model: Model, action: int) -> int:
    """Returns the number of labels of an action, see `labels_of`; 0 if no constraint covers it."""
    picks = distinguishing_choices(model, action)
    return 0 if picks is None else prod(types.cardinality(chosen_type(pick)) for pick in picks)


def labels_of(model: Model, action: int, first: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields the units that a step of an action counts for, one tuple for each vector of its
    `distinguishing_choices`, in ascending order. Units are numbered; those of constraint N begin
    with ``first[N]``, in the order of `units_of`. Conditions of constraints are ignored.
    """
    picks = distinguishing_choices(model, action)
    assert picks is not None
    covering = _constraints(model)[action]
    kinds = [chosen_type(pick) for pick in picks]
    sizes = [types.cardinality(kind) for kind in kinds]
    for ranked in product(*(enumerate(types.values(kind)) for kind in kinds)):
        values = tuple(value for _, value in ranked)
        units: list[int] = []
        for number, fairness, part in covering:
            if values[: len(part.choices)] == part.choices:
                rank = 0
                for (index, _), size in zip(ranked[: fairness.choices], sizes, strict=False):
                    rank = rank * size + index
                units.append(first[number] + rank)
        yield tuple(units)


def part_choices(model: Model, part: StepSet) -> tuple[Choice, ...]:
    """Returns the first choices of the steps that a part of a constraint covers."""
    picks = visible_picks(model.actions[part.action].body, len(part.choices))
    return tuple(
        Choice(pick.label or "", chosen_type(pick), value)
        for pick, value in zip(picks, part.choices, strict=True)
    )


def declared_units(model: Model) -> Iterator[tuple[Unit, tuple[Choice, ...]]]:
    """Yields the units of constraints without `each`, with choices that belong to them. These units
    do not depend on the states.
    """
    for number, fairness in enumerate(model.fairness):
        if not fairness.each:
            yield from units_of(model, number)
