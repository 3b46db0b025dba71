"""The grammar for editors: valid, and it knows every keyword of the language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.paths import ROOT

from fencepost.spec.syntax.lalr import keywords

EDITOR = ROOT / "docs" / "editor"
GRAMMAR: Any = json.loads((EDITOR / "fence.tmLanguage.json").read_text(encoding="utf-8"))


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value  # pyright: ignore[reportUnknownVariableType]
        for part in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from nodes(part)
    elif isinstance(value, list):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from nodes(part)


PATTERNS = [
    str(node[key]) for node in nodes(GRAMMAR) for key in ("match", "begin", "end") if key in node
]


def test_patterns_are_regular_expressions() -> None:
    for pattern in PATTERNS:
        re.compile(pattern)


def test_includes_exist() -> None:
    names = {str(node["include"]).removeprefix("#") for node in nodes(GRAMMAR) if "include" in node}
    assert names == GRAMMAR["repository"].keys()


def test_every_keyword_has_a_colour() -> None:
    words = set(re.findall(r"[a-z]+", re.sub(r"\\[a-zA-Z]", " ", " ".join(PATTERNS))))
    assert keywords() <= words


def test_extension_names_the_grammar() -> None:
    package: Any = json.loads((EDITOR / "package.json").read_text(encoding="utf-8"))
    for entry in (*package["contributes"]["grammars"], *package["contributes"]["languages"]):
        assert (EDITOR / entry.get("path", entry.get("configuration"))).is_file()
    assert package["contributes"]["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]
