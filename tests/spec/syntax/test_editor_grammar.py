"""The grammar for editors is valid and has exactly the words of the language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.paths import ROOT

from fencepost.spec.elaborate.base.built_in import TYPE_WORDS, VALUE_WORDS
from fencepost.spec.elaborate.values.functions import FUNCTIONS, METHODS
from fencepost.spec.syntax.lalr import keywords

EDITOR = ROOT / "editors" / "vscode"
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


def pattern(scope: str, with_: str) -> str:
    """Returns the only pattern of a scope that contains a word."""
    (match,) = [
        str(node["match"])
        for node in nodes(GRAMMAR)
        if "match" in node and scope in json.dumps(node) and re.search(with_, str(node["match"]))
    ]
    return match


@pytest.mark.parametrize(
    ("scope", "words", "more"),
    [
        ("support.type.fence", TYPE_WORDS, ()),
        ("constant.language.fence", VALUE_WORDS, ("true", "false", "none", "any")),
    ],
    ids=["types", "values"],
)
def test_words_of_a_colour(scope: str, words: tuple[str, ...], more: tuple[str, ...]) -> None:
    """A colour applies to exactly the words in a list of the language."""
    match = pattern(scope, rf"\b{words[0]}\b")
    listed = re.sub(r"\\[a-zA-Z]|\(\?[^(]*?\(\)$|\(\?=.*", " ", match)
    listed = listed.replace("int(?:8|16|32|64)?", "int|int8|int16|int32|int64")
    assert set(re.findall(r"[a-z]\w*", listed)) == {*words, *more}


def test_calls_have_a_colour() -> None:
    """The colour of calls applies to functions and methods, regardless of their names."""
    call = pattern("entity.name.function.call.fence", "a-z")
    for name in (*FUNCTIONS, *METHODS):
        assert re.search(call, f"{name}(x)")
    assert not re.search(call, "Client(x) in c")


def test_extension_names_the_grammar() -> None:
    package: Any = json.loads((EDITOR / "package.json").read_text(encoding="utf-8"))
    for entry in (*package["contributes"]["grammars"], *package["contributes"]["languages"]):
        assert (EDITOR / entry.get("path", entry.get("configuration"))).is_file()
    assert package["contributes"]["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]
