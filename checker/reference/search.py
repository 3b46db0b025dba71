"""Breadth-first search with Python values: the definition of what every engine must find.

The states of a level are expanded in ascending order, actions in declaration order, choices in
theirs. So the first state found to lead to another one is its least predecessor, and the first
state of a level that breaks a property is the least that does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum

from fencepost.checker.engine import Limits, Progress
from fencepost.checker.reference.explain import explain
from fencepost.checker.reference.runner import Failure, Runner
from fencepost.checker.result import Coverage, Finding, Outcome, Statistics, Stuck, Verdict
from fencepost.checker.trace import trace_along, trace_to_failure
from fencepost.spec.choices import EvaluationError
from fencepost.spec.concrete import evaluate_constant
from fencepost.spec.ir import Model
from fencepost.spec.types import State

if sys.platform != "win32":
    import resource

PROGRESS_SECONDS = 0.3


class Rank(IntEnum):
    """Which of two problems at the same depth is reported (LANGUAGE section 6)."""

    ERROR = 0
    ASSERTION = 1
    STEP_INVARIANT = 2
    INVARIANT = 3
    DEADLOCK = 4


VERDICTS = {
    Rank.ERROR: Verdict.ERROR,
    Rank.ASSERTION: Verdict.ASSERTION,
    Rank.STEP_INVARIANT: Verdict.VIOLATED,
    Rank.INVARIANT: Verdict.VIOLATED,
    Rank.DEADLOCK: Verdict.DEADLOCK,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A problem that may be the one to report.

    ``index`` orders problems of one rank: the number of the action, or that of the property
    behind all actions; -1 for the initial states. ``state`` is where it shows (for a failing
    step, the state before it), ``before`` the predecessor where the step matters, ``number``
    that of the property.
    """

    depth: int
    rank: Rank
    index: int
    state: State | None = None
    before: State | None = None
    site: int | None = None
    number: int | None = None

    @property
    def place(self) -> tuple[int, State, State]:
        """What decides between problems of the same rank and index."""
        return self.depth, self.state or (), self.before or ()

    @property
    def order(self) -> tuple[int, Rank, int]:
        return self.depth, self.rank, self.index


class _Cut(Exception):
    """A limit is reached; the argument names it."""


class Interpreter:
    """The engine of this module."""

    name = "interpreter"

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
        broken = _assumptions(model)
        if broken:
            statistics = Statistics(0, 0, 0, (), (), 0.0, peak_bytes())
            coverage = Coverage((0,) * len(model.actions), frozenset())
            return Outcome(broken[0].verdict, broken, statistics, coverage)
        search = _Search(Runner(model), properties, deadlock, limits, keep_going, progress)
        return search.run()


ENGINE = Interpreter()


def _assumptions(model: Model) -> tuple[Finding, ...]:
    """The assumptions that are false or cannot be evaluated."""
    broken: list[Finding] = []
    for assumption in model.assumptions:
        try:
            if not evaluate_constant(assumption.condition):
                broken.append(Finding(Verdict.ASSUMPTION, None, 0, None, failing=assumption.span))
        except EvaluationError as error:
            site = model.sites[error.site]
            broken.append(Finding(Verdict.ERROR, None, 0, None, site=site))
    return tuple(broken)


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
    """

    def __init__(
        self,
        runner: Runner,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> None:
        model = runner.model
        self.runner = runner
        self.deadlock = deadlock
        self.limits = limits
        self.keep_going = keep_going
        self.progress = progress
        self.started = self.told = time.monotonic()

        def numbers(*kinds: str, chosen: frozenset[int] | None = None) -> list[int]:
            return [
                number
                for number, property in enumerate(model.properties)
                if property.kind in kinds and (chosen is None or number in chosen)
            ]

        self.invariants = numbers("invariant", "lemma", chosen=properties)
        self.step_invariants = numbers("step invariant", chosen=properties)
        self.reachables = numbers("reachable", chosen=properties)
        self.constraints = numbers("constraint")
        self.terminals = numbers("terminal")
        self.progressing = [a.kind in ("ordinary", "environment") for a in model.actions]

        self.parents: dict[State, State | None] = {}
        self.cut: dict[State, State | None] = {}
        self.candidates: dict[tuple[Rank, int], Candidate] = {}
        self.depth = 0
        self.pending: _Expansion | None = None
        self.levels: list[int] = []
        self.transitions: list[int] = []
        self.initial_count = 0
        self.taken = [0] * len(model.actions)
        self.marks: set[int] = set()
        self.refused: dict[int, int] = {}
        self.reached: set[int] = set()
        self.outside_count = 0
        self.stuck_count = 0
        self.stuck_first: State | None = None

    def run(self) -> Outcome:
        limit: str | None = None
        try:
            self.search()
        except _Cut as cut:
            limit = str(cut)
        except KeyboardInterrupt:
            limit = "interrupted"
        if self.pending is not None and limit is not None:
            self.count(self.pending)
        return self.outcome(limit)

    # ------------------------------------------------------------ the loop

    def search(self) -> None:
        expansion = self.pending = self.expansion()
        self.start(expansion)
        while True:
            if self.candidates and self.ends():
                least = min(c.depth for c in self.candidates.values())
                if self.keep_going or least > self.depth:
                    self.count(expansion)
                return
            self.count(expansion)
            if not expansion.fresh:
                return
            if self.limits.depth is not None and self.depth >= self.limits.depth:
                raise _Cut(f"--depth {self.limits.depth}")
            self.depth += 1
            frontier = sorted(expansion.fresh)
            expansion = self.pending = self.expansion()
            self.expand(frontier, expansion)

    def ends(self) -> bool:
        """Whether the problems found end the search: only violated properties and deadlocks can be
        passed over.
        """
        fatal = (Rank.ERROR, Rank.ASSERTION)
        return not self.keep_going or any(rank in fatal for rank, _ in self.candidates)

    def start(self, expansion: _Expansion) -> None:
        for successor in self.runner.initial():
            self.watch(0, expansion)
            if successor.failure is not None:
                self.fail(1, -1, None, successor.failure)
            elif successor.state is not None:
                self.initial_count += 1
                if successor.state not in self.parents and successor.state not in self.cut:
                    self.discover(successor.state, None, expansion)

    def expand(self, frontier: list[State], expansion: _Expansion) -> None:
        depth, parents, cut = self.depth, self.parents, self.cut
        taken, progressing, steps_matter = expansion.taken, self.progressing, self.step_invariants
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
                    self.offer(Candidate(depth, Rank.DEADLOCK, 0, state))

    def watch(self, queue: int, expansion: _Expansion) -> None:
        """Tells how far the search is, and stops it when its time is over."""
        now = time.monotonic()
        seconds = now - self.started
        if self.limits.timeout is not None and seconds > self.limits.timeout:
            raise _Cut(f"--timeout {self.limits.timeout:g}")
        if now - self.told >= PROGRESS_SECONDS:
            self.told = now
            generated = self.initial_count + sum(self.transitions) + expansion.transitions
            waiting = queue + len(expansion.fresh)
            self.progress(
                Progress(self.depth, len(self.parents), generated, waiting, seconds, peak_bytes())
            )

    # ------------------------------------------------------------ states and steps

    def discover(self, state: State, before: State | None, expansion: _Expansion) -> None:
        """Takes in a state that is seen for the first time, and checks what states must be."""
        if self.is_inside(state):
            if len(self.parents) == self.limits.max_states:
                raise _Cut(f"--max-states {self.limits.max_states}")
            self.parents[state] = before
            expansion.fresh.append(state)
        else:
            self.cut[state] = before
            expansion.outside.append(state)
        for number in self.invariants:
            if self.is_true(number, state) is False:
                problem = Candidate(self.depth + 1, Rank.INVARIANT, number, state, number=number)
                self.offer(problem)
        for number in self.reachables:
            # Within a level each state counts, so that no order of the states decides what is met.
            if number not in self.reached and self.is_true(number, state):
                expansion.reached.add(number)

    def is_inside(self, state: State) -> bool:
        """Whether all constraints hold; a state where one has no value counts as inside."""
        return all(self.is_true(number, state) is not False for number in self.constraints)

    def is_terminal(self, state: State) -> bool:
        """Whether a terminal condition holds, or (a problem of its own) has no value."""
        for number in self.terminals:
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
        for number in self.step_invariants:
            try:
                if not self.runner.holds_of_step(number, state, after):
                    self.offer(
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
        self.offer(Candidate(depth, rank, action, state, site=failure.site))

    def fail_in(
        self, depth: int, number: int, state: State, before: State | None, error: EvaluationError
    ) -> None:
        """A property has no value in a state or on a step."""
        index = len(self.taken) + number
        self.offer(Candidate(depth, Rank.ERROR, index, state, before, error.site, number))

    def offer(self, problem: Candidate) -> None:
        """Keeps the problem if it comes before the one of the same rank and index."""
        known = self.candidates.get((problem.rank, problem.index))
        if known is None or problem.place < known.place:
            self.candidates[problem.rank, problem.index] = problem

    # ------------------------------------------------------------ accounts

    def expansion(self) -> _Expansion:
        return _Expansion([0] * len(self.taken))

    def count(self, expansion: _Expansion) -> None:
        """Adds what the level found to the result."""
        self.pending = None
        if self.depth:
            self.transitions.append(expansion.transitions)
        if expansion.fresh:
            self.levels.append(len(expansion.fresh))
        self.taken = [a + b for a, b in zip(self.taken, expansion.taken, strict=True)]
        self.reached |= expansion.reached
        self.outside_count += len(expansion.outside)
        if expansion.stuck and self.stuck_first is None:
            self.stuck_first = expansion.stuck[0]
        self.stuck_count += len(expansion.stuck)
        self.marks.update(self.runner.marked)
        self.runner.marked.clear()
        for guard, times in self.runner.refused.items():
            self.refused[guard] = self.refused.get(guard, 0) + times
        self.runner.refused.clear()

    def outcome(self, limit: str | None) -> Outcome:
        notes: list[str] = []
        problems = sorted(self.candidates.values(), key=lambda problem: problem.order)
        if not self.keep_going:
            problems = problems[:1]
        findings = tuple(self.finding(problem) for problem in problems)
        depth = len(self.levels)
        if findings:
            verdict = findings[0].verdict
            depth = max(depth, *(finding.depth for finding in findings))
            if limit is not None:
                notes.append(
                    f"The search was cut ({limit}) in the level of this problem;"
                    " another one of the same length may come first."
                )
                limit = None
        elif limit is not None:
            verdict = Verdict.INCONCLUSIVE
        else:
            unmet = [number for number in self.reachables if number not in self.reached]
            findings = tuple(Finding(Verdict.UNREACHED, n, depth, None) for n in unmet)
            verdict = Verdict.UNREACHED if unmet else Verdict.OK
        if not self.initial_count and not findings and limit is None:
            notes.append("There is no initial state, so everything holds.")
        statistics = Statistics(
            sum(self.levels),
            self.initial_count + sum(self.transitions),
            depth,
            (*self.levels, *[0] * (depth - len(self.levels))),
            tuple(self.transitions),
            time.monotonic() - self.started,
            peak_bytes(),
        )
        stuck = Stuck(0, None)
        if self.stuck_first is not None:
            trace = trace_along(self.runner, self.path(self.stuck_first))
            stuck = Stuck(self.stuck_count, trace)
        coverage = Coverage(
            tuple(self.taken),
            frozenset(self.marks),
            self.refused,
            self.outside_count,
            frozenset(self.reached),
            stuck,
        )
        return Outcome(verdict, findings, statistics, coverage, limit, True, tuple(notes))

    # ------------------------------------------------------------ traces

    def path(self, state: State | None) -> list[State]:
        """The states from an initial one to ``state``."""
        path: list[State] = []
        while state is not None:
            path.append(state)
            state = self.parents[state] if state in self.parents else self.cut[state]
        path.reverse()
        return path

    def finding(self, problem: Candidate) -> Finding:
        runner = self.runner
        site = None if problem.site is None else runner.model.sites[problem.site]
        if problem.site is not None and problem.number is None:
            path = self.path(problem.state)
            trace = trace_to_failure(runner, path, problem.index, problem.site)
            return Finding(VERDICTS[problem.rank], None, problem.depth, trace, site)
        assert problem.state is not None
        if problem.before is None:
            path = self.path(problem.state)
        else:
            path = [*self.path(problem.before), problem.state]
        finding = Finding(
            VERDICTS[problem.rank], None, problem.depth, trace_along(runner, path), site
        )
        match problem.rank, problem.number:
            case Rank.DEADLOCK, _:
                return replace(finding, blocked=runner.blocked(problem.state))
            case ((Rank.INVARIANT | Rank.STEP_INVARIANT), int(number)):
                after = None if problem.before is None else problem.state
                state = problem.state if problem.before is None else problem.before
                instance, failing = explain(runner, number, state, after)
                return replace(finding, property=number, instance=instance, failing=failing)
            case _:
                return finding


def peak_bytes() -> int:
    """The most memory that this process has held; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
