"""The surroundings of an evaluation: output, registers, statistics, files."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any


def _silent(text: str) -> None:
    """Discards printed text."""


def _no_statistics(name: str) -> Any:
    return None


def _unreadable(file: str) -> None:
    """Allows no file to be read."""


class Runtime:
    """The surroundings of an evaluation. The checker replaces the attributes.

    - ``write`` gets the text of Print and PrintT.
    - ``registers`` holds the values of TLCSet.
    - ``statistic`` returns the value of TLCGet for a name, or None if there is none.
    - ``trace`` returns the states up to the current one as records, or None.
    - ``read`` returns the text of a file, or None if the file may not be read; it raises `OSError`.
    - ``files`` are the files that were read, in order.
    - ``environment`` is the process environment, or None if it may not be read.
    - ``random`` is used by RandomElement and Randomization.
    """

    def __init__(self, seed: int = 0) -> None:
        self.write: Callable[[str], None] = _silent
        self.registers: dict[Any, Any] = {}
        self.statistic: Callable[[str], Any] = _no_statistics
        self.trace: Callable[[], Any] | None = None
        self.files: dict[str, None] = {}
        self.read: Callable[[str], str | None] = _unreadable
        self.environment: Mapping[str, str] | None = None
        self.random = random.Random(seed)
