"""The terminal: its width and colours, and writing to its streams."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO

from fencepost import __version__
from fencepost.checker.printing.page import Page, ansi, plain
from fencepost.checker.run.judge import CheckResult, exit_code
from fencepost.spec.text.problem import Problem, Rejected, harmless, printable

WIDTH = 100
"""The width without a terminal."""


def new_page() -> Page:
    """An empty page for standard output."""
    return Page(width(), ansi if coloured() else plain)


def coloured() -> bool:
    """Whether standard output is a terminal that shows colours."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(sys.stdout) and not refused


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal. A closed stream is None."""
    with suppress(ValueError):
        return stream is not None and stream.isatty()
    return False


def width() -> int:
    """The width of a page in cells."""
    return max(60, min(shutil.get_terminal_size((WIDTH, 24)).columns, 160))


def versions() -> str:
    """The versions for the foot of a report."""
    return f"fencepost {__version__}, Python {'.'.join(map(str, sys.version_info[:3]))}"


def say(text: str, *, commands: bool = False) -> None:
    """Writes whole lines to standard output. Lines that a CI system would execute as workflow
    commands are escaped unless ``commands`` is set.
    """
    safe = text if commands else harmless(text)
    _quietly(lambda: sys.stdout.write(safe))


def flush() -> None:
    """Flushes standard output. Raises `Unwritable`."""
    _quietly(sys.stdout.flush)


def take_over() -> None:
    """Replaces a missing standard output, which Python sets to None if the file is closed at the
    start, by one that raises `Unwritable`.
    """
    if sys.stdout is None:
        sys.stdout = _Absent()


def complain(text: str) -> None:
    """Writes printable lines to standard error; a CI system does not execute any."""
    with suppress(OSError, ValueError):
        # This error cannot be reported anywhere.
        if sys.stderr is not None:
            sys.stderr.write(f"{harmless(printable(text))}\n")


class Unwritable(Rejected):
    """Standard output cannot be written, so the rest of the output would be lost."""

    def __init__(self, reason: str) -> None:
        message = f"cannot write to standard output: {reason}"
        super().__init__([Problem("F027", None, message)])


CLOSED = "it is closed"


class _Absent(io.TextIOBase):
    """A missing standard output. It raises `Unwritable` once."""

    def write(self, text: str, /) -> int:
        sys.stdout = _Nowhere()
        raise Unwritable(CLOSED)


class _Nowhere(io.TextIOBase):
    """Discards its input."""

    def write(self, text: str, /) -> int:
        return len(text)


def _quietly(write: Callable[[], object]) -> None:
    """Writes to stdout, and ignores a reader that has exited. Raises `Unwritable` once if the
    system refuses; later output is discarded.
    """
    try:
        write()
    except BrokenPipeError:
        _nowhere()
    except (OSError, ValueError) as error:
        _nowhere()
        reason = error.strerror if isinstance(error, OSError) else None
        raise Unwritable(reason or CLOSED) from None


def _nowhere() -> None:
    """Discards standard output from now on, including buffered text."""
    with suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)
        sys.stdout.flush()
        return
    sys.stdout = _Nowhere()


def refuse(problems: Sequence[Problem], results: Sequence[CheckResult] = ()) -> int:
    """Reports problems, and returns the exit code of the run, whose other checks have
    ``results``.
    """
    every = list(problems)
    try:
        flush()
    except Rejected as rejected:
        every += rejected.problems
    complain("\n\n".join(str(problem) for problem in every))
    return exit_code(results, every)
