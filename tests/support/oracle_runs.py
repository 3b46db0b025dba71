"""Runs random specs and compares the engines' results with those of an independent oracle.

A signal or a limit disturbs some of the runs at a random moment. The answer of such a run may be
inconclusive, but never wrong.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from random import Random
from threading import Timer
from typing import Any

from tests.naive.behaviours import Fails, TooLarge, graph_of, violated, wrong_lasso
from tests.naive.expressions import Undefined
from tests.strategies import orbits
from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import Observed, Run, assert_same, summary
from tests.support.comparisons import (
    REFUSED,
    behaviour_number,
    behaviour_run,
    by_naive,
    formula_of,
    lasso_in,
    plain,
    symmetric_run,
)

from fencepost.checker.engines import load
from fencepost.checker.native.search import Local
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Engine, Unsupported
from fencepost.checker.resources import peak_bytes
from fencepost.spec.core.formulas import Or

ENGINES = ("interpreter", "local")
MAX_STATES = 80
DISTURBED = 0.25
"""The share of runs that are disturbed."""
DISTURBANCES = ("SIGINT", "SIGTERM", "timeout", "memory")
MAX_WORKERS = 3
ANSWERS = (
    *(" ".join(pair).strip() for pair in product(ENGINES, ("", *DISTURBANCES))),
    "fewer",
)
"""The keys of a row besides the verdict: one for the answer of each engine, including disturbed
runs.
"""
TOO_LARGE, INTERRUPTED = "too large", "interrupted"
Row = dict[str, Any]


def engine_of(name: str) -> Engine:
    return Local("quick") if name == "local" else load(name)


def answered(engine: str, run: Run, random: Random, disturbance: str | None) -> Outcome | None:
    """Returns the outcome of a run, or None if a signal arrived before or after the engine's own
    part.

    Raises `KeyboardInterrupt` for an external signal.
    """
    run = run.within(workers=random.randint(1, MAX_WORKERS))
    if engine == "interpreter":
        run = run.within(workers=1)
    # From a tenth of a millisecond to a tenth of a second, since most runs take some milliseconds.
    delay = 10 ** random.uniform(-4, -1)
    match disturbance:
        case "timeout":
            run = run.within(timeout=delay)
        case "memory":
            run = run.within(memory=peak_bytes() + int(delay * 2**24))
        case "SIGINT" | "SIGTERM":
            try:
                with _signalled(signal.Signals[disturbance], delay):
                    return run.outcome(engine_of(engine))
            except KeyboardInterrupt:
                return None
        case _:
            pass
    outcome = run.outcome(engine_of(engine))
    if outcome.interrupted:
        # The signal was meant for the whole campaign.
        raise KeyboardInterrupt
    return outcome


@contextmanager
def _signalled(number: signal.Signals, delay: float) -> Generator[None]:
    """Sends this process a signal after a delay, unless the block ends earlier."""
    kept = signal.signal(signal.SIGTERM, signal.default_int_handler)
    timer = Timer(delay, os.kill, (os.getpid(), number))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGTERM, kept)


# ---------------------------------------------------------------- behaviours


def truth_of(run: Run) -> str:
    """Returns the oracle's answer for the property: ok, violated, inconclusive or error."""
    try:
        graph = graph_of(run.model)
        if violated(run.model, graph, formula_of(run)):
            return "violated"
    except (Undefined, Fails):
        return "error"
    whole = run.model.properties[behaviour_number(run)].within or not graph.cut
    return "ok" if whole else "inconclusive"


def is_vacuous(run: Run) -> bool:
    """Returns whether a property ignores all behaviours because each of them leaves a
    constraint.
    """
    graph = graph_of(run.model)
    bounded = run.model.properties[behaviour_number(run)].within and graph.cut
    return bounded and not violated(run.model, graph, Or(()))


def behaviours_agree(
    seed: int, engines: tuple[str, ...] = ENGINES, share: float = DISTURBED
) -> Row:
    """Compares the engines and the oracle on the random spec of a seed, which has a temporal
    property.
    """
    run = behaviour_run(behaviour_spec(Random(seed)))
    try:
        truth = truth_of(run)
    except TooLarge:
        return {"verdict": TOO_LARGE}
    row: Row = {"verdict": truth}
    for key, outcome, disturbed in _answers(run, engines, Random(-seed - 1), share, row):
        where = f"seed {seed}, {key}, the oracle says {truth}: {run}"
        allowed = {truth, "inconclusive"} if disturbed else {truth}
        assert outcome.verdict.value in allowed, f"{outcome.verdict}, {where}"
        assert_supported(run, outcome, where)
    return row


def assert_supported(run: Run, outcome: Outcome, where: str) -> None:
    """Requires that the oracle agrees with the trace of an outcome, and that a note says whether
    the property is vacuous.
    """
    if outcome.verdict is Verdict.OK:
        assert any("vacuous" in note for note in outcome.notes) is is_vacuous(run), where
    if outcome.verdict is Verdict.VIOLATED:
        # The trace is a fair behaviour that violates the property.
        lasso = lasso_in(outcome)
        assert lasso is not None
        states, loop = lasso.states, lasso.loop
        wrong = wrong_lasso(run.model, graph_of(run.model), formula_of(run), states, loop)
        assert wrong is None, f"{wrong}, {where}"


def _answers(
    run: Run, engines: Sequence[str], random: Random, share: float, row: Row
) -> Iterator[tuple[str, Outcome, bool]]:
    """Yields the outcome of each engine with its key in the row.

    For a share of the engines, the outcome of a disturbed run follows.
    """
    for engine in engines:
        disturbances: list[str | None] = [None]
        if random.random() < share:
            disturbances.append(random.choice(DISTURBANCES))
        for disturbance in disturbances:
            key = f"{engine} {disturbance}" if disturbance else engine
            try:
                outcome = answered(engine, run, random, disturbance)
            except Unsupported:
                # The formula has too many operators.
                row[key] = REFUSED
                continue
            row[key] = INTERRUPTED if outcome is None else outcome.verdict.value
            if outcome is not None:
                yield key, outcome, disturbance is not None


# ---------------------------------------------------------------- symmetric types


def symmetry_agrees(seed: int, engines: tuple[str, ...] = ENGINES, share: float = DISTURBED) -> Row:
    """Compares searches of orbits with the second interpreter, which visits all states.

    The spec is the random one of a seed, and has symmetric types.
    """
    random = Random(-seed - 1)
    run = symmetric_run(orbits.grown(seed), MAX_STATES)
    if run is None:
        return {"verdict": REFUSED}
    run = replace(run, keep_going=random.random() < 0.5)
    wanted = by_naive(run)
    row: Row = {"verdict": wanted.verdict}
    for key, outcome, disturbed in _answers(run, engines, random, share, row):
        where = f"seed {seed}, {key}, {run}"
        if not disturbed:
            counts = outcome.statistics
            row["fewer"] = counts.orbits is not None and counts.orbits < counts.distinct
            assert_same(wanted, plain(summary(run.model, outcome)), where)
        elif outcome.findings and not _same_verdict(wanted, outcome):
            # If several problems have the same depth, an interrupted search may have reported a
            # later one.
            reported = {(finding.verdict.value, finding.depth) for finding in outcome.findings}
            deepest = max(level for _, level in reported)
            possible = by_naive(replace(run, keep_going=True).within(depth=deepest)).findings
            assert reported <= {(finding.verdict, finding.depth) for finding in possible}, where
        elif outcome.verdict is not Verdict.INCONCLUSIVE:
            assert outcome.verdict.value == wanted.verdict, where
    return row


def _same_verdict(wanted: Observed, outcome: Outcome) -> bool:
    """Checks whether both results have the same first problem."""
    first, other = wanted.findings[:1], outcome.findings[:1]
    return [(finding.verdict, finding.depth) for finding in first] == [
        (finding.verdict.value, finding.depth) for finding in other
    ]


ORACLES: Mapping[str, Callable[[int, tuple[str, ...]], Row]] = {
    "behaviours": behaviours_agree,
    "symmetry": symmetry_agrees,
}
