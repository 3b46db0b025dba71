"""The table of problem codes, read from ``codes.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """The description of a problem code. ``title`` is one line, and ``text`` is Markdown on the
    meaning of the code and its remedy; it is empty if the title suffices.
    """

    title: str
    text: str


@cache
def codes() -> Mapping[str, Code]:
    """Returns the descriptions of all codes, in ascending order of the codes."""
    table = tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))
    return {code: Code(row["title"], row.get("text", "")) for code, row in table.items()}
