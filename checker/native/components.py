# pyright: basic
# scipy has no types of its own: everything untyped about it stays in this module.
"""Strongly connected components of a graph of numbers, by a library."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.machine.memory import Memory

STEP_BYTES, VERTEX_BYTES = 14, 24
"""The bytes that a step and a vertex take at most while components are found, beside what is given.
"""
LIBRARY_BYTES = 64 << 20
"""More than the library takes when it is loaded."""


def components(
    memory: Memory, size: int, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> tuple[int, npt.NDArray[np.int32]]:
    """How many strongly connected components ``size`` vertices have, and which each belongs to. The
    steps are in the order of their sources. Raises `Exhausted` unless ``memory`` can afford it.
    """
    loaded = "scipy.sparse.csgraph" in sys.modules
    memory.afford(
        STEP_BYTES * len(sources) + VERTEX_BYTES * size + (0 if loaded else LIBRARY_BYTES)
    )
    # It takes a third of a second to load.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.searchsorted(sources, np.arange(size + 1, dtype=np.int32)).astype(np.int32)
    # The library wants weights, of which it makes no use.
    matrix = csr_matrix((np.ones(len(targets)), targets.copy(), ends), shape=(size, size))
    # What it says of a graph with the same step twice is wrong.
    matrix.sum_duplicates()
    count, of_vertex = connected_components(matrix, directed=True, connection="strong")
    return int(count), of_vertex
