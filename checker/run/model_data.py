"""Serializes models as data without code, so that a cache file cannot execute anything.

The format is a JSON document of two lists. ``kinds`` holds class names: core classes and Python
collections. ``objects`` holds the parts of the model in dependency order, the model last. Numbers,
strings, booleans and null represent themselves; any other object is a list: the index of its kind,
then the indexes of its parts.
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
"""The modules that define model classes, besides `spec.text.source`."""

Maker: TypeAlias = Callable[[list[Any]], Any]
"""Builds an object from its parts."""


_ATOMS = frozenset({type(None), bool, int, str})
_COLLECTIONS: dict[str, type[Any]] = {"tuple": tuple, "frozenset": frozenset}


class Foreign(ValueError):
    """The bytes do not describe a model, or an object of the model cannot be serialized."""


def encoded(model: Model, sources: Sequence[Source]) -> bytes:
    """Serializes a model whose spans refer to ``sources``. Raises `Foreign`."""
    writer = _Writer(sources)
    try:
        writer.place(model)
    except RecursionError as error:
        raise Foreign("this model is nested too deep") from error
    document = [[*map(_name, writer.kinds)], writer.objects]
    return json.dumps(document, separators=(",", ":")).encode()


def decoded(content: bytes, sources: Sequence[Source]) -> Model:
    """Restores a model whose spans refer to ``sources``. Raises `Foreign`."""
    try:
        document: tuple[list[str], list[Any]] = json.loads(content)
        kinds, objects = document
        makers = [_maker(kind, sources) for kind in kinds]
        built: list[Any] = []
        for item in objects:
            if isinstance(item, list):
                kind, *parts = cast("list[int]", item)
                built.append(makers[kind](list(map(built.__getitem__, parts))))
            elif type(item) in _ATOMS:
                built.append(item)
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
    """Assigns each object an index after those of its parts; an object is written once."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.kinds: dict[type[Any], int] = {}
        self.objects: list[object] = []
        self._sources = {id(source): number for number, source in enumerate(sources)}
        self._places: dict[object, int] = {}
        self._parts: list[Callable[[Any], Iterable[object]]] = []

    def place(self, value: object) -> int:
        """Returns the index of an object, writing it first if necessary."""
        kind: type[Any] = type(value)
        key = (kind, value) if kind in _ATOMS else id(value)
        index = self._places.get(key)
        if index is not None:
            return index
        if kind in _ATOMS:
            entry = value
        else:
            number = self.kinds.get(kind)
            if number is None:
                number = self.kinds[kind] = len(self.kinds)
                self._parts.append(self._number if kind is Source else _parts_of(kind))
            parts = self._parts[number](value)
            entry = [number, *map(self.place, parts)]
        self.objects.append(entry)
        self._places[key] = index = len(self.objects) - 1
        return index

    def _number(self, source: Source) -> list[int]:
        if id(source) not in self._sources:
            raise Foreign("a place in a text that is no file of the spec")
        return [self._sources[id(source)]]


def _parts_of(kind: type[Any]) -> Callable[[Any], Iterable[object]]:
    """Returns the function that splits objects of a class into parts."""
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
    class_ = _classes()[kind]
    if issubclass(class_, Enum):
        members: Mapping[str, Enum] = class_.__members__
        return lambda parts: members[parts[0]]
    first = sum(not item.kw_only for item in fields(class_) if item.init)
    rest = _fields(class_)[first:]
    if not rest:
        return lambda parts: class_(*parts)
    if rest == ("span",):
        # Most core nodes; this is twice as fast as the general case below.
        return lambda parts: class_(*parts[:-1], span=parts[-1])
    return lambda parts: class_(*parts[:first], **dict(zip(rest, parts[first:], strict=True)))


def _table(parts: list[Any]) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _name(kind: type[Any]) -> str:
    if kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _classes() -> dict[str, type[Any]]:
    """The dataclasses and enums that models consist of, by qualified name."""
    homes = [module for name, module in sys.modules.items() if name.startswith(CORE)]
    return {
        _name(item): item
        for module in (*homes, text)
        for item in vars(module).values()
        if isinstance(item, type) and (is_dataclass(item) or issubclass(item, Enum))
    }


def _fields(kind: type[Any]) -> tuple[str, ...]:
    """The field names in the order of the constructor; keyword-only fields come last."""
    return tuple(item.name for item in sorted(fields(kind), key=_by_name) if item.init)


def _by_name(field: Field[Any]) -> bool:
    return field.kw_only is True
