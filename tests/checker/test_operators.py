"""Every operator on numbers gives the same results in every engine, on random and on extreme
operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest
from tests.support.core_builders import python_value

import fencepost
from fencepost.spec.core.operators import Operator

ROWS = 24


@dataclass(frozen=True)
class Kind:
    """A type of operands, with the number of bits to which results wrap, or None."""

    text: str
    low: int
    high: int
    bits: int | None


KINDS = (
    Kind("-9..9", -9, 9, None),
    Kind("int[3]", -4, 3, 3),
    Kind("int8", -128, 127, 8),
    Kind("int16", -(1 << 15), (1 << 15) - 1, 16),
    Kind("int64", -(1 << 63), (1 << 63) - 1, 64),
)
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    **{f"row.a {sign.value} row.b": partial(python_value, sign) for sign in Operator},
    "-row.a": lambda a, b: -a,
}
DIVIDING = {f"row.a {sign.value} row.b" for sign in Operator if sign.row.divides}
TRUTH: dict[str, Callable[[int, int], bool]] = {
    "row.a == row.b": lambda a, b: a == b,
    "row.a != row.b": lambda a, b: a != b,
    "row.a < row.b": lambda a, b: a < b,
    "row.a <= row.b": lambda a, b: a <= b,
    "row.a > row.b": lambda a, b: a > b,
    "row.a >= row.b": lambda a, b: a >= b,
    "row.a in {row.b, 1}": lambda a, b: a in (b, 1),
    "min({row.a, row.b}) == row.a": lambda a, b: a <= b,
    "max([row.a, row.b]) == row.a": lambda a, b: a >= b,
}


def wrapped(number: int, bits: int | None) -> int:
    if bits is None:
        return number
    number %= 1 << bits
    return number - (1 << bits) if number >> (bits - 1) else number


def operands(kind: Kind, formula: str) -> list[tuple[int, int]]:
    """Returns pairs of numbers of a kind; no divisor is zero."""
    chance = Random(f"{kind} {formula}")
    edges = [kind.low, kind.low + 1, -1, 0, 1, kind.high - 1, kind.high]

    def operand() -> int:
        return chance.choice([chance.choice(edges), chance.randint(kind.low, kind.high)])

    pairs = [(kind.low, -1), (kind.low, kind.low), (kind.high, kind.high)]
    while len(pairs) < ROWS:
        a, b = operand(), operand()
        if b or formula not in DIVIDING:
            pairs.append((a, b))
    return list(dict.fromkeys(pairs))


def agree(rows: list[str], results: str, kind: Kind, claim: str, folder: Path) -> None:
    """Checks that every engine finds the claim true in every row."""
    text = (
        f"record Row: a: {kind.text}, b: {kind.text}, r: {results}\n"
        f"var row: Row in {{{', '.join(rows)}}}\nterminal: true\ninvariant Agrees: {claim}\n"
    )
    path = folder / "rows.fence"
    path.write_text(text, encoding="utf-8")
    for engine in ("interpreter", "local"):
        result = fencepost.check(path, engine=engine)
        assert result.as_expected, str(result)
        assert result.distinct == len(rows)
    path.write_text(f"{text}check it:\n    expect ok within 0\n", encoding="utf-8")
    result = fencepost.check(path, engine="bmc")
    assert result.as_expected, str(result)


@pytest.mark.parametrize("formula", ARITHMETIC)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.text)
def test_arithmetic(kind: Kind, formula: str, tmp_path: Path) -> None:
    results = "-99..99" if kind.bits is None else kind.text
    rows = [
        f"Row({a}, {b}, {wrapped(ARITHMETIC[formula](a, b), kind.bits)})"
        for a, b in operands(kind, formula)
    ]
    agree(rows, results, kind, f"{formula} == row.r", tmp_path)


@pytest.mark.parametrize("formula", TRUTH)
@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.text)
def test_comparisons(kind: Kind, formula: str, tmp_path: Path) -> None:
    rows = [
        f"Row({a}, {b}, {str(TRUTH[formula](a, b)).lower()})" for a, b in operands(kind, formula)
    ]
    agree(rows, "bool", kind, f"({formula}) iff row.r", tmp_path)


@pytest.mark.parametrize("engine", ["interpreter", "local", "bmc"])
def test_a_wrong_row_is_found(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.fence"
    path.write_text(
        "record Row: a: int8, b: int8, r: int8\nvar row: Row in {Row(1, 2, 3), Row(100, 28, 127)}\n"
        "terminal: true\ninvariant Agrees: row.a + row.b == row.r\n"
        "check it:\n    depth 0\n    expect violated Agrees\n",
        encoding="utf-8",
    )
    result = fencepost.check(path, engine=engine)
    assert result.as_expected, str(result)
