"""Searches and their observations, in a form that makes the results of two engines comparable.

An observation is a plain value that contains neither the sources of spans nor any timings. If the
observations of two engines are equal, a user cannot tell the engines apart. The comparisons
themselves are in `comparisons`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from tests.strategies.modules import ROOT, files

from fencepost.checker.engines import load
from fencepost.checker.outcome import Finding, Limit, Outcome, Trace
from fencepost.checker.request import Engine, Limits, Request, Saving
from fencepost.checker.run.range_search import UNBOUNDED, left_ranges, wider
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.open_ranges import NO_RANGES, Ranges
from fencepost.spec.core.types import State, Value
from fencepost.spec.elaborate.claims import program
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.semantics.stepper import Choice
from fencepost.spec.text.source import Span

NO_LIMITS = Limits()
MAX_STATES = 3_000
"""Larger searches get a limit on their depth, which is the same for all engines."""

Chosen: TypeAlias = tuple[tuple[str, Value], ...]
Place: TypeAlias = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """A step of a trace: its action ("" for an initial state), its choices by label, and its
    state.
    """

    action: str
    choices: Chosen
    state: State | None


@dataclass(frozen=True, slots=True)
class ObservedFinding:
    """One problem. ``property`` is the property's number and name; positions are offsets."""

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
    """The observation of one run. The fields are as in `fencepost.checker.outcome`."""

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


@dataclass(frozen=True, slots=True)
class Run:
    """A search as the command requests it. `text` appears only in messages about differing
    engines.
    """

    model: Model
    properties: frozenset[int]
    deadlock: bool = True
    limits: Limits = NO_LIMITS
    keep_going: bool = False
    symmetry: bool = True
    saving: Saving | None = None
    ranged: Callable[[Ranges], Model] | None = field(default=None, compare=False)
    """Builds the model for other ranges of integers without a declared range."""
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        going = ", keep going" if self.keep_going else ""
        return f"{self.limits}, deadlock {self.deadlock}{going}:\n{self.text}"

    def outcome(self, engine: Engine | str) -> Outcome:
        """Runs the search with an engine and returns its outcome. Raises `KeyboardInterrupt`."""
        engine = load(engine) if isinstance(engine, str) else engine
        model = self.model
        if model.open_ranges and engine.name in UNBOUNDED:
            assert self.ranged is not None
            model = self.ranged(NO_RANGES)
        request = Request(
            model,
            properties=self.properties,
            deadlock=self.deadlock,
            limits=self.limits,
            keep_going=self.keep_going,
            symmetry=self.symmetry,
            saving=self.saving,
        )
        return engine.run(request)

    def by(self, engine: Engine | str) -> Observed:
        """Runs the search with an engine and returns the observation."""
        return summary(self.model, self.outcome(engine))

    def within(self, **limits: Any) -> Run:
        """Returns the same search with other limits."""
        return replace(self, limits=replace(self.limits, **limits))

    def in_ranges(self, **limits: Any) -> Run:
        """Returns the same search with ranges that are wide enough within other limits."""
        run = self
        while run.model.open_ranges:
            searched = replace(run.within(**limits), keep_going=True, deadlock=False)
            left = left_ranges(searched.outcome("interpreter"))
            if not left:
                break
            assert run.ranged is not None
            run = replace(run, model=run.ranged(wider(run.model, left)))
        return run


def run_of(source: str | Path | Program, check: str | Check | None = None, **changes: Any) -> Run:
    """Returns the search of a check, by default the first one; `changes` are fields of `Run`."""
    read = loaded(source) if isinstance(source, str) else source
    if isinstance(read, Path):
        read = program.load(read)
    if not isinstance(check, Check):
        check = next(item for item in read.checks if check in (None, item.name))
    ranged = partial(_ranged, read, check)
    model = ranged({})
    chosen, deadlock = program.select(model, check), check.verdict != "violated"
    text = source if isinstance(source, str) else f"{read.path}, check {check.name}"
    run = Run(model, chosen, deadlock, Limits(depth=check.depth), ranged=ranged, text=text)
    return replace(run.in_ranges(max_states=MAX_STATES), **changes)


def _ranged(read: Program, check: Check, ranges: Ranges) -> Model:
    return program.build(read, check, ranges=ranges)


def run_of_all(text: str, **changes: Any) -> Run:
    """Returns the search of a spec's first check for all properties; `changes` are fields of
    `Run`.
    """
    run = run_of(text)
    return replace(run, properties=frozenset(range(len(run.model.properties))), **changes)


def run_of_model(model: Model, **changes: Any) -> Run:
    """Returns the search of a model for all its properties; `changes` are fields of `Run`."""
    return replace(Run(model, frozenset(range(len(model.properties)))), **changes)


def runs_of(text: str) -> list[Run]:
    """Returns the searches of all checks of a spec."""
    read = loaded(text)
    return [replace(run_of(read, check), text=text) for check in read.checks]


def bounded(run: Run, states: int = MAX_STATES) -> Run:
    """Limits the depth of a search that would visit more than ``states`` states.

    With this limit, no engine reaches the limit on states.
    """
    outcome = replace(run.within(max_states=states), keep_going=True).outcome("interpreter")
    if outcome.cut != Limit("max-states", states):
        return run
    # The last expanded level was not expanded completely.
    return run.within(depth=max(len(outcome.statistics.transitions) - 1, 0))


@lru_cache(128)
def loaded(text: str) -> Program:
    """Loads a spec of one or several files from its text. Raises `Rejected`.

    The result is cached, since many tests use the same examples.
    """
    with TemporaryDirectory() as folder:
        for name, part in files(text).items():
            (Path(folder) / f"{name}.fence").write_text(part, encoding="utf-8")
        return program.load(Path(folder) / f"{ROOT}.fence")


def model_of(text: str) -> Model:
    """Returns the model of a spec's first check."""
    return run_of(text).model


def assert_same(expected: Observed, actual: Observed, where: object) -> None:
    """Requires that two observations are equal; the message names the fields that differ."""
    if expected == actual:
        return
    differences = [
        f"{name}:\n  expected {getattr(expected, name)}\n  actual   {getattr(actual, name)}"
        for name in (item.name for item in fields(Observed))
        if getattr(expected, name) != getattr(actual, name)
    ]
    raise AssertionError("\n".join([*differences, str(where)]))


# ---------------------------------------------------------------- from outcomes


def summary(model: Model, result: Outcome) -> Observed:
    """Returns the observation of an outcome."""
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
        failing=_position(finding.failing),
        blocked=tuple((blocked.action, blocked.guards) for blocked in finding.blocked),
        trace=_trace(model, finding.trace),
    )


def site_of(site: Site) -> tuple[str, Place, tuple[Place, ...], str]:
    """Describes a position where evaluation fails: its code, position, calls and message."""
    return (
        site.code,
        _position(site.span),
        tuple(_position(call) for call in site.calls),
        site.message,
    )


def _position(span: Span | None) -> Place:
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
