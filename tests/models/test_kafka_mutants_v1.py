"""On the page of F3's surviving mutants, each change has a reason, and its text is in the spec."""

from __future__ import annotations

import re
from collections import Counter

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "kafka" / "mutants_txn_core_v1.md"
LIB = ROOT / "models" / "kafka" / "lib"
REASON = re.compile(r"^(\d+)\. \*\*.+\*\* \((\d+)\)\.$", re.M)
CHANGE = re.compile(r"^\| `[\w.]+` \| (.+) \| (?:same|differ) \| (\d+) \|$", re.M)


def changes() -> list[tuple[str, str, int]]:
    """Returns the file, the change and the reason of each row."""
    every: list[tuple[str, str, int]] = []
    listed = PAGE.read_text(encoding="utf-8").split("\n## The changes\n")[1]
    for part in listed.split("\n## ")[0].split("\n### ")[1:]:
        name = part.split("\n", 1)[0]
        rows = CHANGE.findall(part)
        assert len(rows) == part.count("\n| `"), name
        every += [(name, change, int(reason)) for change, reason in rows]
    return every


def test_each_change_has_a_reason() -> None:
    text = PAGE.read_text(encoding="utf-8")
    counts = {int(number): int(count) for number, count in REASON.findall(text)}
    assert [*counts] == [*range(1, len(counts) + 1)]
    assert counts == Counter(reason for _, _, reason in changes())
    assert f"| explained below, one reason each | {sum(counts.values())} |" in text


def test_changed_texts_are_in_the_spec() -> None:
    """If a quotation is cut, only the text before the cut must be in the spec."""
    specs = {path.name: _plain(path.read_text(encoding="utf-8")) for path in LIB.glob("*.fence")}
    gone = [
        (name, quoted)
        for name, change, _ in changes()
        for quoted in re.findall(r"`([^`]+)`", change)[-1:]
        if _plain(quoted.replace("\\|", "|").removesuffix("...")) not in specs[name]
    ]
    assert gone == []


def _plain(text: str) -> str:
    return " ".join(text.split())
