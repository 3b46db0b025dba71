"""Tables that a program writes into a page: each stands between two comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fencepost.checker.cli.atomic_files import replace

END = "<!-- end -->"


def filled(page: str, command: str, text: str) -> str:
    """The page with ``text`` in the place of what ``command`` writes there."""
    begin = f"<!-- by {command} -->"
    place = re.compile(f"{re.escape(begin)}\n.*?{re.escape(END)}", re.S)
    after, count = place.subn(lambda _: f"{begin}\n{text}{END}", page)
    if count != 1:
        raise AssertionError(f"the page has {count} places for {command}")
    return after


def fill(page: Path, command: str, text: str) -> None:
    """Writes ``text`` into its place in a file."""
    replace(page, filled(page.read_text(encoding="utf-8"), command, text))


def line(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"
