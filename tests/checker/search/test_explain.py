"""The part of a violated property that is blamed, and the values that make it fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.text_tables import tables

from fencepost.checker import api
from fencepost.spec.core.spelling import show

TABLES = tables(Path(__file__))

SPEC = """\
var x: 0..3 = 1
var done: bool = true
def both: bool =
    x == 1
    done
def over(n: int): bool = x > n
terminal: true
"""


@pytest.mark.parametrize(("body", "blamed", "instance"), TABLES["blame"])
def test_blame(body: str, blamed: str, instance: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.fence"
    spec.write_text(f"{SPEC}invariant I: {body}\n", encoding="utf-8")
    finding = api.check(spec, engine="interpreter").first.finding
    assert finding is not None
    assert finding.failing is not None
    assert finding.failing.text == blamed
    shown = (f"{c.label} = {show(c.value, c.type)}" for c in finding.instance)
    assert ", ".join(shown) == instance
