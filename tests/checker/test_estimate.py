"""Estimates of how many states there are, against searches whose levels are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.paths import ROOT

from fencepost.checker.estimate import estimated
from fencepost.checker.request import Progress
from fencepost.checker.run.check import load, perform, prepare
from fencepost.checker.run.job import Settings

MODELS = ROOT / "models"


def levels_of(path: str, check: str) -> tuple[Sequence[int], list[Progress]]:
    program = load(MODELS / path)
    told: list[Progress] = []
    named = next(one for one in program.checks if one.name == check)
    result = perform(prepare(program, named, Settings()), told.append)
    return result.outcome.statistics.levels, told


@pytest.mark.parametrize(
    ("path", "check", "share"),
    [
        ("classics/two_phase_commit.fence", "six", 0.4),
        ("classics/two_phase_commit.fence", "seven", 0.3),
        ("classics/paxos.fence", "two_ballots", 0.6),
        ("kafka/verification_race.fence", "verified", 0.5),
    ],
)
def test_what_is_expected_from_a_share_of_the_states_on(
    path: str, check: str, share: float
) -> None:
    """From then on it is not far from the truth."""
    levels, _ = levels_of(path, check)
    found, asked = 0, 0
    for count, size in enumerate(levels, 1):
        found += size
        known = estimated(levels[:count])
        if found < share * sum(levels) or known is None:
            continue
        asked += 1
        assert found <= known.low <= known.high
        assert 0.6 * known.low <= sum(levels) <= 1.5 * known.high, (count, str(known))
    assert asked > 3


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([1, 2, 4, 8, 16, 32, 64, 128, 256, 512], None),
        ([5] * 30, None),
        ([1, 3, 8, 20, 30, 20, 8], None),
        ([1, 8, 28, 56, 70, 56, 28, 8, 1], "256 to 260"),
        ([1, 8, 28, 56, 70, 56, 28, 8], "255 to 260"),
        ([1, 2, 3, 0, 0, 0, 0, 0, 0], None),
        ([10**9 * 2**n for n in range(20)], None),
    ],
)
def test_levels(levels: list[int], told: str | None) -> None:
    known = estimated(levels)
    assert (None if known is None else str(known)) == told


def test_progress_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.0)
    levels, told = levels_of("classics/two_phase_commit.fence", "six")
    known = {str(one.estimate) for one in told if one.estimate is not None}
    assert known
    assert known <= {str(estimated(levels[:count])) for count in range(len(levels) + 1)}


def test_a_report_of_a_search_that_was_cut(tmp_path: Path) -> None:
    spec = str(MODELS / "classics" / "two_phase_commit.fence")
    early = run("check", spec, "--check", "seven", "--depth", "6", folder=tmp_path)
    assert "in all" not in early.stdout
    late = run("check", spec, "--check", "seven", "--depth", "12", folder=tmp_path)
    line = next(one for one in late.stdout.splitlines() if one.startswith("  in all"))
    assert " perhaps " in line
    low, high = (int(word.replace(",", "")) for word in line.split() if word[0].isdigit())
    assert 0.7 * low < 296_448 < 1.3 * high
    # The last level is not whole, so nothing is concluded from it.
    cut = run("check", spec, "--check", "seven", "--max-states", "160_000", folder=tmp_path)
    line = next(one for one in cut.stdout.splitlines() if one.startswith("  in all"))
    low, high = (int(word.replace(",", "")) for word in line.split() if word[0].isdigit())
    assert 0.7 * low < 296_448 < 1.3 * high


FAILS = """\
var n: 0..9 = 0
action up:
    assert n < 5
    n += 1
"""


def test_what_info_says_of_them(tmp_path: Path) -> None:
    spec = str(MODELS / "classics" / "two_phase_commit.fence")
    whole = run("info", spec, "--check", "five", folder=tmp_path).stdout
    assert "\n  8,832 states, all that can be reached, in 17 levels\n" in whole
    begun = run("info", spec, "--check", "eight", folder=tmp_path).stdout
    assert "\n  more than 20,000 states can be reached" in begun
    (tmp_path / "fails.fence").write_text(FAILS, encoding="utf-8")
    fails = run("info", "fails.fence", folder=tmp_path)
    assert (fails.code, fails.stderr) == (0, "")
    told = "at least 6 states can be reached: a search met a problem there, and ended"
    assert f"\n  {told}\n" in fails.stdout
    (tmp_path / "bounded.fence").write_text(
        "var n: 0..99 = 0\naction up:\n    n += 1\nconstraint: n < 7\n", encoding="utf-8"
    )
    bounded = run("info", "bounded.fence", folder=tmp_path).stdout
    assert "\n  7 states, all that can be reached, within the constraints, in 7 levels\n" in bounded
    # Nothing is said of what stands for any value.
    (tmp_path / "any.fence").write_text("const N: 0..9 = any\nvar n: 0..9 = N\n", encoding="utf-8")
    of_any = run("info", "any.fence", folder=tmp_path)
    assert of_any.code == 0
    assert "can be reached" not in of_any.stdout
