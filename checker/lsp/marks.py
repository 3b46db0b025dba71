"""Problems as plain data that can be passed between processes. Run as a program, this module finds
the problems of every check of a file.

It does not depend on the protocol and loads none of its libraries.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fencepost.checker.run.session import plan
from fencepost.checker.run.settings import Request
from fencepost.spec.records import dataclass
from fencepost.spec.text.library import package_root, real
from fencepost.spec.text.problem import Problem, printable
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Mark:
    """A problem and its range, as plain data.

    ``path`` is None if the problem has no span. ``notes`` holds remarks. Each has a text, and a
    path and a range if the remark has a span. ``severity`` is that of the problem.
    """

    code: str
    path: str | None
    start: int
    end: int
    message: str
    severity: str
    notes: tuple[tuple[str | None, int, int, str], ...]


def marks(problems: Iterable[Problem]) -> Iterator[Mark]:
    """Converts problems to marks, which contain the paths of the sources."""
    for problem in problems:
        path, start, end = _place(problem.span)
        notes = tuple((*_place(span), printable(text)) for span, text in problem.notes)
        yield Mark(
            problem.code, path, start, end, printable(problem.message), problem.severity, notes
        )


def _place(span: Span | None) -> tuple[str | None, int, int]:
    if span is None:
        return None, 0, 0
    path = Path(span.source.name)
    # Files that are part of Fencepost have names relative to the package.
    path = path if path.is_absolute() else package_root() / path
    return str(real(path)), span.start, span.end


# ---------------------------------------------------------------- every check of a file


def of_every_check(path: Path, search: tuple[Path, ...]) -> list[Mark]:
    """Returns all problems that `fencepost check` would report for a file on disk, including those
    of slow checks.
    """
    prepared = plan(Request((path,), slow=True, search=search))
    warnings = [
        problem
        for spec in prepared.specs
        for problem in (
            *spec.program.warnings,
            *(w for job in spec.jobs for w in job.model.warnings),
        )
    ]
    return list(dict.fromkeys(marks([*prepared.problems, *warnings])))


def command(path: Path, search: Iterable[Path]) -> list[str]:
    """Returns the command that runs `of_every_check` in a separate process. Building a model for
    each check takes a while, and would block the editor.
    """
    return [sys.executable, "-m", __name__, str(path), *map(str, search)]


def heard(output: bytes) -> list[Mark] | None:
    """Parses the output of that process. Returns None if the output is incomplete."""
    try:
        rows: list[Any] = json.loads(output)
    except ValueError:
        return None
    return [
        Mark(code, path, start, end, message, severity, tuple(tuple(note) for note in notes))
        for code, path, start, end, message, severity, notes in rows
    ]


if __name__ == "__main__":
    if hasattr(os, "nice"):
        # Lower the priority, so that the editor stays responsive.
        os.nice(10)
    rows = [
        [m.code, m.path, m.start, m.end, m.message, m.severity, m.notes]
        for m in of_every_check(Path(sys.argv[1]), tuple(map(Path, sys.argv[2:])))
    ]
    sys.stdout.write(json.dumps(rows))
