"""Whatever fails, wherever it stands, every engine finds it where the language says it is.

The table is `tests.support.failure_table`. A run takes a part of it in which every place, every
time and every failure occurs; ``FENCEPOST_TABLE=all`` takes all of it.
"""

from __future__ import annotations

import pytest
from tests.support.agreement import assert_same, loaded, summary
from tests.support.amounts import everything
from tests.support.failure_order import ORDERED, Ordered
from tests.support.failure_table import (
    ACTIONS,
    EXPRESSIONS,
    PREDICATES,
    STATEMENTS,
    SYMBOLIC,
    WHENS,
    Cell,
    Place,
    Problem,
    cell,
    cells,
    covering,
)
from tests.support.region_agreement import assert_brute_force_agrees
from tests.support.spread_runs import MANY, Codes, behind
from tests.support.whole_runs import Run, translated_once

from fencepost.checker.engines import load
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Cluster, Limits, Request
from fencepost.checker.spark.search import Spark
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program

EVERY = list(cells())
WHOLE = everything("TABLE")
CHOSEN = EVERY if WHOLE else covering(EVERY)
PLAIN = [one for one in CHOSEN if one.place is not SYMBOLIC]
STEPS = 5
"""More than there are: bounded model checking sees that nothing is left."""


def ran(engine: str, model: Model, keep_going: bool) -> Outcome:
    every = frozenset(range(len(model.properties)))
    # Some questions about 64 bits are hard; what is not proved in time is not proved.
    seconds = 2.0 if engine == "induction" else None
    limits = Limits(depth=STEPS if engine == "bmc" else None, timeout=seconds, workers=1)
    return load(engine).run(Request(model, properties=every, limits=limits, keep_going=keep_going))


def told(model: Model, outcome: Outcome) -> tuple[Problem, ...]:
    """What was found, as the table has it."""
    return tuple(_problem(model, one) for one in outcome.findings if not _unmet(one))


def _unmet(finding: Finding) -> bool:
    return finding.verdict is Verdict.UNREACHED


def _problem(model: Model, finding: Finding) -> Problem:
    name = "" if finding.property is None else model.properties[finding.property].name
    code = "" if finding.site is None else finding.site.code
    return Problem(finding.verdict.value, name, finding.depth, code)


def built(text: str) -> Model:
    read = loaded(text)
    return program.build(read, read.checks[0])


def name_of(one: object) -> str:
    return one.name if isinstance(one, Cell | Place) else str(one)


@pytest.mark.parametrize("one", PLAIN, ids=name_of)
def test_engines_that_visit_states(one: Cell) -> None:
    model = built(one.text)
    with translated_once(better=False):
        for keep_going, wanted in ((False, one.first), (True, one.going)):
            known = ran("interpreter", model, keep_going)
            assert told(model, known) == wanted, one.text
            found = ran("local", model, keep_going)
            assert_same(summary(model, known), summary(model, found), one.text)


@pytest.mark.parametrize("one", PLAIN if WHOLE else PLAIN[::6], ids=name_of)
def test_spark_in_one_process(one: Cell) -> None:
    model = built(one.text)
    codes = Codes(model)
    every = frozenset(range(len(model.properties)))
    for keep_going in (False, True):
        # A limit that is not reached, and all levels but the first on the cluster.
        run = Run(model, every, True, Limits(max_states=MANY), keep_going)
        wanted = run.by(load("interpreter"))
        assert_same(wanted, codes.by(Spark(Cluster(partitions=3), behind(1)), run), one.text)


@pytest.mark.parametrize("one", PLAIN, ids=name_of)
def test_bounded_model_checking(one: Cell) -> None:
    model = built(one.text)
    for keep_going, wanted in ((False, one.first), (True, one.going)):
        assert told(model, ran("bmc", model, keep_going)) == wanted, one.text


@pytest.mark.parametrize("one", PLAIN if WHOLE else PLAIN[::3], ids=name_of)
def test_induction(one: Cell) -> None:
    assert_nothing_false_is_proved(one)


def assert_nothing_false_is_proved(one: Cell) -> None:
    model = built(one.text)
    outcome = ran("induction", model, False)
    if outcome.findings:
        assert told(model, outcome)[0] in one.going, one.text
        return
    if not one.going:
        return
    assert outcome.verdict is not Verdict.OK, one.text
    subjects = {proof.subject for proof in outcome.proofs if proof.reason is None}
    false = {f"invariant {problem.name}" for problem in one.going if problem.name}
    false |= {f"lemma {problem.name}" for problem in one.going if problem.name}
    if any(problem.verdict == "error" for problem in one.going):
        judged = {"invariant P", "lemma P", "step invariant P"}
        in_property = one.place in PREDICATES and one.place.text.split(" P")[0].strip(":") in {
            "invariant", "lemma", "step invariant",
        }  # fmt: skip
        # The error of a property that is judged counts against that property.
        false |= judged if in_property else {"no evaluation error"}
    assert not subjects & false, f"{subjects & false}\n{one.text}"


# ---------------------------------------------------------------- symbolic constants


def of_symbols() -> list[Cell]:
    """Cells that fail for one value of a symbolic constant."""
    made = [cell(one.place, one.failure, one.when, symbolic=True) for one in PLAIN]
    return [one for one in made if one is not None and one.place.on != "K"]


SYMBOLS = of_symbols()


@pytest.mark.parametrize("one", SYMBOLS if WHOLE else SYMBOLS[::3], ids=name_of)
def test_regions_of_the_interpreter(one: Cell) -> None:
    assert_regions(one, "interpreter")


@pytest.mark.parametrize("one", SYMBOLS if WHOLE else SYMBOLS[::24], ids=name_of)
def test_regions_of_local(one: Cell) -> None:
    assert_regions(one, "local")


def assert_regions(one: Cell, engine: str) -> None:
    model = built(one.text)
    for keep_going, wanted in ((False, one.first), (True, one.going)):
        outcome = assert_brute_force_agrees(one.text, engine, keep_going=keep_going)
        if outcome.verdict is Verdict.UNREACHED:
            assert not wanted
            continue
        assert told(model, outcome) == wanted, one.text


@pytest.mark.parametrize("one", SYMBOLS if WHOLE else SYMBOLS[::3], ids=name_of)
def test_bounded_model_checking_of_all_values(one: Cell) -> None:
    model = built(one.text)
    for keep_going, wanted in ((False, one.first), (True, one.going)):
        assert told(model, ran("bmc", model, keep_going)) == wanted, one.text


CONDITIONS = [one for one in EVERY if one.place is SYMBOLIC]


@pytest.mark.parametrize("one", CONDITIONS, ids=name_of)
@pytest.mark.parametrize("engine", ["interpreter", "local", "bmc", "induction"])
def test_a_condition_on_a_symbolic_constant(one: Cell, engine: str) -> None:
    model = built(one.text)
    for keep_going in (False,) if engine == "local" else (False, True):
        if engine in ("interpreter", "local"):
            outcome = assert_brute_force_agrees(one.text, engine, keep_going=keep_going)
        else:
            outcome = ran(engine, model, keep_going)
        assert told(model, outcome) == one.first, one.text


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
    model = built(one.text)
    for keep_going in (False, True):
        found = [f for f in ran(engine, model, keep_going).findings if not _unmet(f)]
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
