"""A textbook breadth-first search, and the observations that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from tests.naive.expressions import Place, Undefined
from tests.naive.statements import Course, courses, is_enabled
from tests.support.agreement import Observed, ObservedFinding, ObservedStep, site_of

from fencepost.spec.core import ir
from fencepost.spec.core.types import State


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with its place in the order of problems.

    Among problems of the same depth, ``rank`` orders them by kind. Among those of the same kind,
    ``index`` follows the declarations: -1 for the initial states, then the actions in order, then
    the properties. Ties are broken by the last state and then by the state before it.
    """

    depth: int
    rank: int
    index: int
    state: State = ()
    before: State | None = None
    site: int | None = None
    number: int | None = None

    @property
    def order(self) -> tuple[int, int, int, State, State]:
        return self.depth, self.rank, self.index, self.state, self.before or ()


ERROR, ASSERTION, STEP, INVARIANT, DEADLOCK = range(5)
VERDICTS = ("error", "assertion", "violated", "violated", "deadlock")


@dataclass(slots=True)
class Counted:
    """The contribution of a level to the figures of a run, if the level counts."""

    transitions: int = 0
    taken: list[int] = field(default_factory=list[int])
    marks: set[int] = field(default_factory=set[int])
    blocked: dict[int, int] = field(default_factory=dict[int, int])
    stuck: list[State] = field(default_factory=list[State])
    fresh: set[State] = field(default_factory=set[State])
    outside: set[State] = field(default_factory=set[State])
    reached: set[int] = field(default_factory=set[int])


class Full(Exception):
    """Raised if the number of initial states exceeds the limit."""


@dataclass(slots=True)
class Search:
    """A breadth-first search that ends with the level that exceeds ``most_states``."""

    model: ir.Model
    properties: set[int]
    deadlock: bool
    most_steps: int | None
    keep_going: bool
    most_states: int | None = None
    level: int = 0
    parents: dict[State, State | None] = field(default_factory=dict[State, "State | None"])
    problems: list[Problem] = field(default_factory=list[Problem])
    counted: list[Counted] = field(default_factory=list[Counted])
    reached: set[int] = field(default_factory=set[int])

    def run(self) -> Observed:
        """Runs the search and returns the observation."""
        broken = [finding for a in self.model.assumptions for finding in self._assumed(a)]
        if broken:
            return Observed(
                verdict=broken[0].verdict, findings=tuple(broken), **self._figures(), limit=None
            )
        limit = self._levels()
        findings = self._findings()
        verdict = findings[0].verdict if findings else "inconclusive" if limit else "ok"
        depth = max([sum(1 for now in self.counted if now.fresh), *(f.depth for f in findings)])
        if verdict == "ok":
            findings = [
                finding("unreached", depth, property=self._named(number))
                for number in self._numbers("reachable")
                if number in self.properties and number not in self.reached
            ]
            verdict = "unreached" if findings else "ok"
        figures = self._figures(depth)
        return Observed(verdict, tuple(findings), **figures, limit=None if findings else limit)

    def _levels(self) -> str | None:
        """Runs the levels; returns the limit that cut the search short, if any."""
        frontier: list[State] = []
        while True:
            now = Counted(taken=[0] * len(self.model.actions))
            full = False
            try:
                if self.level:
                    self._expand(frontier, now)
                else:
                    self._run_initial(now)
            except Full:
                full = True
            ends = self.problems and self._ends()
            if not ends or self.keep_going or min(p.depth for p in self.problems) > self.level:
                self._count(now)
            if full:
                return f"--max-states {self.most_states}"
            if ends or not now.fresh:
                return None
            if self.most_states is not None and self._state_count() > self.most_states:
                return f"--max-states {self.most_states}"
            if self.most_steps is not None and self.level >= self.most_steps:
                return f"--depth {self.most_steps}"
            self.level += 1
            frontier = sorted(now.fresh)

    def _state_count(self) -> int:
        return sum(len(level.fresh) for level in self.counted)

    def _count(self, now: Counted) -> None:
        self.counted.append(now)
        self.reached |= now.reached

    def _ends(self) -> bool:
        return not self.keep_going or any(p.rank in (ERROR, ASSERTION) for p in self.problems)

    # ------------------------------------------------------------ levels

    def _run_initial(self, now: Counted) -> None:
        nothing: State = (False,) * len(self.model.variables)
        for course in courses(Course(Place(self.model, nothing)), self.model.initial):
            if course.failed is not None:
                site, assertion = course.failed
                self.problems.append(Problem(1, ASSERTION if assertion else ERROR, -1, site=site))
            elif course.completed:
                self._arrive(course.at.state, None, now)
                now.transitions += 1

    def _expand(self, frontier: Sequence[State], now: Counted) -> None:
        for state in frontier:
            before = now.transitions
            moves = self._step_from(state, now)
            if not moves and not self._is_terminal(state, now):
                if now.transitions > before:
                    now.stuck.append(state)
                elif self.deadlock:
                    self.problems.append(Problem(self.level, DEADLOCK, 0, state))

    def _step_from(self, state: State, now: Counted) -> bool:
        """Takes every step from a state, and returns whether one of them makes progress or ends the
        run.
        """
        moves = False
        for number, action in enumerate(self.model.actions):
            seen: set[int] = set()
            for course in courses(Course(Place(self.model, state, seen=seen)), action.body):
                if course.failed is not None:
                    site, assertion = course.failed
                    rank = ASSERTION if assertion else ERROR
                    self.problems.append(Problem(self.level + 1, rank, number, state, site=site))
                    moves = True
                elif course.disabled is not None:
                    if self.model.guards[course.disabled].kind == "capacity":
                        now.blocked[course.disabled] = now.blocked.get(course.disabled, 0) + 1
                else:
                    after = course.at.state
                    now.marks |= course.marks | seen
                    self._arrive(after, state, now)
                    self._check_step(state, after, now)
                    now.transitions += 1
                    now.taken[number] += 1
                    if action.kind in ("ordinary", "environment") and after != state:
                        moves = True
            now.marks |= seen
        return moves

    def _arrive(self, state: State, before: State | None, now: Counted) -> None:
        """Records a state, and examines it if it is new."""
        if state in self.parents:
            return
        inside = True
        for number in self._numbers("constraint"):
            if self._holds(number, state, None, now) is False:
                inside = False
                break
        if inside and not self.level and len(now.fresh) == self.most_states:
            # This state itself is not counted.
            raise Full
        self.parents[state] = before
        (now.fresh if inside else now.outside).add(state)
        for number in self._numbers("invariant", "lemma"):
            if number in self.properties and self._holds(number, state, None, now) is False:
                problem = Problem(self.level + 1, INVARIANT, number, state, number=number)
                self.problems.append(problem)
        for number in self._numbers("reachable"):
            # A `reachable` is still evaluated in the rest of the level that reached it.
            searched = number in self.properties and number not in self.reached
            if searched and self._holds(number, state, None, now):
                now.reached.add(number)

    def _check_step(self, before: State, after: State, now: Counted) -> None:
        for number in self._numbers("step invariant"):
            if number in self.properties and self._holds(number, before, after, now) is False:
                problem = Problem(self.level + 1, STEP, number, after, before, number=number)
                self.problems.append(problem)

    def _numbers(self, *kinds: str) -> list[int]:
        return [n for n, prop in enumerate(self.model.properties) if str(prop.kind) in kinds]

    def _holds(self, number: int, state: State, after: State | None, now: Counted) -> bool | None:
        """Checks whether a property holds; returns None, and records a problem, if it has no
        value.
        """
        context = Place(self.model, state, after, seen=now.marks, enabled=is_enabled)
        try:
            return context.truth(self.model.properties[number].body)
        except Undefined as error:
            index = len(self.model.actions) + number
            ends, begins = (state, None) if after is None else (after, state)
            problem = Problem(self.level + 1, ERROR, index, ends, begins, error.site, number)
            self.problems.append(problem)
            return None

    def _is_terminal(self, state: State, now: Counted) -> bool:
        """Checks whether some terminal condition holds. A condition without a value counts as
        true.
        """
        for number in self._numbers("terminal"):
            context = Place(self.model, state, seen=now.marks, enabled=is_enabled)
            try:
                if context.truth(self.model.properties[number].body):
                    return True
            except Undefined as error:
                index = len(self.model.actions) + number
                self.problems.append(
                    Problem(self.level, ERROR, index, state, site=error.site, number=number)
                )
                return True
        return False

    # ------------------------------------------------------------ observations

    def _assumed(self, assumption: ir.Assumption) -> list[ObservedFinding]:
        """Returns the problem of an assumption, if there is one."""
        span = assumption.span.start, assumption.span.end
        try:
            if Place(self.model, ()).truth(assumption.condition):
                return []
        except Undefined as error:
            return [finding("error", 0, site=self.model.sites[error.site])]
        return [finding("assumption", 0, failing=span)]

    def _named(self, number: int) -> tuple[int, str]:
        return number, self.model.properties[number].name

    def _findings(self) -> list[ObservedFinding]:
        """Returns the problems to report: the first of each kind and declaration, or only the very
        first.
        """
        first: dict[tuple[int, int], Problem] = {}
        for problem in sorted(self.problems, key=lambda problem: problem.order):
            first.setdefault((problem.rank, problem.index), problem)
        chosen = list(first.values())
        return [self._finding(problem) for problem in chosen[: None if self.keep_going else 1]]

    def _finding(self, problem: Problem) -> ObservedFinding:
        verdict = VERDICTS[problem.rank]
        site = None if problem.site is None else self.model.sites[problem.site]
        if problem.site is not None and problem.number is None:
            # The problem is an incomplete step or initial choice.
            path = [] if problem.index < 0 else self._path(problem.state)
            last = self._failing(problem)
            return finding(verdict, problem.depth, site=site, trace=(*self._trace(path), last))
        path = self._path(problem.state)
        if problem.before is not None:
            path = [*self._path(problem.before), problem.state]
        observed = finding(verdict, problem.depth, site=site, trace=self._trace(path))
        if problem.rank == DEADLOCK:
            return replace(observed, blocked=self._blocked(problem.state))
        if problem.site is None and problem.number is not None:
            return replace(observed, property=self._named(problem.number))
        return observed

    def _path(self, state: State) -> list[State]:
        before = self.parents[state]
        return [state] if before is None else [*self._path(before), state]

    def _trace(self, path: Sequence[State]) -> tuple[ObservedStep, ...]:
        """Returns the steps of a path, each being the first step from one state to the next."""
        steps: list[ObservedStep] = []
        for number, state in enumerate(path):
            tried = self._successors(path[number - 1] if number else None)
            steps.append(
                next(
                    ObservedStep(name, course.shown, state)
                    for name, course in tried
                    if course.completed and course.at.state == state
                )
            )
        return tuple(steps)

    def _failing(self, problem: Problem) -> ObservedStep:
        """Returns the incomplete step of a problem."""
        wanted = (problem.site, problem.rank == ASSERTION)
        if problem.index < 0:
            tried = self._successors(None)
        else:
            action = self.model.actions[problem.index]
            start = Course(Place(self.model, problem.state))
            tried = [(action.name, course) for course in courses(start, action.body)]
        return next(
            ObservedStep(name, course.shown, None)
            for name, course in tried
            if course.failed == wanted
        )

    def _successors(self, state: State | None) -> list[tuple[str, Course]]:
        if state is None:
            nothing: State = (False,) * len(self.model.variables)
            start = Course(Place(self.model, nothing))
            return [("", course) for course in courses(start, self.model.initial)]
        start = Course(Place(self.model, state))
        return [
            (action.name, course)
            for action in self.model.actions
            for course in courses(start, action.body)
        ]

    def _blocked(self, state: State) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Returns the false guards of each action."""
        start = Course(Place(self.model, state))
        return tuple(
            (number, tuple(sorted({o.disabled for o in tried if o.disabled is not None})))
            for number, action in enumerate(self.model.actions)
            for tried in [list(courses(start, action.body))]
        )

    def _figures(self, depth: int = 0) -> Figures:
        counted = self.counted
        levels = [len(now.fresh) for now in counted if now.fresh]
        marks = {mark for now in counted for mark in now.marks}
        blocked: dict[int, int] = {}
        for now in counted:
            for guard, times in now.blocked.items():
                blocked[guard] = blocked.get(guard, 0) + times
        stuck = [state for now in counted for state in sorted(now.stuck)]
        actions = range(len(self.model.actions))
        return {
            "distinct": sum(levels),
            "generated": sum(now.transitions for now in counted),
            "depth": depth,
            "levels": (*levels, *[0] * (depth - len(levels))),
            "transitions": tuple(now.transitions for now in counted[1:]),
            "taken": tuple(sum(now.taken[action] for now in counted) for action in actions),
            "marks": tuple(sorted(marks)),
            "blocked": tuple(sorted(blocked.items())),
            "cut": sum(len(now.outside) for now in counted),
            "reached": tuple(sorted(self.reached)),
            "stuck": len(stuck),
            "stuck_trace": self._trace(self._path(stuck[0])) if stuck else None,
        }


class Figures(TypedDict):
    """The fields of `Observed` that hold figures."""

    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]
    transitions: tuple[int, ...]
    taken: tuple[int, ...]
    marks: tuple[int, ...]
    blocked: tuple[tuple[int, int], ...]
    cut: int
    reached: tuple[int, ...]
    stuck: int
    stuck_trace: tuple[ObservedStep, ...] | None


def finding(
    verdict: str,
    depth: int,
    *,
    property: tuple[int, str] | None = None,
    site: ir.Site | None = None,
    failing: tuple[int, int] | None = None,
    trace: tuple[ObservedStep, ...] | None = None,
) -> ObservedFinding:
    """Creates a finding that does not explain the violated property."""
    position = None if site is None else site_of(site)
    return ObservedFinding(verdict, property, depth, position, (), failing, (), trace)
