"""Searches with ranges that are found on the way, for integers without a declared range.

A search assumes a range for each of these integers. If a value is outside, the search begins again
with a wider range. Every result therefore comes from a search in which all values were inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from fencepost.checker.outcome import Limit, Outcome, Verdict
from fencepost.checker.run.job import Job
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.open_ranges import Range, widened
from fencepost.spec.elaborate.claims.program import build
from fencepost.spec.text.problem import Note, Problem, Rejected

FINDING = frozenset({"local", "interpreter"})
"""The engines that can search a model whose ranges are assumed."""


def refuse_ranges(model: Model, request: str) -> None:
    """Raises `Rejected` if the model contains an integer without a declared range."""
    for item in model.open_ranges:
        message = f"{item.name} is an int, and {request} needs a declared range: 0..10, for example"
        raise Rejected([Problem("F810", item.span, message)])


def assumed(model: Model) -> dict[str, Range]:
    """Returns the ranges that a model assumes."""
    return {item.key: (item.low, item.high) for item in model.open_ranges}


def searched(job: Job, search: Callable[[Job], Outcome]) -> tuple[Job, Outcome]:
    """Searches the model of a job, if necessary for wider and wider ranges. Returns the job with
    the model that was searched last, and the outcome of this search.

    A time limit applies to all searches together. Raises `Rejected` if a range does not fit in 64
    bits.
    """
    started, limit, restarts = time.monotonic(), job.limits.timeout, 0
    while True:
        outcome = search(job)
        left = left_ranges(outcome)
        seconds = time.monotonic() - started
        if restarts:
            statistics = replace(outcome.statistics, seconds=seconds)
            outcome = replace(outcome, statistics=statistics, restarts=restarts)
        if not left:
            return job, _with_limit(outcome, limit)
        if outcome.interrupted or (limit is not None and seconds >= limit):
            cut = outcome.cut if outcome.interrupted else Limit("timeout", limit)
            return job, replace(outcome, verdict=Verdict.INCONCLUSIVE, findings=(), cut=cut)
        restarts += 1
        limits = job.limits
        if limit is not None:
            limits = replace(limits, timeout=limit - seconds)
        job = replace(
            job, model=_rebuilt(job, _wider(job.model, left)), limits=limits, model_name=None
        )


def left_ranges(outcome: Outcome) -> tuple[Site, ...]:
    """Returns the sites at which a value left an assumed range."""
    sites = [finding.site for finding in outcome.findings]
    return tuple(site for site in sites if site is not None and site.leaves is not None)


def _with_limit(outcome: Outcome, timeout: float | None) -> Outcome:
    """Returns the outcome with the time limit that the user gave, not the part that was left."""
    if outcome.cut is None or outcome.cut.kind != "timeout":
        return outcome
    return replace(outcome, cut=replace(outcome.cut, number=timeout))


def _wider(model: Model, left: tuple[Site, ...]) -> dict[str, Range]:
    ranges = assumed(model)
    for site in left:
        assert site.leaves is not None
        key = model.open_ranges[site.leaves].key
        low, high = ranges[key]
        ranges[key] = widened((low, high), high + 1 if site.above else low - 1)
    return ranges


def _rebuilt(job: Job, ranges: dict[str, Range]) -> Model:
    """Builds the model of a job for wider ranges. If that is impossible, the problems have notes on
    the ranges.
    """
    try:
        return build(job.program, job.check, job.settings.overrides, ranges=ranges)
    except Rejected as rejected:
        notes: list[Note] = [
            (item.span, f"{item.name} needs at least {ranges[item.key][0]}..{ranges[item.key][1]}")
            for item in job.model.open_ranges
            if ranges[item.key] != (item.low, item.high)
        ]
        problems = rejected.problems
        raise Rejected([replace(p, notes=(*p.notes, *notes)) for p in problems]) from None
