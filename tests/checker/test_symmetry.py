"""A search of orbits agrees with a search of all states in verdict, counts, coverage and trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from math import factorial, prod
from pathlib import Path

import pytest
from tests.support.agreement import Run, assert_same, model_of, run_of_model, summary
from tests.support.text_tables import Block, blocks

from fencepost.checker.engines import ENGINES, load
from fencepost.checker.native.codegen import orbits
from fencepost.checker.native.search import Local
from fencepost.checker.request import Limits, Progress, Request

SPECS = blocks(Path(__file__).parents[1] / "support" / "symmetric.txt")
ABLE = [name for name, entry in ENGINES.items() if "--no-symmetry" in entry.options]
CASES = [(block, engine) for block in SPECS for engine in ABLE]


MUTANTS: tuple[Callable[[list[tuple[int, int]]], list[tuple[int, int]]], ...] = (
    lambda way: way[:-1],
    lambda way: way[1:],
    lambda way: way[:1] * len(way),
    lambda way: [*way[:-2], *way[:-3:-1]],
)


def run_of(block: Block, symmetry: bool = True) -> Run:
    return run_of_model(model_of(block.text), limits=Limits(workers=1), symmetry=symmetry)


@pytest.mark.parametrize(("block", "engine"), CASES, ids=lambda part: getattr(part, "name", part))
def test_a_search_of_orbits_agrees_with_a_search_of_all_states(block: Block, engine: str) -> None:
    """Compares the two searches, and the counts in the form ``verdict, D distinct in O orbits``."""
    run = run_of(block)
    every = replace(run, symmetry=False).outcome("interpreter")
    outcome = run.outcome(engine)
    assert_same(summary(run.model, every), summary(run.model, outcome), block.name)
    counts = outcome.statistics
    text = f"{outcome.verdict.value}, {counts.distinct} distinct, {counts.orbits} orbits"
    assert text == block.rest
    assert every.statistics.orbits is None


@pytest.mark.parametrize(
    ("values", "permutations"), [(5, None), (6, "720 permutations"), (7, "5,040 permutations")]
)
def test_the_interpreter_names_many_permutations(
    values: int, permutations: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress lines and a note name the permutations, but not without symmetry, nor in an engine
    that tries fewer.
    """
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.0)
    names = ", ".join(f"c{number}" for number in range(values))
    text = f"symmetric type C = {{{names}}}\nvar x: set[C] = {{}}\naction put(c in C): x.add(c)\n"
    model = model_of(text)
    progress: list[Progress] = []
    request = Request(model, frozenset(), progress=progress.append)
    notes = [
        f"The interpreter tries {permutations} per state; --engine local canonicalises faster, "
        "--no-symmetry visits all states."
    ]
    outcome = load("interpreter").run(request)
    assert list(outcome.notes) == (notes if permutations else [])
    assert {state.remark for state in progress} == {
        f"{permutations} per state" if permutations else ""
    }
    assert not load("interpreter").run(replace(request, symmetry=False)).notes
    assert not load("local").run(request).notes


@pytest.mark.parametrize("sizes", [(), (1,), (2,), (3,), (4,), (5,), (2, 3), (3, 2, 2), (1, 4)])
def test_a_tour_visits_every_arrangement_once(sizes: tuple[int, ...]) -> None:
    arrangement = [list(range(size)) for size in sizes]
    seen = [str(arrangement)]
    for number, index in orbits.tour(sizes):
        values = arrangement[number]
        values[index], values[index + 1] = values[index + 1], values[index]
        seen.append(str(arrangement))
    assert len(set(seen)) == len(seen) == prod(map(factorial, sizes))


def test_tours_among_ties() -> None:
    """The tours for three values and two values pass only values that are tied."""
    ways, begins = orbits.tours_among_ties((3, 2))
    lengths = [end - begin for begin, end in pairwise(begins)]
    assert lengths == [0, 1, 1, 5, 1, 3, 3, 11]
    for ties, (begin, end) in enumerate(pairwise(begins)):
        assert all(ties >> pair & 1 for pair in ways[begin:end])


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", ["counters", "messages", "cut"])
def test_the_first_orbits_are_the_same_in_every_engine(name: str, limit: int) -> None:
    run = run_of(next(block for block in SPECS if block.name == name)).within(max_states=limit)
    model = run.model
    first = run.outcome("interpreter")
    outcome = run.within(workers=1 + limit % 3).outcome(Local("quick"))
    assert first.statistics.orbits == outcome.statistics.orbits
    orbits_, initial = first.statistics.orbits or 0, len(first.statistics.levels) == 1
    assert (orbits_ >= limit if initial else orbits_ > limit) is (first.cut is not None)
    assert_same(summary(model, first), summary(model, outcome), name)


@pytest.mark.parametrize("mutant", range(len(MUTANTS)))
def test_a_wrong_tour_is_noticed(mutant: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tour that misses an arrangement splits an orbit into several, or changes the counts."""
    way = orbits.tour

    def wrong(sizes: Sequence[int]) -> list[tuple[int, int]]:
        return MUTANTS[mutant](way(sizes))

    monkeypatch.setattr(orbits, "tour", wrong)
    noticed = False
    for block in SPECS[:4]:
        run = run_of(block)
        every = run_of(block, symmetry=False).by("interpreter")
        same = False
        # The mistake may make it impossible to find the trace.
        with suppress(AssertionError):
            outcome = run.outcome("local")
            orbits_of_all = block.rest.endswith(f" {outcome.statistics.orbits} orbits")
            same = orbits_of_all and summary(run.model, outcome) == every
        noticed |= not same
    assert noticed
