"""Converts the fields of a line from JSON to the shapes that an event declares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import assert_never, cast

from fencepost.checker.printing.json_values import Json, json_notation
from fencepost.checker.systems.conform.binding import KnownValue, ListRead, NameRead, Read, SomeRead
from fencepost.spec.core.recording import (
    Event,
    EventField,
    NameShape,
    Perhaps,
    Plain,
    Several,
    Shape,
)
from fencepost.spec.core.types import (
    Bool,
    Integer,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Value,
    describe,
)
from fencepost.spec.text.problem import listing, suggestion

MAX_KEPT = 10_000
"""Maximum number of values that are cached for each field."""
MAX_ELEMENTS = 16
"""Maximum length of a list that is cached."""
MAX_LENGTH = 64
"""Maximum length of a text that is cached."""


class Unread(Exception):
    """Signals that a line cannot be read. The text says why."""


def is_text(value: str | int) -> bool:
    """Checks whether a text can be encoded. JSON may contain lone surrogates, which cannot."""
    if isinstance(value, int) or value.isascii():
        return True
    return not any("\ud800" <= character <= "\udfff" for character in value)


def quoted(text: str) -> str:
    """Returns a text in quotes, for messages, shortened if it is long."""
    return json.dumps(text if len(text) <= 60 else text[:57] + "...")


class FieldReader:
    """Reads one field of an event. The results for texts, numbers and lists of texts are cached,
    because the same values occur again and again.
    """

    def __init__(self, event: Event, declared: EventField) -> None:
        self._event = event
        self._declared = declared
        self._name = declared.name
        self._kept: dict[str | int | tuple[Json, ...], Read] = {}
        shape = declared.shape
        self._may_be_away = isinstance(shape, Perhaps) or (
            isinstance(shape, Plain) and isinstance(shape.type, Option)
        )
        self._away = _read(shape, None) if self._may_be_away else None

    def read(self, record: dict[str, Json], beyond: list[str]) -> Read:
        """Returns the meaning of the field in a line. A value outside its type is reported in
        ``beyond``. Raises `Unread`.
        """
        cached = self.known(record.get(self._name))
        if cached is not None:
            return cached
        key = _key(record.get(self._name))
        count = len(beyond)
        value = self._made(record, beyond)
        if key is not None and len(beyond) == count:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = value
        return value

    def known(self, value: Json) -> Read | None:
        """Returns the cached meaning of a value, or None."""
        kind = value.__class__
        if kind is str or kind is int:
            return self._kept.get(cast("str | int", value))
        if value is None:
            return self._away
        key = _key(value)
        return None if key is None else self._kept.get(key)

    def _made(self, record: dict[str, Json], beyond: list[str]) -> Read:
        declared, event = self._declared, self._event
        if declared.name not in record and not self._may_be_away:
            hint = suggestion(declared.name, record)
            raise Unread(f'{event.said} has no field "{declared.name}"{hint}')
        try:
            return _read(declared.shape, record.get(declared.name))
        except _Beyond as why:
            beyond.append(f"{declared.name} of {event.said} {why}")
            return KnownValue(())
        except Unread as why:
            raise Unread(f'the field "{declared.name}" of {event.said}: {why}') from None


def _key(value: Json) -> str | int | tuple[Json, ...] | None:
    """Returns the key of a value in the cache, or None if the value is not cached. ``true`` and 1
    are the same dictionary key, so Booleans are not cached.
    """
    if isinstance(value, str):
        return value if len(value) <= MAX_LENGTH else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, list) and len(value) <= MAX_ELEMENTS:
        for item in value:
            if not isinstance(item, str) or len(item) > MAX_LENGTH:
                return None
        return tuple(value)
    return None


class _Beyond(Exception):
    """Signals that a value is of the right kind, but lies outside its type."""


def _read(shape: Shape, value: Json) -> Read:
    match shape:
        case Plain(kind):
            return KnownValue(_value(kind, value))
        case NameShape(bind):
            if isinstance(value, bool) or not isinstance(value, str | int) or not is_text(value):
                raise Unread("a name is a text or a number")
            return NameRead(bind, value)
        case Perhaps(element):
            if value is None:
                return KnownValue(())
            inner = _read(element, value)
            return KnownValue((inner.value,)) if isinstance(inner, KnownValue) else SomeRead(inner)
        case Several(element, unordered):
            elements = tuple(_read(element, item) for item in _listed(value))
            if unordered:
                elements = tuple(dict.fromkeys(elements))
            if all(isinstance(item, KnownValue) for item in elements):
                values = tuple(item.value for item in elements if isinstance(item, KnownValue))
                return KnownValue(_sorted(values) if unordered else values)
            return ListRead(elements, unordered)
        case _:
            assert_never(shape)


def _object(value: Json, name: str, fields: Sequence[str]) -> dict[str, Json]:
    """Returns the fields of a record, which may be written as an object or as a list of its
    fields.
    """
    if isinstance(value, list) and len(value) == len(fields):
        return dict(zip(fields, value, strict=True))
    if not isinstance(value, dict):
        raise Unread(f"an object with the fields of {name} is required here")
    return value


def _listed(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise Unread("a list is required here")
    return value


def _sorted(items: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(sorted(set(cast("tuple[int, ...]", items))))


def _value(kind: Type, value: Json) -> Value:
    match kind:
        case Bool():
            if not isinstance(value, bool):
                raise Unread("true or false is required here")
            return value
        case Integer():
            if isinstance(value, bool) or not isinstance(value, int):
                raise Unread("an integer is required here")
            if not kind.low <= value <= kind.high:
                raise _Beyond(f"lies outside {describe(kind)}")
            return value
        case Nominal(name=name, members=members):
            if not isinstance(value, str) or value not in members:
                hint = suggestion(value, members) if isinstance(value, str) else ""
                raise Unread(f"a member of {name} is required here{hint}")
            return members.index(value)
        case Record(fields=fields) if kind.is_tuple:
            parts = _listed(value)
            if len(parts) != len(fields):
                raise Unread(f"a list of {len(fields)} values is required here")
            return tuple(_value(f.type, part) for f, part in zip(fields, parts, strict=True))
        case Record(name=name, fields=fields):
            record = _object(value, name, [f.name for f in fields])
            missing = [
                f.name for f in fields if f.name not in record and not isinstance(f.type, Option)
            ]
            if missing:
                raise Unread(f"{name} has no {listing([quoted(item) for item in missing])} here")
            return tuple(_value(f.type, record.get(f.name)) for f in fields)
        case Option(element):
            return () if value is None else (_value(element, value),)
        case Set(element, capacity) | Seq(element, capacity):
            items = tuple(_value(element, item) for item in _listed(value))
            items_ = _sorted(items) if isinstance(kind, Set) else items
            if capacity is not None and len(items_) > capacity:
                raise _Beyond(f"has more elements than {describe(kind)}")
            return items_
        case _:
            raise AssertionError(kind)


IN_LINE = json_notation(
    scalar=lambda value: value,
    tuple_=lambda items: items,
    some=lambda content, _: content,
    none=None,
    elements=lambda _, items: items,
    map=lambda pairs: pairs,
)

in_line = IN_LINE.of
"""Returns a value of a type in the form of a recorded line."""
