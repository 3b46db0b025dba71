"""The terminal that a command talks to: its width and colours, what goes to which stream.

It does not know what is said.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress

from fencepost import __version__
from fencepost.checker.report.page import Page, ansi, plain
from fencepost.spec.problem import harmless, printable

WIDTH = 100
"""Where there is no terminal to ask."""


def new_page() -> Page:
    """An empty page for standard output."""
    return Page(width(), ansi if coloured() else plain)


def coloured() -> bool:
    """Whether standard output is a terminal that shows colours."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not refused


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
    told = text if commands else harmless(text)
    _quietly(lambda: sys.stdout.write(told))


def flush() -> None:
    """Standard output is written out."""
    _quietly(sys.stdout.flush)


def complain(text: str) -> None:
    """Writes lines to standard error, made printable; none is a command to a build."""
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{harmless(printable(text))}\n")


def _quietly(write: Callable[[], object]) -> None:
    """Writes to stdout; a reader that has gone away is no error of this run."""
    try:
        write()
    except BrokenPipeError:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
