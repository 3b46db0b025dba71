"""What a process and all that it has started take, looked at while they run.

For what no parent accounts for: Spark's driver starts Java, which starts workers. What a process
takes between the last look and its end is not seen.
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
    """A process, by its id, and its descendants: seconds of processors, and the most memory of each
    kind, in bytes.
    """

    root: int
    _seconds: dict[int, float] = field(default_factory=dict[int, float])
    peaks: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def seconds(self) -> float:
        """Of processors, in sum."""
        return sum(self._seconds.values())

    def look(self) -> None:
        """Looks at those that run now."""
        for one in self._living():
            with suppress(OSError, ValueError, IndexError):
                name, words = _stat(one)
                self._seconds[one] = (int(words[11]) + int(words[12])) * TICK
                kind = "driver" if one == self.root else name
                self.peaks[kind] = max(self.peaks.get(kind, 0), _peak(one))

    def _living(self) -> Iterator[int]:
        children: dict[int, list[int]] = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    children.setdefault(int(_stat(int(path.name))[1][1]), []).append(int(path.name))
        waiting = [self.root]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += children.get(one, ())


def _stat(process: int) -> tuple[str, list[str]]:
    """The name of a process, and what its `stat` has behind it."""
    name, _, rest = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")
    return name.partition("(")[2], rest.split()


def _peak(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0
