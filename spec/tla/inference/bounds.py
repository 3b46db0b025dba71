"""The bets on the bounds of numbers and collections in variables.

A bet has a key: the path to its place in the value of a variable. The bounds of a collection are
those of its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from fencepost.spec.core.open_ranges import NARROWEST, Range, Ranges, widened
from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.types import count_values
from fencepost.spec.tla.inference.kinds import (
    FLAGS,
    Fun,
    Kind,
    Name,
    Never,
    Number,
    Partial,
    Rec,
    Seq,
    SetOf,
    Truth,
    Tup,
    Union,
    core,
    head,
)


def with_bets(kind: Kind, path: str, ranges: Ranges) -> Kind:
    """Returns the kind of what a variable holds, with keys that begin with ``path``. The bounds are
    those of ``ranges`` or, where they have none, bounds around those of ``kind``.
    """
    match kind:
        case Never() | Truth() | Name():
            return kind
        case Number(low, high):
            return Number(*_bounds(low, high, path, ranges), path)
        case Rec(fields):
            # Names other than strings need not differ as texts.
            keys = [n if isinstance(n, str) else f"#{i}" for i, (n, _) in enumerate(fields)]
            parts = [
                with_bets(part, f"{path}.{key}", ranges)
                for key, (_, part) in zip(keys, fields, strict=True)
            ]
            return Rec(tuple((n, part) for (n, _), part in zip(fields, parts, strict=True)))
        case Tup(items):
            numbered = enumerate(items, 1)
            return Tup(tuple(with_bets(part, f"{path}[{n}]", ranges) for n, part in numbered))
        case Seq(element, capacity):
            inner = with_bets(element, f"{path}[]", ranges)
            return Seq(inner, _bounds(0, capacity, f"#{path}", ranges)[1], f"#{path}")
        case SetOf(element, capacity):
            inner = with_bets(element, f"{path}{{}}", ranges)
            most = _bounds(0, capacity, f"#{path}", ranges)[1]
            stored = core(inner)
            if countable(stored, FLAGS):
                # A set with a flag for each value has room for all of them, and its size is not
                # checked.
                most = max(most, count_values(stored, FLAGS))
            return SetOf(inner, most, f"#{path}")
        case Fun(domain, keys, element):
            return Fun(domain, keys, with_bets(element, f"{path}[]", ranges))
        case Partial(keys, element):
            inner = with_bets(element, f"{path}[]", ranges)
            return Partial(with_bets(keys, f"{path}@", ranges), inner)
        case Union(parts):
            return Union(tuple(with_bets(part, f"{path}|{head(part)}", ranges) for part in parts))
        case _:
            assert_never(kind)


def _bounds(low: int, high: int, key: str, ranges: Ranges) -> Range:
    if key in ranges:
        return ranges[key]
    return widened(widened(NARROWEST, low), high)


def bets(kind: Kind) -> Iterator[tuple[str, Range]]:
    """Yields the keys and the bounds of the bets in the kind of a variable."""
    match kind:
        case Number(low, high, key) if key:
            yield key, (low, high)
        case Rec(fields):
            for _, part in fields:
                yield from bets(part)
        case Tup(items) | Union(items):
            for part in items:
                yield from bets(part)
        case Seq(element, capacity, key) | SetOf(element, capacity, key):
            if key:
                yield key, (0, capacity)
            yield from bets(element)
        case Fun(_, _, element):
            yield from bets(element)
        case Partial(keys, element):
            yield from bets(keys)
            yield from bets(element)
        case _:
            pass
