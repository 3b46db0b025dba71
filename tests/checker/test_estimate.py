"""Estimates of the number of states, compared with searches whose levels are known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise, product
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.paths import ROOT

from fencepost.checker.estimate import estimated
from fencepost.checker.request import Progress
from fencepost.checker.run.check import load, perform, prepare
from fencepost.checker.run.settings import Settings

MODELS = ROOT / "models"


def levels_of(path: str, check: str) -> tuple[Sequence[int], list[Progress]]:
    program = load(MODELS / path)
    reports: list[Progress] = []
    named = next(candidate for candidate in program.checks if candidate.name == check)
    result = perform(prepare(program, named, Settings()), reports.append)
    return result.outcome.statistics.levels, reports


@pytest.mark.parametrize(
    ("path", "check", "share"),
    [
        ("classics/two_phase_commit.fence", "six", 0.4),
        ("classics/two_phase_commit.fence", "seven", 0.3),
        ("classics/paxos.fence", "two_ballots", 0.6),
        ("kafka/verification_race.fence", "verified", 0.5),
    ],
)
def test_the_estimate_is_close_from_a_share_of_the_states(
    path: str, check: str, share: float
) -> None:
    """After this share of the states, the estimate is close to the total."""
    levels, _ = levels_of(path, check)
    visited, bounded = 0, 0
    for count, size in enumerate(levels, 1):
        visited += size
        estimate = estimated(levels[:count])
        if visited < share * sum(levels) or estimate is None:
            continue
        assert visited <= estimate.low
        assert 0.95 * estimate.low <= sum(levels), (count, str(estimate))
        if estimate.high is not None:
            bounded += 1
            assert estimate.low <= estimate.high
            assert sum(levels) <= 1.05 * estimate.high, (count, str(estimate))
    assert bounded > 3


def convolution(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Returns the level sizes of the product of two independent searches."""
    sizes = [0] * (len(left) + len(right) - 1)
    for (i, x), (j, y) in product(enumerate(left), enumerate(right)):
        sizes[i + j] += x * y
    return sizes


def power(sizes: Sequence[int], dimensions: int) -> list[int]:
    return reduce(convolution, [sizes] * dimensions, [1])


def ring(size: int) -> list[int]:
    """Returns the level sizes of a cyclic counter that counts up and down and has an even number of
    values.
    """
    return [1, *[2] * (size // 2 - 1), 1]


def logistic(total: float, width: float, count: int) -> list[int]:
    """Returns level sizes that grow exponentially and then saturate."""
    sums = [total / (1 + math.exp((count / 2 - level) / width)) for level in range(count + 1)]
    return [max(1, round(after - before)) for before, after in pairwise(sums)]


def random_graph(states: int, degree: int) -> list[int]:
    generator = random.Random(1)
    visited, level, sizes = {0}, [0], list[int]()
    while level:
        sizes.append(len(level))
        targets = (generator.randrange(states) for _ in range(degree * len(level)))
        level = sorted({target for target in targets if target not in visited})
        visited.update(level)
    return sizes


TWO_PHASE_COMMIT = [
    1, 15, 105, 462, 1456, 3570, 7259, 12861, 20449, 29372, 37772, 42924, 42651, 36785, 27371,
    17447, 9436, 4277, 1603, 490, 119, 21, 2,
]  # fmt: skip
"""The level sizes of the check "seven" of two_phase_commit."""

PERCENTAGES = (10, 25, 50, 75, 90)
NO_LIMIT = math.inf
"""Means that the estimate is only a lower bound."""

TABLE: list[tuple[str, list[int], list[tuple[float, float] | None]]] = [
    ("line", [1] * 1000, [None, None, None, None, None]),
    (
        "grid 1000^2",
        power([1] * 1000, 2),
        [(0.038, NO_LIMIT), (0.24, NO_LIMIT), (0.97, NO_LIMIT), (0.97, 1.24), (0.97, 1.14)],
    ),
    (
        "grid 60^3",
        power([1] * 60, 3),
        [(0.009, NO_LIMIT), (0.13, NO_LIMIT), (0.8, 2.48), (0.94, 1.1), (0.96, 1.05)],
    ),
    (
        "grid 32^4",
        power([1] * 32, 4),
        [None, (0.08, NO_LIMIT), (0.77, 2.36), (0.92, 1.09), (0.96, 1.09)],
    ),
    (
        "grid 1000 x 50",
        convolution([1] * 1000, [1] * 50),
        [(0.1, NO_LIMIT), None, None, None, None],
    ),
    (
        "torus 200^2",
        power(ring(200), 2),
        [(0.033, NO_LIMIT), (0.23, NO_LIMIT), (0.94, NO_LIMIT), (0.94, 1.16), (0.95, 1.09)],
    ),
    (
        "torus 100^4",
        power(ring(100), 4),
        [(0.001, NO_LIMIT), (0.074, NO_LIMIT), (0.78, 2.27), (0.96, 1.14), (0.96, 1.14)],
    ),
    (
        "hypercube 2^40",
        [math.comb(40, k) for k in range(41)],
        [None, (0.0, NO_LIMIT), (0.73, 1.04), (0.96, 1.04), (0.96, 1.04)],
    ),
    (
        "logistic",
        logistic(1e6, 5, 150),
        [None, (0.001, NO_LIMIT), (0.9, NO_LIMIT), (0.96, 1.14), (0.96, 1.14)],
    ),
    (
        "random graph",
        random_graph(100_000, 2),
        [None, None, (0.46, NO_LIMIT), (0.96, 1.05), (0.96, 1.04)],
    ),
    (
        "long tail",
        [round(2 ** (k / 2)) for k in range(1, 31)]
        + [max(1, round(2**15 * 0.9**k)) for k in range(1, 100)],
        [(0.001, NO_LIMIT), (0.47, NO_LIMIT), (0.95, 1.04), (0.96, 1.04), (0.96, 1.04)],
    ),
    ("two-phase commit", TWO_PHASE_COMMIT, [None, None, (0.85, 1.64), (0.94, 1.08), (0.96, 1.05)]),
]


@pytest.mark.parametrize(
    ("levels", "bounds"),
    [pytest.param(levels, bounds, id=name) for name, levels, bounds in TABLE],
)
def test_the_total_of_graph_shapes(
    levels: Sequence[int], bounds: Sequence[tuple[float, float] | None]
) -> None:
    """Checks the estimate at each percentage of the levels; the total always lies in the interval.

    ``bounds`` are the smallest ``low`` and the largest ``high`` allowed at each percentage, as
    shares of the total, or None if there must be no estimate.
    """
    total = sum(levels)
    for percentage, bound in zip(PERCENTAGES, bounds, strict=True):
        estimate = estimated(levels[: max(1, round(len(levels) * percentage / 100))])
        assert (estimate is None) == (bound is None), percentage
        if estimate is None or bound is None:
            continue
        low, high = bound
        assert low * total <= estimate.low <= total, (percentage, str(estimate))
        assert (estimate.high is None) == (high == NO_LIMIT), (percentage, str(estimate))
        assert estimate.high is None or total <= estimate.high <= high * total, (
            percentage,
            str(estimate),
        )


@pytest.mark.parametrize(
    ("levels", "text"),
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
def test_levels(levels: list[int], text: str | None) -> None:
    estimate = estimated(levels)
    assert (None if estimate is None else str(estimate)) == text


def test_progress_has_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.0)
    levels, reports = levels_of("classics/two_phase_commit.fence", "six")
    estimates = {str(report.estimate) for report in reports if report.estimate is not None}
    assert estimates
    assert estimates <= {str(estimated(levels[:count])) for count in range(len(levels) + 1)}


def test_a_report_of_a_search_that_was_cut(tmp_path: Path) -> None:
    spec = str(MODELS / "classics" / "two_phase_commit.fence")
    early = run("check", spec, "--check", "seven", "--depth", "6", folder=tmp_path)
    assert "in all" not in early.stdout
    late = run("check", spec, "--check", "seven", "--depth", "12", folder=tmp_path)
    line = next(text for text in late.stdout.splitlines() if text.startswith("  in all"))
    assert " perhaps " in line
    low, high = (int(word.replace(",", "")) for word in line.split() if word[0].isdigit())
    assert 0.7 * low < 296_448 < 1.3 * high
    # The search ends after a complete level.
    cut = run("check", spec, "--check", "seven", "--max-states", "160_000", folder=tmp_path)
    line = next(text for text in cut.stdout.splitlines() if text.startswith("  in all"))
    low, high = (int(word.replace(",", "")) for word in line.split() if word[0].isdigit())
    assert 0.7 * low < 296_448 < 1.3 * high


FAILS = """\
var n: 0..9 = 0
action up:
    assert n < 5
    n += 1
"""


def test_estimates_of_info(tmp_path: Path) -> None:
    spec = str(MODELS / "classics" / "two_phase_commit.fence")
    whole = run("info", spec, "--check", "five", folder=tmp_path).stdout
    assert "\n  8,832 states, all reachable ones, in 17 levels\n" in whole
    begun = run("info", spec, "--check", "eight", folder=tmp_path).stdout
    assert "\n  at least 26,806 states can be reached" in begun
    (tmp_path / "fails.fence").write_text(FAILS, encoding="utf-8")
    fails = run("info", "fails.fence", folder=tmp_path)
    assert (fails.code, fails.stderr) == (0, "")
    sentence = "at least 6 states are reachable: the search ended at a problem"
    assert f"\n  {sentence}\n" in fails.stdout
    (tmp_path / "bounded.fence").write_text(
        "var n: 0..99 = 0\naction up:\n    n += 1\nconstraint: n < 7\n", encoding="utf-8"
    )
    bounded = run("info", "bounded.fence", folder=tmp_path).stdout
    assert "\n  7 states, all reachable ones, within the constraints, in 7 levels\n" in bounded
    # With a symbolic constant, nothing is estimated.
    (tmp_path / "any.fence").write_text("const N: 0..9 = any\nvar n: 0..9 = N\n", encoding="utf-8")
    of_any = run("info", "any.fence", folder=tmp_path)
    assert of_any.code == 0
    assert "can be reached" not in of_any.stdout
