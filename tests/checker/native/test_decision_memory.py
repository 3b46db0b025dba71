"""Large allocations of the decision phase are announced to the memory account first."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable

import pytest
from tests.support.agreement import model_of

from fencepost.checker.engines import load
from fencepost.checker.native import graph, lassos, product
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits, Request
from fencepost.checker.search.deciding import Decision

SIDE, SMALL_SIDE = 360, 60
BATCH = 1 << 11
"""States per batch in this test."""
UNASKED = 900_000
"""The bytes that may be allocated without an announcement, for batches and lists of levels: less
than eight per state.
"""

TORUS = """
const N: int = {side}
var a: 0..N - 1 = 0
var b: 0..N - 1 = 0
fair action up: a = (a + 1) % N
{fairness}action right: b = (b + 1) % N
action down: a = if a == 0 then 0 else a - 1
property P: {formula}
"""


def torus(side: int, fairness: str, formula: str) -> Request:
    """Returns a request to check a torus of ``side * side`` states."""
    model = model_of(TORUS.format(side=side, fairness=fairness, formula=formula))
    chosen = frozenset(n for n, prop in enumerate(model.properties) if prop.kind.selectable)
    return Request(model, chosen, deadlock=False, limits=Limits(workers=2))


class Ledger:
    """Compares the peak of Python's allocations in a phase with the bytes that were announced."""

    def __init__(self) -> None:
        self.excess = 0
        self.asked = 0
        self._granted: int | None = None

    def grant(self, size: int) -> None:
        """Announces ``size`` bytes in addition to the current allocation."""
        now = self._compare()
        self._granted = max(self._granted or 0, now + size)
        self.asked += size

    def enter(self, *_: object) -> None:
        """Begins a phase; announcements made before it do not count."""
        self._granted = self._compare()

    def _compare(self) -> int:
        now, peak = tracemalloc.get_traced_memory()
        # Before the first phase, the search has already allocated memory.
        if self._granted is not None:
            self.excess = max(self.excess, peak - self._granted)
        tracemalloc.reset_peak()
        return now


@pytest.mark.parametrize(
    ("fairness", "formula", "verdict"),
    [
        ("", "always eventually b == 7", Verdict.VIOLATED),
        ("strongly fair ", "eventually always b > 3", Verdict.VIOLATED),
        ("fair ", "a == 1 leads to (b > 5 until b == 9)", Verdict.OK),
    ],
)
def test_all_memory_is_announced(
    monkeypatch: pytest.MonkeyPatch, fairness: str, formula: str, verdict: Verdict
) -> None:
    # A first run loads modules and fills caches before anything is measured.
    load("local").run(torus(SMALL_SIDE, fairness, formula))
    request, ledger = torus(SIDE, fairness, formula), Ledger()

    def observed(owner: type, name: str, note: Callable[..., None]) -> None:
        before = getattr(owner, name)

        def call(self: object, *arguments: object) -> object:
            note(*arguments)
            return before(self, *arguments)

        monkeypatch.setattr(owner, name, call)

    monkeypatch.setattr(graph, "STEP_BATCH", BATCH)
    for module in (product, lassos):
        monkeypatch.setattr(module, "BATCH", BATCH)
    observed(Memory, "afford", ledger.grant)
    observed(Explorer, "pause", lambda: ledger.grant(0))
    observed(Decision, "enter", ledger.enter)
    # The table of interned strings must not grow while memory is measured.
    interned = [sys.intern(f"interned {number}") for number in range(100_000)]
    tracemalloc.start()
    try:
        outcome = load("local").run(request)
    finally:
        tracemalloc.stop()
    assert interned
    assert outcome.verdict is verdict
    assert ledger.asked > 0
    assert ledger.excess <= UNASKED
