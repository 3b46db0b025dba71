"""Specs with a single misspelling, and the places where its errors should be.

A misspelling deletes, doubles or transposes tokens, or misspells a keyword. Its place is the
damaged line, including all lines of a bracket, and the lines next to it, since a missing colon or
bracket can often be noticed only there. An error anywhere else is a follow-on error, because the
undamaged spec has no errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TypeAlias

from tests.docs.test_examples import SPECS
from tests.support.paths import ROOT

from fencepost.checker.engines import COUNTING
from fencepost.spec.elaborate.base.files import Trees
from fencepost.spec.elaborate.claims.program import build, load, select
from fencepost.spec.elaborate.ide.survey import survey
from fencepost.spec.syntax.lalr import keyword_places
from fencepost.spec.syntax.layout import chunks, lines
from fencepost.spec.syntax.parser import parse
from fencepost.spec.syntax.tokens import BREAK, COMMENT, DOCSTRING, Token, scan
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source

MODELS = (
    *sorted((ROOT / "models/classics").glob("*.fence")),
    ROOT / "models/classics/lib/safra.fence",
    ROOT / "models/kafka/conform_kafka.fence",
    ROOT / "models/kafka/lib/network.fence",
    ROOT / "models/kafka/lib/recorded.fence",
    ROOT / "models/kafka/txn_starvation.fence",
)
"""The shipped specs to damage. They have no errors, and their checks are built within a second."""

NAME = "misspelt.fence"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TREES = Trees()


@dataclass(frozen=True, slots=True)
class Original:
    """A spec without errors, with the files of the documentation that it may import, and a folder
    of other modules.
    """

    name: str
    text: str
    modules: Mapping[str, str]
    folder: Path | None = None

    @property
    def search(self) -> Sequence[Path]:
        return () if self.folder is None else (self.folder,)


@dataclass(frozen=True, slots=True)
class Misspelling:
    """A damaged spec with its errors and warnings. ``place`` contains the lines of text where they
    should be.
    """

    original: Original
    kind: str
    text: str
    place: range
    problems: Sequence[Problem]

    def in_place(self, problem: Problem) -> bool:
        """Returns whether a problem is reported where the text is damaged."""
        span = problem.span
        return span is not None and span.source.text == self.text and span.line in self.place

    @property
    def elsewhere(self) -> Sequence[Problem]:
        """The problems that are not reported where the text is damaged."""
        return [problem for problem in self.problems if not self.in_place(problem)]

    def __str__(self) -> str:
        damaged = "\n".join(self.text.splitlines()[self.place.start - 1 : self.place.stop - 1])
        title = f"{self.original.name}, line {self.place.start}: {self.kind}"
        return "\n".join((title, damaged, *map(str, self.problems)))


@cache
def originals() -> tuple[Original, ...]:
    """Reads the specs to damage."""
    shipped = [Original(path.stem, path.read_text("utf-8"), {}, path.parent) for path in MODELS]
    documented = [
        Original(str(block), block.text, block.files)
        for block in SPECS
        if block.words[1] == "check"
    ]
    return (*shipped, *documented)


def write(original: Original, text: str, folder: Path) -> Path:
    """Writes a spec with this text, next to the modules of ``original``."""
    for name, content in {**original.modules, NAME: text}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder / NAME


def refused(original: Original, path: Path) -> Sequence[Problem]:
    """Returns the problems with which a damaged spec is refused, or nothing if it can be used."""
    try:
        program = load(path, original.search, COUNTING, _TREES)
        for check in program.runs:
            select(build(program, check), check)
    except Rejected as rejected:
        return rejected.problems
    assert not parse(Source(NAME, path.read_text("utf-8")))[1], "a syntax error was accepted"
    return ()


def marked(original: Original, path: Path) -> Sequence[Problem]:
    """Returns the problems that an editor shows for a damaged spec."""
    return Rejected(survey(path, original.search, engines=COUNTING).problems).problems


# ---------------------------------------------------------------- damage

Edit: TypeAlias = tuple[int, int, str]
"""A replacement of the text between two offsets."""


def _tokens(text: str) -> list[Token]:
    return [token for token in scan(text) if token.kind not in (BREAK, COMMENT, DOCSTRING)]


def _deleted(text: str, random: Random) -> Edit:
    token = random.choice(_tokens(text))
    return token.start, token.end, ""


def _doubled(text: str, random: Random) -> Edit:
    token = random.choice(_tokens(text))
    return token.start, token.end, f"{token.text} {token.text}"


def _transposed(text: str, random: Random) -> Edit:
    neighbours = [
        (left, right)
        for left, right in pairwise(_tokens(text))
        if "\n" not in text[left.end : right.start] and left.text != right.text
    ]
    left, right = random.choice(neighbours)
    between = text[left.end : right.start] or " "
    # Two words do not become one.
    before = " " if text[left.start - 1 : left.start].isalnum() else ""
    after = " " if text[right.end : right.end + 1].isalnum() else ""
    return left.start, right.end, f"{before}{right.text}{between}{left.text}{after}"


def _misspelt(text: str, random: Random) -> Edit:
    keywords = {offset for chunk in chunks(lines(text)) for offset in keyword_places(chunk)}
    token = random.choice([token for token in _tokens(text) if token.start in keywords])
    word = token.text
    at = random.randrange(len(word))
    others = {
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + random.choice(LETTERS) + word[at + 1 :],
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
    }
    return token.start, token.end, random.choice(sorted(others - {word}))


DAMAGE: Mapping[str, Callable[[str, Random], Edit]] = {
    "token deleted": _deleted,
    "token doubled": _doubled,
    "tokens transposed": _transposed,
    "keyword misspelt": _misspelt,
}


def misspelling(seed: int, folder: Path) -> Misspelling:
    """Generates the misspelling of a seed. The damaged spec is refused."""
    random = Random(seed)
    original = random.choice(originals())
    kind = (*DAMAGE,)[seed % len(DAMAGE)]
    while True:
        start, end, new = DAMAGE[kind](original.text, random)
        text = original.text[:start] + new + original.text[end:]
        problems = refused(original, write(original, text, folder))
        if problems:
            return Misspelling(original, kind, text, _place(original.text, start), problems)


def _place(text: str, offset: int) -> range:
    """Returns the lines from the end of the logical line above an offset to the start of the one
    below.
    """
    logical = lines(text)
    above = [line.end for line in logical if line.end <= offset]
    below = [line.start for line in logical if line.start > offset]
    first, last = above[-1:] or [offset], below[:1] or [len(text) - 1]
    return range(text.count("\n", 0, first[0]) + 1, text.count("\n", 0, last[0]) + 2)
