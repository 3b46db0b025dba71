"""Temporal properties in machine code: which edges are generated, how they are stored, and how a
run ends when memory runs out.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

import pytest
from tests.support.agreement import model_of

from fencepost.checker.engines import load
from fencepost.checker.native import components, graph, lassos, product, streett, worker
from fencepost.checker.native.codegen.context_words import TAG_FACTOR
from fencepost.checker.native.kernels import behaviours
from fencepost.checker.outcome import Outcome, Undecided, Verdict
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.ir import Model

RING = """
const N: int = 9
type Place = 0..N - 1
var at: Place = 0
var laps: 0..9 = 0
fair action go:
    at = (at + 1) % N
    laps = if at == N - 1 then (laps + 1) % 10 else laps
strongly fair action leap:
    require at == 3 and laps < 9
    at = 5
action rest:
    require at == 6
    laps = laps
"""


def outcome(model: Model, engine: str = "local", limits: Limits | None = None) -> Outcome:
    """Returns the outcome of checking the properties of a model."""
    chosen = frozenset(n for n, prop in enumerate(model.properties) if prop.kind.selectable)
    request = Request(model, chosen, deadlock=False, limits=limits or Limits(workers=2))
    return load(engine).run(request)


def ring(formula: str) -> Model:
    """Returns the ring model with one property."""
    return model_of(f"{RING}property P: {formula}\n")


@pytest.mark.parametrize(
    ("formula", "steps"),
    [
        ("at == 3 and laps == 4 leads to at == 6", 3),
        ("laps == 9 leads to laps == 0", 8),
        ("at == 12 - 4 and laps == 10 - 9 leads to at == 0", 0),
        ("at == 3 and at == 4 leads to at == 0", 0),
    ],
)
def test_edges_are_generated_only_where_they_matter(
    monkeypatch: pytest.MonkeyPatch, formula: str, steps: int
) -> None:
    """Edges are generated only for states that can be reached from a state satisfying the left side
    without passing one that satisfies the right side.
    """
    steps_per_call: list[int] = []
    decide = product.Product.fair

    def spy(
        self: product.Product, rows: graph.Rows, rounds: list[product.Round], units: graph.Units
    ) -> list[streett.Fair]:
        steps_per_call.append(rows.steps)
        return decide(self, rows, rounds, units)

    monkeypatch.setattr(product.Product, "fair", spy)
    assert outcome(ring(formula)).verdict is Verdict.OK
    assert sum(steps_per_call) == steps


FORMULAS = (
    # The automaton has more nodes than a word has bits, and more predicates than a table can hold.
    "forall n in 0..8, m in 0..3: at == n and laps == m leads to at == 6 and laps < 9",
    "exists n in 3..5: eventually always at != n",
    "(always eventually at == 4) implies eventually always laps < 3",
    "forall n in 0..8: always eventually at == n",
    "always eventually (at == 4 and eventually laps == 2)",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_lasso_does_not_depend_on_the_storage_of_edges(
    monkeypatch: pytest.MonkeyPatch, formula: str
) -> None:
    model = ring(formula)
    wanted = outcome(model, "interpreter")
    outcomes = [outcome(model)]
    # Repeats the run with wide words, with buffers that must be reallocated, and in small batches.
    monkeypatch.setattr(graph, "NARROW_BITS", 0)
    monkeypatch.setattr(graph, "MIN_ROOM", 8)
    monkeypatch.setattr(graph, "CHUNK", 3)
    monkeypatch.setattr(graph, "STEP_BATCH", 2)
    monkeypatch.setattr(product, "BATCH", 5)
    monkeypatch.setattr(lassos, "BATCH", 3)
    monkeypatch.setattr(graph, "spare_addresses", lambda: 0)
    outcomes.append(outcome(model, limits=Limits(workers=3)))
    for result in outcomes:
        assert (result.verdict, result.findings) == (wanted.verdict, wanted.findings)


@pytest.mark.parametrize("formula", FORMULAS[1:3])
def test_states_with_equal_tags_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, formula: str
) -> None:
    large = RING.replace("0..9 ", "0..99 ").replace("% 10 ", "% 100 ")
    model = model_of(f"{large}property P: {formula}\n")
    wanted = outcome(model, "interpreter")
    by_tag: list[bool] = []
    look_up_by_tag = graph.StateGraph.look_up_by_tag

    def spy(self: graph.StateGraph, by: bool) -> None:
        by_tag.append(by)
        look_up_by_tag(self, by)

    monkeypatch.setattr(graph.StateGraph, "look_up_by_tag", spy)
    # All states are in one table, so that many have a neighbour.
    monkeypatch.setattr(worker, "TABLES", 1)
    monkeypatch.setattr(worker, "MIN_TABLES", 1)
    for factor, decisive in ((TAG_FACTOR, True), (0, False)):
        monkeypatch.setattr(behaviours, "TAG_FACTOR", factor)
        by_tag.clear()
        result = outcome(model)
        assert (result.verdict, result.findings) == (wanted.verdict, wanted.findings)
        assert any(by_tag) is decisive


SCHEDULER = """
const N: int = 4
type Place = 0..N - 1
enum Stage: Waiting, Called, Started
var signal: map[Place, bool] = [i == 0 for i in Place]
role Cycler[i: Place]:
    var stage: Stage = Waiting
    var running: bool = false
    fair action take_signal:
        require signal[i] and stage == Waiting and not running
        signal[i] = false
        stage = Called
    fair action start:
        require stage == Called
        stage = Started
        running = true
    fair action signal_next:
        require stage == Started
        stage = Waiting
        signal[(i + 1) % N] = true
    fair action end_task:
        require running
        running = false
def stopped: bool = forall i in Place: not signal[i] and Cycler[i].stage == Waiting
strongly fair action stop:
    require signal[0] and GUARD
    signal[0] = false
"""


@pytest.mark.parametrize(
    ("guard", "formula", "verdict"),
    [
        # Without the states where it can be stopped, no cycle remains.
        ("true", "eventually stopped", Verdict.OK),
        # A cycle that avoids these states, takes every unit, and returns to its start.
        ("not Cycler[2].running", "eventually stopped", Verdict.VIOLATED),
        (
            "not Cycler[2].running",
            "forall i in Place: Cycler[i].running leads to stopped",
            Verdict.VIOLATED,
        ),
    ],
)
def test_a_cycle_in_the_rest_of_a_component(guard: str, formula: str, verdict: Verdict) -> None:
    model = model_of(f"{SCHEDULER.replace('GUARD', guard)}property P: {formula}\n")
    wanted = outcome(model, "interpreter")
    assert wanted.verdict is verdict
    for workers in (1, 2):
        result = outcome(model, limits=Limits(workers=workers))
        assert (result.verdict, result.findings) == (wanted.verdict, wanted.findings)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (graph, "PLACE_BYTES"),
        (graph, "CHOOSE_BYTES"),
        (graph, "GATHER_BYTES"),
        (product, "ROUND_WORDS"),
        (product, "COLUMN_BYTES"),
        (product, "COLLECT_BYTES"),
        (components, "STACK_BYTES"),
        (product, "CYCLIC_BYTES"),
        (streett, "COMPARE_BYTES"),
        (streett, "INSIDE_BYTES"),
        (streett, "UNIT_BYTES"),
        (streett, "PAIR_BYTES"),
        (lassos, "MARK_BYTES"),
        (lassos, "ROUND_BYTES"),
    ],
)
def test_a_property_without_enough_memory_is_inconclusive(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    model = ring("eventually always at != 7")
    assert outcome(model).verdict is Verdict.VIOLATED
    monkeypatch.setattr(module, name, 1 << 60)
    ended = outcome(model, limits=Limits(workers=1, memory=1 << 40))
    assert ended.verdict is Verdict.INCONCLUSIVE
    assert ended.cut is not None
    assert ended.cut.kind == "memory"
    assert ended.undecided == Undecided((0,), None)


@pytest.mark.parametrize("name", ["rounds", "fair", "spread"])
def test_an_interrupt_keeps_the_results_so_far(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def interrupted(*_: object) -> Iterable[product.Round]:
        raise KeyboardInterrupt

    monkeypatch.setattr(product.Product, name, interrupted)
    ended = outcome(ring("eventually always at != 7"))
    assert ended.verdict is Verdict.INCONCLUSIVE
    assert ended.interrupted
    assert ended.statistics.distinct == 90
