# pyright: basic
"""The profile of the states in memory, variable by variable, by NumPy over packed words.

Only the different values of a variable are decoded, which are few where states are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fencepost.checker.layout import WORD, Layout, Part, Small, read, shape
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.machine.memory import words
from fencepost.checker.profile import Profile, profiled
from fencepost.spec.core.types import Value

ROWS = 1 << 18
"""The states that are looked at between two looks whether to go on."""


def profile(layout: Layout, explorer: Explorer, levels: int, refused: dict[int, int]) -> Profile:
    """The profile of the states of the first ``levels`` levels; ``refused`` says how often guards
    were false. Raises what stops the work.
    """
    known: list[Any] = [None] * len(layout.types)
    count = 0
    for rows in _rows(explorer, levels, layout.words):
        count += len(rows)
        for number in range(len(known)):
            found = np.unique(_column(layout, number, rows), axis=0)
            if known[number] is not None:
                found = np.unique(np.concatenate([known[number], found]), axis=0)
            known[number] = found
        explorer.pause()
    variables = [
        profiled(kind, {_value(layout, number, row) for row in known[number]} if count else ())
        for number, kind in enumerate(layout.types)
    ]
    return Profile(count, tuple(variables), refused)


def _rows(explorer: Explorer, levels: int, width: int) -> Iterator[Any]:
    """The states as rows of words, some at a time."""
    for level in range(1, levels + 1):
        for address, count in explorer.pieces(level):
            for start in range(0, count, ROWS):
                now = min(ROWS, count - start)
                place = address + 8 * width * start
                yield np.ctypeslib.as_array(words(place, now * width)).reshape(now, width)


def _column(layout: Layout, number: int, rows: Any) -> Any:
    """The words of one variable, of all rows; a small one's bits alone."""
    size, place = shape(layout.types[number]), layout.places[number]
    if isinstance(size, Small):
        mask = np.uint64((1 << size.bits) - 1 if size.bits < WORD else (1 << WORD) - 1)
        return rows[:, place.word] >> np.uint64(place.shift) & mask
    return rows[:, place.word : place.word + size.words]


def _value(layout: Layout, number: int, row: Any) -> Value:
    """The value that words of `_column` stand for."""
    found = [int(row)] if row.ndim == 0 else [int(word) for word in row]
    return read(layout.types[number], found, Part(0, 0))
