"""Spells values. One traversal serves every notation; the notation of the language is `TEXT`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from fencepost.spec.core.foreign import Foreign, ForeignValue
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Map,
    Nominal,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Value,
    values,
)
from fencepost.spec.records import dataclass

R = TypeVar("R")

Parts: TypeAlias = Sequence[tuple[str, R]]
"""Fields with their names, in declaration order."""


@dataclass(frozen=True, slots=True)
class Notation(Generic[R]):
    """A notation for values. Its functions return the result for a value, given the results for the
    value's parts.
    """

    scalar: Callable[[bool | int | str], R]
    """Spells a truth value, an integer, or the name of an enum member."""
    record: Callable[[Record, Parts[R]], R]
    variant: Callable[[Union, int, Parts[R]], R]
    """Spells the variant with the given number."""
    none: R
    some: Callable[[R, Type], R]
    """Spells an option, given the result for its content and the type of the content."""
    elements: Callable[[Set | Seq | Bag, list[R]], R]
    map: Callable[[Map, tuple[Value, ...], Callable[[Value, Type], R]], R]
    """Spells a map. It must spell the keys and values itself."""
    foreign: Callable[[ForeignValue], R] | None = None
    """Spells a value of another language. Without it, the text is spelled like a name."""

    def of(self, value: Value, kind: Type) -> R:
        """Spells ``value``, which is of type ``kind``."""
        match kind, value:
            case Bool(), _:
                return self.scalar(bool(value))
            case Foreign(), int() if self.foreign is not None:
                return self.foreign(kind.taken_apart(value))
            case Nominal(members=members), int():
                return self.scalar(members[value])
            case Scalar(), int():
                return self.scalar(value)
            case Record(fields=fields), tuple():
                return self.record(kind, self._parts(value, fields))
            case Union(variants=variants), (int(tag), *payload):
                return self.variant(kind, tag, self._parts(payload, variants[tag].fields))
            case Option(element), tuple():
                return self.some(self.of(value[0], element), element) if value else self.none
            case ((Set(element) | Seq(element) | Bag(element)), tuple()):
                return self.elements(kind, [self.of(item, element) for item in value])
            case Map(), tuple():
                return self.map(kind, value, self.of)
            case _:
                raise AssertionError(f"{value!r} is not a value of {kind!r}")

    def _parts(self, payload: Sequence[Value], fields: Sequence[Field]) -> Parts[R]:
        return [(f.name, self.of(v, f.type)) for f, v in zip(fields, payload, strict=True)]


def entries(
    kind: Map, value: Sequence[Value], of: Callable[[Value, Type], R]
) -> Iterator[tuple[R, R]]:
    """Yields the keys and values of a map, each spelled by ``of``."""
    for key, item in zip(values(kind.key), value, strict=True):
        yield of(key, kind.key), of(item, kind.value)


def _fields(parts: Parts[str]) -> str:
    return "(" + ", ".join(f"{name}: {part}" for name, part in parts) + ")"


def _elements(kind: Set | Seq | Bag, items: list[str]) -> str:
    inside = ", ".join(items)
    return f"{{{inside}}}" if isinstance(kind, Set) else f"[{inside}]"


def _record(kind: Record, parts: Parts[str]) -> str:
    if kind.is_tuple:
        return f"({', '.join(part for _, part in parts)})"
    return kind.name + _fields(parts)


def _variant(kind: Union, tag: int, parts: Parts[str]) -> str:
    return kind.variants[tag].name + (_fields(parts) if parts else "")


TEXT: Notation[str] = Notation(
    scalar=lambda value: str(value).lower() if isinstance(value, bool) else str(value),
    record=_record,
    variant=_variant,
    none="none",
    some=lambda content, _: content,
    elements=_elements,
    map=lambda kind, value, of: (
        "[" + ", ".join(f"{key}: {item}" for key, item in entries(kind, value, of)) + "]"
    ),
)

show = TEXT.of
"""Returns the text of a value in the language, such as ``VerifyAnswer(token: 1, ongoing: true)``,
``(1, 2)``, ``[Data, Marker]``, ``{1, 2}``, ``none``, or ``[k1: v1, k2: v2]`` for a map.
"""
