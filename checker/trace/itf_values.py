"""Encodes values of a model in Apalache's Informal Trace Format, and parses such values to trees.

Integers are ``{"#bigint": "3"}``, sets ``{"#set": [...]}``, maps ``{"#map": [[k, v], ...]}``,
tuples ``{"#tup": [...]}``, and records are objects. Sequences are arrays; bags are arrays in
ascending order. Unions are ``{"tag": "A", "value": {...}}``. The option none is ``{"tag": "None",
"value": {}}``, and any other option is ``{"tag": "Some", "value": content}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal as OneOf

from fencepost.checker.printing.json_values import Json, json_notation
from fencepost.checker.trace.document import Datum
from fencepost.checker.trace.value_tree import Atom, Group, ValueTree, text
from fencepost.spec.core.foreign import ForeignValue
from fencepost.spec.core.types import Bag, Seq, Set
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

MAX_DEPTH = 64
TLA = "TLA+ value"
"""The type that a file states for the variables of a TLA+ module."""
BIGINT = re.compile(r"-?[0-9]{1,400}")


def _scalar(value: bool | int | str) -> Json:
    return value if isinstance(value, bool | str) else {"#bigint": str(value)}


def _elements(kind: Set | Seq | Bag, items: list[Json]) -> Json:
    return {"#set": items} if isinstance(kind, Set) else items


def _foreign(value: ForeignValue) -> Json:
    """Encodes a TLA+ value."""
    match value.kind:
        case "atom":
            return _scalar(value.atom) if value.atom is not None else value.text
        case "name":
            return {"#unserializable": value.text}
        case "record":
            return {label.text: _foreign(part) for label, part in value.parts if label}
        case "function":
            pairs = ([_foreign(label), _foreign(part)] for label, part in value.parts if label)
            return {"#map": [*pairs]}
        case "tuple" | "set":
            items: list[Json] = [_foreign(part) for _, part in value.parts]
            return {"#set": items} if value.kind == "set" else {"#tup": items}


ITF = json_notation(
    scalar=_scalar,
    tuple_=lambda items: {"#tup": items},
    some=lambda content, _: {"tag": "Some", "value": content},
    none={"tag": "None", "value": {}},
    elements=_elements,
    map=lambda pairs: {"#map": pairs},
    foreign=_foreign,
)

encode = ITF.of
"""Encodes a value of a given type."""


def normal(value: Json) -> Json:
    """Converts a value to normal form, where every integer is a ``#bigint``."""
    match value:
        case bool():
            return value
        case int():
            return {"#bigint": str(value)}
        case list():
            return [normal(item) for item in value]
        case dict():
            return {key: normal(item) for key, item in value.items()}
        case _:
            return value


def refused(name: str, reason: str) -> Rejected:
    """Returns the exception for a trace file that cannot be used."""
    return Rejected([Problem("F028", None, f"{name} {reason}")])


@dataclass(frozen=True, slots=True)
class Values:
    """Parses the values of the file ``name``. ``records`` maps record types to their field names. A
    record is given the name of its type if only one type has these fields.
    """

    name: str
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    kind: str = ""
    """The type of values that have none in the file."""

    def datum(self, value: Json) -> Datum:
        """Returns a value together with its tree."""
        return Datum(value, self.tree(value, self.kind))

    def tree(self, value: Json, kind: str = "", depth: int = 0) -> ValueTree:
        """Returns the tree of a value. ``kind`` is the type that the file states for the value."""
        if depth > MAX_DEPTH:
            raise refused(self.name, f"contains a value nested deeper than {MAX_DEPTH}")
        if kind == TLA:
            return self._module_tree(value, depth)
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
                    raise refused(self.name, 'contains a "#bigint" that is not an integer')
                return Atom(digits)
            case {"#set": list(elements)}:
                return Group("set", "", self._items(elements, depth))
            case {"#tup": list(elements)}:
                return Group("tuple", "", self._items(elements, depth))
            case {"#map": list(pairs)}:
                return Group("map", "", tuple(self._pair(pair, depth) for pair in pairs))
            case {"#unserializable": str(description)}:
                return Atom(description)
            case {"tag": "None", "value": dict()} if len(value) == 2 and _empty(value):
                return Atom("none")
            case {"tag": "Some", "value": content} if len(value) == 2:
                return self.tree(content, depth=depth + 1)
            case {"tag": str(tag), "value": dict() as fields} if len(value) == 2:
                if not fields or fields == {"#tup": []}:
                    return Atom(tag)
                if not any(key.startswith("#") for key in fields):
                    return Group("record", tag, self._fields(fields, depth + 1))
                return Group("record", tag, (("", self.tree(fields, depth=depth + 1)),))
            case {"tag": str(tag), "value": content} if len(value) == 2:
                return Group("record", tag, (("", self.tree(content, depth=depth + 1)),))
            case dict():
                return Group("record", self._record(tuple(value)), self._fields(value, depth))

    def _module_tree(self, value: Json, depth: int) -> ValueTree:
        """Returns the tree of a value of a TLA+ module."""
        items: list[tuple[str, ValueTree]]
        match value:
            case bool():
                return Atom("TRUE" if value else "FALSE")
            case str():
                return Atom(json.dumps(value, ensure_ascii=False))
            case {"#set": list(parts)}:
                sort: OneOf["set", "seq", "map", "record"] = "set"
                items = [("", self.tree(part, TLA, depth + 1)) for part in parts]
            case {"#tup": list(parts)}:
                sort = "seq"
                items = [("", self.tree(part, TLA, depth + 1)) for part in parts]
            case {"#map": list(parts)}:
                sort = "map"
                items = [self._pair(part, depth, TLA) for part in parts]
            case dict() if not any(key.startswith("#") for key in value):
                sort = "record"
                items = [(key, self.tree(part, TLA, depth + 1)) for key, part in value.items()]
            case _:
                return self.tree(value, "", depth)
        group = Group(sort, "", tuple(items), "TLA+")
        return group if items else Atom(text(group))

    def _record(self, names: tuple[str, ...]) -> str:
        heads = [head for head, fields in self.records.items() if fields == names]
        return heads[0] if len(heads) == 1 else ""

    def _fields(self, value: Mapping[str, Json], depth: int) -> tuple[tuple[str, ValueTree], ...]:
        return tuple((key, self.tree(item, depth=depth + 1)) for key, item in value.items())

    def _items(self, elements: list[Json], depth: int) -> tuple[tuple[str, ValueTree], ...]:
        return tuple(("", self.tree(item, depth=depth + 1)) for item in elements)

    def _pair(self, pair: Json, depth: int, kind: str = "") -> tuple[str, ValueTree]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise refused(self.name, 'contains a "#map" that is not a list of pairs')
        key, item = pair
        return text(self.tree(key, kind, depth + 1)), self.tree(item, kind, depth + 1)


def _empty(value: Mapping[str, Json]) -> bool:
    return value["value"] in ({}, {"#tup": []})
