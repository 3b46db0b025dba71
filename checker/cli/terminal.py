"""The terminal: its width, its colours, and writing to its streams."""

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
"""The width that is used if there is no terminal."""


def new_page() -> Page:
    """Returns an empty page for standard output."""
    return Page(width(), ansi if coloured() else plain)


def coloured() -> bool:
    """Returns whether standard output is a terminal that shows colours."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(sys.stdout) and not refused


def is_terminal(stream: TextIO | None) -> bool:
    """Returns whether a stream is a terminal. A closed stream may be None."""
    with suppress(ValueError):
        return stream is not None and stream.isatty()
    return False


def width() -> int:
    """Returns the width of a page in cells."""
    return max(60, min(shutil.get_terminal_size((WIDTH, 24)).columns, 160))


def versions() -> str:
    """Returns the versions for the end of a report."""
    return f"fencepost {__version__}, Python {'.'.join(map(str, sys.version_info[:3]))}"


def say(text: str, *, commands: bool = False) -> None:
    """Writes whole lines to standard output. Lines that a CI system would execute as workflow
    commands are escaped, unless ``commands`` is true.
    """
    safe = text if commands else harmless(text)
    _quietly(lambda: sys.stdout.write(safe))


def flush() -> None:
    """Flushes standard output. Raises `Unwritable` if that fails."""
    _quietly(sys.stdout.flush)


def take_over() -> None:
    """Replaces standard output if it is missing, because Python sets it to None if the file is
    closed at the start. The replacement raises `Unwritable`.
    """
    if sys.stdout is None:
        sys.stdout = _Absent()


def complain(text: str) -> None:
    """Writes printable lines to standard error. A CI system executes none of them."""
    with suppress(OSError, ValueError):
        # If this fails, the error cannot be reported anywhere.
        if sys.stderr is not None:
            sys.stderr.write(f"{harmless(printable(text))}\n")


class Unwritable(Rejected):
    """Raised when standard output cannot be written, so that the rest of the output would be
    lost.
    """

    def __init__(self, reason: str) -> None:
        message = f"cannot write to standard output: {reason}"
        super().__init__([Problem("F027", None, message)])


CLOSED = "it is closed"


class _Absent(io.TextIOBase):
    """Replaces a missing standard output. It raises `Unwritable` at the first write."""

    def write(self, text: str, /) -> int:
        sys.stdout = _Nowhere()
        raise Unwritable(CLOSED)


class _Nowhere(io.TextIOBase):
    """Discards all text that is written to it."""

    def write(self, text: str, /) -> int:
        return len(text)


def _quietly(write: Callable[[], object]) -> None:
    """Writes to stdout. Ignores the error if the reader of a pipe has exited. If the system refuses
    to write, raises `Unwritable` once and discards all later output.
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
    """Discards buffered text and everything that is written to standard output later."""
    with suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)
        sys.stdout.flush()
        return
    sys.stdout = _Nowhere()


def refuse(problems: Sequence[Problem], results: Sequence[CheckResult] = ()) -> int:
    """Reports problems and returns the exit code of the run. ``results`` are the results of the
    other checks in the run.
    """
    every = list(problems)
    try:
        flush()
    except Rejected as rejected:
        every += rejected.problems
    complain("\n\n".join(str(problem) for problem in every))
    return exit_code(results, every)
