"""The engine spark finds what the engine local finds, whatever the number of partitions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agreement import assert_same, loaded
from tests.examples import EXAMPLES, Example
from tests.spark.clusters import behind, on
from tests.whole_runs import Run

from fencepost.checker.engine import Limits
from fencepost.checker.native.search import Local
from fencepost.spec import program

PARTITIONS = (1, 2, 7)
LEVELS = 4
"""So many levels, the last ones of a search, are expanded on the cluster."""
MODELS = sorted((Path(__file__).resolve().parents[2] / "models").rglob("*.fence"))
MOST_STATES = 2_000_000


def assert_agrees(run: Run, partitions: int, where: str) -> None:
    """Both engines come to the same."""
    wanted = run.by(Local())
    level = max(1, len([size for size in wanted.levels if size]) - LEVELS)
    assert_same(wanted, run.by(on(partitions, behind(level))), f"{run}, {partitions}: {where}")


def some(number: int) -> int:
    """One of the numbers of partitions."""
    return PARTITIONS[number % len(PARTITIONS)]


@pytest.mark.parametrize(
    ("example", "partitions"),
    [
        pytest.param(example, some(number), id=example.name)
        for number, example in enumerate(EXAMPLES)
    ],
)
def test_examples(example: Example, partitions: int) -> None:
    read = loaded(example.text)
    (check,) = read.checks
    model = program.build(read, check)
    run = Run(model, program.select(model, check), example.deadlock, Limits())
    assert_agrees(run, partitions, example.text)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param(path, check.name, id=f"{path.stem}-{check.name}")
        for path in MODELS
        for check in program.load(path).checks
        if not check.slow and dict(check.counts).get("states", 0) <= MOST_STATES
    ],
)
def test_shipped_checks(path: Path, name: str) -> None:
    read = program.load(path)
    (check,) = (check for check in read.checks if check.name == name)
    model = program.build(read, check)
    limits = Limits(depth=check.depth)
    run = Run(model, program.select(model, check), check.verdict != "violated", limits)
    for partitions in PARTITIONS:
        assert_agrees(run, partitions, f"{path} {name}")
