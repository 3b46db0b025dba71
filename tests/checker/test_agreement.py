"""Agreement on searches between two engines, or between an engine and a definition; the table is
`LOTS`.

The comparisons are in `tests.support.comparisons`. ``FENCEPOST_EXAMPLES`` is the number of random
specs, and ``FENCEPOST_STATES`` the number of states that the interpreter may visit in a shipped
check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TypeVar
from unittest import mock

import pytest
from tests.strategies import grown, grown_large
from tests.strategies.open_ranges import grown_open
from tests.strategies.orbits import grown as grown_orbits
from tests.strategies.refinements import refining
from tests.strategies.symbolic import grown_symbolic
from tests.support import comparisons as by
from tests.support.agreement import bounded, model_of, run_of, run_of_all, runs_of
from tests.support.amounts import amount, everything, numbers
from tests.support.comparisons import INTERPRETER, REFUSED
from tests.support.examples import EXAMPLES, Example
from tests.support.living_runs import living_agrees
from tests.support.oracle_runs import ENGINES, ORACLES, TOO_LARGE
from tests.support.paths import ROOT
from tests.support.rewriting import RULES
from tests.support.shipped import MODELS, ShippedCheck, a_few, has_many_checks, is_port, quick, turn
from tests.support.spread_runs import Tally, assert_spread
from tests.support.spread_runs import grown as grown_constrained
from tests.support.steps_agreement import Extent, agree, comparing, probing
from tests.support.text_tables import Block, blocks

from fencepost.checker.engines import load
from fencepost.checker.native.search import Local
from fencepost.checker.request import Engine
from fencepost.checker.symbolic import solver

T = TypeVar("T")

SHARE = 5
"""One random spec in this number is compared with guarded or with optimised machine code."""
BMC_STEPS = 3
HIDDEN = blocks(ROOT / "tests" / "support" / "hidden_failures.txt")
"""Specs with an expression that may fail, and something that could hide the failure."""


@dataclass(frozen=True, slots=True)
class Lot:
    """Comparisons that form one test.

    Each word must be contained in at least as many results as it occurs in `words`. If there are
    words, less than half of the specs may be refused.
    """

    name: str
    comparisons: Sequence[Callable[[], str | None]]
    words: tuple[str, ...] = ()

    def compare(self) -> None:
        """Makes the comparisons and checks their results."""
        words = Counter(str(compare()) for compare in self.comparisons)
        for word, least in Counter(self.words).items():
            count = sum(times for returned, times in words.items() if word in returned)
            assert count >= least, f"{count} are {word}, and not {least}: {words}"
        if self.words:
            refused = (n for word, n in words.items() if word.startswith((REFUSED, TOO_LARGE)))
            assert sum(refused) < len(self.comparisons) / 2


def lots(
    name: str,
    cases: Sequence[T],
    compare: Callable[[T], str | None],
    size: int = 1,
    words: tuple[str, ...] = (),
) -> Iterator[Lot]:
    """Yields the lots of a row of the table; each lot is named after its first case."""
    for start in range(0, len(cases), size):
        lot = cases[start : start + size]
        first = getattr(lot[0], "name", lot[0])
        yield Lot(f"{name}-{first}", [partial(compare, case) for case in lot], words)


def rows(
    name: str,
    keys: Iterable[str],
    compare: Callable[[str, int], str | None],
    seeds: Sequence[int],
    size: int,
    words: tuple[str, ...] = (),
) -> Iterator[Lot]:
    """Yields the lots of several rows with random specs, one row for each key."""
    for key in keys:
        yield from lots(f"{name}-{key}", seeds, partial(compare, key), size, words)


# ---------------------------------------------------------------- comparisons of one case


def local_example(example: Example) -> None:
    # Another row, `steps`, compares every example in optimised code.
    number = EXAMPLES.index(example)
    thorough = number % 4 == 0 or everything("TURNS")
    for run in runs_of(example.text):
        turn = None if thorough else number
        by.local_agrees(bounded(run, 10_000), turn, better=len(example.name) % 4 == 0)


def local_random(seed: int) -> None:
    for run in runs_of(grown(seed)):
        by.local_agrees(bounded(run, 400), better=seed % SHARE == 0)


def local_shipped(check: ShippedCheck) -> None:
    by.local_agrees(check.run(), small().index(check))


def steps_of_example(example: Example, guarded: bool) -> None:
    agree(probing(model_of(example.text)), Extent(), guarded=guarded)


def steps_of_shipped(check: ShippedCheck) -> None:
    agree(probing(check.run().model), Extent(reached=25, random=15), guarded=True)


def steps_of_random(seed: int) -> None:
    agree(probing(model_of(grown(seed))), Extent(30, 30, 4_000), seed, seed % SHARE == 0)


def steps_of_large(seed: int) -> None:
    model = comparing(probing(model_of(grown_large(seed))), seed)
    agree(model, Extent(10, 30, 3_000), seed, seed % SHARE == 0)


def bmc_random(seed: int) -> None:
    for deadlock, keep_going in ((True, False), (True, True), (False, True)):
        run = run_of(grown(seed), deadlock=deadlock, keep_going=keep_going)
        by.bmc_agrees(run, BMC_STEPS)


def int_random(seed: int) -> None:
    for run in runs_of(grown_open(seed)):
        by.local_agrees(bounded(run, 400), seed)
        by.bmc_agrees(run, BMC_STEPS)
        by.induction_agrees(run, 1 + seed % 2)


def bmc_text(case: Example | Block, effort: int | None = None) -> None:
    """Compares bounded model checking of a text; a low effort makes the incremental solver give up
    each query.
    """
    depth = max(case.depth if isinstance(case, Example) else 0, BMC_STEPS + 1)
    with mock.patch.object(solver, "EFFORT", effort or solver.EFFORT):
        for keep_going in (False, True):
            by.bmc_agrees(run_of_all(case.text, deadlock=True, keep_going=keep_going), depth)


def induction_text(case: Example | Block) -> None:
    for k in (1, 2):
        by.induction_agrees(run_of_all(case.text, deadlock=True), k, seconds=10)


def naive_random(seed: int) -> None:
    for run in runs_of(grown(seed)):
        by.naive_agrees(bounded(run, 300))


def naive_example(example: Example) -> None:
    for run in runs_of(example.text):
        by.naive_agrees(run)


def naive_shipped(check: ShippedCheck) -> None:
    # Only the first levels are searched; other tests compare the counts of all levels.
    by.naive_agrees(bounded(check.run(), 100), limited=False)


def orbits(seed: int) -> str:
    run = by.symmetric_run(grown_orbits(seed), 600)
    engines: list[Engine] = [load(INTERPRETER)]
    if run is not None and seed % 6 == 0:
        # Compiling the machine code takes longer than the search.
        run = run.within(workers=1 + seed // 6 % 3)
        engines.append(Local("quick"))
    return by.orbits_agree(run, engines)


def all_values(engine: str, seed: int, keep_going: bool = False) -> str:
    # No run has more than five steps, since every action counts steps.
    run = run_of(grown_symbolic(seed), keep_going=keep_going)
    return by.all_values_agree(run, engine, depth=5)


def bmc_all_values(seed: int) -> None:
    for keep_going in (False, True):
        all_values("bmc", seed, keep_going)


def behaviours(compare: str, seed: int) -> str:
    run = by.random_behaviours(seed)
    return LASSOS[compare](run, by.uninterrupted(run, INTERPRETER))


def oracle(name: str, seed: int) -> str:
    return str(ORACLES[name](seed, ENGINES[: 1 + (seed % 4 == 0)])["verdict"])


def refinement(seed: int) -> str:
    return by.refinement_agrees(refining(Random(seed)))


def local_refinement(seed: int) -> None:
    by.local_refines(refining(Random(seed)), (1, 2, 3) if seed % 4 == 0 else (seed % 4,))


def spark(case: Example | int) -> None:
    if isinstance(case, int):
        assert_spread(grown_constrained(case), case, Tally())
    else:
        assert_spread(case.text, len(case.name), Tally())


# ---------------------------------------------------------------- the table


def small() -> list[ShippedCheck]:
    """Returns shipped checks that are neither slow nor large.

    Of a model with many checks there are only a few, since these run similar code.
    """
    if states := amount("STATES", 0):
        return [check for path in MODELS for check in quick(path, states)]
    limits = {path: 2_000 if has_many_checks(path) else 20_000 for path in MODELS}
    paths = [path for path in MODELS if not is_port(path)]
    return [*turn([c for path in paths for c in a_few(path, quick(path, limits[path]), 1)], 1)]


def shipped(count: int) -> Sequence[ShippedCheck]:
    """Returns shipped checks that are not slow, and at most `count` of a model with many checks."""
    return turn([c for p in MODELS if not is_port(p) for c in a_few(p, quick(p), count)], 0)


def rewrites(rule: str, seed: int) -> None:
    by.rewrite_agrees(grown(seed, modules=False), rule)


def induction(seed: int) -> None:
    by.induction_agrees(run_of(grown(seed)), 1 + seed % 2)


FEW = amount("EXAMPLES", 12)
SEEDS = numbers(100)
ORACLE_SEEDS = range(SEEDS.start, SEEDS.start + amount("ORACLES", 40))
LASSOS: Mapping[str, Callable[..., str]] = {
    "genuine": by.lasso_is_genuine,
    "local": by.local_finds_lasso,
    "bmc": by.bmc_finds_lasso,
}
FOUND = ("ok", "violated")
VERDICTS = ("ok", "violated", "error", "deadlock")

LOTS: tuple[Lot, ...] = (
    *lots("local-example", EXAMPLES, local_example),
    *lots("local-shipped", small(), local_shipped),
    *lots("local-random", numbers(20), local_random, 2),
    *lots("spark-example", turn(EXAMPLES, 0, 4), spark),
    *lots("spark-random", numbers(6), spark),
    *lots("steps-example", EXAMPLES, partial(steps_of_example, guarded=False)),
    *lots("steps-guarded", turn(EXAMPLES, 1), partial(steps_of_example, guarded=True)),
    *lots("steps-shipped", shipped(1), steps_of_shipped),
    *lots("steps-random", numbers(20), steps_of_random, 10),
    *lots("steps-large", numbers(40)[: len(numbers(40)) // 5], steps_of_large, 8),
    *lots("bmc-random", range(500, 500 + FEW), bmc_random, 2),
    *lots("bmc-example", EXAMPLES, bmc_text, 4),
    *lots("bmc-hard", turn(EXAMPLES, 1), partial(bmc_text, effort=1), 4),
    *lots("bmc-hidden", HIDDEN, bmc_text, 8),
    *lots("induction-example", EXAMPLES, induction_text, 4),
    *lots("induction-hidden", HIDDEN, induction_text, 8),
    *lots("induction-random", range(500, 500 + FEW), induction, 2),
    *lots("int-random", numbers(6), int_random, 2),
    *lots("naive-example", EXAMPLES, naive_example, 10),
    *lots("naive-shipped", shipped(2), naive_shipped),
    *lots("naive-random", numbers(30), naive_random, 10),
    *rows("rewrite", RULES, rewrites, numbers(12), 6),
    *lots("orbits-random", numbers(50), orbits, 50, (*VERDICTS, *("fewer",) * 16)),
    *lots("regions-random", numbers(40), partial(all_values, INTERPRETER), 20, FOUND),
    *lots("regions-local", range(-(-FEW // 10)), partial(all_values, "local")),
    *lots("regions-bmc", [13, 31, *range(200, 200 + -(-FEW // 5))], bmc_all_values),
    *lots("refinement-definition", numbers(60), refinement, 20, FOUND),
    *lots("refinement-local", numbers(8), local_refinement, 2),
    *lots("lasso-genuine", SEEDS, partial(behaviours, "genuine"), 20, FOUND),
    *rows("lasso", ("local", "bmc"), behaviours, SEEDS[: len(SEEDS) // 10], 5),
    *lots("living", numbers(20), living_agrees, 10, ("ok",)),
    *rows("oracle", ORACLES, oracle, ORACLE_SEEDS, 20, ("ok",)),
)


@pytest.mark.parametrize("lot", LOTS, ids=lambda lot: lot.name)
def test_agreement(lot: Lot) -> None:
    lot.compare()
