"""Implements the work of executors: converts lines to events of histories, and judges histories.

Lines are interpreted and histories are judged by the same code as without Spark.
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
"""The kinds of rows: lines that belong to a history, an unreadable line, and the number of lines
and bytes in a block of a file.
"""
NEAR_BYTES = 1 << 22
"""Number of bytes after which a group of adjacent lines is complete. Lines of the same history
within a group form one row, or several rows.
"""
APART = b"\0"
"""The separator between the parts of a line that is passed to `located`. It cannot occur in a
URL.
"""
Row: TypeAlias = tuple[Any, ...]
Standings: TypeAlias = "tuple[tuple[Standing, int], ...]"
LineContent: TypeAlias = (
    "tuple[int, tuple[tuple[int, str], int, tuple[Json, ...], Standings] | None]"
)
"""The number of a line, followed by the source and number of its event, the values of its fields,
and its standings. If the line is unreadable, None takes the place of all these.
"""


@dataclass(frozen=True, slots=True)
class Task:
    """The common data of all tasks. ``numbers`` maps each file to its number."""

    model: ir.Model
    recording: Recording
    effort: Effort
    numbers: Mapping[str, int]


Shipped: TypeAlias = "Broadcast[Task]"


@lru_cache(maxsize=1)
def _made(shipped: Shipped) -> tuple[MappedModel, Judge]:
    """Returns the mapping and the judge of histories. They are cached for later tasks in this
    process.
    """
    mapped = MappedModel(shipped.value.model, shipped.value.recording)
    try:
        return mapped, in_machine_code(mapped)
    except (ImportError, OSError, Unsupported):
        # An executor may lack the library for machine code, or the model may not be supported.
        return mapped, InterpreterJudge(mapped)


def located(shipped: Shipped, lines_in: Iterable[bytes]) -> Iterator[Row]:
    """Yields the rows for some lines. Each line consists of its file, the start of its block, its
    size in bytes, and its data unless it is too large. The lines of a block must be in order.

    Lines of one history that are near each other form one row, or several rows if they name the
    history in several ways. A row contains the content of its lines (`LineContent`), the position
    of the first of these lines, the number of that line (``first``), and the count of lines
    (``size``). Fields that the recording does not name are dropped.
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
        for line in lines_in:
            path, begin, size, data = line.split(APART, 3)
            if at != (path, begin) or near.is_full:
                yield from near.rows()
                at = path, begin
                file, block = numbers[path.decode()], int(begin)
                read = blocks.setdefault((file, block), [0, 0])
            length = int(size)
            read[0] += 1
            read[1] += length + 1
            position = file, block, read[0]
            if length > MAX_BYTES:
                yield PROBLEM, *position, None, None, None, TOO_LONG, None, 0
                continue
            if not data.strip():
                continue
            event, why = reader.located(data)
            if why:
                yield PROBLEM, *position, None, None, None, why, None, 0
            if event is not None:
                near.add(event, position, length)
        yield from near.rows()
    for (file, block), (count, bytes_) in blocks.items():
        yield BLOCK, file, block, count, None, None, None, None, None, bytes_


@roomy
def _judged(judging: Judge, history: History, effort: Effort) -> Judgement:
    return judging.judge(history, effort)


class _Near:
    """Lines of a block that are near each other, grouped by the fields that name their history."""

    def __init__(self, keyed: bool) -> None:
        self._keyed = keyed
        self._found: dict[tuple[Key, tuple[Key, ...]], list[LineContent]] = {}
        self._place: tuple[int, int, int] | None = None
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the lines must be converted to rows before more lines are added."""
        return self._bytes >= NEAR_BYTES

    def add(self, event: LocatedEvent, position: tuple[int, int, int], size: int) -> None:
        """Adds a line of ``size`` bytes."""
        self._place = self._place or position
        line, number = event.line, position[2]
        content = None if line is None else (event.source, line.event, line.said, event.standings)
        self._found.setdefault((event.key, event.by), []).append((number, content))
        self._bytes += size

    def rows(self) -> Iterator[Row]:
        """Yields the rows of the lines, and removes the lines."""
        position = self._place or ()
        for (key, by), lines in self._found.items():
            named = None if key is None and self._keyed else written(key)
            names = [None if value is None else written(value) for value in by]
            data = pickle.dumps(lines, pickle.HIGHEST_PROTOCOL)
            yield EVENT, *position, named, names, data, None, lines[0][0], len(lines)
        self._found.clear()
        self._place, self._bytes = None, 0


def _in_order(rows: Iterable[Row]) -> Iterator[LineContent]:
    """Yields the lines in the rows of one history, in order. The rows must be ordered by
    position.
    """
    for _, near in groupby(rows, itemgetter(1, 2, 3)):
        lines: list[LineContent] = [line for row in near for line in pickle.loads(bytes(row[-1]))]
        lines.sort(key=itemgetter(0))
        yield from lines


def judged(shipped: Shipped, rows_in: Iterable[Row]) -> Iterator[Row]:
    """Yields the verdicts on histories. The rows must be grouped by history and ordered by
    position. A row consists of the key, the position, and lines.
    """
    (mapped, judging), effort = _made(shipped), shipped.value.effort
    limit = effort.lines(mapped.recording)
    reader = Reader(mapped.recording)
    with without_collection():
        for key, rows in groupby(rows_in, itemgetter(0)):
            history = History(read(key))
            for _, content in _in_order(rows):
                if content is None:
                    history.unread += 1
                else:
                    history.add(reader.again(*content), limit)
            yield _row(mapped, key, _judged(judging, history, effort))


def _row(mapped: MappedModel, key: str, judgement: Judgement) -> Row:
    return (
        key,
        "" if judgement.key is None else str(judgement.key),
        judgement.verdict,
        judgement.total,
        judgement.read,
        judgement.states,
        judgement.tolerated,
        list(judgement.cuts),
        list(judgement.instead),
        [(w.source, w.read, w.total, w.line and w.line.text) for w in judgement.waiting],
        [(layer.ahead, layer.states, layer.ended) for layer in judgement.layers],
        [judgement.taken[number] for number in range(len(mapped.model.actions))],
        sorted(judgement.used),
        sorted(judgement.seen),
        sorted(judgement.marked),
        zlib.compress(pickle.dumps(judgement, pickle.HIGHEST_PROTOCOL), 1),
    )


def unpacked(data: bytes) -> Judgement:
    """Returns the judgement in a row."""
    judgement: Judgement = pickle.loads(zlib.decompress(data))
    return judgement


# ---------------------------------------------------------------- keys

_DIGITS = str.maketrans("0123456789", "9876543210")


def written(key: Key) -> str:
    """Converts a key to a text. The texts are ordered in the same way as the keys: numbers first,
    then texts.
    """
    if key is None:
        return ""
    if isinstance(key, str):
        return f"2{key}"
    digits = str(abs(key))
    if key >= 0:
        return f"1{len(digits):05d}{digits}"
    return f"0{99_999 - len(digits):05d}{digits.translate(_DIGITS)}"


def read(text: str) -> Key:
    """Converts a text that `written` returned back to a key."""
    match text[:1]:
        case "":
            return None
        case "2":
            return text[1:]
        case "1":
            return int(text[6:])
        case _:
            return -int(text[6:].translate(_DIGITS))
