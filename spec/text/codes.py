"""What each code of a problem means: the table is ``codes.toml``, beside this module."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """What a code stands for: a title of a line, and a text (Markdown, "" where the title says it
    all) on what it means and what to do.
    """

    title: str
    text: str


@cache
def codes() -> Mapping[str, Code]:
    """Every code, ascending."""
    table = tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))
    return {code: Code(row["title"], row.get("text", "")) for code, row in table.items()}
