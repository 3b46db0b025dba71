"""Performs random runs of a TLA+ module with the evaluator, one after another."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from fencepost.checker.evaluator.alias import with_alias
from fencepost.checker.evaluator.model import TlaModel
from fencepost.checker.evaluator.program import runner_of
from fencepost.checker.evaluator.runner import TlaRunner
from fencepost.checker.evaluator.search import (
    Identity,
    TlaVisitor,
    broken_assumptions,
    with_calls,
)
from fencepost.checker.outcome import (
    INTERRUPTED,
    Coverage,
    Finding,
    Limit,
    Outcome,
    Statistics,
    Stuck,
    Verdict,
)
from fencepost.checker.request import Progress, Request, Runs
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.account import (
    PROGRESS_SECONDS,
    Account,
    Candidate,
    Cut,
    Expired,
    finding_of,
    trace_of,
)
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.simulate.runs import ROUND, Plan, SimulationResult, rarer
from fencepost.checker.simulate.shorten import shortened
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Failure
from fencepost.spec.tla.standard.rows import record, truth
from fencepost.spec.tla.values.kinds import Value

MAX_KNOWN = 1_000_000
"""Number of states after which the set of states without problems is emptied."""
NOT_JUDGED = "Temporal properties are not judged in random runs of a module."


def simulate(request: Request, plan: Plan) -> SimulationResult:
    """Simulates a module until a run has a problem, or a limit of the request or the plan is
    reached. A keyboard interrupt ends the runs in the same way as a limit.
    """
    model = request.model
    assert isinstance(model, TlaModel)
    runs = ModuleRuns(request, model, plan)
    broken = broken_assumptions(model)
    if broken is not None:
        return SimulationResult(broken, plan)
    limit: Limit | None = None
    try:
        with runs.interrupts.heard(), raised_after(runs.account.left, Expired):
            runs.perform()
    except Expired:
        limit = runs.account.expired
    except Cut as cut:
        limit = cut.limit
    except KeyboardInterrupt:
        limit = INTERRUPTED
    return runs.result(limit)


class RecordingRunner(TlaRunner):
    """A runner that keeps the steps from the last state."""

    def __init__(self, model: TlaModel) -> None:
        super().__init__(model)
        self.has_levels = False
        self.last: list[tuple[int, State]] = []

    def steps(self, state: State) -> Iterator[tuple[int, State | Failure]]:
        self.last = []
        for action, after in super().steps(state):
            if not isinstance(after, Failure):
                self.last.append((action, after))
            yield action, after


class ModuleRuns:
    """The runs of a module. Every successor of the states on a run is checked as in a search; a
    state that was found without a problem is not checked again.
    """

    def __init__(self, request: Request, model: TlaModel, plan: Plan) -> None:
        self.model, self.plan, self.request = model, plan, request
        self.account, self.interrupts = Account(request), Interrupts()
        runner_of(model)  # allows deep recursion
        self.runner = RecordingRunner(model)
        self.known: dict[State, State | None] = {}
        self.visitor = TlaVisitor(Identity(model), self.runner, self.account, self.known)
        self.visitor.merges = False
        self.visitor.look_for(request.deadlock, request.properties)
        self.way: list[State] = []
        self.firsts: list[State] = []
        """The initial states, unless they are random."""
        self.runs = self.steps = self.left = self.forgotten = 0
        self.reported_at = time.monotonic()
        self.asked = False
        self.runner.level_of = self._level
        model.specification.universe.runtime.statistic = self._statistic

    # ------------------------------------------------------------ runs

    def perform(self) -> None:
        """Performs the runs until one has a problem."""
        weights: Sequence[int] = self.plan.weights
        while self.plan.runs is None or self.runs < self.plan.runs:
            if self.plan.choosing == "rare" and self.runs % ROUND == 0:
                taken = self.visitor.taken
                weights = [rarer(w, n, max(taken)) for w, n in zip(weights, taken, strict=True)]
            self.runs += 1
            self._run(Random(f"{self.plan.seed}/{self.runs}"), weights)
            if self.account.candidates:
                return

    def _run(self, random: Random, weights: Sequence[int]) -> None:
        runtime = self.model.specification.universe.runtime
        runtime.random = self._values()
        runtime.registers.clear()
        self.way, self.visitor.depth = [], 0
        firsts = self.firsts or [*self._begun()]
        if self.account.candidates or not firsts:
            return
        if not self._drawn:
            self.firsts = firsts
        self.way = [random.choice(firsts)]
        for _ in range(self.plan.depth):
            self._look()
            state = self.way[-1]
            if not self._is_inside(state):
                self.left += 1
                return
            self.visitor.depth = len(self.way)
            self.visitor.expand(state)
            if self.account.candidates:
                return
            moves = [
                (action, after)
                for action, after in self.runner.last
                if after != state and weights[action] and self.runner.is_taken(state, after)
            ]
            if not moves:
                self.left += 1
                return
            if self.plan.choosing != "steps":
                actions = [*dict.fromkeys(action for action, _ in moves)]
                chosen = random.choices(actions, [weights[action] for action in actions])[0]
                moves = [move for move in moves if move[0] == chosen]
                self.way.append(random.choice(moves)[1])
            else:
                numbers = [weights[action] for action, _ in moves]
                self.way.append(random.choices(moves, numbers)[0][1])
            self.steps += 1

    def _begun(self) -> Iterator[State]:
        """Yields the initial states after they are checked."""
        for successor in self.runner.initial():
            self._look()
            self.visitor.begin(successor)
            if successor.state is not None:
                yield successor.state

    def _values(self) -> Random:
        """Returns the generator of the random values in the current run."""
        return Random(f"{self.plan.seed}/{self.runs}/values")

    @property
    def _drawn(self) -> bool:
        """Whether the module has used random values in this run."""
        runtime = self.model.specification.universe.runtime
        drawn: bool = runtime.random.getstate() != self._values().getstate()
        return drawn

    def _is_inside(self, state: State) -> bool:
        return all(self.runner.holds(n, state) for n in self.account.searched.constraints)

    def _look(self) -> None:
        """Obeys requests to end, reports progress, and bounds the memory."""
        if self.interrupts.asked:
            raise Cut(INTERRUPTED)
        self.visitor.fresh.clear()
        if len(self.known) > MAX_KNOWN:
            self.forgotten += len(self.known)
            self.known.clear()
        now = time.monotonic()
        if now - self.reported_at >= PROGRESS_SECONDS:
            self.reported_at = now
            generated = sum(self.visitor.taken)
            progress = Progress(
                0, self._distinct, generated, 0, self.account.elapsed, peak_bytes(),
                runs=Runs(self.runs, self.steps),
            )  # fmt: skip
            self.request.progress(progress)

    # ------------------------------------------------------------ TLCGet

    def _level(self, state: State) -> int:
        return self.way.index(state) + 1 if state in self.way else len(self.way)

    def _statistic(self, name: str) -> Value:
        self.asked = True
        level = self.runner.level
        universe = self.model.specification.universe
        match name:
            case "level":
                return self.visitor.depth if level is None else level
            case "distinct":
                return self._distinct
            case "generated":
                return sum(self.visitor.taken)
            case "duration":
                return int(self.account.elapsed)
            case "diameter":
                return len(self.way)
            case "stats":
                names = ("distinct", "generated", "duration", "diameter")
                return record(
                    universe,
                    {"traces": self.runs - 1, **{name: self._statistic(name) for name in names}},
                )
            case "config":
                traces = -1 if self.plan.runs is None else self.plan.runs
                fields = {"mode": "simulate", "worker": 1, "depth": self.plan.depth}
                deadlock = truth(self.model.checks_deadlock)
                return record(universe, {**fields, "traces": traces, "deadlock": deadlock})
            case _:
                return None

    # ------------------------------------------------------------ the result

    @property
    def _distinct(self) -> int:
        return self.forgotten + len(self.known)

    def result(self, limit: Limit | None) -> SimulationResult:
        """Returns the result of the runs, with the first problem if there is one."""
        problems = sorted(self.account.candidates.values(), key=lambda problem: problem.order)
        if not problems:
            if limit is None:
                limit = Limit("runs", self.plan.runs)
            outcome = self._outcome(Verdict.INCONCLUSIVE, limit, ())
            return SimulationResult(outcome, self.plan, self.runs, self.steps, self.left)
        problem, way, walked = problems[0], list(self.way), 0
        if problem.state is not None:
            if not way or way[-1] != problem.state:
                way.append(problem.state)
            walked = len(way) + problem.failed_step
            if self._repeatable:
                problem, way = shortened(self.runner, problem, way)
        finding = self._found(problem, way)
        outcome = self._outcome(finding.verdict, limit, (finding,))
        outcome = with_alias(outcome, self.model)
        return SimulationResult(
            outcome, self.plan, self.runs, self.steps, self.left, walked, self.runs
        )

    def _found(self, problem: Candidate, way: list[State]) -> Finding:
        self.way = way
        trace = trace_of(self.runner, problem, way[:-1] if problem.before is not None else way)
        return replace(finding_of(self.runner, problem), trace=trace)

    @property
    def _repeatable(self) -> bool:
        """Whether the steps depend on states only, so that a shorter path is a behaviour, too."""
        specification = self.model.specification
        registers = specification.universe.runtime.registers
        return not (self.asked or self._drawn or registers or specification.action_constraints)

    def _outcome(
        self, verdict: Verdict, limit: Limit | None, findings: tuple[Finding, ...]
    ) -> Outcome:
        depth = findings[0].depth if findings else 0
        statistics = Statistics(
            self._distinct, sum(self.visitor.taken), depth, (), (), self.account.elapsed,
            peak_bytes(),
        )  # fmt: skip
        taken = tuple(self.visitor.taken)
        coverage = Coverage(taken, frozenset(), {}, 0, frozenset(), Stuck(0, None))
        notes = (NOT_JUDGED,) if self.account.searched.behaviours else ()
        interrupted = limit == INTERRUPTED
        outcome = Outcome(
            verdict, findings, statistics, coverage, limit, interrupted, exact=False, notes=notes
        )
        return with_calls(outcome, self.model.specification)
