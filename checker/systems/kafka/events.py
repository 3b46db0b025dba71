"""Converts the log of a partition to lines of a recording: records of the transaction coordinator,
and headers of transactional batches and markers.

The lines contain no payloads. For committed offsets, they contain the group.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.systems.kafka.batches import Batch, Reader, Undecodable, batches, records
from fencepost.checker.systems.kafka.transaction_log import metadata, transactional_id
from fencepost.spec.records import dataclass

TRANSACTION_LOG = "__transaction_state"
OFFSETS = "__consumer_offsets"
_MARKERS = {0: "ABORT", 1: "COMMIT"}
Json = int | str | bool | list[str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A log entry: its offset, and the line of a recording that describes it.

    ``id`` is the transactional id if the entry is a record of the coordinator, and None in a data
    partition. An empty ``line`` denotes a tombstone, which means that the coordinator has forgotten
    the id.
    """

    offset: int
    id: str | None
    line: dict[str, Json]


def topic_of(source: str) -> str:
    return source.rpartition("-")[0]


def of_transactions(source: str) -> bool:
    """Checks whether a source is a partition of the transaction log."""
    return topic_of(source) == TRANSACTION_LOG


def entries(data: bytes | memoryview, source: str) -> Iterator[tuple[Batch, list[Entry]]]:
    """Yields the batches in ``data`` with their entries. An empty or non-transactional batch has no
    entries. Raises `Undecodable`.
    """
    is_coordinator_log = of_transactions(source)
    for batch in batches(data):
        if is_coordinator_log:
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
    """Returns the consumer group in the key of an offset (OffsetCommitKey 0 and 1), or None for
    other kinds of keys.
    """
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
