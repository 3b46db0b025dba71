"""A search of orbits finds what a search of all states finds: verdict, counts, coverage, trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.agreement import assert_same, loaded, summary
from tests.support.text_tables import Block, blocks

from fencepost.checker.engines import ENGINES, load
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate import program

SPECS = blocks(Path(__file__).parents[1] / "support" / "symmetric.txt")
ABLE = [name for name, entry in ENGINES.items() if "--no-symmetry" in entry.options]
CASES = [(block, engine) for block in SPECS for engine in ABLE]


def searched(model: Model, engine: str, symmetry: bool, workers: int = 1) -> Outcome:
    properties = frozenset(range(len(model.properties)))
    limits = Limits(workers=workers)
    return load(engine).run(Request(model, properties, limits=limits, symmetry=symmetry))


@pytest.mark.parametrize(("block", "engine"), CASES, ids=lambda one: getattr(one, "name", one))
def test_finds_what_a_search_of_all_states_finds(block: Block, engine: str) -> None:
    """``verdict, D distinct in O orbits``."""
    read = loaded(block.text)
    model = program.build(read, None)
    every = searched(model, "interpreter", False)
    found = searched(model, engine, True)
    assert_same(summary(model, every), summary(model, found), block.name)
    verdict, distinct, orbits = block.rest.split(", ")
    assert found.verdict.value == verdict
    assert f"{found.statistics.distinct} distinct" == distinct
    assert f"{found.statistics.orbits} orbits" == orbits
    assert every.statistics.orbits is None
