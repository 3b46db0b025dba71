"""One check by several engines, which must find the same; anything else is a mistake of ours.

Engines that visit states are asked for the same, and all that they count must be equal. Bounded
model checking counts nothing, and is compared in what it finds within as many steps.
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
    "Bounded model checking finds lassos of some steps and cannot tell that there is none, so "
    "another engine was asked."
)


class Disagreement(Exception):
    """Two engines found different things; ``results`` are theirs."""

    def __init__(self, results: tuple[CheckResult, CheckResult]) -> None:
        self.results = results
        findings = " and ".join(f"{one.job.engine} finds {_said(one)}" for one in results)
        super().__init__(f"check {results[0].job.title}: {findings}")


def cross_checked(job: Job, progress: Callable[[Progress], None]) -> CheckResult:
    """The result of a check, to which other engines agree as far as both searched.

    Raises `Disagreement`, and `Rejected` where an engine cannot run the model.
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
    """The same check, to be run by another engine."""
    job, outcome = first.job, first.outcome
    depth = job.limits.depth
    if not visits_states(name) and depth is None:
        # One step more than there is, so that it sees the end too.
        depth = outcome.statistics.depth
    elif not visits_states(job.engine) and depth is not None and _beyond(first, depth):
        # To see that a state of the last level is not left takes the others another step.
        depth += 1
    workers = job.settings.limits.workers if ENGINES[name].parallel else 1
    solving = job.settings.limits.solving
    limits = Limits(depth=depth, timeout=job.limits.timeout, workers=workers, solving=solving)
    if visits_states(name) and visits_states(job.engine):
        limits = replace(limits, max_states=job.limits.max_states)
    # Only the engine of the check saves its search.
    settings = replace(job.settings, saving=None)
    return replace(job, engine=name, limits=limits, settings=settings)


def _compared(first: CheckResult, other: CheckResult) -> str:
    """What to say where both agree. Raises `Disagreement`."""
    name, cut = other.job.engine, _cut(other.outcome)
    if cut is not None:
        return f"No cross-check: the engine {name} was cut ({cut})."
    if visits_states(name) and visits_states(first.job.engine):
        if _everything(first.outcome) != _everything(other.outcome):
            raise Disagreement((first, other))
        note = f"Cross-check: {name} finds the same, and counts the same."
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
        what = found(first.job.model, bounded.outcome)
        note += f"; it also finds {what} in states of the last level, which are not left"
    return Fact(f"{note}.")


def _cut(outcome: Outcome) -> Limit | None:
    """The limit that was reached, but for the depth."""
    return None if outcome.cut is None or outcome.cut.kind == "depth" else outcome.cut


def _noted(result: CheckResult, note: str, interrupted: bool = False) -> CheckResult:
    outcome = result.outcome
    interrupted = interrupted or outcome.interrupted
    noted = replace(outcome, notes=(*outcome.notes, note), interrupted=interrupted)
    return replace(result, outcome=noted)


def _real(outcome: Outcome) -> Iterator[Finding]:
    """What was found but for lassos. A `reachable` that was not met says nothing up to a depth."""
    unmet = Verdict.UNREACHED
    return (one for one in outcome.findings if one.verdict is not unmet and not _endless(one))


def _endless(finding: Finding) -> bool:
    return finding.trace is not None and finding.trace.loop is not None


def _lassos_agree(bounded: Outcome, explicit: Outcome, depth: int) -> bool:
    """Whether each lasso that bounded model checking finds violates a property that is violated,
    and none is missing of those that have at most ``depth`` steps, and one less where the last
    state stays. Of several properties the first is reported, unless the search goes on.
    """
    found = [one.property or 0 for one in bounded.findings if _endless(one)]
    known = [one for one in explicit.findings if _endless(one)]
    first = min((one.property or 0 for one in known), default=None)
    if found and (first is None or first > min(found)):
        return False
    short = [
        one.property or 0
        for one in known
        if one.trace is not None and one.depth - 1 <= depth - (one.trace.loop == one.depth - 1)
    ]
    return not short or (bool(found) and min(found) <= min(short))


def _beyond(result: CheckResult, depth: int | None) -> list[Finding]:
    """The problems in states of the last level that are not left. An engine that visits states
    does not know of these: it would go on from them in the next step.
    """
    if depth is None:
        return []
    model, outcome = result.job.model, result.outcome
    return [one for one in _real(outcome) if one.depth == depth + 1 and _not_left(model, one)]


def _not_left(model: Model, finding: Finding) -> bool:
    number = finding.index - len(model.actions)
    ends = number >= 0 and model.properties[number].kind.allows_end
    return finding.verdict is Verdict.DEADLOCK or (finding.verdict is Verdict.ERROR and ends)


def _told(finding: Finding) -> tuple[object, ...]:
    return finding.verdict.value, finding.property or 0, finding.depth, str(finding.site)


def _problems(outcome: Outcome, but: list[Finding] | None = None) -> list[tuple[object, ...]]:
    """The problems that two engines must agree on, whatever else they find."""
    return sorted((_told(one) for one in _real(outcome) if one not in (but or ())), key=str)


def _everything(outcome: Outcome) -> tuple[object, ...]:
    """All that two engines which visit states must agree on."""
    counts, coverage = outcome.statistics, outcome.coverage
    traces = [(one.trace, one.fair, one.since) for one in outcome.findings]
    figures = counts.distinct, counts.generated, counts.depth, counts.levels, counts.transitions
    covered = coverage.taken, coverage.marks, coverage.cut, coverage.reached, coverage.stuck.count
    return outcome.verdict, [_told(one) for one in outcome.findings], traces, figures, covered


def _said(result: CheckResult) -> str:
    outcome, counts = result.outcome, result.outcome.statistics
    if not outcome.findings:
        what = f"no problem in {plural(max(counts.depth - 1, 0), 'step')}"
    else:
        first = outcome.findings[0]
        what = f"{found(result.job.model, outcome)} at depth {first.depth}"
        if first.site is not None:
            what += f" ({first.site.span}: {first.site.message})"
    return f"{what}, {plural(counts.distinct, 'state')}" if counts.counted else what
