"""Visits states one by one, together with their successors, and finds the problems in them.

The set of visited states is stored elsewhere.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from fencepost.checker.outcome import Limit
from fencepost.checker.search.account import Account, Candidate, Cut
from fencepost.checker.search.orbits import Orbits
from fencepost.checker.search.states import Counts, Totals
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure, Runner, Successor


class VisitedStates(Protocol):
    """The set of visited states, inside and outside the constraints. It is queried for each state,
    and each new state is added immediately, with its predecessor.
    """

    def __contains__(self, state: State, /) -> bool: ...
    def __setitem__(self, state: State, before: State | None, /) -> None: ...


class Visitor:
    """Visits states and their steps, and counts them.

    ``depth`` is the level of the expanded states, or 0 before the first. ``most`` limits the number
    of initial states inside the constraints: one more raises `Cut` and is not counted. ``count`` is
    the number of states. ``fresh`` contains the new states that the caller has not taken yet. The
    other counts are defined as in `Counts`. With ``orbits``, only the least state of each orbit is
    visited; ``stand_for`` is the number of states that the ``fresh`` states represent.
    """

    def __init__(
        self,
        runner: Runner,
        account: Account,
        seen: VisitedStates,
        most: int | None = None,
        depth: int = 0,
        orbits: Orbits | None = None,
    ) -> None:
        self.runner = runner
        self.orbits = orbits
        self.account = account
        self.searched = account.searched
        self.seen = seen
        self.most = most
        self.depth = depth
        self.count = self.initial = self.outside = self.stuck = self.stand_for = 0
        self.fresh: list[State] = []
        self.taken = [0] * len(runner.model.actions)
        self.first_stuck: tuple[State, int] | None = None
        self.reached: set[int] = set()
        kinds = [action.kind for action in runner.model.actions]
        self.progressing = [kind in ("ordinary", "environment") for kind in kinds]
        self.look_for(True, account.searched.chosen)

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Sets which problems and reachability properties to search for in the following states."""
        self.deadlock = deadlock
        self.reachables = [number for number in self.searched.reachables if number in properties]

    def counts(self, visited: int) -> Counts:
        """Returns the counts so far. ``visited`` is the number of visited states in the last
        level.
        """
        runner, size = self.runner, visited if self.orbits is None else self.stand_for
        totals = Totals(tuple(self.taken), {**runner.refused}, frozenset(runner.marked))
        return Counts(
            self.initial, sum(self.taken), size, self.outside, self.stuck, self.first_stuck,
            frozenset(self.reached), lambda: totals, None if self.orbits is None else visited,
        )  # fmt: skip

    # ------------------------------------------------------------ states and steps

    def begin(self, successor: Successor) -> None:
        """Takes in the initial state, or the failure, that one vector of choices gave."""
        if successor.failure is not None:
            self._fail(1, -1, None, successor.failure)
            return
        assert successor.state is not None
        state = successor.state if self.orbits is None else self.orbits.least(successor.state)
        if state not in self.seen:
            self._discover(state, None)
            for number in self.searched.step_invariants:
                if self.runner.model.properties[number].kind.of_initial_states:
                    self._check_step(number, state, None)
        self.initial += 1

    def expand(self, state: State) -> None:
        """Takes every step from a state."""
        seen, taken, progressing = self.seen, self.taken, self.progressing
        steps_matter, orbits = self.searched.step_invariants, self.orbits
        weight = self.runner.weight = 1 if orbits is None else orbits.size(state)
        moves, steps = False, 0
        for action, after in self.runner.steps(state):
            if isinstance(after, Failure):
                self._fail(self.depth + 1, action, state, after)
                moves = True
                continue
            new = after if orbits is None else orbits.least(after)
            if new not in seen:
                self._discover(new, state)
            taken[action] += weight
            steps += 1
            if not moves and progressing[action] and after != state:
                moves = True
            for number in steps_matter:
                self._check_step(number, after, state)
        if not moves and not self._is_terminal(state):
            if steps:
                self.stuck += weight
                self.first_stuck = self.first_stuck or (state, self.depth)
            elif self.deadlock:
                self.account.offer(Candidate(self.depth, Rank.DEADLOCK, 0, state))

    def _discover(self, state: State, before: State | None) -> None:
        """Adds a new state, and checks the properties of states in it."""
        # The predecessor is recorded even for a state beyond the limit, because a constraint may be
        # undefined in that state.
        self.seen[state] = before
        weight = 1 if self.orbits is None else self.orbits.size(state)
        if self._is_inside(state):
            if not self.depth and self.count == self.most:
                raise Cut(Limit("max-states", self.most))
            self.count += 1
            self.stand_for += weight
            self.fresh.append(state)
        else:
            self.outside += weight
        self._examine(state)

    def _examine(self, state: State, before: State | None = None) -> None:
        """Checks the properties of states in a state. If the state is not kept, ``before`` is its
        predecessor.
        """
        for number in self.searched.invariants:
            if self._is_true(number, state, before) is False:
                problem = Candidate(
                    self.depth + 1, Rank.INVARIANT, number, state, before, number=number
                )
                self.account.offer(problem)
        for number in self.searched.predicates:
            # Predicates must be defined everywhere. Their values are only needed later.
            self._is_true(number, state)
        for number in self.reachables:
            # Every state of a level counts, so that the result does not depend on the order of
            # states.
            if self._is_true(number, state):
                self.reached.add(number)

    def _is_inside(self, state: State) -> bool:
        """Checks whether all constraints hold in the state. A state with an undefined constraint
        counts as inside.
        """
        return all(
            self._is_true(number, state) is not False for number in self.searched.constraints
        )

    def _is_terminal(self, state: State) -> bool:
        """Checks whether a terminal condition holds. Also returns True if one is undefined, because
        that is reported as a separate problem.
        """
        for number in self.searched.terminals:
            try:
                if self.runner.holds(number, state):
                    return True
            except EvaluationError as error:
                self._fail_in(self.depth, number, state, None, error)
                return True
        return False

    def _is_true(self, number: int, state: State, before: State | None = None) -> bool | None:
        """Checks whether a property holds in a new state. If it is undefined, records the problem
        and returns None. ``before`` is the predecessor of a state that is not kept.
        """
        try:
            return self.runner.holds(number, state)
        except EvaluationError as error:
            self._fail_in(self.depth + 1, number, state, before, error)
            return None

    def _check_step(self, number: int, state: State, before: State | None) -> None:
        """Checks a step property for a step that ends in ``state``. If ``before`` is None, checks
        it for an initial state.
        """
        level, arguments = self.depth + 1, (state, None) if before is None else (before, state)
        try:
            if not self.runner.holds(number, *arguments):
                rank = Rank.STEP_INVARIANT
                state, before = self._least_step(state, before)
                self.account.offer(Candidate(level, rank, number, state, before, number=number))
        except EvaluationError as error:
            state, before = self._least_step(state, before)
            self._fail_in(level, number, state, before, error)

    def _least_step(self, state: State, before: State | None) -> tuple[State, State | None]:
        """Returns the least image of the step under the permutations, if orbits are searched."""
        if self.orbits is None or before is None:
            return state, before
        before, state = self.orbits.least_step(before, state)
        return state, before

    # ------------------------------------------------------------ problems

    def _fail(self, depth: int, action: int, state: State | None, failure: Failure) -> None:
        """Offers the account a failed step of an action from ``state``, or a failed initial choice
        if ``state`` is None.
        """
        rank = Rank.ASSERTION if failure.assertion else Rank.ERROR
        self.account.offer(Candidate(depth, rank, action, state, site=failure.site))

    def _fail_in(
        self, depth: int, number: int, state: State, before: State | None, error: EvaluationError
    ) -> None:
        """Offers the account a property that is undefined in a state or on a step."""
        self.account.offer(self.account.no_value(depth, number, state, before, error.site))
