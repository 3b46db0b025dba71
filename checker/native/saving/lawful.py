"""Checks whether words from a file are packed states. Machine code trusts its states, so words from
elsewhere must be checked first.

`state` defines what a state is. Machine code makes the same check for many states at a time.
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
    """Returns the state that these words encode. Raises `Unlawful` if they encode none."""
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
    """Returns the LLVM text of the kernel that recognises states of a layout."""
    unit = Unit("lawful")
    define(unit, layout)
    return unit.text()


def look_at(code: Code, layout: Layout, data: bytes) -> None:
    """Checks that ``data`` is a sequence of states. ``code`` is the compiled code of `text`. Raises
    `Unlawful`.
    """
    count, rest = divmod(len(data), WORD // 8 * layout.words)
    if rest:
        raise Unlawful("it contains an incomplete state")
    valid = ctypes.c_int64(0)
    # The kernel gets the address of the bytes, so nothing is copied.
    code.lawful(data, count, ctypes.addressof(valid))
    if valid.value != count:
        raise Unlawful("it contains data that is not a state of this spec")
