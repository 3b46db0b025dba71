"""The numbers in docs/kafka/mutants_txn_core_v2.md add up, and the text that the page names is in
the spec.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from bench.machine import ROOT

from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import load, perform
from fencepost.checker.run.settings import Settings
from fencepost.checker.tools.mutate import attempt, campaign, changes, jobs

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
    places = {(row[0], row[1].rpartition(".")[2]) for row in (*CHANGES, *UNTRIED)}
    assert len(places) > 1
    for file, name in places:
        text = (LIB / f"{file}.fence").read_text(encoding="utf-8")
        assert re.search(rf"\b(const|def|action|procedure) {name}\b", text), (file, name)


def test_no_change_is_listed_twice() -> None:
    assert len(set(CHANGES)) == len(CHANGES)
    assert len(set(UNTRIED)) == len(UNTRIED)


def test_an_acknowledgement_without_a_log_entry_is_noticed() -> None:
    """A late batch of an earlier epoch is mistaken for a copy.

    Its transaction is not committed, so S15 is the only property of logs that notices the mistake.
    The answer itself is checked, too.
    """
    program = load(ROOT / "models" / "kafka" / "txn_core_v2.fence")
    checks = [check for check in program.checks if check.name == "fixed"]
    ready = jobs(program, checks, Settings(limits=Limits(workers=1)))
    (change,) = (
        mutant
        for mutant in changes(ready, ("condition",))
        if mutant.where == "is_duplicate"
        and mutant.change == "drop the line `entry.epoch == batch.epoch`"
    )
    for selection, property_ in ((None, "ToldOfLog"), (("S15",), "S15")):
        named = [
            check if selection is None else replace(check, properties=selection) for check in checks
        ]
        these = jobs(program, named, Settings(limits=Limits(workers=1)))
        trial = attempt(campaign([perform(job, ignored) for job in these], [change]), change)
        assert trial is not None
        assert (trial.check, trial.found) == ("fixed", f"violated {property_}")
