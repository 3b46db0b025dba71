"""A walk through a model: the possible steps, the current path, and earlier paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from fencepost.checker.evaluator.program import runner_of
from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.search.explain import explained
from fencepost.checker.tools.property_values import NOTHING, Judgement, judge
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Successor


@dataclass(frozen=True, slots=True)
class Option:
    """A possible step. ``judgement`` judges the properties on this step, and ``same`` says whether
    the step leads back to its source.
    """

    step: Step
    failure: int | None
    judgement: Judgement = NOTHING
    same: bool = False


@dataclass(frozen=True, slots=True)
class GoalSearch:
    """The result of a search. ``steps`` leads to a nearest matching state, or is None if none was
    found. ``seen`` is the number of states visited, and ``cut`` says whether the limit was reached.
    """

    steps: tuple[Step, ...] | None
    seen: int
    cut: bool


class Walk:
    """A path through a model. Its first step chooses an initial state.

    ``ways`` holds the explored paths. None of them is a prefix of another. ``path`` is a prefix of
    the explored path with index ``way``. Going back leaves ``way`` unchanged. A step that differs
    from that explored path starts another one.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.runner = runner_of(model)
        self.path: list[Step] = []
        self.ways: list[tuple[Step, ...]] = [()]
        self.way = 0

    @property
    def state(self) -> State | None:
        """The current state. None before the first step and after a step that failed."""
        return self.path[-1].state if self.path else None

    @property
    def ended(self) -> bool:
        """Whether the last step failed, so that no step can follow."""
        return bool(self.path) and self.path[-1].state is None

    @property
    def _before(self) -> State | None:
        return self.path[-2].state if len(self.path) > 1 else None

    def options(self) -> list[Option]:
        """Returns the possible next steps in order. Equal initial states are listed once."""
        if self.ended:
            return []
        before = self.state
        if before is None:
            first: dict[State | None, Successor] = {}
            for successor in self.runner.initial():
                first.setdefault(successor.state, successor)
            return [self._option(successor, None) for successor in first.values()]
        return [self._option(successor, before) for successor in self.runner.successors(before)]

    def _option(self, successor: Successor, before: State | None) -> Option:
        step = Step(successor.action, successor.choices, successor.state)
        if successor.failure is not None:
            return Option(step, successor.failure.site)
        assert step.state is not None
        judgement = judge(self.runner, before, step.state)
        return Option(step, None, judgement, step.state == before)

    def judgement(self) -> Judgement:
        """Judges the properties on the last step and in the current state."""
        if self.state is None:
            return NOTHING
        return judge(self.runner, self._before, self.state)

    def take(self, step: Step) -> None:
        """Takes one of the `options`."""
        length = len(self.path)
        self.path.append(step)
        path = tuple(self.path)
        ahead = (n for n, way in enumerate(self.ways) if way[: len(path)] == path)
        if self.ways[self.way][: len(path)] == path:
            return
        if (existing := next(ahead, None)) is not None:
            self.way = existing
        elif length == len(self.ways[self.way]):
            self.ways[self.way] = path
        else:
            self.ways.append(path)
            self.way = len(self.ways) - 1

    @property
    def ahead(self) -> int:
        """The number of steps by which the explored path ``way`` continues after the current
        position.
        """
        return len(self.ways[self.way]) - len(self.path)

    def common(self, way: int) -> int:
        """Returns the length of the common prefix of an explored path and the current path."""
        pairs = enumerate(zip(self.ways[way], self.path, strict=False))
        return next(
            (n for n, (first, second) in pairs if first != second),
            min(len(self.ways[way]), len(self.path)),
        )

    def go(self, way: int, steps: int) -> None:
        """Goes to the position after ``steps`` steps of an explored path, or to its end."""
        self.way = way
        self.path[:] = self.ways[way][:steps]

    def back(self, count: int) -> int:
        """Takes back at most ``count`` steps, and returns how many were taken back."""
        taken = min(count, len(self.path))
        del self.path[len(self.path) - taken :]
        return taken

    def trace(self) -> Trace:
        """Returns the current path as a trace."""
        return Trace(tuple(self.path))

    def finding(self) -> Finding | None:
        """Returns the problem at the end of the walk: the failure of the last step, the first
        undefined property, or the first violated property. Returns None if there is no problem.
        """
        trace = self.trace()
        if self.ended:
            last, before = self.path[-1], self._before
            tried = self.runner.initial() if before is None else self.runner.successors(before)
            failure = next(
                attempt.failure
                for attempt in tried
                if attempt.failure is not None
                and (attempt.action, attempt.choices) == (last.action, last.choices)
            )
            verdict = Verdict.ASSERTION if failure.assertion else Verdict.ERROR
            site = self.model.sites[failure.site]
            return Finding(verdict, None, len(self.path), trace, site)
        judgement, state = self.judgement(), self.state
        if judgement.failed:
            site = self.model.sites[judgement.failed[0][1]]
            return Finding(Verdict.ERROR, None, len(self.path), trace, site)
        violated = judgement.violated
        if not violated or state is None:
            return None
        finding = Finding(Verdict.VIOLATED, violated[0], len(self.path), trace)
        try:
            return explained(self.runner, finding, violated[0], self._before, state)
        except EvaluationError:
            return finding

    def inside(self, state: State) -> bool:
        """Returns whether a state satisfies the constraints, so that a search would expand it."""
        return not judge(self.runner, None, state).outside

    def seek(self, wanted: Callable[[State], bool], most: int) -> GoalSearch:
        """Finds a nearest state that satisfies ``wanted``, among at most ``most`` states.

        Before the first step, the distance is measured from any initial state. Exceptions raised by
        ``wanted`` propagate.
        """
        start = self.state
        firsts = [start] if start is not None else []
        if not self.path:
            firsts = [s.state for s in self.runner.initial() if s.state is not None]
        parents: dict[State, State | None] = dict.fromkeys(firsts)
        level: list[State] = list(parents)
        for state in level:
            if wanted(state):
                return GoalSearch(self._way(parents, state), len(parents), False)
        while level:
            fresh: list[State] = []
            for state in level:
                if not self.inside(state):
                    continue
                for _, after in self.runner.expand(state)[0]:
                    if after in parents:
                        continue
                    if len(parents) >= most:
                        return GoalSearch(None, len(parents), True)
                    parents[after] = state
                    if wanted(after):
                        return GoalSearch(self._way(parents, after), len(parents), False)
                    fresh.append(after)
            level = fresh
        return GoalSearch(None, len(parents), False)

    def _way(self, parents: dict[State, State | None], state: State) -> tuple[Step, ...]:
        states: list[State] = []
        at: State | None = state
        while at is not None:
            states.append(at)
            at = parents[at]
        states.reverse()
        if self.path:
            return tuple(self._between(states))
        first = next(
            successor for successor in self.runner.initial() if successor.state == states[0]
        )
        return (Step(None, first.choices, first.state), *self._between(states))

    def _between(self, states: Sequence[State]) -> list[Step]:
        steps: list[Step] = []
        for before, after in pairwise(states):
            successor = next(
                successor
                for successor in self.runner.successors(before)
                if successor.state == after
            )
            steps.append(Step(successor.action, successor.choices, successor.state))
        return steps
