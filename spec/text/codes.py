"""The table of problem codes, read from ``codes.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """The description of a code: a one-line title, and a Markdown text on its meaning and remedy
    ("" if the title suffices).
    """

    title: str
    text: str


@cache
def codes() -> Mapping[str, Code]:
    """All codes in ascending order."""
    table = tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))
    return {code: Code(row["title"], row.get("text", "")) for code, row in table.items()}
