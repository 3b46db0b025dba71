"""Keeps the account of a level search: its counts, the problems found, and the outcome. Both the
interpreter and the machine-code search use this account.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from fencepost.checker.outcome import (
    INTERRUPTED,
    NO_INITIAL_STATE,
    Coverage,
    Finding,
    Limit,
    Outcome,
    Statistics,
    Stuck,
    Trace,
    Verdict,
)
from fencepost.checker.request import Request
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.explain import explained, first_failure, trace_from, trace_to_failure
from fencepost.spec.core.ir import Model
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.concrete import evaluate_constant
from fencepost.spec.semantics.stepper import Runner

PROGRESS_SECONDS = 0.3
"""Interval between progress reports, in seconds."""

Paths: TypeAlias = Callable[[Sequence[tuple[State, int]]], Sequence[Sequence[State]]]
"""Maps states, each given with its level, to paths from an initial state to each of them. The paths
follow least predecessors. Raises `Cut` if the search for paths is interrupted.
"""


VERDICTS = {
    Rank.ERROR: Verdict.ERROR,
    Rank.ASSERTION: Verdict.ASSERTION,
    Rank.STEP_INVARIANT: Verdict.VIOLATED,
    Rank.INVARIANT: Verdict.VIOLATED,
    Rank.DEADLOCK: Verdict.DEADLOCK,
    Rank.BEHAVIOUR: Verdict.VIOLATED,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A problem that may be reported.

    ``index`` orders the problems of one rank. It is the number of the action; properties are
    numbered after all actions, and the initial states have -1. ``state`` is the state with the
    problem, or the state before the step if a step failed. ``before`` is the predecessor of
    ``state`` if the problem is one of a step. ``number`` is the number of the property.
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
        """The sort key that determines which of several problems with the same rank and index is
        reported.
        """
        return self.depth, self.state or (), self.before or ()

    @property
    def order(self) -> tuple[int, Rank, int]:
        return self.depth, self.rank, self.index

    @property
    def failed_step(self) -> bool:
        """Whether the step that causes the problem was not completed."""
        return self.site is not None and self.number is None

    @property
    def reached(self) -> tuple[State, int] | None:
        """The last state to which the search itself must find a path, and its level."""
        if self.before is not None:
            return self.before, self.depth - 1
        if self.state is None:
            return None
        return self.state, self.depth - 1 if self.failed_step else self.depth


class Cut(Exception):
    """A limit was reached."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(str(limit))
        self.limit = limit


class Expired(Cut):
    """Signals that the time is up. A timer raises this exception without further context."""

    def __init__(self) -> None:
        super().__init__(Limit("timeout", 0))


class Account:
    """The counts of the search so far.

    ``levels`` contains the number of states in each level, and ``transitions`` the number of steps
    from each level. If visited states represent others, ``orbits`` contains the number of visited
    states per level; otherwise it is None. ``stuck`` is the first of the ``stuck_count`` stuck
    states, with its level.
    """

    def __init__(self, request: Request) -> None:
        model = request.model
        self.model = model
        self.keep_going = request.keep_going
        self._tolerant = request.tolerant
        self._timeout = request.limits.timeout
        self.started = time.monotonic()
        self.searched = model.searched(request.properties)
        self.candidates: dict[tuple[Rank, int], Candidate] = {}
        self.levels: list[int] = []
        self.orbits: list[int] | None = None
        self.transitions: list[int] = []
        self.initial_count = 0
        self.taken = [0] * len(model.actions)
        self.marks: set[int] = set()
        self.refused: dict[int, int] = {}
        self.reached: set[int] = set()
        self.outside = 0
        self.stuck_count = 0
        self.stuck: tuple[State, int] | None = None

    @property
    def left(self) -> float | None:
        """The remaining seconds for the search, or None if time is not limited."""
        if self._timeout is None:
            return None
        return max(0.0, self.started + self._timeout - time.monotonic())

    @property
    def elapsed(self) -> float:
        """The seconds since the run started."""
        return time.monotonic() - self.started

    @property
    def visited(self) -> int:
        """The number of states visited, up to the last level that counts."""
        return sum(self.visited_levels)

    @property
    def visited_levels(self) -> Sequence[int]:
        """The number of states visited in each level."""
        return self.levels if self.orbits is None else self.orbits

    @property
    def expired(self) -> Limit:
        """The time limit of the search."""
        return Limit("timeout", self._timeout)

    # ------------------------------------------------------------ problems

    def offer(self, problem: Candidate) -> None:
        """Keeps the problem if it takes precedence over the problem kept so far for its rank and
        index.
        """
        tolerated = self._tolerant and problem.rank in (Rank.ERROR, Rank.ASSERTION)
        if tolerated and not self._leaves(problem):
            return
        other = self.candidates.get((problem.rank, problem.index))
        if other is None or problem.place < other.place:
            self.candidates[problem.rank, problem.index] = problem

    def _leaves(self, problem: Candidate) -> bool:
        """Returns whether a value left an assumed range, which is never ignored."""
        return problem.site is not None and self.model.sites[problem.site].leaves is not None

    def no_value(
        self, depth: int, number: int, state: State, before: State | None, site: int
    ) -> Candidate:
        """Returns the problem of a property that is undefined in a state or on a step."""
        index = len(self.model.actions) + number
        return Candidate(depth, Rank.ERROR, index, state, before, site, number)

    @property
    def ends(self) -> bool:
        """Whether the problems found end the search; only violated properties and deadlocks allow
        it to continue.
        """
        fatal = (Rank.ERROR, Rank.ASSERTION)
        candidates = self.candidates
        return bool(candidates) and (
            not self.keep_going or any(rank in fatal for rank, _ in candidates)
        )

    def passes(self, depth: int) -> bool:
        """Checks whether a problem to report precedes level ``depth``, so that results from
        expanding this level do not count.
        """
        problems = self.candidates.values()
        min_depth = min((problem.depth for problem in problems), default=depth + 1)
        return self.ends and not self.keep_going and min_depth <= depth

    # ------------------------------------------------------------ the outcome

    def outcome(self, cut: Limit | None, runner: Callable[[], Runner], paths: Paths) -> Outcome:
        """Computes the outcome of the search. ``cut`` is the limit that ended the search, or None
        if it was completed.
        """
        interrupted = cut == INTERRUPTED
        notes: list[str] = []
        problems = sorted(self.candidates.values(), key=lambda problem: problem.order)
        if not self.keep_going:
            problems = problems[:1]
        findings, stuck = self._traced(problems, runner, paths)
        if any(f.trace is None and not (f.site and f.site.leaves is not None) for f in findings):
            interrupted = True
            notes.append("The way to the problem was not found: the search was interrupted.")
        depth = len(self.levels)
        if findings:
            verdict = findings[0].verdict
            depth = max(depth, *(finding.depth for finding in findings))
            if cut is not None:
                notes.append(others(cut))
        elif cut is not None:
            verdict = Verdict.INCONCLUSIVE
        else:
            unreached = [
                number for number in self.searched.reachables if number not in self.reached
            ]
            findings = tuple(Finding(Verdict.UNREACHED, n, depth, None) for n in unreached)
            verdict = Verdict.UNREACHED if unreached else Verdict.OK
        if not self.initial_count and not findings and cut is None:
            notes.append(NO_INITIAL_STATE)
        statistics = Statistics(
            sum(self.levels),
            self.initial_count + sum(self.transitions),
            depth,
            (*self.levels, *[0] * (depth - len(self.levels))),
            tuple(self.transitions),
            self.elapsed,
            peak_bytes(),
            orbits=None if self.orbits is None else sum(self.orbits),
        )
        coverage = Coverage(
            tuple(self.taken),
            frozenset(self.marks),
            self.refused,
            self.outside,
            frozenset(self.reached),
            Stuck(self.stuck_count, stuck),
        )
        return Outcome(
            verdict, findings, statistics, coverage, cut, interrupted, notes=tuple(notes)
        )

    def _traced(
        self, problems: Sequence[Candidate], runner: Callable[[], Runner], paths: Paths
    ) -> tuple[tuple[Finding, ...], Trace | None]:
        """Returns the findings to report and the trace to the first stuck state. All paths are
        searched together.
        """
        if not problems and self.stuck is None:
            return (), None
        if problems and self._leaves(problems[0]):
            # Another search follows, with wider ranges. One finding for each bound is enough.
            bounds: dict[tuple[int | None, bool], Finding] = {}
            for p in sorted(self.candidates.values(), key=lambda p: p.order):
                site = None if p.site is None else self.model.sites[p.site]
                if site is not None and site.leaves is not None:
                    finding = Finding(VERDICTS[p.rank], None, p.depth, None, site, index=p.index)
                    bounds.setdefault((site.leaves, site.above), finding)
            return tuple(bounds.values()), None
        ends = [problem.reached for problem in problems]
        ends.append(self.stuck)
        targets = list(dict.fromkeys(end for end in ends if end is not None))
        path_of: dict[tuple[State, int], Sequence[State]] | None = {}
        try:
            path_of = dict(zip(targets, paths(targets), strict=True))
        except Cut:
            path_of = None
        run = runner()
        if self.orbits is not None:
            problems = [where(run, problem) for problem in problems]
        findings: list[Finding] = []
        for problem, end in zip(problems, ends, strict=False):
            finding = finding_of(run, problem)
            if path_of is not None:
                path = () if end is None else path_of[end]
                finding = replace(finding, trace=trace_of(run, problem, path))
            findings.append(finding)
        stuck = None
        if self.stuck is not None and path_of is not None:
            stuck = trace_from(run, path_of[self.stuck])
        return tuple(findings), stuck


def others(limit: Limit) -> str:
    """Returns the note on problems that were found before ``limit`` cut the search."""
    return (
        f"The search was cut ({limit}): there may be other problems, even ones of the same length "
        "that rank first."
    )


def finding_of(runner: Runner, problem: Candidate) -> Finding:
    """Converts a problem to a finding without a trace."""
    site = None if problem.site is None else runner.model.sites[problem.site]
    verdict, index = VERDICTS[problem.rank], problem.index
    finding = Finding(verdict, None, problem.depth, None, site, index=index)
    if problem.state is None:
        return finding
    match problem.rank, problem.number:
        case Rank.DEADLOCK, _:
            return replace(finding, blocked=runner.blocked(problem.state))
        case ((Rank.INVARIANT | Rank.STEP_INVARIANT), int(number)):
            finding = replace(finding, property=number)
            return explained(runner, finding, number, problem.before, problem.state)
        case _:
            return finding


def where(runner: Runner, problem: Candidate) -> Candidate:
    """Returns the problem with the site of the first failure in its state.

    A search that visits one state per orbit may have found the problem in another state of the
    orbit, and an iteration over a symmetric type fails at the first of the values, which differs
    between these states.
    """
    if problem.site is None:
        return problem
    site = problem.site
    if problem.number is None:
        failed = problem.rank is Rank.ASSERTION
        site = first_failure(runner, problem.state, problem.index, failed)
    elif problem.state is not None:
        before, after = problem.before, problem.state
        try:
            runner.holds(problem.number, *((after,) if before is None else (before, after)))
        except EvaluationError as error:
            site = error.site
    return replace(problem, site=site)


def trace_of(runner: Runner, problem: Candidate, way: Sequence[State]) -> Trace:
    """Reconstructs the trace of a problem. ``way`` leads to the last state that the search itself
    found.
    """
    if problem.site is not None and problem.failed_step:
        return trace_to_failure(runner, way, problem.index, problem.site)
    if problem.before is not None and problem.state is not None:
        way = [*way, problem.state]
    return trace_from(runner, way)


def before_search(account: Account, counted: bool = True) -> Outcome | None:
    """Returns the outcome if no search is needed: assumptions are broken (see
    `broken_assumptions`), or the time ran out while they were checked. Otherwise returns None.
    ``counted`` says whether a search would count states.
    """
    try:
        with raised_after(account.left, Expired):
            return broken_assumptions(account.model)
    except Expired:
        seconds = account.elapsed
        outcome = without_states(account.model, Verdict.INCONCLUSIVE, seconds, counted)
        return replace(outcome, cut=account.expired)


def broken_assumptions(model: Model) -> Outcome | None:
    """Returns the outcome if assumptions are false or undefined, or None if all of them hold."""
    broken: list[Finding] = []
    for assumption in model.assumptions:
        try:
            if not evaluate_constant(assumption.condition):
                broken.append(Finding(Verdict.ASSUMPTION, None, 0, None, failing=assumption.span))
        except EvaluationError as error:
            site = model.sites[error.site]
            broken.append(Finding(Verdict.ERROR, None, 0, None, site=site))
    if not broken:
        return None
    return replace(without_states(model, broken[0].verdict, 0.0), findings=tuple(broken))


def without_states(model: Model, verdict: Verdict, seconds: float, counted: bool = True) -> Outcome:
    """Returns the outcome of a run that has not visited any state."""
    statistics = Statistics(0, 0, 0, (), (), seconds, peak_bytes(), counted=counted)
    coverage = Coverage((0,) * len(model.actions), frozenset())
    return Outcome(verdict, (), statistics, coverage)
