"""A walk through a model, step by step: what can happen, where it leads, the way so far, and the
other ways that were gone.

It knows no texts that a user writes: `exploration` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.search.explain import explained
from fencepost.checker.tools.property_values import NOTHING, Judgement, judge
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner, Successor


@dataclass(frozen=True, slots=True)
class Option:
    """A step that can be taken, and what is to be known of it before: what the properties say of
    it, and whether it leads back to the state in which it is taken.
    """

    step: Step
    failure: int | None
    judgement: Judgement = NOTHING
    same: bool = False


@dataclass(frozen=True, slots=True)
class Sought:
    """What a search for a state found: the steps to the nearest one, if there is one among the
    ``seen`` states. ``cut``: there are more states than that.
    """

    steps: tuple[Step, ...] | None
    seen: int
    cut: bool


class Walk:
    """A path through a model. Before its first step stands the choice of an initial state.

    ``ways`` are the paths that were gone, none of which is the beginning of another, and ``path``
    is a beginning of the one with the number ``way``: going back leaves it as it is, and a step
    that is not its next one begins another.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.runner = Runner(model)
        self.path: list[Step] = []
        self.ways: list[tuple[Step, ...]] = [()]
        self.way = 0

    @property
    def state(self) -> State | None:
        """Where the walk stands; None before an initial state is chosen, and behind a step that
        failed.
        """
        return self.path[-1].state if self.path else None

    @property
    def ended(self) -> bool:
        """Whether the last step failed, so that nothing can follow."""
        return bool(self.path) and self.path[-1].state is None

    @property
    def _before(self) -> State | None:
        return self.path[-2].state if len(self.path) > 1 else None

    def options(self) -> list[Option]:
        """What can happen next, in the order of the language; equal initial states once."""
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
        """What the properties say of the last step, and of the state that it led to."""
        if self.state is None:
            return NOTHING
        return judge(self.runner, self._before, self.state)

    def take(self, step: Step) -> None:
        """Goes on by a step, one of the `options`."""
        gone = len(self.path)
        self.path.append(step)
        path = tuple(self.path)
        ahead = (n for n, way in enumerate(self.ways) if way[: len(path)] == path)
        if self.ways[self.way][: len(path)] == path:
            return
        if (found := next(ahead, None)) is not None:
            self.way = found
        elif gone == len(self.ways[self.way]):
            self.ways[self.way] = path
        else:
            self.ways.append(path)
            self.way = len(self.ways) - 1

    @property
    def ahead(self) -> int:
        """The steps that the present way has behind the place where the walk stands."""
        return len(self.ways[self.way]) - len(self.path)

    def common(self, way: int) -> int:
        """How many steps a way has in common with the path, from the first one on."""
        pairs = enumerate(zip(self.ways[way], self.path, strict=False))
        return next(
            (n for n, (one, other) in pairs if one != other),
            min(len(self.ways[way]), len(self.path)),
        )

    def go(self, way: int, steps: int) -> None:
        """Stands behind the first ``steps`` steps of a way, or behind all that it has."""
        self.way = way
        self.path[:] = self.ways[way][:steps]

    def back(self, count: int) -> int:
        """Takes back steps, at most all; how many it were."""
        taken = min(count, len(self.path))
        del self.path[len(self.path) - taken :]
        return taken

    def trace(self) -> Trace:
        """The way so far."""
        return Trace(tuple(self.path))

    def finding(self) -> Finding | None:
        """The problem in which the walk ends, if it does: the failure, the first property without
        a value, or the first that is violated.
        """
        trace = self.trace()
        if self.ended:
            last, before = self.path[-1], self._before
            tried = self.runner.initial() if before is None else self.runner.successors(before)
            failure = next(
                one.failure
                for one in tried
                if one.failure is not None
                and (one.action, one.choices) == (last.action, last.choices)
            )
            verdict = Verdict.ASSERTION if failure.assertion else Verdict.ERROR
            site = self.model.sites[failure.site]
            return Finding(verdict, None, len(self.path), trace, site)
        judgement, state = self.judgement(), self.state
        if judgement.failed:
            site = self.model.sites[judgement.failed[0][1]]
            return Finding(Verdict.ERROR, None, len(self.path), trace, site)
        found = judgement.violated
        if not found or state is None:
            return None
        finding = Finding(Verdict.VIOLATED, found[0], len(self.path), trace)
        try:
            return explained(self.runner, finding, found[0], self._before, state)
        except EvaluationError:
            return finding

    def inside(self, state: State) -> bool:
        """Whether a state meets the constraints; a search does not go beyond others."""
        return not judge(self.runner, None, state).outside

    def seek(self, wanted: Callable[[State], bool], most: int) -> Sought:
        """The nearest state from here for which ``wanted`` holds, in at most ``most`` states.

        From the place before the first step, the nearest to any initial state. What ``wanted``
        raises goes through.
        """
        start = self.state
        firsts = [start] if start is not None else []
        if not self.path:
            firsts = [s.state for s in self.runner.initial() if s.state is not None]
        parents: dict[State, State | None] = dict.fromkeys(firsts)
        level: list[State] = list(parents)
        for state in level:
            if wanted(state):
                return Sought(self._way(parents, state), len(parents), False)
        while level:
            fresh: list[State] = []
            for state in level:
                if not self.inside(state):
                    continue
                for _, after in self.runner.expand(state)[0]:
                    if after in parents:
                        continue
                    if len(parents) >= most:
                        return Sought(None, len(parents), True)
                    parents[after] = state
                    if wanted(after):
                        return Sought(self._way(parents, after), len(parents), False)
                    fresh.append(after)
            level = fresh
        return Sought(None, len(parents), False)

    def _way(self, parents: dict[State, State | None], state: State) -> tuple[Step, ...]:
        states: list[State] = []
        at: State | None = state
        while at is not None:
            states.append(at)
            at = parents[at]
        states.reverse()
        if self.path:
            return tuple(self._between(states))
        first = next(one for one in self.runner.initial() if one.state == states[0])
        return (Step(None, first.choices, first.state), *self._between(states))

    def _between(self, states: Sequence[State]) -> list[Step]:
        steps: list[Step] = []
        for before, after in pairwise(states):
            one = next(one for one in self.runner.successors(before) if one.state == after)
            steps.append(Step(one.action, one.choices, one.state))
        return steps
