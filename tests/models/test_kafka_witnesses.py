"""docs/kafka/witnesses.md shows that in each model every event happens, and each error is
reached.
"""

from __future__ import annotations

import pytest
from bench import kafka
from tests.support.kafka_text import PAGES, PLANNED, looked_at, models_of, quoted, table, text_of

EVENTS = table("witnesses.md", "What happens")
ERRORS = table("witnesses.md", "Errors")
HAPPENINGS = ("commit", "abort", "timeout", "fencing", "overflow", "retry", "failover")


@pytest.mark.parametrize("row", EVENTS, ids=lambda row: row[0])
def test_every_event_has_a_witness(row: list[str]) -> None:
    """Each event has a checked `reachable`, or a dash and the reason below the table."""
    text = text_of(*models_of([row[0]]))
    assert len(row) == 1 + len(HAPPENINGS)
    for cell in row[1:]:
        assert quoted(cell) or cell == "-"
        for witness in quoted(cell):
            assert witness in text.witnesses(), witness
            assert text.held_in(witness), f"no check reaches {witness}"


def test_every_model_is_in_both_tables() -> None:
    assert [row[0] for row in EVENTS] == list(PLANNED)
    answering = [name for name, model in PLANNED.items() if text_of(model).answered()]
    assert list(dict.fromkeys(row[0] for row in ERRORS)) == answering


@pytest.mark.parametrize("name", PLANNED)
def test_every_answered_error_is_reached(name: str) -> None:
    """The table has exactly the answers that the text of a model contains."""
    text = text_of(name)
    rows = {row[1].strip("`"): row[2] for row in ERRORS if row[0] == name}
    assert set(rows) == text.answered()
    for error, cell in rows.items():
        if cell.startswith("never: "):
            assert len(cell) > len("never: ")
            continue
        witnesses = quoted(cell)
        assert witnesses, error
        for witness in witnesses:
            assert witness in text.witnessed().get(error, ()), f"{witness} does not meet {error}"
            assert text.held_in(witness), f"no check reaches {witness}"


@pytest.mark.parametrize("name", PLANNED)
def test_no_witness_is_left_out(name: str) -> None:
    """Each `reachable` belongs to a check, perhaps a slow one, that must reach it."""
    text = text_of(name)
    for witness in text.witnesses():
        checks = [check for check in text.program.checks if check.verdict == "ok"]
        assert any(looked_at(check, witness) for check in checks), f"nothing looks for {witness}"


@pytest.mark.parametrize("name", PLANNED)
def test_unreached_events_are_on_the_page(name: str) -> None:
    """Everything that was not reached in the last run of all checks is named on the model's
    page.
    """
    model = PLANNED[name]
    results = kafka.read(kafka.KEPT)[model]
    page = (PAGES / f"{model}.md").read_text(encoding="utf-8")
    for action in results.idle:
        assert f"`{action.rpartition('.')[2]}`" in page, action
    for vacuous in results.vacuous:
        prop = vacuous.partition(":")[0].split()[-1]
        assert any(prop in line and "vacuous" in line for line in page.splitlines()), (
            f"{model}: {vacuous}"
        )
