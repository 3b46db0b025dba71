"""Adds the results for properties of behaviours to the outcome of a search.

This module defines when such properties are decided and what is reported. An engine decides them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from fencepost.checker.outcome import (
    INTERRUPTED,
    Fact,
    FairTo,
    Finding,
    Limit,
    Outcome,
    Trace,
    Undecided,
    Verdict,
)
from fencepost.checker.request import Request, Unsupported
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.account import Cut, others
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.explain import trace_from
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso, blame, reasons
from fencepost.checker.temporal.normal import TooLarge
from fencepost.spec.core import formulas
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import listing

NOT_JUDGED = Fact("Temporal properties were not checked, since there are other problems.")

NOTHING_HOLDS = formulas.Or(())
"""The formula that every behaviour violates."""

_WHOLE_LEVELS = ("depth", "max-states")
"""Limits that cut every run after the same levels."""


def expanded_levels(outcome: Outcome) -> int | None:
    """Returns the number of completely expanded levels, or None if all levels were expanded."""
    cut = outcome.search_cut
    if cut is None:
        return None
    levels = len(outcome.statistics.transitions)
    return levels if cut.kind in _WHOLE_LEVELS else max(0, levels - 1)


def judged(
    outcome: Outcome,
    request: Request,
    runner: Runner,
    decide: Callable[[Formula, Decision], Lasso | None],
    decision: Decision,
    started: float,
    finding_of: Callable[[int, Lasso], Finding] | None = None,
) -> Outcome:
    """Returns the outcome of a search, extended by the results for the requested properties of
    behaviours.

    ``decide`` returns a lasso among the expanded states that violates a formula, one of
    `formulas_to_decide`, or None. It may raise `Cut` and `KeyboardInterrupt`. ``started`` is the
    monotonic time at which the search started; with it, the seconds also include the time between
    the search and the decision. ``finding_of`` returns the finding for a lasso, as `finding` does.
    """
    behaviours = request.model.searched(request.properties).behaviours
    if not behaviours:
        return outcome
    reported = finding_of or partial(finding, runner)
    outcome = _judged(outcome, request, reported, decide, decision, behaviours)
    if decision.property is None:
        return outcome
    seconds, before = time.monotonic() - started, outcome.statistics
    statistics = replace(
        before,
        seconds=seconds,
        decided_seconds=seconds - before.seconds,
        peak_bytes=peak_bytes(),
    )
    return replace(outcome, statistics=statistics)


def _judged(
    outcome: Outcome,
    request: Request,
    reported: Callable[[int, Lasso], Finding],
    decide: Callable[[Formula, Decision], Lasso | None],
    decision: Decision,
    behaviours: Sequence[int],
) -> Outcome:
    if any(finding.verdict is not Verdict.UNREACHED for finding in outcome.findings):
        return replace(outcome, notes=(*outcome.notes, NOT_JUDGED))
    if outcome.cut is not None and outcome.cut.kind not in _WHOLE_LEVELS:
        return outcome
    violations: list[Finding] = []
    limit, undecided = outcome.cut, None
    stays = True
    for index, formula in enumerate(formulas_to_decide(request.model, behaviours, outcome)):
        number = behaviours[min(index, len(behaviours) - 1)]
        decision.begin(number)
        try:
            lasso = decide(formula, decision)
        except TooLarge:
            raise _too_large(request.model, number) from None
        except Cut as cut:
            left = tuple(behaviours[behaviours.index(number) :])
            limit, undecided = cut.limit, Undecided(left, outcome.cut)
            break
        if formula is NOTHING_HOLDS:
            stays = lasso is not None
        elif lasso is not None:
            violations.append(reported(number, lasso))
            if not request.keep_going:
                break
    interrupted = outcome.interrupted or limit == INTERRUPTED
    outcome = replace(outcome, cut=limit, interrupted=interrupted, undecided=undecided)
    if violations:
        depth = violations[0].depth
        before = outcome.search_cut
        notes = outcome.notes if before is None else (*outcome.notes, others(before))
        return replace(
            outcome,
            verdict=Verdict.VIOLATED,
            findings=(*violations, *(outcome.findings if request.keep_going else ())),
            statistics=replace(outcome.statistics, depth=depth),
            notes=notes,
        )
    if not stays:
        outcome = replace(outcome, notes=(*outcome.notes, vacuous(request.model, behaviours)))
    if limit is None and outcome.coverage.cut and leaves_open(request.model, behaviours):
        limit = Limit("outside")
    if limit is None or outcome.findings:
        return replace(outcome, cut=limit)
    return replace(outcome, verdict=Verdict.INCONCLUSIVE, cut=limit)


def formulas_to_decide(
    model: Model, behaviours: Sequence[int], outcome: Outcome
) -> tuple[Formula, ...]:
    """Returns the formulas of the properties, in order. If some properties ignore the behaviours
    that leave the constraints, and the search was complete, the last formula is `NOTHING_HOLDS`: a
    violation of it shows that the properties are not vacuous.
    """
    numbered = [model.properties[number].formula for number in behaviours]
    every = [formula for formula in numbered if formula is not None]
    bounded = any(model.properties[number].within for number in behaviours)
    if bounded and outcome.coverage.cut and outcome.cut is None:
        every.append(NOTHING_HOLDS)
    return tuple(every)


def vacuous(model: Model, behaviours: Sequence[int]) -> str:
    """Returns the note for properties within constraints that no fair behaviour satisfies
    throughout.
    """
    properties = [model.properties[number] for number in behaviours]
    titles = [prop.title for prop in properties if prop.within]
    verb = "is" if len(titles) == 1 else "are"
    listed = listing(titles, "and")
    return f"No fair behaviour stays within the constraints, so {listed} {verb} vacuous."


def leaves_open(model: Model, behaviours: Sequence[int]) -> bool:
    """Returns whether some of the properties also concern behaviours that leave the constraints, so
    that the states inside do not decide them.
    """
    return not all(model.properties[number].within for number in behaviours)


def refuse_large(model: Model, number: int, pause: Callable[[], None]) -> None:
    """Raises `Unsupported` if the formula of a property is too large to be decided. Calls ``pause``
    often; ``pause`` may raise an exception.
    """
    formula = model.properties[number].formula
    assert formula is not None
    try:
        violating(formula, pause)
    except TooLarge:
        raise _too_large(model, number) from None


def _too_large(model: Model, number: int) -> Unsupported:
    message = "it does not decide a formula with this number of operators"
    instead = "split it into several properties, each with fewer operators"
    return Unsupported(message, model.properties[number].span, instead)


def bare_finding(runner: Runner, number: int, lasso: Lasso) -> Finding:
    """Returns the finding for a lasso that violates a property, without an explanation."""
    lasso = lasso.rotated()
    trace = Trace(trace_from(runner, lasso.states).steps, lasso.loop)
    return Finding(Verdict.VIOLATED, number, len(lasso.states), trace)


def finding(runner: Runner, number: int, lasso: Lasso) -> Finding:
    """Returns the finding for a lasso that violates a property. The stem is shortened as far as
    possible without changing the behaviour.
    """
    lasso, model = lasso.rotated(), runner.model
    fair: list[FairTo] = []
    for unit, reason in reasons(runner, lasso).items():
        assert reason is not None, f"{unit}: the lasso is not fair"
        fair.append(FairTo(unit.constraint, reason.choices, reason.taken, reason.impossible))
    formula = model.properties[number].formula
    assert formula is not None
    why = blame(runner, formula, lasso)
    trace = Trace(trace_from(runner, lasso.states).steps, lasso.loop)
    return Finding(
        Verdict.VIOLATED,
        number,
        len(lasso.states),
        trace,
        instance=why.instance,
        failing=why.part.span,
        index=len(model.actions) + number,
        since=why.position,
        fair=tuple(fair),
    )
