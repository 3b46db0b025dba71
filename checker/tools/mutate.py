"""Weakens a spec change by change and looks which of its checks notice.

It does not know how a change is made, how a search works, or how the result is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from fencepost.checker import engines
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Family, Limits, Unsupported, ignored
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.job import Job, Settings
from fencepost.checker.run.judge import CheckResult, judge
from fencepost.checker.run.words import expected, found
from fencepost.spec.core.ir import Fairness, Model
from fencepost.spec.elaborate.program import Check, Program, build
from fencepost.spec.mutation.mutants import Mutant, mutants, mutated, same
from fencepost.spec.mutation.schemata import schema, told_apart
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Problem, Rejected

PATIENCE = 10.0
"""A check of a changed spec may take this many seconds, and as much again for each second that the
check takes by itself, unless the user says otherwise.
"""


COMPARED = 200_000
"""The steps of two state graphs are compared one by one where there are at most this many."""


class Fate(Enum):
    """What became of a mutant.

    KILLED: a check did not come out as expected. SURVIVED: all did. EQUIVALENT: all did, and the
    states and steps of every complete search are the same ones (those that stop at a problem
    counted the same). UNDECIDED: no check failed, and a limit cut one. SAME: the models are the
    same ones. REFUSED: it is no spec any more.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    SAME = "same"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and its fate. ``check`` and ``found`` are what killed it: the check that did not
    come out as expected, and what it found; for an undecided one the check that a limit cut.
    ``alike``: every search counted the same states and steps, level by level. ``runs`` is the
    number of searches, ``seconds`` what they and the building took.
    """

    mutant: Mutant
    fate: Fate
    check: str | None
    found: str | None
    alike: bool
    runs: int
    seconds: float


class Woven:
    """All changes in one program, of which each check is translated once; see `schemata`."""

    def __init__(self, program: Program, every: Sequence[Mutant]) -> None:
        self._schema = schema(program, every)
        self._numbers = {id(one): place for place, one in enumerate(self._schema.mutants, 1)}
        self._families: dict[str, tuple[Family, frozenset[int]] | None] = {}

    def has(self, mutant: Mutant) -> bool:
        """Whether the change is among them."""
        return id(mutant) in self._numbers

    def outcome(self, before: CheckResult, mutant: Mutant, limits: Limits) -> Outcome | Fate | None:
        """What a check finds with the change; `Fate.SAME` where that makes no difference to the
        check's model; None where the change has to be made by itself.
        """
        number = self._numbers.get(id(mutant))
        job = before.job
        if number is None:
            return None
        if job.title not in self._families:
            self._families[job.title] = self._family(job)
        found = self._families[job.title]
        if found is None:
            return None
        family, spoken = found
        return family.run([number], limits) if number in spoken else Fate.SAME

    def _family(self, job: Job) -> tuple[Family, frozenset[int]] | None:
        if job.model.symbols or job.scenario is not None:
            return None
        try:
            model = build(self._schema.program, job.check, job.settings.overrides)
            request = replace(job.request(ignored), model=model, keep_going=False)
            family = engines.family(job.engine, request)
        except (Rejected, Unsupported):
            return None
        return None if family is None else (family, told_apart(model))


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is to be tried: the checks in the order in which they are asked, each as it comes out
    by itself, and the changes. ``total`` is the number of changes of which these are a sample;
    ``compared`` how many steps a search may have whose graph is compared step by step.
    """

    program: Program
    baseline: tuple[CheckResult, ...]
    mutants: tuple[Mutant, ...]
    total: int
    woven: Woven
    compared: int = COMPARED


def jobs(program: Program, checks: Sequence[Check], settings: Settings) -> tuple[Job, ...]:
    """The checks, ready to run. Counts are not among what is expected of them: they notice any
    change at all, and say nothing about what is wrong with it. Raises `Rejected`.
    """
    ready: list[Job] = []
    problems: list[Problem] = []
    for check in checks:
        try:
            ready.append(prepare(program, replace(check, counts=()), settings))
        except Rejected as rejected:
            problems += rejected.problems
    if problems:
        raise Rejected(problems)
    return tuple(ready)


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
    runs = 0
    alike = True
    cut: str | None = None

    def report(fate: Fate, check: str | None = None, what: str | None = None) -> Trial:
        seconds = time.monotonic() - began
        survived = fate in (Fate.SURVIVED, Fate.EQUIVALENT)
        return Trial(mutant, fate, check, what, alike and survived, runs, seconds)

    for before in work.baseline:
        outcome = work.woven.outcome(before, mutant, _limits(before))
        if outcome is Fate.SAME:
            continue
        if isinstance(outcome, Outcome):
            result = judge(before.job, outcome)
        else:
            made = _made(program, before)
            if made is None:
                return report(Fate.REFUSED)
            if same(made.model, before.job.model):
                continue
            result = perform(replace(made, limits=_limits(before)), ignored)
        runs += 1
        if result.outcome.interrupted:
            return None
        if result.outcome.verdict is Verdict.INCONCLUSIVE:
            cut = cut or before.job.title
        elif not result.as_expected:
            return report(Fate.KILLED, before.job.title, _noticed(result))
        elif _counts(result) != _counts(before):
            alike = False
    if cut is not None:
        return report(Fate.UNDECIDED, cut)
    if not runs:
        return report(Fate.SAME)
    return report(_alike(program, work) if alike else Fate.SURVIVED)


def _made(program: Program, before: CheckResult) -> Job | None:
    """The check of a changed program; None: that is no valid spec."""
    try:
        return prepare(program, before.job.check, before.job.settings)
    except Rejected:
        return None


def _alike(program: Program, work: Campaign) -> Fate:
    """Of a change with which every check counts the same: what it is."""
    if any(one.outcome.statistics.generated > work.compared for one in work.baseline):
        return Fate.SURVIVED
    pairs: list[tuple[CheckResult, Model]] = []
    for before in work.baseline:
        made = _made(program, before)
        if made is None:
            return Fate.REFUSED
        if not same(made.model, before.job.model):
            pairs.append((before, made.model))
    if not pairs:
        return Fate.SAME
    # A search that stops at a problem says nothing about what lies beyond.
    whole = [(one, model) for one, model in pairs if one.outcome.verdict is Verdict.OK]
    if any(_owed(one.job.model) != _owed(model) for one, model in pairs):
        # The states and steps are the same whatever is owed to whom.
        return Fate.SURVIVED
    if whole and all(same_graph(one.job.model, model) for one, model in whole):
        return Fate.EQUIVALENT
    return Fate.SURVIVED


def _owed(model: Model) -> list[Fairness | None]:
    return [action.fairness for action in model.actions]


def same_graph(left: Model, right: Model, most: int = COMPARED) -> bool:
    """Whether two models with the same variables have the same initial states, and the same steps
    from every state that can be reached; False where that takes more than ``most`` steps to see.
    """
    one, other = Runner(left), Runner(right)
    first = {step.state for step in one.initial()}
    if first != {step.state for step in other.initial()} or None in first:
        return False
    seen = set(first)
    waiting = [state for state in first if state is not None]
    while waiting:
        state = waiting.pop()
        (steps, failures), (others, failed) = one.expand(state), other.expand(state)
        if failures or failed or set(steps) != set(others):
            return False
        most -= len(steps)
        if most < 0:
            return False
        new = {after for _, after in steps if after not in seen}
        seen |= new
        waiting += new
    return True


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
