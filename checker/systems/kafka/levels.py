"""Reads the changes of `transaction.version` in the log of the cluster's metadata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fencepost.checker.systems.kafka.batches import Reader, batches, records
from fencepost.checker.systems.kafka.events import Json
from fencepost.spec.text import inputs

METADATA_LOG = "__cluster_metadata-0"
_FEATURE = "transaction.version"
_TOPIC_RECORD, _FEATURE_LEVEL_RECORD = 2, 12


def level_lines(folder: Path) -> list[dict[str, Json]]:
    """Returns the lines of a recording with the level of `transaction.version` when the first topic
    was created, and with its later changes. Returns no lines unless ``folder``, of ``log.dirs``,
    has the metadata log from its beginning. Raises `Undecodable` and `OSError`.
    """
    log = folder / METADATA_LOG
    paths = sorted(log.glob("*.log")) if log.is_dir() else []
    if not paths or int(paths[0].stem) != 0:
        return []
    level = 0
    lines: list[dict[str, Json]] = []
    for path in paths:
        for offset, kind, content in _records(path):
            if kind == _TOPIC_RECORD and not lines:
                lines.append(_line(offset, "LEVEL", level))
            elif kind == _FEATURE_LEVEL_RECORD:
                new_level = _level(content)
                if new_level is not None and new_level != level:
                    level = new_level
                    if lines:
                        lines.append(_line(offset, "CHANGED", level))
    return lines


def told_levels(levels: list[int]) -> list[dict[str, Json]]:
    """Returns the lines for levels that the user names, in order."""
    return [
        _line(offset, "CHANGED" if offset else "LEVEL", level)
        for offset, level in enumerate(levels)
    ]


def _line(offset: int, kind: str, level: int) -> dict[str, Json]:
    return {"source": METADATA_LOG, "offset": offset, "kind": kind, "level": f"TV{level}"}


def _records(path: Path) -> Iterator[tuple[int, int, Reader]]:
    """Yields the offset, the kind and the content of the records in a file. Other logs of the
    metadata than those of KRaft have no such records.
    """
    data = inputs.content(path, inputs.Kind.SEGMENT)
    for batch in batches(data):
        if batch.control or batch.compressed:
            continue
        for record in records(data, batch):
            if record.value is None:
                continue
            reader = Reader(record.value)
            reader.varint()
            kind = reader.varint()
            reader.varint()
            yield record.offset, kind, reader


def _level(reader: Reader) -> int | None:
    """Returns the level in a FeatureLevelRecord, or None if it is that of another feature."""
    return reader.number(2) if reader.text(reader.varint() - 1) == _FEATURE else None
