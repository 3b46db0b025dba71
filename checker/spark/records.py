"""Records: the bytes that partitions keep and exchange, a header followed by packed states.

A partition is an iterator of records. Records contain only numbers and packed states, except that a
record at the end of a task's output contains the task's account. The account includes the
observations of `ir.Observe`, for the driver's observer. A task has a copy of that observer, made at
the start of the level. If the copy raises an exception, the task stops before it completes the
observed step; the driver's observer raises it as well when it receives the task's observations.
"""

from __future__ import annotations

import ctypes
import json
import struct
from enum import IntEnum
from typing import Any, NamedTuple

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context, Packed, SlotReport
from fencepost.checker.native.visited.plan import Plan
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer


class Sight(NamedTuple):
    """The observations of a task, sorted. ``enough`` is set if the observer stopped the task
    early.
    """

    seen: tuple[tuple[int, tuple[int, ...]], ...] = ()
    enough: bool = False


class Watch:
    """Passes the observations of machine code in ``context`` to ``observer``, which may be None."""

    def __init__(self, context: Context, memory: Memory, observer: Observer | None) -> None:
        self._seen: set[tuple[int, tuple[int, ...]]] = set()
        self.enough = False
        if observer is None:
            return

        def see(number: int, values: tuple[int, ...]) -> None:
            try:
                self._seen.add((number, values))
                observer(number, values)
            except BaseException:
                # Machine code cannot propagate exceptions. The driver's observer raises the
                # exception again.
                self.enough = True
                context.words[Word.STOP] = 1

        context.watch(memory, see)

    @property
    def sight(self) -> Sight:
        """The observations so far."""
        return Sight(tuple(sorted(self._seen)), self.enough)


HEAD = struct.Struct("<IIQ")
"""The kind, the level, and the number of the owner, unless the kind defines the number differently.
The states that follow the header are aligned.
"""
KEY = struct.Struct("!q")
"""The number of a task, in the byte order that Spark uses."""


class Kind(IntEnum):
    """The kinds of records."""

    STATES = 1
    """Visited states of the level. Those of the last level will be expanded."""
    SEEN = 2
    """Visited states of the level, including states that violate a constraint."""
    FRONTIER = 3
    """The subset of the `SEEN` states that satisfies all constraints."""
    SUCCESSORS = 4
    """Successors of the previous level's states, for their owner."""
    END = 5
    """The end of a task's output for one reading task; the number counts the states sent to that
    reader. One of the readers also receives the account.
    """
    PARCEL = 6
    """Like `SUCCESSORS`, but with a reference to a file (`parcels`) instead of the states."""


KEPT = (Kind.STATES, Kind.SEEN)
"""The kinds of records that make up the visited set."""
EXPANDED = (Kind.STATES, Kind.FRONTIER)
"""The kinds of records whose states are expanded."""
SAVED = (Kind.STATES, Kind.SEEN, Kind.FRONTIER)
"""The kinds of records that outlive a job and are saved in checkpoints."""


class Head(NamedTuple):
    """The header of a record."""

    kind: Kind
    level: int
    number: int


class Expansion(NamedTuple):
    """The account of an expanding task. ``sent`` counts the states sent to owners.

    ``seconds`` is processor time, and ``native`` the part of it spent in machine code. ``process``
    is the id of the process and its number of compilations. ``sight`` holds the observations.
    """

    states: int
    transitions: int
    stuck: int
    tally: bytes
    reports: list[SlotReport]
    sent: int
    seconds: float
    native: float
    process: tuple[int, int]
    sight: Sight = Sight()


class MergeResult(NamedTuple):
    """The result of a merging task for one owner: the number of new states, and how many of them
    satisfy the constraints.

    ``expanded`` is the account of an expanding task; a merging task reports it with its first
    owner. ``native``, ``process`` and ``sight`` are as in `Expansion`. ``table_bytes`` is the size
    of the table.
    """

    seen: int
    kept: int
    tally: bytes
    reports: list[SlotReport]
    expanded: Expansion | None
    native: float
    process: tuple[int, int]
    sight: Sight = Sight()
    table_bytes: int = 0


def record(kind: Kind, level: int, number: int = 0, payload: bytes = b"") -> bytes:
    """Returns a record with these parts."""
    return HEAD.pack(kind, level, number) + payload


def head(data: bytes) -> Head:
    """Returns the header of a record."""
    kind, level, number = HEAD.unpack_from(data)
    return Head(Kind(kind), level, number)


def address(data: bytes) -> int:
    """Returns the address of a record's states, which is valid as long as the record exists."""
    start = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert start is not None
    return start + HEAD.size


def count(data: bytes, words: int) -> int:
    """Returns the number of states, of ``words`` words each, in a record. Raises `Broken` if the
    last state is incomplete.
    """
    number, rest = divmod(len(data) - HEAD.size, 8 * words)
    if rest or number < 0:
        raise Broken(f"a record of {len(data)} bytes does not hold states of {words} words")
    return number


class Broken(Exception):
    """A record does not match its header."""


# ---------------------------------------------------------------- the account of a task


def written(account: Expansion) -> bytes:
    """Serializes an account as JSON, so that reading it can only create numbers and strings."""
    parts = account._replace(tally=b"", sight=Sight())
    return json.dumps([*parts[:3], account.tally.hex(), *parts[4:9], account.sight]).encode()


def read(data: bytes) -> Expansion:
    """Reads an account from a record. Raises `Broken`."""
    try:
        states, transitions, stuck, tally, reports, sent, seconds, native, process, sight = (
            json.loads(data[HEAD.size :])
        )
        sights, enough = sight
        process_number, compiled = process
        return Expansion(
            _number(states),
            _number(transitions),
            _number(stuck),
            bytes.fromhex(tally),
            [
                SlotReport(_number(slot), _number(site), _packed(state), _packed(before))
                for slot, site, state, before in reports
            ],
            _number(sent),
            float(seconds),
            float(native),
            (_number(process_number), _number(compiled)),
            Sight(
                tuple((_number(n), tuple(_number(v) for v in values)) for n, values in sights),
                enough is True,
            ),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise Broken(f"the account of a task cannot be read: {error}") from None


def _packed(words: Any) -> Packed | None:
    return None if words is None else tuple(_number(word) for word in words)


def _number(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not an integer")
    return value


@dataclass(frozen=True, slots=True)
class Order:
    """The instruction to compute level ``level``, given to all tasks of that level."""

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
    """A task did not receive its complete input."""
