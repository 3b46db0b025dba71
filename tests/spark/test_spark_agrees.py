"""The engine spark gives the results of the engine local with any number of partitions.

``FENCEPOST_SPARK_CHECKS`` is a number of checks per model; each check is searched with 1, 2 and 7
partitions. Without it, a third of the models and an eighth of the examples are searched; with
``FENCEPOST_TURNS=all``, all of them are.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.checker.test_refinement import EXAMPLES as REFINEMENTS
from tests.checker.test_refinement import model_of
from tests.spark.clusters import from_level, on
from tests.support.agreement import Run, assert_same, run_of
from tests.support.examples import RANGED, Example
from tests.support.paths import ROOT
from tests.support.shipped import MODELS, ShippedCheck, is_port, quick, turn

from fencepost.checker.native.search import Local
from fencepost.checker.request import Limits

PARTITIONS = (1, 2, 7)
LEVELS = 3
"""The number of levels at the end of a search that the cluster expands."""
MANY = os.environ.get("FENCEPOST_SPARK_CHECKS")
MAX_CHECKS = int(MANY or "1")
"""The number of checks that run per model."""
MAX_STATES = 300_000 if MANY else 20_000


def assert_agrees(run: Run, partitions: int, details: str) -> None:
    """Checks that both engines give the same result."""
    wanted = run.by(Local())
    level = max(1, len([size for size in wanted.levels if size]) - LEVELS)
    assert_same(
        wanted, run.by(on(partitions, from_level(level))), f"{run}, {partitions}: {details}"
    )


def partitions_of(number: int) -> int:
    """Returns one of the numbers of partitions."""
    return PARTITIONS[number % len(PARTITIONS)]


@pytest.mark.parametrize(
    ("example", "partitions"),
    [
        pytest.param(example, partitions_of(number), id=example.name)
        # The rows `spark` of `checker/test_agreement` contain a quarter of the examples.
        for number, example in turn([*enumerate(RANGED)], 1, 8)
    ],
)
def test_examples(example: Example, partitions: int) -> None:
    assert_agrees(run_of(example.text, deadlock=example.deadlock), partitions, example.text)


@pytest.mark.parametrize(
    ("name", "partitions"),
    [
        ("a step is none there", 2),
        ("an image outside its type", 1),
        ("members and fields by name", 7),
    ],
)
def test_refinements(name: str, partitions: int, tmp_path: Path) -> None:
    """Executors also check whether steps are steps of another module."""
    abstract, text, _ = REFINEMENTS[name]
    model = model_of(tmp_path, abstract, text)
    chosen = frozenset(n for n, prop in enumerate(model.properties) if prop.kind.selectable)
    assert_agrees(Run(model, chosen, False, Limits()), partitions, name)


@pytest.mark.parametrize("limits", [Limits(), Limits(max_states=10**8)])
def test_a_limit_and_a_constraint(limits: Limits) -> None:
    """The spec ends in a deadlock, its limit is beyond the search, and its constraint has no
    effect.
    """
    run = run_of(
        "var m: map[0..3, bool] = [false for k in 0..3]\n"
        "action up(k in 0..3):\n    require not m[k]\n    m[k] = true\n"
        "constraint Inside: true\n",
        limits=limits,
    )
    assert run.by(Local()).verdict == "deadlock"
    assert_agrees(run, 2, str(limits))


def some_checks() -> list[ShippedCheck]:
    """Returns the first checks of every model that are neither slow nor large; of the ports, only
    two are included.
    """
    return [
        check
        for path in MODELS
        if MANY or not is_port(path) or path.stem in {"paxos", "spanning_tree"}
        for check in [
            candidate for candidate in quick(path, MAX_STATES) if candidate.engine is None
        ][:MAX_CHECKS]
    ]


@pytest.mark.parametrize(
    ("shipped", "partitions"),
    [
        pytest.param(shipped, partitions, id=f"{shipped}-{partitions}")
        for number, shipped in turn([*enumerate(some_checks())], 0, 3)
        for partitions in (PARTITIONS if MANY else (partitions_of(number // 3),))
    ],
)
def test_shipped_checks(shipped: ShippedCheck, partitions: int) -> None:
    assert_agrees(shipped.run(), partitions, str(shipped))


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize(
    ("model", "name"),
    [("classics/two_phase_commit", "five"), ("kafka/verification_race", "unchecked_s12")],
)
def test_any_number_of_partitions(model: str, name: str, partitions: int) -> None:
    path = ROOT / "models" / f"{model}.fence"
    assert_agrees(run_of(path, name), partitions, f"{model} {name}")
