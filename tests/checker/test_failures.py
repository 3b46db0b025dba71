"""Whatever fails, wherever it stands, every engine finds it where the language says it is.

The table is `tests.support.failure_table`. A run takes a part of it in which every place, every
time and every failure occurs; ``FENCEPOST_TABLE=all`` takes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
from tests.support.agreement import Run, assert_same, model_of, run_of_model, summary
from tests.support.amounts import everything
from tests.support.comparisons import MANY, regions_agree, translated_once
from tests.support.failure_order import ORDERED, Ordered
from tests.support.failure_table import (
    ACTIONS,
    EXPRESSIONS,
    PREDICATES,
    STATEMENTS,
    SYMBOLIC,
    WHENS,
    Cell,
    Problem,
    cell,
    cells,
    covering,
)
from tests.support.spread_runs import Codes, behind

from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Cluster, Limits
from fencepost.checker.spark.search import Spark
from fencepost.spec.core.ir import Model

EVERY = list(cells())
WHOLE = everything("TABLE")
CHOSEN = EVERY if WHOLE else covering(EVERY)
PLAIN = [one for one in CHOSEN if one.place is not SYMBOLIC]
STEPS = 5
"""More than there are: bounded model checking sees that nothing is left."""


def run_of(one: Cell | Ordered, engine: str, keep_going: bool = False) -> Run:
    # Some questions about 64 bits are hard; what is not proved in time is not proved.
    seconds = 2.0 if engine == "induction" else None
    limits = Limits(depth=STEPS if engine == "bmc" else None, timeout=seconds, workers=1)
    return run_of_model(model_of(one.text), limits=limits, keep_going=keep_going, text=one.text)


def ran(engine: str, one: Cell | Ordered, keep_going: bool = False) -> Outcome:
    return run_of(one, engine, keep_going).outcome(engine)


def told(outcome: Outcome, model: Model) -> tuple[Problem, ...]:
    """What was found, as the table has it."""
    return tuple(_problem(model, one) for one in outcome.findings if not _unmet(one))


def _unmet(finding: Finding) -> bool:
    return finding.verdict is Verdict.UNREACHED


def _problem(model: Model, finding: Finding) -> Problem:
    name = "" if finding.property is None else model.properties[finding.property].name
    code = "" if finding.site is None else finding.site.code
    return Problem(finding.verdict.value, name, finding.depth, code)


def by_local(one: Cell) -> None:
    """The interpreter finds what the table says, and machine code the same."""
    with translated_once(better=False):
        for keep_going, wanted in ((False, one.first), (True, one.going)):
            run = run_of(one, "interpreter", keep_going)
            known = run.outcome("interpreter")
            assert told(known, run.model) == wanted, one.text
            assert_same(summary(run.model, known), run.by("local"), one.text)


def by_spark(one: Cell) -> None:
    """The same in one process, with a limit that is not reached; the cluster has all levels but
    the first.
    """
    run = run_of(one, "spark").within(workers=None, max_states=MANY)
    codes = Codes(run.model)
    for asked in (run, replace(run, keep_going=True)):
        engine = Spark(Cluster(partitions=3), behind(1))
        assert_same(asked.by("interpreter"), codes.by(engine, asked), one.text)


def by_bmc(one: Cell) -> None:
    """Bounded model checking finds what the table says."""
    for keep_going, wanted in ((False, one.first), (True, one.going)):
        assert told(ran("bmc", one, keep_going), model_of(one.text)) == wanted, one.text


def by_induction(one: Cell) -> None:
    """Nothing false is proved."""
    outcome = ran("induction", one)
    if outcome.findings:
        assert told(outcome, model_of(one.text))[0] in one.going, one.text
        return
    if not one.going:
        return
    assert outcome.verdict is not Verdict.OK, one.text
    subjects = {proof.subject for proof in outcome.proofs if proof.reason is None}
    false = {f"{kind} {p.name}" for kind in ("invariant", "lemma") for p in one.going if p.name}
    if any(problem.verdict == "error" for problem in one.going):
        judged = {"invariant P", "lemma P", "step invariant P"}
        in_property = one.place in PREDICATES and one.place.text.split(" P")[0].strip(":") in {
            "invariant", "lemma", "step invariant",
        }  # fmt: skip
        # The error of a property that is judged counts against that property.
        false |= judged if in_property else {"no evaluation error"}
    assert not subjects & false, f"{subjects & false}\n{one.text}"


def by_regions(engine: str, one: Cell) -> None:
    """All values of a symbolic constant."""
    for keep_going, wanted in ((False, one.first), (True, one.going)):
        run = run_of(one, engine, keep_going)
        outcome = regions_agree(run, engine)
        if outcome.verdict is Verdict.UNREACHED:
            assert not wanted
            continue
        assert told(outcome, run.model) == wanted, one.text


def by_condition(engine: str, one: Cell) -> None:
    """A condition on a symbolic constant."""
    for keep_going in (False,) if engine == "local" else (False, True):
        run = run_of(one, engine, keep_going)
        visits = engine in ("interpreter", "local")
        outcome = regions_agree(run, engine) if visits else run.outcome(engine)
        assert told(outcome, run.model) == one.first, one.text


def of_symbols() -> list[Cell]:
    """Cells that fail for one value of a symbolic constant."""
    made = [cell(one.place, one.failure, one.when, symbolic=True) for one in PLAIN]
    return [one for one in made if one is not None and one.place.on != "K"]


SYMBOLS = of_symbols()
CONDITIONS = [one for one in EVERY if one.place is SYMBOLIC]
TABLE: tuple[tuple[str, Callable[[Cell], None], Sequence[Cell], int], ...] = (
    ("local", by_local, PLAIN, 1),
    ("spark", by_spark, PLAIN, 6),
    ("bmc", by_bmc, PLAIN, 1),
    ("induction", by_induction, PLAIN, 3),
    ("regions", partial(by_regions, "interpreter"), SYMBOLS, 3),
    ("regions-local", partial(by_regions, "local"), SYMBOLS, 24),
    ("bmc-any", by_bmc, SYMBOLS, 3),
    *(
        (f"condition-{engine}", partial(by_condition, engine), CONDITIONS, 1)
        for engine in ("interpreter", "local", "bmc", "induction")
    ),
)
"""A name, a comparison, the cells, and of how many cells a run of the suite takes one."""


@pytest.mark.parametrize(
    ("compare", "one"),
    [
        pytest.param(compare, one, id=f"{name}-{one.name}")
        for name, compare, cells, share in TABLE
        for one in (cells if WHOLE else cells[::share])
    ],
)
def test_what_fails_where_the_table_says(compare: Callable[[Cell], None], one: Cell) -> None:
    compare(one)


# ---------------------------------------------------------------- the table itself


def test_the_part_that_is_run_holds_every_place_time_and_failure() -> None:
    part = covering(EVERY)
    places = {one.place.name for one in part}
    assert places == {place.name for place in (*PREDICATES, *ACTIONS, SYMBOLIC)}
    assert {one.when for one in part} == set(WHENS)
    assert {one.failure.name for one in part} == {f.name for f in (*EXPRESSIONS, *STATEMENTS)}


# ---------------------------------------------------------------- several problems at once


@pytest.mark.parametrize("one", ORDERED, ids=lambda one: one.name)
@pytest.mark.parametrize("engine", ["interpreter", "local", "bmc"])
def test_which_of_several_problems_is_first(one: Ordered, engine: str) -> None:
    model = model_of(one.text)
    for keep_going in (False, True):
        found = [f for f in ran(engine, one, keep_going).findings if not _unmet(f)]
        if one.verdict == "ok":
            assert not found
            continue
        first = found[0]
        assert (first.verdict.value, first.depth) == (one.verdict, one.depth)
        assert _at(model, first) == one.at
        more = tuple(finding.verdict.value for finding in found[1:])
        assert more == one.more if keep_going or one.depth == 0 else not more


def _at(model: Model, finding: Finding) -> str:
    if finding.site is not None:
        return finding.site.span.text
    if finding.verdict is Verdict.ASSUMPTION:
        assert finding.failing is not None
        return finding.failing.text
    return "" if finding.property is None else model.properties[finding.property].name
