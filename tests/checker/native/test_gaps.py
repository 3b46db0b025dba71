# pyright: basic
"""Insertion into and removal from sequences, bags and sets of every width and length move only the
affected elements, and leave zeros after the last one.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

import pytest
from tests.support.native_steps import called, compiled

from fencepost.checker.layout import Large, Part, encode, shape, write
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import I64, PTR, VOID, Emitter, Unit
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.types import Bag, Int, Machine, Seq, Set, Type, Value

OPERATIONS: dict[str, Callable[[list[int], int, int], list[int]]] = {
    "inserted": lambda items, index, new: [*items[:index], new, *items[index:]],
    "shortened": lambda items, index, _: [*items[:index], *items[index + 1 :]],
    "added": lambda items, _, new: sorted([*items, new]),
    "removed": lambda items, index, _: [*items[:index], *items[index + 1 :]],
}


def element(width: int) -> Type:
    """Returns a type with this number of bits."""
    return Machine(64) if width == 64 else Int(0, (1 << width) - 1)


def packed(kind: Type, value: Value) -> list[int]:
    size = shape(kind)
    if not isinstance(size, Large):
        return [encode(kind, value)]
    words = [0] * size.words
    write(kind, value, words, Part(0, 0))
    return words


def code_of(kind: Seq | Bag | Set) -> object:
    """Compiles a function for each operation: (value, index, element, result)."""
    unit = Unit("gaps")
    size = shape(kind)
    large = size if isinstance(size, Large) else None
    for name in OPERATIONS:
        if (name in ("inserted", "shortened")) is not isinstance(kind, Seq):
            continue
        e = Emitter(unit, unit.declare(name, VOID, [PTR, I64, I64, PTR]))
        collection, index, new, result = e.arguments
        ops = Collections(e)
        value = Val(kind, collection if large else e.load(collection))
        item = ops.of_code(kind.element, new)
        match name:
            case "inserted":
                updated = ops.inserted(value, index, item)
            case "shortened":
                updated = ops.shortened(value, index)
            case "added":
                updated = ops.added(value, item)
            case _:
                updated = ops.removed(value, item)
        if large:
            e.copy(result, updated.word, large.words)
        else:
            e.store(updated.word, result)
        e.ret()
    return compiled(str(unit.module), 0)


@pytest.mark.parametrize("sort", [Seq, Bag, Set])
@pytest.mark.parametrize(
    ("width", "capacity"),
    [
        (0, 3), (0, 90), (1, 5), (1, 63), (1, 64), (3, 20), (7, 8), (7, 9), (20, 3), (20, 4),
        (21, 8), (31, 2), (31, 9), (32, 3), (32, 8), (33, 1), (33, 5), (62, 1), (63, 1), (63, 4),
        (64, 4), (64, 11), (64, 12), (64, 20),
    ],
)  # fmt: skip
def test_elements_move(sort: type[Seq] | type[Bag] | type[Set], width: int, capacity: int) -> None:
    kind = sort(element(width), capacity)
    code, chosen = code_of(kind), random.Random(f"{width} {capacity}")
    low = kind.element.low if isinstance(kind.element, Int | Machine) else 0
    for _ in range(60):
        numbers = [chosen.choice((0, 1, (1 << width) - 1)) % (1 << width) for _ in range(capacity)]
        numbers = [chosen.choice((n, chosen.randrange(1 << width))) + low for n in numbers]
        items = numbers[
            : chosen.choice((0, 1, capacity - 1, capacity, chosen.randint(0, capacity)))
        ]
        new = chosen.choice(numbers)
        if sort is Set:
            items = [*dict.fromkeys(items)]
        if sort is not Seq:
            items.sort()
        room = len(items) < capacity and not (sort is Set and new in items)
        for name, meaning in OPERATIONS.items():
            if (name in ("inserted", "shortened")) is not (sort is Seq):
                continue
            grows = name in ("inserted", "added")
            if not (room if grows else items):
                continue
            index = chosen.randint(0, len(items)) if grows else chosen.randrange(len(items))
            if name == "removed":
                # Equal elements are interchangeable.
                new = items[index]
            wanted = packed(kind, tuple(meaning(items, index, new)))
            before = (ctypes.c_uint64 * len(wanted))(*packed(kind, tuple(items)))
            after = (ctypes.c_uint64 * len(wanted))()
            call = [ctypes.addressof(before), index, new - low, ctypes.addressof(after)]
            called(code, name, *call)
            assert [*after] == wanted, (name, items, index, new)
