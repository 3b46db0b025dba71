"""Checks that words from a file are packed states: machine code trusts its states, so words from
elsewhere are checked first.

`state` defines what a state is; machine code makes the same check for many at a time.
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
    """Words that do not encode a state of the model."""


def state(layout: Layout, words: Sequence[int]) -> State:
    """The state with these words. Raises `Unlawful` if there is none."""
    if len(words) != layout.words:
        raise Unlawful("it contains an incomplete state")
    try:
        decoded = layout.decode(words)
        lawful = all(map(is_value, decoded, layout.types)) and layout.encode(decoded) == tuple(
            words
        )
    except (IndexError, ValueError, KeyError, AssertionError):
        # An invalid code points past the last variant or the last word.
        decoded, lawful = (), False
    if not lawful:
        raise Unlawful("it contains data that is not a state of this spec")
    return decoded


def text(layout: Layout) -> str:
    """The machine code that recognises states of a layout."""
    unit = Unit("lawful")
    define(unit, layout)
    return unit.text()


def look_at(code: Code, layout: Layout, data: bytes) -> None:
    """Checks that some bytes are a sequence of states; ``code`` is the code of `text`. Raises
    `Unlawful`.
    """
    count, rest = divmod(len(data), WORD // 8 * layout.words)
    if rest:
        raise Unlawful("it contains an incomplete state")
    valid = ctypes.c_int64(0)
    # The address of the bytes: nothing is copied.
    code.lawful(data, count, ctypes.addressof(valid))
    if valid.value != count:
        raise Unlawful("it contains data that is not a state of this spec")
