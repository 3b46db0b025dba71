"""Problems as plain data, which one process can hand to another: also those of every check of a
file, for which there is a process of its own.

It knows nothing of the protocol, and loads nothing that does.
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
    """A problem by place: plain data, which a process can hand to another.

    ``path`` is None where the problem has no place; ``notes`` are remarks, each with a path and a
    range where it has a place.
    """

    code: str
    path: str | None
    start: int
    end: int
    message: str
    warning: bool
    notes: tuple[tuple[str | None, int, int, str], ...]


def marks(problems: Iterable[Problem]) -> Iterator[Mark]:
    """Problems, by the paths of their sources."""
    for one in problems:
        path, start, end = _place(one.span)
        notes = tuple((*_place(span), printable(text)) for span, text in one.notes)
        yield Mark(one.code, path, start, end, printable(one.message), one.warning, notes)


def _place(span: Span | None) -> tuple[str | None, int, int]:
    if span is None:
        return None, 0, 0
    path = Path(span.source.name)
    # What came with Fencepost is named without its folder.
    path = path if path.is_absolute() else package_root() / path
    return str(real(path)), span.start, span.end


# ---------------------------------------------------------------- every check of a file


def of_every_check(path: Path, search: tuple[Path, ...]) -> list[Mark]:
    """All that `fencepost check` would refuse in a file as it is on the disk, slow checks too."""
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
    """The words of the process that finds `of_every_check`: building a model for each check takes
    a while, and would keep the editor waiting.
    """
    return [sys.executable, "-m", __name__, str(path), *map(str, search)]


def heard(output: bytes) -> list[Mark] | None:
    """What that process said; None where it broke off."""
    try:
        rows: list[Any] = json.loads(output)
    except ValueError:
        return None
    return [
        Mark(code, path, start, end, message, warning, tuple(tuple(note) for note in notes))
        for code, path, start, end, message, warning, notes in rows
    ]


if __name__ == "__main__":
    if hasattr(os, "nice"):
        # It has time; the editor has not.
        os.nice(10)
    rows = [
        [m.code, m.path, m.start, m.end, m.message, m.warning, m.notes]
        for m in of_every_check(Path(sys.argv[1]), tuple(map(Path, sys.argv[2:])))
    ]
    sys.stdout.write(json.dumps(rows))
