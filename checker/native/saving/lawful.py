# pyright: basic
"""Whether words from a file are packed states: machine code trusts its states, so what does not
come from machine code is looked at first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fencepost.checker.layout import MASK, OCCUPIED, WORD, Layout, Part, Small, read, shape, write
from fencepost.spec.core.types import State, Type, is_value

MOST_KNOWN = 1 << 16
"""At most this many values of a variable are remembered."""
LISTED = 16
"""What a variable of at most this many bits may hold is remembered in an array."""


class Unlawful(Exception):
    """Words that are no state of the model."""


@dataclass(slots=True)
class _Held:
    """Where a variable stands: in ``words`` words from ``word`` on, or in some bits of one. What it
    was found to hold is remembered, since most states hold what others hold.
    """

    kind: Type
    word: int
    words: int
    shift: int
    mask: int
    known: set[int | tuple[int, ...]] = field(default_factory=set[int | tuple[int, ...]])
    listed: Any = None
    """Whether a code of a few bits is known, for each."""

    def learn(self, held: int | tuple[int, ...]) -> None:
        """Remembers what the variable may hold. Raises `Unlawful` where no value is packed so."""
        words = held if isinstance(held, tuple) else (held,)
        again = [0] * len(words)
        part = Part(0, 0)
        try:
            value = read(self.kind, words, part)
            lawful = is_value(value, self.kind)
            if lawful:
                write(self.kind, value, again, part)
        except (IndexError, ValueError, KeyError, AssertionError):
            # A code that no value has leads nowhere: behind the last variant, or the last word.
            lawful = False
        if not lawful or again != [*words]:
            raise Unlawful("it holds something that is no state of this spec")
        if len(self.known) == MOST_KNOWN:
            self.known.clear()
        self.known.add(held)

    def look_at(self, codes: Any) -> None:
        """Sees to it that the variable holds each of these codes. Raises `Unlawful`."""
        if self.listed is not None:
            codes = codes[~self.listed[codes]]
        if not codes.size:
            return
        for code in np.unique(codes).tolist():
            if code not in self.known:
                self.learn(code)
            if self.listed is not None:
                self.listed[code] = True

    def look_at_rows(self, rows: Any) -> None:
        """The same for words, a row for each state."""
        for row in np.unique(rows, axis=0).tolist():
            if tuple(row) not in self.known:
                self.learn(tuple(row))


class Lawful:
    """Tells the states of a layout from other words."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._small: list[_Held] = []
        self._large: list[_Held] = []
        # The bits that no variable has; of these, only the one that says that a state is there is
        # set.
        free = [MASK] * layout.words
        for kind, part in zip(layout.types, layout.places, strict=True):
            match shape(kind):
                case Small(bits=width):
                    mask = (1 << width) - 1
                    held = _Held(kind, part.word, 1, part.shift, mask)
                    if width <= LISTED:
                        held.listed = np.zeros(1 << width, bool)
                    self._small.append(held)
                    free[part.word] &= ~(mask << part.shift)
                case large:
                    self._large.append(_Held(kind, part.word, large.words, 0, MASK))
                    for word in range(part.word, part.word + large.words):
                        free[word] = 0
        self._free = np.array(free, np.uint64)
        self._rest = np.array([OCCUPIED, *[0] * (layout.words - 1)], np.uint64)

    def state(self, words: Sequence[int]) -> State:
        """The state that has these words. Raises `Unlawful` if no state has them."""
        if len(words) != self._layout.words:
            raise Unlawful("it holds a part of a state")
        self.look_at(struct.pack(f"={len(words)}Q", *words))
        return self._layout.decode(words)

    def look_at(self, data: bytes) -> None:
        """Sees to it that some bytes are states, one after the other. Raises `Unlawful`."""
        size = self._layout.words
        if len(data) % (WORD // 8 * size):
            raise Unlawful("it holds a part of a state")
        rows = np.frombuffer(data, np.uint64).reshape(-1, size)
        if ((rows & self._free) != self._rest).any():
            raise Unlawful("it holds something that is no state of this spec")
        for place in self._small:
            shift, mask = np.uint64(place.shift), np.uint64(place.mask)
            place.look_at(rows[:, place.word] >> shift & mask)
        for place in self._large:
            place.look_at_rows(rows[:, place.word : place.word + place.words])
