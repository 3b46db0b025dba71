"""Encodes Kafka logs byte by byte, independently of the decoder under test.

The code follows the format description, and computes checksums with a different algorithm.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

TRANSACTIONAL, CONTROL, GZIP = 0x10, 0x20, 1


def varint(number: int) -> bytes:
    """Returns a zigzag-encoded signed number, as in records."""
    return unsigned(number * 2 if number >= 0 else -number * 2 - 1)


def unsigned(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


def crc32c(data: bytes) -> int:
    """Computes the remainder of a polynomial division bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            odd = (value ^ byte >> bit) & 1
            value = value >> 1 ^ (0x82F63B78 if odd else 0)
    return value ^ 0xFFFFFFFF


def record(delta: int, key: bytes | None, value: bytes | None, headers: int = 0) -> bytes:
    def nullable(content: bytes | None) -> bytes:
        return varint(-1) if content is None else varint(len(content)) + content

    body = b"\0" + varint(7) + varint(delta) + nullable(key) + nullable(value)
    body += varint(headers) + (varint(1) + b"h" + varint(-1)) * headers
    return varint(len(body)) + body


def batch(
    offset: int,
    records: Sequence[bytes],
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    last: int | None = None,
    magic: int = 2,
    damage: int = 0,
) -> bytes:
    """Returns a record batch; ``producer`` is its producer id, epoch and first sequence."""
    last = len(records) - 1 if last is None else last
    checked = struct.pack(
        ">hiqqqhii", attributes, last, 1_000, 2_000, *producer, len(records)
    ) + b"".join(records)  # fmt: skip
    rest = struct.pack(">ibI", 3, magic, crc32c(checked) + damage) + checked
    return struct.pack(">qi", offset, len(rest)) + rest


def data(offset: int, producer: int, epoch: int, sequence: int, count: int = 1) -> bytes:
    records = [record(n, None, b"payload") for n in range(count)]
    return batch(offset, records, TRANSACTIONAL, (producer, epoch, sequence))


def marker(offset: int, producer: int, epoch: int, kind: int, coordinator: int = 0) -> bytes:
    key, value = struct.pack(">hh", 0, kind), struct.pack(">hi", 0, coordinator)
    written = [record(0, key, value)]
    return batch(offset, written, TRANSACTIONAL | CONTROL, (producer, epoch, -1))


def key(name: str, version: int = 0) -> bytes:
    return struct.pack(">hh", version, len(name.encode())) + name.encode()


def value_0(producer: int, epoch: int, state: int, partitions: dict[str, list[int]]) -> bytes:
    out = struct.pack(">hqhib", 0, producer, epoch, 60_000, state)
    out += struct.pack(">i", len(partitions) or -1)
    for topic, numbers in partitions.items():
        out += struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">i", len(numbers))
        out += b"".join(struct.pack(">i", number) for number in numbers)
    return out + struct.pack(">qq", 11, 12)


def value_1(
    producer: int,
    epoch: int,
    state: int,
    partitions: dict[str, list[int]],
    tags: Sequence[tuple[int, bytes]] = (),
) -> bytes:
    out = struct.pack(">hqhib", 1, producer, epoch, 60_000, state)
    out += unsigned(len(partitions) + 1 if partitions else 0)
    for topic, numbers in partitions.items():
        out += unsigned(len(topic) + 1) + topic.encode() + unsigned(len(numbers) + 1)
        out += b"".join(struct.pack(">i", number) for number in numbers)
        # A tagged field of the topic; no protocol version defines one yet.
        out += unsigned(1) + unsigned(9) + unsigned(2) + b"ab"
    out += struct.pack(">qq", 11, 12) + unsigned(len(tags))
    return out + b"".join(unsigned(tag) + unsigned(len(content)) + content for tag, content in tags)
