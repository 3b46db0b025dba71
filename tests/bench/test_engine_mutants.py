"""A sample of `bench.engine_mutants`: changes to the layout and to the generated code are noticed.

``FENCEPOST_MUTANTS`` is the number of trials for each module.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from bench.engine_mutants import changes
from bench.engine_mutants.corpus import MODULES, units
from tests.support.amounts import amount
from tests.support.processes import finished

CONTROLS = 8
SAMPLE = amount("MUTANTS", 2)
SOURCE = """
def room(count, most):
    assert count >= 0
    if count < most:
        return 8 * count
    return most
"""
CHANGES = [
    ("if count < most:\n    return 8 * count", "if not count < most:\n    return 8 * count"),
    ("count < most", "count <= most"),
    ("8 * count", "8 + count"),
    ("8", "9"),
    ("8", "7"),
]


def test_every_change_of_a_text() -> None:
    mutants = changes.mutants(SOURCE)
    expected = [(" ".join(a.split()), " ".join(b.split())) for a, b in CHANGES]
    assert [(mutant.before, mutant.after) for mutant in mutants] == expected
    values: list[int] = []
    for mutant in mutants:
        names: dict[str, int] = {}
        code = changes.mutated(f"{SOURCE}\nfound = room(3, 5) + 100 * room(5, 5)", mutant, "x")
        exec(code, names)
        values.append(names["found"])
    # The unchanged values are 24 and 5.
    assert values == [4_005, 4_024, 511, 527, 521]


FIELDS = """
def field(words, place):
    if 0 <= place < len(words) - 1:
        words[place // 8] |= ~place
    e.store(e.shl(place, 3), e.index(words, 1))
    return e.select(e.ult(place, word(5)), min(place, 9), words[0] >> place + 2)
"""
KINDS = """
condition: if 0 <= place < len(words) - 1: words[place // 8] |= ~place
comparison: 0 <= place < len(words) - 1 -> 0 < place < len(words) - 1
comparison: 0 <= place < len(words) - 1 -> 0 <= place <= len(words) - 1
bound: 0 -> 1
bound: 0 -> -1
bound: len(words) - 1 -> len(words) + 1
bound: 1 -> 2
bound: 1 -> 0
mask: words[place // 8] |= ~place -> words[place // 8] &= ~place
arithmetic: place // 8 -> place % 8
number: 8 -> 9
number: 8 -> 7
mask: ~place -> place
call: e.store(e.shl(place, 3), e.index(words, 1)) -> pass
operands: e.store(e.shl(place, 3), e.index(words, 1)) -> e.store(e.index(words, 1), e.shl(place, 3))
shift: e.shl(place, 3) -> e.shr(place, 3)
shift: e.shl(place, 3) -> e.shl(3, place)
shift: 3 -> 4
shift: 3 -> 2
number: 1 -> 2
number: 1 -> 0
operands: e.select(e.ult(place, word(5)), min(place, 9), words[0] >> place + 2)
comparison: e.ult(place, word(5)) -> e.slt(place, word(5))
comparison: e.ult(place, word(5)) -> e.ult(word(5), place)
bound: 5 -> 6
bound: 5 -> 4
bound: min(place, 9) -> max(place, 9)
bound: 9 -> 10
bound: 9 -> 8
shift: words[0] >> place + 2 -> words[0] << place + 2
number: 0 -> 1
number: 0 -> -1
shift: place + 2 -> place - 2
shift: 2 -> 3
shift: 2 -> 1
"""


def test_kinds_of_changes() -> None:
    mutants = changes.mutants(FIELDS)
    lines = [f"{mutant.kind}: {mutant.before} -> {mutant.after}" for mutant in mutants]
    for line, wanted in zip(lines, KINDS.strip().splitlines(), strict=True):
        assert line.startswith(wanted)
    assert {mutant.function for mutant in mutants} == {"field"}


@pytest.fixture(scope="module")
def sample() -> list[dict[str, Any]]:
    """Returns the results for a few mutants.

    Their child processes are forked by a process with one thread, not by this process.
    """
    command = (sys.executable, "-m", "bench.engine_mutants", "sample")
    done = finished(*command, "--most", str(SAMPLE), "--controls", str(CONTROLS), patience=250)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_sample_is_noticed(sample: list[dict[str, Any]]) -> None:
    asked, not_asked, *records = sample
    assert (asked["noticed"], asked["changed"]) == ("", CONTROLS)
    # A run that does not ask for a change of code must not report one.
    counts = (not_asked["noticed"], not_asked["changed"], not_asked["examined"])
    assert counts == ("", 0, CONTROLS)
    assert {record["module"] for record in records} == set(MODULES)
    # If a mutant changes no code for the cheap part of the corpus, it cannot be noticed.
    changed = [record for record in records if record["changed"] or record["noticed"]]
    assert len(changed) > len(records) // 3
    for name in MODULES:
        tried = [record for record in changed if record["module"] == name]
        survivors = [record for record in tried if not record["noticed"]]
        assert len(survivors) <= max(1, len(tried) // 2), survivors


def test_tests_with_several_marks_are_units() -> None:
    names = [entry.name for entry in units()]
    assert len(names) == len(set(names)) > 100
