"""A naive decision procedure for scenarios, with which the engines are compared."""

from __future__ import annotations

from pathlib import Path

from tests.support.paths import spec_text

from fencepost.spec.core import ir
from fencepost.spec.core.scenario import Scenario, ScenarioStep
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims import program
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner, Successor

SPEC = spec_text("scenarios")


def staged(path: Path, text: str, name: str = "s") -> tuple[ir.Model, Scenario, program.Program]:
    """Returns the model of a spec's scenario, the scenario, and the spec."""
    path.write_text(text, encoding="utf-8")
    read = program.load(path)
    (check,) = (item for item in read.scenarios if item.name == name)
    return *program.staged(read, check), read


def plainly(model: ir.Model, scenario: Scenario, most: int = 50_000) -> tuple[bool, int]:
    """Decides whether a run matches the scenario, and returns the minimal number of its steps.

    If no run matches, the number is how many steps of the scenario can be matched at most.
    """
    runner, last = Runner(model), len(scenario.steps)
    level = {(result.state, 0) for result in runner.initial() if result.state is not None}
    seen, count = set(level), 0
    while level:
        if any(at == last and _holds(runner, scenario.expectation, state) for state, at in level):
            return True, count
        after: set[tuple[State, int]] = set()
        for state, at in level:
            if not _inside(runner, state):
                continue
            for step in runner.successors(state):
                if step.state is None:
                    continue
                if at in scenario.gaps:
                    after.add((step.state, at))
                if at < last and _fits(runner, scenario.steps[at], state, step):
                    after.add((step.state, at + 1))
        level = after - seen
        seen |= level
        count += 1
        assert len(seen) < most
    return False, max((at for _, at in seen), default=0)


def _fits(runner: Runner, wanted: ScenarioStep, state: State, step: Successor) -> bool:
    if wanted.action != step.action:
        return False
    if wanted.condition is None:
        return True
    picks = [
        node
        for node in walk(runner.model.actions[wanted.action].body)
        if isinstance(node, ir.Pick) and node.label is not None
    ]
    slots = {pick.slot: choice.value for pick, choice in zip(picks, step.choices, strict=False)}
    try:
        return bool(runner.value(wanted.condition, slots, state, None))
    except EvaluationError:
        return False


def _holds(runner: Runner, expr: ir.Expr, state: State) -> bool:
    try:
        return bool(runner.value(expr, {}, state, None))
    except EvaluationError:
        return False


def _inside(runner: Runner, state: State) -> bool:
    bounds = [n for n, item in enumerate(runner.model.properties) if item.kind.bounds_search]
    return all(runner.holds(number, state) for number in bounds)
