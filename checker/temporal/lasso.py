"""Defines lassos: a lasso is a path of states followed by a cycle that repeats forever.

Only this module defines whether a formula holds along a lasso, and whether the lasso is fair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Generic, TypeVar, assert_never

from fencepost.checker.temporal.units import Unit, declared_units, steps, without_ghosts
from fencepost.spec.core import formulas
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice, Runner

T = TypeVar("T")
"""A truth value, or a term that represents one."""


@dataclass(frozen=True, slots=True)
class Logic(Generic[T]):
    """Operations on truth values. For no values, ``every`` is true and ``some`` is false."""

    every: Callable[[Iterable[T]], T]
    some: Callable[[Iterable[T]], T]
    negation: Callable[[T], T]


BOOLEANS: Logic[bool] = Logic(all, any, lambda truth: not truth)


@dataclass(frozen=True, slots=True)
class Lasso:
    """``stem`` leads from an initial state to the state where the cycle begins. ``cycle`` contains
    the states after that one, up to and including the return to it. With an empty cycle, the
    behaviour stutters in the last state of the stem.
    """

    stem: tuple[State, ...]
    cycle: tuple[State, ...]

    @classmethod
    def along(cls, states: Sequence[State], loop: int) -> Lasso:
        """Creates the lasso of a path whose last state equals the state at position ``loop``.
        Consecutive repetitions are removed.
        """
        stem = tuple(state for state, _ in groupby(states[: loop + 1]))
        _, *cycle = (state for state, _ in groupby(states[loop:]))
        return cls(stem, tuple(cycle))

    def rotated(self) -> Lasso:
        """Returns the same behaviour with the shortest possible stem: the last step of the stem
        moves into the cycle as long as it equals the last step of the cycle.
        """
        stem, cycle, size, moved = self.stem, self.cycle, len(self.cycle), 0
        while size > 1 and moved + 1 < len(stem) and stem[-2 - moved] == cycle[(-2 - moved) % size]:
            moved += 1
        if not moved:
            return self
        first = -moved % size
        return Lasso(stem[:-moved], cycle[first:] + cycle[:first])

    @property
    def states(self) -> tuple[State, ...]:
        """All states as shown to the user. The first state of a cycle occurs twice."""
        return self.stem + self.cycle

    @property
    def loop(self) -> int:
        """The position in ``states`` at which the repetition starts."""
        return len(self.stem) if self.cycle else len(self.stem) - 1

    @property
    def rounds(self) -> tuple[tuple[State, State], ...]:
        """The steps of the cycle; empty if the behaviour stutters."""
        return tuple(zip((self.stem[-1], *self.cycle), self.cycle, strict=False))


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a lasso is fair to a unit, whose steps begin with these ``choices``.

    Either the step to position ``taken`` of `Lasso.states` counts for the unit, or the unit is not
    possible in the state at position ``impossible``. A strong unit is then possible in no state of
    the cycle.
    """

    choices: tuple[Choice, ...]
    taken: int | None = None
    impossible: int | None = None


def violates(runner: Runner, formula: Formula, lasso: Lasso) -> bool:
    """Checks whether the behaviour along a lasso violates a formula."""
    word = lasso.states[:-1] if lasso.cycle else lasso.states
    values = {
        number: [runner.holds(number, state) for state in word] for number in predicates(formula)
    }
    return not holds(formula, values, len(word), len(lasso.stem) - 1, BOOLEANS)[0]


def concerns(runner: Runner, number: int, lasso: Lasso) -> bool:
    """Checks whether a property of behaviours is about the behaviour along a lasso. A property
    within the constraints ignores behaviours that leave them.
    """
    if not runner.model.properties[number].within:
        return True
    constraints = runner.model.searched(()).constraints
    return all(runner.holds(bound, state) for state in lasso.states for bound in constraints)


def holds(
    formula: Formula, values: Mapping[int, Sequence[T]], length: int, loop: int, logic: Logic[T]
) -> list[T]:
    """Evaluates a formula at each position of a word with ``length`` positions. Position ``loop``
    follows the last one. ``values`` contains the values of each predicate along the word.
    """
    every, some, negation = logic.every, logic.some, logic.negation

    def of(part: Formula) -> list[T]:
        return holds(part, values, length, loop, logic)

    def later(row: Sequence[T], position: int) -> Sequence[T]:
        """Returns the entries of a row for all positions that occur at ``position`` or later."""
        return row[min(position, loop) :]

    match formula:
        case formulas.Holds(number):
            return list(values[number])
        case formulas.Chosen(body=body):
            return of(body)
        case formulas.Not(operand):
            return [negation(truth) for truth in of(operand)]
        case formulas.And(parts):
            rows = [of(part) for part in parts]
            return [every(row[at] for row in rows) for at in range(length)]
        case formulas.Or(parts):
            rows = [of(part) for part in parts]
            return [some(row[at] for row in rows) for at in range(length)]
        case formulas.Implies(left, right):
            return [some((negation(a), b)) for a, b in zip(of(left), of(right), strict=True)]
        case formulas.Iff(left, right):
            pairs = zip(of(left), of(right), strict=True)
            return [some((every((a, b)), negation(some((a, b))))) for a, b in pairs]
        case formulas.Always(operand):
            row = of(operand)
            return [every(later(row, position)) for position in range(length)]
        case formulas.Eventually(operand):
            row = of(operand)
            return [some(later(row, position)) for position in range(length)]
        case formulas.LeadsTo(left, right):
            return of(formulas.Always(formulas.Implies(left, formulas.Eventually(right))))
        case formulas.Until(left, right):
            first, second = of(left), of(right)
            # From the last position, go around the cycle once more. Waiting any longer means
            # waiting forever.
            after = some(())
            for at in reversed(range(loop, length)):
                after = some((second[at], every((first[at], after))))
            suffix: list[T] = []
            for at in reversed(range(length)):
                after = some((second[at], every((first[at], after))))
                suffix.append(after)
            return suffix[::-1]
        case _:
            assert_never(formula)


@dataclass(frozen=True, slots=True)
class Blame:
    """The reason why a formula fails.

    ``part`` is the innermost failing part and ``position`` the position at which it starts to fail.
    ``instance`` contains the values of the quantified variables that make the formula fail, as long
    as a single part is to blame.
    """

    part: Formula
    position: int
    instance: tuple[Choice, ...]


def blame(runner: Runner, formula: Formula, lasso: Lasso) -> Blame:
    """Explains why a lasso violates a formula."""
    word = lasso.states[:-1] if lasso.cycle else lasso.states
    values = {
        number: [runner.holds(number, state) for state in word] for number in predicates(formula)
    }
    length, loop = len(word), len(lasso.stem) - 1
    instance: list[Choice] = []
    position: int = 0

    def true(part: Formula, at: int) -> bool:
        return holds(part, values, length, loop, BOOLEANS)[at]

    def first(part: Formula) -> int:
        """Returns the first position, from the current one on, at which a part does not hold."""
        later = [*range(position, length), *range(min(loop, position), position)]
        first: int = next(at for at in later if not true(part, at))
        return first

    while True:
        match formula:
            case formulas.Chosen(name, kind, value, body):
                instance.append(Choice(name, kind, value))
                formula = body
            case formulas.And(parts):
                formula = next(part for part in parts if not true(part, position))
            case formulas.Implies(_, right):
                formula = right
            case formulas.Always(operand):
                position, formula = first(operand), operand
            case formulas.LeadsTo(left, right):
                response = formulas.Implies(left, formulas.Eventually(right))
                return Blame(formula, first(response), tuple(instance))
            case _:
                return Blame(formula, position, tuple(instance))


def reasons(runner: Runner, lasso: Lasso) -> dict[Unit, Reason | None]:
    """Returns for each unit the reason why a lasso is fair to it, or None if the lasso is not.
    Units of actions with `each` are only included if they are possible in some state.
    """
    model, seen = runner.model, without_ghosts(runner.model)
    leads: dict[State, dict[State, set[Unit]]] = {}
    chosen: dict[Unit, tuple[Choice, ...]] = {}
    for state in lasso.states:
        if state not in leads:
            to = leads[state] = {}
            for after, units, choices in steps(runner, seen, state):
                to.setdefault(after, set()).update(units)
                for unit in units:
                    chosen.setdefault(unit, choices)
    possible = {state: {unit for units in to.values() for unit in units}
                for state, to in leads.items()}  # fmt: skip
    return fair_reasons(model, lasso, leads, possible, chosen)


def fair_reasons(
    model: Model,
    lasso: Lasso,
    leads: Mapping[State, Mapping[State, set[Unit]]],
    possible: Mapping[State, set[Unit]],
    chosen: Mapping[Unit, tuple[Choice, ...]],
) -> dict[Unit, Reason | None]:
    """Returns the same as `reasons`. ``leads`` has the steps from each state, with the units that
    they count for, ``possible`` the units that are possible in each state, and ``chosen`` the
    choices of steps that count for a unit.
    """
    first = len(lasso.stem) - 1
    cycle = [lasso.stem[-1], *lasso.cycle[:-1]]
    reason_of: dict[Unit, Reason | None] = {}
    declared = dict(declared_units(model))
    for unit in sorted({*declared, *chosen}):
        fairness = model.fairness[unit.constraint]
        choices = declared[unit] if unit in declared else chosen[unit][: fairness.choices]
        taken = [
            first + 1 + index
            for index, (before, after) in enumerate(lasso.rounds)
            if unit in leads[before].get(after, ())
        ]
        idle = [first + index for index, state in enumerate(cycle) if unit not in possible[state]]
        reason_of[unit] = None
        if taken:
            reason_of[unit] = Reason(choices, taken=taken[0])
        elif len(idle) == len(cycle) or (idle and not fairness.strong):
            reason_of[unit] = Reason(choices, impossible=idle[0])
    return reason_of


def genuine(runner: Runner, formula: Formula, lasso: Lasso) -> bool:
    """Checks whether a lasso is a fair behaviour of the model that violates the formula."""
    begins = any(step.state == lasso.stem[0] for step in runner.initial(lasso.stem[0]))
    pairs = zip(lasso.states, lasso.states[1:], strict=False)
    goes = all(
        any(step.state == after for step in runner.successors(before)) for before, after in pairs
    )
    closes = not lasso.cycle or lasso.cycle[-1] == lasso.stem[-1]
    return (
        begins
        and goes
        and closes
        and violates(runner, formula, lasso)
        and None not in reasons(runner, lasso).values()
    )
