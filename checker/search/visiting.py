"""What a search does with one state after the other: what each leads to, and what is wrong there.

The states that were seen are kept by somebody else. It does not know levels, nor when to stop, but
for the number of states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from fencepost.checker.outcome import Limit
from fencepost.checker.search.account import Account, Candidate, Cut
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure, Runner


class Seen(Protocol):
    """The states that were seen, inside and outside the constraints; asked for each state, and told
    at once of a new one and the state before it.
    """

    def __contains__(self, state: State, /) -> bool: ...
    def __setitem__(self, state: State, before: State | None, /) -> None: ...


@dataclass(slots=True)
class Expansion:
    """What expanding one level (or the initial choice) found; counted only if the level counts.

    ``fresh`` and ``outside`` are the new states, inside and outside the constraints.
    """

    taken: list[int]
    transitions: int = 0
    fresh: list[State] = field(default_factory=list[State])
    outside: list[State] = field(default_factory=list[State])
    stuck: list[State] = field(default_factory=list[State])
    reached: set[int] = field(default_factory=set[int])


class Visitor:
    """``depth`` is the level of the states that are expanded, 0 before the first. ``most`` is how
    many states inside the constraints there may be: the next one raises `Cut` with ``limit``, as
    the user gave it, and it and the step to it do not count. ``count`` is how many there are.
    """

    def __init__(
        self,
        runner: Runner,
        account: Account,
        deadlock: bool,
        seen: Seen,
        most: int | None = None,
        limit: int | None = None,
    ) -> None:
        self.runner = runner
        self.account = account
        self.searched = account.searched
        self.deadlock = deadlock
        self.seen = seen
        self.most = most
        self.limit = Limit("max-states", limit)
        self.count = 0
        self.depth = 0
        kinds = [action.kind for action in runner.model.actions]
        self.progressing = [kind in ("ordinary", "environment") for kind in kinds]

    # ------------------------------------------------------------ states and steps

    def begin(self, choice: State | Failure, expansion: Expansion) -> None:
        """Takes in what one vector of choices of the initial states came to."""
        if isinstance(choice, Failure):
            self._fail(1, -1, None, choice)
            return
        expansion.transitions += 1
        if choice not in self.seen and not self._discover(choice, None, expansion):
            expansion.transitions -= 1
            raise Cut(self.limit)

    def expand(self, state: State, expansion: Expansion) -> None:
        """Takes every step from a state."""
        seen, taken, progressing = self.seen, expansion.taken, self.progressing
        steps_matter = self.searched.step_invariants
        moves, steps = False, 0
        for action, after in self.runner.steps(state):
            if isinstance(after, Failure):
                self._fail(self.depth + 1, action, state, after)
                moves = True
                continue
            taken[action] += 1
            expansion.transitions += 1
            if after not in seen and not self._discover(after, state, expansion):
                taken[action] -= 1
                expansion.transitions -= 1
                raise Cut(self.limit)
            steps += 1
            if not moves and progressing[action] and after != state:
                moves = True
            if steps_matter:
                self._check_step(state, after)
        if not moves and not self._is_terminal(state):
            if steps:
                expansion.stuck.append(state)
            elif self.deadlock:
                self.account.offer(Candidate(self.depth, Rank.DEADLOCK, 0, state))

    def _discover(self, state: State, before: State | None, expansion: Expansion) -> bool:
        """Takes in a state that is seen for the first time, and checks what states must be; False:
        it would be one too many.
        """
        if self._is_inside(state):
            if self.count == self.most:
                return False
            self.count += 1
            expansion.fresh.append(state)
        else:
            expansion.outside.append(state)
        self.seen[state] = before
        for number in self.searched.invariants:
            if self._is_true(number, state) is False:
                problem = Candidate(self.depth + 1, Rank.INVARIANT, number, state, number=number)
                self.account.offer(problem)
        for number in self.searched.predicates:
            # They have a value everywhere, or there is a problem; which one matters later.
            self._is_true(number, state)
        for number in self.searched.reachables:
            # Within a level each state counts, so that no order of the states decides what is met.
            if number not in self.account.reached and self._is_true(number, state):
                expansion.reached.add(number)
        return True

    def _is_inside(self, state: State) -> bool:
        """Whether all constraints hold; a state where one has no value counts as inside."""
        return all(
            self._is_true(number, state) is not False for number in self.searched.constraints
        )

    def _is_terminal(self, state: State) -> bool:
        """Whether a terminal condition holds, or (a problem of its own) has no value."""
        for number in self.searched.terminals:
            try:
                if self.runner.holds(number, state):
                    return True
            except EvaluationError as error:
                self._fail_in(self.depth, number, state, None, error)
                return True
        return False

    def _is_true(self, number: int, state: State) -> bool | None:
        """Whether a property holds in a new state; None: it has no value, which is noted."""
        try:
            return self.runner.holds(number, state)
        except EvaluationError as error:
            self._fail_in(self.depth + 1, number, state, None, error)
            return None

    def _check_step(self, state: State, after: State) -> None:
        rank, where = Rank.STEP_INVARIANT, self.depth + 1
        for number in self.searched.step_invariants:
            try:
                if not self.runner.holds(number, state, after):
                    self.account.offer(Candidate(where, rank, number, after, state, number=number))
            except EvaluationError as error:
                self._fail_in(where, number, after, state, error)

    def add(self, expansion: Expansion) -> None:
        """Adds to the account what does not depend on levels; what was found counts."""
        account, runner = self.account, self.runner
        account.taken = [a + b for a, b in zip(account.taken, expansion.taken, strict=True)]
        account.reached |= expansion.reached
        account.outside += len(expansion.outside)
        account.stuck_count += len(expansion.stuck)
        account.marks.update(runner.marked)
        runner.marked.clear()
        for guard, times in runner.refused.items():
            account.refused[guard] = account.refused.get(guard, 0) + times
        runner.refused.clear()

    # ------------------------------------------------------------ problems

    def _fail(self, depth: int, action: int, state: State | None, failure: Failure) -> None:
        """A step of an action out of ``state`` failed (or, without one, an initial choice)."""
        rank = Rank.ASSERTION if failure.assertion else Rank.ERROR
        self.account.offer(Candidate(depth, rank, action, state, site=failure.site))

    def _fail_in(
        self, depth: int, number: int, state: State, before: State | None, error: EvaluationError
    ) -> None:
        """A property has no value in a state or on a step."""
        self.account.offer(self.account.no_value(depth, number, state, before, error.site))
