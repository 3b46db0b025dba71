"""Generated tables in pages, each between two comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fencepost.checker.cli.atomic_files import replace

END = "<!-- end -->"


def filled(page: str, command: str, text: str) -> str:
    """Returns the page with ``text`` in the section that ``command`` writes."""
    begin = f"<!-- by {command} -->"
    section = re.compile(f"{re.escape(begin)}\n.*?{re.escape(END)}", re.S)
    after, count = section.subn(lambda _: f"{begin}\n{text}{END}", page)
    if count != 1:
        raise AssertionError(f"the page has {count} places for {command}")
    return after


def fill(page: Path, command: str, text: str) -> None:
    """Writes ``text`` into the section of a file that ``command`` writes."""
    replace(page, filled(page.read_text(encoding="utf-8"), command, text))


def line(cells: Sequence[str]) -> str:
    """Returns a row of a table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table without alignment."""
    return "\n".join(map(line, (head, ["---"] * len(head), *rows)))
