"""A check by Fencepost and, exported, by TLC: do they find the same?

A check that is `ok` must come out alike in distinct and generated states and in depth.
Otherwise verdict, property and length of the trace must be the same, and the counts of the whole
graph, which is searched once more without the properties.
A `reachable` can be searched for by itself, as the comment in the configuration says.

TLC reports the first problem that it meets while it expands a level, and Fencepost one that the
language names; so TLC's must be among the problems that ``--continue`` finds at the least depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.naive.behaviours import TooLarge, graph_of, violated

from bench.tlc_run import Answer, Broken, TimedOut, Tlc
from fencepost.checker import engines
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Limits, Progress, Request, Unsupported
from fencepost.checker.run.check import prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla.module import Exported, exported
from fencepost.checker.tla.values import NotExported
from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure, Runner
from fencepost.spec.text.problem import Rejected

NAME = "m"
"""What modules are called."""
PROBLEMS = (Verdict.VIOLATED, Verdict.DEADLOCK, Verdict.ASSERTION, Verdict.ERROR)
FATAL = (Verdict.ERROR, Verdict.ASSERTION)
WHOLE = "the whole graph"
BEYOND = "numbers beyond the 32 bits of TLC"
TLC_WRONG = "TLC differs from the independent oracle, which agrees with Fencepost"
TOO_LARGE = "TLC differs from Fencepost, and the formula is too large for the independent oracle"
_VIOLATIONS = ("violated", "start", "step", "behaviour")
SECONDS = 120.0
"""How long Fencepost may search."""
ASSERTION, ERROR = "assertion: ", "evaluation error: "
"""How the messages begin with which a module stops TLC."""
_ITSELF = "CHECK_DEADLOCK TRUE"
"""Where TLC looks for deadlocks by itself."""
_REACHABLE = re.compile(r"^\\\* (?=INVARIANT Not\w+$)", re.M)


@dataclass(frozen=True, slots=True)
class Counts:
    """Distinct states, generated states, and levels."""

    distinct: int
    generated: int
    depth: int

    def __str__(self) -> str:
        return f"{self.distinct:,} distinct, {self.generated:,} generated, depth {self.depth}"


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two found: the verdict in words, and counts where there are any."""

    verdict: str
    counts: Counts | None = None

    def __str__(self) -> str:
        return f"{self.verdict}: {self.counts}" if self.counts else self.verdict


@dataclass(frozen=True, slots=True)
class Run:
    """One search by both: ``what`` is searched for, and how they differ (None: they do not)."""

    what: str
    ours: Side
    theirs: Side
    difference: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a check. ``refused``: why it is not exported, or not compared."""

    runs: tuple[Run, ...] = ()
    refused: str | None = None

    @property
    def difference(self) -> Run | None:
        """The first run in which they differ."""
        return next((run for run in self.runs if run.difference is not None), None)


def compare(
    program: Program,
    check: Check,
    tlc: Tlc,
    most: int,
    engine: str = "interpreter",
    reach: bool = True,
) -> Comparison:
    """Runs a check by both; one of more than ``most`` distinct states is refused.

    ``reach``: each `reachable` is searched for, too.
    """
    try:
        job = prepare(program, check, Settings(engine="interpreter"))
        made = exported(job, NAME)
    except NotExported as reason:
        return Comparison(refused=str(reason))
    except Rejected as rejected:
        return Comparison(refused=rejected.problems[0].message)
    # A `reachable` is a comment in the configuration; so Fencepost passes over it, too.
    reachables = frozenset(job.model.searched(job.properties).reachables)
    pair = _Pair(replace(job, properties=job.properties - reachables), tlc, most, engine, reach)
    found = pair.search(pair.job)
    if found.verdict is Verdict.INCONCLUSIVE:
        return Comparison(refused=f"more than {most:,} states")
    try:
        return Comparison(tuple(pair.runs(made, found, sorted(reachables))))
    except _Overflow:
        return Comparison(refused=BEYOND)
    except TimedOut as reason:
        return Comparison(refused=f"TLC: {reason}")


def compare_formulas(
    program: Program, check: Check, tlc: Tlc, most: int, engine: str
) -> list[Comparison]:
    """Compares each temporal property of a model. TLC names no violated one, so each of those is a
    run of its own; one run has all that hold, and if TLC gives no answer to that, each is run.
    """
    job = prepare(program, check, Settings(engine="interpreter"))
    pair = _Pair(job, tlc, most, engine, False)
    compared: list[Comparison] = []
    hold: list[int] = []
    for number, prop in enumerate(job.model.properties):
        if not prop.kind.of_behaviours:
            continue
        alone = replace(job, properties=frozenset([number]))
        try:
            found = pair.search(alone)
        except Unsupported as unsupported:
            compared.append(Comparison(refused=f"Fencepost: {unsupported}"))
            continue
        if found.verdict is Verdict.INCONCLUSIVE:
            compared.append(Comparison(refused=f"more than {most:,} states"))
        elif found.verdict is Verdict.OK:
            hold.append(number)
        else:
            compared.append(_formulas_compared(pair, [number], found))
    if hold:
        together = _formulas_compared(pair, hold)
        if together.refused is None and together.difference is None:
            return [*compared, *[together] * len(hold)]
        compared += [_formulas_compared(pair, [number]) for number in hold]
    return compared


def _judged_by_oracle(job: Job, found: Outcome) -> str | None:
    """Why a difference in one property is not Fencepost's: the words of the oracle of the tests,
    which shares no code with the engines. None if the oracle does not agree with Fencepost.
    """
    (number, *more) = job.properties
    formula = job.model.properties[number].formula
    if more or formula is None:
        return None
    try:
        wrong = violated(job.model, graph_of(job.model), formula)
    except TooLarge:
        return TOO_LARGE
    return TLC_WRONG if wrong == (found.verdict is Verdict.VIOLATED) else None


def _formulas_compared(
    pair: _Pair, numbers: Sequence[int], found: Outcome | None = None
) -> Comparison:
    """One run by both for some properties; ``found``: what Fencepost finds, if known."""
    job = replace(pair.job, properties=frozenset(numbers))
    try:
        made = exported(job, NAME)
        found = found or pair.search(job)
        run = pair.run("formulas", made, job, found)
        if run.difference is None:
            return Comparison((run,))
        if found.verdict is Verdict.VIOLATED and run.theirs.verdict.startswith(_VIOLATIONS):
            # TLC names a part of the property.
            return Comparison((replace(run, difference=None),))
        judged = _judged_by_oracle(job, found)
        return Comparison((run,)) if judged is None else Comparison(refused=judged)
    except (NotExported, Rejected) as reason:
        return Comparison(refused=str(reason))
    except TimedOut as reason:
        return Comparison(refused=f"TLC: {reason}")


class _Overflow(Exception):
    """TLC stopped since its integers have 32 bits; those of the language have no such end."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two that search, and what for."""

    job: Job
    tlc: Tlc
    most: int
    engine: str
    reach: bool

    def search(self, job: Job) -> Outcome:
        """What Fencepost finds, going on behind violated properties."""
        return engines.load(self.engine).run(
            Request(
                job.model,
                properties=job.properties,
                deadlock=job.deadlock,
                limits=Limits(max_states=self.most, timeout=SECONDS, workers=1),
                keep_going=True,
                progress=_nobody,
            )
        )

    def runs(self, made: Exported, found: Outcome, reachables: Sequence[int]) -> Iterator[Run]:
        job = self.job
        yield self.run("the check", made, job, found)
        if found.verdict in PROBLEMS:
            whole = replace(job, properties=frozenset[int](), deadlock=False)
            graph = self.search(whole)
            # Where the same step fails again there is nothing to count; nor where a terminal
            # condition has no value, which TLC does not evaluate when it looks for no deadlock.
            if graph.verdict not in FATAL or (found.verdict not in FATAL and not ends(job, graph)):
                yield self.again(WHOLE, whole, graph)
            return
        for number in reachables if self.reach else ():
            yield self.reachable(number)

    def again(self, what: str, job: Job, found: Outcome) -> Run:
        """Another search; left out where Fencepost does not come to an end."""
        if found.verdict is Verdict.INCONCLUSIVE:
            side = Side(f"more than {self.most:,} states")
            return Run(what, side, side)
        try:
            made = exported(job, NAME)
        except (NotExported, Rejected) as reason:
            return Run(what, Side("exported"), Side("refused"), f"refused now: {reason}")
        return self.run(what, made, job, found)

    def reachable(self, number: int) -> Run:
        """What the configuration says of a `reachable`: that TLC should find its opposite violated.
        Fencepost searches for the opposite as an invariant.
        """
        job = replace(self.job, properties=frozenset([number]), deadlock=False)
        prop = job.model.properties[number]
        opposite = replace(prop, kind=PropertyKind.INVARIANT, body=ir.Not(prop.body))
        others = job.model.properties
        model = replace(job.model, properties=(*others[:number], opposite, *others[number + 1 :]))
        found = self.search(replace(job, model=model))
        made = exported(job, NAME)
        text, count = _REACHABLE.subn("", made.configuration)
        if count != 1:
            return Run(
                prop.title, Side("reachable"), Side("nothing"), f"{count} lines for a reachable"
            )
        made = replace(made, configuration=text)
        return self.run(prop.title, made, replace(job, model=model), found)

    def run(self, what: str, made: Exported, job: Job, found: Outcome) -> Run:
        ours = side_of(job, found)
        try:
            answer = self.tlc.run(made)
        except TimedOut:
            raise
        except Broken as broken:
            return Run(what, ours, Side("no answer"), f"no answer: {broken}")
        if answer.ended == "error" and "Overflow when computing" in answer.message:
            raise _Overflow
        return Run(what, ours, side_of_answer(answer), difference(job, found, answer, made))


def ends(job: Job, found: Outcome) -> bool:
    """Whether the first problem is that a terminal condition has no value."""
    number = found.findings[0].property
    return number is not None and job.model.properties[number].kind is PropertyKind.TERMINAL


# ---------------------------------------------------------------- what they found, in words


def side_of(job: Job, found: Outcome) -> Side:
    """What Fencepost found."""
    if not found.findings or found.verdict not in PROBLEMS:
        if found.verdict is Verdict.ASSUMPTION:
            return Side("assumption")
        return Side("ok", _counts(found))
    first = found.findings[0]
    words = first.verdict.value
    if first.property is not None and first.verdict is Verdict.VIOLATED:
        prop = job.model.properties[first.property]
        words += f" {prop.name or prop.title}"
    return Side(f"{words}, {_plural(_states(first))}")


def side_of_answer(answer: Answer) -> Side:
    """What TLC found."""
    if answer.ended == "ok":
        return Side("ok", Counts(answer.distinct, answer.generated, answer.depth or 0))
    violated = answer.ended in ("invariant", "start", "step")
    words: str = "violated" if violated else answer.ended
    words += f" {answer.name}" if answer.name else ""
    words += f" ({' '.join(answer.message.split())})" if answer.ended == "error" else ""
    return Side(f"{words}, {_plural(answer.length)}" if answer.length else words)


def _counts(found: Outcome) -> Counts:
    statistics = found.statistics
    return Counts(statistics.distinct, statistics.generated, statistics.depth)


def _plural(count: int) -> str:
    return "1 state" if count == 1 else f"{count} states"


def _states(finding: Finding) -> int:
    """The number of states that a trace shows."""
    steps = finding.trace.steps if finding.trace is not None else ()
    return sum(step.state is not None for step in steps)


# ---------------------------------------------------------------- whether it is the same


def difference(job: Job, found: Outcome, answer: Answer, made: Exported) -> str | None:
    """How the two differ, in a few words; None: they agree."""
    if found.verdict not in PROBLEMS:
        return _counts_differ(found, answer)
    if answer.ended in ("ok", "assumption"):
        return "TLC finds no problem" if answer.ended == "ok" else "verdicts"
    numbers = [finding.property for finding in found.findings]
    of_behaviours = [
        number
        for number in numbers
        if number is not None and job.model.properties[number].kind.of_behaviours
    ]
    if answer.ended == "behaviour":
        # TLC tells neither which one nor the shortest lasso.
        return None if of_behaviours else "verdicts"
    if answer.ended == "start":
        refined = any(f.depth == 1 and _refined(job, f.property) for f in found.findings)
        return None if of_behaviours or refined else "verdicts"
    if any(answer.name in (made.properties.get(n), made.name) for n in of_behaviours):
        # What holds always is an invariant to TLC, which shows no lasso; so is each part of a
        # property that says nothing else.
        return None
    least = min(finding.depth for finding in found.findings)
    if answer.constant and found.verdict is Verdict.ERROR and least <= 1:
        # TLC has not yet looked at an initial state.
        return None
    if answer.ended == "error":
        return _errors_differ(job, found, answer, least)
    wanted = [finding for finding in found.findings if _same(finding, answer, made)]
    if not wanted:
        known = [*made.properties.values(), *made.refined, made.deadlock, ""]
        return "verdicts" if answer.name in known else f"TLC finds {answer.name} violated"
    depths = {least}
    if _ITSELF in made.configuration and all(
        finding.verdict is Verdict.DEADLOCK for finding in found.findings if finding.depth == least
    ):
        # TLC looks for deadlocks by itself while it expands a state, and may meet a problem of the
        # next level before.
        depths.add(least + 1)
    first = [finding for finding in wanted if finding.depth in depths]
    if not first:
        return "which problem comes first"
    return None if answer.length == first[0].depth else "lengths of the traces"


def _same(finding: Finding, answer: Answer, made: Exported) -> bool:
    """Whether a problem is the one that TLC names."""
    if answer.ended == "deadlock" or answer.name == made.deadlock:
        return finding.verdict is Verdict.DEADLOCK
    if finding.verdict is not Verdict.VIOLATED or finding.property is None:
        return False
    name = made.properties.get(finding.property)
    return answer.name in (name, *(one for one in made.refined if one == f"{made.name}_{name}"))


def _refined(job: Job, number: int | None) -> bool:
    return number is not None and job.model.properties[number].abstract is not None


def _counts_differ(found: Outcome, answer: Answer) -> str | None:
    if found.verdict is Verdict.ASSUMPTION:
        agree = answer.ended == "assumption" or answer.constant
        return None if agree else "verdicts"
    ours = _counts(found)
    if answer.constant and not ours.distinct:
        return None
    if answer.ended != "ok":
        return "TLC finds a problem"
    theirs = Counts(answer.distinct, answer.generated, answer.depth or 0)
    if not ours.distinct:
        # TLC says 1 where there is no level at all.
        theirs = replace(theirs, depth=ours.depth)
    wrong = [
        name
        for name in ("distinct", "generated", "depth")
        if getattr(ours, name) != getattr(theirs, name)
    ]
    return f"counts: {', '.join(wrong)}" if wrong else None


def _errors_differ(job: Job, found: Outcome, answer: Answer, least: int) -> str | None:
    """Where an evaluation stops TLC, whether Fencepost has an error there, too."""
    kinds = _kinds(answer)
    problems = [finding for finding in found.findings if finding.verdict in kinds]
    if answer.length is None:
        # TLC shows no trace for initial states, nor where a constraint has no value; and what it
        # meets in `ENABLED` comes one level early.
        near = any(problem.depth <= least + 1 for problem in problems)
        return None if near else "verdicts"
    for problem in problems:
        # What is met in `ENABLED Next`, in an invariant, comes one level early.
        if _states(problem) == answer.length and problem.depth <= least + 1:
            return None
    if answer.length == least and failing(job.model, least) & kinds:
        return None
    return "lengths of the traces" if problems else "verdicts"


def _kinds(answer: Answer) -> frozenset[Verdict]:
    """What an error of TLC may be in Fencepost: TLC's own words are about values."""
    said = answer.asserted
    if said is not None and said.startswith(ASSERTION):
        return frozenset([Verdict.ASSERTION])
    if said is None or said.startswith(ERROR):
        return frozenset([Verdict.ERROR])
    return frozenset(FATAL)


def failing(model: ir.Model, level: int) -> frozenset[Verdict]:
    """How steps out of the states of a level fail."""
    runner = Runner(model)
    constraints = model.searched(()).constraints
    states = {one.state for one in runner.initial() if one.state is not None}
    known: set[State] = set(states)
    failures: list[Failure] = []
    for depth in range(1, level + 1):
        after: set[State] = set()
        for state in states:
            if depth < level and not all(_holds(runner, n, state) for n in constraints):
                continue
            steps, failed = runner.expand(state)
            after |= {reached for _, reached in steps}
            if depth == level:
                failures += [failure for _, failure in failed]
        states = after - known
        known |= after
    return frozenset(Verdict.ASSERTION if f.assertion else Verdict.ERROR for f in failures)


def _holds(runner: Runner, number: int, state: State) -> bool:
    try:
        return runner.holds(number, state)
    except EvaluationError:  # Such a state counts as inside.
        return True


def _nobody(_: Progress) -> None:
    """Nobody waits."""
