"""Computes strongly connected components with machine code (`kernels/components.py`)."""

from __future__ import annotations

import ctypes
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.codegen.context_words import EDGES_BYTES, Edges, Word
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.kernels.components import MEMO_WORDS, OUTSIDE, SINGLE, Memo
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.worker import Worker

Marks: TypeAlias = npt.NDArray[np.uint32]

STEP_BYTES, VERTEX_BYTES = 4, 41
"""The memory in bytes per step and per vertex while components are computed, in addition to the
arguments.
"""
STACK_BYTES = 8
"""The memory in bytes per vertex of the stacks of the search."""


def search(explorer: Explorer, memory: Memory, vertices: npt.NDArray[np.int64]) -> None:
    """Computes the components of the graph of ``vertices``, whose steps are in the rows of the
    first worker. Their marks must be 0, and those of all other vertices `OUTSIDE`.

    Afterwards the mark of a vertex is the number of its component, with the bit `SINGLE` if it is a
    component by itself. Numbers begin at 1, and the highest is the number of vertices; not all
    occur. Raises `Exhausted`, and the exceptions of `Explorer.pause`.
    """
    count = len(vertices)
    memory.afford(STACK_BYTES * count)
    stack, positions = np.empty(count, np.uint32), np.empty(count, np.uint32)
    memo = np.zeros(MEMO_WORDS, np.uint64)
    memo[Memo.INDEX], memo[Memo.NUMBER], memo[Memo.WAITING] = 1, count, count
    worker = explorer.workers[0]
    arrays = [array.ctypes.data for array in (stack, positions, memo)]
    while worker.call("components", vertices.ctypes.data, count, *arrays):
        explorer.pause()


def components(
    explorer: Explorer,
    memory: Memory,
    size: int,
    sources: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
) -> tuple[int, npt.NDArray[np.int32]]:
    """Returns the number of strongly connected components of a graph with ``size`` vertices, and
    the component of each vertex, from 0 on. The steps must be sorted by source. Raises
    `Exhausted`, and the exceptions of `Explorer.pause`.
    """
    memory.afford(STEP_BYTES * len(sources) + VERTEX_BYTES * size)
    ends = np.searchsorted(sources, np.arange(size + 1, dtype=np.int32)).astype(np.uint64)
    # The kernel loads each target as a part of eight bytes.
    padded = np.append(targets, np.int32(0))
    bases = (ctypes.c_uint64 * 1)(padded.ctypes.data)
    edges = np.zeros((size, EDGES_BYTES // 4), np.uint32)
    edges.view(np.uint64)[:, 0] = 4 * ends[:-1]
    edges[:, Edges.COUNT] = np.diff(ends)
    rows = {
        Word.ROWS: edges.ctypes.data,
        Word.ROW_BASES: ctypes.addressof(bases),
        Word.EDGE_BYTES: 4,
        Word.EDGE_MASK: OUTSIDE,
        Word.TARGET_MASK: OUTSIDE,
    }
    worker = explorer.workers[0]
    before = _replaced(worker, rows)
    try:
        search(explorer, memory, np.arange(size))
    finally:
        _replaced(worker, before)
    return dense(edges[:, Edges.MARK], size)


def dense(marks: Marks, highest: int) -> tuple[int, npt.NDArray[np.int32]]:
    """Numbers the components in some marks anew, from 0 on. ``highest`` is the highest number that
    may occur. Returns how many components there are, and the number of each mark.
    """
    numbers = marks & np.uint32(SINGLE - 1)
    present = np.zeros(highest + 1, np.bool_)
    present[numbers] = True
    renamed = np.cumsum(present, dtype=np.int32)
    return int(renamed[-1]), (renamed - np.int32(1))[numbers]


def _replaced(worker: Worker, words: dict[Word, int]) -> dict[Word, int]:
    """Sets words of the context, and returns their previous values."""
    before = {word: worker.get(word) for word in words}
    for word, value in words.items():
        worker.put(word, value)
    return before
