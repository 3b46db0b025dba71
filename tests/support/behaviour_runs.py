"""Random specs with fairness and formulas: what the engines find, held to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import model_of
from tests.support.lassos import some_lasso, steps_of

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Limits, Request, Unsupported
from fencepost.checker.temporal.lasso import Lasso, genuine
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner

MOST = 6
"""Graphs with more states have too many lassos to try them all."""
WORKERS = 3
AGREES, WITHOUT_EACH = "agrees", "agrees, without each"


@dataclass(frozen=True, slots=True)
class Behaved:
    """A spec with one property of behaviours, number ``property``, and what is asked of engines."""

    text: str
    model: Model
    property: int

    @property
    def formula(self) -> Formula:
        """The formula of the property."""
        found = self.model.properties[self.property].formula
        assert found is not None
        return found

    def by(self, engine: str, limits: Limits | None = None) -> Outcome:
        """What an engine finds; a deadlock is no problem."""
        chosen = frozenset(
            n for n, prop in enumerate(self.model.properties) if prop.kind.selectable
        )
        asked = Request(self.model, chosen, deadlock=False, limits=limits or Limits(workers=1))
        return load(engine).run(asked)


def behaved(text: str) -> Behaved:
    """A spec with one property of behaviours, read."""
    model = model_of(text)
    number = next(n for n, prop in enumerate(model.properties) if prop.kind.of_behaviours)
    return Behaved(text, model, number)


def grown_behaved(seed: int) -> Behaved:
    """The random spec of a number."""
    return behaved(behaviour_spec(Random(seed)))


def lasso_in(outcome: Outcome) -> Lasso | None:
    """The lasso of the first finding; None: there is none."""
    if outcome.verdict is not Verdict.VIOLATED:
        return None
    trace = outcome.findings[0].trace
    assert trace is not None
    loop = trace.loop
    assert loop is not None
    states = tuple(step.state for step in trace.steps if step.state is not None)
    return Lasso(states, ()) if loop == len(states) - 1 else Lasso(states[:loop], states[loop:])


def judged(spec: Behaved, outcome: Outcome) -> str:
    """The verdict, after the evaluator has judged the lasso; where there is none and the graph is
    small, none is found among all lassos up to a length either.
    """
    lasso = lasso_in(outcome)
    if lasso is not None:
        assert genuine(Runner(spec.model), spec.formula, lasso), f"{lasso}\n{spec.text}"
    elif len(steps_of(Runner(spec.model))[1]) <= MOST:
        missed = some_lasso(spec.model, spec.property, 2, 4)
        assert missed is None, f"{missed}\n{spec.text}"
    return outcome.verdict.value


def local_agrees(spec: Behaved, wanted: Outcome) -> str:
    """Machine code finds the same, the whole lasso included, with 1 to 3 workers."""
    for workers in range(1, WORKERS + 1):
        try:
            found = spec.by("local", Limits(workers=workers))
        except Unsupported:
            # Of what it refuses by name, the rest is compared.
            less = behaved(spec.text.replace("fair each", "fair"))
            assert less.text != spec.text, f"refused\n{spec.text}"
            local_agrees(less, less.by("interpreter"))
            return WITHOUT_EACH
        assert _seen(found) == _seen(wanted), f"{workers} workers\n{spec.text}"
    return AGREES


def _seen(outcome: Outcome) -> tuple[object, ...]:
    """All that a user sees of a run but for seconds and bytes."""
    statistics = replace(outcome.statistics, seconds=0.0, peak_bytes=0)
    return outcome.verdict, outcome.cut, outcome.findings, outcome.notes, statistics
