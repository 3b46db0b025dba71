"""Creates a recording from the logs of brokers: selects entries and cuts histories.

A history consists of a transactional id with the batches and markers of its producer ids.
Incomplete histories are left out and reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TextIO, cast

from fencepost.checker.systems.kafka.batches import Batch
from fencepost.checker.systems.kafka.events import Entry, Json, of_transactions
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs

START = "start-of-"
"""Prefix for the source of a history's first line if the log before that line is compacted."""
COMPACTED = "compacted"
"""The folder within the recording for histories without a usable beginning."""
BEFORE = "BEFORE"
"""The kind of a line with the state of a partition before a history begins."""


class Log(Protocol):
    """The log of a partition."""

    @property
    def source(self) -> str: ...

    def read(self) -> Iterator[tuple[Batch, list[Entry]]]:
        """Yields the batches in the order of their offsets, with their entries."""
        ...


@dataclass(frozen=True, slots=True)
class Round:
    """End offsets of logs, requested in this order: of the coordinator's log (``before``), of the
    other logs (``data``), and again of the coordinator's log (``after``).

    The state of a transactional id without records between ``before`` and ``after`` was constant in
    this interval, so all of the id's entries up to the interval are consistent.
    """

    before: Mapping[str, int]
    data: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(slots=True)
class RecordingResult:
    """The result of a recording.

    ``late`` and ``compacted`` count the histories with a compacted beginning: a ``late`` history
    begins with an InitProducerId, and a ``compacted`` one does not. Some ids are left out: those
    that were ``busy`` in every round, those that ``lost`` the beginning of a partition, and those
    with an ``absent`` partition.
    """

    histories: int = 0
    events: int = 0
    late: int = 0
    compacted: int = 0
    busy: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    absent: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _History:
    """The records of a transactional id, and the round that the history is cut at.

    If the history is ``late``, its first record is an InitProducerId that raised the epoch, and
    entries with lower epochs precede the history.
    """

    records: list[Entry] = field(default_factory=list[Entry])
    start: Entry | None = None
    late: bool = False
    cut: Round | None = None

    @property
    def whole(self) -> bool:
        """Whether a mapping can begin with the history."""
        return self.start is None or self.late

    @property
    def producers(self) -> set[int]:
        """The producer ids in the records of the history."""
        return {cast("int", line["producer_id"]) for line in self.lines}

    def was_before(self, line: Mapping[str, Json]) -> bool:
        """Checks whether an entry of a partition precedes the first record of a late history."""
        first = self.records[0].line
        if line["producer_id"] == first["producer_id"]:
            return cast("int", line["epoch"]) < cast("int", first["epoch"])
        assert self.start is not None
        return line["producer_id"] == self.start.line["producer_id"]

    @property
    def lines(self) -> Iterator[dict[str, Json]]:
        """The records without gaps, after the record that compaction left."""
        if self.start is not None:
            yield self.start.line | {"source": f"{START}{self.start.line['source']}"}
        yield from (entry.line for entry in self.records)

    @property
    def partitions(self) -> set[str]:
        sources: set[str] = set()
        for line in self.lines:
            sources.update(cast("list[str]", line["partitions"]))
        return sources


def record(
    logs: Sequence[Log],
    rounds: Sequence[Round],
    folder: Path,
    levels: Sequence[Mapping[str, Json]] = (),
    name_of: Callable[[str], str] = str,
) -> RecordingResult:
    """Writes the recording of logs into a folder, with one file for each source. Without
    ``rounds``, the logs must be complete and static. ``levels`` are lines about the cluster, which
    belong to every history. ``name_of`` returns the name of a transactional id in the recording.

    Raises `Undecodable`, and the errors of reading and writing.
    """
    result = RecordingResult()
    histories: dict[str, _History] = {}
    for log in logs:
        if of_transactions(log.source):
            _gather(log, histories, name_of)
    for name, history in list(histories.items()):
        if rounds and not _settle(history, rounds):
            result.busy.append(name)
            del histories[name]
    for history in histories.values():
        _begin_late(history)
    owners = {item: name for name, history in histories.items() for item in history.producers}
    data = [log for log in logs if not of_transactions(log.source)]
    read = {log.source: _write_data(log, histories, owners, folder) for log in data}
    for name, history in list(histories.items()):
        partitions = history.partitions
        left_out = None
        if partitions - read.keys():
            left_out = result.absent
        elif not all(read[item] for item in partitions):
            left_out = result.lost
        if left_out is not None:
            left_out.append(name)
            del histories[name]
    for log in data:
        result.events += _keep(folder, log.source, histories, owners)
    for path, lines in _by_file(folder, histories, levels).items():
        path.parent.mkdir(exist_ok=True)
        _write(path, lines)
        result.events += len(lines)
    result.histories = len(histories)
    result.late = sum(item.late for item in histories.values())
    result.compacted = sum(not item.whole for item in histories.values())
    return result


def _gather(log: Log, histories: dict[str, _History], name_of: Callable[[str], str]) -> None:
    """Adds the histories in a partition of the coordinator's log."""
    own: dict[str, _History] = {}
    lives: dict[str, int] = {}
    expected = 0
    holed = False
    for batch, entries in log.read():
        if batch.offset != expected or not batch.whole:
            _compacted(own)
            holed = True
        for entry in entries:
            if entry.id is None:
                continue
            if not entry.line:
                # A forgotten id that reappears is treated as another id.
                lives[entry.id] = lives.get(entry.id, 1) + 1
                continue
            life = lives.get(entry.id, 1)
            name = name_of(entry.id) if life == 1 else f"{name_of(entry.id)} ({life})"
            renamed = Entry(entry.offset, name, entry.line | {"id": name})
            if name in own:
                own[name].records.append(renamed)
            elif holed:
                # Earlier records may be missing, because compaction may have left only this one.
                own[name] = _History(start=renamed)
            else:
                own[name] = _History([renamed])
        if not batch.whole:
            _compacted(own)
        expected = batch.last_offset + 1
    for history in own.values():
        start = history.start
        if start is not None and start.line["state"] == "Empty" and start.line["epoch"] == 0:
            # This is the state after the first InitProducerId of an id, so nothing precedes it.
            history.start = None
            history.records.insert(0, start)
    histories.update(own)


def _compacted(histories: Mapping[str, _History]) -> None:
    """Reduces histories to their last records, because entries after these are missing."""
    for history in histories.values():
        if history.records:
            history.start = history.records[-1]
            history.records.clear()


def _begin_late(history: _History) -> None:
    """Makes a history with a lost beginning start at the first InitProducerId that raises the epoch
    or changes the producer id. The record before it contains the coordinator's state, and no
    transaction was open at that point.
    """
    if history.start is None:
        return
    every = [history.start, *history.records]
    for n, (before, current) in enumerate(pairwise(every), start=1):
        raised = before.line["producer_id"] != current.line["producer_id"] or (
            cast("int", before.line["epoch"]) < cast("int", current.line["epoch"])
        )
        if current.line["state"] == "Empty" and raised:
            history.start, history.records, history.late = before, every[n:], True
            return


def _settle(history: _History, rounds: Sequence[Round]) -> bool:
    """Cuts a history at the last round during which it had no record. Returns whether such a round
    exists.
    """
    every = ([] if history.start is None else [history.start]) + history.records
    source = cast("str", every[0].line["source"])
    for candidate in reversed(rounds):
        before, after = candidate.before[source], candidate.after[source]
        if every[0].offset < before and not any(before <= e.offset < after for e in every):
            if history.start is not None and history.start.offset >= before:
                continue
            history.records = [entry for entry in history.records if entry.offset < before]
            history.cut = candidate
            return True
    return False


def _write_data(
    log: Log, histories: Mapping[str, _History], owners: Mapping[int, str], folder: Path
) -> bool:
    """Writes the entries of a partition that belong to histories. Returns whether the log is
    complete from its beginning.
    """
    whole, expected = True, 0
    before: dict[str, dict[str, Json]] = {}
    begun: set[str] = set()

    def lines() -> Iterator[dict[str, Json]]:
        nonlocal whole, expected
        for batch, entries in log.read():
            whole = whole and batch.offset == expected and batch.whole
            expected = batch.last_offset + 1
            for entry in entries:
                owner = owners.get(cast("int", entry.line["producer_id"]))
                if owner is None:
                    continue
                history = histories[owner]
                if history.cut is not None and entry.offset >= history.cut.data[log.source]:
                    continue
                if history.late and owner not in begun:
                    if history.was_before(entry.line):
                        before[owner] = entry.line
                        continue
                    begun.add(owner)
                    if owner in before:
                        yield _before(before.pop(owner))
                yield entry.line

    _write(_file(folder, log.source), lines())
    return whole


def _before(last: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the line that describes the state before a history, which follows from the ``last``
    entry.
    """
    same = {name: last[name] for name in ("source", "offset", "producer_id", "epoch")}
    return {**same, "kind": BEFORE, "in_transaction": last["kind"] == "DATA"}


def _keep(
    folder: Path, source: str, histories: Mapping[str, _History], owners: Mapping[int, str]
) -> int:
    """Keeps the lines of the remaining histories in a source's file, and moves the lines of
    histories without a usable beginning. Returns the number of lines. An empty file is removed.
    """
    path = _file(folder, source)
    whole, compacted = path.with_name(f".{path.name}"), _file(folder / COMPACTED, source)
    count = 0
    with ExitStack() as files:
        old = files.enter_context(
            TextIOWrapper(inputs.opened(path, inputs.Kind.OWN_RECORDING), encoding="utf-8")
        )
        new: dict[Path, TextIO] = {}
        for line in old:
            history = histories.get(owners[json.loads(line)["producer_id"]])
            if history is not None:
                target = whole if history.whole else compacted
                if target not in new:
                    target.parent.mkdir(exist_ok=True)
                    new[target] = files.enter_context(target.open("w", encoding="utf-8"))
                new[target].write(line)
                count += 1
    path.unlink()
    if whole.exists():
        whole.rename(path)
    return count


def _by_file(
    folder: Path, histories: Mapping[str, _History], levels: Sequence[Mapping[str, Json]]
) -> dict[Path, list[dict[str, Json]]]:
    """Returns the records of all histories by file, in the order of their offsets. Histories that
    have their beginning also have the lines about the cluster.
    """
    files: dict[Path, list[dict[str, Json]]] = {}
    for name, history in histories.items():
        target_folder = folder if history.whole else folder / COMPACTED
        own = [{**line, "id": name} for line in levels] if history.start is None else []
        for line in (*history.lines, *own):
            files.setdefault(_file(target_folder, cast("str", line["source"])), []).append(line)
    for lines in files.values():
        lines.sort(key=lambda line: cast("int", line["offset"]))
    return files


def _file(folder: Path, source: str) -> Path:
    return folder / f"{source}.jsonl"


def _write(path: Path, lines: Iterable[dict[str, Json]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")
