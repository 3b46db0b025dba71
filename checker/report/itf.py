"""Traces as files in Apalache's Informal Trace Format: writing ours, reading anybody's.

Integers are ``{"#bigint": "3"}``, sets ``{"#set": [...]}``, maps ``{"#map": [[k, v], ...]}``,
sequences and bags (ascending) arrays, records objects, unions ``{"tag": "A", "value": {...}}``;
none is ``{"tag": "None", "value": {}}``, any other option ``{"tag": "Some", "value": content}``.
What Fencepost knows beyond the format stands in ``#meta``. A file read is untrusted: its size,
depth and shape are checked before anything is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal as OneOf
from typing import cast

from fencepost.checker.report.json import Json
from fencepost.checker.report.shape import Atom, Group, Shape, text
from fencepost.checker.report.steps import (
    INITIAL,
    ShownStep,
    ShownTrace,
    arguments,
    families,
    title,
)
from fencepost.checker.result import Finding, Step
from fencepost.checker.run import CheckResult, found
from fencepost.spec import types
from fencepost.spec.ir import Model
from fencepost.spec.problem import Problem, Rejected
from fencepost.spec.types import Type, Value, values

MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 64
MOST_STATES = 100_000
DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
BIGINT = re.compile(r"-?[0-9]{1,400}")


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


def trace_object(result: CheckResult, finding: Finding, version: str) -> dict[str, Json]:
    """The trace of a finding as an ITF object.

    The step of an evaluation error or failed assertion leads to no state: it stands in
    ``#meta`` as ``failing``.
    """
    model = result.job.model
    assert finding.trace is not None
    complete = [step for step in finding.trace.steps if step.state is not None]
    failing = [step for step in finding.trace.steps if step.state is None]
    prop = None if finding.property is None else model.properties[finding.property]
    meta: dict[str, Json] = {
        "format": "ITF",
        "format-description": DESCRIPTION,
        "description": f"{result.job.title}: {found(model, result.outcome)}",
        "source": str(result.job.program.path),
        "status": "violation",
        "generator": f"fencepost {version}",
        "check": result.job.check.name,
        "verdict": finding.verdict.value,
        "property": prop.name or None if prop else None,
        "property-span": str(prop.span) if prop else None,
        "constants": {
            **{c.path: encode(c.value, c.type) for c in model.constants},
            **{c.label: encode(c.value, c.type) for c in finding.constants},
        },
        "types": {v.name: types.describe(v.type) for v in model.variables},
        "families": [*sorted(families(model))],
    }
    if failing:
        meta["failing"] = _step_meta(model, failing[0])
    states: list[Json] = [_state_object(model, n, step) for n, step in enumerate(complete)]
    return {"#meta": meta, "vars": [v.name for v in model.variables], "states": states}


def _state_object(model: Model, number: int, step: Step) -> dict[str, Json]:
    assert step.state is not None
    state: dict[str, Json] = {"#meta": {"index": number, **_step_meta(model, step)}}
    for variable, value in zip(model.variables, step.state, strict=True):
        state[variable.name] = encode(value, variable.type)
    return state


def _step_meta(model: Model, step: Step) -> dict[str, Json]:
    action = None if step.action is None else model.actions[step.action]
    return {
        "title": title(model, step),
        "action": action.name if action else None,
        "arguments": {name: encode(c.value, c.type) for name, c in arguments(model, step)},
        "span": str(action.span) if action else None,
    }


def dumps(value: Json) -> str:
    """The text of a trace file."""
    return json.dumps(value, indent=1) + "\n"


# ---------------------------------------------------------------- reading


def read(data: bytes, name: str) -> tuple[str, ShownTrace]:
    """What a trace file is about, in a sentence, and its trace; raises `Rejected`."""
    if len(data) > MOST_BYTES:
        raise _refused(name, f"has {len(data):,} bytes; at most {MOST_BYTES:,} are read")
    root = _object(_parse(data, name), name, "the file")
    states = root.get("states")
    if not isinstance(states, list):
        raise _refused(name, 'is not an ITF trace: it has no list of "states"')
    if len(states) > MOST_STATES:
        raise _refused(name, f"has {len(states):,} states; at most {MOST_STATES:,} are read")
    meta = _meta(root)
    declared = root.get("vars")
    names = [v for v in declared if isinstance(v, str)] if isinstance(declared, list) else []
    kinds = _strings(meta.get("types"))
    steps: list[ShownStep] = []
    for number, item in enumerate(states):
        state = _object(item, name, f"state {number}")
        shapes = {
            key: _shape(state[key], name, kinds.get(key, ""))
            for key in dict.fromkeys((*names, *state))
            if key in state and key != "#meta"
        }
        steps.append(ShownStep(_title(_meta(state), number), shapes))
    if "failing" in meta:
        failing = _object(meta["failing"], name, '"failing"')
        steps.append(ShownStep(_title(failing, len(steps)), None))
    families = meta.get("families")
    known = [v for v in families if isinstance(v, str)] if isinstance(families, list) else []
    return _about(meta, steps, root), ShownTrace(frozenset(known), tuple(steps))


def _parse(data: bytes, name: str) -> Json:
    try:
        return cast(Json, json.loads(data.decode("utf-8")))
    except RecursionError:
        raise _refused(name, "is nested too deeply") from None
    except UnicodeDecodeError:
        raise _refused(name, "is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused(name, f"is not JSON: {error.msg} at {where}") from None
    except ValueError:
        raise _refused(name, "holds a number of absurd length") from None


def _refused(name: str, what: str) -> Rejected:
    return Rejected([Problem("F028", None, f"{name} {what}")])


def _object(value: Json, name: str, what: str) -> Mapping[str, Json]:
    if isinstance(value, dict):
        return value
    raise _refused(name, f"is not an ITF trace: {what} is not an object")


def _meta(value: Mapping[str, Json]) -> Mapping[str, Json]:
    meta = value.get("#meta")
    return meta if isinstance(meta, dict) else {}


def _strings(value: Json | None) -> Mapping[str, str]:
    items = value.items() if isinstance(value, dict) else ()
    return {key: item for key, item in items if isinstance(item, str)}


def _title(meta: Mapping[str, Json], number: int) -> str:
    for key in ("title", "action"):
        title = meta.get(key)
        if isinstance(title, str) and title:
            return title
    return INITIAL if number == 0 else "step"


def _about(meta: Mapping[str, Json], steps: list[ShownStep], root: Mapping[str, Json]) -> str:
    parts = [v for v in (meta.get("source"), meta.get("description")) if isinstance(v, str) and v]
    parts.append(f"{len(steps)} state" + ("" if len(steps) == 1 else "s"))
    loop = root.get("loop")
    if isinstance(loop, int) and not isinstance(loop, bool):
        parts.append(f"then back to state {loop + 1}")
    return ", ".join(parts)


def _shape(value: Json, name: str, kind: str = "", depth: int = 0) -> Shape:
    if depth > MOST_DEPTH:
        raise _refused(name, f"holds a value nested deeper than {MOST_DEPTH}")
    match value:
        case None:
            return Atom("none")
        case bool():
            return Atom("true" if value else "false")
        case int() | float():
            return Atom(str(value))
        case str():
            return Atom(value)
        case list():
            sort: OneOf["bag", "seq"] = "bag" if kind.startswith("bag[") else "seq"
            return Group(sort, "", _items(value, name, depth))
        case {"#bigint": digits}:
            if not isinstance(digits, str) or not BIGINT.fullmatch(digits):
                raise _refused(name, 'holds a "#bigint" that is not a whole number')
            return Atom(digits)
        case {"#set": list(elements)}:
            return Group("set", "", _items(elements, name, depth))
        case {"#tup": list(elements)}:
            return Group("seq", "", _items(elements, name, depth))
        case {"#map": list(pairs)}:
            return Group("map", "", tuple(_pair(pair, name, depth) for pair in pairs))
        case {"#unserializable": str(what)}:
            return Atom(what)
        case {"tag": "None", "value": dict()} if len(value) == 2 and _empty(value):
            return Atom("none")
        case {"tag": "Some", "value": content} if len(value) == 2:
            return _shape(content, name, depth=depth + 1)
        case {"tag": str(tag), "value": content} if len(value) == 2:
            return _variant(tag, _shape(content, name, depth=depth + 1))
        case dict():
            fields = ((key, _shape(item, name, depth=depth + 1)) for key, item in value.items())
            return Group("record", "", tuple(fields))


def _empty(value: Mapping[str, Json]) -> bool:
    return value["value"] in ({}, {"#tup": []})


def _items(elements: list[Json], name: str, depth: int) -> tuple[tuple[str, Shape], ...]:
    return tuple(("", _shape(item, name, depth=depth + 1)) for item in elements)


def _pair(pair: Json, name: str, depth: int) -> tuple[str, Shape]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise _refused(name, 'holds a "#map" that is not a list of pairs')
    key, item = pair
    return text(_shape(key, name, depth=depth + 1)), _shape(item, name, depth=depth + 1)


def _variant(tag: str, content: Shape) -> Shape:
    match content:
        case Group(items=()):
            return Atom(tag)
        case Group(kind="record", head="", items=items):
            return Group("record", tag, items)
        case _:
            return Group("record", tag, (("", content),))
