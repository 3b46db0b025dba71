"""Whether words from a file are packed states: machine code trusts its states, so what does not
come from machine code is looked at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.checker.layout import MASK, OCCUPIED, WORD, Layout, Part, Small, read, shape, write
from fencepost.spec.core.types import State, Type, is_value

MOST_KNOWN = 1 << 16
"""At most this many values of a variable are remembered."""


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


class Lawful:
    """Tells the states of a layout from other words."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._small: list[_Held] = []
        self._large: list[_Held] = []
        # The bits that no variable has; of these, only the one that says that a state is there is
        # set.
        self._free = [MASK] * layout.words
        for kind, part in zip(layout.types, layout.places, strict=True):
            match shape(kind):
                case Small(bits=width):
                    mask = (1 << width) - 1
                    self._small.append(_Held(kind, part.word, 1, part.shift, mask))
                    self._free[part.word] &= ~(mask << part.shift)
                case large:
                    self._large.append(_Held(kind, part.word, large.words, 0, MASK))
                    for word in range(part.word, part.word + large.words):
                        self._free[word] = 0
        self._rest = (OCCUPIED, *[0] * (layout.words - 1))

    def state(self, words: Sequence[int]) -> State:
        """The state that has these words. Raises `Unlawful` if no state has them."""
        if len(words) != self._layout.words:
            raise Unlawful("it holds a part of a state")
        self._look_at(tuple(words))
        return self._layout.decode(words)

    def look_at(self, data: bytes) -> None:
        """Sees to it that some bytes are states, one after the other. Raises `Unlawful`."""
        size = self._layout.words
        if len(data) % (WORD // 8 * size):
            raise Unlawful("it holds a part of a state")
        words = memoryview(data).cast("Q")
        for place in range(0, len(words), size):
            self._look_at(tuple(words[place : place + size]))

    def _look_at(self, words: tuple[int, ...]) -> None:
        if tuple(map(int.__and__, words, self._free)) != self._rest:
            raise Unlawful("it holds something that is no state of this spec")
        for place in self._small:
            code = words[place.word] >> place.shift & place.mask
            if code not in place.known:
                place.learn(code)
        for place in self._large:
            held = words[place.word : place.word + place.words]
            if held not in place.known:
                place.learn(held)
