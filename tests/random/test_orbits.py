"""Random specs with symmetric types: a search of orbits is held to a search of all states."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tests.strategies.orbits import grown
from tests.support.agreement import assert_same, loaded, summary
from tests.support.amounts import numbers

from fencepost.checker.engines import load
from fencepost.checker.native.search import Local
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Engine, Limits, Request
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

MOST_STATES = 600
EVERY = 6
"""One spec of this many is searched by machine code, too: its making takes longer than its run."""


def request(text: str) -> Request | None:
    """A search of the spec that ends of itself, or at a depth; None: the spec is refused."""
    try:
        read = loaded(text)
        model = program.build(read, read.checks[0])
    except Rejected as rejected:
        # A loop may send to a channel that keeps an order.
        if {problem.code for problem in rejected.problems} - {"F846", "F420"}:
            raise
        return None
    properties = program.select(model, read.checks[0])
    limits = Limits(max_states=MOST_STATES, workers=1)
    every = Request(model, properties, limits=limits, symmetry=False, keep_going=True)
    found = load("interpreter").run(every)
    if found.cut is None:
        return replace(every, limits=Limits(workers=1))
    depth = max(len(found.statistics.transitions) - 1, 0)
    return replace(every, limits=Limits(depth=depth, workers=1))


def test_orbits_stand_for_all_states() -> None:
    verdicts: Counter[str] = Counter()
    fewer = 0
    for number in numbers(50):
        text = grown(number)
        asked = request(text)
        if asked is None:
            continue
        for going in (False, True):
            one = replace(asked, keep_going=going)
            every = load("interpreter").run(one)
            orbits = set[int]()
            engines: list[Engine] = [load("interpreter")]
            if number % EVERY == 0:
                engines.append(Local("quick"))
            for engine in engines:
                limits = one.limits
                if engine.name == "local":
                    limits = replace(limits, workers=1 + number // EVERY % 3)
                found = engine.run(replace(one, limits=limits, symmetry=True))
                where = f"{number}, {engine.name}, {limits.workers} workers\n{text}"
                assert_same(summary(one.model, every), summary(one.model, found), where)
                fewer += _visited(found) < every.statistics.distinct
                orbits.add(_visited(found))
                assert len(orbits) == 1, where
            verdicts[every.verdict.value] += 1
    # The specs are worth it: of many there are fewer orbits than states, and all verdicts occur.
    assert fewer > len(verdicts) * 4
    assert {"ok", "violated", "error", "deadlock"} <= set(verdicts)


def _visited(found: Outcome) -> int:
    """How many states were visited; where no variable holds a value of a symmetric type, all."""
    counts = found.statistics
    return counts.distinct if counts.orbits is None else counts.orbits
