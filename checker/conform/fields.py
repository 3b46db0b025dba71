"""What the fields of a line say: JSON, as the shapes of an event's fields want it.

It does not know which fields a line has beside those.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import assert_never, cast

from fencepost.checker.conform.binding import Called, Known, Listed, Present, Read
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.value_json import json_notation
from fencepost.spec.core.recording import (
    Event,
    EventField,
    Named,
    Perhaps,
    Plain,
    Several,
    Shape,
)
from fencepost.spec.core.types import (
    Bool,
    Enum,
    Int,
    Machine,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Value,
    describe,
)
from fencepost.spec.text.problem import listing, suggestion

MOST_KEPT = 10_000
"""The values of a field that are kept at a time."""
MOST_ELEMENTS = 16
"""The elements of a list that is kept."""
MOST_LENGTH = 64
"""The length of a text that is kept."""


class Unread(Exception):
    """A line cannot be read; the text says why."""


def is_text(value: str | int) -> bool:
    """Whether a text can be written: JSON has halves of characters, too."""
    if isinstance(value, int) or value.isascii():
        return True
    return not any("\ud800" <= one <= "\udfff" for one in value)


def quoted(text: str) -> str:
    """A text as a message has it."""
    return json.dumps(text if len(text) <= 60 else text[:57] + "...")


class FieldReader:
    """Reads one field of an event out of lines. What texts, numbers and lists of texts say is kept,
    as they come again and again.
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

    def read(self, said: dict[str, Json], beyond: list[str]) -> Read:
        """What a line says of the field; what lies outside its type is added to ``beyond``. Raises
        `Unread`.
        """
        known = self.known(said.get(self._name))
        if known is not None:
            return known
        key = _key(said.get(self._name))
        count = len(beyond)
        made = self._made(said, beyond)
        if key is not None and len(beyond) == count:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = made
        return made

    def known(self, value: Json) -> Read | None:
        """What a value of the field says, where that is known."""
        kind = value.__class__
        if kind is str or kind is int:
            return self._kept.get(cast("str | int", value))
        if value is None:
            return self._away
        key = _key(value)
        return None if key is None else self._kept.get(key)

    def _made(self, said: dict[str, Json], beyond: list[str]) -> Read:
        one, event = self._declared, self._event
        if one.name not in said and not self._may_be_away:
            hint = suggestion(one.name, said)
            raise Unread(f'{event.said} has no field "{one.name}"{hint}')
        try:
            return _read(one.shape, said.get(one.name))
        except _Beyond as why:
            beyond.append(f"{one.name} of {event.said} {why}")
            return Known(())
        except Unread as why:
            raise Unread(f'the field "{one.name}" of {event.said}: {why}') from None


def _key(said: Json) -> str | int | tuple[Json, ...] | None:
    """What stands for a value among those that are kept; None: it is not kept. ``true`` and 1 are
    the same to a dictionary, so of numbers there are no others.
    """
    if isinstance(said, str):
        return said if len(said) <= MOST_LENGTH else None
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    if isinstance(said, list) and len(said) <= MOST_ELEMENTS:
        for one in said:
            if not isinstance(one, str) or len(one) > MOST_LENGTH:
                return None
        return tuple(said)
    return None


class _Beyond(Exception):
    """A value lies outside its type, and is of its kind."""


def _read(shape: Shape, said: Json) -> Read:
    match shape:
        case Plain(kind):
            return Known(_value(kind, said))
        case Named(bind):
            if isinstance(said, bool) or not isinstance(said, str | int) or not is_text(said):
                raise Unread("a name is a text or a number")
            return Called(bind, said)
        case Perhaps(element):
            if said is None:
                return Known(())
            inner = _read(element, said)
            return Known((inner.value,)) if isinstance(inner, Known) else Present(inner)
        case Several(element, unordered):
            elements = tuple(_read(element, one) for one in _listed(said))
            if unordered:
                elements = tuple(dict.fromkeys(elements))
            if all(isinstance(one, Known) for one in elements):
                known = tuple(one.value for one in elements if isinstance(one, Known))
                return Known(_sorted(known) if unordered else known)
            return Listed(elements, unordered)
        case _:
            assert_never(shape)


def _object(said: Json, name: str, fields: Sequence[str]) -> dict[str, Json]:
    """The fields of a record, which is an object or the list of its fields."""
    if isinstance(said, list) and len(said) == len(fields):
        return dict(zip(fields, said, strict=True))
    if not isinstance(said, dict):
        raise Unread(f"an object with the fields of {name} is wanted here")
    return said


def _listed(said: Json) -> list[Json]:
    if not isinstance(said, list):
        raise Unread("a list is wanted here")
    return said


def _sorted(items: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(sorted(set(cast("tuple[int, ...]", items))))


def _value(kind: Type, said: Json) -> Value:
    match kind:
        case Bool():
            if not isinstance(said, bool):
                raise Unread("true or false is wanted here")
            return said
        case Int(low, high) | Machine(low=low, high=high):
            if isinstance(said, bool) or not isinstance(said, int):
                raise Unread("a whole number is wanted here")
            if not low <= said <= high:
                raise _Beyond(f"lies outside {describe(kind)}")
            return said
        case Enum(name=name, members=members):
            if not isinstance(said, str) or said not in members:
                hint = suggestion(said, members) if isinstance(said, str) else ""
                raise Unread(f"a member of {name} is wanted here{hint}")
            return members.index(said)
        case Record(name=name, fields=fields):
            given = _object(said, name, [f.name for f in fields])
            missing = [
                f.name for f in fields if f.name not in given and not isinstance(f.type, Option)
            ]
            if missing:
                raise Unread(f"{name} has no {listing([quoted(one) for one in missing])} here")
            return tuple(_value(f.type, given.get(f.name)) for f in fields)
        case Option(element):
            return () if said is None else (_value(element, said),)
        case Set(element, capacity) | Seq(element, capacity):
            found = tuple(_value(element, one) for one in _listed(said))
            items_ = _sorted(found) if isinstance(kind, Set) else found
            if capacity is not None and len(items_) > capacity:
                raise _Beyond(f"has more elements than {describe(kind)}")
            return items_
        case _:
            raise AssertionError(kind)


IN_LINE = json_notation(
    scalar=lambda value: value,
    some=lambda content, _: content,
    none=None,
    elements=lambda _, items: items,
    map=lambda pairs: pairs,
)

in_line = IN_LINE.of
"""A value of a type as a line of a recording has it."""
