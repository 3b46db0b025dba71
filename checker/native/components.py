# pyright: basic
# scipy has no types of its own: everything untyped about it stays in this module.
"""Strongly connected components of a graph of numbers, by a library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

STEP_BYTES, VERTEX_BYTES = 28, 48
"""What a step, and a vertex, take at most while components are found, what is given included."""


def components(
    size: int, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> tuple[int, npt.NDArray[np.int32]]:
    """How many strongly connected components ``size`` vertices have, and which each belongs to. The
    steps are in the order of their sources.
    """
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
