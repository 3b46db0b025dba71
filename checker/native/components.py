# pyright: basic
# scipy has no type hints: its untyped values stay in this module.
"""Computes the strongly connected components of a graph with SciPy."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.machine.memory import Memory

STEP_BYTES, VERTEX_BYTES = 14, 24
"""The maximum memory in bytes per step and per vertex while components are computed, in addition to
the arguments.
"""
LIBRARY_BYTES = 64 << 20
"""An upper bound on the memory in bytes that loading the library takes."""


def components(
    memory: Memory, size: int, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> tuple[int, npt.NDArray[np.int32]]:
    """Returns the number of strongly connected components of a graph with ``size`` vertices, and
    the component of each vertex. The steps must be sorted by source. Raises `Exhausted` unless
    ``memory`` suffices.
    """
    loaded = "scipy.sparse.csgraph" in sys.modules
    memory.afford(
        STEP_BYTES * len(sources) + VERTEX_BYTES * size + (0 if loaded else LIBRARY_BYTES)
    )
    # Loading these modules takes a third of a second.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.searchsorted(sources, np.arange(size + 1, dtype=np.int32)).astype(np.int32)
    # The library requires weights, but ignores them.
    matrix = csr_matrix((np.ones(len(targets)), targets.copy(), ends), shape=(size, size))
    # The result would be wrong for graphs with duplicate edges.
    matrix.sum_duplicates()
    count, of_vertex = connected_components(matrix, directed=True, connection="strong")
    return int(count), of_vertex
