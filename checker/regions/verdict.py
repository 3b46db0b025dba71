"""Combines the outcomes of the regions into the outcome for all values of a symbolic constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from fencepost.checker.outcome import (
    INTERRUPTED,
    Coverage,
    Finding,
    Limit,
    Outcome,
    Region,
    Statistics,
    Stuck,
    Verdict,
)
from fencepost.checker.request import Request
from fencepost.checker.resources import peak_bytes
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Choice

ORDER = (
    Verdict.ASSUMPTION,
    Verdict.ERROR,
    Verdict.ASSERTION,
    Verdict.VIOLATED,
    Verdict.DEADLOCK,
)
"""The order of precedence between problems at the same depth."""


def no_value(model: Model) -> Outcome:
    """Returns the outcome if no value satisfies the condition of the constant, which is a false
    assumption.
    """
    symbol = model.symbols[0]
    span = symbol.span if symbol.condition is None else symbol.condition.span
    finding = Finding(Verdict.ASSUMPTION, None, 0, None, failing=span)
    statistics = Statistics(0, 0, 0, (), (), 0.0, peak_bytes())
    coverage = Coverage((0,) * len(model.actions), frozenset())
    note = f"No value of {symbol.path} satisfies its condition."
    return Outcome(Verdict.ASSUMPTION, (finding,), statistics, coverage, notes=(note,))


def for_all_values(
    request: Request,
    regions: Sequence[Region],
    cut: Limit | None,
    seconds: float,
) -> Outcome:
    """Combines the outcomes of the regions. The result is a problem if any value has one.

    The problem at the least depth is reported, as if the constant were chosen in the initial state.
    A ``reachable`` must be reached for some value.
    """
    model = request.model
    outcomes = [region.outcome for region in regions]
    findings = tuple(_problems(model, regions, request.keep_going))
    coverage = _coverage(model, outcomes)
    statistics = _statistics(outcomes, seconds)
    notes = [*_notes(regions)]
    verdict = Verdict.OK
    if findings:
        verdict = findings[0].verdict
        depth = findings[0].depth
        statistics = replace(statistics, depth=depth)
        if cut is not None:
            notes.append(f"The search was cut ({cut}): not all values were searched.")
    elif cut is not None:
        verdict = Verdict.INCONCLUSIVE
    else:
        unreached = [
            number
            for number in model.searched(request.properties).reachables
            if number not in coverage.reached
        ]
        findings = tuple(Finding(Verdict.UNREACHED, n, statistics.depth, None) for n in unreached)
        verdict = Verdict.UNREACHED if unreached else Verdict.OK
    return Outcome(
        verdict,
        findings,
        statistics,
        coverage,
        cut,
        cut == INTERRUPTED or any(outcome.interrupted for outcome in outcomes),
        notes=tuple(notes),
        regions=tuple(regions),
    )


def _problems(model: Model, regions: Sequence[Region], keep_going: bool) -> Iterator[Finding]:
    """Yields the problem to report. With ``keep_going``, yields each problem at its least depth."""

    def order(finding: Finding) -> tuple[int, int, bool, int]:
        number = finding.property
        on_state = number is not None and not model.properties[number].kind.of_steps
        return finding.depth, ORDER.index(finding.verdict), on_state, finding.index

    symbol = model.symbols[0]
    every = [
        replace(finding, constants=(Choice(symbol.path, symbol.type, region.value),))
        for region in regions
        for finding in region.outcome.findings
        if finding.verdict is not Verdict.UNREACHED
    ]

    def level(finding: Finding) -> int:
        """Returns the level that a search expands when it finds the problem."""
        property_index = finding.index - len(model.actions)
        late = finding.verdict is Verdict.DEADLOCK or (
            finding.verdict is Verdict.ERROR
            and property_index >= 0
            and model.properties[property_index].kind.allows_end
        )
        return finding.depth if late else finding.depth - 1

    # The first error for any value ends the search, as with a fixed constant.
    fatal = (Verdict.ASSUMPTION, Verdict.ERROR, Verdict.ASSERTION)
    ends = min((level(finding) for finding in every if finding.verdict in fatal), default=None)
    if ends is not None:
        every = [finding for finding in every if level(finding) <= ends]
    reported: set[tuple[Verdict, int]] = set()
    for finding in sorted(every, key=order):
        kind = finding.verdict, finding.index
        if kind not in reported and (keep_going or not reported):
            reported.add(kind)
            yield finding


def _coverage(model: Model, outcomes: Sequence[Outcome]) -> Coverage:
    """Returns the union of the coverage of all values."""
    parts = [outcome.coverage for outcome in outcomes]
    blocked: dict[int, int] = {}
    for part in parts:
        for guard, times in part.blocked.items():
            blocked[guard] = blocked.get(guard, 0) + times
    stuck = [part.stuck for part in parts if part.stuck.count]
    return Coverage(
        tuple(map(sum, zip(*(part.taken for part in parts), strict=True)))
        or (0,) * len(model.actions),
        frozenset[int]().union(*(part.marks for part in parts)),
        blocked,
        sum(part.cut for part in parts),
        frozenset[int]().union(*(part.reached for part in parts)),
        Stuck(sum(part.count for part in stuck), stuck[0].trace if stuck else None),
    )


def _statistics(outcomes: Sequence[Outcome], seconds: float) -> Statistics:
    """Sums the statistics of the regions. The depth is the maximum instead."""
    parts = [outcome.statistics for outcome in outcomes]

    def added(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        return tuple(sum(column) for column in zip_longest(*rows, fillvalue=0))

    return Statistics(
        sum(part.distinct for part in parts),
        sum(part.generated for part in parts),
        max((part.depth for part in parts), default=0),
        added([part.levels for part in parts]),
        added([part.transitions for part in parts]),
        seconds,
        peak_bytes(),
    )


def _notes(regions: Sequence[Region]) -> Iterator[str]:
    """Yields the notes of all regions, without duplicates."""
    yield from dict.fromkeys(note for region in regions for note in region.outcome.notes)
