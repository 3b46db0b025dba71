"""Records: the bytes that partitions keep and exchange, a header followed by packed states.

A partition is an iterator of records. Records contain only numbers and packed states, or, at the
end of a task's output, its account. That holds the observations of `ir.Observe`, for the driver's
observer: a task has a copy of the observer from the start of the level. When the copy raises, the
task stops before the observed step is completed; the driver's observer will raise as well when it
receives the task's observations.
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
    """The observations of a task, ascending. ``enough``: the task stopped early."""

    seen: tuple[tuple[int, tuple[int, ...]], ...] = ()
    enough: bool = False


class Watch:
    """Forwards observations of machine code in a context; ``observer`` may be None."""

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
"""Kind, level, and the owner's number unless the kind defines it otherwise. The states after it are
aligned.
"""
KEY = struct.Struct("!q")
"""The number of a task, in Spark's byte order."""


class Kind(IntEnum):
    """The kinds of records."""

    STATES = 1
    """Visited states of the level; those of the last level will be expanded."""
    SEEN = 2
    """Visited states of the level, including states outside a constraint."""
    FRONTIER = 3
    """The states of `SEEN` within all constraints."""
    SUCCESSORS = 4
    """Successors of the previous level, for their owner."""
    END = 5
    """The end of a task's output; the number counts its states for the reading task. One reader
    also gets the task's account.
    """
    PARCEL = 6
    """Like `SUCCESSORS`, with a reference to a file (`parcels`) instead of the states."""


KEPT = (Kind.STATES, Kind.SEEN)
"""The records of the visited set."""
EXPANDED = (Kind.STATES, Kind.FRONTIER)
"""The records of states that are expanded."""
SAVED = (Kind.STATES, Kind.SEEN, Kind.FRONTIER)
"""The records that outlive a job and are saved in checkpoints."""


class Head(NamedTuple):
    """The header of a record."""

    kind: Kind
    level: int
    number: int


class Expansion(NamedTuple):
    """The result of an expanding task; ``sent`` counts states sent to owners.

    ``seconds`` is processor time, ``native`` the part spent in machine code. ``process`` is the
    process id and its number of compilations; ``sight`` holds observations.
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
    """The result of a merging task for an owner: the number of new states, and of those within the
    constraints.

    ``expanded`` is the account of an expanding task, reported with the first owner of a merging
    task. ``native`` and the following fields are as in `Expansion`; ``table_bytes`` is the size of
    the table.
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
    """A record with these parts."""
    return HEAD.pack(kind, level, number) + payload


def head(data: bytes) -> Head:
    """The header of a record."""
    kind, level, number = HEAD.unpack_from(data)
    return Head(Kind(kind), level, number)


def address(data: bytes) -> int:
    """The address of a record's states, valid while the record exists."""
    start = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert start is not None
    return start + HEAD.size


def count(data: bytes, words: int) -> int:
    """The number of states of ``words`` words in a record. Raises `Broken` if the last is
    incomplete.
    """
    number, rest = divmod(len(data) - HEAD.size, 8 * words)
    if rest or number < 0:
        raise Broken(f"a record of {len(data)} bytes does not hold states of {words} words")
    return number


class Broken(Exception):
    """A record does not match its header."""


# ---------------------------------------------------------------- the account of a task


def written(account: Expansion) -> bytes:
    """Serializes an account as JSON, so that reading it only creates numbers and strings."""
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
    """The task of a level, given to all its tasks: to compute level ``level``.

    ``frontier`` is the number of states to expand per owner, ``seen`` the number of visited states.
    ``rebuild``: the visited set is in the records, and existing tables are ignored. ``attempt`` is
    unique among the jobs of a search. ``observer`` receives observations. ``plan`` defines how
    tables store states; None stores them whole.
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
    """A task did not receive all its input."""
