"""Evaluates a model's properties in a single state or step, for interactive tools. Searches
evaluate properties on their own.
"""

from __future__ import annotations

from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner


@dataclass(frozen=True, slots=True)
class Judgement:
    """The properties that are ``violated``, and those whose evaluation failed, with the number of
    the error's site.

    ``outside`` says whether a constraint is false or undefined.
    """

    violated: tuple[int, ...] = ()
    failed: tuple[tuple[int, int], ...] = ()
    outside: bool = False

    @property
    def bad(self) -> bool:
        """Whether any property is violated or undefined."""
        return bool(self.violated or self.failed)


def sentences(model: Model, judgement: Judgement) -> list[str]:
    """Returns a sentence for each problem."""
    properties, sites = model.properties, model.sites
    texts = [f"violates {properties[number].title}" for number in judgement.violated]
    texts += [
        f"{properties[number].title} has no value: {sites[site].message}"
        for number, site in judgement.failed
    ]
    return texts


NOTHING = Judgement()
"""The judgement that reports no problems."""


def judge(runner: Runner, before: State | None, state: State) -> Judgement:
    """Judges ``state``, and the step from ``before`` to it unless ``before`` is None."""
    return _judged(runner, before, state, steps_only=False)


def judge_step(runner: Runner, before: State, state: State) -> Judgement:
    """Judges only the step from ``before`` to ``state``."""
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
