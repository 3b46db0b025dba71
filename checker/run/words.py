"""Names of checks, results and engines in reports."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker import engines
from fencepost.checker.engines import ENGINES
from fencepost.checker.outcome import INTERRUPTED, Fit, Limit, Outcome, Verdict
from fencepost.checker.run.job import Job
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import Check

UNSIGNED = "relies on an unsigned checkpoint"
"""The mark of a result that depends on an unsigned checkpoint, directly or through earlier
saves.
"""


def plural(count: int, noun: str) -> str:
    """``1 state``, ``180 states``, with thousands separators."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ended(limit: Limit | None) -> str:
    """The end of a run by a limit, in words: ``cut by --depth 3``, ``interrupted``."""
    return "interrupted" if limit == INTERRUPTED else f"cut by {limit or 'a limit'}"


def expected(check: Check) -> str:
    """The expected verdict as a spec writes it."""
    if check.within is not None:
        return f"{check.verdict} within {check.within}"
    return f"{check.verdict} {check.property}" if check.property else check.verdict


def found(model: Model, outcome: Outcome) -> str:
    """The actual verdict as a spec would write it: ``violated A``."""
    if outcome.findings and outcome.findings[0].property is not None:
        prop = model.properties[outcome.findings[0].property]
        return f"{outcome.verdict.value} {prop.name or prop.title}"
    if outcome.verdict is Verdict.OK and outcome.limit is not None:
        return f"ok within {outcome.limit.number}"
    return outcome.verdict.value


def resumed(outcome: Outcome) -> str:
    """The origin of a resumed search and whether it is unsigned; "" if the search was not
    resumed.
    """
    start = outcome.resumed
    if start is None:
        return ""
    text = f"resumed from {start.place}, which had {plural(start.levels, 'level')}"
    return text if start.signed else f"{text}; it {UNSIGNED}"


def fitting(fit: Fit) -> str:
    """Half a sentence that says how much of a scenario some run fits."""
    if fit.behind == fit.steps:
        return "some runs take its steps, but its expectation holds after none of them"
    if not fit.behind:
        return "no run takes the first of its steps"
    return f"no run fits more than {fit.behind} of {plural(fit.steps, 'step')}"


def runner(job: Job) -> str:
    """The engine of a check: ``local, 2 workers``, ``interpreter``."""
    if not ENGINES[job.engine].parallel:
        return job.engine
    return f"{job.engine}, {plural(job.workers, 'worker')}"


def runners(jobs: Sequence[Job]) -> str:
    """The engines of some checks with library versions, for reproduction."""
    names: dict[str, None] = {}
    for job in jobs:
        library = engines.load(job.engine).library
        name = f"engine {runner(job)}"
        names[f"{name}, {library}" if library else name] = None
    return ", ".join(names)
