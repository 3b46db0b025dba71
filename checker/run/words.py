"""Names checks, results and engines in reports."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker import engines
from fencepost.checker.engines import ENGINES
from fencepost.checker.outcome import INTERRUPTED, Fit, Limit, Outcome, Proof, Verdict
from fencepost.checker.run.job import Job
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.text.problem import listing

UNSIGNED = "relies on an unsigned checkpoint"
"""The remark on a result that depends on an unsigned checkpoint, either directly or through earlier
saves.
"""


def plural(count: int, noun: str) -> str:
    """Formats a count with thousands separators: ``1 state``, ``1,800 states``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ended(limit: Limit | None) -> str:
    """Describes how a run was ended by a limit: ``cut by --depth 3``, ``interrupted``."""
    return "interrupted" if limit == INTERRUPTED else f"cut by {limit or 'a limit'}"


def constraints(model: Model) -> str:
    """Lists the constraints of a model: ``constraint Small and constraint Few``."""
    return listing([prop.title for prop in model.properties if prop.kind.bounds_search], "and")


def expected(check: Check) -> str:
    """Returns the expected verdict in the syntax of a spec."""
    if check.within is not None:
        return f"{check.verdict} within {check.within}"
    return f"{check.verdict} {check.property}" if check.property else check.verdict


def found(model: Model, outcome: Outcome) -> str:
    """Returns the actual verdict as a spec would write it, such as ``violated A``."""
    if outcome.findings and outcome.findings[0].property is not None:
        prop = model.properties[outcome.findings[0].property]
        return f"{outcome.verdict.value} {prop.name or prop.title}"
    if outcome.verdict is Verdict.OK and outcome.limit is not None:
        return f"ok within {outcome.limit.number}"
    return outcome.verdict.value


def claim(proof: Proof) -> str:
    """Returns the subject of a proof as part of a sentence: claims such as "no deadlock" are
    quoted, so that their "no" is not read as part of the sentence.
    """
    return proof.subject if proof.property is not None else f'"{proof.subject}"'


def unproved(proof: Proof) -> str:
    """Returns the reason why a subject is not proved, and the error in which the counterexample
    ends, if it ends in one.
    """
    site = None if proof.finding is None else proof.finding.site
    return f"{proof.reason}" if site is None else f"{proof.reason}: {site.message}"


def resumed(outcome: Outcome) -> str:
    """Describes the checkpoint that a search was resumed from, and says if it is unsigned. Returns
    "" if the search was not resumed.
    """
    start = outcome.resumed
    if start is None:
        return ""
    text = f"resumed from {start.place}, which had {plural(start.levels, 'level')}"
    return text if start.signed else f"{text}; it {UNSIGNED}"


def fitting(fit: Fit) -> str:
    """Returns a clause that says how much of a scenario fits some run."""
    if fit.behind == fit.steps:
        return "some runs take its steps, but its expectation holds after none of them"
    if not fit.behind:
        return "no run takes the first of its steps"
    return f"no run fits more than {fit.behind} of {plural(fit.steps, 'step')}"


def runner(job: Job) -> str:
    """Names the engine of a check: ``local, 2 workers``, ``interpreter``."""
    if not ENGINES[job.engine].parallel:
        return job.engine
    return f"{job.engine}, {plural(job.workers, 'worker')}"


def runners(jobs: Sequence[Job]) -> str:
    """Names the engines of some checks with the versions of their libraries, so that a run can be
    reproduced.
    """
    names: dict[str, None] = {}
    for job in jobs:
        library = engines.load(job.engine).library
        name = f"engine {runner(job)}"
        names[f"{name}, {library}" if library else name] = None
    return ", ".join(names)
