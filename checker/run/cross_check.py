"""Runs one check with several engines and compares their results. Any difference is a bug in
Fencepost.

Engines that visit states must agree on every count. Bounded model checking does not count states,
so only its findings are compared, up to the same number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fencepost.checker.engines import ENGINES, visits_states
from fencepost.checker.outcome import Fact, Finding, Limit, Outcome, Verdict
from fencepost.checker.request import Limits, Progress
from fencepost.checker.run.check import compared_with, perform
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found, plural
from fencepost.spec.core.ir import Model

_NOT_BOUNDED = (
    "Bounded model checking finds short lassos but cannot exclude longer ones, so another engine "
    "was used."
)


class Disagreement(Exception):
    """Raised if two engines have different ``results`` for one check."""

    def __init__(self, results: tuple[CheckResult, CheckResult]) -> None:
        self.results = results
        findings = " and ".join(f"{result.job.engine} finds {_said(result)}" for result in results)
        super().__init__(f"check {results[0].job.title}: {findings}")


def cross_checked(job: Job, progress: Callable[[Progress], None]) -> CheckResult:
    """Returns the result of a check after comparing it with the results of other engines, as far as
    both engines have searched.

    Raises `Disagreement` if two results differ, and `Rejected` if an engine cannot run the model.
    """
    first = result = perform(job, progress)
    for name in compared_with(job):
        cut = _cut(first.outcome)
        if cut is not None:
            return _noted(result, f"No cross-check: the engine {job.engine} was cut ({cut}).")
        other = perform(_again(first, name), progress)
        result = _noted(result, _compared(first, other), other.outcome.interrupted)
    return result


def _again(first: CheckResult, name: str) -> Job:
    """Returns a job that runs the same check with another engine."""
    job, outcome = first.job, first.outcome
    depth = job.limits.depth
    if not visits_states(name) and depth is None:
        # The other engine takes one step more than the search needed, so that it finds deadlocks at
        # the last level, too.
        depth = outcome.statistics.depth
    elif not visits_states(job.engine) and depth is not None and _beyond(first, depth):
        # The other engine reports states in the last level that have no successors only one step
        # later.
        depth += 1
    workers = job.settings.limits.workers if ENGINES[name].parallel else 1
    solving = job.settings.limits.solving
    limits = Limits(depth=depth, timeout=job.limits.timeout, workers=workers, solving=solving)
    if visits_states(name) and visits_states(job.engine):
        limits = replace(limits, max_states=job.limits.max_states)
    # Only the check's own engine saves its search and looks for further counterexamples.
    settings = replace(job.settings, saving=None, counterexamples=None)
    return replace(job, engine=name, limits=limits, settings=settings)


def _compared(first: CheckResult, other: CheckResult) -> str:
    """Returns a note on two results that agree. Raises `Disagreement` if they do not."""
    name, cut = other.job.engine, _cut(other.outcome)
    if cut is not None:
        return f"No cross-check: the engine {name} was cut ({cut})."
    if visits_states(name) and visits_states(first.job.engine):
        if _everything(first.outcome) != _everything(other.outcome):
            raise Disagreement((first, other))
        note = f"Cross-check: {name} agrees, with the same counts."
        chosen = first.job.settings.cross_check == ()
        return Fact(f"{note} {_NOT_BOUNDED}" if chosen else note)
    bounded, explicit = (first, other) if visits_states(name) else (other, first)
    depth = bounded.job.limits.depth
    assert depth is not None
    beyond = [] if explicit is other else _beyond(bounded, first.job.limits.depth)
    ours, theirs = _problems(bounded.outcome, beyond), _problems(explicit.outcome)
    if ours != theirs or not _lassos_agree(bounded.outcome, explicit.outcome, depth):
        raise Disagreement((first, other))
    note = f"Cross-check: {name} finds the same in {plural(depth, 'step')}"
    if beyond:
        problem = found(first.job.model, bounded.outcome)
        note += f"; it also finds {problem} in states of the last level, which are not expanded"
    return Fact(f"{note}.")


def _cut(outcome: Outcome) -> Limit | None:
    """Returns the limit that ended the search, or None if there was none. The depth and constraints
    do not count: another engine can search the same part.
    """
    cut = outcome.cut
    return None if cut is None or cut.kind in ("depth", "outside") else cut


def _noted(result: CheckResult, note: str, interrupted: bool = False) -> CheckResult:
    outcome = result.outcome
    interrupted = interrupted or outcome.interrupted
    noted = replace(outcome, notes=(*outcome.notes, note), interrupted=interrupted)
    return replace(result, outcome=noted)


def _real(outcome: Outcome) -> Iterator[Finding]:
    """Returns the findings other than lassos and unmet `reachable` properties. A `reachable` that
    is unmet up to a depth means nothing.
    """
    unmet = Verdict.UNREACHED
    return (
        finding
        for finding in outcome.findings
        if finding.verdict is not unmet and not _endless(finding)
    )


def _endless(finding: Finding) -> bool:
    return finding.trace is not None and finding.trace.loop is not None


def _lassos_agree(bounded: Outcome, explicit: Outcome, depth: int) -> bool:
    """Returns whether the bounded and the explicit result agree on lassos.

    For each lasso in the bounded result, the explicit result must violate the same property. Each
    explicit lasso with at most ``depth`` steps (one step less if its last state repeats) must also
    be found by the bounded search. Unless a search continues after a problem, it reports only the
    first property.
    """
    bounded_properties = [
        finding.property or 0 for finding in bounded.findings if _endless(finding)
    ]
    lassos = [finding for finding in explicit.findings if _endless(finding)]
    first = min((finding.property or 0 for finding in lassos), default=None)
    if bounded_properties and (first is None or first > min(bounded_properties)):
        return False
    short = [
        finding.property or 0
        for finding in lassos
        if finding.trace is not None
        and finding.depth - 1 <= depth - (finding.trace.loop == finding.depth - 1)
    ]
    return not short or (bool(bounded_properties) and min(bounded_properties) <= min(short))


def _beyond(result: CheckResult, depth: int | None) -> list[Finding]:
    """Returns the problems in states of the last level that have no successors.

    An engine that visits states reports these problems only when it expands the next level.
    """
    if depth is None:
        return []
    model, outcome = result.job.model, result.outcome
    return [
        finding
        for finding in _real(outcome)
        if finding.depth == depth + 1 and _not_left(model, finding)
    ]


def _not_left(model: Model, finding: Finding) -> bool:
    number = finding.index - len(model.actions)
    ends = number >= 0 and model.properties[number].kind.allows_end
    return finding.verdict is Verdict.DEADLOCK or (finding.verdict is Verdict.ERROR and ends)


def _told(finding: Finding) -> tuple[object, ...]:
    return finding.verdict.value, finding.property or 0, finding.depth, str(finding.site)


def _problems(outcome: Outcome, but: list[Finding] | None = None) -> list[tuple[object, ...]]:
    """Returns the findings that both engines must report."""
    return sorted(
        (_told(finding) for finding in _real(outcome) if finding not in (but or ())), key=str
    )


def _everything(outcome: Outcome) -> tuple[object, ...]:
    """Returns everything on which two engines that visit states must agree."""
    counts, coverage = outcome.statistics, outcome.coverage
    traces = [(finding.trace, finding.fair, finding.since) for finding in outcome.findings]
    figures = counts.distinct, counts.generated, counts.depth, counts.levels, counts.transitions
    covered = coverage.taken, coverage.marks, coverage.cut, coverage.reached, coverage.stuck.count
    return (
        outcome.verdict,
        [_told(finding) for finding in outcome.findings],
        traces,
        figures,
        covered,
    )


def _said(result: CheckResult) -> str:
    outcome, counts = result.outcome, result.outcome.statistics
    if not outcome.findings:
        text = f"no problem in {plural(max(counts.depth - 1, 0), 'step')}"
    else:
        first = outcome.findings[0]
        text = f"{found(result.job.model, outcome)} at depth {first.depth}"
        if first.site is not None:
            text += f" ({first.site.span}: {first.site.message})"
    return f"{text}, {plural(counts.distinct, 'state')}" if counts.counted else text
