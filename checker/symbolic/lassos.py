"""Lassos among the paths of bounded model checking: where a path may close, and whether what goes
on for ever then is fair and violates a formula (Biere, Cimatti, Clarke and Zhu, 1999).

What holds along a lasso is asked of `temporal.lasso`, with terms in the place of truth values. It
knows neither the solver nor when it is asked.
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
from fencepost.checker.temporal.units import MOST_UNITS, Unit, most_units, units_of
from fencepost.spec.core.formulas import predicates
from fencepost.spec.core.ir import Expr
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice

TERMS: Logic[Truth] = Logic(
    lambda truths: terms.both(*truths), lambda truths: terms.either(*truths), terms.negation
)


@dataclass(frozen=True, slots=True)
class _Moves:
    """What may happen in a state: for each unit the steps that count, each as the condition under
    which it can be taken and where it leads.
    """

    steps: dict[Unit, list[tuple[Truth, Sequence[Tree]]]]

    def possible(self, unit: Unit) -> Truth:
        """Whether a step that counts for a unit can be taken."""
        return terms.either(*(path for path, _ in self.steps[unit]))


@dataclass(slots=True)
class Lassos:
    """The lassos of a model. Raises `Unsupported` for fairness that it does not express."""

    formulas: Formulas
    _units: dict[Unit, list[tuple[Choice, ...]]] = field(
        default_factory=dict[Unit, "list[tuple[Choice, ...]]"]
    )
    """The units, each with the choices that belong to it."""
    _unseen: Expr = field(init=False)
    """Whether a step changes nothing but ghosts."""
    _moves: dict[int, _Moves] = field(default_factory=dict[int, _Moves])
    _taken: dict[tuple[int, Unit], Truth] = field(default_factory=dict["tuple[int, Unit]", Truth])
    _truths: dict[tuple[int, int], Truth] = field(default_factory=dict["tuple[int, int]", Truth])

    def __post_init__(self) -> None:
        model = self.formulas.model
        for number, action in enumerate(model.actions):
            if action.fairness is not None:
                if most_units(model, number) > MOST_UNITS:
                    many = f"`each` may have more than {MOST_UNITS:,} units"
                    raise Unsupported(many, action.span)
                for unit, choices in units_of(model, number):
                    self._units.setdefault(unit, []).append(choices)
        self._unseen = unchanged(model)

    def ways(
        self, levels: Sequence[Level], constraints: Sequence[int], number: int, stays: bool
    ) -> list[Truth]:
        """The ways in which a path along all levels becomes a lasso that violates property
        ``number``. Way ``n`` is that the state of the last level is the one of level ``n``, so that
        the steps in between come again; the last way, if it ``stays``, that nothing happens in the
        last state any more.
        """
        last = len(levels) - 1
        found = [
            terms.both(
                self._same(levels[loop], levels[last]),
                self._fair(levels, loop),
                terms.negation(self._holds(number, levels[:last], loop)),
            )
            for loop in range(last)
        ]
        if stays:
            inside = self.formulas.bounds(levels[last], constraints).inside
            idle = [terms.negation(self._at(levels, last).possible(u)) for u in self._units]
            fails = terms.negation(self._holds(number, levels, last))
            found.append(terms.both(inside, *idle, fails))
        return found

    def _holds(self, number: int, word: Sequence[Level], loop: int) -> Truth:
        """Whether the formula of a property holds of a word of states, of which those from ``loop``
        on come again and again.
        """
        formula = self.formulas.model.properties[number].formula
        assert formula is not None
        known = {
            part: [self._truth(part, place, level) for place, level in enumerate(word)]
            for part in predicates(formula)
        }
        return holds(formula, known, len(word), loop, TERMS)[0]

    def _truth(self, predicate: int, place: int, level: Level) -> Truth:
        key = predicate, place
        if key not in self._truths:
            self._truths[key] = self.formulas.property(predicate, level).holds
        return self._truths[key]

    # ------------------------------------------------------------ fairness

    def _fair(self, levels: Sequence[Level], loop: int) -> Truth:
        """Whether it is fair to repeat the steps from level ``loop`` to the last."""
        model, places = self.formulas.model, range(loop, len(levels) - 1)
        facts: list[Truth] = []
        for unit in self._units:
            fairness = model.actions[unit.action].fairness
            assert fairness is not None
            taken = [self._counts(levels, place, unit) for place in places]
            idle = [terms.negation(self._at(levels, place).possible(unit)) for place in places]
            never = terms.both(*idle) if fairness.strong else terms.either(*idle)
            facts.append(terms.either(*taken, never))
        return terms.both(*facts)

    def _counts(self, levels: Sequence[Level], place: int, unit: Unit) -> Truth:
        """Whether the step from a level to the next counts for a unit: some step of it leads
        there, whichever the path takes.
        """
        key = place, unit
        if key not in self._taken:
            after = levels[place + 1]
            self._taken[key] = terms.either(
                *(
                    terms.both(path, self._equal(store, after.store))
                    for path, store in self._at(levels, place).steps[unit]
                )
            )
        return self._taken[key]

    def _at(self, levels: Sequence[Level], place: int) -> _Moves:
        if place not in self._moves:
            self._moves[place] = self._possible(levels[place])
        return self._moves[place]

    def _possible(self, level: Level) -> _Moves:
        found: dict[Unit, list[tuple[Truth, Sequence[Tree]]]] = {}
        for unit, ways in self._units.items():
            steps = found[unit] = []
            for choices in ways:
                given = [V(one.type, values.tree_of(one.type, one.value)) for one in choices]
                for step in self.formulas.tried(level, unit.action, given):
                    same = self.formulas.relation(self._unseen, level, step.store)
                    path = terms.both(step.path, terms.negation(same))
                    if path is not False:
                        steps.append((path, step.store))
        return _Moves(found)

    # ------------------------------------------------------------ states

    def _same(self, one: Level, other: Level) -> Truth:
        return self._equal(one.store, other.store)

    def _equal(self, one: Sequence[Tree], other: Sequence[Tree]) -> Truth:
        columns = zip(one, other, self.formulas.kinds, strict=True)
        return terms.both(*(order.equal(a, b, kind) for a, b, kind in columns))
