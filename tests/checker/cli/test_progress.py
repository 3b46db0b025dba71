"""Progress lines are absent in short runs, limited in rate, and never written to stdout."""

from __future__ import annotations

import io
from dataclasses import replace

from fencepost.checker.cli.progress import Reporter, describe
from fencepost.checker.estimate import Estimate
from fencepost.checker.printing.units import size
from fencepost.checker.request import Deciding, Progress

PROGRESS = Progress(level=3, distinct=1200, generated=3400, queue=50, seconds=2.0, bytes=5_000_000)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_have_a_limited_rate() -> None:
    stream, clock = io.StringIO(), Clock()
    reporter = Reporter(stream, live=False, clock=clock)
    reporter.start("race")
    for second in range(13):
        clock.now = float(second)
        reporter(PROGRESS)
    reporter.stop()
    line = "race: level 3, 1,200 distinct, 3,400 generated, queue 50, 600 states/s, 5 MB\n"
    assert stream.getvalue() == line * 2


def test_remaining_time() -> None:
    for estimate, suffix in (
        (Estimate(2400, 6000), ", perhaps 2,400 to 6,000 in all: 2 s to 8 s left"),
        (Estimate(2410, 2420), ", perhaps 2,410 to 2,420 in all: 2 s left"),
        (Estimate(1100, 480_000), ", perhaps 1,100 to 480,000 in all: 0 s to 13 min left"),
        (Estimate(12_000, 12_000_000), ", perhaps 12,000 to 12,000,000 in all: 18 s to 5.6 h left"),
        (Estimate(1000, 1200), ""),
        (Estimate(2400, None), ", perhaps at least 2,400 in all: at least 2 s left"),
        (Estimate(1000, None), ""),
        (None, ""),
    ):
        line = describe("race", replace(PROGRESS, estimate=estimate))
        assert line == f"{describe('race', PROGRESS)}{suffix}"


def test_the_decision_phase() -> None:
    deciding = Deciding("property P", "components", 144_000_000, 1, (3.0, 200.0))
    for state, line in (
        (
            deciding,
            "race: deciding property P: searching components, 144,000,000 edges, 1 component,"
            " 2 s, 5 MB, perhaps 3 s to 3 min left",
        ),
        (
            Deciding("property P", "automaton"),
            "race: deciding property P: building the automaton, 1,200 states, 2 s, 5 MB",
        ),
    ):
        assert describe("race", replace(PROGRESS, deciding=state)) == line
    bounded = replace(PROGRESS, counted=False, deciding=Deciding("property P", "lasso"))
    assert describe("race", bounded) == (
        "race: deciding property P: building the lasso, 2 steps, 2 s, 5 MB"
    )


def test_a_live_line_goes_away() -> None:
    stream, clock = io.StringIO(), Clock()
    reporter = Reporter(stream, live=True, clock=clock)
    reporter.start("[red]race")
    reporter(PROGRESS)
    assert stream.getvalue() == ""
    clock.now = 1.0
    reporter(PROGRESS)
    reporter.stop()
    reporter.stop()


def test_silence() -> None:
    stream, clock = io.StringIO(), Clock()
    reporter = Reporter(stream, live=False, quiet=True, clock=clock)
    reporter.start("race")
    clock.now = 100.0
    reporter(PROGRESS)
    assert stream.getvalue() == ""


def test_sizes() -> None:
    assert [size(n) for n in (5, 1500, 2_500_000, 7_300_000_000)] == [
        "5 B",
        "2 kB",
        "2 MB",
        "7.3 GB",
    ]
