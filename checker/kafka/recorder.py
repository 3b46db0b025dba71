"""A recording of the logs of brokers: which of their entries belong to it, and where it is cut.

A history is a transactional id with the batches and markers of its producer ids. What it cannot
have whole is left out, and the recorder says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TextIO, cast

from fencepost.checker.kafka.batches import Batch
from fencepost.checker.kafka.events import Entry, Json, of_transactions
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs

START = "start-of-"
"""The source of a history's first line, where the log before it is compacted."""
COMPACTED = "compacted"
"""The folder, inside that of the recording, of such histories that no mapping can begin with."""
BEFORE = "BEFORE"
"""The kind of a line that says what a partition had when its history begins."""


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
    """What a recording has. Of the histories that have lost their beginning to compaction, ``late``
    ones begin with an InitProducerId that is there, and ``compacted`` ones have none. Left out: ids
    that were ``busy`` all the while, those of which a partition has ``lost`` its beginning, and
    ``absent`` ones, of which a partition was not read.
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
    """The records of a transactional id, and the round that it is cut at. If ``late``, the first of
    them is an InitProducerId that has raised the epoch, and what partitions have of lower epochs
    was before.
    """

    records: list[Entry] = field(default_factory=list[Entry])
    start: Entry | None = None
    late: bool = False
    cut: Round | None = None

    @property
    def whole(self) -> bool:
        """Whether a mapping can begin with it."""
        return self.start is None or self.late

    @property
    def producers(self) -> set[int]:
        """The producer ids in its records."""
        return {cast("int", line["producer_id"]) for line in self.lines}

    def was_before(self, line: Mapping[str, Json]) -> bool:
        """Whether an entry of a partition is older than the first record of a late history."""
        first = self.records[0].line
        if line["producer_id"] == first["producer_id"]:
            return cast("int", line["epoch"]) < cast("int", first["epoch"])
        assert self.start is not None
        return line["producer_id"] == self.start.line["producer_id"]

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
    for history in histories.values():
        _begin_late(history)
    owners = {one: name for name, history in histories.items() for one in history.producers}
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
    found.late = sum(one.late for one in histories.values())
    found.compacted = sum(not one.whole for one in histories.values())
    return found


def _gather(log: Log, histories: dict[str, _History]) -> None:
    """Adds the histories that a partition of the coordinator's log has."""
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
                # An id that is forgotten and comes again is another one.
                lives[entry.id] = lives.get(entry.id, 1) + 1
                continue
            life = lives.get(entry.id, 1)
            name = entry.id if life == 1 else f"{entry.id} ({life})"
            one = Entry(entry.offset, name, entry.line | {"id": name})
            if name in own:
                own[name].records.append(one)
            elif holed:
                # What was before may be missing: compaction may have left this one in its place.
                own[name] = _History(start=one)
            else:
                own[name] = _History([one])
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


def _begin_late(history: _History) -> None:
    """Has a history that has lost its beginning begin with the first InitProducerId that raises the
    epoch or has a new producer id: the record before it says what the coordinator knew, and nothing
    was open.
    """
    if history.start is None:
        return
    every = [history.start, *history.records]
    for n, (before, one) in enumerate(pairwise(every), start=1):
        raised = before.line["producer_id"] != one.line["producer_id"] or (
            cast("int", before.line["epoch"]) < cast("int", one.line["epoch"])
        )
        if one.line["state"] == "Empty" and raised:
            history.start, history.records, history.late = before, every[n:], True
            return


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
    """The line for what was before, of which ``last`` is the last entry."""
    same = {name: last[name] for name in ("source", "offset", "producer_id", "epoch")}
    return {**same, "kind": BEFORE, "in_transaction": last["kind"] == "DATA"}


def _keep(
    folder: Path, source: str, histories: Mapping[str, _History], owners: Mapping[int, str]
) -> int:
    """Leaves in the file of a source only lines of histories, and moves those that no mapping can
    begin with; how many lines there are. A file without any is removed.
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


def _by_file(folder: Path, histories: Mapping[str, _History]) -> dict[Path, list[dict[str, Json]]]:
    """The records of all histories, file by file, in the order of offsets."""
    found: dict[Path, list[dict[str, Json]]] = {}
    for history in histories.values():
        place = folder if history.whole else folder / COMPACTED
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
