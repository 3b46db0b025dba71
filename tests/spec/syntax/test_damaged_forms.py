"""Damaged forms of the language, and damaged slips.

Each form and each slip is cut off before each token, or has the token removed or replaced. The
parser returns problems and raises no exception; a text without problems can be formatted. A run
tries every `STEP`-th text, or all of them if ``FENCEPOST_FORMS`` is ``all``. ``FENCEPOST_INSERTED``
is the number of texts with an inserted token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

import pytest
from tests.spec.test_hints import SLIPS
from tests.support import grammar_forms
from tests.support.amounts import amount, everything
from tests.support.syntax_trees import source

from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.syntax.parser import expected_at, parse
from fencepost.spec.syntax.tokens import BREAK, Token, scan, spelled


def _written(blocks: str, head: str = "", indent: str = "") -> tuple[str, ...]:
    """Returns the texts of a table whose blocks consist of a text, ``=>`` and the expected
    result.
    """
    texts = (block.partition("\n=> ")[0] for block in blocks.strip("\n").split("\n\n"))
    return tuple(head + "\n".join(indent + line for line in text.split("\n")) for text in texts)


TEXTS = {
    "declarations": _written(grammar_forms.DECLARATIONS),
    "members": _written(grammar_forms.DECLARATIONS, "role R[i: I]:\n", "    "),
    "statements": _written(grammar_forms.STATEMENTS, "action a(i in I) where p:\n", "    "),
    "expressions": _written(grammar_forms.EXPRESSIONS, "var x: T = ", ""),
    "formulas": _written(grammar_forms.EXPRESSIONS, "property P:\n", "    "),
    "slips": _written(SLIPS.read_text(encoding="utf-8")),
}


STEP = 1 if everything("FORMS") else 12
INSERTED = (*spelled().values(), "x", "3", '"why"', "@", "x(", "[x", "{", "\n", "\n    ", "#")


def _tokens(text: str) -> Sequence[Token]:
    return [token for token in scan(text) if token.kind != BREAK]


def _damaged(text: str) -> Iterator[str]:
    for token in _tokens(text):
        yield text[: token.start]
        yield text[: token.end]
        yield text[: token.start] + text[token.end :]


def _inserted(random: Random) -> Iterator[str]:
    texts = [text for texts in TEXTS.values() for text in texts]
    while True:
        text = random.choice(texts)
        offset = random.choice([token.start for token in _tokens(text)] or [0])
        yield f"{text[:offset]}{random.choice(INSERTED)} {text[offset:]}"


def _check(text: str) -> None:
    _, problems = parse(source(text))
    for problem in problems:
        assert problem.span is not None
        assert 0 <= problem.span.start <= problem.span.end <= len(text) + 1
        assert str(problem)
    expected_at(text, len(text))
    if not problems:
        laid_out = formatted(source(text))
        assert formatted(source(laid_out)) == laid_out


@pytest.mark.parametrize("kind", TEXTS)
def test_damaged_forms(kind: str) -> None:
    every = dict.fromkeys(damaged for text in TEXTS[kind] for damaged in _damaged(text))
    for text in islice(every, None, None, STEP):
        _check(text)


def test_inserted_tokens() -> None:
    for text in islice(_inserted(Random(amount("FIRST", 0))), amount("INSERTED", 500)):
        _check(text)
