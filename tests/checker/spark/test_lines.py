"""The tasks of `conform` that run on executors, tested without Spark: they convert lines to rows,
and rows to verdicts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import pytest
from tests.spark.test_spark_conform import BY
from tests.support.lease import AGAIN, GRANT, STALL, WRITE, folder_with

from fencepost.checker.systems.conform.verdicts import Effort
from fencepost.checker.systems.spark import tasks
from fencepost.spec.elaborate.claims.program import load, mapped


@dataclass(eq=False)
class Shipped:
    """A substitute for a broadcast variable of Spark."""

    value: tasks.Task


def framed(file: str, text: bytes) -> bytes:
    """Returns a line in the format that `tasks.located` reads."""
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
        lines = [framed("r", text) for text in (*texts[:2], b"", b"?", *texts[2:])]
        rows = [row for row in tasks.located(shipped, lines) if row[0] == tasks.EVENT]
        assert sum(row[-1] for row in rows) == 4
        assert len(rows) == 4
        # Spark assigns the other rows to their histories, and sorts all of them by position.
        sent = sorted(("2f", *row[1:4], row[6]) for row in rows)
        [judged] = tasks.judged(shipped, sent)
        assert judged[1:5] == ("f", "allowed", 4, 4)


def test_lines_that_are_near_make_one_row(tmp_path: Path) -> None:
    program = load(folder_with(tmp_path) / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    shipped = cast("Any", Shipped(tasks.Task(model, recording, Effort(), {"r": 0, "s": 1})))
    texts = [json.dumps({"file": n % 3, **GRANT}).encode() for n in range(30)]
    lines = [framed(file, text) for file in "rs" for text in texts]
    rows = [row for row in tasks.located(shipped, lines) if row[0] == tasks.EVENT]
    assert [(row[1:5], row[-1]) for row in rows] == [
        ((file, 0, 1, f"100001{n}"), 10) for file in (0, 1) for n in range(3)
    ]
