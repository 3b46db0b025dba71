"""Trace files in Apalache's Informal Trace Format, read and written.

A file is untrusted: its size, depth and form are checked before anything is shown. Anybody's are
read; what a file has that Fencepost does not know is kept, and written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from fencepost.checker.printing.json_values import Json, written
from fencepost.checker.trace.document import INITIAL, Act, ShownStep, TraceDocument
from fencepost.checker.trace.itf_fields import (
    FILE,
    RECORDS,
    STEP,
    Reading,
    decoded,
    encoded,
    updated,
)
from fencepost.checker.trace.itf_values import Values, normal, refused
from fencepost.checker.trace.value_tree import ValueTree
from fencepost.spec.text import inputs

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
MOST_BYTES = inputs.Kind.TRACE.max_bytes
MOST_STATES = 100_000


# ---------------------------------------------------------------- reading


def read(data: bytes, name: str) -> TraceDocument:
    """What a trace file says; raises `Rejected`."""
    root = _root(data, name)
    meta = _meta(root)
    values = _values(name, meta)
    about = decoded(FILE, meta, Reading(values, _count(root)))
    steps = tuple(_steps(root, values, about["types"]))
    loop = root.get("loop")
    if not isinstance(loop, int) or isinstance(loop, bool) or not 0 <= loop < len(steps):
        loop = None
    # The states are in the steps; what else there is keeps its place.
    return TraceDocument(steps, loop=loop, kept={**root, "states": []}, **about)


def tree_of(value: Json) -> ValueTree:
    """A single value, as it is shown."""
    return Values("the value").tree(value)


def _values(name: str, meta: Mapping[str, Json]) -> Values:
    return Values(name, RECORDS.decode(meta.get("records"), Reading(Values(name), 0)))


def _count(root: Mapping[str, Json]) -> int:
    """How many steps a file has."""
    states = root["states"]
    assert isinstance(states, list)
    return len(states) + ("failing" in _meta(root))


def _steps(
    root: Mapping[str, Json], values: Values, kinds: Mapping[str, str]
) -> Iterator[ShownStep]:
    """The steps of a file. Variables are shown in the order that it declares."""
    states = root["states"]
    assert isinstance(states, list)
    declared = root.get("vars")
    order = [one for one in declared if isinstance(one, str)] if isinstance(declared, list) else []
    for number, item in enumerate(states):
        state = _object(item, values.name, f"state {number}")
        shown = {
            key: values.tree(state[key], kinds.get(key, ""))
            for key in dict.fromkeys((*order, *state))
            if key in state and key != "#meta"
        }
        yield _step(state, _meta(state), number, values, shown)
    failing = _meta(root).get("failing")
    if "failing" in _meta(root):
        about = _object(failing, values.name, '"failing"')
        yield _step(None, about, len(states), values, None)


def _step(
    state: Mapping[str, Json] | None,
    meta: Mapping[str, Json],
    position: int,
    values: Values,
    shown: Mapping[str, ValueTree] | None,
) -> ShownStep:
    found = decoded(STEP, meta, _reading(values, meta, position))
    return ShownStep(
        found["title"],
        shown,
        Act(
            found["act.action"],
            found["act.lifeline"],
            found["act.kind"],
            found["act.exchanges"],
            found["act.needs"],
            found["act.spare"],
            explained="needs" in meta,
            written=found["act.written"],
        ),
        None if state is None else {key: state[key] for key in state if key != "#meta"},
        found["arguments"],
        found["span"],
        # Of a step that failed there is nothing else.
        meta if state is None else state,
    )


def _reading(values: Values, meta: Mapping[str, Json], position: int) -> Reading:
    action = meta.get("action")
    untitled = action if isinstance(action, str) and action else None
    return Reading(values, position, untitled or (INITIAL if position == 0 else "step"))


def _root(data: bytes, name: str) -> Mapping[str, Json]:
    """The object that a trace file consists of, which has a list of states; raises `Rejected`."""
    if len(data) > MOST_BYTES:
        raise refused(name, f"has {len(data):,} bytes; at most {MOST_BYTES:,} are read")
    root = _object(_parsed(data, name), name, "the file")
    states = root.get("states")
    if not isinstance(states, list):
        raise refused(name, 'is not an ITF trace: it has no list of "states"')
    if len(states) > MOST_STATES:
        raise refused(name, f"has {len(states):,} states; at most {MOST_STATES:,} are read")
    return root


def _parsed(data: bytes, name: str) -> Json:
    try:
        return cast(Json, json.loads(data.decode("utf-8")))
    except RecursionError:
        raise refused(name, "is nested too deeply") from None
    except UnicodeDecodeError:
        raise refused(name, "is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise refused(name, f"is not JSON: {error.msg} at {where}") from None
    except ValueError:
        raise refused(name, "holds a number of absurd length") from None


def _object(value: Json, name: str, what: str) -> Mapping[str, Json]:
    if isinstance(value, dict):
        return value
    raise refused(name, f"is not an ITF trace: {what} is not an object")


def _meta(value: Mapping[str, Json]) -> Mapping[str, Json]:
    meta = value.get("#meta")
    return meta if isinstance(meta, dict) else {}


# ---------------------------------------------------------------- writing


def dumps(document: TraceDocument) -> str:
    """The text of a trace file: a trace as it was read, or as it was found."""
    made = _found(document) if document.kept is None else _again(document, document.kept)
    return written(made, 1)


def _found(document: TraceDocument) -> dict[str, Json]:
    """A trace that comes from no file. The step of an evaluation error or failed assertion leads
    to no state: it stands in ``#meta``.
    """
    states: list[Json] = []
    meta: dict[str, Json] = {
        "format": "ITF",
        "format-description": DESCRIPTION,
        **encoded(FILE, document),
    }
    for number, step in enumerate(document.steps):
        about = encoded(STEP, step)
        if step.data is None:
            meta["failing"] = about
        else:
            states.append({"#meta": {"index": number, **about}, **step.data})
    loop: dict[str, Json] = {} if document.loop is None else {"loop": document.loop}
    return {"#meta": meta, "vars": [*document.types], "states": states, **loop}


def _again(document: TraceDocument, kept: Mapping[str, Json]) -> dict[str, Json]:
    """A trace from a file with all that the file had, its values in the form of the format."""
    before = _meta(kept)
    values = _values("the trace", before)
    meta = updated(FILE, document, before, Reading(values, len(document.steps)))
    states: list[Json] = []
    for number, step in enumerate(document.steps):
        had = step.kept or {}
        about = _meta(had) if step.data is not None else had
        about_step = updated(STEP, step, about, _reading(values, about, number))
        if step.data is None:
            meta["failing"] = about_step
        else:
            data = {key: normal(value) for key, value in step.data.items()}
            states.append({**_with(had, about_step), **data})
    loop: dict[str, Json] = {} if document.loop is None else {"loop": document.loop}
    return {**_with(kept, meta), "states": states, **loop}


def _with(kept: Mapping[str, Json], meta: dict[str, Json]) -> dict[str, Json]:
    """What was kept, with this ``#meta``, where there is any."""
    return {**kept, "#meta": meta} if meta else {**kept}
