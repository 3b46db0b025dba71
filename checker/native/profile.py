# pyright: basic
"""The profile of the states in memory, variable by variable, by NumPy over packed words.

Only the different values of a variable are decoded, which are few where states are many.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from fencepost.checker.layout import WORD, Layout, Part, Small, read, shape
from fencepost.checker.native.codegen.context_words import COLLECT_ALL
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.graph import Rows, StateGraph, Units
from fencepost.checker.native.machine.memory import words
from fencepost.checker.native.worker import Worker
from fencepost.checker.profile import Profile, profiled
from fencepost.spec.core.types import Value

TIMED = 50_000
"""The most states from which the steps of an action are timed."""
LEAST_TIMED = 20_000
"""Fewer states are gone through again and again, until they have been as many."""
LONG_SECONDS = 0.2
"""An action is timed from fewer states where its steps have taken as long."""
AT_ONCE = 1000
"""The most states of one call, between two looks whether to go on."""
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


def new_states(explorer: Explorer, layout: Layout, levels: int, actions: int) -> tuple[int, ...]:
    """`Profile.new`, by the steps between each level and the next. Raises what stops the work."""
    graph = StateGraph(explorer, explorer.memory, layout.words, levels)
    # A unit for each action, from 1 on.
    units = Units(range(1, actions + 1), [False] * actions, actions, frozenset())
    rows = Rows(graph, units, np.ones(graph.states, np.bool_), COLLECT_ALL)
    places = np.full(graph.states, -1, np.int32)
    counts = np.zeros(actions + 1, np.int64)
    starts = graph.starts
    for start, end, last in zip(starts, starts[1:], starts[2:], strict=False):
        before = np.arange(start, end)
        rows.make(before)
        places[end:last] = np.arange(last - end)
        _, targets, found = rows.inside(before, places)
        places[end:last] = -1
        first = np.full(last - end, actions + 1, np.int64)
        np.minimum.at(first, targets, found)
        counts += np.bincount(first, minlength=actions + 1)[: actions + 1]
    return tuple(counts[1:].tolist())


def times(explorer: Explorer, layout: Layout, levels: int, actions: int) -> tuple[float, ...]:
    """`Profile.seconds`, over states of all levels, as many as `TIMED`. Raises what stops the work.

    The steps are made once more, and what they lead to is dropped.
    """
    worker, found = explorer.workers[0], []
    stride, seen = max(1, sum(explorer.size(n) for n in range(1, levels + 1)) // TIMED), 0
    for rows in _rows(explorer, levels, layout.words):
        found.append(rows[-seen % stride :: stride].copy())
        seen += len(rows)
    states = np.concatenate(found) if found else np.zeros((0, layout.words), np.uint64)
    if not len(states):
        return (0.0,) * actions
    # In no order, since those that come first may be all that there is time for.
    np.random.default_rng(0).shuffle(states)
    states = np.tile(states, (-(-LEAST_TIMED // len(states)), 1))
    nothing = (ctypes.c_uint64 * 1)()
    try:
        worker.aim(ctypes.addressof(nothing), 0)
        return tuple(_time(explorer, worker, action, states) for action in range(actions))
    finally:
        worker.aim(0, 0)


def _time(explorer: Explorer, worker: Worker, action: int, states: Any) -> float:
    """The seconds that the steps of an action take from one state."""
    done, spent, some = 0, 0.0, 1
    while done < len(states) and spent < LONG_SECONDS:
        explorer.pause()
        now = states[done : done + some]
        began = time.thread_time()
        worker.call("apart", action, now.ctypes.data, len(now))
        spent += time.thread_time() - began
        done += len(now)
        some = min(2 * some, AT_ONCE)
    return spent / done
