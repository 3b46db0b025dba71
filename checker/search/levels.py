"""Implements the search loop of every engine that visits states level by level: it determines what
to search for, which results count, and which limit cuts the search.

`States` find and store the states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from fencepost.checker.outcome import INTERRUPTED, Limit, Outcome
from fencepost.checker.resources import Exhausted
from fencepost.checker.search.account import Cut, Expired
from fencepost.checker.search.limits import Watch, no_memory, out_of_memory
from fencepost.checker.search.states import Checkpoint, Counts, NoPredecessor, States
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

PATIENCE_SECONDS = 0.5
"""Maximum time, in seconds, that an interrupted search may still take to find the path to a
problem.
"""


class LevelSearch:
    """One search over ``states``.

    ``checkpoint``, if given, saves and restores the search; only `Stoppable` states can be saved.
    ``runner`` explains problems. ``first_states`` replace ``states`` if there are more initial
    states than ``--max-states`` allows; their `begin` stops at exactly that number.
    ``first_states`` is None if the `begin` of ``states`` already does so.
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
        # The level being expanded; 0 before the first level.
        self._depth = 0
        # Whether the search has started. A saved search is read before it starts.
        self._begun = checkpoint is None
        # The last level that counts, and the counts up to and including it.
        self._level = 0
        self._counts: Counts | None = None
        watch.follow(states)
        assert checkpoint is None or watch.stoppable, (
            f"{states} cannot be saved: it is not `Stoppable`"
        )

    def run(self, completed: Callable[[Outcome], Outcome] = lambda outcome: outcome) -> Outcome:
        """Runs the search and returns its outcome. ``completed`` is applied to the outcome while
        the states still exist.
        """
        try:
            limit = self.search()
            outcome = self.account.outcome(limit, self._runner, self._paths)
            if self._checkpoint is not None:
                outcome = self._checkpoint.ended(outcome)
            return completed(outcome)
        finally:
            # This is also needed if an observer has ended the search.
            self.close()

    def search(self) -> Limit | None:
        """Searches, and adds all results to the account. Returns the limit that cut the search, or
        None.
        """
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
        """Frees the states."""
        self.watch.close()

    def _limited(self) -> Limit | None:
        """Searches all levels under the limits. Returns the limit that cut the search, or None."""
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
        """Searches all levels, starting from the first level or from the saved one."""
        account, max_depth = self.account, self.watch.limits.depth
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
            if max_depth is not None and self._depth >= max_depth:
                raise Cut(Limit("depth", max_depth))
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
        """Whether the last level that counts contains states to expand."""
        return self._counts is not None and self._counts.size > 0

    def _look_for(self) -> None:
        """Tells the states which problems and properties to search for in the following levels."""
        account = self.account
        self.states.look_for(self.watch.deadlock, account.searched.chosen - account.reached)

    def _begin_exactly(self, states: States) -> None:
        """Finds the initial states again, and raises `Cut` at the limit on states."""
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
        """Takes in the level that has just been examined, and returns whether this ends the search.
        Raises `Cut` if the level reaches the limit on states.
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
        """Raises `Cut` if there are too many states, unless no state remains to be expanded."""
        if self._has_frontier:
            self.watch.check_states()

    def _take_in_rest(self) -> None:
        """Takes in the results of a level that was cut. Examines the states of that level for at
        most PATIENCE_SECONDS.
        """
        states, stoppable = self.states, self.watch.stoppable
        if states.extent.level == self._level or self.account.passes(self._depth):
            return
        self.watch.be_patient(2 * PATIENCE_SECONDS)
        self._resume()
        try:
            # One state can take longer than the user is willing to wait.
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
        """Saves the results up to and including the last level that counts."""
        if self._checkpoint is None:
            return
        self.watch.be_patient(inf)
        self._resume()
        try:
            self._checkpoint.cut()
        except (Cut, KeyboardInterrupt, MemoryError, Exhausted):
            # The earlier save is unchanged, so this one is given up.
            return

    def _count(self) -> None:
        """Adds the results of the level to the account."""
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
        """Returns for each of ``ends`` the states on a path from an initial state to it. The paths
        are found level by level, backwards.
        """
        self.watch.be_patient(PATIENCE_SECONDS)
        self._resume()
        reversed_paths = [[state] for state, _ in ends]
        for level in range(max((level for _, level in ends), default=0), 1, -1):
            present = [
                path for path, (_, last) in zip(reversed_paths, ends, strict=True) if last >= level
            ]
            targets = list(dict.fromkeys(path[-1] for path in present))
            try:
                before = self.states.predecessors(level - 1, targets)
            except NoPredecessor as missing:
                if self._checkpoint is None:
                    raise
                raise self._checkpoint.without(missing) from None
            predecessor = dict(zip(targets, before, strict=True))
            for path in present:
                path.append(predecessor[path[-1]])
        for path in reversed_paths:
            path.reverse()
        return reversed_paths
