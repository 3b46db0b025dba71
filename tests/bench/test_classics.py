"""The table of the classics has a row for each spec, with the counts that its check expects."""

from __future__ import annotations

import re

import pytest
from bench import classics, places
from bench.classics import COMMAND, KAFKA, NO_LIVENESS, PAGE, ROWS, STORE, Figures, Row
from tests.support.shipped import MODELS, checks

EXPECTED = {str(check): check for path in MODELS for check in checks(path)}


def test_every_classic_has_a_row() -> None:
    paths = {path.stem for path in MODELS if path.parent.name == "classics"}
    assert {row.model for row in ROWS} == paths


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_counts_are_those_that_the_check_expects(row: Row) -> None:
    figures = classics.kept()[row.key]
    counts = {"states": figures.distinct, "generated": figures.generated, "depth": figures.depth}
    assert EXPECTED[row.key].counts == counts
    assert figures.tlc is None or not isinstance(row.source, str)


def test_the_page_has_the_table() -> None:
    """The table on the page is the one that ``python -m bench.classics --page`` generates."""
    page = PAGE.read_text(encoding="utf-8")
    assert places.filled(page, COMMAND, classics.table(classics.kept())) == page


def test_every_bug_of_the_page_is_a_check() -> None:
    bugs = re.findall(r"^\| (\w+) \| (`[^|]*`) \| ", PAGE.read_text(encoding="utf-8"), re.M)
    named = {f"{model}-{name}" for model, names in bugs for name in re.findall(r"\w+", names)}
    assert len(named) > 10
    assert named <= EXPECTED.keys()


def test_rows_without_measurement_have_no_figures() -> None:
    row = classics.table({ROWS[0].key: Figures(12_345, 6, 7, 1.25, None)}).splitlines()[2]
    assert row.endswith("| 12,345 | 6 | 7 | 1.2 s |  |")
    assert all("," not in line.rpartition(".cfg |")[2] for line in classics.table({}).splitlines())


@pytest.mark.parametrize(
    ("edits", "text", "left"),
    [
        ([NO_LIVENESS], "PROPERTIES A B C\nSPECIFICATION S\n", "\nSPECIFICATION S\n"),
        (
            [NO_LIVENESS],
            "PROPERTY\n    A\n    B     \nSPECIFICATION S\n",
            "     \nSPECIFICATION S\n",
        ),
        (STORE.edits, "SYMMETRY\n    Perms\nPROPERTIES\n    T", "\n"),
        (KAFKA.edits, "SPECIFICATION LivenessSpec", "SPECIFICATION Spec\nCHECK_DEADLOCK FALSE\n"),
    ],
)
def test_edits_of_a_configuration(edits: list[tuple[str, str]], text: str, left: str) -> None:
    for pattern, instead in edits:
        text = re.sub(pattern, instead, text, count=1)
    assert text == left
