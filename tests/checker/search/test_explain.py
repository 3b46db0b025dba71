"""The blamed part of a violated property, and the values that make it fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.checker import api
from fencepost.spec.core.spelling import show

SPEC = """\
var x: 0..3 = 1
var done: bool = true
def both: bool =
    x == 1
    done
def over(n: int): bool = x > n
terminal: true
"""


@pytest.mark.parametrize(
    ("body", "blamed", "instance"),
    [
        ("x == 2", "x == 2", ""),
        ("done and x == 2", "x == 2", ""),
        ("x == 2 or x == 3", "x == 2 or x == 3", ""),
        ("done implies x == 2", "x == 2", ""),
        ("if done then x == 2 else x == 1", "x == 2", ""),
        ("forall n in 0..3: over(n)", "x > n", "n = 1"),
        ("forall n in 0..3: n == 3 or n < x", "n == 3 or n < x", "n = 1"),
        ("exists n in 2..3: x == n", "exists n in 2..3: x == n", ""),
        # Inside a negation the true part is wrong, so the negation is blamed, not a part of it.
        ("not done", "not done", ""),
        ("not both", "not both", ""),
        ("not (done and x == 1)", "not (done and x == 1)", ""),
        ("not (x == 2 or done)", "not (x == 2 or done)", ""),
        ("done implies not both", "not both", ""),
        ("not exists n in 0..3: n == x", "not exists n in 0..3: n == x", "n = 1"),
        # Inside two negations a part is blamed again.
        ("not not (done and x == 2)", "x == 2", ""),
        ("not (both and not (x == 2))", "not (both and not (x == 2))", ""),
        ("not (done implies x == 1)", "not (done implies x == 1)", ""),
    ],
)
def test_blame(body: str, blamed: str, instance: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.fence"
    spec.write_text(f"{SPEC}invariant I: {body}\n", encoding="utf-8")
    finding = api.check(spec, engine="interpreter").first.finding
    assert finding is not None
    assert finding.failing is not None
    assert finding.failing.text == blamed
    shown = (f"{c.label} = {show(c.value, c.type)}" for c in finding.instance)
    assert ", ".join(shown) == instance
