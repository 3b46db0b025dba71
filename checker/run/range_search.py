"""Searches with ranges that are found on the way, for integers without a declared range.

A search assumes a range for each of these integers. If a value is outside, the search begins again
with a wider range. Every result therefore comes from a search in which all values were inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from fencepost.checker.outcome import Limit, Outcome, Verdict
from fencepost.checker.run.job import Job
from fencepost.checker.run.kept_models import KeptModels
from fencepost.checker.run.range_scout import scouted
from fencepost.spec.core.ir import Model, OpenRange, Site
from fencepost.spec.core.open_ranges import NO_RANGES, Range, Ranges, widened
from fencepost.spec.elaborate.claims.program import build, staged
from fencepost.spec.text.problem import Note, Problem, Rejected

FINDING = frozenset({"local", "interpreter"})
"""The engines that search models with assumed ranges."""
UNBOUNDED = frozenset({"bmc", "induction"})
"""The engines that use integers without bounds. All other engines need declared ranges."""


def refuse_ranges(model: Model, request: str) -> None:
    """Raises `Rejected` if the model contains an integer without a declared range."""
    for item in model.open_ranges:
        message = f"{item.name} is an int, and {request} needs a declared range: 0..10, for example"
        raise Rejected([Problem("F810", item.span, message)])


def found_ranges(model: Model) -> tuple[OpenRange, ...]:
    """Returns the ranges to report. A type in the signature of a def has the ranges of the
    arguments, so it is not reported.
    """
    return tuple(item for item in model.open_ranges if item.name and not item.unbounded)


def without_ranges(job: Job) -> Job:
    """Returns a job whose model assumes no ranges."""
    if all(item.unbounded for item in job.model.open_ranges):
        return job
    return _rebuilt(job, NO_RANGES)


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
    if job.engine in FINDING and any(item.unbounded for item in job.model.open_ranges):
        job = _scouted(job)
    while True:
        outcome = search(job)
        left = left_ranges(outcome)
        seconds = time.monotonic() - started
        if job.model.open_ranges:
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
        job = replace(_rebuilt(job, wider(job.model, left)), limits=limits)


def wider(model: Model, left: Iterable[Site]) -> dict[str, Range]:
    """Returns wider ranges than a model assumes, after values left them at some sites."""
    ranges = assumed(model)
    for site in left:
        assert site.leaves is not None
        key = model.open_ranges[site.leaves].key
        low, high = ranges[key]
        ranges[key] = widened((low, high), high + 1 if site.above else low - 1)
    return ranges


def _scouted(job: Job) -> Job:
    """Returns the job with ranges that include the values in the first states of its search."""
    try:
        return _rebuilt(job, scouted(job))
    except Rejected:
        # The ranges are too wide for the model, but the search may end before these values.
        return _rebuilt(job, {})


def left_ranges(outcome: Outcome) -> tuple[Site, ...]:
    """Returns the sites at which a value left an assumed range."""
    sites = [finding.site for finding in outcome.findings]
    return tuple(site for site in sites if site is not None and site.leaves is not None)


def _with_limit(outcome: Outcome, timeout: float | None) -> Outcome:
    """Returns the outcome with the time limit that the user gave, not the part that was left."""
    if timeout is None or outcome.cut is None or outcome.cut.kind != "timeout":
        return outcome
    return replace(outcome, cut=replace(outcome.cut, number=timeout))


def _rebuilt(job: Job, ranges: Ranges) -> Job:
    """Returns a job with the model for other ranges. If that is impossible, the problems have notes
    on the ranges that are wider.
    """
    program, check, overrides = job.program, job.check, job.settings.overrides
    scenario, name = job.scenario, job.model_name
    try:
        if scenario is not None:
            model, scenario = staged(program, check, overrides, ranges)
        elif name is not None:
            model, name = KeptModels(program).model(check, overrides, ranges)
        else:
            model = build(program, check, overrides, ranges=ranges)
        return replace(job, model=model, scenario=scenario, model_name=name)
    except Rejected as rejected:
        notes: list[Note] = [
            (item.span, f"{item.name} needs at least {low}..{high}")
            for item in job.model.open_ranges
            for low, high in [ranges.get(item.key, (item.low, item.high))]
            if (low, high) != (item.low, item.high)
        ]
        problems = rejected.problems
        raise Rejected([replace(p, notes=(*p.notes, *notes)) for p in problems]) from None
