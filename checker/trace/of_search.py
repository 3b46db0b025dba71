"""Makes the trace document for a trace from a search or an exploration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found
from fencepost.checker.trace.document import Act, Datum, ShownStep, TraceDocument
from fencepost.checker.trace.excerpts import declaration, part
from fencepost.checker.trace.findings import (
    NO_CHOICE,
    UNFITTING,
    blocked_rows,
    fair_rows,
    headline,
    unfit_rows,
)
from fencepost.checker.trace.itf_values import encode
from fencepost.checker.trace.message_flights import Causes, Exchange
from fencepost.checker.trace.steps import (
    arguments,
    families,
    lifeline,
    lifelines,
    state_values,
    title,
    written,
)
from fencepost.checker.trace.value_tree import tree
from fencepost.spec.core import types
from fencepost.spec.core.ir import Model, Property
from fencepost.spec.core.traverse import variables_read
from fencepost.spec.core.types import Type, Value
from fencepost.spec.semantics.stepper import Choice


class _Images(TypedDict, total=False):
    refined: str
    images: tuple[Mapping[str, Datum], ...]


def result_document(
    result: CheckResult, finding: Finding, version: str = "", causes: Causes | None = None
) -> TraceDocument:
    """Returns the document for a finding of a check. ``version`` is the version of Fencepost."""
    assert finding.trace is not None
    model = result.job.model
    return replace(
        document(model, finding.trace, finding, causes),
        description=f"{result.job.title}: {found(model, result.outcome)}",
        source=str(result.job.program.path),
        generator=f"fencepost {version}",
        check=result.job.check.name,
        given=given(result.job),
    )


def given(job: Job) -> tuple[str, ...]:
    """Returns the paths of the constants that the check or the user has set."""
    paths = (".".join(part.text for part in constant.path) for constant in job.check.constants)
    return tuple(dict.fromkeys([*paths, *job.settings.overrides]))


def document(
    model: Model,
    trace: Trace,
    finding: Finding | None = None,
    causes: Causes | None = None,
    loop: int | None = None,
) -> TraceDocument:
    """Returns the document for a trace and, if there is a finding, for the problem at the end."""
    taken = dict.fromkeys(step.action for step in trace.steps if step.action is not None)
    actions = [model.actions[number] for number in taken]
    result = TraceDocument(
        steps=tuple(_step(model, n, step, causes) for n, step in enumerate(trace.steps)),
        families=families(model),
        status="path",
        constants={c.path: _datum(c.value, c.type) for c in model.constants},
        types={v.label: types.describe(v.type) for v in state_values(model, trace.steps[0]) or ()}
        or {v.name: types.describe(v.type) for v in model.variables},
        records=_records(model),
        lifelines=lifelines(model),
        actions={action.name: declaration(action.span) for action in actions},
        needed_at_end=() if causes is None else causes.end,
        loop=trace.loop if loop is None else loop,
    )
    return result if finding is None else _with_problem(result, model, finding)


def _with_problem(base: TraceDocument, model: Model, finding: Finding) -> TraceDocument:
    prop = None if finding.property is None else model.properties[finding.property]
    nothing = NO_CHOICE if finding.fit is None else UNFITTING
    rows = blocked_rows(model, finding.blocked, nothing) if finding.blocked else ()
    return replace(
        base,
        status=base.status if finding.verdict is Verdict.OK else "violation",
        verdict=finding.verdict.value,
        headline=headline(model, finding, prop),
        property_name=prop.name if prop else "",
        property_span=str(prop.span) if prop else "",
        property_source=declaration(prop.span) if prop else None,
        reads=tuple(model.variables[i].name for i in sorted(variables_read(prop.body)))
        if prop
        else (),
        instance=tuple((c.label, _chosen(c)) for c in finding.instance),
        read=tuple((c.label, _chosen(c)) for c in finding.read),
        constants={**base.constants, **{c.label: _chosen(c) for c in finding.constants}},
        failing_part=part(finding.failing) if finding.failing else None,
        problem=finding.site.message if finding.site else "",
        problem_source=part(finding.site.span) if finding.site else None,
        blocked=_filled(rows),
        fair=fair_rows(model, finding),
        unfit=unfit_rows(model, finding),
        **_images(prop, finding),
        since=finding.since,
    )


def _images(prop: Property | None, finding: Finding) -> _Images:
    """Returns the name of the refined module, and the images of the states of the step that
    violates the refinement.
    """
    if finding.misfit is None or prop is None or prop.abstract is None:
        return {}
    abstract, both = prop.abstract, (finding.misfit.before, finding.misfit.after)
    return {
        "refined": abstract.name,
        "images": tuple(
            {
                variable.name: _datum(value, variable.type)
                for variable, value in zip(abstract.variables, image, strict=True)
            }
            for image in both
            if image is not None
        ),
    }


def _step(model: Model, position: int, step: Step, causes: Causes | None) -> ShownStep:
    values = state_values(model, step)
    action = None if step.action is None else model.actions[step.action]
    act = Act(
        action=action.name if action else "",
        lifeline=lifeline(model, step),
        kind=action.kind if action else "ordinary",
        written=written(model, step),
    )
    if causes is not None:
        act = replace(
            act,
            exchanges=tuple(
                Exchange(exchange.kind, exchange.channel, _chosen(exchange.message))
                for exchange in causes.exchanges[position]
            ),
            needs=causes.needs[position],
            spare=position in causes.spare,
            explained=True,
        )
    return ShownStep(
        title(model, step),
        None if values is None else {v.label: tree(v.value, v.type) for v in values},
        act,
        None if values is None else {v.label: encode(v.value, v.type) for v in values},
        {name: encode(c.value, c.type) for name, c in arguments(model, step)},
        str(action.span) if action else "",
    )


def _chosen(choice: Choice) -> Datum:
    return _datum(choice.value, choice.type)


def _datum(value: Value, kind: Type) -> Datum:
    return Datum(encode(value, kind), tree(value, kind))


def _filled(rows: Sequence[tuple[str, str, str]]) -> tuple[str, ...]:
    """Returns a text for each row, with the name of the action repeated in each."""
    last = ""
    filled: list[str] = []
    for name, why, where in rows:
        last = name or last
        filled.append(f"{last}: {why} ({where})")
    return tuple(filled)


def _records(model: Model) -> dict[str, tuple[str, ...]]:
    """Returns the field names of each record type. The trace format does not store these with the
    values.
    """
    fields: dict[str, tuple[str, ...]] = {}
    waiting: list[Type] = [v.type for v in model.variables] + [c.type for c in model.constants]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, types.Record) and not kind.is_tuple:
            fields[kind.name] = tuple(field.name for field in kind.fields)
        waiting += types.components(kind)
    return dict(sorted(fields.items()))
