"""A recording of the logs of brokers: which of their entries belong to it, and where it is cut.

A history is a transactional id with the batches and markers of its producer ids. What it cannot
have whole is left out, and the recorder says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Protocol, TextIO, cast

from fencepost.checker.kafka.batches import Batch
from fencepost.checker.kafka.events import Entry, Json, of_transactions
from fencepost.spec.records import dataclass

START = "start-of-"
"""The source of a history's first line, where the log before it is compacted."""
COMPACTED = "compacted"
"""The folder of such histories, inside that of the recording: no mapping reads them yet."""


class Log(Protocol):
    """The log of one partition."""

    @property
    def source(self) -> str: ...

    def read(self) -> Iterator[tuple[Batch, list[Entry]]]:
        """Its batches in the order of offsets, and what each says."""
        ...


@dataclass(frozen=True, slots=True)
class Round:
    """Ends of logs, each an offset, as they were asked for one after the other: those of the
    coordinator's log ``before``, those of the other ``data``, and the coordinator's ``after``.

    A transactional id of which nothing was recorded between ``before`` and ``after`` had one state
    all the while, so everything up to there that concerns it goes together.
    """

    before: Mapping[str, int]
    data: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(slots=True)
class Recorded:
    """What a recording has. ``compacted``: histories that begin with what compaction has left of
    them. Left out: ids that were ``busy`` all the while, those of which a partition has ``lost``
    its beginning, and ``absent`` ones, of which a partition was not read.
    """

    histories: int = 0
    events: int = 0
    compacted: int = 0
    busy: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    absent: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _History:
    """The records of a transactional id, and the round that it is cut at."""

    records: list[Entry] = field(default_factory=list[Entry])
    start: Entry | None = None
    cut: Round | None = None

    @property
    def lines(self) -> Iterator[dict[str, Json]]:
        """The records that are known to be next to each other, behind what compaction has left."""
        if self.start is not None:
            yield self.start.line | {"source": f"{START}{self.start.line['source']}"}
        yield from (entry.line for entry in self.records)

    @property
    def partitions(self) -> set[str]:
        found: set[str] = set()
        for line in self.lines:
            found.update(cast("list[str]", line["partitions"]))
        return found


def record(logs: Sequence[Log], rounds: Sequence[Round], folder: Path) -> Recorded:
    """Writes the recording of some logs into a folder, a file for each source. Without ``rounds``
    the logs are all there is, and nothing is added meanwhile.

    Raises `Undecodable`, and what reading and writing raise.
    """
    found = Recorded()
    histories: dict[str, _History] = {}
    for log in logs:
        if of_transactions(log.source):
            _gather(log, histories)
    for name, history in list(histories.items()):
        if rounds and not _settle(history, rounds):
            found.busy.append(name)
            del histories[name]
    owners = {
        cast("int", line["producer_id"]): name
        for name, history in histories.items()
        for line in history.lines
    }
    data = [log for log in logs if not of_transactions(log.source)]
    read = {log.source: _write_data(log, histories, owners, folder) for log in data}
    for name, history in list(histories.items()):
        partitions = history.partitions
        left_out = None
        if partitions - read.keys():
            left_out = found.absent
        elif not all(read[one] for one in partitions):
            left_out = found.lost
        if left_out is not None:
            left_out.append(name)
            del histories[name]
    for log in data:
        found.events += _keep(folder, log.source, histories, owners)
    for path, lines in _by_file(folder, histories).items():
        path.parent.mkdir(exist_ok=True)
        _write(path, lines)
        found.events += len(lines)
    found.histories = len(histories)
    found.compacted = sum(one.start is not None for one in histories.values())
    return found


def _gather(log: Log, histories: dict[str, _History]) -> None:
    """Adds the histories that a partition of the coordinator's log has."""
    own: dict[str, _History] = {}
    lives: dict[str, int] = {}
    expected = 0
    for batch, entries in log.read():
        if batch.offset != expected:
            _compacted(own)
        for entry in entries:
            if entry.id is None:
                continue
            if not entry.line:
                # An id that is forgotten and comes again is another one.
                lives[entry.id] = lives.get(entry.id, 1) + 1
                continue
            life = lives.get(entry.id, 1)
            name = entry.id if life == 1 else f"{entry.id} ({life})"
            one = Entry(entry.offset, name, entry.line | {"id": name})
            own.setdefault(name, _History()).records.append(one)
        if not batch.whole:
            _compacted(own)
        expected = batch.last_offset + 1
    for history in own.values():
        start = history.start
        if start is not None and start.line["state"] == "Empty" and start.line["epoch"] == 0:
            # Nothing was before: so InitProducerId leaves an id that it has just been given.
            history.start = None
            history.records.insert(0, start)
    histories.update(own)


def _compacted(histories: Mapping[str, _History]) -> None:
    """Something is missing here, so of what was before no more than the last record counts."""
    for history in histories.values():
        if history.records:
            history.start = history.records[-1]
            history.records.clear()


def _settle(history: _History, rounds: Sequence[Round]) -> bool:
    """Cuts a history at the last round in which nothing of it was recorded, if there is one."""
    every = ([] if history.start is None else [history.start]) + history.records
    source = cast("str", every[0].line["source"])
    for one in reversed(rounds):
        before, after = one.before[source], one.after[source]
        if every[0].offset < before and not any(before <= e.offset < after for e in every):
            if history.start is not None and history.start.offset >= before:
                continue
            history.records = [entry for entry in history.records if entry.offset < before]
            history.cut = one
            return True
    return False


def _write_data(
    log: Log, histories: Mapping[str, _History], owners: Mapping[int, str], folder: Path
) -> bool:
    """Writes the entries of one partition that belong to a history; whether all of the partition
    is there, from its beginning on.
    """
    whole, expected = True, 0

    def lines() -> Iterator[dict[str, Json]]:
        nonlocal whole, expected
        for batch, entries in log.read():
            whole = whole and batch.offset == expected and batch.whole
            expected = batch.last_offset + 1
            for entry in entries:
                owner = owners.get(cast("int", entry.line["producer_id"]))
                if owner is None:
                    continue
                cut = histories[owner].cut
                if cut is None or entry.offset < cut.data[log.source]:
                    yield entry.line

    _write(_file(folder, log.source), lines())
    return whole


def _keep(
    folder: Path, source: str, histories: Mapping[str, _History], owners: Mapping[int, str]
) -> int:
    """Leaves in the file of a source only lines of histories, and moves those whose beginning is
    compacted; how many lines there are. A file without any is removed.
    """
    path = _file(folder, source)
    whole, compacted = path.with_name(f".{path.name}"), _file(folder / COMPACTED, source)
    count = 0
    with ExitStack() as files:
        old = files.enter_context(path.open(encoding="utf-8"))
        new: dict[Path, TextIO] = {}
        for line in old:
            history = histories.get(owners[json.loads(line)["producer_id"]])
            if history is not None:
                target = whole if history.start is None else compacted
                if target not in new:
                    target.parent.mkdir(exist_ok=True)
                    new[target] = files.enter_context(target.open("w", encoding="utf-8"))
                new[target].write(line)
                count += 1
    path.unlink()
    if whole.exists():
        whole.rename(path)
    return count


def _by_file(folder: Path, histories: Mapping[str, _History]) -> dict[Path, list[dict[str, Json]]]:
    """The records of all histories, file by file, in the order of offsets."""
    found: dict[Path, list[dict[str, Json]]] = {}
    for history in histories.values():
        place = folder if history.start is None else folder / COMPACTED
        for line in history.lines:
            found.setdefault(_file(place, cast("str", line["source"])), []).append(line)
    for lines in found.values():
        lines.sort(key=lambda line: cast("int", line["offset"]))
    return found


def _file(folder: Path, source: str) -> Path:
    return folder / f"{source}.jsonl"


def _write(path: Path, lines: Iterable[dict[str, Json]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")
