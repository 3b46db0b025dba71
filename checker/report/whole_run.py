"""The data that all reports on a whole run use: specs, checks and results. Each unexpected result
has a location and a summary, and each `ok` has the bounds within which it holds.

Such bounds are full channels, constraints, and missing initial states. The real system may not have
these bounds, and a violation may exist beyond them, so they are part of the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fencepost.checker.folders import Skipped
from fencepost.checker.outcome import NO_INITIAL_STATE, Finding, Outcome, Verdict
from fencepost.checker.run.judge import UNCHECKED, CheckResult, verdict_met
from fencepost.checker.run.session import Refusal, RefusedSpec, SpecPlan, SpecResults
from fencepost.checker.run.settings import Request
from fencepost.checker.run.words import constraints, plural, resumed
from fencepost.checker.trace.findings import goes_on, headline
from fencepost.spec.core import ir
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.library import is_file
from fencepost.spec.text.problem import Problem, printable
from fencepost.spec.text.source import Source, Span


def within(result: CheckResult) -> tuple[str, ...]:
    """Returns the bounds of a complete search, such as ``within the capacity of net: 3 sends were
    blocked``. Returns an empty tuple if no bound was reached, or if a larger bound would change
    nothing.
    """
    outcome, model = result.outcome, result.job.model
    complete = outcome.verdict in (Verdict.OK, Verdict.UNREACHED) or outcome.cut_by_constraint
    if not complete:
        return ()
    if NO_INITIAL_STATE in outcome.notes:
        return ("there is no initial state, so nothing was checked",)
    bounds = [
        f"within the capacity of {name}: {plural(times, 'send')} {_were(times)} blocked"
        for name, times in _blocked(model, outcome).items()
    ]
    if outcome.coverage.cut:
        cut, counted = outcome.coverage.cut, outcome.statistics.counted
        verb = "lies" if cut == 1 and counted else "lie"
        states = plural(cut, "state") if counted else "states"
        bounds.append(f"within {constraints(model)}: {states} {verb} outside")
    return tuple(bounds)


def _were(times: int) -> str:
    return "was" if times == 1 else "were"


def _blocked(model: ir.Model, outcome: Outcome) -> dict[str, int]:
    """Returns for each channel how many times a send was blocked."""
    blocked = outcome.coverage.blocked
    counts: dict[str, int] = {}
    for action in model.actions if blocked else ():
        for node in walk(action.body):
            if isinstance(node, ir.Require) and blocked.get(node.guard):
                names = [
                    model.variables[part.index].name
                    for part in walk(node.condition)
                    if isinstance(part, ir.Variable)
                    and model.variables[part.index].kind == "channel"
                ]
                # The guard reads the size of the channel first.
                assert names, "a channel is full, and it has no `or block`"
                counts[names[-1]] = counts.get(names[-1], 0) + blocked[node.guard]
    return counts


class NotRun(NamedTuple):
    """A check that did not run, and the reason."""

    check: Check
    why: str
    code: str = ""
    """The code of the problem that prevented the check, or "" if there was no problem."""


@dataclass(frozen=True, slots=True)
class SpecRun:
    """A spec with its planned checks and their results."""

    plan: SpecPlan
    done: SpecResults

    @property
    def path(self) -> str:
        """The path of the spec, as the user wrote it."""
        return self.plan.path

    @property
    def not_run(self) -> Iterator[NotRun]:
        """The checks that did not run."""
        for refusal in self.done.ended:
            if isinstance(refusal, Refusal):
                first = refusal.problems[0]
                yield NotRun(refusal.job.check, first.message, first.code)
        for job in self.done.left:
            yield NotRun(job.check, "not run: the run was interrupted")
        slow = {check.name: check for check in self.plan.program.runs}
        for name in self.plan.left:
            yield NotRun(slow[name], "slow: --slow runs it")


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole run, with the request, the specs that can be checked, and the problems of the others.

    ``problems`` includes those of the ``refused`` specs, and of checks that did not run.
    ``version`` is the version of Fencepost, and ``versions`` is a line that lists further versions.
    """

    request: Request
    specs: tuple[SpecRun, ...]
    problems: tuple[Problem, ...]
    version: str
    versions: str
    refused: tuple[RefusedSpec, ...] = ()
    unchecked: tuple[Path, ...] = ()
    """The specs without checks (see `run.session.Specs`)."""
    skipped: tuple[Skipped, ...] = ()
    """The folders and specs that were skipped (see `run.session.Plan`)."""

    @property
    def unusable(self) -> bool:
        """Whether at least one spec could not be checked."""
        return any(not problem.warning and problem.code != UNCHECKED for problem in self.problems)

    @property
    def other_errors(self) -> tuple[Problem, ...]:
        """The errors that belong to no spec, such as the name of a check that no spec has."""
        own = {problem for spec in self.refused for problem in spec.problems}
        own |= {problem for spec in self.specs for problem in spec.done.problems}
        return tuple(p for p in self.problems if p not in own and not p.warning)

    @property
    def placed_problems(self) -> tuple[Problem, ...]:
        """The problems, for formats that show a problem in a file. If the problem of a spec has no
        span, for example because the file is unreadable, its place is the start of the file.
        """
        starts = {
            problem: Span(Source(str(spec.path), ""), 0, 0)
            for spec in self.refused
            for problem in spec.problems
        }
        return tuple(
            replace(p, span=starts[p]) if p.span is None and p in starts else p
            for p in self.problems
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """Phrases that count the specs and checks that should have run and did not."""
        jobs = sum(len(spec.plan.jobs) for spec in self.specs) - len(self.results)
        counts = [(len(self.refused), "spec could", "specs could", "be checked")]
        counts.append((jobs, "check did", "checks did", "run"))
        return tuple(
            f"{count:,} {single if count == 1 else several} not {verb}"
            for count, single, several, verb in counts
            if count
        )

    @property
    def has_summary(self) -> bool:
        """Whether a text report ends with a summary. The errors of a single spec need none."""
        return bool(self.results) or (bool(self.missing) and not self.request.single)

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The results of all checks, in order."""
        return tuple(result for spec in self.specs for result in spec.done.results)

    @property
    def traced(self) -> CheckResult | None:
        """The first unexpected result with a trace, or the first result with a trace if no
        unexpected result has one.
        """
        traced = [r for r in self.results if r.finding is not None and r.finding.trace is not None]
        return next((r for r in traced if not r.as_expected), traced[0] if traced else None)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings about specs, without duplicates."""
        every = (warning for spec in self.specs for warning in warnings_of(spec.plan))
        return tuple(dict.fromkeys(every))

    @property
    def surprises(self) -> tuple[CheckResult, ...]:
        """The unexpected results."""
        return tuple(result for result in self.results if not result.as_expected)

    @property
    def resumed(self) -> Iterator[tuple[CheckResult, str, bool]]:
        """Yields each check that was resumed, a sentence about its checkpoint, and whether the
        checkpoint is signed.
        """
        for result in self.results:
            start = result.outcome.resumed
            if start is not None:
                yield result, f"{result.job.title}: {resumed(result.outcome)}", start.signed


def warnings_of(plan: SpecPlan) -> Iterator[Problem]:
    """Yields the warnings about a spec, possibly with duplicates."""
    yield from plan.program.warnings
    for job in plan.jobs:
        yield from job.model.warnings


def refusal(spec: RefusedSpec) -> str:
    """Returns a sentence with the first error of a spec that could not be checked."""
    errors = [problem for problem in spec.problems if not problem.warning]
    first = errors[0]
    where = f"{first.span}: " if first.span is not None else ""
    more = f" (and {plural(len(errors) - 1, 'more error')})" if errors[1:] else ""
    message = printable(first.message)
    return f"{spec.path} could not be checked: {where}error[{first.code}]: {message}{more}"


def rule(result: CheckResult) -> str:
    """Returns the category of an unexpected result, which is one of `RULES`."""
    verdict = result.outcome.verdict
    if verdict_met(result.job, result.outcome):
        return "remarks" if result.remarked else "counts"
    if verdict is Verdict.INCONCLUSIVE:
        return "inconclusive"
    return "not-found" if verdict is Verdict.OK else str(verdict.value)


RULES = {
    "violated": "A property is violated.",
    "deadlock": "Nothing can happen, and no `terminal` holds.",
    "assertion": "An assertion fails.",
    "error": "An evaluation error occurs.",
    "unreached": "A `reachable` was never reached, or no run fits a scenario.",
    "assumption": "The constants break an assumption.",
    "inconclusive": "A limit or a constraint cut the search before a problem was found.",
    "not-found": "A problem that the check expects was not found.",
    "counts": "The counts differ from those that the check expects.",
    "remarks": "There is a remark, and --strict was given.",
}
"""The categories that `rule` returns, with their descriptions."""
OF_CHECK = ("not-found", "counts", "remarks")
"""The categories of results that are located at the check itself, since no part of the spec
failed.
"""


def sentence(result: CheckResult) -> str:
    """Summarizes an unexpected result: the problem, the number of steps to it, the values with
    which it occurs, and the other problems.
    """
    parts = [result.explanation or "as expected"]
    finding = result.finding
    if finding is not None and rule(result) not in OF_CHECK:
        endless = finding.trace is not None and finding.trace.loop is not None
        if finding.trace is not None and finding.fit is None and not endless:
            steps = len(finding.trace.steps) - 1
            parts.append(f"after {plural(steps, 'step')}" if steps else "in an initial state")
        if finding.instance:
            values = (f"{c.label} = {show(c.value, c.type)}" for c in finding.instance)
            parts.append(f"for {', '.join(values)}")
        if finding.site is not None:
            parts[-1] += f": {finding.site.message}"
        if finding.trace is not None and endless:
            parts[-1] += goes_on(finding.trace)
    others = "".join(f"; also, {text}" for text, _ in other_problems(result))
    return f"{result.job.title}: {' '.join(parts)}{others}"


def other_problems(result: CheckResult) -> list[tuple[str, Span | None]]:
    """Returns the headline and location of each finding after the first."""
    model = result.job.model
    others: list[tuple[str, Span | None]] = []
    for finding in result.outcome.findings[1:]:
        prop = None if finding.property is None else model.properties[finding.property]
        where = prop.span if prop is not None else finding.failing
        where = finding.site.span if finding.site is not None else where
        others.append((headline(model, finding, prop), where))
    return others


def spot(result: CheckResult) -> str:
    """Returns the location and the summary of a check, such as ``race.fence:12: safe: ...``."""
    where = result.job.check.span or _top(result)
    return f"{where.source.name}:{where.line}: {sentence(result)}"


def place(result: CheckResult) -> Span:
    """Returns the primary location of a result. This is the part that fails if it is in a file of
    the user's, otherwise the check.
    """
    finding = result.finding
    check = result.job.check.span or _top(result)
    if finding is None or rule(result) in OF_CHECK:
        return check
    if finding.fit is not None and finding.failing is not None:
        return finding.failing
    failing = next(_places(result, finding), check)
    return failing if is_file(Path(failing.source.name)) else check


def related(result: CheckResult) -> Iterator[tuple[Span, str]]:
    """Yields further locations, each with a text that says why it is related."""
    first = place(result)
    finding = result.finding
    if result.job.check.span is not None and result.job.check.span != first:
        yield result.job.check.span, "the check"
    if finding is None or rule(result) in OF_CHECK:
        return
    if finding.failing is not None and finding.failing != first:
        since = "" if finding.since is None else f", from state {finding.since} on"
        yield finding.failing, f"it breaks here{since}"
    if finding.site is not None:
        for call in reversed(finding.site.calls):
            yield call, "called from here"
    for text, span in other_problems(result):
        if span is not None and span != first:
            yield span, text


def _places(result: CheckResult, finding: Finding) -> Iterator[Span]:
    if finding.site is not None:
        yield finding.site.span
    if finding.property is not None:
        yield result.job.model.properties[finding.property].span


def _top(result: CheckResult) -> Span:
    files = result.job.program.files
    return Span(files.files[files.root].source, 0, 0)


def property_name(result: CheckResult) -> str | None:
    """Returns the violated or unreached property, such as ``invariant S12``."""
    finding = result.finding
    if finding is None or finding.property is None:
        return None
    return result.job.model.properties[finding.property].title
