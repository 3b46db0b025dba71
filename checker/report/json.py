"""The JSON report (docs/ci.md), and values in natural JSON form.

Natural form: booleans and integers as they are, enum members as strings, records as objects, unions
as ``{"tag": ..., "value": {fields}}``, sequences as arrays, sets and bags as sorted arrays, maps as
arrays of ``[key, value]``, none as null, and other options as their content (``{"some": content}``
if the content is itself an option).
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker.outcome import Region, Statistics, Step
from fencepost.checker.printing.json_values import Json, json_notation, written
from fencepost.checker.report.assurance import remarks, valued
from fencepost.checker.report.counterexamples import names
from fencepost.checker.report.growth import growth_object
from fencepost.checker.report.profile import profile_object
from fencepost.checker.report.whole_run import SpecRun, Whole, within
from fencepost.checker.run.judge import UNCHECKED, CheckResult
from fencepost.checker.run.range_search import found_ranges
from fencepost.checker.run.words import expected
from fencepost.checker.trace.findings import fair_rows, unfit_rows
from fencepost.checker.trace.steps import arguments, state_values
from fencepost.spec.core import types
from fencepost.spec.core.foreign import ForeignValue
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Type, Value, values
from fencepost.spec.text.problem import Problem


def _foreign(value: ForeignValue) -> Json:
    """Returns a TLA+ value: a record as an object, a function as a list of pairs."""
    match value.kind:
        case "atom":
            return value.atom
        case "name":
            return value.text
        case "record":
            return {label.text: _foreign(part) for label, part in value.parts if label}
        case "function":
            return [[_foreign(label), _foreign(part)] for label, part in value.parts if label]
        case "tuple" | "set":
            return [_foreign(part) for _, part in value.parts]


NATURAL = json_notation(
    scalar=lambda value: value,
    tuple_=lambda items: items,
    some=lambda content, kind: {"some": content} if isinstance(kind, types.Option) else content,
    none=None,
    elements=lambda _, items: items,
    map=lambda pairs: pairs,
    foreign=_foreign,
)


def natural(value: Value, kind: Type) -> Json:
    """Returns a value of type ``kind`` in natural JSON form."""
    return NATURAL.of(value, kind)


def natural_step(model: Model, step: Step) -> dict[str, Json]:
    """Returns a step as an object: its action (null for an initial state), its choices by name, and
    the state after it.
    """
    values = state_values(model, step)
    return {
        "action": None if step.action is None else model.actions[step.action].name,
        "arguments": {name: natural(c.value, c.type) for name, c in arguments(model, step)},
        "state": None if values is None else {v.label: natural(v.value, v.type) for v in values},
    }


def check_object(result: CheckResult) -> dict[str, Json]:
    """Returns the element of ``checks`` for a result."""
    job, outcome, finding = result.job, result.outcome, result.finding
    statistics = outcome.statistics
    searched = round(statistics.searched_seconds, 6)
    prop = None
    if finding is not None and finding.property is not None:
        prop = job.model.properties[finding.property].name or None
    trace: Json = None
    if finding is not None and finding.trace is not None:
        trace = [natural_step(job.model, step) for step in finding.trace.steps]
    return {
        "name": job.check.name,
        "engine": job.engine,
        "workers": job.workers,
        "expected": expected(job.check),
        "verdict": outcome.verdict.value,
        "within": list[Json](within(result)),
        "as_expected": result.as_expected,
        "property": prop,
        "distinct": statistics.distinct if statistics.counted else None,
        "generated": statistics.generated if statistics.counted else None,
        **({} if statistics.orbits is None else {"orbits": statistics.orbits}),
        "depth": statistics.depth,
        "seconds": round(statistics.seconds, 6),
        **_times(statistics),
        "states_per_second": round(statistics.distinct / searched)
        if searched and statistics.counted
        else None,
        "peak_bytes": statistics.peak_bytes,
        "exact": outcome.exact,
        **_ranges(result),
        "notes": _notes(result),
        "trace": trace,
        **_also(result),
        **_counterexamples(result),
        **_undecided(result),
        **_resumed(result),
        **_endless(result),
        **_misfit(result),
        **_scenario(result),
        **_symbolic(result),
        **growth_object(result),
        **profile_object(result),
    }


def _times(statistics: Statistics) -> dict[str, Json]:
    """Returns the time of each phase, if properties of behaviours were decided."""
    decided = statistics.decided_seconds
    if decided is None:
        return {}
    parts = {"searched": statistics.searched_seconds, "decided": decided}
    return {"times": {name: round(seconds, 6) for name, seconds in parts.items()}}


def _also(result: CheckResult) -> dict[str, Json]:
    """Returns the problems after the first, if any."""
    properties = result.job.model.properties
    also: list[Json] = [
        {
            "verdict": finding.verdict.value,
            "property": None if finding.property is None else properties[finding.property].name,
            "depth": finding.depth,
        }
        for finding in result.outcome.findings[1:]
    ]
    return {"also": also} if also else {}


def _counterexamples(result: CheckResult) -> dict[str, Json]:
    """Returns the counterexamples that differ in their causes, if they were requested."""
    model, several = result.job.model, result.outcome.counterexamples
    shown: list[Json] = [
        {
            "cause": [*names(model, counterexample.cause)],
            "depth": counterexample.finding.depth,
            "trace": [natural_step(model, step) for step in trace.steps],
        }
        for counterexample in several
        if (trace := counterexample.finding.trace) is not None
    ]
    return {"counterexamples": shown} if shown else {}


def _undecided(result: CheckResult) -> dict[str, Json]:
    """Returns the undecided properties of behaviours, and the limit that ended the run."""
    outcome, properties = result.outcome, result.job.model.properties
    if outcome.undecided is None:
        return {}
    names: list[Json] = [properties[number].title for number in outcome.undecided.properties]
    return {"undecided": {"properties": names, "cut": str(outcome.cut)}}


def _ranges(result: CheckResult) -> dict[str, Json]:
    """Returns the ranges found for integers without a declared range, if there are any."""
    ranges: list[Json] = [
        {"name": item.name, "low": item.low, "high": item.high}
        for item in found_ranges(result.job.model)
    ]
    if not ranges:
        return {}
    return {"ranges": ranges, "restarts": result.outcome.restarts}


def _resumed(result: CheckResult) -> dict[str, Json]:
    """Describes the checkpoint that the search was resumed from, if any."""
    start = result.outcome.resumed
    if start is None:
        return {}
    return {"resumed": {"from": start.place, "signed": start.signed, "levels": start.levels}}


def _endless(result: CheckResult) -> dict[str, Json]:
    """Describes an infinite trace: the first step of its cycle, the state where a part of the
    formula starts to fail, and why the trace satisfies each fairness constraint.
    """
    finding = result.finding
    if finding is None or finding.trace is None or finding.trace.loop is None:
        return {}
    fair: list[Json] = [
        {"to": name, "why": why} for name, why in fair_rows(result.job.model, finding)
    ]
    return {"loop": finding.trace.loop, "since": finding.since, "fair": fair}


def _scenario(result: CheckResult) -> dict[str, Json]:
    """Returns how many steps of a scenario the trace completes."""
    finding = result.finding
    if finding is None or finding.fit is None:
        return {}
    return {"scenario": {"behind": finding.fit.behind, "steps": finding.fit.steps}}


def _misfit(result: CheckResult) -> dict[str, Json]:
    """Describes a violated refinement: the images of the last two states, or of the initial state,
    and the reason why no action can make the step.
    """
    finding, model = result.finding, result.job.model
    if finding is None or finding.misfit is None or finding.property is None:
        return {}
    abstract = model.properties[finding.property].abstract
    assert abstract is not None
    both = (finding.misfit.before, finding.misfit.after)
    images: list[Json] = [
        {v.name: natural(value, v.type) for v, value in zip(abstract.variables, image, strict=True)}
        for image in both
        if image is not None
    ]
    unfit: list[Json] = [{"action": name, "why": why} for name, why in unfit_rows(model, finding)]
    return {"images": images, "unfit": unfit}


def _symbolic(result: CheckResult) -> dict[str, Json]:
    """Returns values of the symbolic constants that show the problem, and the result of each
    region.
    """
    model, outcome, finding = result.job.model, result.outcome, result.finding
    if not model.symbols:
        return {}
    constants: Json = None
    if finding is not None and finding.constants:
        constants = {c.label: natural(c.value, c.type) for c in finding.constants}
    regions: list[Json] = [_region(model, region) for region in outcome.regions]
    return {"constants": constants, "regions": regions}


def _region(model: Model, region: Region) -> dict[str, Json]:
    kind = model.symbols[0].type
    counts = region.outcome.statistics
    finding = region.outcome.findings[0] if region.outcome.findings else None
    number = finding.property if finding else None
    members = tuple(values(kind)) if isinstance(kind, types.Bool | types.Nominal) else None
    return {
        "ranges": [
            [natural(end if members is None else members[end], kind) for end in ends]
            for ends in region.ranges
        ],
        "value": natural(region.value, kind),
        "verdict": region.outcome.verdict.value,
        "property": None if number is None else model.properties[number].name or None,
        "distinct": counts.distinct,
        "generated": counts.generated,
        "depth": counts.depth,
    }


def _notes(result: CheckResult) -> list[Json]:
    notes: list[Json] = []
    if result.explanation:
        notes.append(result.explanation)
    for finding in result.outcome.findings:
        if finding.constants:
            notes.append(f"with {valued(finding.constants)}")
        if finding.site is not None:
            notes.append(f"{finding.site.code} at {finding.site.span}: {finding.site.message}")
    notes += [f"{remark.topic}: {remark.text}" for remark in remarks(result)]
    for warning in (*result.job.program.warnings, *result.job.model.warnings):
        notes.append(f"{warning.severity}: {warning.code} at {warning.span}: {warning.message}")
    return notes


def spec_object(
    spec: str | None, version: str, results: Sequence[CheckResult] = (), **other: Json
) -> dict[str, Json]:
    """Returns the report on one spec, with the keys ``other``. ``spec`` is None for problems that
    belong to no spec.
    """
    checks = [check_object(result) for result in results]
    return {"spec": spec, "version": version, "checks": [*checks], **other}


def objects(whole: Whole) -> list[Json]:
    """Returns an object for each spec of a run: those that were checked, those that could not be
    checked, and those without checks. Further objects hold the errors that belong to no spec,
    and the skipped folders.
    """
    specs = [
        spec_object(spec.path, whole.version, spec.done.results, **_not_run(spec))
        for spec in whole.specs
    ]
    problems = [(str(spec.path), spec.problems) for spec in whole.refused]
    others = tuple(problem for problem in whole.other_errors if problem.code != UNCHECKED)
    for path, errors in [*problems, *([(None, others)] if others else [])]:
        specs.append(
            spec_object(path, whole.version, problems=[_problem(error) for error in errors])
        )
    specs += [spec_object(str(path), whole.version, unchecked=True) for path in whole.unchecked]
    for folder in whole.skipped:
        why: dict[str, Json] = {
            "reason": folder.reason, "specs": folder.specs, "complete": folder.complete,
        }  # fmt: skip
        specs.append(spec_object(str(folder.path), whole.version, skipped=why))
    return [*specs]


def _not_run(spec: SpecRun) -> dict[str, Json]:
    """Returns the checks of a spec that did not run, if any."""
    missing: list[Json] = [
        {"name": check.name, "why": why, **({"code": code} if code else {})}
        for check, why, code in spec.not_run
    ]
    return {"not_run": missing} if missing else {}


def _problem(problem: Problem) -> dict[str, Json]:
    position: dict[str, Json] = {}
    if problem.span is not None:
        line, column = problem.span.source.position(problem.span.start)
        position = {"file": problem.span.source.name, "line": line, "column": column}
    return {
        "code": problem.code,
        "message": problem.message,
        "warning": problem.warning,
        **position,
        "notes": [remark for _, remark in problem.notes],
    }


def dumps(value: Json) -> str:
    """Formats JSON with indentation and a final line end. The text is ASCII, which is safe for any
    terminal.
    """
    return written(value, 2)
