"""Docstrings, comments, messages and documentation avoid the phrases in `words.toml` and the bold
words in `docs/glossary.md`.

`words.toml` contains the patterns, and the exceptions with their reasons. An exception that is no
longer needed fails.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.paths import ROOT

TABLES = tomllib.loads((ROOT / "tests" / "docs" / "words.toml").read_text(encoding="utf-8"))
GLOSSARY = "docs/glossary.md"
PACKAGES = ("spec", "checker", "bench", "tests")
EMPTY = re.compile(rf"\b({'|'.join(TABLES['names']['empty'])})\b")
PATTERNS = {row["name"]: re.compile(row["pattern"], re.M) for row in TABLES["pattern"]}
RETIRED = "retired word"
FENCE = re.compile(r"^ *(?P<ticks>```+)[^`\n]*\n.*?^ *(?P=ticks) *$", re.M | re.S)
ANYWHERE = re.compile("|".join(row["pattern"].lstrip("^") for row in TABLES["pattern"]))
"""Matches if a text may contain a forbidden phrase. Most modules contain none, and need not be
parsed.
"""
GENERATED = re.compile(r"^<!-- by .*?^<!-- end -->$", re.M | re.S)
INLINE_CODE = re.compile(r"`+[^`\n]+`+")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Text: TypeAlias = tuple[int, str]
"""The number of the first line, and the text."""


@dataclass(frozen=True, slots=True)
class Match:
    """A forbidden phrase with the words around the phrase."""

    file: str
    line: int
    pattern: str
    phrase: str
    context: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.pattern}: {self.context}"


def blank(match: re.Match[str]) -> str:
    """Returns as many line breaks as a block has, so that the lines after the block keep their
    numbers.
    """
    return "\n" * match[0].count("\n")


def prose(source: str) -> str:
    """Returns the prose of a page, without fenced blocks, inline code and generated tables."""
    return INLINE_CODE.sub("`x`", GENERATED.sub(blank, FENCE.sub(blank, source)))


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def comments(source: str) -> Iterator[Text]:
    """Yields the comments of a module, and the docstrings of the module, its classes, functions and
    attributes.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and is_text(node.value):
            yield node.value.lineno, INLINE_CODE.sub("`x`", cleandoc(ast.literal_eval(node.value)))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.removeprefix("#").strip()


def messages(source: str) -> Iterator[Text]:
    """Yields the string literals of a module that contain more than one space, except
    docstrings.
    """
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                if text.count(" ") > 1:
                    yield node.lineno, text
            case _:
                pass


@cache
def retired() -> re.Pattern[str]:
    """Returns a pattern for the words in bold in the last columns of the glossary, and their
    plurals.
    """
    words = [
        word
        for row in (ROOT / GLOSSARY).read_text(encoding="utf-8").splitlines()
        if row.startswith("| ")
        for word in re.findall(r"\*\*(.+?)\*\*", row.rsplit("|", 2)[1])
    ]
    plurals = {word: f"{word}(e?s)?" for word in words}
    return re.compile(rf"\b({'|'.join(plurals.values())})\b", re.I)


def matches(file: str, texts: Iterator[Text]) -> Iterator[Match]:
    """Yields each forbidden phrase in some texts of a file."""
    patterns = dict(PATTERNS) if file == GLOSSARY else {**PATTERNS, RETIRED: retired()}
    for line, text in texts:
        for name, pattern in patterns.items():
            for match in pattern.finditer(text):
                around = text[max(0, match.start() - 40) : match.end() + 40]
                number = line + text.count("\n", 0, match.start())
                yield Match(file, number, name, match[0], " ".join(around.split()))


def is_exception(match: Match, row: dict[str, str]) -> bool:
    return (
        fnmatch(match.file, row["file"])
        and match.phrase in row["phrase"]
        and row["phrase"] in match.context
    )


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def all_matches() -> tuple[Match, ...]:
    """Returns the matches in all texts, except in files that `words.toml` excludes."""
    collected: list[Match] = []
    excluded = [row["file"] for row in TABLES["excluded"]]
    for path in pages():
        if not any(fnmatch(name_of(path), pattern) for pattern in excluded):
            text = prose(path.read_text(encoding="utf-8"))
            collected += matches(name_of(path), iter([(1, text)]))
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if not (ANYWHERE.search(source) or retired().search(source)):
                continue
            collected += matches(name_of(path), comments(source))
            if package in ("spec", "checker"):
                collected += matches(f"messages of {name_of(path)}", messages(source))
    return tuple(collected)


def empty_names(source: str) -> Iterator[str]:
    """Yields the empty names that a module binds by assignments and as parameters, with
    repetitions.
    """
    if not EMPTY.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if EMPTY.fullmatch(name):
                yield name
            case _:
                pass


ALLOWED = {row["name"]: row["most"] for row in TABLES["pattern"] if "most" in row}


@pytest.mark.parametrize("pattern", [*PATTERNS, RETIRED])
def test_texts_avoid_the_phrases(pattern: str) -> None:
    """If this test fails, rewrite the sentence; an exception needs a reason in `words.toml`."""
    new = [
        str(match)
        for match in all_matches()
        if match.pattern == pattern
        and not any(is_exception(match, row) for row in TABLES["exception"])
    ]
    assert len(new) <= ALLOWED.get(pattern, 0), "\n".join(new)


@pytest.mark.parametrize("row", TABLES["exception"], ids=lambda row: row["phrase"])
def test_exceptions_are_needed(row: dict[str, str]) -> None:
    assert any(is_exception(match, row) for match in all_matches())


@pytest.mark.parametrize("kind", ["pattern", "excluded", "exception", "names"])
def test_rows_have_reasons(kind: str) -> None:
    rows = TABLES[kind] if isinstance(TABLES[kind], list) else [TABLES[kind]]
    assert all(row["reason"] for row in rows if kind != "pattern" or "most" in row)


def test_names_say_what_they_hold() -> None:
    """Lower ``most`` in `words.toml` when the number of empty names falls."""
    counts = Counter(
        f"{name_of(path)}: {name}"
        for package in ("spec", "checker")
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in empty_names(path.read_text(encoding="utf-8"))
    )
    assert counts.total() <= TABLES["names"]["most"], dict(counts)


@pytest.mark.parametrize("row", TABLES["pattern"], ids=lambda row: row["name"])
def test_each_pattern_finds_its_example_everywhere(row: dict[str, str]) -> None:
    """A forbidden phrase is found if it is inserted into a docstring, a comment, a message or a
    page.
    """
    example = row["example"]
    sources = [
        comments(f'def f():\n    """{example}"""\n'),
        comments(f'class C:\n    a: int\n    """{example}"""\n'),
        comments(f"x = 1  # {example}\n"),
        messages(f"x = f({example!r})\n"),
        iter([(1, prose(f"# Title\n\n{example}\n"))]),
    ]
    for texts in sources:
        assert row["name"] in {match.pattern for match in matches("x", texts)}
    hidden = f"```fence\n{example}\n```\n<!-- by x -->\n{example}\n<!-- end -->\n`{example}`\n"
    assert list(matches("x", iter([(1, prose(hidden))]))) == []


@pytest.mark.parametrize("row", TABLES["pattern"], ids=lambda row: row["name"])
def test_no_pattern_finds_its_correction(row: dict[str, str]) -> None:
    assert list(matches("x", iter([(1, row["instead"])]))) == []


def test_retired_words_are_found() -> None:
    assert retired().search("Two forerunners of a state")
    assert not retired().search("Two predecessors of a state")


def test_empty_names_are_found() -> None:
    source = "def f(one, two):\n    for found in one:\n        (made := found)\n    return one\n"
    assert set(empty_names(source)) == {"one", "found", "made"}
