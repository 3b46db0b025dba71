"""Reads logs from the data folders of a stopped broker."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from fencepost.checker.systems.kafka.batches import Batch, Undecodable
from fencepost.checker.systems.kafka.events import TRANSACTION_LOG, Entry, entries
from fencepost.spec.text import inputs

_PARTITION = re.compile(r"(?P<topic>[\w.-]+)-\d+", re.ASCII)


class SegmentLog:
    """The segment files of a partition, in the order of their offsets."""

    def __init__(self, source: str, paths: list[Path]) -> None:
        self.source = source
        self.paths = paths
        self.torn: list[Path] = []
        """Files that end with an incomplete batch, which is left out."""

    def read(self) -> Iterator[tuple[Batch, list[Entry]]]:
        """Yields the batches with their entries. Raises `Undecodable` and `OSError`."""
        for path in self.paths:
            with ExitStack() as closing:
                file = closing.enter_context(inputs.opened(path, inputs.Kind.SEGMENT))
                if os.fstat(file.fileno()).st_size == 0:
                    continue
                end = 0
                data = closing.enter_context(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
                view = memoryview(data)
                try:
                    for batch, batch_entries in entries(view, self.source):
                        end = batch.end
                        yield batch, batch_entries
                    # Preallocated files end with zeros, so these are not an incomplete batch.
                    if any(view[end : end + 17]):
                        self.torn.append(path)
                except Undecodable as why:
                    raise Undecodable(f"{path}: {why}") from None
                finally:
                    view.release()


def logs(folder: Path, topics: frozenset[str]) -> list[SegmentLog]:
    """Returns the logs in a folder of ``log.dirs``: those of the transaction log and of ``topics``,
    or of all topics if ``topics`` is empty.
    """
    result: list[SegmentLog] = []
    for entry in sorted(folder.iterdir()):
        named = _PARTITION.fullmatch(entry.name)
        if named is None or not entry.is_dir() or named["topic"].startswith("__cluster_metadata"):
            continue
        if named["topic"] == TRANSACTION_LOG or not topics or named["topic"] in topics:
            paths = sorted(path for path in entry.iterdir() if path.suffix == ".log")
            if paths:
                result.append(SegmentLog(entry.name, paths))
    return result
