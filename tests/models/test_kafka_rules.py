"""Each row on the page of the rules links to a line of the model and to a method of Kafka."""

from __future__ import annotations

import re
import tomllib

import pytest
from bench import rule_places

PAGE = rule_places.PAGE.read_text(encoding="utf-8")
PLACES = PAGE.partition(rule_places.BEGIN)[2].partition(rule_places.END)[0]
NEAR = 30
"""The number of lines by which the page may be out of date; `python -m bench.rule_places` updates
it.
"""
LINE = re.compile(r"(\.fence)#L(\d+)")


def test_every_rule_has_a_line_of_a_model_and_a_method() -> None:
    """Undeclared names, and sources without a pinned version on the page, are errors."""
    now = rule_places.table(PAGE)
    again = "`python -m bench.rule_places` makes the table anew"
    assert LINE.sub(r"\1", PLACES) == LINE.sub(r"\1", now), again
    pairs = zip(LINE.findall(PLACES), LINE.findall(now), strict=True)
    assert all(abs(int(listed) - int(present)) <= NEAR for (_, listed), (_, present) in pairs), (
        again
    )


def test_every_method_is_of_one_release() -> None:
    """Each file is pinned once, and every rule except that of the network has a method."""
    rows = tomllib.loads(rule_places.DATA.read_text(encoding="utf-8"))["rows"]
    assert [rule for rule, row in rows.items() if not row.get("code")] == ["A6"]
    pins = {(match[1], match[2]) for match in re.finditer(r"blob/([\w.]+)/([\w/.-]+)", PLACES)}
    assert len(pins) == len({path for _, path in pins})
    methods = re.findall(r"\[`(\w+)#([\w.]+)`\]", PLACES)
    assert len(methods) == sum(len(row.get("code", ())) for row in rows.values())


def test_every_listed_line_is_used() -> None:
    data = tomllib.loads(rule_places.DATA.read_text(encoding="utf-8"))
    used = {method for row in data["rows"].values() for method in row.get("code", ())}
    assert data["lines"].keys() <= used


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("nowhere x", "B1: there is no model nowhere"),
        ("client no_such", "B1: client.fence declares no no_such"),
    ],
)
def test_missing_names(declaration: str, message: str) -> None:
    with pytest.raises(LookupError, match=re.escape(message)):
        rule_places.line(declaration, "B1")


def test_the_line_is_the_one_that_names_the_rule() -> None:
    line = rule_places.line("transaction_metadata end_txn_v1", "B6.5")
    text = line.path.read_text(encoding="utf-8").splitlines()
    assert text[line.number - 1].endswith("# B6.5")
    whole = rule_places.line("transaction_metadata end_txn_v1", "B99")
    assert text[whole.number - 1].startswith("def end_txn_v1(")
