"""The states of a search as Python values, for the interpreter; of other engines the initial states
if there are too many. `ValueStates` implements `States`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from fencepost.checker.resources import Exhausted, resident_bytes
from fencepost.checker.search.account import Expired
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.orbits import MIN_NOTED_PERMUTATIONS, Orbits
from fencepost.checker.search.states import Counts
from fencepost.checker.search.visiting import Visitor
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner


class ValueStates:
    """The states found, each with its least predecessor, inside and outside the constraints. With
    ``orbits`` one of each, and level by level, for then the least predecessor is yet to be found.
    """

    def __init__(self, watch: Watch, runner: Runner, orbits: Orbits | None) -> None:
        self._runner = runner
        self._limits = watch.limits
        self._watch = watch
        self._parents: dict[State, State | None] = {}
        self._orbits = orbits
        self.remark = ""
        if orbits is not None and orbits.permutations >= MIN_NOTED_PERMUTATIONS:
            self.remark = f"{orbits.permutations:,} permutations per state"
        self._levels: list[list[State]] = []
        self._visitor = Visitor(
            runner, watch.account, self._parents, watch.limits.max_states, orbits=orbits
        )
        self.expanded = 0
        self.look_for = self._visitor.look_for

    @property
    def level(self) -> int:
        return self._visitor.depth + 1

    @property
    def size(self) -> int:
        return len(self._visitor.fresh)

    @property
    def states(self) -> int:
        return self._visitor.count

    @property
    def generated(self) -> int:
        return self._visitor.initial + sum(self._visitor.taken)

    # ------------------------------------------------------------ the levels

    def begin(self) -> None:
        for made in self._runner.initial():
            self._watch.look()
            self._visitor.begin(made)

    def expand(self) -> None:
        visitor = self._visitor
        frontier, visitor.fresh, visitor.stand_for = sorted(visitor.fresh), [], 0
        visitor.depth += 1
        if self._orbits is not None:
            self._levels.append(frontier)
        for state in frontier:
            self._watch.look()
            visitor.expand(state)
            self.expanded += 1

    def onward(self) -> ValueStates:
        return self

    def examine(self) -> None:
        """The visitor has looked at the states when it found them."""

    def settle(self) -> None:
        """No state is left to look at."""

    # ------------------------------------------------------------ what was found

    def collect(self, depth: int) -> None:
        """The visitor has offered the problems when it met them."""

    def count(self) -> Counts:
        return self._visitor.counts(self.size)

    def predecessors(self, level: int, states: Sequence[State]) -> list[State]:
        if self._orbits is not None:
            return self._least_before(self._levels[level - 1], states, self._orbits)
        found = [self._parents[state] for state in states]
        return [state for state in found if state is not None]

    def _least_before(
        self, level: Sequence[State], states: Sequence[State], orbits: Orbits
    ) -> list[State]:
        """For each state the least state of the orbits of a level that leads to it."""
        leads: dict[State, list[tuple[State, State]]] = {orbits.least(s): [] for s in states}
        runner = Runner(self._runner.model)
        for before in level:
            self._watch.look()
            for after in {after for _, after in runner.expand(before)[0]}:
                known = leads.get(orbits.least(after))
                if known is not None:
                    known.append((before, after))
        return [orbits.before(leads[orbits.least(state)], state) for state in states]

    # ------------------------------------------------------------ limits

    def timed(self, seconds: float | None) -> AbstractContextManager[None]:
        return raised_after(seconds, Expired)

    def stop(self, error: BaseException) -> None:
        """An interrupt is raised by Python itself."""

    def resume(self) -> None:
        """It was not stopped."""

    def weigh(self) -> None:
        most = self._limits.memory
        if most is not None and resident_bytes() > most:
            raise Exhausted

    def close(self) -> None:
        """Python frees what the states take."""
