"""Adds the results for properties of behaviours to the outcome of a search.

This module defines when such properties are decided and what is reported. An engine decides them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

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
from fencepost.checker.search.explain import trace_along
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso, blame, reasons
from fencepost.checker.temporal.normal import TooLarge
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner

NOT_JUDGED = Fact("Temporal properties were not checked, since there are other problems.")

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
    decide: Callable[[int, Decision], Lasso | None],
    decision: Decision,
    started: float,
) -> Outcome:
    """Returns the outcome of a search, extended by the results for the requested properties of
    behaviours.

    ``decide`` returns a lasso among the expanded states that violates a property, or None. It may
    raise `Cut` and `KeyboardInterrupt`. ``started`` is the monotonic time at which the search
    started; with it, the seconds also include the time between the search and the decision.
    """
    behaviours = request.model.searched(request.properties).behaviours
    if not behaviours:
        return outcome
    outcome = _judged(outcome, request, runner, decide, decision, behaviours)
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
    runner: Runner,
    decide: Callable[[int, Decision], Lasso | None],
    decision: Decision,
    behaviours: Sequence[int],
) -> Outcome:
    if any(finding.verdict is not Verdict.UNREACHED for finding in outcome.findings):
        return replace(outcome, notes=(*outcome.notes, NOT_JUDGED))
    if outcome.cut is not None and outcome.cut.kind not in _WHOLE_LEVELS:
        return outcome
    violations: list[Finding] = []
    limit, undecided = outcome.cut, None
    for index, number in enumerate(behaviours):
        decision.begin(number)
        try:
            lasso = decide(number, decision)
        except TooLarge:
            raise _too_large(request.model, number) from None
        except Cut as cut:
            limit, undecided = cut.limit, Undecided(tuple(behaviours[index:]), outcome.cut)
            break
        if lasso is not None:
            violations.append(finding(runner, number, lasso))
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
    if limit is None and outcome.coverage.cut:
        limit = Limit("outside")
    if limit is None or outcome.findings:
        return replace(outcome, cut=limit)
    return replace(outcome, verdict=Verdict.INCONCLUSIVE, cut=limit)


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
    trace = Trace(trace_along(runner, lasso.states).steps, lasso.loop)
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
