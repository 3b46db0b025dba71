"""The measurements of the engines that use a solver, their tables, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench import symbolic
from bench.symbolic import Bound, Measurements, Proof, ProofTime, SearchTimes

MEASUREMENTS = Measurements(
    "a machine",
    "z3 0",
    (0.5, 1.5),
    (
        SearchTimes("a", "b", "I after 1 step", "", (0.1, 2.04)),
        SearchTimes("c", "d", "", "", (0.2,)),
    ),
    (ProofTime("a", "b", "I", "", 3.0), ProofTime("a", "b", "J", "not inductive", 0.5)),
)
PAGE = """\
# Page

<!-- bounded -->
old
<!-- end of bounded -->
between
<!-- proved -->
<!-- end of proved -->
"""


def test_a_search_is_timed_step_by_step() -> None:
    result = symbolic.searched(Bound("classics/peterson", "writes_swapped", 9), 60.0)
    assert (result.found, result.cut, len(result.seconds)) == (
        "MutualExclusion after 6 steps",
        "",
        7,
    )
    assert list(result.seconds) == sorted(result.seconds)


def test_constants_are_named() -> None:
    case = Bound("classics/peterson", "writes_swapped", 2, {"Swapped": "false"})
    assert case.name == "writes_swapped, Swapped = false"
    assert symbolic.searched(replace(case, constants={}), 60.0).found == ""


def test_each_property_is_proved() -> None:
    rows = symbolic.proved(Proof("classics/transaction_commit", "three"), 60.0)
    assert [row.open for row in rows] == ["all hold in initial states", "", ""]
    assert [row.property for row in rows[1:]] == ["invariant Consistent", "no evaluation error"]


def test_properties_that_are_not_inductive() -> None:
    rows = symbolic.proved(Proof("classics/two_phase_commit", "three"), 60.0)
    assert [row.open for row in rows[1:]] == ["not inductive", "if the others hold"]


def test_saved_results_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert symbolic.read(path) is None
    path.write_text(symbolic.dumps(MEASUREMENTS), encoding="utf-8")
    assert symbolic.read(path) == MEASUREMENTS


def test_tables_go_to_their_places() -> None:
    page = symbolic.filled(PAGE, MEASUREMENTS)
    assert "| a | b | I after 1 step | 0.1 | 2.0 |" in page
    assert "| c | d | no problem | 0.2 |  |" in page
    assert "| a | b | J | not inductive | 0.50 |" in page
    assert "old" not in page
    assert symbolic.filled(page, MEASUREMENTS) == page


def test_the_page_matches_the_saved_results() -> None:
    kept = symbolic.read(symbolic.KEPT)
    page = symbolic.PAGE.read_text(encoding="utf-8")
    assert kept is None or symbolic.filled(page, kept) == page
    assert {section["table"] for section in symbolic.PLACE.finditer(page)} == {"bounded", "proved"}
