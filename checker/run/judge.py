"""Compares an outcome with what the check expects, and derives the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import assert_never

from fencepost.checker.outcome import Finding, Limit, Outcome, Verdict
from fencepost.checker.run.job import Job
from fencepost.checker.run.words import (
    claim,
    constraints,
    ended,
    expected,
    fitting,
    plural,
    unproved,
)
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, listing

TIMEOUT_CODE = "F046"
"""The code of a timeout before the spec was read. A timeout is not an error in the spec."""
UNCHECKED = "F049"
"""The code of the warning about specs without checks. Under --strict it is an error."""
ABOUT_USE = ("F0", "F85", "F864", "F87")
"""Prefixes of the codes for errors in files, options and tools. Other codes are for errors in
specs.
"""
MAX_WRONG = 4
"""Maximum number of wrong counts that a message lists."""


class Exit(IntEnum):
    """The exit codes of the command (docs/ci.md)."""

    OK = 0
    INCONCLUSIVE = 3
    NOT_FOUND = 4
    ASSUMPTION = 10
    DEADLOCK = 11
    INVARIANT = 12
    STEP_INVARIANT = 13
    ASSERTION = 14
    NOT_ALLOWED = 15
    EVALUATION = 75
    REJECTED = 150
    USAGE = 151
    INTERNAL = 255


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of a check after it was judged. ``explanation`` is a sentence that says why the
    outcome is not as expected, or None if it is.
    """

    job: Job
    outcome: Outcome
    explanation: str | None
    exit: Exit
    remarked: bool = False
    """Whether the outcome is unexpected only because --strict turned remarks into a failure."""

    @property
    def as_expected(self) -> bool:
        return self.explanation is None

    @property
    def finding(self) -> Finding | None:
        """The problem to report, if any."""
        return self.outcome.findings[0] if self.outcome.findings else None


def judge(job: Job, outcome: Outcome) -> CheckResult:
    """Compares an outcome with what the check expects."""
    if _within(job, outcome):
        outcome = replace(outcome, verdict=Verdict.OK)
    if outcome.verdict is Verdict.INCONCLUSIVE and not verdict_met(job, outcome):
        explanation = f"expected {_wanted(job.check)}, but {_cut(job, outcome)}"
        return CheckResult(job, outcome, explanation, Exit.INCONCLUSIVE)
    if not verdict_met(job, outcome):
        return CheckResult(job, outcome, _surprise(job, outcome), exit_of(job.model, outcome))
    wrong = _wrong_counts(job, outcome)
    if wrong:
        return CheckResult(job, outcome, wrong, Exit.NOT_FOUND)
    return CheckResult(job, outcome, None, Exit.OK)


def judge_runs(job: Job, outcome: Outcome) -> CheckResult:
    """Compares the outcome of random runs with what the check expects, except for counts, which
    random runs only estimate.
    """
    if verdict_met(job, outcome):
        return CheckResult(job, outcome, None, Exit.OK)
    inconclusive = outcome.verdict is Verdict.INCONCLUSIVE
    reason = "no run has a problem" if inconclusive else _sentence(job.model, outcome)
    explanation = f"expected {_wanted(job.check)}, but {reason}"
    return CheckResult(job, outcome, explanation, exit_of(job.model, outcome))


def _within(job: Job, outcome: Outcome) -> bool:
    """Returns whether the search ended at its depth limit without a problem, and the check does not
    ask for a deeper search.
    """
    wanted, searched = job.check.within, job.limits.depth
    if wanted is None or searched is None or outcome.verdict is not Verdict.INCONCLUSIVE:
        return False
    if job.model.searched(job.properties).behaviours:
        # A liveness property that has not held within the bound may hold one step later.
        return False
    return searched >= wanted and outcome.limit == Limit("depth", searched)


def counts_compared(job: Job, outcome: Outcome) -> str | None:
    """Returns why the check's expected counts are not compared, or None if they are."""
    if not job.check.counts:
        return None
    if not outcome.statistics.counted and any(count != "depth" for count, _ in job.check.counts):
        return f"the engine {job.engine} counts no states"
    if job.settings.overrides:
        return "constants were given on the command line"
    if job.settings.invariants:
        return "other properties were chosen on the command line"
    if outcome.cut is not None and outcome.findings:
        return f"the search was cut ({outcome.cut})"
    if job.settings.keep_going and outcome.findings:
        return "the search continued after the first problem"
    return None


def verdict_met(job: Job, outcome: Outcome) -> bool:
    """Returns whether the verdict and the property are the expected ones. An expected
    ``inconclusive`` refers to a constraint, so a run that a limit or a signal ended does not meet
    it.
    """
    check = job.check
    if outcome.verdict.value != check.verdict:
        return False
    if outcome.verdict is Verdict.INCONCLUSIVE:
        return outcome.cut_by_constraint
    if check.property is None:
        return True
    index = outcome.findings[0].property
    return index is not None and job.model.properties[index].is_named(check.property)


def open_beyond_constraints(job: Job) -> str:
    """Says which properties depend on behaviours that leave the constraints."""
    properties = job.model.properties
    numbers = job.model.searched(job.properties).behaviours
    titles = [properties[n].title for n in numbers if not properties[n].within]
    verb = "depends" if len(titles) == 1 else "depend"
    return f"{listing(titles, 'and')} {verb} on behaviours that leave {constraints(job.model)}"


def _cut(job: Job, outcome: Outcome) -> str:
    model = job.model
    if outcome.cut_by_constraint:
        return open_beyond_constraints(job)
    left = [proof for proof in outcome.proofs if proof.reason is not None]
    if left:
        return "; ".join(f"{claim(proof)} is not proved ({unproved(proof)})" for proof in left)
    states, undecided = _amount(outcome), outcome.undecided
    if undecided is None:
        return f"the search was {ended(outcome.limit)} after {states}"
    title = model.properties[undecided.properties[0]].title
    if outcome.search_cut is not None or not outcome.statistics.counted:
        return f"deciding {title} was {ended(outcome.limit)} after {states}"
    inside = " within the constraints" if outcome.coverage.cut else ""
    return f"deciding {title} was {ended(outcome.limit)}, after all {states}{inside} were visited"


def _amount(outcome: Outcome) -> str:
    """Returns the extent of the search: ``180 states``, or ``12 steps`` if states are not
    counted.
    """
    statistics = outcome.statistics
    if statistics.counted:
        return plural(statistics.distinct, "state")
    return plural(max(statistics.depth - 1, 0), "step")


def _surprise(job: Job, outcome: Outcome) -> str:
    check = job.check
    fit = outcome.findings[0].fit if outcome.findings else None
    if fit is not None:
        return fitting(fit)
    searched = _amount(outcome)
    if outcome.verdict is Verdict.OK:
        match check.verdict:
            case "violated":
                wanted = check.property or ""
                prop = next((p for p in job.model.properties if p.is_named(wanted)), None)
                assert prop is not None, "the expected property is one of the model"
                unit = prop.kind.subject.value
                miss = f"no {unit} violates it: {searched} searched"
            case "deadlock":
                end = "" if job.model.is_opaque else " or is terminal"
                miss = f"every state has a successor{end}: {searched} searched"
            case "assertion":
                miss = f"no assertion fails: {searched} searched"
            case "error":
                miss = f"no evaluation error occurs: {searched} searched"
            case "inconclusive":
                miss = f"no property depends on behaviours that leave one: {searched} searched"
            case "ok":
                raise AssertionError("ok was expected and found")
            case _:
                assert_never(check.verdict)
        return f"expected {_wanted(check)}, but {miss}"
    return f"expected {_wanted(check)}, but {_sentence(job.model, outcome)}"


def _wanted(check: Check) -> str:
    """Returns the expected verdict, for a sentence that says why it is not met."""
    cause = " because of a constraint" if check.verdict == "inconclusive" else ""
    return f"{expected(check)}{cause}"


def _sentence(model: Model, outcome: Outcome) -> str:
    """Returns the verdict as the second half of a sentence."""
    finding = outcome.findings[0] if outcome.findings else None
    prop = model.properties[finding.property] if finding and finding.property is not None else None
    match outcome.verdict:
        case Verdict.VIOLATED:
            return f"{prop.title} {prop.kind.broken}" if prop else "a property is violated"
        case Verdict.UNREACHED:
            return f"{prop.title} was never reached" if prop else "a `reachable` was never reached"
        case Verdict.DEADLOCK:
            return "the model deadlocks"
        case Verdict.ASSERTION:
            return "an assertion fails"
        case Verdict.ERROR:
            return "an evaluation error occurs"
        case Verdict.ASSUMPTION:
            return "an assumption is false"
        case Verdict.OK:
            return "no problem was found"
        case Verdict.INCONCLUSIVE:
            return "the search was not completed"
        case _:
            assert_never(outcome.verdict)


def _wrong_counts(job: Job, outcome: Outcome) -> str | None:
    if counts_compared(job, outcome) is not None:
        return None
    # A symbolic engine may prove a property before it reaches the depth of an explicit search.
    if not outcome.statistics.counted and not outcome.findings:
        return None
    wrong: dict[str, None] = {}
    for counted, where in _counted(job, outcome):
        figures = {
            "states": counted.statistics.distinct,
            "generated": counted.statistics.generated,
            "depth": counted.statistics.depth,
        }
        for figure, wanted in job.check.counts:
            if figures[figure] != wanted:
                wrong[f"expected {figure} == {wanted}, but found {figures[figure]}{where}"] = None
    return "; ".join(list(wrong)[:MAX_WRONG]) or None


def _counted(job: Job, outcome: Outcome) -> Iterator[tuple[Outcome, str]]:
    """Yields the outcomes whose counts are compared, each with a suffix for messages.

    A search by regions has one outcome per region. If a problem was found, only the counts of its
    region are compared.
    """
    if not outcome.regions:
        yield outcome, ""
        return
    symbol = job.model.symbols[0]
    reported = outcome.findings[0].constants if outcome.findings else ()
    for region in outcome.regions:
        if not reported or region.value == reported[0].value:
            yield region.outcome, f" with {symbol.path} = {show(region.value, symbol.type)}"


def exit_of(model: Model, outcome: Outcome) -> Exit:
    """Returns the exit code for an outcome that is not the expected one."""
    match outcome.verdict:
        case Verdict.OK | Verdict.UNREACHED:
            return Exit.NOT_FOUND
        case Verdict.VIOLATED:
            index = outcome.findings[0].property if outcome.findings else None
            of_states = index is None or model.properties[index].kind.of_states
            return Exit.INVARIANT if of_states else Exit.STEP_INVARIANT
        case Verdict.DEADLOCK:
            return Exit.DEADLOCK
        case Verdict.ASSERTION:
            return Exit.ASSERTION
        case Verdict.ERROR:
            return Exit.EVALUATION
        case Verdict.ASSUMPTION:
            return Exit.ASSUMPTION
        case Verdict.INCONCLUSIVE:
            return Exit.INCONCLUSIVE
        case _:
            assert_never(outcome.verdict)


def exit_code(results: Sequence[CheckResult], problems: Sequence[Problem] = ()) -> Exit:
    """Returns the exit code of a whole run. Refusals take precedence, followed by the first
    unexpected result.
    """
    errors = [problem.code for problem in problems if not problem.warning]
    wrong = [code for code in errors if code not in (TIMEOUT_CODE, UNCHECKED)]
    if any(code.startswith(ABOUT_USE) for code in wrong):
        return Exit.USAGE
    if wrong:
        return Exit.REJECTED
    rest = Exit.NOT_FOUND if errors else Exit.OK
    if TIMEOUT_CODE in errors:
        rest = Exit.INCONCLUSIVE
    exits = [result.exit for result in results if not result.as_expected]
    # A real problem takes precedence over a remark under --strict.
    problems_found = [
        result.exit for result in results if not result.as_expected and not result.remarked
    ]
    return next(iter([*problems_found, *exits]), rest)
