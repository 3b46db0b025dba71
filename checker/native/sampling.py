"""Draws a random sample of the states in memory, to estimate how much each variable contributes.

A state of the sample is one integer that consists of its words, so that the projection of a state
is a single operation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

from fencepost.checker.growth import Growth, drawn, growth
from fencepost.checker.layout import WORD, Layout, Small, shape
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.visited.store import PIECE_STATES, Piece
from fencepost.spec.core.types import State


def contributions(layout: Layout, explorer: Explorer, levels: int, examples: int = 0) -> Growth:
    """Estimates the contribution of each variable to the states in the first ``levels`` levels. The
    result has about ``examples`` decoded states of all levels.
    """
    pieces = [
        piece
        for worker in explorer.workers
        for level in worker.store.levels[:levels]
        for piece in level
    ]
    total = sum(piece.states for piece in pieces)
    positions = drawn(total)
    sample = list(_states(explorer, pieces, positions, 8 * layout.words))
    keep = [_mask(layout, number) for number in range(len(layout.types))]
    stride = max(1, len(sample) // examples) if examples else len(sample) + 1
    shown = [_decoded(layout, state) for state in sample[stride - 1 :: stride]]
    return growth(
        total,
        sample,
        [mask.__and__ for mask in keep],
        [(~mask).__and__ for mask in keep],
        shown,
    )


def _states(
    explorer: Explorer, pieces: Sequence[Piece], positions: Sequence[int], state_bytes: int
) -> Iterator[int]:
    """Yields the states at ascending positions in the concatenation of ``pieces``."""
    left = iter(positions)
    position, start = next(left, None), 0
    entries: list[list[bytes]] = [[] for _ in explorer.workers]
    for piece in pieces:
        if position is None:
            break
        assert piece.owner is not None
        size, own = explorer.workers[piece.owner].store.entry_bytes, entries[piece.owner]
        end, base = start + piece.states, piece.address - start * size
        while position is not None and position < end:
            own.append(ctypes.string_at(base + position * size, size))
            position = next(left, None)
        start = end
    for worker, own in zip(explorer.workers, entries, strict=True):
        for first in range(0, len(own), PIECE_STATES):
            batch = b"".join(own[first : first + PIECE_STATES])
            count = len(batch) // worker.store.entry_bytes
            room = ctypes.create_string_buffer(batch, len(batch))
            whole = Piece(worker.number, ctypes.addressof(room), count, worker.number)
            states = ctypes.string_at(worker.whole(whole), state_bytes * count)
            for offset in range(0, len(states), state_bytes):
                yield int.from_bytes(states[offset : offset + state_bytes], "little")


def _mask(layout: Layout, number: int) -> int:
    """Returns the bits of a variable."""
    size, part = shape(layout.types[number]), layout.places[number]
    bits = size.bits if isinstance(size, Small) else WORD * size.words
    return ((1 << bits) - 1) << (WORD * part.word + part.shift)


def _decoded(layout: Layout, state: int) -> State:
    data = state.to_bytes(8 * layout.words, "little")
    return layout.decode(
        tuple(int.from_bytes(data[n : n + 8], "little") for n in range(0, len(data), 8))
    )
