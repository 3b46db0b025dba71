"""Traces as files in Apalache's Informal Trace Format: values and traces of a model, written.

Integers are ``{"#bigint": "3"}``, sets ``{"#set": [...]}``, maps ``{"#map": [[k, v], ...]}``,
sequences and bags (ascending) arrays, records objects, unions ``{"tag": "A", "value": {...}}``;
none is ``{"tag": "None", "value": {}}``, any other option ``{"tag": "Some", "value": content}``.
What Fencepost knows beyond the format stands in ``#meta`` (docs/traces.md). `itf_reading` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fencepost.checker.outcome import Finding, Step, Trace
from fencepost.checker.printing.json_values import Json, written
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found
from fencepost.checker.trace.excerpts import Excerpt, declaration, part
from fencepost.checker.trace.findings import blocked_rows, headline
from fencepost.checker.trace.message_flights import Causes
from fencepost.checker.trace.steps import (
    arguments,
    families,
    lifeline,
    lifelines,
    title,
    variables_of,
)
from fencepost.spec.core import types
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Type, Value, values

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def encode(value: Value, kind: Type) -> Json:
    """A value of type ``kind`` in the format."""
    match kind, value:
        case types.Bool(), _:
            return bool(value)
        case types.Int() | types.Machine(), int():
            return {"#bigint": str(value)}
        case types.Enum(members=members), int():
            return members[value]
        case types.Record(fields=fields), tuple():
            return _fields(value, fields)
        case types.Union(variants=variants), (int(tag), *payload):
            variant = variants[tag]
            return {"tag": variant.name, "value": _fields(tuple(payload), variant.fields)}
        case types.Option(), ():
            return {"tag": "None", "value": {}}
        case types.Option(element), (content,):
            return {"tag": "Some", "value": encode(content, element)}
        case types.Set(element), tuple():
            return {"#set": [encode(item, element) for item in value]}
        case ((types.Seq(element) | types.Bag(element)), tuple()):
            return [encode(item, element) for item in value]
        case types.Map(key, item), tuple():
            pairs = zip(values(key), value, strict=True)
            return {"#map": [[encode(k, key), encode(v, item)] for k, v in pairs]}
        case _:
            raise AssertionError(f"{value!r} is not a value of {kind!r}")


def _fields(payload: tuple[Value, ...], fields: tuple[types.Field, ...]) -> dict[str, Json]:
    return {f.name: encode(v, f.type) for f, v in zip(fields, payload, strict=True)}


def trace_object(
    result: CheckResult, finding: Finding, version: str, causes: Causes | None = None
) -> dict[str, Json]:
    """The trace of a finding as an ITF object.

    The step of an evaluation error or failed assertion leads to no state: it stands in
    ``#meta`` as ``failing``.
    """
    model = result.job.model
    assert finding.trace is not None
    about: dict[str, Json] = {
        "description": f"{result.job.title}: {found(model, result.outcome)}",
        "source": str(result.job.program.path),
        "generator": f"fencepost {version}",
        "check": result.job.check.name,
        **finding_about(model, finding),
    }
    return path_object(model, finding.trace, about, causes)


def finding_about(model: Model, finding: Finding) -> dict[str, Json]:
    """What ``#meta`` says of a problem."""
    prop = None if finding.property is None else model.properties[finding.property]
    about: dict[str, Json] = {
        "status": "violation",
        "verdict": finding.verdict.value,
        "headline": headline(model, finding, prop),
        "property": prop.name or None if prop else None,
        "property-span": str(prop.span) if prop else None,
        "constants": {c.label: encode(c.value, c.type) for c in finding.constants},
    }
    if prop is not None:
        about["property-source"] = _excerpt(declaration(prop.span))
        about["property-reads"] = [model.variables[i].name for i in variables_of(prop.body)]
        about["instance"] = [
            {"name": choice.label, "value": encode(choice.value, choice.type)}
            for choice in finding.instance
        ]
    if finding.failing is not None:
        about["failing-part"] = _excerpt(part(finding.failing))
    if finding.site is not None:
        about["problem"] = finding.site.message
        about["problem-source"] = _excerpt(part(finding.site.span))
    if finding.blocked:
        rows = blocked_rows(model, finding.blocked)
        about["blocked"] = [f"{name}: {why} ({where})" for name, why, where in _filled(rows)]
    return about


def path_object(
    model: Model, trace: Trace, about: Mapping[str, Json], causes: Causes | None = None
) -> dict[str, Json]:
    """A trace of a model as an ITF object; ``about`` joins its ``#meta``."""
    complete = [step for step in trace.steps if step.state is not None]
    failing = [step for step in trace.steps if step.state is None]
    given = about.get("constants")
    constants: dict[str, Json] = {c.path: encode(c.value, c.type) for c in model.constants}
    constants |= given if isinstance(given, dict) else {}
    taken = dict.fromkeys(step.action for step in trace.steps if step.action is not None)
    meta: dict[str, Json] = {
        "format": "ITF",
        "format-description": DESCRIPTION,
        **about,
        "constants": constants,
        "types": {v.name: types.describe(v.type) for v in model.variables},
        "families": [*sorted(families(model))],
        "records": _records(model),
        "lifelines": [*lifelines(model)],
        "actions": {
            model.actions[number].name: _excerpt(declaration(model.actions[number].span))
            for number in taken
        },
    }
    if causes is not None:
        meta["needed-at-end"] = [*causes.end]
    if failing:
        meta["failing"] = _step_meta(model, failing[0], len(complete), causes)
    states: list[Json] = [_state_object(model, n, step, causes) for n, step in enumerate(complete)]
    return {"#meta": meta, "vars": [v.name for v in model.variables], "states": states}


def _records(model: Model) -> dict[str, Json]:
    """The names of the fields of each record type, which the format itself forgets."""
    found: dict[str, Json] = {}
    waiting: list[Type] = [v.type for v in model.variables] + [c.type for c in model.constants]
    while waiting:
        match waiting.pop():
            case types.Record(name=name, fields=fields):
                found[name] = [field.name for field in fields]
                waiting += [field.type for field in fields]
            case types.Union(variants=variants):
                waiting += [field.type for variant in variants for field in variant.fields]
            case types.Map(key, value):
                waiting += [key, value]
            case types.Option(element) | types.Set(element) | types.Seq(element):
                waiting.append(element)
            case types.Bag(element):
                waiting.append(element)
            case _:
                pass
    return dict(sorted(found.items()))


def _filled(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """The rows, each with the name of its action."""
    last = ""
    for name, why, where in rows:
        last = name or last
        yield last, why, where


def _excerpt(excerpt: Excerpt) -> Json:
    return {"place": excerpt.place, "line": excerpt.line, "text": excerpt.text}


def _state_object(model: Model, number: int, step: Step, causes: Causes | None) -> Json:
    assert step.state is not None
    meta: dict[str, Json] = {"index": number, **_step_meta(model, step, number, causes)}
    state: dict[str, Json] = {"#meta": meta}
    for variable, value in zip(model.variables, step.state, strict=True):
        state[variable.name] = encode(value, variable.type)
    return state


def _step_meta(model: Model, step: Step, number: int, causes: Causes | None) -> dict[str, Json]:
    action = None if step.action is None else model.actions[step.action]
    meta: dict[str, Json] = {
        "title": title(model, step),
        "action": action.name if action else None,
        "arguments": {name: encode(c.value, c.type) for name, c in arguments(model, step)},
        "span": str(action.span) if action else None,
    }
    if action is not None:
        meta["lifeline"] = lifeline(model, step)
        meta["kind"] = action.kind
    if causes is not None:
        meta["exchanges"] = [
            {
                "kind": made.kind,
                "channel": made.channel,
                "message": encode(made.message.value, made.message.type),
            }
            for made in causes.exchanges[number]
        ]
        meta["needs"] = [*causes.needs[number]]
        meta["spare"] = number in causes.spare
    return meta


def dumps(value: Json) -> str:
    """The text of a trace file."""
    return written(value, 1)
