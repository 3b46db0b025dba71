"""docs/language.md lists the built-in functions and methods as their rows describe them."""

from __future__ import annotations

from tests.support.paths import ROOT

from fencepost.spec.elaborate.values.functions import FUNCTIONS, METHODS

TEXT = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


def test_functions_are_documented() -> None:
    lines: list[str] = []
    for row in FUNCTIONS.values():
        forms = " ".join(f"`{form}`" for form in row.form.split(" or "))
        lines.append(f"| {forms} | {row.takes} | {row.meaning} |")
    assert "\n".join(["| call | argument | result |", "| --- | --- | --- |", *lines, ""]) in TEXT


def test_methods_are_documented() -> None:
    lines = [f"| `{row.form}` | {row.meaning} |" for row in METHODS.values()]
    assert "\n".join(["", *lines, ""]) in TEXT
