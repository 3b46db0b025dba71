# pyright: basic
# scipy has no types of its own: everything untyped about it stays in this module.
"""Strongly connected components of a graph of numbers, by a library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components


def components(
    size: int, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]
) -> tuple[int, npt.NDArray[np.int32]]:
    """How many strongly connected components ``size`` vertices have, and which each belongs to."""
    ones = np.ones(len(sources), np.int8)
    matrix = csr_matrix((ones, (sources, targets)), shape=(size, size))
    count, of_vertex = connected_components(matrix, directed=True, connection="strong")
    return int(count), of_vertex
