"""Breadth-first search with Python values: the definition of what every engine must find.

The states of a level are expanded in ascending order, actions in declaration order, choices in
theirs. So the first state found to lead to another one is its least predecessor, and the first
state of a level that breaks a property is the least that does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fencepost.checker.account import (
    PROGRESS_SECONDS,
    Account,
    Candidate,
    Cut,
    Rank,
    broken_assumptions,
)
from fencepost.checker.engine import Limits, Progress, Translation, refuse_symbols
from fencepost.checker.process import peak_bytes, resident_bytes
from fencepost.checker.reference.runner import Failure, Runner
from fencepost.checker.result import Outcome
from fencepost.spec.choices import EvaluationError
from fencepost.spec.concrete import Observer
from fencepost.spec.ir import Model
from fencepost.spec.types import State

MEMORY_SECONDS = 0.02
"""How often it looks how much memory it has, where that is limited."""


class Interpreter:
    """The engine of this module."""

    name = "interpreter"
    parallel = False
    library = ""

    def obstacle(self) -> str | None:
        return None

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        return None

    def run(
        self,
        model: Model,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        return self.observe(
            model,
            None,
            properties=properties,
            deadlock=deadlock,
            limits=limits,
            keep_going=keep_going,
            progress=progress,
        )

    def observe(
        self,
        model: Model,
        observer: Observer | None,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        refuse_symbols(model)
        broken = broken_assumptions(model)
        if broken is not None:
            return broken
        account = Account(model, properties, keep_going)
        runner = Runner(model, observer)
        return _Search(runner, account, deadlock, limits, progress).run()


ENGINE = Interpreter()


@dataclass(slots=True)
class _Expansion:
    """What expanding one level (or the initial choice) found; counted only if the level counts.

    ``fresh`` and ``outside`` are the new states, inside and outside the constraints.
    """

    taken: list[int]
    transitions: int = 0
    fresh: list[State] = field(default_factory=list[State])
    outside: list[State] = field(default_factory=list[State])
    stuck: list[State] = field(default_factory=list[State])
    reached: set[int] = field(default_factory=set[int])


class _Search:
    """One run. ``parents`` and ``cut`` map the states found, inside and outside the constraints,
    to their least predecessors; ``depth`` is the level being expanded, 0 before the first.
    ``settled`` are the problems that were known before.
    """

    def __init__(
        self,
        runner: Runner,
        account: Account,
        deadlock: bool,
        limits: Limits,
        progress: Callable[[Progress], None],
    ) -> None:
        self.runner = runner
        self.account = account
        self.deadlock = deadlock
        self.limits = limits
        self.progress = progress
        self.told = self.weighed = account.started
        kinds = [action.kind for action in runner.model.actions]
        self.progressing = [kind in ("ordinary", "environment") for kind in kinds]
        self.parents: dict[State, State | None] = {}
        self.cut: dict[State, State | None] = {}
        self.depth = 0
        self.pending: _Expansion | None = None
        self.settled = dict(account.candidates)

    def run(self) -> Outcome:
        limit: str | None = None
        try:
            self.search()
        except Cut as cut:
            limit = str(cut)
        except KeyboardInterrupt:
            limit = "interrupted"
        if limit == self.most_states:
            # What a level with too many states holds does not count: no other engine would find
            # the same part of it.
            self.account.candidates = self.settled
        elif self.pending is not None and limit is not None:
            self.count(self.pending)
        return self.account.outcome(limit, lambda: self.runner, self.paths)

    # ------------------------------------------------------------ the loop

    def search(self) -> None:
        account = self.account
        expansion = self.pending = self.expansion()
        self.start(expansion)
        while True:
            if account.ends:
                if account.keep_going or account.least_depth > self.depth:
                    self.count(expansion)
                return
            self.count(expansion)
            if not expansion.fresh:
                return
            if self.limits.depth is not None and self.depth >= self.limits.depth:
                raise Cut(f"--depth {self.limits.depth}")
            self.depth += 1
            self.settled = dict(account.candidates)
            frontier = sorted(expansion.fresh)
            expansion = self.pending = self.expansion()
            self.expand(frontier, expansion)

    def start(self, expansion: _Expansion) -> None:
        for successor in self.runner.initial():
            self.watch(0, expansion)
            if successor.failure is not None:
                self.fail(1, -1, None, successor.failure)
            elif successor.state is not None:
                expansion.transitions += 1
                if successor.state not in self.parents and successor.state not in self.cut:
                    self.discover(successor.state, None, expansion)

    def expand(self, frontier: list[State], expansion: _Expansion) -> None:
        depth, parents, cut = self.depth, self.parents, self.cut
        taken, progressing, steps_matter = (
            expansion.taken,
            self.progressing,
            self.account.step_invariants,
        )
        for done, state in enumerate(frontier):
            self.watch(len(frontier) - done, expansion)
            steps, failures = self.runner.expand(state)
            for action, failure in failures:
                self.fail(depth + 1, action, state, failure)
            moves = bool(failures)
            for action, after in steps:
                taken[action] += 1
                if after not in parents and after not in cut:
                    self.discover(after, state, expansion)
                if not moves and progressing[action] and after != state:
                    moves = True
                if steps_matter:
                    self.check_step(state, after)
            expansion.transitions += len(steps)
            if not moves and not self.is_terminal(state):
                if steps:
                    expansion.stuck.append(state)
                elif self.deadlock:
                    self.account.offer(Candidate(depth, Rank.DEADLOCK, 0, state))

    @property
    def most_states(self) -> str:
        """What the limit on states is called."""
        return f"--max-states {self.limits.max_states}"

    def watch(self, queue: int, expansion: _Expansion) -> None:
        """Tells how far the search is, and stops it when its time is over."""
        now = time.monotonic()
        seconds = now - self.account.started
        if self.limits.timeout is not None and seconds > self.limits.timeout:
            raise Cut(f"--timeout {self.limits.timeout:g}")
        memory = self.limits.memory
        if memory is not None and now - self.weighed >= MEMORY_SECONDS:
            self.weighed = now
            if resident_bytes() > memory:
                raise Cut(self.limits.memory_option)
        if now - self.told >= PROGRESS_SECONDS:
            self.told = now
            generated = (
                self.account.initial_count + sum(self.account.transitions) + expansion.transitions
            )
            waiting = queue + len(expansion.fresh)
            self.progress(
                Progress(self.depth, len(self.parents), generated, waiting, seconds, peak_bytes())
            )

    # ------------------------------------------------------------ states and steps

    def discover(self, state: State, before: State | None, expansion: _Expansion) -> None:
        """Takes in a state that is seen for the first time, and checks what states must be."""
        if self.is_inside(state):
            if len(self.parents) == self.limits.max_states:
                raise Cut(self.most_states)
            self.parents[state] = before
            expansion.fresh.append(state)
        else:
            self.cut[state] = before
            expansion.outside.append(state)
        for number in self.account.invariants:
            if self.is_true(number, state) is False:
                problem = Candidate(self.depth + 1, Rank.INVARIANT, number, state, number=number)
                self.account.offer(problem)
        for number in self.account.reachables:
            # Within a level each state counts, so that no order of the states decides what is met.
            if number not in self.account.reached and self.is_true(number, state):
                expansion.reached.add(number)

    def is_inside(self, state: State) -> bool:
        """Whether all constraints hold; a state where one has no value counts as inside."""
        return all(self.is_true(number, state) is not False for number in self.account.constraints)

    def is_terminal(self, state: State) -> bool:
        """Whether a terminal condition holds, or (a problem of its own) has no value."""
        for number in self.account.terminals:
            try:
                if self.runner.holds(number, state):
                    return True
            except EvaluationError as error:
                self.fail_in(self.depth, number, state, None, error)
                return True
        return False

    def is_true(self, number: int, state: State) -> bool | None:
        """Whether a property holds in a new state; None: it has no value, which is noted."""
        try:
            return self.runner.holds(number, state)
        except EvaluationError as error:
            self.fail_in(self.depth + 1, number, state, None, error)
            return None

    def check_step(self, state: State, after: State) -> None:
        for number in self.account.step_invariants:
            try:
                if not self.runner.holds_of_step(number, state, after):
                    self.account.offer(
                        Candidate(
                            self.depth + 1,
                            Rank.STEP_INVARIANT,
                            number,
                            after,
                            state,
                            number=number,
                        )
                    )
            except EvaluationError as error:
                self.fail_in(self.depth + 1, number, after, state, error)

    # ------------------------------------------------------------ problems

    def fail(self, depth: int, action: int, state: State | None, failure: Failure) -> None:
        """A step of an action out of ``state`` failed (or, without one, an initial choice)."""
        rank = Rank.ASSERTION if failure.assertion else Rank.ERROR
        self.account.offer(Candidate(depth, rank, action, state, site=failure.site))

    def fail_in(
        self, depth: int, number: int, state: State, before: State | None, error: EvaluationError
    ) -> None:
        """A property has no value in a state or on a step."""
        self.account.offer(self.account.no_value(depth, number, state, before, error.site))

    # ------------------------------------------------------------ accounts

    def expansion(self) -> _Expansion:
        return _Expansion([0] * len(self.account.taken))

    def count(self, expansion: _Expansion) -> None:
        """Adds what the level found to the result."""
        self.pending = None
        account = self.account
        if self.depth:
            account.transitions.append(expansion.transitions)
        else:
            account.initial_count = expansion.transitions
        if expansion.fresh:
            account.levels.append(len(expansion.fresh))
        account.taken = [a + b for a, b in zip(account.taken, expansion.taken, strict=True)]
        account.reached |= expansion.reached
        account.outside += len(expansion.outside)
        if expansion.stuck and account.stuck is None:
            account.stuck = min(expansion.stuck), self.depth
        account.stuck_count += len(expansion.stuck)
        account.marks.update(self.runner.marked)
        self.runner.marked.clear()
        for guard, times in self.runner.refused.items():
            account.refused[guard] = account.refused.get(guard, 0) + times
        self.runner.refused.clear()

    # ------------------------------------------------------------ traces

    def paths(self, states: Sequence[tuple[State, int]]) -> list[list[State]]:
        """The states from an initial one to each of ``states``."""
        return [self.path(state) for state, _ in states]

    def path(self, state: State | None) -> list[State]:
        path: list[State] = []
        while state is not None:
            path.append(state)
            state = self.parents[state] if state in self.parents else self.cut[state]
        path.reverse()
        return path
