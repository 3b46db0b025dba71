"""The terminal that a command talks to: its width and colours, what goes to which stream.

It does not know what is said.
"""

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
"""Where there is no terminal to ask."""


def new_page() -> Page:
    """An empty page for standard output."""
    return Page(width(), ansi if coloured() else plain)


def coloured() -> bool:
    """Whether standard output is a terminal that shows colours."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(sys.stdout) and not refused


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; None is one that is closed."""
    with suppress(ValueError):
        return stream is not None and stream.isatty()
    return False


def width() -> int:
    """How wide a page is, in cells."""
    return max(60, min(shutil.get_terminal_size((WIDTH, 24)).columns, 160))


def versions() -> str:
    """What is running, for the foot of a report."""
    return f"fencepost {__version__}, Python {'.'.join(map(str, sys.version_info[:3]))}"


def say(text: str, *, commands: bool = False) -> None:
    """Writes whole lines to standard output. Only with ``commands`` may one be a command to a
    build.
    """
    safe = text if commands else harmless(text)
    _quietly(lambda: sys.stdout.write(safe))


def flush() -> None:
    """Standard output is written out. Raises `Unwritable` as `say` does."""
    _quietly(sys.stdout.flush)


def take_over() -> None:
    """Where there is no standard output (Python has none if the file is closed from the start),
    whoever writes to it raises `Unwritable`.
    """
    if sys.stdout is None:
        sys.stdout = _Absent()


def complain(text: str) -> None:
    """Writes lines to standard error, made printable; none is a command to a build."""
    with suppress(OSError, ValueError):
        # There is no way left to report that.
        if sys.stderr is not None:
            sys.stderr.write(f"{harmless(printable(text))}\n")


class Unwritable(Rejected):
    """Standard output cannot be written: what else there is to say would be lost."""

    def __init__(self, reason: str) -> None:
        what = f"cannot write to standard output: {reason}"
        super().__init__([Problem("F027", None, what)])


CLOSED = "it is closed"


class _Absent(io.TextIOBase):
    """A standard output that is not there; it says so once."""

    def write(self, text: str, /) -> int:
        sys.stdout = _Nowhere()
        raise Unwritable(CLOSED)


class _Nowhere(io.TextIOBase):
    """Throws away what is written to it."""

    def write(self, text: str, /) -> int:
        return len(text)


def _quietly(write: Callable[[], object]) -> None:
    """Writes to stdout; a reader that has gone away is no error of this run. Raises `Unwritable`,
    once, where the system refuses; what follows goes nowhere.
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
    """From here on standard output is thrown away, and what could not be written with it."""
    with suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)
        sys.stdout.flush()
        return
    sys.stdout = _Nowhere()


def refuse(problems: Sequence[Problem], results: Sequence[CheckResult] = ()) -> int:
    """Says what cannot be used; the exit code of the run, whose other checks have ``results``."""
    every = list(problems)
    try:
        flush()
    except Rejected as rejected:
        every += rejected.problems
    complain("\n\n".join(str(problem) for problem in every))
    return exit_code(results, every)
