"""Lines become events of histories, and histories verdicts: what runs on executors.

What the lines mean and how a history is judged is the same code as without Spark. It does not know
where lines come from, nor how they get to the task that judges their history.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from fencepost.checker.conform.findings import SHOWN_WHOLE
from fencepost.checker.conform.lines import TOO_LONG, History, Key, Reader
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import Effort, Judged, judge
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Recording
from fencepost.spec.records import dataclass

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

EVENT, PROBLEM, BLOCK = "event", "problem", "block"
"""Kinds of rows: a line that belongs to a history, one that cannot be read, and how much a block of
a file has: lines, and bytes.
"""
Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What tasks have in common; ``numbers`` are those of the files."""

    model: ir.Model
    recording: Recording
    effort: Effort
    numbers: Mapping[str, int]


Shipped: TypeAlias = "Broadcast[Task]"


@lru_cache(maxsize=1)
def _mapped(shipped: Shipped) -> Mapped:
    """What this process has made of a task; it is kept for the tasks that follow."""
    return Mapped(shipped.value.model, shipped.value.recording)


def located(shipped: Shipped, given: Iterable[Row]) -> Iterator[Row]:
    """The rows of lines: each its file, where its block begins, how many bytes it has, and these
    unless they are too many. The lines of a block come in order.
    """
    numbers = shipped.value.numbers
    reader = Reader(shipped.value.recording)
    blocks: dict[tuple[int, int], tuple[int, int]] = {}
    for path, block, size, data in given:
        file = numbers[path]
        count, bytes_ = blocks.get((file, block), (0, 0))
        count += 1
        blocks[file, block] = count, bytes_ + size + 1
        place = file, block, count
        if data is None:
            yield PROBLEM, *place, None, None, None, TOO_LONG, 0
            continue
        text = bytes(data)
        if not text.strip():
            continue
        one, why = reader.located(text)
        if why:
            yield PROBLEM, *place, None, None, None, why, 0
        if one is not None:
            key = None if one.key is None and shipped.value.recording.key else written(one.key)
            by = [None if said is None else written(said) for said in one.by]
            yield EVENT, *place, key, by, None if one.line is None else text, None, 0
    for (file, block), (count, bytes_) in blocks.items():
        yield BLOCK, file, block, count, None, None, None, None, bytes_


def judged(shipped: Shipped, given: Iterable[Row]) -> Iterator[Row]:
    """The verdicts on histories. Lines come by histories, those of a history in order: its key, and
    what stands there (None: a line that cannot be read).
    """
    mapped, effort = _mapped(shipped), shipped.value.effort
    most = effort.lines(mapped.recording)
    reader = Reader(mapped.recording)
    for key, lines in groupby(given, itemgetter(0)):
        history = History(read(key))
        for _, data in lines:
            one = None if data is None else reader.located(bytes(data))[0]
            if one is None:
                history.unread += 1
            else:
                history.add(one, most)
        yield _row(mapped, key, judge(mapped, history, effort))


def _row(mapped: Mapped, key: str, one: Judged) -> Row:
    kept = one if one.verdict in SHOWN_WHOLE else replace(one, way=())
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
        zlib.compress(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL), 1),
    )


def unpacked(data: bytes) -> Judged:
    """The verdict that a row holds."""
    made: Judged = pickle.loads(zlib.decompress(data))
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
