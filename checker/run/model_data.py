"""A model as bytes and back: data alone, so that a file can bring nothing else.

The bytes are a JSON document of two lists. ``kinds`` are the names of what is built: classes of the
core, and the collections of Python. ``objects`` are built one after the other, from parts up to the
model itself: a number, a string, a truth value and null stand for themselves; whatever else is a
list, of the place of its kind and the places of the objects that it consists of.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias, cast

from fencepost.spec.core.ir import Model
from fencepost.spec.text import source as text
from fencepost.spec.text.source import Source

CORE = "fencepost.spec.core."
"""The modules whose objects a model consists of, beside the places in texts."""

Maker: TypeAlias = Callable[[list[Any]], Any]
"""Makes one object of those that it consists of."""


_ATOMS = frozenset({type(None), bool, int, str})
_COLLECTIONS: dict[str, type[Any]] = {"tuple": tuple, "frozenset": frozenset}


class Foreign(ValueError):
    """What was read is no model, or what is to be written has a part that no model has."""


def encoded(model: Model, sources: Sequence[Source]) -> bytes:
    """The bytes of a model whose places are in these texts. Raises `Foreign`."""
    writer = _Writer(sources)
    try:
        writer.place(model)
    except RecursionError as error:
        raise Foreign("this model is nested too deep") from error
    document = [[*map(_name, writer.kinds)], writer.objects]
    return json.dumps(document, separators=(",", ":")).encode()


def decoded(content: bytes, sources: Sequence[Source]) -> Model:
    """The model of these bytes, with its places in these texts. Raises `Foreign`."""
    try:
        document: tuple[list[str], list[Any]] = json.loads(content)
        kinds, objects = document
        makers = [_maker(kind, sources) for kind in kinds]
        built: list[Any] = []
        for one in objects:
            if isinstance(one, list):
                kind, *parts = cast("list[int]", one)
                built.append(makers[kind](list(map(built.__getitem__, parts))))
            elif type(one) in _ATOMS:
                built.append(one)
            else:
                raise Foreign("this is no model")
        model = built[-1]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Foreign("this is no model") from error
    if not isinstance(model, Model):
        raise Foreign("this is no model")
    return model


# ---------------------------------------------------------------- writing


class _Writer:
    """Gives every object a place behind its parts; what is there already keeps its own."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.kinds: dict[type[Any], int] = {}
        self.objects: list[object] = []
        self._sources = {id(one): number for number, one in enumerate(sources)}
        self._places: dict[object, int] = {}
        self._parts: list[Callable[[Any], Iterable[object]]] = []

    def place(self, value: object) -> int:
        """The place of an object, which is there now."""
        kind: type[Any] = type(value)
        key = (kind, value) if kind in _ATOMS else id(value)
        known = self._places.get(key)
        if known is not None:
            return known
        if kind in _ATOMS:
            made = value
        else:
            number = self.kinds.get(kind)
            if number is None:
                number = self.kinds[kind] = len(self.kinds)
                self._parts.append(self._number if kind is Source else _parts_of(kind))
            parts = self._parts[number](value)
            made = [number, *map(self.place, parts)]
        self.objects.append(made)
        self._places[key] = place = len(self.objects) - 1
        return place

    def _number(self, source: Source) -> list[int]:
        if id(source) not in self._sources:
            raise Foreign("a place in a text that is no file of the spec")
        return [self._sources[id(source)]]


def _parts_of(kind: type[Any]) -> Callable[[Any], Iterable[object]]:
    """What takes apart an object of a class."""
    if kind in _COLLECTIONS.values():
        return list[Any]
    if kind is dict:
        return _flat
    if _name(kind) not in _classes():
        raise Foreign(f"{kind.__name__} is no part of a model")
    if issubclass(kind, Enum):
        return lambda member: [member.name]
    names = _fields(kind)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [getattr(value, name) for name in names]


def _flat(table: dict[object, object]) -> list[object]:
    return [part for pair in table.items() for part in pair]


# ---------------------------------------------------------------- reading


def _maker(kind: str, sources: Sequence[Source]) -> Maker:
    if kind == _name(Source):
        return lambda parts: sources[int(parts[0])]
    if kind == "dict":
        return _table
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind]
    made = _classes()[kind]
    if issubclass(made, Enum):
        members: Mapping[str, Enum] = made.__members__
        return lambda parts: members[parts[0]]
    first = sum(not one.kw_only for one in fields(made) if one.init)
    rest = _fields(made)[first:]
    if not rest:
        return lambda parts: made(*parts)
    if rest == ("span",):
        # Most nodes of the core: this takes half the time of what stands below.
        return lambda parts: made(*parts[:-1], span=parts[-1])
    return lambda parts: made(*parts[:first], **dict(zip(rest, parts[first:], strict=True)))


def _table(parts: list[Any]) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _name(kind: type[Any]) -> str:
    if kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _classes() -> dict[str, type[Any]]:
    """The classes that a model's objects are of, by name: plain data and nothing else."""
    homes = [module for name, module in sys.modules.items() if name.startswith(CORE)]
    return {
        _name(one): one
        for home in (*homes, text)
        for one in vars(home).values()
        if isinstance(one, type) and (is_dataclass(one) or issubclass(one, Enum))
    }


def _fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields that a class is made of, those behind the others that it takes by name alone."""
    return tuple(one.name for one in sorted(fields(kind), key=_by_name) if one.init)


def _by_name(field: Field[Any]) -> bool:
    return field.kw_only is True
