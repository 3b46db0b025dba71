"""Reads record batches of Kafka's log format 2: their headers, and the keys and values of their
records.

Payloads are only read by `records`.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from fencepost.spec.records import dataclass

_HEADER = Struct(">qiibIhiqqqhii")
_LENGTH_FROM = 12
"""Number of bytes of a batch that its length field does not count: those up to the end of this
field.
"""
_CHECKED_FROM = 21
"""Offset in a batch of the first byte that the checksum covers."""
_COMPRESSED, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_POLYNOMIAL = 0x82F63B78


class Undecodable(Exception):
    """Signals that bytes are not a log of a known format. The text says why."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch. ``time`` is the latest timestamp in ms since 1970, and ``count`` is the
    number of records.

    ``start`` and ``end`` are the position of the batch in the bytes that it was read from.
    """

    offset: int
    last_offset: int
    leader_epoch: int
    time: int
    producer_id: int
    epoch: int
    sequence: int
    count: int
    attributes: int
    checksum: int
    start: int
    end: int

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def compressed(self) -> bool:
        return bool(self.attributes & _COMPRESSED)

    @property
    def whole(self) -> bool:
        """Whether the batch is complete, so that compaction has removed none of its records."""
        return self.count == self.last_offset - self.offset + 1


@dataclass(frozen=True, slots=True)
class Record:
    """A record in a batch."""

    offset: int
    key: bytes | None
    value: bytes | None


def batches(data: bytes | memoryview, start: int = 0) -> Iterator[Batch]:
    """Yields the complete batches in ``data``, up to the first incomplete batch or a block of
    zeros. Raises `Undecodable`.
    """
    while start + _HEADER.size <= len(data):
        (
            offset, length, leader_epoch, magic, checksum, attributes, last, _, time, producer_id,
            epoch, sequence, count,
        ) = _HEADER.unpack_from(data, start)  # fmt: skip
        end = start + _LENGTH_FROM + length
        if length == 0 and magic == 0:
            return
        if magic != 2:
            raise Undecodable(f"the batch at byte {start} has format {magic}; known is 2")
        if length < _HEADER.size - _LENGTH_FROM or last < 0 or count < 0:
            raise Undecodable(f"the batch at byte {start} has no proper header")
        if end > len(data):
            return
        yield Batch(
            offset, offset + last, leader_epoch, time, producer_id, epoch, sequence, count,
            attributes, checksum, start, end,
        )  # fmt: skip
        start = end


def records(data: bytes | memoryview, batch: Batch) -> Iterator[Record]:
    """Yields the records of an uncompressed batch. Raises `Undecodable`."""
    whole = bytes(data[batch.start : batch.end])
    if batch.compressed:
        raise Undecodable(f"the batch of offset {batch.offset} is compressed")
    if _crc32c(whole[_CHECKED_FROM:]) != batch.checksum:
        raise Undecodable(f"the batch of offset {batch.offset} has another checksum")
    reader = Reader(whole)
    reader.at = _HEADER.size
    for _ in range(batch.count):
        reader.zigzag()
        reader.at += 1
        reader.zigzag()
        offset = batch.offset + reader.zigzag()
        key = reader.some(reader.zigzag())
        value = reader.some(reader.zigzag())
        for _ in range(reader.zigzag()):
            reader.some(reader.zigzag())
            reader.some(reader.zigzag())
        yield Record(offset, key, value)


class Reader:
    """Reads the types of Kafka's protocol. Raises `Undecodable` at the end of the data."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, size: int) -> int:
        """Reads a signed number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def varint(self) -> int:
        """Reads an unsigned varint."""
        value = shift = 0
        while shift < 70:
            (byte,) = self.take(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise Undecodable("a number is longer than ten bytes")

    def zigzag(self) -> int:
        """Reads a signed (zigzag) varint."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def some(self, size: int) -> bytes | None:
        """Reads ``size`` bytes, or returns None if ``size`` is negative."""
        return None if size < 0 else self.take(size)

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise Undecodable("the data ends too early")
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken

    def text(self, size: int) -> str:
        try:
            return self.take(size).decode()
        except UnicodeDecodeError:
            raise Undecodable("a text is not UTF-8") from None


def _table() -> tuple[int, ...]:
    table: list[int] = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _table()


def _crc32c(data: bytes) -> int:
    """Computes Castagnoli's CRC-32, which is the checksum of batches."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF
