"""docs/kafka/mutants_txn_core_v2.md: its numbers fit, and what it speaks of is in the spec."""

from __future__ import annotations

import re
from collections import Counter

from bench.machine import ROOT

PAGE = (ROOT / "docs" / "kafka" / "mutants_txn_core_v2.md").read_text(encoding="utf-8")
LIB = ROOT / "models" / "kafka" / "lib"

REASONS = {
    int(number): int(count)
    for number, count in re.findall(r"^(\d+)\. \*[^*]+\* \((\d+)\)\. ", PAGE, re.M)
}
CHANGES = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| (.+) \| (!?) \| (\d+) \|$", PAGE, re.M)
UNTRIED = re.findall(r"^\| \w+ \| `(\w+)` \| `([\w.]+)` \| (.+) \|$", PAGE, re.M)
SUMS = {text: int(count) for text, count in re.findall(r"^\| ([a-z, ]+) \| (\d+) \|$", PAGE, re.M)}


def test_each_change_has_a_reason_and_each_reason_its_changes() -> None:
    assert list(REASONS) == [*range(1, len(REASONS) + 1)]
    assert Counter(int(change[-1]) for change in CHANGES) == REASONS


def test_the_sums() -> None:
    assert SUMS["not noticed, explained below"] == len(CHANGES)
    assert SUMS["not tried"] == len(UNTRIED)
    assert SUMS.pop("in all") == sum(SUMS.values())
    alike = sum(change[3] == "" for change in CHANGES)
    assert f"With {alike} of the {len(CHANGES)} every search counts the same" in PAGE


def test_each_place_is_in_the_spec() -> None:
    places = {(one[0], one[1].rpartition(".")[2]) for one in (*CHANGES, *UNTRIED)}
    assert len(places) > 1
    for file, name in places:
        text = (LIB / f"{file}.fence").read_text(encoding="utf-8")
        assert re.search(rf"\b(const|def|action|procedure) {name}\b", text), (file, name)


def test_no_change_is_told_twice() -> None:
    assert len(set(CHANGES)) == len(CHANGES)
    assert len(set(UNTRIED)) == len(UNTRIED)
