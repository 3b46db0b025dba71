"""Compares engines on random specs with fairness and a temporal property, ``P``."""

from __future__ import annotations

from tests.naive.behaviours import TooLarge
from tests.strategies.living import grown_living
from tests.support import comparisons as by
from tests.support.agreement import Run, bounded, loaded
from tests.support.oracle_runs import TOO_LARGE, assert_supported, truth_of

from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import judge
from fencepost.checker.run.settings import Settings

MAX_STATES = 300
"""Larger searches get a limit on their depth."""
UNDECIDED = "undecided"
DECIDED = (Verdict.OK, Verdict.VIOLATED, Verdict.INCONCLUSIVE)
FATAL = (Verdict.ERROR, Verdict.ASSERTION)


def living_run(text: str) -> Run:
    """Returns the search that decides the temporal property of a spec."""
    return bounded(by.behaviour_run(text), MAX_STATES)


def oracle_agrees(run: Run, outcome: Outcome) -> str:
    """Compares an outcome with the oracle, which shares no code with the engines."""
    if run.limits.depth is not None or outcome.verdict is Verdict.ASSUMPTION:
        return UNDECIDED
    try:
        truth = truth_of(run)
    except TooLarge:
        return TOO_LARGE
    allowed = FATAL if truth == "error" else (Verdict(truth),)
    assert outcome.verdict in allowed, f"{outcome.verdict}, the oracle says {truth}: {run}"
    assert_supported(run, outcome, str(run))
    return truth


def judge_agrees(run: Run, outcome: Outcome) -> str:
    """Requires that the spec's check meets its expectation if and only if the outcome has the
    expected verdict. A limit must not meet ``expect inconclusive``.
    """
    read = loaded(run.text)
    (check,) = read.checks
    job = Job(read, check, run.model, "interpreter", run.properties, False, run.limits, Settings())
    met = outcome.verdict.value == check.verdict
    if run.limits.depth is not None and outcome.verdict is Verdict.INCONCLUSIVE:
        met = False
    assert judge(job, outcome).as_expected is met, f"{outcome.verdict}: {run}"
    return f"{check.verdict} {'is' if met else 'is not'} met"


def lasso_is_genuine(run: Run, outcome: Outcome) -> str:
    """Checks the lasso of an outcome. A small graph without a lasso must have none."""
    return by.lasso_is_genuine(run, outcome) if _is_decided(run, outcome) else UNDECIDED


def bmc_agrees(run: Run, outcome: Outcome) -> str:
    """Compares bounded model checking with the interpreter."""
    return by.bmc_finds_lasso(run, outcome) if _is_decided(run, outcome) else UNDECIDED


def _is_decided(run: Run, outcome: Outcome) -> bool:
    return run.limits.depth is None and outcome.verdict in DECIDED


def living_agrees(seed: int) -> str:
    """Compares the interpreter and the oracle on the random spec of a seed."""
    run = living_run(grown_living(seed))
    outcome = by.uninterrupted(run, "interpreter")
    judge_agrees(run, outcome)
    return oracle_agrees(run, outcome)
