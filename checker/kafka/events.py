"""The log of one partition as lines of a recording: what the transaction coordinator has recorded,
and the headers of transactional batches and markers.

No payload is in a line; of offsets that are committed it has the group. It does not know where the
bytes of a log come from.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.kafka.batches import Batch, Reader, Undecodable, batches, records
from fencepost.checker.kafka.transaction_log import metadata, transactional_id
from fencepost.spec.records import dataclass

TRANSACTION_LOG = "__transaction_state"
OFFSETS = "__consumer_offsets"
_MARKERS = {0: "ABORT", 1: "COMMIT"}
Json = int | str | bool | list[str]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a log: its place, and the line of a recording that says it.

    ``id`` is the transactional id of the coordinator's record, None in a partition with data. An
    empty ``line`` says that the coordinator has forgotten the id (a tombstone).
    """

    offset: int
    id: str | None
    line: dict[str, Json]


def topic_of(source: str) -> str:
    return source.rpartition("-")[0]


def of_transactions(source: str) -> bool:
    """Whether a partition is one of the transaction coordinator's log."""
    return topic_of(source) == TRANSACTION_LOG


def entries(data: bytes | memoryview, source: str) -> Iterator[tuple[Batch, list[Entry]]]:
    """The batches in some bytes of a log, and what each says. Of one that compaction has emptied
    nothing is said. Raises `Undecodable`.
    """
    known = of_transactions(source)
    for batch in batches(data):
        if known:
            yield batch, list(_of_coordinator(data, batch, source))
        elif batch.transactional and batch.count:
            yield batch, [_of_partition(data, batch, source)]
        else:
            yield batch, []


def _of_coordinator(data: bytes | memoryview, batch: Batch, source: str) -> Iterator[Entry]:
    if batch.control:
        return
    for record in records(data, batch):
        name = transactional_id(record.key)
        if name is None:
            continue
        if record.value is None:
            yield Entry(record.offset, name, {})
            continue
        line: dict[str, Json] = _head(source, record.offset, batch) | {"id": name}
        yield Entry(record.offset, name, line | metadata(record.value))


def _of_partition(data: bytes | memoryview, batch: Batch, source: str) -> Entry:
    line = _head(source, batch.offset, batch) | {
        "producer_id": batch.producer_id,
        "epoch": batch.epoch,
        "transactional": True,
    }
    if not batch.control:
        line |= {"kind": "DATA", "sequence": batch.sequence, "count": batch.count}
        if topic_of(source) == OFFSETS and not batch.compressed:
            groups = {_group(record.key) for record in records(data, batch)} - {None}
            if len(groups) == 1:
                line |= {"group": str(groups.pop())}
        return Entry(batch.offset, None, line)
    marker = next(records(data, batch), None)
    if marker is None or marker.key is None or marker.value is None:
        raise Undecodable(f"the control batch of offset {batch.offset} has no proper record")
    key, value = Reader(marker.key), Reader(marker.value)
    key.take(2)
    value.take(2)
    kind = key.number(2)
    if kind not in _MARKERS:
        raise Undecodable(f"the control batch of offset {batch.offset} is of kind {kind}")
    line |= {"kind": _MARKERS[kind], "coordinator_epoch": value.number(4)}
    return Entry(batch.offset, None, line)


def _group(key: bytes | None) -> str | None:
    """The consumer group of an offset (OffsetCommitKey 0 and 1), None for a key of another kind."""
    if key is None:
        return None
    reader = Reader(key)
    return reader.text(reader.number(2)) if reader.number(2) in (0, 1) else None


def _head(source: str, offset: int, batch: Batch) -> dict[str, Json]:
    return {
        "source": source,
        "offset": offset,
        "time": batch.time,
        "leader_epoch": batch.leader_epoch,
    }
