"""The table of codes, the code that uses them, and the page generated from it."""

from __future__ import annotations

import ast
import re

import pytest
from bench.errors_page import PAGE, updated_page
from tests.support.paths import ROOT

from fencepost.spec.text.codes import Code, codes


def test_every_code_of_the_program_is_in_the_table() -> None:
    """The opposite holds as well: every code in the table is used, always as a complete string
    literal.
    """
    used = {
        node.value
        for folder in ("spec", "checker")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"F\d{3}", node.value)
    }
    assert used == set(codes())


def test_codes_are_sorted() -> None:
    assert list(codes()) == sorted(codes())


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == updated_page(page), "python -m bench.errors_page"
    assert re.findall(r"^### (F\d{3})\b", page, re.M) == list(codes())


def test_examples_stay_and_titles_and_texts_change(monkeypatch: pytest.MonkeyPatch) -> None:
    new = {"F001": Code("One", "A text.\n"), "F002": Code("Two", ""), "F201": Code("Three", "")}
    monkeypatch.setattr("bench.errors_page.codes", lambda: new)
    page = """# Errors

## Files

### F001 Another title

Another text.

```fence error F001
x
```

And more.

### F003 Gone

## Names

### F201 Three
"""
    assert (
        updated_page(page)
        == """# Errors

## Files

### F001 One

A text.

```fence error F001
x
```

And more.

### F002 Two

## Names

### F201 Three
"""
    )
