"""Scenarios: whether some run of a model fits one, by an engine that visits states.

A step that fails is no step of a run, and what has no value does not hold: other checks find that.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from fencepost.checker.engines import ENGINES, visits_states
from fencepost.checker.options import OPTIONS, first
from fencepost.checker.outcome import Coverage, Finding, Fit, Outcome, Trace, Verdict
from fencepost.checker.request import Engine, Request
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
    """Raises `Rejected` (F854) for what means nothing to a scenario."""
    option = first(settings.given, [row.flag for row in OPTIONS if row.no_scenario])
    engines = [engine, *(settings.cross_check or ())]
    engine = next((name for name in engines if not visits_states(name)), "")
    if not engine and not option:
        return
    what = f"scenario {check.name}: {option} is about the properties and states of checks"
    remark = "`--check NAME` runs one check"
    if engine:
        able = [name for name in ENGINES if visits_states(name)]
        what = f"scenario {check.name}: the engine {engine} visits no states, so it plays none"
        remark = f"the engines {listing(able, 'and')} do"
    raise Rejected([Problem("F854", check.span, what, ((None, remark),))])


def refuse_symbols(check: Check, model: Model) -> None:
    """Raises `Rejected` (F854) for a model with a constant that has no value."""
    for symbol in model.symbols:
        what = f"scenario {check.name} needs a value for {symbol.path}, which stands for any"
        remark = f"const {symbol.path} = VALUE in front of its steps gives it one"
        raise Rejected([Problem("F854", check.span, what, ((symbol.span, remark),))])


def played(engine: Engine, request: Request, scenario: Scenario) -> Outcome:
    """What a search finds of a scenario: OK with a shortest run that fits; UNREACHED, with the
    longest prefix of the scenario that fits some run; or INCONCLUSIVE. It counts pairs of a state
    and a position in the scenario.
    """
    made = product(request.model, scenario)
    asked = replace(
        request,
        model=made.model,
        properties=frozenset({made.unmet, *made.reached}),
        deadlock=False,
        keep_going=False,
        symmetry=False,
        tolerant=True,
    )
    outcome = engine.run(asked)
    if outcome.verdict is Verdict.ASSUMPTION:
        return outcome
    taken = len(request.model.actions)
    bounded = any(one.kind.bounds_search for one in request.model.properties)
    outside = outcome.coverage.cut if bounded else 0
    coverage = Coverage(outcome.coverage.taken[:taken], frozenset(), cut=outside)
    found = replace(outcome, findings=(), coverage=coverage, notes=())
    behind = [n for n, number in enumerate(made.reached) if number in outcome.coverage.reached]
    steps = len(scenario.steps)
    if outcome.verdict is Verdict.VIOLATED:
        fit = Fit(scenario.name, steps, steps)
        one = outcome.findings[0]
        run = Finding(Verdict.OK, None, one.depth, _stripped(one.trace), fit=fit)
        interrupted = outcome.interrupted and one.trace is None
        return replace(
            found, verdict=Verdict.OK, findings=(run,), cut=None, interrupted=interrupted
        )
    if outcome.limit is not None:
        most = max(behind, default=0)
        note = f"So far {most} of {plural(steps, 'step')} of the scenario fit some run."
        return replace(found, notes=(note,))
    if not behind:
        note = f"{_no_beginning(request.model)}, so there is no run."
        fit = Fit(scenario.name, 0, steps)
        finding = Finding(Verdict.UNREACHED, None, 0, None, fit=fit)
        return replace(found, verdict=Verdict.UNREACHED, findings=(finding,), notes=(note,))
    wanted = frozenset({made.avoided[behind[-1]]})
    limits = request.limits
    if limits.timeout is not None:
        left = max(0.0, limits.timeout - outcome.statistics.seconds)
        limits = replace(limits, timeout=left)
    second = engine.run(replace(asked, properties=wanted, limits=limits))
    finding = _longest(request.model, scenario, behind[-1], second)
    return replace(
        found, verdict=Verdict.UNREACHED, findings=(finding,), interrupted=second.interrupted
    )


def _no_beginning(model: Model) -> str:
    """Why no run begins."""
    failures = (made.failure for made in Runner(model).initial())
    failure = next((one for one in failures if one is not None), None)
    if failure is None:
        return "There is no initial state"
    return f"The initial state fails ({model.sites[failure.site].message})"


def _longest(model: Model, scenario: Scenario, behind: int, outcome: Outcome) -> Finding:
    """What there is to say of the longest prefix that fits, and of what comes next."""
    fit = Fit(scenario.name, behind, len(scenario.steps))
    trace = _stripped(outcome.findings[0].trace if outcome.findings else None)
    last = behind == fit.steps
    span = scenario.expectation.span if last else scenario.steps[behind].span
    depth = outcome.statistics.depth
    finding = Finding(Verdict.UNREACHED, None, depth, trace, failing=span, fit=fit)
    state = trace.steps[-1].state if trace is not None else None
    if state is None:
        return finding
    # What comes next, as a scenario of its own.
    rest = scenario.steps[behind : behind + 1]
    made = product(model, replace(scenario, steps=rest, gaps=frozenset()))
    runner, state = Runner(made.model), (*state, 0)
    for step in rest:
        return _blocked(model, finding, runner, state, step.action)
    with suppress(EvaluationError):
        instance, part = explain(runner, made.expected, state, None)
        finding = replace(finding, failing=part or span, instance=instance)
    return finding


def _blocked(model: Model, finding: Finding, runner: Runner, state: State, action: int) -> Finding:
    """Why a step of an action cannot be taken: guards that are false, or where it fails."""
    guards: set[int] = set()
    for one in runner.attempts(action, state):
        if one.failure is not None:
            return replace(finding, site=model.sites[one.failure.site])
        # The guards behind those of the model say that it is another step.
        if one.guard is not None and one.guard < len(model.guards):
            guards.add(one.guard)
    return replace(finding, blocked=(BlockedAction(action, tuple(sorted(guards))),))


def _stripped(trace: Trace | None) -> Trace | None:
    """The trace in the states of the model: without the position."""
    if trace is None:
        return None
    return Trace(
        tuple(
            replace(one, state=None if one.state is None else one.state[:-1]) for one in trace.steps
        )
    )
