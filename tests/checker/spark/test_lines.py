"""Lines that become rows, and rows that become verdicts: what executors do, without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import pytest
from tests.spark.test_spark_conform import BY
from tests.support.lease import AGAIN, GRANT, STALL, WRITE, folder_with

from fencepost.checker.conform.verdicts import Effort
from fencepost.checker.spark.conform import tasks
from fencepost.spec.elaborate.claims.program import load, mapped


@dataclass(eq=False)
class Shipped:
    """What an executor has."""

    value: tasks.Task


def given(file: str, text: bytes) -> bytes:
    """A line as Spark has it."""
    return tasks.APART.join((file.encode(), b"0", b"%d" % len(text), text))


NAMES: tuple[dict[str, Any], ...] = (
    {"file": "f", "lock": 1},
    {"file": "f", "lock": 2, "session": "s"},
    {"lock": 2},
    {"session": "s"},
)
EVENTS: tuple[dict[str, Any], ...] = (GRANT, STALL, AGAIN, WRITE)


@pytest.mark.parametrize("near", [1, 1 << 20])
def test_the_order_of_lines_that_name_their_history_in_several_ways(
    near: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "NEAR_BYTES", near)
    program = load(folder_with(tmp_path, BY) / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    shipped = cast("Any", Shipped(tasks.Task(model, recording, Effort(), {"r": 0})))
    for names in permutations(NAMES):
        texts = [
            json.dumps(name | event).encode() for name, event in zip(names, EVENTS, strict=True)
        ]
        lines = [given("r", text) for text in (*texts[:2], b"", b"?", *texts[2:])]
        rows = [one for one in tasks.located(shipped, lines) if one[0] == tasks.EVENT]
        assert sum(one[-1] for one in rows) == 4
        assert len(rows) == 4
        # Spark finds out whose the others are, and sorts them by their places.
        sent = sorted(("2f", *one[1:4], one[6]) for one in rows)
        [judged] = tasks.judged(shipped, sent)
        assert judged[1:5] == ("f", "allowed", 4, 4)


def test_lines_that_are_near_make_one_row(tmp_path: Path) -> None:
    program = load(folder_with(tmp_path) / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    shipped = cast("Any", Shipped(tasks.Task(model, recording, Effort(), {"r": 0, "s": 1})))
    texts = [json.dumps({"file": n % 3, **GRANT}).encode() for n in range(30)]
    lines = [given(file, text) for file in "rs" for text in texts]
    rows = [one for one in tasks.located(shipped, lines) if one[0] == tasks.EVENT]
    assert [(one[1:5], one[-1]) for one in rows] == [
        ((file, 0, 1, f"100001{n}"), 10) for file in (0, 1) for n in range(3)
    ]
