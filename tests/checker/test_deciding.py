"""The phase that decides temporal properties, in every engine: its figures, its progress, and runs
that it cuts short.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.support.agreement import model_of

import fencepost
from fencepost.checker.engines import load
from fencepost.checker.native.behaviours import Behaviours
from fencepost.checker.outcome import INTERRUPTED, Limit, Undecided, Verdict
from fencepost.checker.reference import search
from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search import limits
from fencepost.checker.search.account import Cut
from fencepost.checker.symbolic import run_limits
from fencepost.checker.symbolic.lassos import Lassos

SPEC = """
var n: 0..3 = 0
fair action up:
    require n < 3
    n += 1
property First: eventually n == 3
property Second: always (n == 3 implies always n == 3)
property Third: eventually n == 2
terminal: n == 3
"""
DECIDES = {
    "interpreter": (search, "violation", 1),
    "local": (Behaviours, "violation", 1),
    "bmc": (Lassos, "ways", 3),
}
"""For each engine, the function that decides a property, and the position of the formula, or of the
property's number, among the arguments.
"""
ENGINES = pytest.mark.parametrize("engine", DECIDES)
SECONDS = 0.1


def numbers() -> list[int]:
    """Returns the numbers of the temporal properties."""
    return [n for n, p in enumerate(model_of(SPEC).properties) if p.kind.of_behaviours]


def before_deciding(
    patch: pytest.MonkeyPatch, engine: str, number: int, error: BaseException | None
) -> None:
    """Makes the engine wait before it decides a property, and then raise the error if one is
    given.
    """
    owner, name, position = DECIDES[engine]
    decide = getattr(owner, name)
    asked = (number, model_of(SPEC).properties[number].formula)

    def late(*arguments: object, **options: object) -> object:
        if arguments[position] in asked:
            time.sleep(SECONDS)
            if error is not None:
                raise error
        return decide(*arguments, **options)

    patch.setattr(owner, name, late)


@ENGINES
def test_figures_cover_the_decision(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    before_deciding(monkeypatch, engine, numbers()[1], None)
    outcome = load(engine).run(Request(model_of(SPEC), frozenset(numbers())))
    statistics = outcome.statistics
    assert outcome.verdict is Verdict.OK
    assert statistics.decided_seconds is not None
    assert SECONDS <= statistics.decided_seconds <= statistics.seconds
    assert statistics.searched_seconds + statistics.decided_seconds == pytest.approx(
        statistics.seconds
    )


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_memory_covers_the_decision(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """Memory allocated during the decision counts towards the peak."""
    owner, name, _ = DECIDES[engine]
    decide, size = getattr(owner, name), 64 << 20
    peaks: list[int] = []

    def large(*arguments: object, **options: object) -> object:
        peaks.append(peak_bytes())
        kept = b"\x01" * (peaks[0] + size)
        assert kept
        return decide(*arguments, **options)

    monkeypatch.setattr(owner, name, large)
    outcome = load(engine).run(Request(model_of(SPEC), frozenset(numbers())))
    assert outcome.statistics.peak_bytes >= peaks[0] + size


@ENGINES
def test_progress_names_the_property(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    for module in (limits, run_limits):
        monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.0)
    shown: list[Progress] = []
    load(engine).run(Request(model_of(SPEC), frozenset(numbers()), progress=shown.append))
    deciding = [progress.deciding for progress in shown if progress.deciding is not None]
    assert {state.property for state in deciding} >= {"property First", "property Third"}
    assert shown[0].deciding is None or engine == "local"


@ENGINES
@pytest.mark.parametrize(
    ("limit", "ended"),
    [(Limit("timeout", 5), "cut by --timeout 5"), (INTERRUPTED, "interrupted")],
)
def test_a_cut_during_the_decision(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str, limit: Limit, ended: str
) -> None:
    _, second, third = numbers()
    before_deciding(monkeypatch, engine, second, Cut(limit))
    spec = tmp_path / "counter.fence"
    spec.write_text(SPEC, "utf-8")
    result = fencepost.check(spec, engine=engine, depth=6 if engine == "bmc" else None)
    (check,) = result.checks
    outcome = check.outcome
    counted = engine != "bmc"
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.interrupted is (limit == INTERRUPTED)
    assert outcome.undecided == Undecided((second, third), None if counted else limit)
    text, (report,) = str(result), json.loads(json.dumps(result.to_json()))["checks"]
    assert f"not decided   property Second ({ended}); property Third" in text
    if counted:
        assert f"deciding property Second was {ended}, after all 4 states were visited" in text
        assert "every reachable state (exact)" in text
    else:
        assert f"deciding property Second was {ended} after 0 steps" in text
        assert "not every lasso among the longest" in text
    assert "nothing is known beyond" not in text
    assert report["undecided"] == {
        "properties": ["property Second", "property Third"],
        "cut": str(limit),
    }
    assert report["times"]["decided"] >= SECONDS
    assert report["seconds"] >= report["times"]["decided"]


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_a_cut_during_the_decision_after_a_cut_search(
    monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    first, second, third = numbers()
    before_deciding(monkeypatch, engine, first, Cut(Limit("timeout", 5)))
    request = Request(model_of(SPEC), frozenset(numbers()), limits=Limits(depth=2))
    outcome = load(engine).run(request)
    assert outcome.cut == Limit("timeout", 5)
    assert outcome.undecided == Undecided((first, second, third), Limit("depth", 2))
    assert outcome.search_cut == Limit("depth", 2)
