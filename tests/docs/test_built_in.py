"""docs/language.md lists the built-in functions and methods as their rows describe them."""

from __future__ import annotations

from tests.support.paths import ROOT

from fencepost.spec.elaborate.values.functions import FUNCTIONS, METHODS

LINES = (ROOT / "docs" / "language.md").read_text(encoding="utf-8").splitlines()


def listed(lines: list[str], before: str) -> None:
    """Checks that the manual has these lines in this order, after the line ``before``."""
    start = LINES.index(before) + 1
    assert LINES[start : start + len(lines)] == lines


def test_functions_are_documented() -> None:
    lines = ["| --- | --- | --- |"]
    for row in FUNCTIONS.values():
        forms = " ".join(f"`{form}`" for form in row.form.split(" or "))
        lines.append(f"| {forms} | {row.takes} | {row.meaning} |")
    listed(lines, "| call | argument | result |")


def test_methods_are_documented() -> None:
    first, *lines = [f"| `{row.form}` | {row.meaning} |" for row in METHODS.values()]
    listed(lines, first)
