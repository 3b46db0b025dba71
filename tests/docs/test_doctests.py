"""The examples in docstrings show the actual results."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest
from tests.support.paths import ROOT

MODULES = [
    ".".join(("fencepost", *path.relative_to(ROOT).with_suffix("").parts))
    for folder in ("spec", "checker")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings(module: str) -> None:
    results = doctest.testmod(import_module(module))
    assert results.attempted > results.failed == 0
