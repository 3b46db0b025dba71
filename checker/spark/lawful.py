"""Whether words from a file are packed states: machine code trusts its states, so what does not
come from machine code is looked at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import assert_never

from fencepost.checker.layout import OCCUPIED, Layout
from fencepost.checker.native.contexts import Packed
from fencepost.spec.types import (
    Bag,
    Bool,
    Enum,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    State,
    Type,
    Union,
    Value,
)


class Unlawful(Exception):
    """Words that are no state of the model."""


def state(layout: Layout, words: Sequence[int]) -> State:
    """The state that has these words. Raises `Unlawful` if no state has them."""
    try:
        if len(words) == layout.words and words[0] & OCCUPIED:
            found = layout.decode(words)
            values = zip(layout.types, found, strict=True)
            lawful = all(has(kind, value) for kind, value in values)
            if lawful and layout.encode(found) == tuple(words):
                return found
    # Codes that no value has lead nowhere: behind the last variant, or behind the last word.
    except (IndexError, ValueError, KeyError, AssertionError):
        pass
    raise Unlawful("it holds something that is no state of this spec")


def packed(layout: Layout, data: bytes) -> Iterator[Packed]:
    """The states in some bytes, one after the other. Raises `Unlawful`."""
    size = 8 * layout.words
    if len(data) % size:
        raise Unlawful("it holds a part of a state")
    words = memoryview(data).cast("Q")
    for place in range(0, len(words), layout.words):
        one = tuple(words[place : place + layout.words])
        state(layout, one)
        yield one


def has(kind: Type, value: Value) -> bool:
    """Whether ``value``, which has the form of a value of ``kind``, is one."""
    match kind, value:
        case Bool(), bool():
            return True
        case ((Int(low=low, high=high) | Machine(low=low, high=high)), int()):
            return low <= value <= high
        case Enum(members=members), int():
            return 0 <= value < len(members)
        case Record(fields=fields), tuple():
            return all(has(f.type, part) for f, part in zip(fields, value, strict=True))
        case Union(variants=variants), (int(tag), *payload):
            fields = variants[tag].fields
            return all(has(f.type, part) for f, part in zip(fields, payload, strict=True))
        case Set(element=element, capacity=capacity), tuple():
            ascending = all(one < other for one, other in pairwise(value))  # type: ignore[operator]
            few = capacity is None or len(value) <= capacity
            return ascending and few and all(has(element, part) for part in value)
        case Bag(element=element, capacity=capacity), tuple():
            ascending = all(one <= other for one, other in pairwise(value))  # type: ignore[operator]
            few = len(value) <= capacity
            return ascending and few and all(has(element, part) for part in value)
        case Seq(element=element, capacity=capacity), tuple():
            return len(value) <= capacity and all(has(element, part) for part in value)
        case ((Option(element) | Map(value=element)), tuple()):
            return all(has(element, part) for part in value)
        case (
            (Bool() | Int() | Machine() | Enum() | Record() | Union() | Set() | Bag() | Seq()),
            _,
        ):
            return False
        case ((Option() | Map()), _):
            return False
        case _:
            assert_never(kind)
