"""Records: the bytes that partitions keep and send, a head and packed states behind it.

A partition is an iterator of records, never of states, and no record holds anything but numbers and
packed states (and at the end of a task its account). It does not know who makes them.
"""

from __future__ import annotations

import ctypes
import json
import struct
from enum import IntEnum
from typing import Any, NamedTuple

from fencepost.checker.native.machine.worker_context import Packed, Reported
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.spark.watching import Sight
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

HEAD = struct.Struct("<IIQ")
"""Kind, level, and a number: that of the owner, unless the kind says otherwise. The states behind
it stay aligned.
"""
KEY = struct.Struct("!q")
"""The number of a task, as Spark reads it."""


class Kind(IntEnum):
    """What a record holds."""

    STATES = 1
    """States of the level: they have been seen, and those of the last level will be expanded."""
    SEEN = 2
    """States of the level which have been seen; some of them lie outside a constraint."""
    FRONTIER = 3
    """Those among `SEEN` that lie inside all constraints."""
    SUCCESSORS = 4
    """Successors of the level before, on their way to their owner."""
    END = 5
    """A task has sent all; the number says how many states came from it to the task that reads
    this. Behind it, for one of those tasks, what the first one found."""
    PARCEL = 6
    """Successors, as `SUCCESSORS`, in a file; behind the head, where (`parcels`)."""


KEPT = (Kind.STATES, Kind.SEEN)
"""The records that make up the visited set."""
EXPANDED = (Kind.STATES, Kind.FRONTIER)
"""The records whose states are expanded."""
SAVED = (Kind.STATES, Kind.SEEN, Kind.FRONTIER)
"""The records that outlive a job, and may come from a checkpoint: states, and nothing else."""


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
    """What a task that merges has found for an owner: new states, and those of them inside the
    constraints.

    ``expanded`` is what one task that expands has handed on, and stands with the first owner of the
    task that merges. ``native`` and what follows are as there; ``table_bytes`` is the size of the
    owner's table.
    """

    seen: int
    kept: int
    tally: bytes
    reports: list[Reported]
    expanded: Expanded | None
    native: float
    process: tuple[int, int]
    sight: Sight = Sight()
    table_bytes: int = 0


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
    """How many states of ``words`` words a record holds. Raises `Broken` if the last one is cut."""
    number, rest = divmod(len(data) - HEAD.size, 8 * words)
    if rest or number < 0:
        raise Broken(f"a record of {len(data)} bytes does not hold states of {words} words")
    return number


class Broken(Exception):
    """A record does not hold what its head says."""


# ---------------------------------------------------------------- the account of a task


def written(found: Expanded) -> bytes:
    """What a task found, as the bytes behind the head of an `END`: JSON, so that reading it makes
    numbers and texts of it and nothing else.
    """
    parts = found._replace(tally=b"", sight=Sight())
    return json.dumps([*parts[:3], found.tally.hex(), *parts[4:9], found.sight]).encode()


def read(data: bytes) -> Expanded:
    """What `written` has made, behind a head. Raises `Broken` where it is anything else."""
    try:
        states, transitions, stuck, tally, reports, sent, seconds, native, process, sight = (
            json.loads(data[HEAD.size :])
        )
        found, enough = sight
        process_number, compiled = process
        return Expanded(
            _number(states),
            _number(transitions),
            _number(stuck),
            bytes.fromhex(tally),
            [
                Reported(_number(slot), _number(site), _packed(state), _packed(before))
                for slot, site, state, before in reports
            ],
            _number(sent),
            float(seconds),
            float(native),
            (_number(process_number), _number(compiled)),
            Sight(
                tuple((_number(n), tuple(_number(v) for v in values)) for n, values in found),
                enough is True,
            ),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise Broken(f"the account of a task cannot be read: {error}") from None


def _packed(words: Any) -> Packed | None:
    return None if words is None else tuple(_number(word) for word in words)


def _number(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no integer")
    return value


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of all tasks of a level: to make level ``level``.

    ``frontier`` says how many states each owner has to expand, ``seen`` how many it has seen.
    ``rebuild``: the visited set is among the records, and no table is looked for. ``attempt`` tells
    the jobs of a search apart, also where they make the same level. ``observer`` looks on.
    ``plan``: how tables keep states, None: whole.
    """

    level: int
    deadlock: bool
    properties: frozenset[int]
    frontier: tuple[int, ...]
    seen: tuple[int, ...]
    rebuild: bool
    attempt: int
    observer: Observer | None = None
    plan: Plan | None = None


class Incomplete(Exception):
    """A task did not get what it was to get."""
