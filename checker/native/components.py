# pyright: basic
# scipy has no type hints: its untyped values stay in this module.
"""Strongly connected components of a graph, by SciPy."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.machine.memory import Memory

STEP_BYTES, VERTEX_BYTES = 14, 24
"""The bytes that a step and a vertex take at most while components are computed, in addition to the
arguments.
"""
LIBRARY_BYTES = 64 << 20
"""An upper bound of the memory that loading the library takes."""


def components(
    memory: Memory, size: int, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> tuple[int, npt.NDArray[np.int32]]:
    """The number of strongly connected components of ``size`` vertices, and the component of each
    vertex. The steps are sorted by source. Raises `Exhausted` unless ``memory`` has room.
    """
    loaded = "scipy.sparse.csgraph" in sys.modules
    memory.afford(
        STEP_BYTES * len(sources) + VERTEX_BYTES * size + (0 if loaded else LIBRARY_BYTES)
    )
    # Loading takes a third of a second.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.searchsorted(sources, np.arange(size + 1, dtype=np.int32)).astype(np.int32)
    # The library requires weights, but ignores them.
    matrix = csr_matrix((np.ones(len(targets)), targets.copy(), ends), shape=(size, size))
    # The result is wrong for graphs with duplicate edges.
    matrix.sum_duplicates()
    count, of_vertex = connected_components(matrix, directed=True, connection="strong")
    return int(count), of_vertex
