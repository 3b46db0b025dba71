"""Every engine reports each failure, in each part of a spec, as the language defines it.

The table is `tests.support.failure_table`. A run takes a part of the table that covers every place,
time and failure; with ``FENCEPOST_TABLE=all``, it takes the whole table.
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
PLAIN = [case for case in CHOSEN if case.site is not SYMBOLIC]
STEPS = 5
"""More steps than any spec has, so that bounded model checking reaches all states."""


def run_of(case: Cell | Ordered, engine: str, keep_going: bool = False) -> Run:
    # Some 64-bit queries are hard; induction may leave them unproved after this time.
    seconds = 2.0 if engine == "induction" else None
    limits = Limits(depth=STEPS if engine == "bmc" else None, timeout=seconds, workers=1)
    return run_of_model(model_of(case.text), limits=limits, keep_going=keep_going, text=case.text)


def ran(engine: str, case: Cell | Ordered, keep_going: bool = False) -> Outcome:
    return run_of(case, engine, keep_going).outcome(engine)


def problems_of(outcome: Outcome, model: Model) -> tuple[Problem, ...]:
    """Converts the problems of an outcome to the form of the table."""
    problems = (finding for finding in outcome.findings if not _unmet(finding))
    return tuple(_problem(model, finding) for finding in problems)


def _unmet(finding: Finding) -> bool:
    return finding.verdict is Verdict.UNREACHED


def _problem(model: Model, finding: Finding) -> Problem:
    name = "" if finding.property is None else model.properties[finding.property].name
    code = "" if finding.site is None else finding.site.code
    return Problem(finding.verdict.value, name, finding.depth, code)


def by_local(case: Cell) -> None:
    """The interpreter finds the problems of the table, and machine code finds the same."""
    with translated_once(better=False):
        for keep_going, wanted in ((False, case.first), (True, case.going)):
            run = run_of(case, "interpreter", keep_going)
            expected = run.outcome("interpreter")
            assert problems_of(expected, run.model) == wanted, case.text
            assert_same(summary(run.model, expected), run.by("local"), case.text)


def by_spark(case: Cell) -> None:
    """Spark, run in one process with a limit too large to be reached, agrees with the interpreter;
    the cluster searches all levels but the first.
    """
    run = run_of(case, "spark").within(workers=None, max_states=MANY)
    codes = Codes(run.model)
    for asked in (run, replace(run, keep_going=True)):
        engine = Spark(Cluster(partitions=3), behind(1))
        assert_same(asked.by("interpreter"), codes.by(engine, asked), case.text)


def by_bmc(case: Cell) -> None:
    """Bounded model checking finds the problems of the table."""
    for keep_going, wanted in ((False, case.first), (True, case.going)):
        assert problems_of(ran("bmc", case, keep_going), model_of(case.text)) == wanted, case.text


def by_induction(case: Cell) -> None:
    """Induction proves nothing that is false."""
    outcome = ran("induction", case)
    if outcome.findings:
        assert problems_of(outcome, model_of(case.text))[0] in case.going, case.text
        return
    if not case.going:
        return
    assert outcome.verdict is not Verdict.OK, case.text
    subjects = {proof.subject for proof in outcome.proofs if proof.reason is None}
    false = {f"{kind} {p.name}" for kind in ("invariant", "lemma") for p in case.going if p.name}
    if any(problem.verdict == "error" for problem in case.going):
        judged = {"invariant P", "lemma P", "step invariant P"}
        in_property = case.site in PREDICATES and case.site.text.split(" P")[0].strip(":") in {
            "invariant", "lemma", "step invariant",
        }  # fmt: skip
        # An error in a property to be proved counts against that property.
        false |= judged if in_property else {"no evaluation error"}
    assert not subjects & false, f"{subjects & false}\n{case.text}"


def by_regions(engine: str, case: Cell) -> None:
    """The engine searches all values of a symbolic constant, and finds the problems of the
    table.
    """
    for keep_going, wanted in ((False, case.first), (True, case.going)):
        run = run_of(case, engine, keep_going)
        outcome = regions_agree(run, engine)
        if outcome.verdict is Verdict.UNREACHED:
            assert not wanted
            continue
        assert problems_of(outcome, run.model) == wanted, case.text


def by_condition(engine: str, case: Cell) -> None:
    """The engine checks a condition on a symbolic constant."""
    for keep_going in (False,) if engine == "local" else (False, True):
        run = run_of(case, engine, keep_going)
        visits = engine in ("interpreter", "local")
        outcome = regions_agree(run, engine) if visits else run.outcome(engine)
        assert problems_of(outcome, run.model) == case.first, case.text


def of_symbols() -> list[Cell]:
    """Returns the cells that fail for one value of a symbolic constant."""
    symbolic_cells = [cell(case.site, case.failure, case.when, symbolic=True) for case in PLAIN]
    return [case for case in symbolic_cells if case is not None and case.site.on != "K"]


SYMBOLS = of_symbols()
CONDITIONS = [case for case in EVERY if case.site is SYMBOLIC]
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
"""Each row has a name, a comparison, the cells, and the share of cells in a normal run: one in this
number.
"""


@pytest.mark.parametrize(
    ("compare", "case"),
    [
        pytest.param(compare, case, id=f"{name}-{case.name}")
        for name, compare, cells, share in TABLE
        for case in (cells if WHOLE else cells[::share])
    ],
)
def test_failures_are_those_of_the_table(compare: Callable[[Cell], None], case: Cell) -> None:
    compare(case)


# ---------------------------------------------------------------- the table itself


def test_the_part_covers_every_place_time_and_failure() -> None:
    part = covering(EVERY)
    places = {case.site.name for case in part}
    assert places == {cell_place.name for cell_place in (*PREDICATES, *ACTIONS, SYMBOLIC)}
    assert {case.when for case in part} == set(WHENS)
    assert {case.failure.name for case in part} == {f.name for f in (*EXPRESSIONS, *STATEMENTS)}


# ---------------------------------------------------------------- several problems at once


@pytest.mark.parametrize("case", ORDERED, ids=lambda case: case.name)
@pytest.mark.parametrize("engine", ["interpreter", "local", "bmc"])
def test_the_first_of_several_problems(case: Ordered, engine: str) -> None:
    model = model_of(case.text)
    for keep_going in (False, True):
        findings = [f for f in ran(engine, case, keep_going).findings if not _unmet(f)]
        if case.verdict == "ok":
            assert not findings
            continue
        first = findings[0]
        assert (first.verdict.value, first.depth) == (case.verdict, case.depth)
        assert _at(model, first) == case.at
        more = tuple(finding.verdict.value for finding in findings[1:])
        assert more == case.more if keep_going or case.depth == 0 else not more


def _at(model: Model, finding: Finding) -> str:
    if finding.site is not None:
        return finding.site.span.text
    if finding.verdict is Verdict.ASSUMPTION:
        assert finding.failing is not None
        return finding.failing.text
    return "" if finding.property is None else model.properties[finding.property].name
