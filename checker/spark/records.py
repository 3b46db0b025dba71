"""Records: the bytes that partitions keep and send, a head and packed states behind it.

A partition is an iterator of records, never of states, and no record holds anything but numbers and
packed states (and at the end of a task its account). It does not know who makes them.
"""

from __future__ import annotations

import ctypes
import struct
from enum import IntEnum
from typing import NamedTuple

from fencepost.checker.native.contexts import Reported
from fencepost.checker.spark.watching import Sight

HEAD = struct.Struct("<IIQ")
"""Kind, level, and a number that depends on the kind. The states behind it stay aligned."""
KEY = struct.Struct("!q")
"""The number of an owner, as Spark reads it."""


class Kind(IntEnum):
    """What a record holds. The number in the head is 0, unless it says otherwise."""

    STATES = 1
    """States of the level: they have been seen, and those of the last level will be expanded."""
    SEEN = 2
    """States of the level which have been seen; some of them lie outside a constraint."""
    FRONTIER = 3
    """Those among `SEEN` that lie inside all constraints."""
    SUCCESSORS = 4
    """Successors of the level before, on their way to their owner."""
    END = 5
    """A task has sent all; the number says how many states came from it to this owner. Behind it,
    for one of the owners, what the task found."""


KEPT = (Kind.STATES, Kind.SEEN)
"""The records that make up the visited set."""
EXPANDED = (Kind.STATES, Kind.FRONTIER)
"""The records whose states are expanded."""


class Head(NamedTuple):
    """The head of a record."""

    kind: Kind
    level: int
    number: int


class Expanded(NamedTuple):
    """What a task that expands has found; ``sent`` counts the states that it sent to owners.

    ``seconds`` are those of a processor, ``native`` those of them in machine code; ``process`` is
    the number of the process, and how often it has begun to make code; ``sight`` is what it saw.
    """

    states: int
    transitions: int
    stuck: int
    tally: bytes
    reports: list[Reported]
    sent: int
    seconds: float
    native: float
    process: tuple[int, int]
    sight: Sight = Sight()


class Merged(NamedTuple):
    """What a task that merges has found: new states, and those of them inside the constraints.

    ``expanded`` is what one task that expands has handed on. The last fields are as there.
    """

    seen: int
    kept: int
    tally: bytes
    reports: list[Reported]
    expanded: Expanded
    seconds: float
    native: float
    process: tuple[int, int]
    sight: Sight = Sight()


def record(kind: Kind, level: int, number: int = 0, payload: bytes = b"") -> bytes:
    """A record of these parts."""
    return HEAD.pack(kind, level, number) + payload


def head(data: bytes) -> Head:
    """The head of a record."""
    kind, level, number = HEAD.unpack_from(data)
    return Head(Kind(kind), level, number)


def address(data: bytes) -> int:
    """Where the states of a record are in memory, for as long as the record lives."""
    start = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert start is not None
    return start + HEAD.size


def count(data: bytes, words: int) -> int:
    """How many states of ``words`` words a record holds."""
    return (len(data) - HEAD.size) // (8 * words)
