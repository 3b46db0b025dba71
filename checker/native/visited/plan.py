"""Which words of states are paired with which, so that few pairs stand for many states.

The two nodes that make the fewest distinct pairs are joined, again and again, until two are left:
the halves of the root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.kernels.tree import Kind
from fencepost.checker.native.machine.build import SetCode
from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.worker_context import Context
from fencepost.spec.records import dataclass

MOST_PAIRS = 0.6
"""With more pairs than this for each state, whole states take less memory, or not much more."""
MOST_LOOKED_AT = 1 << 27
"""A bound on the words that are looked at: wide states are judged by fewer of them."""


@dataclass(frozen=True, slots=True)
class Salts:
    """What places depend on: a number for the tree, and two odd ones for the roots."""

    tree: int
    one: int
    two: int


def salts(text: str) -> Salts:
    """Those drawn from the code of a model, for the reason why `packed.salted` does so."""
    digest = hashlib.sha256(text.encode()).digest()
    tree, one, two = (int.from_bytes(digest[n : n + 8], "little") for n in (0, 8, 16))
    return Salts(tree, one | 1, two | 1)


@dataclass(frozen=True, slots=True)
class Plan:
    """A tree over states of ``words`` words. Node number ``words + n`` is the pair ``joins[n]``, or
    one word, where the second number is -1; ``left`` and ``right`` are the halves of the root.
    """

    words: int
    salts: Salts
    joins: tuple[tuple[int, int], ...] = ()
    left: int = 0
    right: int = 1

    def kind(self, number: int) -> Kind:
        """What pair ``number`` consists of."""
        left, right = self.joins[number]
        if right < 0:
            return Kind.WORD
        return Kind.WIDE if min(left, right) < self.words else Kind.NARROW


def chosen(
    code: SetCode,
    context: Context,
    memory: Memory,
    states: Sequence[tuple[int, int]],
    words: int,
    salts: Salts,
    pause: Callable[[], None],
) -> Plan | None:
    """The plan for states like those at some addresses; None: they do not share enough of their
    words. ``pause`` is called often. Raises `Exhausted`.
    """
    if words == 1:
        return Plan(1, salts)
    count = sum(number for _, number in states)
    step = max(1, -(-count // max(1024, MOST_LOOKED_AT // (words * words))))
    taken = [(address, -(-number // step)) for address, number in states]
    count = sum(number for _, number in taken)
    places = 1 << (2 * count).bit_length()
    room = memory.take(16 * places + 8 * count * (words + 1))
    try:
        return _Choice(code, context, room, places, taken, words, step, salts, pause).plan()
    finally:
        memory.give(room)


class _Choice:
    """Counts distinct pairs. Each node that is left has a row, with a number for each state."""

    def __init__(
        self,
        code: SetCode,
        context: Context,
        room: Region,
        places: int,
        states: Sequence[tuple[int, int]],
        words: int,
        step: int,
        salts: Salts,
        pause: Callable[[], None],
    ) -> None:
        self._code = code
        self._context = context
        self._room = room
        self._places = places
        self._states = states
        self._words = words
        self._step = step
        self._salts = salts
        self._pause = pause
        self._count = sum(number for _, number in states)
        self._turn = 0
        start = room.address + 16 * places
        self._rows = [start + 8 * self._count * row for row in range(words)]
        self._spare = start + 8 * self._count * words

    def plan(self) -> Plan | None:
        """As `chosen`."""
        words, most = self._words, int(self._count * MOST_PAIRS)
        sizes = [self._values(one) for one in range(words)]
        nodes, joins, pairs = list(range(words)), list[tuple[int, int]](), 0
        # Lower bounds on the number of pairs, where one is known.
        known: dict[tuple[int, int], int] = {}
        while len(nodes) > 2:
            one, other = self._best(nodes, sizes, known)
            sizes.append(self._pairs(one, other, self._count))
            pairs += sizes[-1]
            if pairs > most:
                return None
            joins.append((one, other))
            self._rows.append(self._spare)
            self._spare = self._rows[one]
            nodes = [node for node in nodes if node not in (one, other)] + [len(sizes) - 1]
        halves: list[int] = []
        for node in nodes:
            if node < words:
                pairs += sizes[node]
                joins.append((node, -1))
            halves.append(words + len(joins) - 1 if node < words else node)
        return Plan(words, self._salts, tuple(joins), *halves) if pairs <= most else None

    def _best(
        self, nodes: Sequence[int], sizes: Sequence[int], known: dict[tuple[int, int], int]
    ) -> tuple[int, int]:
        """The two nodes with the fewest distinct pairs."""
        bounds = sorted(
            (known.get((one, other), max(sizes[one], sizes[other])), one, other)
            for place, one in enumerate(nodes)
            for other in nodes[place + 1 :]
        )
        best, least = (bounds[0][1], bounds[0][2]), self._count + 1
        for bound, one, other in bounds:
            if bound >= least:
                break
            known[one, other] = found = self._pairs(one, other, least)
            if found < least:
                best, least = (one, other), found
        return best

    def _values(self, number: int) -> int:
        """How many values a word has."""
        self._begin()
        row = self._rows[number]
        for address, count in self._states:
            left = address + 8 * number
            self._number(left, self._words * self._step, None, count, self._count, row)
            row += 8 * count
        return self._context.words[Word.DONE]

    def _pairs(self, one: int, other: int, most: int) -> int:
        """How many distinct pairs two nodes make; with more than ``most`` it ends early. Their
        numbers are written to the row that is free.
        """
        self._begin()
        self._number(self._rows[one], 1, self._rows[other], self._count, most, self._spare)
        return self._context.words[Word.DONE]

    def _begin(self) -> None:
        self._pause()
        self._turn += 1
        self._context.words[Word.DONE] = 0

    def _number(
        self, left: int, step: int, right: int | None, count: int, most: int, row: int
    ) -> None:
        self._code.distinct(
            self._context.address, left, step, right, count,
            self._room.address, self._places, self._turn, most, self._salts.tree, row,
        )  # fmt: skip
