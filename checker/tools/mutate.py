"""Weakens a spec change by change and looks which of its checks notice.

It does not know how a change is made, how a search works, or how the result is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from fencepost.checker.engines import ENGINES
from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, judge
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import expected, found
from fencepost.checker.tools.likeness import alike_but_for
from fencepost.checker.tools.two_graphs import COMPARED, Parting, compared
from fencepost.checker.tools.woven import Woven
from fencepost.spec.core.ir import Fairness, Model
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.mutation.mutants import Mutant, mutants, mutated, same
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

PATIENCE = 10.0
"""A check of a changed spec may take this many seconds, and as much again for each second that the
check takes by itself, unless the user says otherwise.
"""


class Fate(Enum):
    """What became of a mutant.

    KILLED: a check did not come out as expected. SURVIVED: all did. EQUIVALENT: all did, and the
    states and steps of every complete search are the same ones (those that stop at a problem
    counted the same). IDLE: a search of the spec as it is showed that the change makes no
    difference to what the checks evaluate. UNDECIDED: no check failed, and a limit cut one. SAME:
    the models are the same ones. REFUSED: it is no spec any more.
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
    """A mutant and its fate. ``check`` and ``found`` are what killed it: the check that did not
    come out as expected, and what it found; for an undecided one the check that a limit cut.
    ``alike``: every search counted the same states and steps, level by level; ``otherwise`` are the
    checks that did not, of a survivor. ``parting`` is where the graphs of a check, with its name,
    come apart first, if that was found for a survivor. ``hidden`` are the parts of the state but
    for which the graphs of the checks that counted otherwise are alike, if they are: nothing else
    depends on these. ``runs`` is the number of searches, ``seconds`` what they and the building
    took.
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
    """What is to be tried: the checks in the order in which they are asked, each as it comes out
    by itself, and the changes. ``total`` is the number of changes of which these are a sample;
    ``compared`` how many steps a search may have whose graph is compared step by step, ``likened``
    how many one may have of which it is asked whether it is alike but for a part of the state.
    """

    program: Program
    baseline: tuple[CheckResult, ...]
    mutants: tuple[Mutant, ...]
    total: int
    woven: Woven
    compared: int = COMPARED
    likened: int = COMPARED


def jobs(program: Program, checks: Sequence[Check], settings: Settings) -> tuple[Job, ...]:
    """The checks, ready to run. Counts are not among what is expected of them: they notice any
    change at all, and say nothing about what is wrong with it. Raises `Rejected`.
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
    """The job without symmetry: all changes in one program are searched without it, and what is
    counted is compared.
    """
    if "--no-symmetry" not in ENGINES[job.engine].options:
        return job
    return replace(job, settings=replace(job.settings, symmetry=False))


def changes(ready: Sequence[Job], kinds: Sequence[str] = ()) -> tuple[Mutant, ...]:
    """Every change of these kinds (none: of any kind) to what these checks of one spec run."""
    every = mutants(ready[0].program, [job.model for job in ready])
    return tuple(mutant for mutant in every if not kinds or mutant.kind in kinds)


def sampled(every: Sequence[Mutant], sample: int | None) -> tuple[Mutant, ...]:
    """``sample`` of the changes, evenly spread over the spec; None: all."""
    if sample is None or sample >= len(every):
        return tuple(every)
    return tuple(every[number * len(every) // sample] for number in range(sample))


def campaign(
    baseline: Sequence[CheckResult], every: Sequence[Mutant], sample: int | None = None
) -> Campaign:
    """The checks with these results, tried with all the changes or a sample of them.

    Checks that expect a problem are asked last, and short ones before long ones.
    """
    program = baseline[0].job.program
    order = sorted(baseline, key=_cost)
    chosen = sampled(every, sample)
    return Campaign(program, tuple(order), chosen, len(every), Woven(program, chosen))


def _cost(result: CheckResult) -> tuple[bool, int, float]:
    """What counts no states comes behind what does: it has a solver to start."""
    statistics = result.outcome.statistics
    generated = statistics.generated if statistics.counted else sys.maxsize
    return result.job.check.verdict != "ok", generated, statistics.seconds


def attempt(work: Campaign, mutant: Mutant) -> Trial | None:
    """Runs the checks on a changed spec until one notices; None where the user stopped it."""
    began = time.monotonic()
    program = mutated(work.program, mutant)
    ran: list[CheckResult] = []
    otherwise: list[CheckResult] = []
    idle = False
    cut: str | None = None

    def report(
        fate: Fate,
        check: str | None = None,
        what: str | None = None,
        parting: tuple[str, Parting] | None = None,
        hidden: tuple[str, ...] | None = None,
    ) -> Trial:
        seconds = time.monotonic() - began
        survived = fate in (Fate.SURVIVED, Fate.EQUIVALENT)
        alike = survived and not otherwise
        others = tuple(one.job.title for one in otherwise) if survived else ()
        runs = len(ran)
        return Trial(mutant, fate, check, what, alike, runs, seconds, parting, hidden, others)

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
            made = _made(program, before)
            if made is None:
                return report(Fate.REFUSED)
            if same(made.model, before.job.model):
                continue
            result = perform(replace(made, limits=limits), ignored)
        ran.append(before)
        if result.outcome.interrupted:
            return None
        if result.outcome.verdict is Verdict.INCONCLUSIVE:
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


def _made(program: Program, before: CheckResult) -> Job | None:
    """The check of a changed program; None: that is no valid spec."""
    try:
        return prepare(program, before.job.check, before.job.settings)
    except Rejected:
        return None


def _compared(
    program: Program, ran: Sequence[CheckResult], otherwise: Sequence[CheckResult], most: int
) -> tuple[Fate, tuple[str, Parting] | None]:
    """Of a change that the checks which ``ran`` have not noticed: what it is, and where the graph
    of one of them comes apart. With it some checks counted ``otherwise``: graphs come apart in
    what these have searched.
    """
    small = [one for one in ran if one.outcome.statistics.generated <= most]
    equivalent = not otherwise and len(small) == len(ran)
    # A search that stops at a problem says nothing about what lies beyond.
    whole = [one for one in small if one.outcome.verdict is Verdict.OK]
    for before in otherwise or whole:
        made = _made(program, before)
        if made is None:
            return Fate.REFUSED, None
        # The states and steps are the same whatever is owed to whom.
        equivalent &= _owed(made.model) == _owed(before.job.model)
        found, ended = compared(before.job.model, made.model, most)
        if found is not None:
            return Fate.SURVIVED, (before.job.title, found)
        equivalent &= ended
    return Fate.EQUIVALENT if equivalent and whole else Fate.SURVIVED, None


def _hidden(program: Program, apart: Sequence[CheckResult], most: int) -> tuple[str, ...] | None:
    """The parts of the state but for which all graphs of these checks are alike, if they are."""
    hidden: set[str] = set()
    # Small graphs first: most of the changes make a difference in each.
    for before in sorted(apart, key=lambda one: one.outcome.statistics.generated):
        made = _made(program, before)
        if made is None or before.outcome.statistics.generated > most:
            return None
        if _owed(made.model) != _owed(before.job.model):
            return None
        parts = alike_but_for(before.job.model, made.model, most, before.job.properties)
        if parts is None:
            return None
        hidden.update(parts)
    return tuple(sorted(hidden))


def _owed(model: Model) -> list[Fairness | None]:
    return [action.fairness for action in model.actions]


def _limits(before: CheckResult) -> Limits:
    limits = before.job.limits
    if limits.timeout is not None:
        return limits
    return replace(limits, timeout=PATIENCE * (1 + before.outcome.statistics.seconds))


def _counts(result: CheckResult) -> tuple[object, ...]:
    statistics = result.outcome.statistics
    return statistics.levels, statistics.transitions, statistics.generated


def _noticed(result: CheckResult) -> str:
    """What a check found that it should not have, or no longer finds."""
    if result.outcome.verdict is Verdict.OK:
        return f"{expected(result.job.check)} is no longer found"
    return found(result.job.model, result.outcome)
