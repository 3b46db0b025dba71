"""Compares the results of a check in Fencepost and, after export, in TLC.

If a check is `ok`, the numbers of distinct and generated states and the depth must agree. Otherwise
the verdict, the property and the length of the trace must agree, and so must the counts of the
whole graph, which both tools search once more without the properties. Each `reachable` can be
searched for separately, as the comment in the configuration says.

TLC reports the first problem that it finds while expanding a level, whereas the language determines
which problem Fencepost reports. So TLC's problem must be among those that ``--continue`` finds at
the minimum depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tests.naive.behaviours import TooLarge, graph_of, violated

from bench.tlc_run import Answer, Broken, TimedOut
from fencepost.checker import engines
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Limits, Progress, Request, Unsupported
from fencepost.checker.run.check import prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.range_search import searched
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export.module import Export, exported
from fencepost.checker.tla_export.values import NotExported
from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure, Runner
from fencepost.spec.text.problem import Rejected

NAME = "m"
"""The name of the exported modules."""
PROBLEMS = (Verdict.VIOLATED, Verdict.DEADLOCK, Verdict.ASSERTION, Verdict.ERROR)
FATAL = (Verdict.ERROR, Verdict.ASSERTION)
WHOLE = "the whole graph"
BEYOND = "numbers beyond the 32 bits of TLC"
TLC_WRONG = "TLC differs from the independent oracle, which agrees with Fencepost"
TOO_LARGE = "TLC differs from Fencepost, and the formula is too large for the independent oracle"
_VIOLATIONS = ("violated", "start", "step", "behaviour")
SECONDS = 120.0
"""Time limit of a search by Fencepost, in seconds."""
ASSERTION, ERROR = "assertion: ", "evaluation error: "
"""The beginnings of the messages that a module prints when it stops TLC."""
_ITSELF = "CHECK_DEADLOCK TRUE"
"""The setting that makes TLC itself check for deadlock."""
_REACHABLE = re.compile(r"^\\\* (?=INVARIANT Not\w+$)", re.M)


class Judge(Protocol):
    """TLC, or another program that decides exported modules."""

    def run(self, exported: Export, /) -> Answer:
        """Returns the answer for a module. Raises `Broken`."""
        ...


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
    """The result of one of the two tools: the verdict in words, and the counts, if there are
    any.
    """

    verdict: str
    counts: Counts | None = None

    def __str__(self) -> str:
        return f"{self.verdict}: {self.counts}" if self.counts else self.verdict


@dataclass(frozen=True, slots=True)
class Run:
    """One search for ``subject`` by both tools, and the difference of their results, or None if
    they agree.
    """

    subject: str
    ours: Side
    theirs: Side
    difference: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results for a check. ``refused`` gives the reason if the check is not exported or not
    compared.
    """

    runs: tuple[Run, ...] = ()
    refused: str | None = None

    @property
    def difference(self) -> Run | None:
        """The first run with a difference, or None if there is none."""
        return next((run for run in self.runs if run.difference is not None), None)


def compare(
    program: Program,
    check: Check,
    tlc: Judge,
    most: int,
    engine: str = "interpreter",
    reach: bool = True,
) -> Comparison:
    """Runs a check in both tools. A check with more than ``most`` distinct states is not compared.

    With ``reach``, each `reachable` is searched for as well.
    """
    try:
        job = prepare(program, check, Settings(engine="interpreter"))
        export = exported(job, NAME)
    except NotExported as reason:
        return Comparison(refused=str(reason))
    except Rejected as rejected:
        return Comparison(refused=rejected.problems[0].message)
    # In the configuration, a `reachable` is only a comment, so Fencepost ignores it as well.
    reachables = frozenset(job.model.searched(job.properties).reachables)
    pair = _Pair(replace(job, properties=job.properties - reachables), tlc, most, engine, reach)
    if job.model.open_ranges:
        pair = pair.in_ranges()
    outcome = pair.search(pair.job)
    if outcome.verdict is Verdict.INCONCLUSIVE:
        return Comparison(refused=f"more than {most:,} states")
    try:
        compared = Comparison(tuple(pair.runs(export, outcome, sorted(reachables))))
        wrong = compared.difference is not None and outcome.verdict in (
            Verdict.OK,
            Verdict.VIOLATED,
        )
        judged = _judged_by_oracle(pair.job, outcome) if wrong else None
        return compared if judged is None else Comparison(refused=judged)
    except _Overflow:
        return Comparison(refused=BEYOND)
    except TimedOut as reason:
        return Comparison(refused=f"TLC: {reason}")


def compare_formulas(
    program: Program, check: Check, tlc: Judge, most: int, engine: str
) -> list[Comparison]:
    """Compares each temporal property of a model. TLC does not name a violated property, so each
    violated property has a separate run. All properties that hold share one run; if that run
    differs or has no answer, each of them is run separately.
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
            outcome = pair.search(alone)
        except Unsupported as unsupported:
            compared.append(Comparison(refused=f"Fencepost: {unsupported}"))
            continue
        if outcome.verdict is Verdict.INCONCLUSIVE:
            compared.append(Comparison(refused=f"more than {most:,} states"))
        elif outcome.verdict is Verdict.OK:
            hold.append(number)
        else:
            compared.append(_formulas_compared(pair, [number], outcome))
    if hold:
        together = _formulas_compared(pair, hold)
        if together.refused is None and together.difference is None:
            return [*compared, *[together] * len(hold)]
        compared += [_formulas_compared(pair, [number]) for number in hold]
    return compared


def _judged_by_oracle(job: Job, outcome: Outcome) -> str | None:
    """Returns the reason for not counting a difference: the oracle of the tests, which shares no
    code with the engines, agrees with Fencepost, or the formula is too large for the oracle.
    Returns None if the oracle disagrees with Fencepost, or if the job has several properties or no
    formula.
    """
    formulas = [job.model.properties[number].formula for number in job.properties]
    if len(formulas) != 1 or formulas[0] is None:
        return None
    try:
        is_violated = violated(job.model, graph_of(job.model), formulas[0])
    except TooLarge:
        return TOO_LARGE
    return TLC_WRONG if is_violated == (outcome.verdict is Verdict.VIOLATED) else None


def _formulas_compared(
    pair: _Pair, numbers: Sequence[int], outcome: Outcome | None = None
) -> Comparison:
    """Runs both tools once for the given properties. ``outcome`` is Fencepost's outcome, if it has
    already been computed.
    """
    job = replace(pair.job, properties=frozenset(numbers))
    try:
        export = exported(job, NAME)
        outcome = outcome or pair.search(job)
        run = pair.run("formulas", export, job, outcome)
        if run.difference is None:
            return Comparison((run,))
        if outcome.verdict is Verdict.VIOLATED and run.theirs.verdict.startswith(_VIOLATIONS):
            # TLC names only a part of the property.
            return Comparison((replace(run, difference=None),))
        reason = _judged_by_oracle(job, outcome)
        return Comparison((run,)) if reason is None else Comparison(refused=reason)
    except (NotExported, Rejected) as refusal:
        return Comparison(refused=str(refusal))
    except TimedOut as refusal:
        return Comparison(refused=f"TLC: {refusal}")


class _Overflow(Exception):
    """TLC stopped because its integers have only 32 bits; integers of the language are
    unbounded.
    """


@dataclass(frozen=True, slots=True)
class _Pair:
    """A job, and the settings of the searches by both tools."""

    job: Job
    tlc: Judge
    most: int
    engine: str
    reach: bool

    def search(self, job: Job) -> Outcome:
        """Returns Fencepost's outcome. The search continues after violated properties."""
        return engines.load(self.engine).run(
            Request(
                job.model,
                properties=job.properties,
                deadlock=job.deadlock,
                limits=Limits(max_states=self.most, timeout=SECONDS, workers=1),
                keep_going=True,
                progress=_ignore,
            )
        )

    def in_ranges(self) -> _Pair:
        """Returns the pair with a model whose assumed ranges no search leaves."""
        whole = replace(self.job, properties=frozenset[int](), deadlock=False)
        return replace(self, job=replace(self.job, model=searched(whole, self.search)[0].model))

    def runs(self, export: Export, outcome: Outcome, reachables: Sequence[int]) -> Iterator[Run]:
        job = self.job
        yield self.run("the check", export, job, outcome)
        if outcome.verdict in PROBLEMS:
            whole = replace(job, properties=frozenset[int](), deadlock=False)
            graph = self.search(whole)
            # If the same step fails again, there is nothing to count. The same applies if a
            # terminal condition has no value: TLC evaluates the condition only when it searches for
            # deadlocks.
            if graph.verdict not in FATAL or (
                outcome.verdict not in FATAL and not ends(job, graph)
            ):
                yield self.again(WHOLE, whole, graph)
            return
        for number in reachables if self.reach else ():
            yield self.reachable(number)

    def again(self, subject: str, job: Job, outcome: Outcome) -> Run:
        """Runs both tools once more, unless Fencepost does not complete the search."""
        if outcome.verdict is Verdict.INCONCLUSIVE:
            side = Side(f"more than {self.most:,} states")
            return Run(subject, side, side)
        try:
            export = exported(job, NAME)
        except (NotExported, Rejected) as reason:
            return Run(subject, Side("exported"), Side("refused"), f"refused now: {reason}")
        return self.run(subject, export, job, outcome)

    def reachable(self, number: int) -> Run:
        """Searches for a `reachable` as the configuration describes: TLC should report its negation
        as violated, and Fencepost searches for the negation as an invariant.
        """
        job = replace(self.job, properties=frozenset([number]), deadlock=False)
        prop = job.model.properties[number]
        opposite = replace(prop, kind=PropertyKind.INVARIANT, body=ir.Not(prop.body))
        others = job.model.properties
        model = replace(job.model, properties=(*others[:number], opposite, *others[number + 1 :]))
        outcome = self.search(replace(job, model=model))
        export = exported(job, NAME)
        text, count = _REACHABLE.subn("", export.configuration)
        if count != 1:
            return Run(
                prop.title, Side("reachable"), Side("nothing"), f"{count} lines for a reachable"
            )
        export = replace(export, configuration=text)
        return self.run(prop.title, export, replace(job, model=model), outcome)

    def run(self, subject: str, export: Export, job: Job, outcome: Outcome) -> Run:
        ours = side_of(job, outcome)
        try:
            answer = self.tlc.run(export)
        except TimedOut:
            raise
        except Broken as broken:
            return Run(subject, ours, Side("no answer"), f"no answer: {broken}")
        if answer.ended == "error" and "Overflow when computing" in answer.message:
            raise _Overflow
        return Run(subject, ours, side_of_answer(answer), difference(job, outcome, answer, export))


def ends(job: Job, outcome: Outcome) -> bool:
    """Whether the first problem is a terminal condition without a value."""
    number = outcome.findings[0].property
    return number is not None and job.model.properties[number].kind is PropertyKind.TERMINAL


# ---------------------------------------------------------------- results in words


def side_of(job: Job, outcome: Outcome) -> Side:
    """Returns Fencepost's result."""
    if not outcome.findings or outcome.verdict not in PROBLEMS:
        if outcome.verdict is Verdict.ASSUMPTION:
            return Side("assumption")
        return Side("ok", _counts(outcome))
    first = outcome.findings[0]
    words = first.verdict.value
    if first.property is not None and first.verdict is Verdict.VIOLATED:
        prop = job.model.properties[first.property]
        words += f" {prop.name or prop.title}"
    return Side(f"{words}, {_plural(_states(first))}")


def side_of_answer(answer: Answer) -> Side:
    """Returns TLC's result."""
    if answer.ended == "ok":
        return Side("ok", Counts(answer.distinct, answer.generated, answer.depth or 0))
    violated = answer.ended in ("invariant", "start", "step")
    words: str = "violated" if violated else answer.ended
    words += f" {answer.name}" if answer.name else ""
    words += f" ({' '.join(answer.message.split())})" if answer.ended == "error" else ""
    return Side(f"{words}, {_plural(answer.length)}" if answer.length else words)


def _counts(outcome: Outcome) -> Counts:
    statistics = outcome.statistics
    return Counts(statistics.distinct, statistics.generated, statistics.depth)


def _plural(count: int) -> str:
    return "1 state" if count == 1 else f"{count} states"


def _states(finding: Finding) -> int:
    """Returns the number of states in a trace."""
    steps = finding.trace.steps if finding.trace is not None else ()
    return sum(step.state is not None for step in steps)


# ---------------------------------------------------------------- comparison


def difference(job: Job, outcome: Outcome, answer: Answer, export: Export) -> str | None:
    """Describes the difference of the results in a few words. Returns None if they agree."""
    if outcome.verdict not in PROBLEMS:
        return _counts_differ(outcome, answer)
    if answer.ended in ("ok", "assumption"):
        return "TLC finds no problem" if answer.ended == "ok" else "verdicts"
    numbers = [finding.property for finding in outcome.findings]
    of_behaviours = [
        number
        for number in numbers
        if number is not None and job.model.properties[number].kind.of_behaviours
    ]
    if answer.ended == "behaviour":
        # TLC does not name the property, and its lasso need not be the shortest.
        return None if of_behaviours else "verdicts"
    undecided = {
        export.properties.get(number)
        for number in job.properties
        if job.model.properties[number].kind.of_behaviours
    }
    if outcome.verdict in FATAL and answer.length == 1 and answer.name in undecided:
        # TLC checks in the initial states what a property says of them. Fencepost decides no
        # property of behaviours if a step fails.
        return None
    if answer.ended == "start":
        refined = any(f.depth == 1 and _refined(job, f.property) for f in outcome.findings)
        return None if of_behaviours or refined else "verdicts"
    violated_names = {export.name, *(export.properties.get(n) for n in of_behaviours)}
    if of_behaviours and (answer.name in violated_names or _is_part(answer, export)):
        # TLC treats a property that always holds as an invariant, and shows no lasso. It does the
        # same with each such part of a conjunction.
        return None
    least = min(finding.depth for finding in outcome.findings)
    if answer.constant and outcome.verdict is Verdict.ERROR and least <= 1:
        # TLC stopped before it examined an initial state.
        return None
    if answer.ended == "error":
        return _errors_differ(job, outcome, answer, least)
    wanted = [finding for finding in outcome.findings if _same(finding, answer, export)]
    if not wanted:
        names = [*export.properties.values(), *export.refined, export.deadlock, ""]
        return "verdicts" if answer.name in names else f"TLC finds {answer.name} violated"
    depths = {least}
    if _ITSELF in export.configuration and all(
        finding.verdict is Verdict.DEADLOCK
        for finding in outcome.findings
        if finding.depth == least
    ):
        # TLC checks for deadlock while it expands a state, so it may first report a problem of the
        # next level.
        depths.add(least + 1)
    first = [finding for finding in wanted if finding.depth in depths]
    if not first:
        return "which problem comes first"
    return None if answer.length == first[0].depth else "lengths of the traces"


def _is_part(answer: Answer, export: Export) -> bool:
    """Whether TLC names a part of a property: a definition or variable, not an invariant."""
    invariant = re.search(rf"^INVARIANT {answer.name}$", export.configuration, re.M)
    return answer.ended == "invariant" and invariant is None


def _same(finding: Finding, answer: Answer, export: Export) -> bool:
    """Whether a problem is the one that TLC names."""
    if answer.ended == "deadlock" or answer.name == export.deadlock:
        return finding.verdict is Verdict.DEADLOCK
    if finding.verdict is not Verdict.VIOLATED or finding.property is None:
        return False
    name = export.properties.get(finding.property)
    return answer.name in (
        name,
        *(name_ for name_ in export.refined if name_ == f"{export.name}_{name}"),
    )


def _refined(job: Job, number: int | None) -> bool:
    return number is not None and job.model.properties[number].abstract is not None


def _counts_differ(outcome: Outcome, answer: Answer) -> str | None:
    if outcome.verdict is Verdict.ASSUMPTION:
        agree = answer.ended == "assumption" or answer.constant
        return None if agree else "verdicts"
    ours = _counts(outcome)
    if answer.constant and not ours.distinct:
        return None
    if answer.ended != "ok":
        return "TLC finds a problem"
    theirs = Counts(answer.distinct, answer.generated, answer.depth or 0)
    if not ours.distinct:
        # If there are no states, TLC still prints a depth of 1.
        theirs = replace(theirs, depth=ours.depth)
    wrong = [
        name
        for name in ("distinct", "generated", "depth")
        if getattr(ours, name) != getattr(theirs, name)
    ]
    return f"counts: {', '.join(wrong)}" if wrong else None


def _errors_differ(job: Job, outcome: Outcome, answer: Answer, least: int) -> str | None:
    """Describes the difference if an error stops TLC. Returns None if Fencepost has an error at the
    same point.
    """
    kinds = _kinds(answer)
    problems = [finding for finding in outcome.findings if finding.verdict in kinds]
    if answer.length is None:
        # TLC shows no trace for an error in an initial state or in a constraint, and errors in
        # `ENABLED` are reported one level early.
        near = any(problem.depth <= least + 1 for problem in problems)
        return None if near else "verdicts"
    for problem in problems:
        # Errors in `ENABLED Next` within an invariant are reported one level early.
        if _states(problem) == answer.length and problem.depth <= least + 1:
            return None
    if answer.length == least and failing(job.model, least) & kinds:
        return None
    return "lengths of the traces" if problems else "verdicts"


def _kinds(answer: Answer) -> frozenset[Verdict]:
    """Returns the verdicts of Fencepost that may correspond to an error of TLC. TLC's own errors
    are about values.
    """
    message = answer.asserted
    if message is not None and message.startswith(ASSERTION):
        return frozenset([Verdict.ASSERTION])
    if message is None or message.startswith(ERROR):
        return frozenset([Verdict.ERROR])
    return frozenset(FATAL)


def failing(model: ir.Model, level: int) -> frozenset[Verdict]:
    """Returns the kinds of failures that occur in steps from the states of a level."""
    runner = Runner(model)
    constraints = model.searched(()).constraints
    states = {result.state for result in runner.initial() if result.state is not None}
    reached_states: set[State] = set(states)
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
        states = after - reached_states
        reached_states |= after
    return frozenset(Verdict.ASSERTION if f.assertion else Verdict.ERROR for f in failures)


def _holds(runner: Runner, number: int, state: State) -> bool:
    try:
        return runner.holds(number, state)
    except EvaluationError:  # Such a state satisfies the constraint.
        return True


def _ignore(_: Progress) -> None:
    """Does not show the progress."""
