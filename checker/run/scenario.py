"""Checks scenarios with an engine that visits states: searches for a run of the model that fits a
scenario.

A step that fails belongs to no run, and a condition that is undefined does not hold. Such failures
are reported by other checks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from fencepost.checker.engines import COUNTING, visits_states
from fencepost.checker.options import OPTIONS, first
from fencepost.checker.outcome import Coverage, Finding, Fit, Outcome, Trace, Verdict
from fencepost.checker.request import Engine, Progress
from fencepost.checker.run.job import Job
from fencepost.checker.run.range_search import left_ranges
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import plural
from fencepost.checker.search.explain import explain
from fencepost.spec.core.ir import Model
from fencepost.spec.core.scenario import Scenario, product
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import BlockedAction, Runner
from fencepost.spec.text.problem import Problem, Rejected, listing


def refuse_options(check: Check, engine: str, settings: Settings) -> None:
    """Raises `Rejected` (F854) for options that do not apply to scenarios."""
    option = first(settings.given, [row.flag for row in OPTIONS if row.no_scenario])
    engines = [engine, *(settings.cross_check or ())]
    engine = next((name for name in engines if not visits_states(name)), "")
    if not engine and not option:
        return
    message = f"scenario {check.name}: {option} applies to checks only"
    remark = "`--check NAME` runs one check"
    if engine:
        able = [name for name, counts in COUNTING.items() if counts]
        message = (
            f"scenario {check.name}: the engine {engine} does not visit states, so it cannot run "
            "scenarios"
        )
        remark = f"the engines {listing(able, 'and')} do"
    raise Rejected([Problem("F854", check.span, message, ((None, remark),))])


def refuse_symbols(check: Check, model: Model) -> None:
    """Raises `Rejected` (F854) if a constant of the model is symbolic."""
    for symbol in model.symbols:
        message = f"scenario {check.name} needs a value for {symbol.path}, which is symbolic"
        remark = f"const {symbol.path} = VALUE before its steps gives it one"
        raise Rejected([Problem("F854", check.span, message, ((symbol.span, remark),))])


def played(engine: Engine, job: Job, progress: Callable[[Progress], None]) -> Outcome:
    """Searches for a run that fits the scenario of a job.

    The verdict is OK with a shortest run, UNREACHED with the longest prefix of the scenario that
    fits a run, or INCONCLUSIVE. A state is counted as a pair of a model state and a position in the
    scenario. If a value left an assumed range, the outcome is that of the search.
    """
    scenario, request = job.scenario, job.request(progress)
    assert scenario is not None
    composed = product(request.model, scenario)
    run_request = replace(
        request,
        model=composed.model,
        properties=frozenset({composed.unmet, *composed.reached}),
        deadlock=False,
        keep_going=False,
        symmetry=False,
        tolerant=True,
    )
    outcome = engine.run(run_request)
    if outcome.verdict is Verdict.ASSUMPTION or left_ranges(outcome):
        return outcome
    taken = len(request.model.actions)
    bounded = any(prop.kind.bounds_search for prop in request.model.properties)
    outside = outcome.coverage.cut if bounded else 0
    coverage = Coverage(outcome.coverage.taken[:taken], frozenset(), cut=outside)
    base = replace(outcome, findings=(), coverage=coverage, notes=())
    behind = [n for n, number in enumerate(composed.reached) if number in outcome.coverage.reached]
    steps = len(scenario.steps)
    if outcome.verdict is Verdict.VIOLATED:
        fit = Fit(scenario.name, steps, steps)
        prop = outcome.findings[0]
        run = Finding(Verdict.OK, None, prop.depth, _stripped(request.model, prop.trace), fit=fit)
        interrupted = outcome.interrupted and prop.trace is None
        return replace(base, verdict=Verdict.OK, findings=(run,), cut=None, interrupted=interrupted)
    if outcome.limit is not None:
        most = max(behind, default=0)
        note = f"So far {most} of {plural(steps, 'step')} of the scenario fit some run."
        return replace(base, notes=(note,))
    if not behind:
        note = f"{_no_beginning(request.model)}, so there is no run."
        fit = Fit(scenario.name, 0, steps)
        finding = Finding(Verdict.UNREACHED, None, 0, None, fit=fit)
        return replace(base, verdict=Verdict.UNREACHED, findings=(finding,), notes=(note,))
    wanted = frozenset({composed.avoided[behind[-1]]})
    limits = request.limits
    if limits.timeout is not None:
        left = max(0.0, limits.timeout - outcome.statistics.seconds)
        limits = replace(limits, timeout=left)
    second = engine.run(replace(run_request, properties=wanted, limits=limits))
    if left_ranges(second):
        return second
    finding = _longest(request.model, scenario, behind[-1], second)
    return replace(
        base, verdict=Verdict.UNREACHED, findings=(finding,), interrupted=second.interrupted
    )


def _no_beginning(model: Model) -> str:
    """Returns the reason why no initial state can be built."""
    failures = (attempt.failure for attempt in Runner(model).initial())
    failure = next((failure for failure in failures if failure is not None), None)
    if failure is None:
        return "There is no initial state"
    return f"The initial state fails ({model.sites[failure.site].message})"


def _longest(model: Model, scenario: Scenario, behind: int, outcome: Outcome) -> Finding:
    """Returns the finding for the longest prefix that fits. The finding contains the next part of
    the scenario and the reason why it does not fit.
    """
    fit = Fit(scenario.name, behind, len(scenario.steps))
    trace = _stripped(model, outcome.findings[0].trace if outcome.findings else None)
    last = behind == fit.steps
    span = scenario.expectation.span if last else scenario.steps[behind].span
    depth = outcome.statistics.depth
    finding = Finding(Verdict.UNREACHED, None, depth, trace, failing=span, fit=fit)
    state = trace.steps[-1].state if trace is not None else None
    if state is None:
        return finding
    # The next step becomes a scenario of its own.
    rest = scenario.steps[behind : behind + 1]
    composed = product(model, replace(scenario, steps=rest, gaps=frozenset()))
    runner, state = Runner(composed.model), (*state, 0)
    for step in rest:
        return _blocked(model, finding, runner, state, step.action)
    with suppress(EvaluationError):
        why = explain(runner, composed.expected, state, None)
        finding = replace(finding, failing=why.failing or span, instance=why.instance)
    return finding


def _blocked(model: Model, finding: Finding, runner: Runner, state: State, action: int) -> Finding:
    """Explains why an action cannot take a step: which of its guards are false, or where it
    fails.
    """
    guards: set[int] = set()
    for attempt in runner.attempts(action, state):
        if attempt.failure is not None:
            return replace(finding, site=model.sites[attempt.failure.site])
        # Guards with higher numbers than the model's own select the step of the scenario.
        if attempt.guard is not None and attempt.guard < len(model.guards):
            guards.add(attempt.guard)
    return replace(finding, blocked=(BlockedAction(action, tuple(sorted(guards))),))


def _stripped(model: Model, trace: Trace | None) -> Trace | None:
    """Removes the position in the scenario from the states of a trace."""
    return None if trace is None else trace.of_first(len(model.variables))
