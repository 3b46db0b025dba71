"""Values of symmetric types exchanged for one another: what becomes of values that hold some.

A symmetric type is an `Enum` whose values stand for each other. What exchanges them turns every
value that holds some into another one, and leaves the rest as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TypeAlias, assert_never, cast

from fencepost.spec.core.types import (
    Bag,
    Enum,
    Field,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Value,
    components,
    values,
)

Exchange: TypeAlias = Mapping[Enum, Sequence[int]]
"""For each symmetric type which value every value becomes: a permutation of its positions."""
Mover: TypeAlias = Callable[[Value], Value]


@cache
def is_symmetric(kind: Type) -> bool:
    """Whether values of ``kind`` hold values of a symmetric type, or are some."""
    if isinstance(kind, Enum):
        return kind.symmetric
    return any(map(is_symmetric, components(kind)))


def symmetric_types(kinds: Iterable[Type]) -> tuple[Enum, ...]:
    """The symmetric types in ``kinds``, as they are met."""
    found: dict[Enum, None] = {}

    def look(kind: Type) -> None:
        if isinstance(kind, Enum):
            if kind.symmetric:
                found[kind] = None
            return
        if is_symmetric(kind):
            for part in components(kind):
                look(part)

    for kind in kinds:
        look(kind)
    return tuple(found)


def transposition(kind: Enum, one: int, other: int) -> Exchange:
    """What exchanges two values of a symmetric type for each other."""
    places = list(range(len(kind.members)))
    places[one], places[other] = other, one
    return {kind: places}


def mover(kind: Type, exchange: Exchange) -> Mover | None:
    """What the exchange makes of values of ``kind``; None: each stays as it is."""
    if not is_symmetric(kind):
        return None
    match kind:
        case Enum():
            places = exchange.get(kind)
            if places is None or list(places) == sorted(places):
                return None
            return lambda value: places[cast("int", value)]
        case Record(fields=fields):
            return _of_fields(fields, exchange, 0)
        case Union(variants=variants):
            payloads = [_of_fields(variant.fields, exchange, 1) for variant in variants]
            if not any(payloads):
                return None

            def of_union(value: Value) -> Value:
                parts = cast("tuple[Value, ...]", value)
                move = payloads[cast("int", parts[0])]
                return parts if move is None else move(parts)

            return of_union
        case Option(element) | Seq(element):
            return _of_all(mover(element, exchange), tuple)
        case Set(element) | Bag(element):
            return _of_all(mover(element, exchange), _sorted)
        case Map(key, element):
            return _of_map(key, mover(element, exchange), mover(key, exchange))
        case Scalar():
            return None
        case _:
            assert_never(kind)


def _of_all(move: Mover | None, made: Callable[[Iterable[Value]], Value]) -> Mover | None:
    """What becomes of all parts of a tuple, of which a value is ``made``."""
    if move is None:
        return None
    return lambda value: made(map(move, cast("tuple[Value, ...]", value)))


def _sorted(items: Iterable[Value]) -> Value:
    return tuple(sorted(cast("Iterable[int]", items)))


def _of_fields(fields: Sequence[Field], exchange: Exchange, start: int) -> Mover | None:
    """What becomes of a tuple whose parts from ``start`` on are those of fields."""
    found = [(place, mover(field.type, exchange)) for place, field in enumerate(fields, start)]
    moves = [(place, move) for place, move in found if move is not None]
    if not moves:
        return None

    def moved(value: Value) -> Value:
        parts = list(cast("tuple[Value, ...]", value))
        for place, move in moves:
            parts[place] = move(parts[place])
        return tuple(parts)

    return moved


def _of_map(key: Type, move: Mover | None, move_key: Mover | None) -> Mover | None:
    if move_key is None:
        return _of_all(move, tuple)
    keys = list(values(key))
    places = {k: place for place, k in enumerate(keys)}
    # What stands at a key goes to where the key goes.
    source = [0] * len(keys)
    for place, k in enumerate(keys):
        source[places[move_key(k)]] = place

    def moved(value: Value) -> Value:
        parts = cast("tuple[Value, ...]", value)
        found = (parts[place] for place in source)
        return tuple(found) if move is None else tuple(map(move, found))

    return moved


def stays(value: Value, kind: Type) -> bool:
    """Whether ``value`` of ``kind`` stays as it is, whatever is exchanged."""
    for enum in symmetric_types([kind]):
        for place in range(len(enum.members) - 1):
            move = mover(kind, transposition(enum, place, place + 1))
            if move is not None and move(value) != value:
                return False
    return True
