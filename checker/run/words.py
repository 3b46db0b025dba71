"""The words in which checks, their results and what ran them are named in every report."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker import engines
from fencepost.checker.engines import ENGINES
from fencepost.checker.outcome import INTERRUPTED, Fit, Limit, Outcome, Verdict
from fencepost.checker.run.job import Job
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import Check

UNSIGNED = "relies on an unsigned checkpoint"
"""The mark of a result whose checkpoint, or an earlier one of the same search, was unsigned."""


def plural(count: int, noun: str) -> str:
    """``1 state``, ``180 states``; thousands are set apart."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ended(limit: Limit | None) -> str:
    """How a limit ends a run: ``cut by --depth 3``, ``interrupted``."""
    return "interrupted" if limit == INTERRUPTED else f"cut by {limit or 'a limit'}"


def expected(check: Check) -> str:
    """The verdict that a check expects, as it is written."""
    if check.within is not None:
        return f"{check.verdict} within {check.within}"
    return f"{check.verdict} {check.property}" if check.property else check.verdict


def found(model: Model, outcome: Outcome) -> str:
    """The verdict that was found, in the words of a check: ``violated A``."""
    if outcome.findings and outcome.findings[0].property is not None:
        prop = model.properties[outcome.findings[0].property]
        return f"{outcome.verdict.value} {prop.name or prop.title}"
    if outcome.verdict is Verdict.OK and outcome.limit is not None:
        return f"ok within {outcome.limit.number}"
    return outcome.verdict.value


def resumed(outcome: Outcome) -> str:
    """Where a search was resumed, and if that is unsigned; empty if it was not resumed."""
    start = outcome.resumed
    if start is None:
        return ""
    said = f"resumed from {start.place}, which had {plural(start.levels, 'level')}"
    return said if start.signed else f"{said}; it {UNSIGNED}"


def fitting(fit: Fit) -> str:
    """How far runs fit a scenario that none fits, in half a sentence."""
    if fit.behind == fit.steps:
        return "runs take its steps, and what it expects holds behind none of them"
    if not fit.behind:
        return "no run takes the first of its steps"
    return f"no run fits it further than {fit.behind} of {plural(fit.steps, 'step')}"


def runner(job: Job) -> str:
    """What runs a check: ``local, 2 workers``, ``interpreter``."""
    if not ENGINES[job.engine].parallel:
        return job.engine
    return f"{job.engine}, {plural(job.workers, 'worker')}"


def runners(jobs: Sequence[Job]) -> str:
    """What ran some checks, for those who want to run them again: with versions of libraries."""
    names: dict[str, None] = {}
    for job in jobs:
        library = engines.load(job.engine).library
        name = f"engine {runner(job)}"
        names[f"{name}, {library}" if library else name] = None
    return ", ".join(names)
