"""Stores the states of a search as Python values, for the interpreter. Other engines use it for the
initial states if there are too many of them. `ValueStates` implements `States`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from fencepost.checker.growth import Growth, drawn, growth
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.orbits import MIN_NOTED_PERMUTATIONS, Orbits
from fencepost.checker.search.states import Counts, Extent
from fencepost.checker.search.visiting import Visitor
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner


class ValueStates:
    """The states found so far, inside and outside the constraints, each with its least predecessor.

    With ``orbits``, one state of each orbit is stored, level by level, because least predecessors
    are then searched for later.
    """

    def __init__(
        self,
        watch: Watch,
        runner: Runner,
        orbits: Orbits | None,
        visitor: Callable[..., Visitor] = Visitor,
    ) -> None:
        self._runner = runner
        self._watch = watch
        self._parents: dict[State, State | None] = {}
        self._orbits = orbits
        self._remark = ""
        if orbits is not None and orbits.permutations >= MIN_NOTED_PERMUTATIONS:
            self._remark = f"{orbits.permutations:,} permutations per state"
        self._levels: list[list[State]] = []
        self._visitor = visitor(
            runner, watch.account, self._parents, watch.limits.max_states, orbits=orbits
        )
        self._expanded = 0
        self.look_for = self._visitor.look_for

    @property
    def extent(self) -> Extent:
        visitor = self._visitor
        generated = visitor.initial + sum(visitor.taken)
        return Extent(visitor.depth + 1, visitor.count, generated, self._expanded, self._remark)

    # ------------------------------------------------------------ the levels

    def begin(self) -> None:
        for successor in self._runner.initial():
            self._watch.look()
            self._visitor.begin(successor)

    def expand(self) -> None:
        visitor = self._visitor
        frontier, visitor.fresh, visitor.stand_for = self.ordered(visitor.fresh), [], 0
        visitor.depth += 1
        if self._orbits is not None:
            self._levels.append(frontier)
        for state in frontier:
            self._watch.look()
            visitor.expand(state)
            self._expanded += 1

    def ordered(self, states: list[State]) -> list[State]:
        """Returns the states of a level in the order of their expansion."""
        return sorted(states)

    def examine(self) -> None:
        """Does nothing, because the visitor checks a state when it finds it."""

    # ------------------------------------------------------------ what was found

    def count(self) -> Counts:
        return self._visitor.counts(len(self._visitor.fresh))

    def contributions(self) -> Growth:
        """Estimates the contribution of each variable to the states."""
        every = list(self._parents)
        sample = [every[number] for number in drawn(len(every))]
        numbers = range(len(self._runner.model.variables))
        drop = [_without(number) for number in numbers]
        return growth(len(every), sample, [itemgetter(number) for number in numbers], drop)

    def predecessors(self, level: int, states: Sequence[State]) -> list[State]:
        if self._orbits is not None:
            return self._least_before(self._levels[level - 1], states, self._orbits)
        parents = [self._parents[state] for state in states]
        return [state for state in parents if state is not None]

    def _least_before(
        self, level: Sequence[State], states: Sequence[State], orbits: Orbits
    ) -> list[State]:
        """Returns for each of ``states`` the least state that leads to it, out of the orbits of the
        states in ``level``.
        """
        leads: dict[State, list[tuple[State, State]]] = {orbits.least(s): [] for s in states}
        runner = Runner(self._runner.model)
        for before in level:
            self._watch.look()
            for after in {after for _, after in runner.expand(before)[0]}:
                steps_to = leads.get(orbits.least(after))
                if steps_to is not None:
                    steps_to.append((before, after))
        return [orbits.before(leads[orbits.least(state)], state) for state in states]


def _without(number: int) -> Callable[[State], State]:
    """Returns a function that removes a variable from a state."""
    return lambda state: state[:number] + state[number + 1 :]
