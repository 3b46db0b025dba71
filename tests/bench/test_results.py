"""Bytes per state, the replacement of results, and the tables and charts of measurements."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from bench.chart import COLOURS, curves
from bench.machine import Machine
from bench.results import FIXED_BYTES, MANY_STATES, SPILLED, Results, Row, Search, Session
from bench.tables import tables

MACHINE = Machine("one", 2, 1, "none", "0", "3", "0", "none", "none")
SESSION = Session("searches", "2026-11-23T12:00+00:00", 0.0, 1.0)


def search(case: str, *levels: tuple[int, float, float], note: str = "") -> Search:
    """Returns a search; each of ``levels`` is distinct states, bytes in use, and peak bytes per
    state.
    """
    rows = [
        {"level": n, "distinct": d, "generated": d, "seconds": 1.0, "resident": r, "most": m}
        for n, (d, r, m) in enumerate(levels, 1)
    ]
    distinct = levels[-1][0]
    return Search(case, 2, 1, distinct, 2 * distinct, 1.0, {}, {}, rows, 0.0, note)


def row(tool: str, user: float) -> Row:
    return Row("before", "N = 9", tool, 1, 1, 1.0, 1.0, 1.0, user, 0.0, 1, 1, 1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("levels", "end", "most"),
    [
        (
            [(MANY_STATES, FIXED_BYTES + 5.0 * MANY_STATES, 20.0)],
            5.0,
            20.0 - FIXED_BYTES / MANY_STATES,
        ),
        ([(MANY_STATES - 1, FIXED_BYTES, 90.0), (MANY_STATES, FIXED_BYTES, 0.0)], 0.0, 0.0),
        ([(MANY_STATES - 1, 0.0, 90.0)], 0.0, 0.0),
        (
            [(MANY_STATES, 0.0, 15.0), (2 * MANY_STATES, 0.0, 12.0)],
            0.0,
            12.0 - FIXED_BYTES / (2 * MANY_STATES),
        ),
    ],
)
def test_bytes_that_grow_with_the_states(
    levels: list[tuple[int, float, float]], end: float, most: float
) -> None:
    measured = search("N = 9", *levels)
    assert (measured.growing, measured.growing_most) == pytest.approx((end, most))


def test_a_case_that_is_measured_again_replaces_the_one_of_its_name_and_note() -> None:
    results = Results(MACHINE)
    plain, away = search("N = 9", (5, 1, 1)), search("N = 9", (5, 1, 1), note=SPILLED)
    results.replace(SESSION, [], [plain, away])
    again = search("N = 9", (6, 1, 1), note=SPILLED)
    results.replace(SESSION, [], [again])
    assert results.search("N = 9", 2) is plain
    assert results.search("N = 9", 2, SPILLED) is again
    assert len(results.searches) == 2


def test_bytes_on_disk_are_in_the_row_of_the_usual_search() -> None:
    results = Results(MACHINE)
    whole = search("N = 9", (MANY_STATES, FIXED_BYTES + 9.0 * MANY_STATES, 20.0))
    away = search("N = 9", (MANY_STATES, FIXED_BYTES + 3.0 * MANY_STATES, 10.0), note=SPILLED)
    results.replace(SESSION, [], [whole, away, search("few", (9, 1, 1))])
    (compressed,) = (table for table in tables(results) if table.name == "compressed")
    assert compressed.rows == [["N = 9", "1", f"{MANY_STATES:,}", "9.0", "11.6", "3.0", "1.6"]]


@pytest.mark.parametrize(
    ("rows", "ratios"),
    [
        ([row("Fencepost", 2.0), row("Fencepost abc", 4.0)], ["0.50", ""]),
        ([row("Fencepost", 2.0)], [""]),
    ],
)
def test_the_version_before_may_have_failed(rows: list[Row], ratios: list[str]) -> None:
    results = Results(MACHINE)
    results.replace(Session("before", SESSION.when, 0.0, 1.0), rows, [])
    (comparison,) = (table for table in tables(results) if table.name == "before")
    assert [cells[-1] for cells in comparison.rows] == ratios


def test_names_are_in_the_order_of_the_ends_of_curves() -> None:
    text = curves("t", "x", {"low": [(1, 1), (2, 1)], "high": [(1, 1), (2, 9)], "zero": [(1, 0.9)]})
    places = [float(y) for y in re.findall(r'<text x="618" y="([\d.]+)"', text)]
    assert re.findall(r">(low|high|zero)<", text) == ["high", "low", "zero"]
    assert all(below - above >= 13 for above, below in pairwise(places))


def test_no_curve_is_left_out() -> None:
    many = {str(number): [(1.0, 1.0)] for number in range(len(COLOURS) + 1)}
    with pytest.raises(AssertionError, match="9 curves"):
        curves("t", "x", many)
