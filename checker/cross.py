"""One check by two engines: one that visits states, and bounded model checking. What they find in
the same number of steps must be the same; anything else is a mistake of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fencepost.checker.engine import Limits, Progress
from fencepost.checker.result import Finding, Outcome, Verdict
from fencepost.checker.run import CheckResult, Job, found, perform, plural

EXPLICIT, BOUNDED = "local", "bmc"


class Disagreement(Exception):
    """Two engines found different things; ``results`` are theirs."""

    def __init__(self, results: tuple[CheckResult, CheckResult]) -> None:
        self.results = results
        told = " and ".join(f"{one.job.engine} finds {_said(one)}" for one in results)
        super().__init__(f"check {results[0].job.title}: {told}")


def cross_checked(job: Job, progress: Callable[[Progress], None]) -> CheckResult:
    """The result of a check, to which the other kind of engine agrees as far as both searched.

    Raises `Disagreement`, and `Rejected` where an engine cannot run the model.
    """
    result = perform(job, progress)
    depth = job.limits.depth
    if depth is None:
        # One step more than there is, so that the other engine sees the end too.
        depth = result.outcome.statistics.depth
    name = EXPLICIT if job.engine == BOUNDED else BOUNDED
    limits = Limits(depth=depth, timeout=job.limits.timeout, workers=job.limits.workers)
    if name == BOUNDED:
        limits = replace(limits, workers=1)
    other = perform(replace(job, engine=name, limits=limits), progress)
    for one in (result, other):
        limit = one.outcome.limit
        if limit is not None and not limit.startswith("--depth"):
            return _noted(result, f"No cross-check: the engine {one.job.engine} was cut ({limit}).")
    if _problems(result.outcome) != _problems(other.outcome):
        raise Disagreement((result, other))
    return _noted(result, f"Cross-check: {name} finds the same in {plural(depth, 'step')}.")


def _noted(result: CheckResult, note: str) -> CheckResult:
    return replace(result, outcome=replace(result.outcome, notes=(*result.outcome.notes, note)))


def _problems(outcome: Outcome) -> list[object]:
    """What two engines must agree on. A `reachable` that was not met says nothing up to a depth."""

    def told(finding: Finding) -> object:
        return finding.verdict.value, finding.property or 0, finding.depth, str(finding.site)

    real = [finding for finding in outcome.findings if finding.verdict is not Verdict.UNREACHED]
    return sorted((told(finding) for finding in real), key=str)


def _said(result: CheckResult) -> str:
    outcome = result.outcome
    if not outcome.findings:
        return f"no problem in {plural(max(outcome.statistics.depth - 1, 0), 'step')}"
    return f"{found(result.job.model, outcome)} at depth {outcome.findings[0].depth}"
