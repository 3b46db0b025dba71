"""Compression plans, which decide how the parts of states are paired so that few pairs represent
many states. The parts are the words of a state, or the halves of its words.

The two nodes with the fewest distinct pairs are joined repeatedly until only two nodes are left.
These two are the halves of the root.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

from fencepost.checker.layout import WORD
from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.kernels.tree import Kind
from fencepost.checker.native.machine.build import SetCode
from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.worker_context import Context
from fencepost.spec.records import dataclass

MAX_PAIRS, MAX_PAIRS_PER_WORD = 0.6, 0.3
"""The maximum number of pairs per state, and per word of a state; the larger limit applies. With
more pairs, uncompressed states take less memory, or not much more.
"""
PARTS = 1, 2
"""The numbers of parts per word, in the order in which they are tried. The second one is tried if
the first needs more than `MAX_PAIRS` pairs per state, for example because one word varies much more
than the others.
"""
MAX_HALVED_WORDS = 16
"""Words of states with more words are not halved, because choosing a plan would take too long."""
MAX_EXAMINED = 1 << 27
"""The maximum number of words examined. If states are wide, fewer of them are sampled."""


@dataclass(frozen=True, slots=True)
class Salts:
    """The salts of the hash functions: one for the tree, and two odd ones for roots."""

    tree: int
    first: int
    second: int


def salts(text: str) -> Salts:
    """Derives the salts from the code of a model, for the reason given at `packed.salted`."""
    digest = hashlib.sha256(text.encode()).digest()
    tree, first, second = (int.from_bytes(digest[n : n + 8], "little") for n in (0, 8, 16))
    return Salts(tree, first | 1, second | 1)


@dataclass(frozen=True, slots=True)
class Plan:
    """A tree over the parts of a state, which are the first nodes. Each of the ``words`` words of
    the state has ``parts`` parts, from the low bits to the high ones. Node ``leaves + n`` is the
    pair of the two nodes in ``joins[n]``, or a single part if the second number is -1. ``left`` and
    ``right`` are the halves of the root.
    """

    words: int
    salts: Salts
    joins: tuple[tuple[int, int], ...] = ()
    left: int = 0
    right: int = 1
    parts: int = 1

    @property
    def leaves(self) -> int:
        """The number of parts of a state."""
        return self.words * self.parts

    def kind(self, number: int) -> Kind:
        """Returns the kind of pair ``number``."""
        left, right = self.joins[number]
        if right < 0:
            return Kind.WORD
        # A half of a word is as short as the number of a pair.
        return Kind.WIDE if min(left, right) < self.words and self.parts == 1 else Kind.NARROW


def chosen(
    code: SetCode,
    context: Context,
    memory: Memory,
    states: Sequence[tuple[int, int]],
    words: int,
    salts: Salts,
    pause: Callable[[], None],
) -> Plan | None:
    """Chooses a plan from a sample of ``states``, given as addresses and counts. Returns None if
    the states do not share enough parts. Calls ``pause`` often. Raises `Exhausted`.
    """
    if words == 1:
        return Plan(1, salts)
    best, max_pairs = None, max(MAX_PAIRS, MAX_PAIRS_PER_WORD * words)
    for parts in PARTS:
        if parts > 1 and words > MAX_HALVED_WORDS:
            break
        leaves = words * parts
        count = sum(number for _, number in states)
        step = max(1, -(-count // max(1024, MAX_EXAMINED // (leaves * leaves))))
        taken = [(address, -(-number // step)) for address, number in states]
        count = sum(number for _, number in taken)
        slots = 1 << (2 * count).bit_length()
        room = memory.take(16 * slots + 8 * count * (leaves + 1))
        try:
            choice = _Choice(
                code, context, room, slots, taken, words, parts, step, salts, max_pairs, pause
            )
            best = choice.plan() or best
        finally:
            memory.give(room)
        if choice.pairs <= MAX_PAIRS:
            break
        max_pairs = min(max_pairs, choice.pairs)
    return best


class _Choice:
    """Counts distinct pairs. Each remaining node has a row with one number per state. ``pairs`` is
    the number of pairs per state, or infinite if it exceeds ``max_pairs``.
    """

    def __init__(
        self,
        code: SetCode,
        context: Context,
        room: Region,
        slots: int,
        states: Sequence[tuple[int, int]],
        words: int,
        parts: int,
        step: int,
        salts: Salts,
        max_pairs: float,
        pause: Callable[[], None],
    ) -> None:
        self._code = code
        self._context = context
        self._room = room
        self._places = slots
        self._states = states
        self._words = words
        self._parts = parts
        self._leaves = leaves = words * parts
        self._step = step
        self._salts = salts
        self._pause = pause
        self._count = sum(number for _, number in states)
        self._max_pairs = int(self._count * max_pairs)
        self.pairs = math.inf
        self._turn = 0
        start = room.address + 16 * slots
        self._rows = [start + 8 * self._count * row for row in range(leaves)]
        self._spare = start + 8 * self._count * leaves

    def plan(self) -> Plan | None:
        """See `chosen`."""
        leaves = self._leaves
        sizes = [self._values(first) for first in range(leaves)]
        nodes, joins, pairs = list(range(leaves)), list[tuple[int, int]](), 0
        # Lower bounds on the numbers of distinct pairs.
        bounds: dict[tuple[int, int], int] = {}
        while len(nodes) > 2:
            first, second = self._best(nodes, sizes, bounds)
            sizes.append(self._pairs(first, second, self._count))
            pairs += sizes[-1]
            if pairs > self._max_pairs:
                return None
            joins.append((first, second))
            self._rows.append(self._spare)
            self._spare = self._rows[first]
            nodes = [node for node in nodes if node not in (first, second)] + [len(sizes) - 1]
        halves: list[int] = []
        for node in nodes:
            if node < leaves:
                pairs += sizes[node]
                joins.append((node, -1))
            halves.append(leaves + len(joins) - 1 if node < leaves else node)
        if pairs > self._max_pairs:
            return None
        self.pairs = pairs / max(1, self._count)
        left, right = halves
        return Plan(self._words, self._salts, tuple(joins), left, right, self._parts)

    def _best(
        self, nodes: Sequence[int], sizes: Sequence[int], lower_bounds: dict[tuple[int, int], int]
    ) -> tuple[int, int]:
        """Returns the two nodes with the fewest distinct pairs."""
        bounds = sorted(
            (lower_bounds.get((first, second), max(sizes[first], sizes[second])), first, second)
            for index, first in enumerate(nodes)
            for second in nodes[index + 1 :]
        )
        best, least = (bounds[0][1], bounds[0][2]), self._count + 1
        for bound, first, second in bounds:
            if bound >= least:
                break
            lower_bounds[first, second] = pairs = self._pairs(first, second, least)
            if pairs < least:
                best, least = (first, second), pairs
        return best

    def _values(self, number: int) -> int:
        """Returns the number of distinct values of a part."""
        self._begin()
        row, bits = self._rows[number], WORD // self._parts
        word, part = divmod(number, self._parts)
        for address, count in self._states:
            left, step = address + 8 * word, self._words * self._step
            self._number(left, step, None, count, self._count, row, part * bits, bits)
            row += 8 * count
        return self._context.words[Word.DONE]

    def _pairs(self, first: int, second: int, most: int) -> int:
        """Returns the number of distinct pairs of two nodes; counting ends early above ``most``.
        Writes the number of each state's pair to the free row.
        """
        self._begin()
        self._number(self._rows[first], 1, self._rows[second], self._count, most, self._spare)
        return self._context.words[Word.DONE]

    def _begin(self) -> None:
        self._pause()
        self._turn += 1
        self._context.words[Word.DONE] = 0

    def _number(
        self,
        left: int,
        step: int,
        right: int | None,
        count: int,
        most: int,
        row: int,
        shift: int = 0,
        bits: int = WORD,
    ) -> None:
        self._code.distinct(
            self._context.address, left, step, shift, (1 << bits) - 1, right, count,
            self._room.address, self._places, self._turn, most, self._salts.tree, row,
        )  # fmt: skip
