"""Reads and writes keys and values of `__transaction_state`: TransactionLogKey and
TransactionLogValue 0 and 1.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from fencepost.checker.systems.kafka.batches import Reader, Undecodable

STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_TAGGED = {
    0: ("previous_producer_id", 8),
    1: ("next_producer_id", 8),
    2: ("client_transaction_version", 2),
    3: ("next_epoch", 2),
}
"""Optional fields of version 1 and their sizes. These fields are absent if they have their default
values.
"""
Value = int | str | list[str]


def transactional_id(key: bytes | None) -> str | None:
    """Returns the transactional id of a record, or None for keys of other kinds. Raises
    `Undecodable`.
    """
    if key is None:
        return None
    reader = Reader(key)
    return reader.text(reader.number(2)) if reader.number(2) == 0 else None


def metadata(value: bytes) -> dict[str, Value]:
    """Returns the fields of a coordinator's record in the form of a recording. Raises
    `Undecodable`.
    """
    reader = Reader(value)
    version = reader.number(2)
    if version not in (0, 1):
        raise Undecodable(f"TransactionLogValue has version {version}; known are 0 and 1")
    flexible = version == 1
    fields: dict[str, Value] = {
        "version": version,
        "producer_id": reader.number(8),
        "epoch": reader.number(2),
        "timeout": reader.number(4),
        "state": _state(reader.number(1)),
        "partitions": sorted(_partitions(reader, flexible)),
        "updated": reader.number(8),
        "started": reader.number(8),
    }
    if flexible:
        for _ in range(reader.varint()):
            tag, size = reader.varint(), reader.varint()
            name, expected = _TAGGED.get(tag, (f"tag{tag}", None))
            if expected not in (None, size):
                raise Undecodable(f"{name} has {size} bytes")
            content = Reader(reader.take(size))
            fields[name] = content.data.hex() if expected is None else content.number(size)
    return fields


def partition_of(name: str, count: int) -> int:
    """Returns the partition that contains the records of an id, in a transaction log with ``count``
    partitions.
    """
    hashed = 0
    for unit in struct.iter_unpack(">H", name.encode("utf-16-be")):
        hashed = (hashed * 31 + unit[0]) & 0xFFFFFFFF
    # The minimum has no absolute value, so brokers use 0.
    return (0 if hashed == 1 << 31 else min(hashed, (1 << 32) - hashed)) % count


def written(
    name: str,
    state: str,
    producer_id: int,
    epoch: int,
    partitions: Sequence[tuple[str, int]],
    previous: int,
    successor: int,
    client_version: int,
    timeout: int,
    now: int,
) -> tuple[bytes, bytes]:
    """Encodes a key and a value of version 1. ``timeout`` and ``now`` are in milliseconds. A
    producer id of -1 means that there is none.
    """
    key = struct.pack(">hh", 0, len(name)) + name.encode("ascii")
    value = struct.pack(">hqhib", 1, producer_id, epoch, timeout, STATES.index(state))
    value += _unsigned(len(partitions) + 1)
    for topic, number in partitions:
        value += _unsigned(len(topic) + 1) + topic.encode("ascii")
        value += _unsigned(2) + struct.pack(">i", number) + _unsigned(0)
    # A coordinator rejects a completed transaction without a start time.
    started = bool(partitions) or state.startswith("Prepare")
    value += struct.pack(">qq", now, now if started else -1)
    tagged = [(0, ">q", previous, -1), (1, ">q", successor, -1), (2, ">h", client_version, 0)]
    present = [
        (tag, struct.pack(form, field_value))
        for tag, form, field_value, usual in tagged
        if field_value != usual
    ]
    value += _unsigned(len(present))
    for tag, content in present:
        value += _unsigned(tag) + _unsigned(len(content)) + content
    return key, value


def _unsigned(number: int) -> bytes:
    """Encodes a number as an unsigned varint."""
    more = number >> 7
    return bytes([number & 127 | (128 if more else 0)]) + (_unsigned(more) if more else b"")


def _state(number: int) -> str:
    if not 0 <= number < len(STATES):
        raise Undecodable(f"no state of transactions has the number {number}")
    return STATES[number]


def _partitions(reader: Reader, flexible: bool) -> list[str]:
    sources: list[str] = []
    for _ in range(_count(reader, flexible)):
        topic = reader.text(reader.varint() - 1 if flexible else reader.number(2))
        sources += [f"{topic}-{reader.number(4)}" for _ in range(_count(reader, flexible))]
        if flexible:
            for _ in range(reader.varint()):
                reader.varint()
                reader.take(reader.varint())
    return sources


def _count(reader: Reader, flexible: bool) -> int:
    """Reads the number of elements of a list; null counts as empty."""
    return max(0, reader.varint() - 1 if flexible else reader.number(4))
