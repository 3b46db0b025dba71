"""The search of every engine that visits states, level by level: what is looked for when, what
counts, and what cuts it.

It does not know how states are found and kept, nor where: `States` do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from fencepost.checker.outcome import INTERRUPTED, Limit, Outcome
from fencepost.checker.resources import Exhausted
from fencepost.checker.search.account import Cut, Expired
from fencepost.checker.search.checkpoint import Checkpoint
from fencepost.checker.search.limits import Watch, no_memory, out_of_memory
from fencepost.checker.search.states import Counts, NoPredecessor, States
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

PATIENCE_SECONDS = 0.5
"""How long an interrupted search may still look for the way to a problem that it has found."""


class LevelSearch:
    """One run over ``states``. ``checkpoint``: where it is saved, and may have been; None: nowhere.
    Only `Stoppable` states can be saved. ``runner`` explains problems. ``first_states`` replace the
    states if there are more initial states than ``--max-states`` allows: their `begin` stops at
    exactly that many; None if that of ``states`` does.
    """

    def __init__(
        self,
        watch: Watch,
        states: States,
        checkpoint: Checkpoint | None = None,
        runner: Callable[[], Runner] | None = None,
        first_states: Callable[[], States] | None = None,
    ) -> None:
        self.account = watch.account
        self.states = states
        self.watch = watch
        self._checkpoint = checkpoint
        self._runner = runner or (lambda: Runner(watch.account.model))
        self._first_states = first_states
        # The level being expanded, 0 before the first.
        self._depth = 0
        # Whether there is something to be searched: what was saved is read before.
        self._begun = checkpoint is None
        # The last level that counts, and what was counted up to there.
        self._level = 0
        self._counts: Counts | None = None
        watch.follow(states)
        assert checkpoint is None or watch.stoppable, (
            f"{states} cannot be saved: it is not `Stoppable`"
        )

    def run(self, completed: Callable[[Outcome], Outcome] = lambda outcome: outcome) -> Outcome:
        """The outcome; ``completed`` is given it while the states are still there."""
        try:
            limit = self.search()
            outcome = self.account.outcome(limit, self._runner, self._paths)
            if self._checkpoint is not None:
                outcome = self._checkpoint.ended(outcome)
            return completed(outcome)
        finally:
            # Also where an observer has ended the search.
            self.close()

    def search(self) -> Limit | None:
        """Searches, and takes all that was found into the account; what cut the search."""
        limit = self._limited()
        self.watch.look_back()
        if limit is not None and self._begun:
            self._save_rest()
            self._take_in_rest()
        if self._counts is not None:
            account, totals = self.account, self._counts.totals()
            account.taken = list(totals.taken)
            account.marks |= totals.marks
            account.refused = {**totals.refused}
        return limit

    def close(self) -> None:
        """Frees what the states take."""
        self.watch.close()

    def _limited(self) -> Limit | None:
        """Searches; what cut the search, if anything did."""
        try:
            try:
                with self.watch.timed(self.account.left):
                    self._search()
            except Cut as cut:
                if cut.limit.kind != "max-states" or self._depth or self._first_states is None:
                    raise
                self._begin_exactly(self._first_states())
        except Expired:
            return self.account.expired
        except Cut as cut:
            return cut.limit
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exhausted:
            return out_of_memory(self.watch.limits)
        except MemoryError:
            return no_memory()
        return None

    # ------------------------------------------------------------ the loop

    def _search(self) -> None:
        """All levels, from the first, or from where the search was saved."""
        account, most = self.account, self.watch.limits.depth
        restored = self._checkpoint is not None and self._checkpoint.restore()
        self._begun = True
        if not restored:
            self._look_for()
            self.states.begin()
            self.states.examine()
            self.watch.check_states()
            if self._take_in():
                return
        else:
            self._level, self._counts = self.states.extent.level, self.states.count()
            self._depth = self.watch.depth = self._level - 1
            self._look_for()
            self._check_states()
        while self._has_frontier:
            if most is not None and self._depth >= most:
                raise Cut(Limit("depth", most))
            self._depth = self.watch.depth = self._depth + 1
            if account.reached:
                self._look_for()
            self.states.expand()
            if not account.passes(self._depth):
                self.states.examine()
            if self._take_in():
                return

    @property
    def _has_frontier(self) -> bool:
        """Whether the last level that counts has states to expand."""
        return self._counts is not None and self._counts.size > 0

    def _look_for(self) -> None:
        """Says what is looked for from now on."""
        account = self.account
        self.states.look_for(self.watch.deadlock, account.searched.chosen - account.reached)

    def _begin_exactly(self, states: States) -> None:
        """Finds the initial states again, up to the limit on states. Raises `Cut` there."""
        # Problems of states beyond the limit do not count.
        self.account.candidates.clear()
        self.watch.close()
        self.watch.follow(states)
        self.states = states
        self._look_for()
        with self.watch.timed(self.account.left):
            states.begin()
        raise AssertionError("fewer initial states than the search found")

    def _take_in(self) -> bool:
        """Takes in the level that has just been examined; whether it ends the search. Raises `Cut`
        if it reaches the limit on states.
        """
        account = self.account
        if not account.passes(self._depth):
            self._count()
        if account.ends:
            return True
        if self._checkpoint is not None and self._has_frontier:
            self._checkpoint.judged()
        self._check_states()
        return False

    def _check_states(self) -> None:
        """Raises `Cut` if there are too many states, unless no state is left to expand."""
        if self._has_frontier:
            self.watch.check_states()

    def _take_in_rest(self) -> None:
        """Takes in what was found of a level that was cut, and looks at its states for as long as
        nobody minds.
        """
        states, stoppable = self.states, self.watch.stoppable
        if states.extent.level == self._level or self.account.passes(self._depth):
            return
        self.watch.be_patient(2 * PATIENCE_SECONDS)
        self._resume()
        try:
            # One state can take longer than anybody waits.
            with self.watch.timed(PATIENCE_SECONDS):
                states.examine()
        except (Cut, KeyboardInterrupt, MemoryError, Exhausted):
            if stoppable is not None:
                stoppable.settle()
        self._count()

    def _resume(self) -> None:
        """Allows further work if a limit has stopped the states."""
        if self.watch.stoppable is not None:
            self.watch.stoppable.resume()

    def _save_rest(self) -> None:
        """Saves what was found up to the last level that counts, for as long as nobody minds."""
        if self._checkpoint is None:
            return
        self.watch.be_patient(inf)
        self._resume()
        try:
            self._checkpoint.cut()
        except (Cut, KeyboardInterrupt, MemoryError, Exhausted):
            # What was saved before is as it was.
            return

    def _count(self) -> None:
        """Adds what the level found to the account."""
        account, now = self.account, self.states.count()
        if self._depth:
            before = 0 if self._counts is None else self._counts.steps
            account.transitions.append(now.steps - before)
        else:
            account.initial_count = now.initial
        self._level, self._counts = self.states.extent.level, now
        if now.size:
            account.levels.append(now.size)
        if now.visited is not None:
            account.orbits = [*(account.orbits or ()), now.visited]
        account.outside, account.stuck_count = now.outside, now.stuck
        if account.stuck is None:
            account.stuck = now.first_stuck
        account.reached |= now.reached

    # ------------------------------------------------------------ traces

    def _paths(self, ends: Sequence[tuple[State, int]]) -> list[list[State]]:
        """The states from an initial one to each of ``ends``, found level by level."""
        self.watch.be_patient(PATIENCE_SECONDS)
        self._resume()
        ways = [[state] for state, _ in ends]
        for level in range(max((level for _, level in ends), default=0), 1, -1):
            present = [way for way, (_, last) in zip(ways, ends, strict=True) if last >= level]
            wanted = list(dict.fromkeys(way[-1] for way in present))
            try:
                before = self.states.predecessors(level - 1, wanted)
            except NoPredecessor as missing:
                if self._checkpoint is None:
                    raise
                raise self._checkpoint.without(missing) from None
            found = dict(zip(wanted, before, strict=True))
            for way in present:
                way.append(found[way[-1]])
        for way in ways:
            way.reverse()
        return ways
