"""Runs the command on a very slow file system, where reading one file takes 40 seconds.

`FENCEPOST_SLOW_FILE` is a pattern for the path of this file. When the file is first read, `READING`
is written to standard error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from io import BufferedReader, RawIOBase
from pathlib import Path
from unittest import mock

from fencepost.checker.cli.start import entry
from fencepost.spec.text import inputs

FILE = "FENCEPOST_SLOW_FILE"
READING = "reading slowly"
READS = 800
"""The number of reads that it takes to read a whole file."""
PAUSE_SECONDS = 0.05
"""The duration of each read."""


class SlowFile(RawIOBase):
    """A file that pauses before each read and then returns only a small part."""

    def __init__(self, file: BufferedReader, part_bytes: int) -> None:
        self._file = file
        self._part_bytes = part_bytes
        self._announced = False

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._announced:
            self._announced = True
            os.write(2, f"{READING}\n".encode())
        time.sleep(PAUSE_SECONDS)
        data = self._file.read(min(self._part_bytes, len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


Opened = Callable[[Path, inputs.Kind], BufferedReader]


def _slow(opened: Opened) -> Opened:
    def slowly_opened(path: Path, kind: inputs.Kind) -> BufferedReader:
        file = opened(path, kind)
        if not path.match(os.environ[FILE]):
            return file
        part_bytes = path.stat().st_size // READS + 1
        return BufferedReader(SlowFile(file, part_bytes), part_bytes)

    return slowly_opened


if __name__ == "__main__":
    mock.patch.object(inputs, "opened", _slow(inputs.opened)).start()
    entry()
