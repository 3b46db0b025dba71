"""Random specs with fairness and formulas: what the engines find, held to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import model_of
from tests.support.lassos import some_lasso, steps_of

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Limits, Request
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso, genuine
from fencepost.checker.temporal.normal import TooLarge
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner

MOST = 6
"""Graphs with more states have too many lassos to try them all."""
WORKERS = 3
STEPS = 4
AGREES = "agrees"


@dataclass(frozen=True, slots=True)
class Behaved:
    """A spec, the number of its one property of behaviours, and what is asked of engines."""

    text: str
    model: Model
    number: int

    @property
    def formula(self) -> Formula:
        """The formula of the property."""
        found = self.model.properties[self.number].formula
        assert found is not None
        return found

    def by(self, engine: str, limits: Limits | None = None) -> Outcome:
        """What an engine finds; a deadlock is no problem. Raises `KeyboardInterrupt`."""
        chosen = frozenset(
            n for n, prop in enumerate(self.model.properties) if prop.kind.selectable
        )
        asked = Request(self.model, chosen, deadlock=False, limits=limits or Limits(workers=1))
        outcome = load(engine).run(asked)
        if outcome.interrupted:
            # By a signal that was meant for all of a campaign; what was found is no finding.
            raise KeyboardInterrupt
        return outcome


def behaved(text: str) -> Behaved:
    """A spec with one property of behaviours, read."""
    model = model_of(text)
    number = next(n for n, prop in enumerate(model.properties) if prop.kind.of_behaviours)
    return Behaved(text, model, number)


def grown_behaved(seed: int) -> Behaved:
    """The random spec of a number; every second one has a formula of up to 60 operators, which is
    not refused.
    """
    random = Random(seed)
    if seed % 2 == 0:
        return behaved(behaviour_spec(random))
    while True:
        spec = behaved(behaviour_spec(random, depth=6))
        try:
            violating(spec.formula)
        except TooLarge:
            continue
        return spec


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
        assert lasso == lasso.rotated(), f"the stem ends with a step of the cycle: {lasso}"
    elif len(steps_of(Runner(spec.model))[1]) <= MOST:
        missed = some_lasso(spec.model, spec.number, 2, 4)
        assert missed is None, f"{missed}\n{spec.text}"
    return outcome.verdict.value


def local_agrees(spec: Behaved, wanted: Outcome) -> str:
    """Machine code finds the same, the whole lasso included, with 1 to 3 workers."""
    for workers in range(1, WORKERS + 1):
        found = spec.by("local", Limits(workers=workers))
        pairs = zip(_seen(found), _seen(wanted), strict=True)
        differing = [f"{one}\nand not {other}" for one, other in pairs if one != other]
        told = "\n".join(differing)
        assert not differing, f"{workers} workers: {told}\n{spec.text}"
    return AGREES


def bounded_agrees(spec: Behaved, wanted: Outcome) -> str:
    """Bounded model checking finds nothing that the interpreter does not, and every lasso of at
    most `STEPS` steps: that of the interpreter, and in a small graph whichever there is.
    """
    found = spec.by("bmc", Limits(depth=STEPS))
    lasso = lasso_in(found)
    if lasso is not None:
        assert genuine(Runner(spec.model), spec.formula, lasso), f"{lasso}\n{spec.text}"
        assert len(lasso.states) - 1 <= STEPS
        assert wanted.verdict is Verdict.VIOLATED, f"{lasso}\n{spec.text}"
        return f"{AGREES}: {found.verdict.value}"
    if found.verdict is Verdict.OK:
        assert wanted.verdict is Verdict.OK, spec.text
    known = lasso_in(wanted)
    if known is not None:
        # Whether the last state of a path can be left, only a longer path says.
        assert len(known.states) - 1 > STEPS - (not known.cycle), f"missed {known}\n{spec.text}"
    if len(steps_of(Runner(spec.model))[1]) <= MOST:
        for stem in range(STEPS):
            missed = some_lasso(spec.model, spec.number, stem, STEPS - stem)
            assert missed is None, f"missed {missed}\n{spec.text}"
    return f"{AGREES}: {found.verdict.value}"


def _seen(outcome: Outcome) -> tuple[object, ...]:
    """All that a user sees of a run but for seconds and bytes."""
    statistics = replace(outcome.statistics, seconds=0.0, peak_bytes=0, decided_seconds=None)
    return outcome.verdict, outcome.cut, outcome.findings, outcome.notes, statistics
