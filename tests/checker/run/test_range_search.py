"""Searches that find the ranges of integers on the way; the specs are in ``range_search.txt``."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from tests.support.agreement import loaded
from tests.support.examples import EXPLICIT
from tests.support.text_tables import Block, blocks

from fencepost.checker.request import Limits, ignored
from fencepost.checker.run import range_scout
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.range_search import found_ranges
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import plural
from fencepost.spec.core.ir import Model

BLOCKS = blocks(Path(__file__).with_name("range_search.txt"))
RUNS = [("interpreter", 1), *[("local", workers) for workers in (1, 2, 3)]]


def result_of(text: str, engine: str, workers: int = 1) -> CheckResult:
    read = loaded(text)
    settings = Settings(engine=engine, limits=Limits(workers=workers))
    return perform(prepare(read, read.checks[0], settings), ignored)


def summary(result: CheckResult) -> str:
    outcome, counts = result.outcome, result.outcome.statistics
    number = outcome.findings[0].property if outcome.findings else None
    name = "" if number is None else f" {result.job.model.properties[number].name}"
    return (
        f"{outcome.verdict.value}{name}, {counts.distinct} distinct, {counts.generated} generated,"
        f" depth {counts.depth}"
    )


def found(result: CheckResult) -> list[str]:
    ranges = [f"{item.name}: {item.low}..{item.high}" for item in found_ranges(result.job.model)]
    return [*ranges, plural(result.outcome.restarts, "restart")]


def declared(text: str, model: Model) -> str:
    """Returns a spec with the ranges that its model assumes."""
    for item in sorted(found_ranges(model), key=lambda item: -item.span.start):
        text = f"{text[: item.span.start]}{item.low}..{item.high}{text[item.span.end :]}"
    return text


@pytest.mark.parametrize(("engine", "workers"), RUNS)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_the_ranges_and_the_result(block: Block, engine: str, workers: int) -> None:
    with mock.patch.object(range_scout, "MAX_STATES", 1):
        result = result_of(block.text, engine, workers)
    assert summary(result) == block.rest
    assert found(result) == list(block.expected)
    again = result_of(block.text, engine, workers)
    assert summary(again) == block.rest
    pairs = zip(found_ranges(again.job.model), found_ranges(result.job.model), strict=True)
    for early, late in pairs:
        assert late.low <= early.low <= early.high <= late.high
    assert again.outcome.restarts <= min(1, result.outcome.restarts)


@pytest.mark.parametrize("engine", EXPLICIT)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_declared_ranges_have_the_same_result(block: Block, engine: str) -> None:
    result = result_of(block.text, engine)
    same = result_of(declared(block.text, result.job.model), engine)
    assert summary(same) == summary(result)
    assert [f.trace for f in same.outcome.findings] == [f.trace for f in result.outcome.findings]


SETS = """\
var n: int = 0
var some: set[int, 2] = {}
channel net: int persistent capacity 2
action up: require n < 5; n += 1
action put(x in {3, 5}): send x to net
action take(x in {3, 5}): some.add(x)
"""


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        (SETS, ["n: 0..7", "some: 3..5", "net: 3..5", "0 restarts"]),
        # The elements grow until the end, so others may follow.
        (SETS.replace("some.add(x)", "some = {n}"), ["n: 0..7", "some: 0..7", "net: 3..5"]),
    ],
)
def test_ranges_of_elements_are_tight_if_they_are_found_early(text: str, ranges: list[str]) -> None:
    assert found(result_of(text, "local"))[: len(ranges)] == ranges
