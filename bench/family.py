"""Samples the resource use of a process and its descendants while they run.

This is needed if no parent accounts for them: Spark's driver starts Java, which starts workers. Use
between the last sample and the end of a process is not counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Family:
    """A process, given by its id, and its descendants: their processor seconds, and the peak memory
    of each kind of process, in bytes.
    """

    root: int
    _seconds: dict[int, float] = field(default_factory=dict[int, float])
    peaks: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def seconds(self) -> float:
        """The total processor seconds."""
        return sum(self._seconds.values())

    def look(self) -> None:
        """Takes a sample of the running processes."""
        for process in self._living():
            with suppress(OSError, ValueError, IndexError):
                name, words = _stat(process)
                self._seconds[process] = (int(words[11]) + int(words[12])) * TICK
                kind = "driver" if process == self.root else name
                self.peaks[kind] = max(self.peaks.get(kind, 0), _peak(process))

    def _living(self) -> Iterator[int]:
        children: dict[int, list[int]] = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    children.setdefault(int(_stat(int(path.name))[1][1]), []).append(int(path.name))
        waiting = [self.root]
        while waiting:
            process = waiting.pop()
            yield process
            waiting += children.get(process, ())


def _stat(process: int) -> tuple[str, list[str]]:
    """Returns the name of a process, and the fields of its `stat` file that follow the name."""
    name, _, rest = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")
    return name.partition("(")[2], rest.split()


def _peak(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0
