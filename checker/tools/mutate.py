"""Mutation testing: weakens a spec by one change at a time, and finds out which checks notice the
change.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from fencepost.checker.engines import ENGINES
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, judge
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import expected, found
from fencepost.checker.tools.likeness import alike_but_for
from fencepost.checker.tools.state_graph import COMPARED, Parting, compared
from fencepost.checker.tools.woven import WovenProgram
from fencepost.spec.core.ir import Expr, Fairness, Model
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.mutation.mutants import Mutant, mutants, mutated, same
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

PATIENCE_SECONDS = 10.0
"""The default time limit of a check of a mutant in seconds. It is multiplied by one plus the number
of seconds that the check takes on the original.
"""


class Fate(Enum):
    """The fate of a mutant.

    KILLED: a check has an unexpected result. SURVIVED: no check has one. EQUIVALENT: no check has
    one, and every complete search has the same states and steps (searches that stop at a problem
    have the same counts). IDLE: a search of the original showed that the change does not affect
    anything that the checks evaluate. UNDECIDED: a limit cut a check, and no other check failed.
    SAME: the models are equal. REFUSED: the mutant is not a valid spec.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    IDLE = "idle"
    UNDECIDED = "undecided"
    SAME = "same"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and its fate.

    ``check`` and ``found`` are the check that killed the mutant and its finding. For an undecided
    mutant, ``check`` is the check that was cut. ``alike`` says whether all searches have the same
    counts, level by level; ``otherwise`` names the checks whose counts differ for a survivor.
    ``parting`` is the first difference between the graphs of a check, if one was found for a
    survivor. ``hidden`` holds parts of the state on which nothing else depends: if they are hidden,
    the graphs of the checks that differ are bisimilar. It is None if no such parts were found.
    ``runs`` is the number of searches, and ``seconds`` the time that they took, including the time
    to build the models.
    """

    mutant: Mutant
    fate: Fate
    check: str | None
    found: str | None
    alike: bool
    runs: int
    seconds: float
    parting: tuple[str, Parting] | None = None
    hidden: tuple[str, ...] | None = None
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Campaign:
    """The checks in order of execution, with their results on the original, and the mutants.

    ``total`` is the number of changes; the mutants may be a sample of these. ``compared`` limits
    the size of graphs that are compared step by step, and ``likened`` the size of graphs that are
    compared up to bisimulation.
    """

    program: Program
    baseline: tuple[CheckResult, ...]
    mutants: tuple[Mutant, ...]
    total: int
    woven: WovenProgram
    compared: int = COMPARED
    likened: int = COMPARED


def jobs(program: Program, checks: Sequence[Check], settings: Settings) -> tuple[Job, ...]:
    """Prepares checks. Drops their expected counts, because counts reveal any change without saying
    what is wrong. Raises `Rejected` if a check cannot run.
    """
    ready: list[Job] = []
    problems: list[Problem] = []
    for check in checks:
        try:
            ready.append(_in_full(prepare(program, replace(check, counts=()), settings)))
        except Rejected as rejected:
            problems += rejected.problems
    if problems:
        raise Rejected(problems)
    return tuple(ready)


def _in_full(job: Job) -> Job:
    """Returns the job without symmetry. Counts are compared with those of the combined program,
    whose searches do not use symmetry.
    """
    if "--no-symmetry" not in ENGINES[job.engine].options:
        return job
    return replace(job, settings=replace(job.settings, symmetry=False))


def changes(ready: Sequence[Job], kinds: Sequence[str] = ()) -> tuple[Mutant, ...]:
    """Returns all changes of these kinds that affect the models of the checks. Returns changes of
    every kind if ``kinds`` is empty.
    """
    every = mutants(ready[0].program, [job.model for job in ready])
    return tuple(mutant for mutant in every if not kinds or mutant.kind in kinds)


def sampled(every: Sequence[Mutant], sample: int | None) -> tuple[Mutant, ...]:
    """Returns a sample of the changes, spread evenly over the spec. Returns all changes if
    ``sample`` is None.
    """
    if sample is None or sample >= len(every):
        return tuple(every)
    return tuple(every[number * len(every) // sample] for number in range(sample))


def campaign(
    baseline: Sequence[CheckResult], every: Sequence[Mutant], sample: int | None = None
) -> Campaign:
    """Creates the campaign for checks with these results, and for all changes or a sample of them.

    Short checks run first, and checks that expect a problem run last.
    """
    program = baseline[0].job.program
    order = sorted(baseline, key=_cost)
    chosen = sampled(every, sample)
    return Campaign(program, tuple(order), chosen, len(every), WovenProgram(program, chosen))


def _cost(result: CheckResult) -> tuple[bool, int, float]:
    """Returns the sorting key of a check. Engines that do not count states come last, because they
    start a solver.
    """
    statistics = result.outcome.statistics
    generated = statistics.generated if statistics.counted else sys.maxsize
    return result.job.check.verdict != "ok", generated, statistics.seconds


def attempt(work: Campaign, mutant: Mutant) -> Trial | None:
    """Runs the checks on a mutant until one of them notices the change. Returns None after an
    interrupt.
    """
    began = time.monotonic()
    program = mutated(work.program, mutant)
    ran: list[CheckResult] = []
    otherwise: list[CheckResult] = []
    idle = False
    cut: str | None = None

    def report(
        fate: Fate,
        check: str | None = None,
        finding: str | None = None,
        parting: tuple[str, Parting] | None = None,
        hidden: tuple[str, ...] | None = None,
    ) -> Trial:
        seconds = time.monotonic() - began
        survived = fate in (Fate.SURVIVED, Fate.EQUIVALENT)
        counted = all(result.outcome.statistics.counted for result in ran)
        alike = survived and not otherwise and counted
        others = tuple(result.job.title for result in otherwise) if survived else ()
        runs = len(ran)
        return Trial(mutant, fate, check, finding, alike, runs, seconds, parting, hidden, others)

    for before in work.baseline:
        limits = _limits(before)
        if not work.woven.speaks(before, mutant):
            continue
        if not work.woven.matters(before, mutant, limits):
            idle = True
            continue
        outcome = work.woven.outcome(before, mutant, limits)
        if outcome is not None:
            result = judge(before.job, outcome)
        else:
            job = _made(program, before)
            if job is None:
                return report(Fate.REFUSED)
            if same(job.model, before.job.model):
                continue
            result = perform(replace(job, limits=limits), ignored)
        ran.append(before)
        if result.outcome.interrupted:
            return None
        if _was_cut(result.outcome):
            cut = cut or before.job.title
        elif not result.as_expected:
            return report(Fate.KILLED, before.job.title, _noticed(result))
        elif _counts(result) != _counts(before):
            otherwise.append(before)
    if cut is not None:
        return report(Fate.UNDECIDED, cut)
    if not ran:
        return report(Fate.IDLE if idle else Fate.SAME)
    fate, parting = _compared(program, ran, otherwise, work.compared)
    apart = otherwise or [before for before in ran if parting and before.job.title == parting[0]]
    hidden = _hidden(program, apart, work.likened) if fate is Fate.SURVIVED and apart else None
    return report(fate, parting=parting, hidden=hidden)


def _was_cut(outcome: Outcome) -> bool:
    """Returns whether a limit prevented a verdict. A verdict that depends on states outside a
    constraint is final.
    """
    return outcome.verdict is Verdict.INCONCLUSIVE and not outcome.cut_by_constraint


def _made(program: Program, before: CheckResult) -> Job | None:
    """Prepares the check for a mutant. Returns None if the mutant is not a valid spec."""
    try:
        return prepare(program, before.job.check, before.job.settings)
    except Rejected:
        return None


def _compared(
    program: Program, ran: Sequence[CheckResult], otherwise: Sequence[CheckResult], most: int
) -> tuple[Fate, tuple[str, Parting] | None]:
    """Classifies a mutant that survived the checks ``ran``, and looks for a first difference
    between the graphs.

    The checks in ``otherwise`` have different counts on the mutant. If there are any, only their
    graphs are compared. A model with a symbolic constant has many graphs, which are not compared.
    """
    small = [result for result in ran if _has_small_graph(result, most)]
    equivalent = not otherwise and len(small) == len(ran)
    # A search that stops at a problem says nothing about the remaining states.
    complete = (Verdict.OK, Verdict.INCONCLUSIVE)
    whole = [result for result in small if result.outcome.verdict in complete]
    for before in otherwise or whole:
        if before.job.model.symbols:
            continue
        job = _made(program, before)
        if job is None:
            return Fate.REFUSED, None
        # Comparing states and steps does not reveal a change of fairness.
        equivalent &= _owed(job.model) == _owed(before.job.model)
        difference, ended = compared(before.job.model, job.model, most)
        if difference is not None:
            return Fate.SURVIVED, (before.job.title, difference)
        equivalent &= ended
    return Fate.EQUIVALENT if equivalent and whole else Fate.SURVIVED, None


def _has_small_graph(result: CheckResult, most: int) -> bool:
    return not result.job.model.symbols and result.outcome.statistics.generated <= most


def _hidden(program: Program, apart: Sequence[CheckResult], most: int) -> tuple[str, ...] | None:
    """Returns the parts of the state that must be hidden to make all graphs of these checks
    bisimilar. Returns None if there are no such parts.
    """
    hidden: set[str] = set()
    # Small graphs come first, because most changes make a difference in each graph.
    for before in sorted(apart, key=lambda result: result.outcome.statistics.generated):
        job = _made(program, before)
        if job is None or not _has_small_graph(before, most):
            return None
        if _owed(job.model) != _owed(before.job.model):
            return None
        parts = alike_but_for(before.job.model, job.model, most, before.job.properties)
        if parts is None:
            return None
        hidden.update(parts)
    return tuple(sorted(hidden))


def _owed(model: Model) -> list[tuple[Fairness, Expr | None]]:
    """Returns the fairness constraints, each with its condition."""
    return [
        (item, None if item.condition is None else model.properties[item.condition].body)
        for item in model.fairness
    ]


def _limits(before: CheckResult) -> Limits:
    limits = before.job.limits
    if limits.timeout is not None:
        return limits
    return replace(limits, timeout=PATIENCE_SECONDS * (1 + before.outcome.statistics.seconds))


def _counts(result: CheckResult) -> tuple[object, ...]:
    statistics = result.outcome.statistics
    return statistics.levels, statistics.transitions, statistics.generated


def _noticed(result: CheckResult) -> str:
    """Describes the unexpected finding, or the expected one that is no longer found."""
    if result.outcome.verdict is Verdict.OK:
        return f"{expected(result.job.check)} is no longer found"
    return found(result.job.model, result.outcome)
