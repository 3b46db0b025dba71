"""Reading traces in Apalache's Informal Trace Format, anybody's: see `itf` for ours.

A file is untrusted: its size, depth and shape are checked before anything is shown, and what is
not understood of its ``#meta`` is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import cast, get_args

from fencepost.checker.printing.json_values import Json
from fencepost.checker.trace.document import Recording, SavedStep
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.message_flights import Exchange, ExchangeKind
from fencepost.checker.trace.steps import INITIAL, UNKNOWN, Act, ShownStep, ShownTrace
from fencepost.checker.trace.value_tree import Atom, Group, Shape, text
from fencepost.spec.text.problem import Problem, Rejected

MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 64
MOST_STATES = 100_000
BIGINT = re.compile(r"-?[0-9]{1,400}")


def read(data: bytes, name: str) -> Recording:
    """What a trace file says; raises `Rejected`."""
    root = parse(data, name)
    states = root["states"]
    assert isinstance(states, list)
    meta = _meta(root)
    declared = root.get("vars")
    names = _texts(declared)
    kinds = _strings(meta.get("types"))
    reader = _Reader(name, _records(meta.get("records")))
    steps: list[ShownStep] = []
    for number, item in enumerate(states):
        state = _object(item, name, f"state {number}")
        shapes = {
            key: reader.shape(state[key], kinds.get(key, ""))
            for key in dict.fromkeys((*names, *state))
            if key in state and key != "#meta"
        }
        about = _meta(state)
        steps.append(ShownStep(_title(about, number), shapes, _act(about, reader, number)))
    if "failing" in meta:
        failing = _object(meta["failing"], name, '"failing"')
        steps.append(
            ShownStep(_title(failing, len(steps)), None, _act(failing, reader, len(steps)))
        )
    known = frozenset(_texts(meta.get("families")))
    loop = root.get("loop")
    return Recording(
        about=_about(meta, steps, root),
        trace=ShownTrace(known, tuple(steps)),
        source=_text(meta, "source"),
        check=_text(meta, "check"),
        generator=_text(meta, "generator"),
        headline=_text(meta, "headline") or _text(meta, "description"),
        violated=meta.get("status") == "violation",
        verdict=_text(meta, "verdict"),
        property=_text(meta, "property"),
        property_source=_excerpt(meta.get("property-source")),
        failing_part=_excerpt(meta.get("failing-part")),
        instance=tuple(_instance(meta.get("instance"), reader)),
        reads=_texts(meta.get("property-reads")),
        problem=_text(meta, "problem"),
        problem_source=_excerpt(meta.get("problem-source")),
        blocked=_texts(meta.get("blocked")),
        constants=tuple(_values(meta.get("constants"), reader)),
        lifelines=_texts(meta.get("lifelines")),
        actions=dict(_excerpts(meta.get("actions"))),
        needed_at_end=_positions(meta.get("needed-at-end"), len(steps)),
        loop=loop if isinstance(loop, int) and not isinstance(loop, bool) else None,
    )


def saved(data: bytes, name: str) -> tuple[Recording, tuple[SavedStep, ...]]:
    """The trace as it is shown, and its steps with the values as they are in the file."""
    recording = read(data, name)
    root = parse(data, name)
    meta = _meta(root)
    reader = _Reader(name, {})
    states = root["states"]
    assert isinstance(states, list)
    steps = [_saved(state, _meta(state), reader) for state in states if isinstance(state, dict)]
    failing = meta.get("failing")
    if isinstance(failing, dict):
        steps.append(_saved(None, failing, reader))
    return recording, tuple(steps)


def _saved(
    state: Mapping[str, Json] | None, meta: Mapping[str, Json], reader: _Reader
) -> SavedStep:
    arguments = meta.get("arguments")
    for value in arguments.values() if isinstance(arguments, dict) else ():
        reader.shape(value)  # It refuses what is nested too deeply.
    return SavedStep(
        _text(meta, "action") or None,
        arguments if isinstance(arguments, dict) else None,
        None if state is None else {k: v for k, v in state.items() if k != "#meta"},
    )


def shape_of(value: Json) -> Shape:
    """A single value, as it is shown."""
    return _Reader("the value", {}).shape(value)


def constants(data: bytes, name: str) -> Mapping[str, Json]:
    """The values of the constants with which a trace was found, by path."""
    found = _meta(parse(data, name)).get("constants")
    return found if isinstance(found, dict) else {}


def normal(data: bytes, name: str) -> Json:
    """The trace file with every value in the form that the format prescribes: integers as
    ``#bigint``. What else the file has is kept. Raises `Rejected` as `read` does.
    """
    root = parse(data, name)
    read(data, name)
    states = root["states"]
    assert isinstance(states, list)
    return {
        **root,
        "states": [
            {key: item if key == "#meta" else _normal(item) for key, item in state.items()}
            for state in states
            if isinstance(state, dict)
        ],
    }


def _normal(value: Json) -> Json:
    match value:
        case bool():
            return value
        case int():
            return {"#bigint": str(value)}
        case list():
            return [_normal(item) for item in value]
        case dict():
            return {key: _normal(item) for key, item in value.items()}
        case _:
            return value


def parse(data: bytes, name: str) -> Mapping[str, Json]:
    """The object that a trace file consists of, which has a list of states; raises `Rejected`."""
    if len(data) > MOST_BYTES:
        raise _refused(name, f"has {len(data):,} bytes; at most {MOST_BYTES:,} are read")
    root = _object(_parse(data, name), name, "the file")
    states = root.get("states")
    if not isinstance(states, list):
        raise _refused(name, 'is not an ITF trace: it has no list of "states"')
    if len(states) > MOST_STATES:
        raise _refused(name, f"has {len(states):,} states; at most {MOST_STATES:,} are read")
    return root


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


def _texts(value: Json | None) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _text(meta: Mapping[str, Json], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""


def _positions(value: Json | None, end: int) -> tuple[int, ...]:
    """Positions of steps, all before ``end``."""
    numbers = value if isinstance(value, list) else []
    good = {n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < end}
    return tuple(sorted(good))


def _excerpt(value: Json | None) -> Excerpt | None:
    if not isinstance(value, dict) or not _text(value, "text"):
        return None
    line = value.get("line")
    number = line if isinstance(line, int) and not isinstance(line, bool) else 1
    return Excerpt(_text(value, "place"), number, _text(value, "text"))


def _excerpts(value: Json | None) -> Iterator[tuple[str, Excerpt]]:
    for key, item in value.items() if isinstance(value, dict) else ():
        excerpt = _excerpt(item)
        if excerpt is not None:
            yield key, excerpt


def _instance(value: Json | None, reader: _Reader) -> Iterator[tuple[str, str]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and "value" in item:
            yield _text(item, "name"), text(reader.shape(item["value"]))


def _values(value: Json | None, reader: _Reader) -> Iterator[tuple[str, str]]:
    for key, item in value.items() if isinstance(value, dict) else ():
        yield key, text(reader.shape(item))


def _act(meta: Mapping[str, Json], reader: _Reader, position: int) -> Act:
    """Who did a step; the state of another tool does not say."""
    if not _text(meta, "action"):
        return UNKNOWN
    exchanges: list[Exchange[Shape]] = []
    made = meta.get("exchanges")
    for item in made if isinstance(made, list) else ():
        kind = item.get("kind") if isinstance(item, dict) else None
        if isinstance(item, dict) and kind in get_args(ExchangeKind) and "message" in item:
            message = reader.shape(item["message"])
            exchanges.append(Exchange(cast(ExchangeKind, kind), _text(item, "channel"), message))
    return Act(
        _text(meta, "action"),
        _text(meta, "lifeline"),
        _text(meta, "kind") or "ordinary",
        tuple(exchanges),
        _positions(meta.get("needs"), position),
        meta.get("spare") is True,
    )


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


def _records(value: Json | None) -> Mapping[tuple[str, ...], str]:
    """The names of record types by their fields, where the fields tell them apart."""
    items = value.items() if isinstance(value, dict) else ()
    found: dict[tuple[str, ...], list[str]] = {}
    for name, fields in items:
        found.setdefault(_texts(fields), []).append(name)
    return {fields: names[0] for fields, names in found.items() if len(names) == 1}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes shapes of the values of a file; ``records`` are names of record types."""

    name: str
    records: Mapping[tuple[str, ...], str]

    def shape(self, value: Json, kind: str = "", depth: int = 0) -> Shape:
        """A value; ``kind`` is its type as the file tells it."""
        if depth > MOST_DEPTH:
            raise self._refused(f"holds a value nested deeper than {MOST_DEPTH}")
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
                return Group(sort, "", self._items(value, depth))
            case {"#bigint": digits}:
                if not isinstance(digits, str) or not BIGINT.fullmatch(digits):
                    raise self._refused('holds a "#bigint" that is not a whole number')
                return Atom(digits)
            case {"#set": list(elements)}:
                return Group("set", "", self._items(elements, depth))
            case {"#tup": list(elements)}:
                return Group("seq", "", self._items(elements, depth))
            case {"#map": list(pairs)}:
                return Group("map", "", tuple(self._pair(pair, depth) for pair in pairs))
            case {"#unserializable": str(what)}:
                return Atom(what)
            case {"tag": "None", "value": dict()} if len(value) == 2 and _empty(value):
                return Atom("none")
            case {"tag": "Some", "value": content} if len(value) == 2:
                return self.shape(content, depth=depth + 1)
            case {"tag": str(tag), "value": dict() as fields} if len(value) == 2:
                if not fields or fields == {"#tup": []}:
                    return Atom(tag)
                if not any(key.startswith("#") for key in fields):
                    return Group("record", tag, self._fields(fields, depth + 1))
                return Group("record", tag, (("", self.shape(fields, depth=depth + 1)),))
            case {"tag": str(tag), "value": content} if len(value) == 2:
                return Group("record", tag, (("", self.shape(content, depth=depth + 1)),))
            case dict():
                head = self.records.get(tuple(value), "")
                return Group("record", head, self._fields(value, depth))

    def _fields(self, value: Mapping[str, Json], depth: int) -> tuple[tuple[str, Shape], ...]:
        return tuple((key, self.shape(item, depth=depth + 1)) for key, item in value.items())

    def _items(self, elements: list[Json], depth: int) -> tuple[tuple[str, Shape], ...]:
        return tuple(("", self.shape(item, depth=depth + 1)) for item in elements)

    def _pair(self, pair: Json, depth: int) -> tuple[str, Shape]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise self._refused('holds a "#map" that is not a list of pairs')
        key, item = pair
        return text(self.shape(key, depth=depth + 1)), self.shape(item, depth=depth + 1)

    def _refused(self, what: str) -> Rejected:
        return _refused(self.name, what)


def _empty(value: Mapping[str, Json]) -> bool:
    return value["value"] in ({}, {"#tup": []})
