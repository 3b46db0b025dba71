"""Random specs whose answer an independent oracle knows, held to what the engines find.

Some runs are disturbed by a signal or a limit at a random moment. Then the answer may be
inconclusive, but never wrong.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from random import Random
from threading import Timer
from typing import Any

from tests import naive
from tests.naive.behaviours import Fails, TooLarge, graph_of, violated, wrong_lasso
from tests.naive.expressions import Undefined
from tests.random.test_naive_agrees import plain
from tests.strategies import orbits
from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import Observed, assert_same, loaded, summary
from tests.support.behaviour_runs import Behaved, behaved

from fencepost.checker.engines import load
from fencepost.checker.native.search import Local
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Engine, Limits, Request
from fencepost.checker.resources import peak_bytes
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

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
"""The keys of a row besides the verdict: an answer of each engine, also of disturbed runs."""
REFUSED, TOO_LARGE, INTERRUPTED = "refused", "too large", "interrupted"
Row = dict[str, Any]


def engine_of(name: str) -> Engine:
    return Local("quick") if name == "local" else load(name)


def answered(
    engine: str, request: Request, random: Random, disturbance: str | None
) -> Outcome | None:
    """The outcome of a run; None if a signal arrived before or after the engine's own part.

    Raises `KeyboardInterrupt` for a signal from elsewhere.
    """
    limits = replace(request.limits, workers=random.randint(1, MAX_WORKERS))
    if engine == "interpreter":
        limits = replace(limits, workers=1)
    # From a tenth of a millisecond to a tenth of a second: most runs take some milliseconds.
    delay = 10 ** random.uniform(-4, -1)
    match disturbance:
        case "timeout":
            limits = replace(limits, timeout=delay)
        case "memory":
            limits = replace(limits, memory=peak_bytes() + int(delay * 2**24))
        case "SIGINT" | "SIGTERM":
            try:
                with _signalled(signal.Signals[disturbance], delay):
                    return engine_of(engine).run(replace(request, limits=limits))
            except KeyboardInterrupt:
                return None
        case _:
            pass
    outcome = engine_of(engine).run(replace(request, limits=limits))
    if outcome.interrupted:
        # By a signal that was meant for the whole campaign.
        raise KeyboardInterrupt
    return outcome


@contextmanager
def _signalled(number: signal.Signals, delay: float) -> Generator[None]:
    """Sends this process a signal after a delay, inside the block or else not at all."""
    kept = signal.signal(signal.SIGTERM, signal.default_int_handler)
    timer = Timer(delay, os.kill, (os.getpid(), number))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGTERM, kept)


def _disturbances(random: Random, share: float) -> list[str | None]:
    """A run as it is, and perhaps a disturbed one."""
    return [None, random.choice(DISTURBANCES)] if random.random() < share else [None]


# ---------------------------------------------------------------- behaviours


def truth_of(spec: Behaved) -> str:
    """What the oracle says of the property: ok, violated, inconclusive or error."""
    try:
        graph = graph_of(spec.model)
        if violated(spec.model, graph, spec.formula):
            return "violated"
    except (Undefined, Fails):
        return "error"
    return "inconclusive" if graph.cut else "ok"


def behaviours_agree(
    seed: int, engines: tuple[str, ...] = ENGINES, share: float = DISTURBED
) -> Row:
    """The random spec of a number with a property of behaviours: the engines and the oracle."""
    spec = behaved(behaviour_spec(Random(seed)))
    random = Random(-seed - 1)
    try:
        truth = truth_of(spec)
    except TooLarge:
        return {"verdict": TOO_LARGE}
    row: Row = {"verdict": truth}
    chosen = frozenset(n for n, prop in enumerate(spec.model.properties) if prop.kind.selectable)
    request = Request(spec.model, chosen, deadlock=False)
    for engine in engines:
        for disturbance in _disturbances(random, share):
            outcome = answered(engine, request, random, disturbance)
            key = f"{engine} {disturbance}" if disturbance else engine
            row[key] = INTERRUPTED if outcome is None else outcome.verdict.value
            if outcome is not None:
                where = f"seed {seed}, {key}, the oracle says {truth}:\n{spec.text}"
                _assert_behaves(spec, outcome, truth, disturbance is not None, where)
    return row


def _assert_behaves(
    spec: Behaved, outcome: Outcome, truth: str, disturbed: bool, where: str
) -> None:
    """A verdict is that of the oracle, and a trace a fair behaviour that violates the property."""
    allowed = {truth, "inconclusive"} if disturbed else {truth}
    assert outcome.verdict.value in allowed, f"{outcome.verdict}, {where}"
    if outcome.verdict is not Verdict.VIOLATED:
        return
    trace = outcome.findings[0].trace
    assert trace is not None, where
    assert trace.loop is not None, where
    states = [step.state for step in trace.steps if step.state is not None]
    graph = graph_of(spec.model)
    wrong = wrong_lasso(spec.model, graph, spec.formula, states, trace.loop)
    assert wrong is None, f"{wrong}, {where}"


# ---------------------------------------------------------------- symmetric types


def symmetry_agrees(seed: int, engines: tuple[str, ...] = ENGINES, share: float = DISTURBED) -> Row:
    """The random spec of a number with symmetric types: searches of orbits, and all states by the
    second interpreter.
    """
    text = orbits.grown(seed)
    random = Random(-seed - 1)
    try:
        read = loaded(text)
        model = program.build(read, read.checks[0])
    except Rejected as rejected:
        # A loop may send to a channel that keeps an order.
        if {problem.code for problem in rejected.problems} - {"F846", "F420"}:
            raise
        return {"verdict": REFUSED}
    properties = program.select(model, read.checks[0])
    going = random.random() < 0.5

    def every(depth: int | None, keep_going: bool, most: int | None) -> Observed:
        return naive.observed(model, properties, True, depth, keep_going, most)

    wanted = every(None, going, MAX_STATES)
    depth: int | None = None
    if wanted.limit is not None or wanted.distinct >= MAX_STATES:
        depth = max(len(wanted.transitions) - 1, 0)
        wanted = every(depth, going, None)
    row: Row = {"verdict": wanted.verdict}
    request = Request(model, properties, limits=Limits(depth=depth), keep_going=going)
    for engine in engines:
        for disturbance in _disturbances(random, share):
            outcome = answered(engine, request, random, disturbance)
            key = f"{engine} {disturbance}" if disturbance else engine
            row[key] = INTERRUPTED if outcome is None else outcome.verdict.value
            where = f"seed {seed}, {key}, depth {depth}, keep going {going}\n{text}"
            if outcome is None:
                continue
            if disturbance is None:
                counts = outcome.statistics
                row["fewer"] = counts.orbits is not None and counts.orbits < counts.distinct
                assert_same(wanted, plain(summary(model, outcome)), where)
            elif outcome.findings and not _same_verdict(wanted, outcome):
                # Of several problems of one depth a search that was cut may have found another.
                found = {(one.verdict.value, one.depth) for one in outcome.findings}
                deepest = max(level for _, level in found)
                known = every(deepest, True, None).findings
                assert found <= {(one.verdict, one.depth) for one in known}, where
            elif outcome.verdict is not Verdict.INCONCLUSIVE:
                assert outcome.verdict.value == wanted.verdict, where
    return row


def _same_verdict(wanted: Observed, outcome: Outcome) -> bool:
    """Whether both end with the same first problem."""
    first, other = wanted.findings[:1], outcome.findings[:1]
    return [(one.verdict, one.depth) for one in first] == [
        (one.verdict.value, one.depth) for one in other
    ]


ORACLES: Mapping[str, Callable[[int, tuple[str, ...]], Row]] = {
    "behaviours": behaviours_agree,
    "symmetry": symmetry_agrees,
}
