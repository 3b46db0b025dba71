"""Lines become events of histories, and histories verdicts: what runs on executors.

What the lines mean and how a history is judged is the same code as without Spark. It does not know
where lines come from, nor how they get to the task that judges their history.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from fencepost.checker.printing.json_values import Json
from fencepost.checker.request import Unsupported
from fencepost.checker.resources import roomy, without_collection
from fencepost.checker.systems.conform.lines import (
    MAX_BYTES,
    TOO_LONG,
    History,
    Key,
    LocatedEvent,
    Reader,
    Standing,
)
from fencepost.checker.systems.conform.many import in_machine_code
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import InterpreterJudge
from fencepost.checker.systems.conform.verdicts import Effort, Judge, Judgement
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Recording
from fencepost.spec.records import dataclass

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

EVENT, PROBLEM, BLOCK = "event", "problem", "block"
"""Kinds of rows: a line that belongs to a history, one that cannot be read, and how much a block of
a file has: lines, and bytes.
"""
NEAR_BYTES = 1 << 22
"""How many bytes of lines are looked at to find those that belong together."""
APART = b"\0"
"""What stands between the parts of a line as it is given to `located`: no URL has it."""
Row: TypeAlias = tuple[Any, ...]
Standings: TypeAlias = "tuple[tuple[Standing, int], ...]"
Said: TypeAlias = "tuple[int, tuple[tuple[int, str], int, tuple[Json, ...], Standings] | None]"
"""The number of a line; the source of its event, which event it is, what it says of its fields, and
the orders that it stands in. None: it cannot be read.
"""


@dataclass(frozen=True, slots=True)
class Task:
    """What tasks have in common; ``numbers`` are those of the files."""

    model: ir.Model
    recording: Recording
    effort: Effort
    numbers: Mapping[str, int]


Shipped: TypeAlias = "Broadcast[Task]"


@lru_cache(maxsize=1)
def _made(shipped: Shipped) -> tuple[MappedModel, Judge]:
    """The mapping, and what judges histories, as this process has made it of a task; it is kept for
    the tasks that follow.
    """
    mapped = MappedModel(shipped.value.model, shipped.value.recording)
    try:
        return mapped, in_machine_code(mapped)
    except (ImportError, OSError, Unsupported):
        # An executor may lack the library that makes machine code, and the model what it wants.
        return mapped, InterpreterJudge(mapped)


def located(shipped: Shipped, given: Iterable[bytes]) -> Iterator[Row]:
    """The rows of lines: each its file, where its block begins, how many bytes it has, and these
    unless they are too many. The lines of a block come in order.

    Lines of one history that are near each other make one row, or a few where they name it in
    several ways: what they say (`Said`), all in the place of the first line that is near; the
    number of the first of them (``first``), and (``size``) how many they are. Fields that the
    recording does not name are gone.
    """
    numbers = shipped.value.numbers
    recording = shipped.value.recording
    reader = Reader(recording)
    blocks: dict[tuple[int, int], list[int]] = {}
    at: tuple[bytes, bytes] | None = None
    file = block = 0
    read = [0, 0]
    near = _Near(recording.key is not None)
    with without_collection():
        for line in given:
            path, begin, size, data = line.split(APART, 3)
            if at != (path, begin) or near.is_full:
                yield from near.rows()
                at = path, begin
                file, block = numbers[path.decode()], int(begin)
                read = blocks.setdefault((file, block), [0, 0])
            length = int(size)
            read[0] += 1
            read[1] += length + 1
            place = file, block, read[0]
            if length > MAX_BYTES:
                yield PROBLEM, *place, None, None, None, TOO_LONG, None, 0
                continue
            if not data.strip():
                continue
            one, why = reader.located(data)
            if why:
                yield PROBLEM, *place, None, None, None, why, None, 0
            if one is not None:
                near.add(one, place, length)
        yield from near.rows()
    for (file, block), (count, bytes_) in blocks.items():
        yield BLOCK, file, block, count, None, None, None, None, None, bytes_


@roomy
def _judged(judging: Judge, history: History, effort: Effort) -> Judgement:
    return judging.judge(history, effort)


class _Near:
    """Lines of a block that are near each other, by what they say of their history."""

    def __init__(self, keyed: bool) -> None:
        self._keyed = keyed
        self._found: dict[tuple[Key, tuple[Key, ...]], list[Said]] = {}
        self._place: tuple[int, int, int] | None = None
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether they are to become rows before more are added."""
        return self._bytes >= NEAR_BYTES

    def add(self, one: LocatedEvent, place: tuple[int, int, int], size: int) -> None:
        """Adds a line of ``size`` bytes."""
        self._place = self._place or place
        line, number = one.line, place[2]
        said = None if line is None else (one.source, line.event, line.said, one.standings)
        self._found.setdefault((one.key, one.by), []).append((number, said))
        self._bytes += size

    def rows(self) -> Iterator[Row]:
        """The rows that they make; then there are none."""
        place = self._place or ()
        for (key, by), lines in self._found.items():
            named = None if key is None and self._keyed else written(key)
            names = [None if one is None else written(one) for one in by]
            data = pickle.dumps(lines, pickle.HIGHEST_PROTOCOL)
            yield EVENT, *place, named, names, data, None, lines[0][0], len(lines)
        self._found.clear()
        self._place, self._bytes = None, 0


def _in_order(rows: Iterable[Row]) -> Iterator[Said]:
    """The lines of rows of one history, which come by their places, in order."""
    for _, near in groupby(rows, itemgetter(1, 2, 3)):
        lines: list[Said] = [line for row in near for line in pickle.loads(bytes(row[-1]))]
        lines.sort(key=itemgetter(0))
        yield from lines


def judged(shipped: Shipped, given: Iterable[Row]) -> Iterator[Row]:
    """The verdicts on histories. Rows come by histories, those of a history by their places: the
    key, the place, and lines.
    """
    (mapped, judging), effort = _made(shipped), shipped.value.effort
    most = effort.lines(mapped.recording)
    reader = Reader(mapped.recording)
    with without_collection():
        for key, rows in groupby(given, itemgetter(0)):
            history = History(read(key))
            for _, said in _in_order(rows):
                if said is None:
                    history.unread += 1
                else:
                    history.add(reader.again(*said), most)
            yield _row(mapped, key, _judged(judging, history, effort))


def _row(mapped: MappedModel, key: str, one: Judgement) -> Row:
    return (
        key,
        "" if one.key is None else str(one.key),
        one.verdict,
        one.total,
        one.read,
        one.states,
        one.tolerated,
        list(one.cuts),
        list(one.instead),
        [(w.source, w.read, w.total, w.line and w.line.text) for w in one.waiting],
        [(layer.ahead, layer.states, layer.ended) for layer in one.layers],
        [one.taken[number] for number in range(len(mapped.model.actions))],
        sorted(one.used),
        sorted(one.seen),
        sorted(one.marked),
        zlib.compress(pickle.dumps(one, pickle.HIGHEST_PROTOCOL), 1),
    )


def unpacked(data: bytes) -> Judgement:
    """The verdict that a row holds."""
    made: Judgement = pickle.loads(zlib.decompress(data))
    return made


# ---------------------------------------------------------------- keys

_DIGITS = str.maketrans("0123456789", "9876543210")


def written(key: Key) -> str:
    """A key as a text; texts are ordered as the keys are: numbers, then texts."""
    if key is None:
        return ""
    if isinstance(key, str):
        return f"2{key}"
    digits = str(abs(key))
    if key >= 0:
        return f"1{len(digits):05d}{digits}"
    return f"0{99_999 - len(digits):05d}{digits.translate(_DIGITS)}"


def read(text: str) -> Key:
    """The key that is written so."""
    match text[:1]:
        case "":
            return None
        case "2":
            return text[1:]
        case "1":
            return int(text[6:])
        case _:
            return -int(text[6:].translate(_DIGITS))
