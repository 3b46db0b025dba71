# pyright: basic
"""Profiles the states in memory, variable by variable, with NumPy on packed words.

Only the distinct values of a variable are decoded. There are few of them if there are many states.
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
"""The maximum number of states on which an action is timed."""
MIN_TIMED = 20_000
"""If there are fewer states, they are repeated up to this number."""
LONG_SECONDS = 0.2
"""The time limit for timing an action, in seconds."""
CALL_STATES = 1000
"""The number of states per call, that is, between two checks whether to continue."""
ROWS = 1 << 18
"""The number of states read between two checks whether to continue."""


def profile(layout: Layout, explorer: Explorer, levels: int, refused: dict[int, int]) -> Profile:
    """Returns the profile of the states in the first ``levels`` levels. ``refused`` holds how many
    times each guard was false. Raises the exception that stopped the work.
    """
    distinct: list[Any] = [None] * len(layout.types)
    count = 0
    for rows in _rows(explorer, levels, layout.words):
        count += len(rows)
        for number in range(len(distinct)):
            values = np.unique(_column(layout, number, rows), axis=0)
            if distinct[number] is not None:
                values = np.unique(np.concatenate([distinct[number], values]), axis=0)
            distinct[number] = values
        explorer.pause()
    variables = [
        profiled(kind, {_value(layout, number, row) for row in distinct[number]} if count else ())
        for number, kind in enumerate(layout.types)
    ]
    return Profile(count, tuple(variables), refused)


def _rows(explorer: Explorer, levels: int, width: int) -> Iterator[Any]:
    """Yields the states as rows of words, in batches."""
    for level in range(1, levels + 1):
        for address, count in explorer.pieces(level):
            for start in range(0, count, ROWS):
                now = min(ROWS, count - start)
                start_address = address + 8 * width * start
                yield np.ctypeslib.as_array(words(start_address, now * width)).reshape(now, width)


def _column(layout: Layout, number: int, rows: Any) -> Any:
    """Returns the words of one variable in all rows, or only the variable's bits if it is small."""
    size, part = shape(layout.types[number]), layout.places[number]
    if isinstance(size, Small):
        mask = np.uint64((1 << size.bits) - 1 if size.bits < WORD else (1 << WORD) - 1)
        return rows[:, part.word] >> np.uint64(part.shift) & mask
    return rows[:, part.word : part.word + size.words]


def _value(layout: Layout, number: int, row: Any) -> Value:
    """Returns the value that some words of `_column` encode."""
    encoded = [int(row)] if row.ndim == 0 else [int(word) for word in row]
    return read(layout.types[number], encoded, Part(0, 0))


def new_states(explorer: Explorer, layout: Layout, levels: int, actions: int) -> tuple[int, ...]:
    """Returns `Profile.new`, computed from the steps between each level and the next. Raises the
    exception that stopped the work.
    """
    graph = StateGraph(explorer, explorer.memory, layout.words, levels)
    # Each action is a unit, numbered from 1.
    units = Units(range(1, actions + 1), [False] * actions, actions, frozenset())
    rows = Rows(graph, units, np.ones(graph.states, np.bool_), COLLECT_ALL)
    places = np.full(graph.states, -1, np.int32)
    counts = np.zeros(actions + 1, np.int64)
    starts = graph.starts
    for start, end, last in zip(starts, starts[1:], starts[2:], strict=False):
        before = np.arange(start, end)
        rows.make(before)
        places[end:last] = np.arange(last - end)
        _, targets, reached_by = rows.inside(before, places)
        places[end:last] = -1
        first = np.full(last - end, actions + 1, np.int64)
        np.minimum.at(first, targets, reached_by)
        counts += np.bincount(first, minlength=actions + 1)[: actions + 1]
    return tuple(counts[1:].tolist())


def times(explorer: Explorer, layout: Layout, levels: int, actions: int) -> tuple[float, ...]:
    """Returns `Profile.seconds`, measured on up to `TIMED` states of all levels. Raises the
    exception that stopped the work.

    The steps are computed again, and their results are discarded.
    """
    worker, samples = explorer.workers[0], []
    stride, seen = max(1, sum(explorer.size(n) for n in range(1, levels + 1)) // TIMED), 0
    for rows in _rows(explorer, levels, layout.words):
        samples.append(rows[-seen % stride :: stride].copy())
        seen += len(rows)
    states = np.concatenate(samples) if samples else np.zeros((0, layout.words), np.uint64)
    if not len(states):
        return (0.0,) * actions
    # The states are shuffled, because the time may suffice only for the first ones.
    np.random.default_rng(0).shuffle(states)
    states = np.tile(states, (-(-MIN_TIMED // len(states)), 1))
    nothing = (ctypes.c_uint64 * 1)()
    try:
        worker.aim(ctypes.addressof(nothing), 0)
        return tuple(_time(explorer, worker, action, states) for action in range(actions))
    finally:
        worker.aim(0, 0)


def _time(explorer: Explorer, worker: Worker, action: int, states: Any) -> float:
    """Returns the time per state that the steps of an action take, in seconds."""
    done, spent, some = 0, 0.0, 1
    while done < len(states) and spent < LONG_SECONDS:
        explorer.pause()
        now = states[done : done + some]
        began = time.thread_time()
        worker.call("apart", action, now.ctypes.data, len(now))
        spent += time.thread_time() - began
        done += len(now)
        some = min(2 * some, CALL_STATES)
    return spent / done
