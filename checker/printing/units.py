"""Parses limits, and formats sizes, durations and rates."""

from __future__ import annotations

import re
import sys

from fencepost.checker.resources import memory_bytes

MAX_WORKERS = 256
MIN_MEMORY = 64 << 20
"""A search needs at least this many bytes of memory."""
SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def memory(text: str) -> int:
    """Parses ``4G``, ``512M``, ``1.5G`` or a number of bytes. ``80%`` means that share of the free
    memory.

    Raises `ValueError` with a sentence for the user.
    """
    share = re.fullmatch(r"([0-9]{1,2}(?:\.[0-9]{1,6})?|100)%", text.strip())
    if share is not None:
        return _of_free_memory(text, float(share[1]) / 100)
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGT]?)(?:i?B)?", text.strip(), re.I)
    if match is None:
        raise ValueError(f'"{text}" is not a size like 4G, 512M or 80%')
    return _enough(text, int(float(match[1]) * (1 << UNITS[match[2].upper()])))


def _of_free_memory(text: str, share: float) -> int:
    free = memory_bytes()
    if free == sys.maxsize:
        raise ValueError(f'"{text}" is unknown: this system does not report its memory')
    return _enough(text, int(share * free))


def _enough(text: str, size: int) -> int:
    if size < MIN_MEMORY:
        raise ValueError(
            f'"{text}" is too little; at least {MIN_MEMORY >> 20}M are needed to start'
        )
    return size


def duration(text: str) -> float:
    """Parses ``90``, ``90s``, ``1.5m`` or ``2h`` as seconds.

    Raises `ValueError` with a sentence for the user.
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smh]?)", text.strip())
    if match is None:
        raise ValueError(f'"{text}" is not a duration like 90s, 5m or 1h')
    return float(match[1]) * SECONDS[match[2]]


def size(count: int) -> str:
    """Formats a number of bytes, such as ``345 MB``."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def rate(states: int, seconds: float) -> str:
    """Formats a rate, such as ``600 states/s`` or ``420k states/s``."""
    count = round(states / seconds) if seconds else 0
    return f"{count:,} states/s" if count < 10_000 else f"{count // 1000:,}k states/s"
