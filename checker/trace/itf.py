"""Reads and writes trace files in Apalache's Informal Trace Format.

A file is untrusted, so its size, depth and form are checked first. Files of any tool are accepted,
and unknown content is preserved when a file is rewritten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast, get_args

from fencepost.checker.printing.json_values import Json, written
from fencepost.checker.trace.document import INITIAL, Act, Datum, ShownStep, TraceDocument
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.itf_values import TLA, Values, normal, refused
from fencepost.checker.trace.message_flights import Exchange, ExchangeKind
from fencepost.checker.trace.value_tree import ValueTree
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs

KINDS = get_args(ExchangeKind)
Owner = TypeVar("Owner")

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
MAX_BYTES = inputs.Kind.TRACE.max_bytes
MAX_STATES = 100_000


# ---------------------------------------------------------------- reading


def read(data: bytes, name: str) -> TraceDocument:
    """Parses a trace file. Raises `Rejected`."""
    root = _root(data, name)
    meta = _meta(root)
    values = _values(name, meta)
    about = decoded(FILE, meta, Reading(values, _count(root)))
    steps = tuple(_steps(root, values, about["types"]))
    loop = root.get("loop")
    if not isinstance(loop, int) or isinstance(loop, bool) or not 0 <= loop < len(steps):
        loop = None
    # The steps hold the states. Everything else in the file is preserved.
    return TraceDocument(steps, loop=loop, kept={**root, "states": []}, **about)


def tree_of(value: Json) -> ValueTree:
    """Returns the tree of a single value."""
    return Values("the value").tree(value)


def _values(name: str, meta: Mapping[str, Json]) -> Values:
    types = meta.get("types")
    of_module = isinstance(types, dict) and TLA in types.values()
    records = RECORDS.decode(meta.get("records"), Reading(Values(name), 0))
    return Values(name, records, TLA if of_module else "")


def _count(root: Mapping[str, Json]) -> int:
    """Returns the number of steps in a file."""
    states = root["states"]
    assert isinstance(states, list)
    return len(states) + ("failing" in _meta(root))


def _steps(
    root: Mapping[str, Json], values: Values, kinds: Mapping[str, str]
) -> Iterator[ShownStep]:
    """Yields the steps of a file. Their variables are in the order that the file declares."""
    states = root["states"]
    assert isinstance(states, list)
    declared = root.get("vars")
    order = (
        [name for name in declared if isinstance(name, str)] if isinstance(declared, list) else []
    )
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
    attributes = decoded(STEP, meta, _reading(values, meta, position))
    return ShownStep(
        attributes["title"],
        shown,
        Act(
            attributes["act.action"],
            attributes["act.lifeline"],
            attributes["act.kind"],
            attributes["act.exchanges"],
            attributes["act.needs"],
            attributes["act.spare"],
            explained="needs" in meta,
            written=attributes["act.written"],
        ),
        None if state is None else {key: state[key] for key in state if key != "#meta"},
        attributes["arguments"],
        attributes["span"],
        # A failed step has no content besides its metadata.
        meta if state is None else state,
    )


def _reading(values: Values, meta: Mapping[str, Json], position: int) -> Reading:
    action = meta.get("action")
    untitled = action if isinstance(action, str) and action else None
    return Reading(values, position, untitled or (INITIAL if position == 0 else "step"))


def _root(data: bytes, name: str) -> Mapping[str, Json]:
    """Returns the top-level object after checking that it has a list of states. Raises
    `Rejected`.
    """
    if len(data) > MAX_BYTES:
        raise refused(name, f"has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    root = _object(_parsed(data, name), name, "the file")
    states = root.get("states")
    if not isinstance(states, list):
        raise refused(name, 'is not an ITF trace: it has no list of "states"')
    if len(states) > MAX_STATES:
        raise refused(name, f"has {len(states):,} states; at most {MAX_STATES:,} are read")
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
        raise refused(name, "contains a number that is too long") from None


def _object(value: Json, name: str, part: str) -> Mapping[str, Json]:
    if isinstance(value, dict):
        return value
    raise refused(name, f"is not an ITF trace: {part} is not an object")


def _meta(value: Mapping[str, Json]) -> Mapping[str, Json]:
    meta = value.get("#meta")
    return meta if isinstance(meta, dict) else {}


# ---------------------------------------------------------------- writing


def dumps(document: TraceDocument) -> str:
    """Returns the text of a trace file. The trace may come from a file or from a search."""
    root = _found(document) if document.kept is None else _again(document, document.kept)
    return written(root, 1)


def _found(document: TraceDocument) -> dict[str, Json]:
    """Converts a trace that is not from a file. A failed step has no state, so it is stored in
    ``#meta``.
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
    """Converts a trace from a file. All content of the file is preserved, with the values in normal
    form.
    """
    before = _meta(kept)
    values = _values("the trace", before)
    meta = updated(FILE, document, before, Reading(values, len(document.steps)))
    states: list[Json] = []
    for number, step in enumerate(document.steps):
        own = step.kept or {}
        about = _meta(own) if step.data is not None else own
        about_step = updated(STEP, step, about, _reading(values, about, number))
        if step.data is None:
            meta["failing"] = about_step
        else:
            data = {key: normal(value) for key, value in step.data.items()}
            states.append({**_with(own, about_step), **data})
    loop: dict[str, Json] = {} if document.loop is None else {"loop": document.loop}
    return {**_with(kept, meta), "states": states, **loop}


def _with(kept: Mapping[str, Json], meta: dict[str, Json]) -> dict[str, Json]:
    """Returns ``kept`` with ``meta`` as its metadata, or unchanged if ``meta`` is empty."""
    return {**kept, "#meta": meta} if meta else {**kept}


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that is needed to read a field: the reader of values, the exclusive upper bound of
    positions, and the title of a step without one.
    """

    values: Values
    end: int
    untitled: str = ""


@dataclass(frozen=True, slots=True)
class Codec:
    """Writes and reads the values of an attribute. A missing field is read as null."""

    encode: Callable[[Any], Json]
    decode: Callable[[Json, Reading], Any]


@dataclass(frozen=True, slots=True)
class Field(Generic[Owner]):
    """A field of a file and the attribute that it stores. ``name`` is the name in the file, and
    ``attribute`` is the attribute of the owner, as a dotted path if it is nested.

    ``known`` says whether to write the field for an owner that is not from a file.
    """

    name: str
    attribute: str
    codec: Codec
    known: Callable[[Owner], object] = lambda _: True


def decoded(
    fields: Iterable[Field[Owner]], meta: Mapping[str, Json], reading: Reading
) -> dict[str, Any]:
    """Reads the attributes from the fields of a file."""
    return {item.attribute: item.codec.decode(meta.get(item.name), reading) for item in fields}


def encoded(fields: Iterable[Field[Owner]], owner: Owner) -> dict[str, Json]:
    """Writes the fields of an owner that is not from a file."""
    return {
        item.name: item.codec.encode(attrgetter(item.attribute)(owner))
        for item in fields
        if item.known(owner)
    }


def updated(
    fields: Iterable[Field[Owner]], owner: Owner, meta: Mapping[str, Json], reading: Reading
) -> dict[str, Json]:
    """Returns the fields of a file, where each field whose attribute has changed is replaced."""
    before = decoded(fields := tuple(fields), meta, reading)
    now = {item: attrgetter(item.attribute)(owner) for item in fields}
    changed = {
        item.name: item.codec.encode(value)
        for item, value in now.items()
        if value != before[item.attribute]
    }
    return {**meta, **changed}


# ---------------------------------------------------------------- the kinds of fields


def _text(value: Json, _: Reading | None = None) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Json, _: Reading | None = None) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _items(value: Json) -> Iterable[tuple[str, Json]]:
    return value.items() if isinstance(value, dict) else ()


def _excerpt(value: Json, _: Reading | None = None) -> Excerpt | None:
    if not isinstance(value, dict) or not _text(value.get("text")):
        return None
    line = value.get("line")
    number = line if isinstance(line, int) and not isinstance(line, bool) else 1
    return Excerpt(_text(value.get("place")), number, _text(value.get("text")))


def _from_excerpt(excerpt: Excerpt | None) -> Json:
    if excerpt is None:
        return None
    return {"place": excerpt.place, "line": excerpt.line, "text": excerpt.text}


def _excerpts(value: Json, _: Reading) -> dict[str, Excerpt]:
    pairs = ((name, _excerpt(item)) for name, item in _items(value))
    return {name: excerpt for name, excerpt in pairs if excerpt is not None}


def _positions(value: Json, reading: Reading) -> tuple[int, ...]:
    numbers = value if isinstance(value, list) else []
    good = {
        n
        for n in numbers
        if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < reading.end
    }
    return tuple(sorted(good))


def _instance(value: Json, reading: Reading) -> tuple[tuple[str, Datum], ...]:
    return tuple(
        (_text(item.get("name")), reading.values.datum(item["value"]))
        for item in (value if isinstance(value, list) else ())
        if isinstance(item, dict) and "value" in item
    )


def _fair(value: Json, _: Reading) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_text(item.get("to")), _text(item.get("why")))
        for item in (value if isinstance(value, list) else ())
        if isinstance(item, dict)
    )


def _position(value: Json, reading: Reading) -> int | None:
    return next(iter(_positions([value], reading)), None)


def _arguments(value: Json, reading: Reading) -> dict[str, Json] | None:
    for _, item in _items(value):
        reading.values.tree(item)  # raises if the nesting is too deep
    return value if isinstance(value, dict) else None


def _exchanges(value: Json, reading: Reading) -> tuple[Exchange[Datum], ...]:
    return tuple(
        Exchange(
            cast(ExchangeKind, item["kind"]),
            _text(item.get("channel")),
            reading.values.datum(item["message"]),
        )
        for item in (value if isinstance(value, list) else ())
        if isinstance(item, dict) and "message" in item and item.get("kind") in KINDS
    )


TEXT = Codec(str, _text)
NAME = Codec(lambda text: text or None, _text)
TITLE = Codec(str, lambda value, reading: _text(value) or reading.untitled)
KIND = Codec(str, lambda value, _: _text(value) or "ordinary")
TEXTS = Codec(list, _texts)
NAMES = Codec(sorted, lambda value, _: frozenset(_texts(value)))
TYPES = Codec(dict, lambda value, _: {k: v for k, v in _items(value) if isinstance(v, str)})
RECORDS = Codec(
    lambda records: {name: [*fields] for name, fields in records.items()},
    lambda value, _: {name: _texts(fields) for name, fields in _items(value)},
)
EXCERPT = Codec(_from_excerpt, _excerpt)
EXCERPTS = Codec(lambda excerpts: {n: _from_excerpt(e) for n, e in excerpts.items()}, _excerpts)
POSITIONS = Codec(list, _positions)
POSITION = Codec(lambda position: position, _position)
FAIR = Codec(lambda rows: [{"to": to, "why": why} for to, why in rows], _fair)
FLAG = Codec(bool, lambda value, _: value is True)
DATA = Codec(
    lambda data: {name: normal(datum.data) for name, datum in data.items()},
    lambda value, reading: {n: reading.values.datum(item) for n, item in _items(value)},
)
INSTANCE = Codec(
    lambda pairs: [{"name": name, "value": normal(datum.data)} for name, datum in pairs], _instance
)
IMAGES = Codec(
    lambda images: [{n: normal(datum.data) for n, datum in image.items()} for image in images],
    lambda value, reading: tuple(
        {n: reading.values.datum(item) for n, item in _items(image)}
        for image in (value if isinstance(value, list) else ())
    ),
)
PAIRS = Codec(
    lambda pairs: [[*pair] for pair in pairs],
    lambda value, _: tuple(
        (first, second)
        for first, second in (
            _texts(pair)
            for pair in (value if isinstance(value, list) else ())
            if len(_texts(pair)) == 2
        )
    ),
)
ARGUMENTS = Codec(dict, _arguments)
EXCHANGES = Codec(
    lambda exchanges: [
        {"kind": e.kind, "channel": e.channel, "message": normal(e.message.data)} for e in exchanges
    ],
    _exchanges,
)

# ---------------------------------------------------------------- the tables


def _violated(document: TraceDocument) -> bool:
    return document.violated


def _of_property(document: TraceDocument) -> bool:
    return document.property_source is not None


def _endless(document: TraceDocument) -> bool:
    return document.loop is not None


def _causes_known(document: TraceDocument) -> bool:
    return any(step.act.explained for step in document.steps)


FILE: tuple[Field[TraceDocument], ...] = (
    Field("description", "description", TEXT),
    Field("source", "source", TEXT),
    Field("generator", "generator", TEXT),
    Field("check", "check", TEXT),
    Field("status", "status", TEXT),
    Field("verdict", "verdict", TEXT, _violated),
    Field("headline", "headline", TEXT, _violated),
    Field("property", "property_name", NAME, _violated),
    Field("property-span", "property_span", NAME, _violated),
    Field("constants", "constants", DATA),
    Field("given", "given", TEXTS),
    Field("property-source", "property_source", EXCERPT, _of_property),
    Field("property-reads", "reads", TEXTS, _of_property),
    Field("instance", "instance", INSTANCE, _of_property),
    Field("read", "read", INSTANCE, attrgetter("read")),
    Field("failing-part", "failing_part", EXCERPT, attrgetter("failing_part")),
    Field("problem", "problem", TEXT, attrgetter("problem")),
    Field("problem-source", "problem_source", EXCERPT, attrgetter("problem_source")),
    Field("blocked", "blocked", TEXTS, attrgetter("blocked")),
    Field("refined", "refined", TEXT, attrgetter("refined")),
    Field("images", "images", IMAGES, attrgetter("refined")),
    Field("unfit", "unfit", PAIRS, attrgetter("refined")),
    Field("types", "types", TYPES),
    Field("families", "families", NAMES),
    Field("records", "records", RECORDS),
    Field("lifelines", "lifelines", TEXTS),
    Field("actions", "actions", EXCERPTS),
    Field("fails-from", "since", POSITION, _endless),
    Field("fair", "fair", FAIR, _endless),
    Field("needed-at-end", "needed_at_end", POSITIONS, _causes_known),
)
"""The fields of a trace."""

STEP: tuple[Field[ShownStep], ...] = (
    Field("title", "title", TITLE),
    Field("action", "act.action", NAME),
    Field("arguments", "arguments", ARGUMENTS),
    Field("span", "span", NAME),
    Field("lifeline", "act.lifeline", TEXT, attrgetter("act.action")),
    Field("kind", "act.kind", KIND, attrgetter("act.action")),
    Field("written", "act.written", TEXT, attrgetter("act.action")),
    Field("exchanges", "act.exchanges", EXCHANGES, attrgetter("act.explained")),
    Field("needs", "act.needs", POSITIONS, attrgetter("act.explained")),
    Field("spare", "act.spare", FLAG, attrgetter("act.explained")),
)
"""The fields of a step."""
