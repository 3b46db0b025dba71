"""What Fencepost keeps in the ``#meta`` of a trace file beyond the format: one table of the fields
of the file and one of those of a step, by which they are written and read (docs/traces.md).

Of a file that comes from anywhere nothing is refused here but values: what is not understood of a
field is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast, get_args

from fencepost.checker.printing.json_values import Json
from fencepost.checker.trace.document import Datum, ShownStep, TraceDocument
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.itf_values import Values, normal
from fencepost.checker.trace.message_flights import Exchange, ExchangeKind
from fencepost.spec.records import dataclass

KINDS = get_args(ExchangeKind)
Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True)
class Reading:
    """What there is to know where a field is read: how values are shown, the position before which
    other positions must be, and the title of a step that has none.
    """

    values: Values
    end: int
    untitled: str = ""


@dataclass(frozen=True, slots=True)
class Codec:
    """How an attribute is written, and read again. What is not there is read as null."""

    encode: Callable[[Any], Json]
    decode: Callable[[Json, Reading], Any]


@dataclass(frozen=True, slots=True)
class Field(Generic[Owner]):
    """A field by its name in the file and the attribute of its owner (dotted: of a part of it).

    ``known`` says whether the field is written for an owner that comes from no file.
    """

    name: str
    attribute: str
    codec: Codec
    known: Callable[[Owner], object] = lambda _: True


def decoded(
    fields: Iterable[Field[Owner]], meta: Mapping[str, Json], reading: Reading
) -> dict[str, Any]:
    """The attributes as a file has them."""
    return {one.attribute: one.codec.decode(meta.get(one.name), reading) for one in fields}


def encoded(fields: Iterable[Field[Owner]], owner: Owner) -> dict[str, Json]:
    """The fields of what comes from no file."""
    return {
        one.name: one.codec.encode(attrgetter(one.attribute)(owner))
        for one in fields
        if one.known(owner)
    }


def updated(
    fields: Iterable[Field[Owner]], owner: Owner, meta: Mapping[str, Json], reading: Reading
) -> dict[str, Json]:
    """What a file had, everything in its place, with the attributes that were changed since."""
    before = decoded(fields := tuple(fields), meta, reading)
    now = {one: attrgetter(one.attribute)(owner) for one in fields}
    changed = {
        one.name: one.codec.encode(value)
        for one, value in now.items()
        if value != before[one.attribute]
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
    found = ((name, _excerpt(item)) for name, item in _items(value))
    return {name: excerpt for name, excerpt in found if excerpt is not None}


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
        reading.values.tree(item)  # It refuses what is nested too deeply.
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
EXCERPTS = Codec(lambda found: {n: _from_excerpt(one) for n, one in found.items()}, _excerpts)
POSITIONS = Codec(list, _positions)
POSITION = Codec(lambda position: position, _position)
FAIR = Codec(lambda rows: [{"to": to, "why": why} for to, why in rows], _fair)
FLAG = Codec(bool, lambda value, _: value is True)
DATA = Codec(
    lambda data: {name: normal(one.data) for name, one in data.items()},
    lambda value, reading: {n: reading.values.datum(item) for n, item in _items(value)},
)
INSTANCE = Codec(
    lambda pairs: [{"name": name, "value": normal(one.data)} for name, one in pairs], _instance
)
IMAGES = Codec(
    lambda images: [{n: normal(one.data) for n, one in image.items()} for image in images],
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
    lambda made: [
        {"kind": one.kind, "channel": one.channel, "message": normal(one.message.data)}
        for one in made
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
"""What is known of the whole."""

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
"""What is known of a step."""
