"""Every rule of models/kafka/epoch_arithmetic.fence is needed by a property, or has a reason to be
there.

A test run tries one of twelve mutants and a third of the runs; with ``FENCEPOST_EPOCHS=all``, it
tries all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from bench.epoch_mutants import CELLS, MODEL, MUTANTS, RUNS, Mutant, Run
from tests.support.agreement import loaded
from tests.support.amounts import everything

from fencepost.checker.engines import load
from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits, Request
from fencepost.checker.symbolic import induction, terms
from fencepost.checker.symbolic.inductive import StepCase
from fencepost.checker.symbolic.solver import Solver
from fencepost.spec.core import ir
from fencepost.spec.elaborate.claims import program

WHOLE = everything("EPOCHS")
TRIED = MUTANTS if WHOLE else MUTANTS[::12]
TEXT = MODEL.read_text(encoding="utf-8")
STATES = ("Empty", "Ongoing", "PrepareAbort", "PrepareCommit", "CompleteAbort", "CompleteCommit")
BREAKING = [*{mutant.edits: mutant for mutant in MUTANTS if mutant.breaks_proof}.values()]
SPOILING = BREAKING if WHOLE else BREAKING[::12]


def title(mutant: Mutant) -> str:
    return re.sub(r"\W+", "_", f"{mutant.row} {mutant.change}")


def problem_found(text: str, run: Run, engine: str) -> str | None:
    """Returns the violated property, or another problem, that a search finds."""
    read = loaded(text)
    (check,) = (check for check in read.checks if check.name == run.check)
    model = program.build(read, check, dict(run.constants))
    outcome = load(engine).run(
        Request(
            model,
            properties=program.select(model, check),
            limits=Limits(depth=run.depth, workers=1),
        )
    )
    if outcome.findings:
        (number,) = {finding.property for finding in outcome.findings}
        return outcome.verdict.value if number is None else model.properties[number].name
    cut = outcome.verdict is Verdict.INCONCLUSIVE and run.depth is not None
    assert cut or outcome.verdict is Verdict.OK, outcome
    return None


@pytest.mark.parametrize("run", RUNS if WHOLE else RUNS[::3], ids=str)
def test_the_model_as_it_is_violates_nothing(run: Run) -> None:
    assert problem_found(TEXT, run, "local") is None


@pytest.mark.parametrize("mutant", TRIED, ids=title)
def test_a_mutant_is_noticed_or_has_a_reason(mutant: Mutant) -> None:
    # The interpreter needs no compilation; the other engine is for long searches.
    engine = "local" if mutant.finds is None or mutant.runs[0].depth else "interpreter"
    for run in mutant.runs:
        assert problem_found(mutant.applied(TEXT), run, engine) == mutant.finds
    assert (mutant.finds is None) == (mutant.why != "")


def test_every_row_and_every_cell_has_a_mutant() -> None:
    rows = {mutant.row for mutant in MUTANTS}
    assert rows >= {f"B1.{row}" for row in range(1, 12)}
    cells = {
        f"{state}, {result} {which}"
        for state in STATES
        for result in ("ABORT", "COMMIT")
        for which in ("retry", "current")
    }
    assert {mutant.row for mutant in CELLS} == cells
    met = {mutant.row for mutant in MUTANTS if mutant.finds is not None}
    assert rows - met == {
        f"{state}, {result} current"
        for state in ("PrepareAbort", "PrepareCommit")
        for result in ("ABORT", "COMMIT")
    }


def test_only_the_five_properties_are_needed() -> None:
    names = {mutant.finds for mutant in MUTANTS} - {None}
    assert names == {"S4", "S8", "S8M", "S9", "S10", "S11", "S11T"}


# ----------------------------------------------------------------------------- the proof of S8


def proving(text: str) -> tuple[ir.Model, frozenset[int], program.Check]:
    """Returns the model for one message in flight, the numbers of S8 and its lemmas, and the check
    with the proof.
    """
    read = loaded(text)
    (check,) = (check for check in read.checks if check.name == "s8_for_ever")
    model = program.build(read, check, {"InFlight": "1"})
    wanted = frozenset(
        number
        for number, item in enumerate(model.properties)
        if item.kind.supports_proofs or item.name in {"S8", "S8M"}
    )
    return model, wanted, check


def holds_after_a_step(text: str) -> bool:
    """Checks whether S8 and its lemmas hold after every step from states that satisfy them."""
    model, wanted, _ = proving(text)
    terms.begin()
    solver = Solver(None, None, False, lambda: None)
    case = StepCase(model, wanted, False, 1, solver)
    assumed = terms.both(*(obligation.assumed for obligation in case.obligations))
    wrong = terms.either(*(obligation.wrong for obligation in case.obligations))
    return solver.ask(terms.both(assumed, wrong), None) is None


def test_the_step_of_the_proof_holds() -> None:
    assert holds_after_a_step(TEXT)


@pytest.mark.parametrize("mutant", SPOILING, ids=title)
def test_a_mutant_that_spoils_epochs_breaks_the_step_of_the_proof(mutant: Mutant) -> None:
    assert not holds_after_a_step(mutant.applied(TEXT))


def _nothing(_: ir.Model) -> Sequence[object]:
    return ()


@pytest.mark.parametrize("mutant", BREAKING[:1] if not WHOLE else BREAKING, ids=title)
def test_a_mutant_that_spoils_epochs_is_not_proved(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine must report a violation, or name S8 among the unproved properties."""
    monkeypatch.setattr(induction, "candidates", _nothing)
    model, wanted, _ = proving(mutant.applied(TEXT))
    outcome = load("induction").run(Request(model, properties=wanted, deadlock=False))
    assert outcome.limit is None
    unproved = {proof.subject for proof in outcome.proofs if proof.reason is not None}
    assert outcome.verdict is Verdict.VIOLATED or unproved & {"invariant S8", "step invariant S8M"}
