"""Whether words from a file are packed states: machine code trusts its states, so what does not
come from machine code is looked at first.

What a state is, `state` says. Machine code finds out the same by itself, for many at a time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from fencepost.checker.layout import WORD, Layout
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.codegen.lawful import define
from fencepost.checker.native.machine.build import Code
from fencepost.spec.core.types import State, is_value


class Unlawful(Exception):
    """Words that are no state of the model."""


def state(layout: Layout, words: Sequence[int]) -> State:
    """The state that has these words. Raises `Unlawful` if no state has them."""
    if len(words) != layout.words:
        raise Unlawful("it holds a part of a state")
    try:
        found = layout.decode(words)
        lawful = all(map(is_value, found, layout.types)) and layout.encode(found) == tuple(words)
    except (IndexError, ValueError, KeyError, AssertionError):
        # A code that no value has leads nowhere: behind the last variant, or the last word.
        lawful = False
    if not lawful:
        raise Unlawful("it holds something that is no state of this spec")
    return found


def text(layout: Layout) -> str:
    """The machine code that tells the states of a layout from other words."""
    unit = Unit("lawful")
    define(unit, layout)
    return unit.text()


def look_at(code: Code, layout: Layout, data: bytes) -> None:
    """Sees to it that some bytes are states, one after the other; ``code`` is that of `text`.
    Raises `Unlawful`.
    """
    count, rest = divmod(len(data), WORD // 8 * layout.words)
    if rest:
        raise Unlawful("it holds a part of a state")
    # Not an array: of bytes their address is enough, and nothing is copied.
    place, found = ctypes.cast(data, ctypes.c_void_p), ctypes.c_int64(0)
    code.lawful(place, count, ctypes.addressof(found))
    if found.value != count:
        raise Unlawful("it holds something that is no state of this spec")
