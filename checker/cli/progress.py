"""Shows progress on stderr: as one line that changes on a terminal, and otherwise as a new line
from time to time.

Nothing is written to stdout, which is reserved for reports. rich is imported only for searches that
last a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from fencepost.checker.printing.units import rate, size
from fencepost.checker.request import Deciding, Phase, Progress
from fencepost.checker.run.words import plural
from fencepost.checker.search.interrupts import deferred
from fencepost.spec.text.problem import harmless, printable

if TYPE_CHECKING:
    from rich.live import Live

LIVE_AFTER, LIVE_EVERY = 0.4, 0.1
PLAIN_AFTER, PLAIN_EVERY = 5.0, 5.0


class Reporter:
    """Shows the progress of one check at a time. ``clock`` returns seconds."""

    def __init__(
        self,
        stream: TextIO | None,
        *,
        live: bool,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._live = live
        self._quiet = quiet
        self._clock = clock
        self._title = ""
        self._began = self._next = 0.0
        self._shown: Live | None = None

    def start(self, title: str) -> None:
        """Begins to show the progress of a check."""
        self._title = title
        self._began = self._clock()
        self._next = self._began + (LIVE_AFTER if self._live else PLAIN_AFTER)

    def __call__(self, progress: Progress) -> None:
        """Shows the state of a search, unless the last line was shown too recently."""
        now = self._clock()
        if self._quiet or now < self._next:
            return
        self._next = now + (LIVE_EVERY if self._live else PLAIN_EVERY)
        line = harmless(printable(describe(self._title, progress)).replace("\n", "?"))
        with suppress(OSError, ValueError):
            # If the stream cannot be written, the search continues.
            if self._live:
                self._update(line)
            elif self._stream is not None:
                self._stream.write(line + "\n")
                self._stream.flush()

    def stop(self) -> None:
        """Ends the display for the check and removes the live line."""
        if self._shown is not None:
            with suppress(OSError, ValueError):
                self._shown.stop()
            self._shown = None

    def _update(self, line: str) -> None:
        with deferred():
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

        # The line is wrapped in Text because names in a spec are not markup.
        text = Text(line)
        if self._shown is None:
            console = Console(file=self._stream)
            self._shown = Live(text, console=console, transient=True, auto_refresh=False)
            self._shown.start()
        self._shown.update(text, refresh=True)


def describe(title: str, progress: Progress) -> str:
    """Formats the progress of a search, as in ``race: level 12, 1,234 distinct, ...``."""
    if progress.deciding is not None:
        return f"{title}: {_deciding(progress.deciding, progress)}"
    if not progress.counted:
        return f"{title}: {_path(progress)}, {size(progress.bytes)}"
    if progress.runs is not None:
        return (
            f"{title}: {plural(progress.runs.runs, 'run')}, {plural(progress.runs.steps, 'step')}, "
            f"about {progress.distinct:,} distinct, {size(progress.bytes)}"
        )
    remark = f", {progress.remark}" if progress.remark else ""
    remark += _left(progress)
    return (
        f"{title}: level {progress.level:,}, {progress.distinct:,} distinct, "
        f"{progress.generated:,} generated, queue {progress.queue:,}, "
        f"{rate(progress.distinct, progress.seconds)}, {size(progress.bytes)}{remark}"
    )


def _path(progress: Progress) -> str:
    """Formats the length of the paths that an engine without states considers, as in
    ``8 steps``.
    """
    return plural(max(progress.level - 1, 0), "step")


def _left(progress: Progress) -> str:
    """Formats the estimate of a search, as in ``, perhaps 60,000 to 90,000 in all: 5 s to 9 s
    left``. Without an upper bound, the text is like ``, perhaps at least 60,000 in all: at least 5
    s left``.
    """
    estimate, distinct = progress.estimate, progress.distinct
    if (
        estimate is None
        or distinct < 1
        or (estimate.low if estimate.high is None else estimate.high) <= distinct
    ):
        return ""
    if estimate.high is None:
        left = _time(progress.seconds * (estimate.low / distinct - 1))
        return f", perhaps {estimate} in all: at least {left} left"
    low, high = (
        progress.seconds * max(0, bound / distinct - 1) for bound in (estimate.low, estimate.high)
    )
    times = [_time(low), _time(high)]
    return f", perhaps {estimate} in all: {' to '.join(dict.fromkeys(times))} left"


PHASES: dict[Phase, str] = {
    "automaton": "building the automaton",
    "graph": "numbering the states",
    "product": "exploring the product",
    "edges": "collecting edges",
    "components": "searching components",
    "lasso": "building the lasso",
}
"""The phases of deciding a property, as text for users."""


def _deciding(deciding: Deciding, progress: Progress) -> str:
    """Formats the progress in deciding a property, as in ``deciding P: searching components, 12,345
    edges, 3 components, 40 s, 1.2 GB, ...``.
    """
    counts = [(deciding.edges, "edge"), (deciding.components, "component")]
    parts = [plural(count, noun) for count, noun in counts if count]
    if not progress.counted:
        parts = [_path(progress)]
    elif not deciding.edges:
        parts = [plural(progress.distinct, "state")]
    parts += [_time(progress.seconds), size(progress.bytes)]
    if deciding.left is not None:
        low, high = (_time(seconds) for seconds in deciding.left)
        parts.append(f"perhaps {' to '.join(dict.fromkeys((low, high)))} left")
    return ", ".join([f"deciding {deciding.property}: {PHASES[deciding.phase]}", *parts])


def _time(seconds: float) -> str:
    """Formats a duration, as in ``9 s``, ``4 min`` or ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
