"""What a run was observed to do, in a form that two engines can be compared by.

Everything here is a plain value without spans' sources or timings: equal observations mean that
no user could tell the engines apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from tests.strategies.modules import ROOT, files

from fencepost.checker.engines import load
from fencepost.checker.outcome import Finding, Limit, Outcome, Trace
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.types import State, Value
from fencepost.spec.elaborate.claims import program
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.semantics.stepper import Choice
from fencepost.spec.text.source import Span

MOST_STATES = 3_000
"""Larger searches are cut, at a depth that all engines are given."""

Chosen: TypeAlias = tuple[tuple[str, Value], ...]
Place: TypeAlias = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """An action's name ("" for an initial state), its choices by label, the state reached."""

    action: str
    choices: Chosen
    state: State | None


@dataclass(frozen=True, slots=True)
class ObservedFinding:
    """One problem; ``property`` is the property's number and name, places are offsets."""

    verdict: str
    property: tuple[int, str] | None
    depth: int
    site: tuple[str, Place, tuple[Place, ...], str] | None
    instance: Chosen
    failing: Place
    blocked: tuple[tuple[int, tuple[int, ...]], ...]
    trace: tuple[ObservedStep, ...] | None


@dataclass(frozen=True, slots=True)
class Observed:
    """One run. Fields as in `fencepost.checker.outcome`."""

    verdict: str
    findings: tuple[ObservedFinding, ...]
    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]
    transitions: tuple[int, ...]
    taken: tuple[int, ...]
    marks: tuple[int, ...]
    blocked: tuple[tuple[int, int], ...]
    cut: int
    reached: tuple[int, ...]
    stuck: int
    stuck_trace: tuple[ObservedStep, ...] | None
    limit: str | None


def observed(
    engine: str,
    model: Model,
    check: Check,
    limits: Limits | None = None,
    keep_going: bool = False,
) -> Observed:
    """What an engine finds, run as the command would run it for ``check``."""
    return summary(model, outcome(engine, model, check, limits, keep_going))


def outcome(
    engine: str,
    model: Model,
    check: Check,
    limits: Limits | None = None,
    keep_going: bool = False,
) -> Outcome:
    """The outcome of a run as the command would run it for ``check``."""
    return load(engine).run(
        Request(
            model,
            properties=program.select(model, check),
            deadlock=check.verdict != "violated",
            limits=limits or Limits(depth=check.depth),
            keep_going=keep_going,
        )
    )


def bounded(engine: str, model: Model, check: Check, most: int = MOST_STATES) -> Limits:
    """The check's own limits; a lower depth where more than ``most`` states would be visited.

    Then no engine has to run into the limit on states first.
    """
    limits = Limits(depth=check.depth, max_states=most)
    found = outcome(engine, model, check, limits, keep_going=True)
    if found.cut != Limit("max-states", most):
        return Limits(depth=check.depth)
    # The last level that was expanded was not expanded whole.
    return Limits(depth=max(len(found.statistics.transitions) - 1, 0))


@lru_cache(128)
def loaded(text: str) -> Program:
    """A spec from its text, of one file or several; raises `Rejected`. Many tests take the same
    examples.
    """
    with TemporaryDirectory() as folder:
        for name, part in files(text).items():
            (Path(folder) / f"{name}.fence").write_text(part, encoding="utf-8")
        return program.load(Path(folder) / f"{ROOT}.fence")


def model_of(text: str) -> Model:
    """The model of a spec's first check."""
    read = loaded(text)
    return program.build(read, read.checks[0])


def assert_same(wanted: Observed, found: Observed, where: str) -> None:
    """Two observations are equal; if not, the message names the fields that differ."""
    if wanted == found:
        return
    differences = [
        f"{field.name}:\n  wanted {getattr(wanted, field.name)}\n  found  "
        f"{getattr(found, field.name)}"
        for field in fields(Observed)
        if getattr(wanted, field.name) != getattr(found, field.name)
    ]
    raise AssertionError("\n".join([*differences, where]))


# ---------------------------------------------------------------- from outcomes


def summary(model: Model, result: Outcome) -> Observed:
    """What can be seen of an outcome."""
    statistics, coverage = result.statistics, result.coverage
    return Observed(
        verdict=result.verdict.value,
        findings=tuple(_finding(model, finding) for finding in result.findings),
        distinct=statistics.distinct,
        generated=statistics.generated,
        depth=statistics.depth,
        levels=statistics.levels,
        transitions=statistics.transitions,
        taken=coverage.taken,
        marks=tuple(sorted(coverage.marks)),
        blocked=tuple(sorted(coverage.blocked.items())),
        cut=coverage.cut,
        reached=tuple(sorted(coverage.reached)),
        stuck=coverage.stuck.count,
        stuck_trace=_trace(model, coverage.stuck.trace),
        limit=None if result.limit is None else str(result.limit),
    )


def _finding(model: Model, finding: Finding) -> ObservedFinding:
    number = finding.property
    return ObservedFinding(
        verdict=finding.verdict.value,
        property=None if number is None else (number, model.properties[number].name),
        depth=finding.depth,
        site=None if finding.site is None else site_of(finding.site),
        instance=_choices(finding.instance),
        failing=_place(finding.failing),
        blocked=tuple((blocked.action, blocked.guards) for blocked in finding.blocked),
        trace=_trace(model, finding.trace),
    )


def site_of(site: Site) -> tuple[str, Place, tuple[Place, ...], str]:
    """A place where evaluation fails: code, place, calls, message."""
    return site.code, _place(site.span), tuple(_place(call) for call in site.calls), site.message


def _place(span: Span | None) -> Place:
    return None if span is None else (span.start, span.end)


def _choices(choices: Sequence[Choice]) -> Chosen:
    return tuple((choice.label, choice.value) for choice in choices)


def _trace(model: Model, trace: Trace | None) -> tuple[ObservedStep, ...] | None:
    if trace is None:
        return None
    return tuple(
        ObservedStep(
            "" if step.action is None else model.actions[step.action].name,
            _choices(step.choices),
            step.state,
        )
        for step in trace.steps
    )
