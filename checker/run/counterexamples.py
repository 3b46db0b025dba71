"""Finds further counterexamples of a violated property that differ in their causes, shortest first.

The cause of a counterexample is the set of actions of the steps that the violation needs; in a TLA+
module, these are all steps. The next counterexample is a shortest one among the runs that do not
take every action of an earlier cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fencepost.checker.outcome import Counterexample, Fact, Finding, Outcome
from fencepost.checker.request import Engine, Progress, Request
from fencepost.checker.run.words import ended
from fencepost.checker.trace.causes import causes
from fencepost.spec.core.avoiding import avoiding
from fencepost.spec.core.ir import Enabled, Model
from fencepost.spec.core.traverse import walk


def with_counterexamples(
    engine: Engine, request: Request, outcome: Outcome, wanted: int
) -> Outcome:
    """Adds up to ``wanted`` counterexamples of the property that is violated first. If there are
    fewer, a note says why. Raises `Unsupported`.
    """
    finding = outcome.findings[0] if outcome.findings else None
    if finding is None or finding.trace is None or outcome.interrupted:
        return outcome
    missing = _obstacle(request.model, finding)
    if missing is not None:
        return replace(outcome, notes=(*outcome.notes, Fact(f"One counterexample: {missing}.")))
    several = [_counterexample(request.model, finding)]
    seconds, interrupted = outcome.statistics.seconds, False
    while len(several) < wanted and missing is None:
        if not several[-1].cause:
            missing = "the property is violated in an initial state"
            break
        further = engine.run(_next(request, finding, several, seconds))
        seconds += further.statistics.seconds
        interrupted = further.interrupted
        if further.findings and further.findings[0].trace is not None:
            several.append(_counterexample(request.model, further.findings[0]))
        if interrupted or (further.cut is not None and not further.findings):
            missing = f"the search for the next one was {ended(further.cut)}"
        elif not further.findings:
            missing = "the cause of every other one contains one of those shown"
    notes = outcome.notes
    if missing is not None and len(several) < wanted:
        notes = (*notes, Fact(f"{len(several)} of {wanted} counterexamples: {missing}."))
    return replace(outcome, counterexamples=tuple(several), interrupted=interrupted, notes=notes)


def _obstacle(model: Model, finding: Finding) -> str | None:
    """Returns why no further counterexamples can be searched for, or None if they can be."""
    prop = None if finding.property is None else model.properties[finding.property]
    if prop is None or prop.kind.of_behaviours:
        return "only invariants, step invariants and refinements can have several"
    bounds = (bound.body for bound in model.properties if bound.kind.bounds_search)
    if any(isinstance(node, Enabled) for node in walk((prop.body, *bounds))):
        return "the property or a constraint tests which actions are enabled"
    return None


def _next(
    request: Request, first: Finding, several: Sequence[Counterexample], seconds: float
) -> Request:
    """Returns the request for the next counterexample. ``seconds`` have been used so far."""
    assert first.property is not None
    limits, number = request.limits, len(several) + 1
    if limits.timeout is not None:
        limits = replace(limits, timeout=max(0.0, limits.timeout - seconds))

    def progress(progress: Progress) -> None:
        request.progress(replace(progress, remark=f"counterexample {number}"))

    model: Any = request.model
    earlier = [counterexample.cause for counterexample in several]
    # An evaluation error or a failed assertion in another step is a problem of its own.
    return replace(
        request,
        model=model.avoiding(earlier) if model.is_opaque else avoiding(model, earlier),
        properties=frozenset({first.property}),
        deadlock=False,
        limits=limits,
        progress=progress,
        profile=False,
        observer=None,
        saving=None,
        tolerant=True,
    )


def _counterexample(model: Model, finding: Finding) -> Counterexample:
    """Returns a finding with its cause. The states of its trace may have further variables at the
    end.
    """
    assert finding.trace is not None
    trace = finding.trace.of_first(len(model.variables))
    finding = replace(finding, trace=trace)
    spare = causes(model, trace, finding).spare
    actions = {step.action for n, step in enumerate(trace.steps) if n not in spare}
    return Counterexample(finding, frozenset(n for n in actions if n is not None))
