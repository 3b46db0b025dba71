"""Performs random runs in parallel until a run has a problem or enough runs are completed. The plan
and the result of the runs are plain data.

Each run has its own random numbers, derived from the seed, and the failing run with the lowest
number is reported. The result therefore does not depend on the number of workers.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from queue import SimpleQueue

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import least
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.build import CodeInUse
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Packed, Sizes, SlotReport
from fencepost.checker.native.states import PackedStates
from fencepost.checker.native.walker import SKETCH_BYTES, Walker, WalkResult, translated
from fencepost.checker.outcome import (
    INTERRUPTED,
    Coverage,
    Limit,
    Outcome,
    Statistics,
    Stuck,
    Verdict,
)
from fencepost.checker.request import Progress, Request, Runs
from fencepost.checker.resources import Exhausted, memory_bytes, peak_bytes, processors
from fencepost.checker.search.account import (
    PROGRESS_SECONDS,
    Account,
    Candidate,
    Cut,
    before_search,
    finding_of,
    trace_of,
)
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.limits import out_of_memory
from fencepost.checker.simulate.runs import ROUND, JudgedRun, Plan, SimulationResult, rarer
from fencepost.checker.simulate.shorten import shortened
from fencepost.checker.temporal.decide import graph, violation
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.units import Outgoing, outgoing, without_ghosts
from fencepost.checker.temporal.verdict import NOT_JUDGED, finding, refuse_large
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner

FIRST_LASSO_STATES = 250
"""Number of states after which `Part` first searches for a lasso. It searches again whenever the
number of states has doubled.
"""
MAX_LASSO_STATES = 10_000
MAX_LASSO_RUNS = 1_000
"""Bounds on `Part`. These are counts rather than times so that results do not depend on the
machine.
"""

WAIT_SECONDS = 0.05
"""Interval at which limits and interrupts are polled, in seconds."""
PORTION_SECONDS = 0.03
"""Intended duration of one call of machine code, in seconds."""


@dataclass(slots=True)
class _Sums:
    """Sums over all completed runs."""

    runs: int = 0
    steps: int = 0
    left: int = 0
    transitions: int = 0
    stuck: int = 0
    tally: bytes = b""
    sketch: bytes = bytes(SKETCH_BYTES)

    def add(self, sizes: Sizes, walked: WalkResult) -> None:
        self.runs += walked.runs
        self.steps += walked.steps
        self.left += walked.left
        self.transitions += walked.transitions
        self.stuck += walked.stuck
        parts = [self.tally, walked.tally] if self.tally else [walked.tally]
        self.tally = worker_context.combined(sizes, parts)
        self.sketch = merge_sketches(self.sketch, walked.sketch)


def simulate(request: Request, plan: Plan) -> SimulationResult:
    """Simulates a model without symbolic constants. The limits of the request on time and workers
    apply.

    A keyboard interrupt ends the runs in the same way as a limit. Raises `Unsupported`.
    """
    model = request.model
    searched = model.searched(request.properties)
    # Machine code checks the predicates of temporal formulas, because they must be defined
    # everywhere.
    properties = request.properties.difference(searched.behaviours).union(searched.predicates)
    request = replace(request, properties=properties)
    account = Account(request)
    early = before_search(account)
    if early is not None:
        return SimulationResult(early, plan)
    interrupts = Interrupts()
    memory = Memory(left=memory_bytes)
    with interrupts.heard():
        try:
            for number in searched.behaviours:
                refuse_large(model, number, lambda: _heed(interrupts, account))
            simulation = Simulation(request, plan, account, interrupts, memory, searched.behaviours)
            return simulation.run()
        except Cut as cut:
            limit = cut.limit
        except KeyboardInterrupt:
            limit = INTERRUPTED
        except (Exhausted, MemoryError):
            limit = out_of_memory(request.limits)
        finally:
            memory.close()
    return SimulationResult(account.outcome(limit, lambda: Runner(model), lambda _: []), plan)


def _heed(interrupts: Interrupts, account: Account) -> None:
    """Raises `Cut` after an interrupt or after the deadline."""
    if interrupts.asked:
        raise Cut(INTERRUPTED)
    if account.left == 0:
        raise Cut(account.expired)


class Simulation:
    """The runs of a request, with their workers and the sums so far."""

    def __init__(
        self,
        request: Request,
        plan: Plan,
        account: Account,
        interrupts: Interrupts,
        memory: Memory,
        behaviours: Sequence[int] = (),
    ) -> None:
        self.request = request
        self.plan = plan
        self.account = account
        self.interrupts = interrupts
        self.model = request.model
        self.layout = Layout(self.model)
        compilation, self.sizes = translated(self.model, self.layout, request.properties)
        self.code = CodeInUse(compilation)
        self.states = PackedStates(account, self.layout, self.sizes)
        self.memory = memory
        self.sums = _Sums()
        self.workers = request.limits.workers or processors()
        self.portion = 1
        self.next_run = 0
        self.reported_at = account.started
        self.weights = list(plan.weights)
        self.limit: Limit | None = None
        self.behaviours = behaviours
        self.decision = Decision(self.model, self._pause)
        self.decided: float | None = None
        self.part = Part(Runner(request.model))
        timeout = request.limits.timeout
        self.seconds = math.inf if timeout is None else timeout
        self.idle: SimpleQueue[Walker] = SimpleQueue()
        self.walkers = [
            Walker(memory, self.sizes, plan.depth, plan.seed, plan.weights)
            for _ in range(self.workers)
        ]
        for walker in self.walkers:
            walker.look_for(request.deadlock, request.properties)
            self.idle.put(walker)

    def run(self) -> SimulationResult:
        problems, kept = self._initial()
        if problems:
            return self._with_problem(self._least(problems, 0), (), None)
        failing: tuple[int, WalkResult] | None = None
        if kept:
            # Behaviours are decided after half of the time, and the rest is for further runs.
            failing = self._rounds(self.seconds / 2 if self.behaviours else math.inf)
            if failing is None and self.behaviours and self.limit is None:
                lasso = self._lasso()
                if lasso is not None:
                    violated = finding(self.part.runner, *lasso)
                    outcome = self._outcome(Verdict.VIOLATED, None, violated.depth)
                    return self._simulated(replace(outcome, findings=(violated,)))
                failing = self._rounds(math.inf)
        if failing is not None:
            first, walked = failing
            problem = self._least(walked.problems, len(walked.path))
            return self._with_problem(problem, walked.path, first + walked.runs + 1)
        limit = self.limit or Limit("runs", self.plan.runs)
        outcome = self._outcome(Verdict.INCONCLUSIVE, limit)
        if not kept and self.limit is None:
            why = "There is no initial state to begin a run from."
            outcome = replace(outcome, notes=(why, *outcome.notes))
        return self._simulated(outcome)

    # ------------------------------------------------------------ runs

    def _initial(self) -> tuple[list[SlotReport], bytes]:
        """Returns the problems of the initial states, and the initial states for the runs."""
        first = self.walkers[0]
        results: list[tuple[list[SlotReport], bytes]] = []
        thread = threading.Thread(target=lambda: results.append(first.initial(self.code.now())))
        thread.start()
        while thread.is_alive():
            thread.join(WAIT_SECONDS)
            if self._must_end() and self.limit is not None:
                first.stop()
        problems, kept = results[0]
        room = self.memory.take(max(1, len(kept))).address
        ctypes.memmove(room, kept, len(kept))
        self.account.initial_count = count = len(kept) // (8 * self.layout.words)
        self.initial = room, count
        for walker in self.walkers:
            walker.start_from(*self.initial)
        return problems, kept

    def _rounds(self, until: float) -> tuple[int, WalkResult] | None:
        """Performs runs until the end or a failure, and begins none later than ``until``, in
        seconds after the start. Returns the first failing run, together with the number of the
        first run in its portion, or None.
        """
        with ThreadPoolExecutor(self.workers, "fencepost walker") as pool:
            while self.limit is None and not self._complete() and self._elapsed < until:
                self._weigh()
                failing = self._round(pool, until)
                if failing is not None:
                    return failing
        return None

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self.account.started

    def _complete(self) -> bool:
        return self.plan.runs is not None and self.next_run >= self.plan.runs

    def _weigh(self) -> None:
        """Sets the weights of the actions for the next round."""
        weights: Sequence[int] = self.plan.weights
        if self.plan.choosing == "rare" and self.sums.tally:
            taken = worker_context.totals(self.sizes, [self.sums.tally]).taken
            weights = [
                rarer(weight, count, max(taken))
                for weight, count in zip(weights, taken, strict=True)
            ]
        for walker in self.walkers:
            walker.weigh(weights, self.plan.choosing != "steps")

    def _round(self, pool: ThreadPoolExecutor, until: float) -> tuple[int, WalkResult] | None:
        """Performs one round, which consists of all runs that begin by ``until`` or, for rare
        actions, of a number of runs with fixed weights.
        """
        end = self.plan.runs
        if self.plan.choosing == "rare":
            # The weights of later runs depend on the number of runs in a round.
            until = math.inf
            end = self.next_run + ROUND if end is None else min(end, self.next_run + ROUND)
        under_way: dict[Future[tuple[WalkResult, float]], tuple[int, int]] = {}
        best: tuple[int, WalkResult] | None = None
        ended: dict[int, WalkResult] = {}
        while True:
            while best is None and self.limit is None and len(under_way) < 2 * self.workers:
                count = self.portion if end is None else min(self.portion, end - self.next_run)
                if not count or self._elapsed >= until:
                    break
                future = pool.submit(self.walk, self.next_run, count)
                under_way[future] = self.next_run, count
                self.next_run += count
            if not under_way:
                return best
            done, _ = wait(under_way, WAIT_SECONDS, FIRST_COMPLETED)
            for future in done:
                first, count = under_way.pop(future)
                ended[first], seconds = future.result()
                self._adapt(count, seconds)
                if ended[first].problems and (best is None or first < best[0]):
                    best = first, ended[first]
            if best is not None:
                for future, (first, _) in list(under_way.items()):
                    if first > best[0] and future.cancel():
                        del under_way[future]
            # Runs after the first failing one do not count, and an earlier portion that is still
            # running may contain a problem. The sums are therefore added in order.
            settled = min((first for first, _ in under_way.values()), default=self.next_run)
            for first in sorted(ended):
                if first < settled and (best is None or first <= best[0]):
                    self.sums.add(self.sizes, ended.pop(first))
            self._must_end()

    def walk(self, first: int, count: int) -> tuple[WalkResult, float]:
        """Performs runs on an idle walker. Returns the result and the seconds that the runs
        took.
        """
        walker = self.idle.get()
        try:
            began = time.monotonic()
            walked = walker.run(self.code.now(), first, count)
            return walked, time.monotonic() - began
        finally:
            self.idle.put(walker)

    def _adapt(self, count: int, seconds: float) -> None:
        if seconds < PORTION_SECONDS / 2 and count == self.portion:
            self.portion *= 2
        elif seconds > 2 * PORTION_SECONDS:
            self.portion = max(1, self.portion // 2)

    def _must_end(self) -> bool:
        """Checks the limits, stops the runs if a limit is reached, and reports progress."""
        now = time.monotonic()
        if self.interrupts.asked:
            self.limit = INTERRUPTED
        elif self.limit is None and self._elapsed > self.seconds:
            self.limit = self.account.expired
        if self.limit is not None:
            for walker in self.walkers:
                walker.stop()
            return True
        self._report(now, None)
        return False

    def _report(self, now: float, decision: Decision | None) -> None:
        """Reports progress if a report is due."""
        if now - self.reported_at >= PROGRESS_SECONDS:
            self.reported_at = now
            sums = self.sums
            deciding = None if decision is None else decision.now()
            self.request.progress(
                Progress(
                    0, self._distinct, sums.transitions, 0, self._elapsed, peak_bytes(),
                    deciding=deciding, runs=Runs(sums.runs, sums.steps),
                )
            )  # fmt: skip

    @property
    def _distinct(self) -> int:
        """The estimated number of distinct states examined so far."""
        if not self.sums.transitions:
            return self.account.initial_count
        return estimated_count(self.sums.sketch)

    # ------------------------------------------------------------ behaviours

    def _lasso(self) -> tuple[int, Lasso] | None:
        """Returns a property of behaviours and a lasso that violates it, found among the states of
        the first runs, or None.
        """
        began = time.monotonic()
        try:
            return self.part.violated(self.behaviours, self._again(), self.decision)
        except Cut as cut:
            self.limit = cut.limit
            return None
        finally:
            self.decided = time.monotonic() - began

    def _pause(self) -> None:
        _heed(self.interrupts, self.account)
        self._report(time.monotonic(), self.decision)

    def _again(self) -> Iterator[list[State]]:
        """Repeats the runs and yields the new states of each. The last state of a run that ended is
        omitted, because its steps were not examined.
        """
        walker = Walker(self.memory, self.sizes, self.plan.depth, self.plan.seed, self.plan.weights)
        walker.look_for(self.request.deadlock, self.request.properties)
        walker.weigh(self.plan.weights, self.plan.choosing != "steps")
        walker.start_from(*self.initial)
        seen: set[Packed] = set()
        for number in range(self.next_run):
            way = walker.run(self.code.now(), number, 1, path=True).path
            fresh = dict.fromkeys(way[: self.plan.depth])
            yield [self.layout.decode(state) for state in fresh if state not in seen]
            seen.update(fresh)

    # ------------------------------------------------------------ what was found

    def _least(self, problems: Sequence[SlotReport], depth: int) -> Candidate:
        """Returns the problem to report from the problems of one state."""
        self.states.offer(least(problems, self.layout.decode), depth)
        return min(self.account.candidates.values(), key=lambda candidate: candidate.order)

    def _with_problem(
        self, problem: Candidate, path: Sequence[Packed], run: int | None
    ) -> SimulationResult:
        runner = Runner(self.model)
        way = [self.layout.decode(state) for state in path]
        walked = 0
        if problem.state is not None:
            # The path ends where the problem occurs. For a problem of a step, this is after the
            # step.
            if not way or way[-1] != problem.state:
                way.append(problem.state)
            walked = len(way) + problem.failed_step
            problem, way = shortened(runner, problem, way)
        trace = trace_of(runner, problem, way[:-1] if problem.before is not None else way)
        finding = replace(finding_of(runner, problem), trace=trace)
        outcome = self._outcome(finding.verdict, self.limit, problem.depth)
        return self._simulated(replace(outcome, findings=(finding,)), walked, run)

    def _outcome(self, verdict: Verdict, limit: Limit | None, depth: int = 0) -> Outcome:
        sums = self.sums
        statistics = Statistics(
            self._distinct, sums.transitions, depth, (), (), self._elapsed, peak_bytes(),
            decided_seconds=self.decided,
        )  # fmt: skip
        tallies = [sums.tally] if sums.tally else []
        totals = worker_context.totals(self.sizes, tallies)
        reached = worker_context.reached(self.sizes, tallies)
        coverage = Coverage(
            totals.taken, totals.marks, dict(totals.refused), 0, reached, Stuck(sums.stuck, None)
        )
        interrupted = limit == INTERRUPTED
        notes = (NOT_JUDGED,) if self.behaviours and not self.part.runs else ()
        return Outcome(
            verdict, (), statistics, coverage, limit, interrupted, exact=False, notes=notes
        )

    def _simulated(
        self, outcome: Outcome, walked: int = 0, run: int | None = None
    ) -> SimulationResult:
        sums = self.sums
        # The failing run was not completed.
        runs = sums.runs + (run is not None)
        judged = JudgedRun(self.part.runs, self.part.states) if self.part.runs else None
        return SimulationResult(
            outcome, self.plan, runs, sums.steps, sums.left, walked, run, judged
        )


def merge_sketches(first: bytes, second: bytes) -> bytes:
    """Returns the HyperLogLog sketch of a union (Flajolet and others, 2007), with one byte for each
    group.
    """
    return bytes(map(max, first, second))


def estimated_count(sketch: bytes) -> int:
    """Estimates how many distinct values a sketch has seen, by linear counting if the number is
    small.

    The standard error is 1.04 divided by the square root of the sketch's length.
    """
    count, empty = len(sketch), sketch.count(0)
    raw = 0.7213 / (1 + 1.079 / count) * count**2 / math.fsum(2.0**-rank for rank in sketch)
    if raw <= 2.5 * count and empty:
        return round(count * math.log(count / empty))
    return round(raw)


class Part:
    """The part of the state graph that random runs visited.

    All steps of a visited state are known, wherever they lead. A lasso inside the part is therefore
    a behaviour of the model, and its fairness can be determined exactly. If no lasso is found,
    nothing is known about behaviours that leave the part.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._seen = without_ghosts(runner.model)
        self._known: dict[State, Outgoing] = {}
        self.runs = 0

    @property
    def states(self) -> int:
        return len(self._known)

    def violated(
        self,
        behaviours: Collection[int],
        runs: Iterable[Iterable[State]],
        decision: Decision,
    ) -> tuple[int, Lasso] | None:
        """Returns the first property that is violated by a lasso among the states of the runs, and
        that lasso, or None.

        Every state of a run must have been examined, and none of its steps may fail. Raises
        `TooLarge`.
        """
        decision.begin(next(iter(behaviours)))
        due, judged = FIRST_LASSO_STATES, 0
        for states in runs:
            self.runs += 1
            for state in states:
                if state not in self._known:
                    decision.look()
                    self._known[state] = outgoing(self.runner, self._seen, state)
            if self.runs == MAX_LASSO_RUNS or self.states >= MAX_LASSO_STATES:
                break
            if self.states >= due:
                lasso = self._lasso(behaviours, decision)
                if lasso is not None:
                    return lasso
                due, judged = 2 * self.states, self.states
        return self._lasso(behaviours, decision) if self.states > judged else None

    def _lasso(self, behaviours: Collection[int], decision: Decision) -> tuple[int, Lasso] | None:
        state_graph = graph(self.runner, decision=decision, among=self._known, total=self.states)
        for number in behaviours:
            decision.begin(number)
            formula = self.runner.model.properties[number].formula
            assert formula is not None
            lasso = violation(state_graph, formula, decision)
            if lasso is not None:
                return number, lasso
        return None
