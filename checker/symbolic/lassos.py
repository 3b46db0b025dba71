"""Finds lassos in bounded model checking: determines where a path may close, and whether the
resulting behaviour is fair and violates a formula (Biere, Cimatti, Clarke and Zhu, 1999).

`temporal.lasso` defines truth along a lasso. This module applies that definition to terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from fencepost.checker.request import Unsupported
from fencepost.checker.symbolic import order, terms, values
from fencepost.checker.symbolic.formulas import Formulas, Level
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree, V
from fencepost.checker.temporal.lasso import Logic, holds
from fencepost.checker.temporal.seen import unchanged
from fencepost.checker.temporal.units import (
    MAX_UNITS,
    Unit,
    most_units,
    part_choices,
    units_of,
)
from fencepost.spec.core.formulas import predicates
from fencepost.spec.core.ir import Expr
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice

TERMS: Logic[Truth] = Logic(
    lambda truths: terms.both(*truths), lambda truths: terms.either(*truths), terms.negation
)


@dataclass(frozen=True, slots=True)
class _Moves:
    """The possible steps from a state. For each unit, ``steps`` contains the steps that count for
    the unit, each with its condition and its target.
    """

    steps: dict[Unit, list[tuple[Truth, Sequence[Tree]]]]

    def possible(self, unit: Unit) -> Truth:
        """Returns the condition that a step that counts for a unit is possible."""
        return terms.either(*(path for path, _ in self.steps[unit]))


@dataclass(slots=True)
class Lassos:
    """The lassos of a model. Raises `Unsupported` for fairness that cannot be expressed."""

    formulas: Formulas
    _units: dict[Unit, list[tuple[int, tuple[Choice, ...]]]] = field(
        default_factory=dict[Unit, "list[tuple[int, tuple[Choice, ...]]]"]
    )
    """The units of fairness, each with the actions and the vectors of first choices that belong to
    it.
    """
    _unseen: Expr = field(init=False)
    """The condition that a step changes nothing but ghosts."""
    _moves: dict[int, _Moves] = field(default_factory=dict[int, _Moves])
    _taken: dict[tuple[int, Unit], Truth] = field(default_factory=dict["tuple[int, Unit]", Truth])
    _truths: dict[tuple[int, int], Truth] = field(default_factory=dict["tuple[int, int]", Truth])

    def __post_init__(self) -> None:
        model = self.formulas.model
        for number, fairness in enumerate(model.fairness):
            if most_units(model, fairness) > MAX_UNITS:
                many = f"`each` may have more than {MAX_UNITS:,} units"
                raise Unsupported(many, fairness.span)
            for unit, choices in units_of(model, number):
                steps = ((part.action, choices or part_choices(model, part))
                         for part in fairness.members)  # fmt: skip
                self._units.setdefault(unit, []).extend(steps)
        self._unseen = unchanged(model)

    def ways(
        self, levels: Sequence[Level], constraints: Sequence[int], number: int, stays: bool
    ) -> list[Truth]:
        """Returns the conditions under which a path along all levels becomes a lasso that violates
        property ``number``. Condition ``n`` says that the state of the last level equals the state
        of level ``n``, so that the steps between them repeat. With ``stays``, a last condition is
        added: that the behaviour stutters forever in the last state.
        """
        last = len(levels) - 1
        conditions = [
            terms.both(
                self._same(levels[loop], levels[last]),
                self._fair(levels, loop),
                terms.negation(self._holds(number, levels[:last], loop)),
            )
            for loop in range(last)
        ]
        if stays:
            fails = terms.negation(self._holds(number, levels, last))
            conditions.append(terms.both(self.idle(levels, constraints), fails))
        return conditions

    def idle(self, levels: Sequence[Level], constraints: Sequence[int]) -> Truth:
        """Returns the condition that a fair behaviour within the constraints may stutter forever in
        the last state of a path.
        """
        last = len(levels) - 1
        inside = self.formulas.bounds(levels[last], constraints).inside
        possible = [self._at(levels, last).possible(unit) for unit in self._units]
        return terms.both(inside, *map(terms.negation, possible))

    def _holds(self, number: int, word: Sequence[Level], loop: int) -> Truth:
        """Returns the condition that the formula of a property holds for a word of states that
        repeats from position ``loop`` on.
        """
        formula = self.formulas.model.properties[number].formula
        assert formula is not None
        truths = {
            part: [self._truth(part, position, level) for position, level in enumerate(word)]
            for part in predicates(formula)
        }
        return holds(formula, truths, len(word), loop, TERMS)[0]

    def _truth(self, predicate: int, position: int, level: Level) -> Truth:
        key = predicate, position
        if key not in self._truths:
            self._truths[key] = self.formulas.property(predicate, level).holds
        return self._truths[key]

    # ------------------------------------------------------------ fairness

    def _fair(self, levels: Sequence[Level], loop: int) -> Truth:
        """Returns the condition that it is fair to repeat the steps from level ``loop`` to the last
        level.
        """
        model, positions = self.formulas.model, range(loop, len(levels) - 1)
        facts: list[Truth] = []
        for unit in self._units:
            fairness = model.fairness[unit.constraint]
            counted = [self._counts(levels, position, unit) for position in positions]
            idle = [
                terms.negation(self._at(levels, position).possible(unit)) for position in positions
            ]
            never = terms.both(*idle) if fairness.strong else terms.either(*idle)
            facts.append(terms.either(*counted, never))
        return terms.both(*facts)

    def _counts(self, levels: Sequence[Level], position: int, unit: Unit) -> Truth:
        """Returns the condition that the step from a level to the next one counts for a unit. This
        is the case if some step of the unit leads to the next level, whether or not the path takes
        it.
        """
        key = position, unit
        if key not in self._taken:
            after = levels[position + 1]
            self._taken[key] = terms.either(
                *(
                    terms.both(path, self._equal(store, after.store))
                    for path, store in self._at(levels, position).steps[unit]
                )
            )
        return self._taken[key]

    def _at(self, levels: Sequence[Level], position: int) -> _Moves:
        if position not in self._moves:
            self._moves[position] = self._possible(position, levels[position])
        return self._moves[position]

    def _possible(self, position: int, level: Level) -> _Moves:
        steps_of: dict[Unit, list[tuple[Truth, Sequence[Tree]]]] = {}
        for unit, covered in self._units.items():
            steps = steps_of[unit] = []
            condition = self.formulas.model.fairness[unit.constraint].condition
            holds = True if condition is None else self._truth(condition, position, level)
            for action, choices in covered:
                choice_values = [
                    V(choice.type, values.tree_of(choice.type, choice.value)) for choice in choices
                ]
                for step in self.formulas.tried(level, action, choice_values):
                    unseen = self.formulas.relation(self._unseen, level, step.store)
                    path = terms.both(holds, step.path, terms.negation(unseen))
                    if path is not False:
                        steps.append((path, step.store))
        return _Moves(steps_of)

    # ------------------------------------------------------------ states

    def _same(self, first: Level, second: Level) -> Truth:
        return self._equal(first.store, second.store)

    def _equal(self, first: Sequence[Tree], second: Sequence[Tree]) -> Truth:
        columns = zip(first, second, self.formulas.kinds, strict=True)
        return terms.both(*(order.equal(a, b, kind) for a, b, kind in columns))
