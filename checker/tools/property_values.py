"""What the properties of a model say of one state, or of one step: for those who look at a model
by hand. A search has its own account.
"""

from __future__ import annotations

from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner


@dataclass(frozen=True, slots=True)
class Judgement:
    """Properties by number: those that are ``violated``, and those that have no value, with the
    site of the evaluation error. ``outside``: a constraint is false, or has no value.
    """

    violated: tuple[int, ...] = ()
    failed: tuple[tuple[int, int], ...] = ()
    outside: bool = False

    @property
    def bad(self) -> bool:
        """Whether there is anything wrong."""
        return bool(self.violated or self.failed)


def sentences(model: Model, judgement: Judgement) -> list[str]:
    """What is wrong by a judgement, a sentence for each property."""
    properties, sites = model.properties, model.sites
    found = [f"violates {properties[number].title}" for number in judgement.violated]
    found += [
        f"{properties[number].title} has no value: {sites[site].message}"
        for number, site in judgement.failed
    ]
    return found


NOTHING = Judgement()
"""There is nothing to be said."""


def judge(runner: Runner, before: State | None, state: State) -> Judgement:
    """What is to be said of ``state``, and of the step to it from ``before`` if that is given."""
    return _judged(runner, before, state, steps_only=False)


def judge_step(runner: Runner, before: State, state: State) -> Judgement:
    """What is to be said of the step alone."""
    return _judged(runner, before, state, steps_only=True)


def _judged(runner: Runner, before: State | None, state: State, steps_only: bool) -> Judgement:
    violated: list[int] = []
    failed: list[tuple[int, int]] = []
    outside = False
    for number, prop in enumerate(runner.model.properties):
        kind = prop.kind
        if (
            kind.of_behaviours
            or kind.allows_end
            or (before is None if kind.of_steps else steps_only)
        ):
            continue
        try:
            holds = runner.holds(number, *kind.place(before, state))
        except EvaluationError as error:
            failed.append((number, error.site))
            outside = outside or kind.bounds_search
            continue
        if not holds and kind.bounds_search:
            outside = True
        elif not holds and kind.must_hold:
            violated.append(number)
    return Judgement(tuple(violated), tuple(failed), outside)
