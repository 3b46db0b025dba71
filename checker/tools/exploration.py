"""An interactive session on a model, which consists of a walk and queries about its states.

The explorers in the terminal and in the browser both use this module. It performs no input or
output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from fencepost import __version__
from fencepost.checker.outcome import Step, Trace, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.run.words import plural
from fencepost.checker.tools.interactive_walk import GoalSearch, Option, Walk
from fencepost.checker.tools.property_values import sentences
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.of_search import document
from fencepost.checker.trace.steps import families, title, write_state
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.open_ranges import NO_RANGES
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Check, Program, build
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Problem, Rejected

MAX_STATES = 200_000
"""The default maximum number of states for `Exploration.goto`."""
NO_VALUE = "it has no value here"


class Stopped(Exception):
    """Raised when `Exploration.stop` ended a search."""


@dataclass(frozen=True, slots=True)
class WatchedCondition:
    """An expression together with a function that returns its value as text, or None if it is
    undefined. ``known`` caches its values.
    """

    text: str
    evaluate: Callable[[State], str | None]
    known: dict[State, str | None] = field(default_factory=dict[State, str | None])

    def value(self, state: State) -> str | None:
        """Returns the value in a state as text, or None if it is undefined."""
        if state not in self.known:
            self.known[state] = self.evaluate(state)
        return self.known[state]


class Exploration:
    """A session: the model of a check, a walk through this model, and watched expressions.

    ``options`` holds the possible next steps. ``most`` is the maximum number of states of a search.
    """

    def __init__(
        self,
        program: Program,
        check: Check | None,
        constants: Mapping[str, str],
        model: Model,
        most: int = MAX_STATES,
    ) -> None:
        self.program = program
        self.check = check
        self.constants = constants
        self.model = model
        self.most = most
        self.walk = Walk(model)
        self.watched: list[WatchedCondition] = []
        self.options: list[Option] = []
        self._stopped = False
        self._given = False
        self._begin()

    @property
    def title(self) -> str:
        """The path of the spec, and the name of the check that sets the constants."""
        name = self.check.name if self.check is not None else ""
        return f"{self.program.path}, {name}" if name else str(self.program.path)

    # ------------------------------------------------------------ moving

    def _begin(self) -> None:
        """Goes to the first choice. If there is only one initial state, takes it immediately."""
        self.options = self.walk.options()
        self._given = len(self.options) == 1 and self.options[0].failure is None
        if self._given:
            self.take(1)

    @property
    def returnable(self) -> int:
        """The number of steps that can be taken back. The choice of the only initial state does not
        count.
        """
        return len(self.walk.path) - self._given

    def take(self, number: int) -> None:
        """Takes an option by number, counted from 1."""
        self.walk.take(self.options[number - 1].step)
        self.options = self.walk.options()

    def back(self, count: int) -> int:
        """Takes back at most ``count`` steps, and returns how many were taken back."""
        taken = self.walk.back(count)
        self._moved()
        return taken

    def go(self, way: int, steps: int | None = None) -> None:
        """Goes to the position after ``steps`` steps of a recorded path, or to its end if ``steps``
        is None.
        """
        self.walk.go(way, len(self.walk.ways[way]) if steps is None else steps)
        self._moved()

    def _moved(self) -> None:
        self.options = self.walk.options()
        if not self.walk.path:
            self._begin()

    def goto(self, text: str) -> GoalSearch:
        """Goes to a nearest state that satisfies a condition, if there is one.

        Raises `Rejected` if the condition is invalid, or undefined in some state. Raises `Stopped`
        if the search was stopped.
        """
        self._stopped = False
        destination = self.walk.seek(self._condition(text), self.most)
        for step in destination.steps or ():
            self.walk.take(step)
        self.options = self.walk.options()
        return destination

    def stop(self) -> None:
        """Ends a `goto` that runs in another thread."""
        self._stopped = True

    def _condition(self, text: str) -> Callable[[State], bool]:
        evaluate: Callable[[State], bool]
        model: Any = self.model
        if self.model.is_opaque:
            evaluate = model.condition(_given(text))
        else:
            model = self._asked(text)
            evaluate = partial(Runner(model).holds, len(model.properties) - 1)

        def holds(state: State) -> bool:
            if self._stopped:
                raise Stopped
            try:
                return evaluate(state)
            except EvaluationError as error:
                site = model.sites[error.site]
                raise Rejected([Problem(site.code, site.span, site.message)]) from None

        return holds

    def sought(self, result: GoalSearch) -> str:
        """Formats the result of a search as text."""
        states = plural(result.seen, "state")
        if result.steps is None:
            cut = f"not within {states}; --max-states allows more"
            return cut if result.cut else f"in none of the {states} reachable from here"
        if not result.steps:
            return "it holds here"
        return f"{plural(len(result.steps), 'step')}, {states} seen"

    # ------------------------------------------------------------ asking

    def expression(self, text: str) -> WatchedCondition:
        """Parses an expression of any type. Raises `Rejected` if it is invalid."""
        if self.model.is_opaque:
            module: Any = self.model
            return WatchedCondition(text, module.value_text(_given(text)))
        model = self._asked(text, of_any_type=True)
        runner, body = Runner(model), model.properties[-1].body

        def value(state: State) -> str | None:
            try:
                return show(runner.value(body, {}, state, None), body.type)
            except EvaluationError:
                return None

        return WatchedCondition(text, value)

    def watch(self, text: str) -> None:
        """Watches an expression, unless it is already watched. Raises `Rejected` if it is
        invalid.
        """
        if all(other.text != text for other in self.watched):
            self.watched.append(self.expression(text))

    def unwatch(self, number: int) -> None:
        """Stops watching an expression, given by its number from 0."""
        del self.watched[number]

    def _asked(self, text: str, *, of_any_type: bool = False) -> Model:
        """Builds the model with the user's expression as its last property. Raises `Rejected` if
        the expression is invalid.
        """
        return build(
            self.program,
            self.check,
            self.constants,
            _given(text),
            of_any_type=of_any_type,
            ranges=NO_RANGES,
        )

    # ------------------------------------------------------------ what there is to see

    def label(self, step: Step) -> str:
        """Returns the title of a step. For an initial state, returns its values."""
        if step.action is not None or step.state is None:
            return title(self.model, step)
        state = document(self.model, Trace((step,))).steps[0].state or {}
        page = Page(10_000)
        write_state(page, state, families(self.model), 0)
        return ", ".join(" ".join(line.split()) for line in page.text().splitlines())

    def notes(self, option: Option) -> list[str]:
        """Returns remarks on a possible step."""
        texts = sentences(self.model, option.judgement)
        if option.failure is not None:
            texts.append(f"fails: {self.model.sites[option.failure].message}")
        if option.same:
            texts.append("changes nothing")
        return texts

    def nothing(self) -> str:
        """Explains why there are no options."""
        if not self.walk.path:
            return "there is no initial state, so a walk cannot begin"
        return "there is no successor" if self.walk.ended else "no action is possible here"

    def wrong(self) -> list[tuple[str, Site | None]]:
        """Returns the problems of the current state as sentences, each with the site of an
        evaluation error or None.
        """
        properties, judgement = self.model.properties, self.walk.judgement()
        problems: list[tuple[str, Site | None]] = [
            (f"{properties[number].title} {properties[number].kind.broken}", None)
            for number in judgement.violated
        ]
        problems += [
            (f"{properties[number].title} has no value", self.model.sites[error])
            for number, error in judgement.failed
        ]
        return problems

    def failure(self) -> tuple[Site, bool] | None:
        """Returns the site at which the last step failed and whether it is an assertion. Returns
        None if the last step did not fail.
        """
        finding = self.walk.finding() if self.walk.ended else None
        if finding is None or finding.site is None:
            return None
        return finding.site, finding.verdict is Verdict.ASSERTION

    def document(self) -> TraceDocument:
        """Returns the current path, which must not be empty, as a trace with causes."""
        trace, finding = self.walk.trace(), self.walk.finding()
        return replace(
            document(self.model, trace, finding, causes(self.model, trace, finding)),
            description=f"a walk of {plural(len(trace.steps) - 1, 'step')}",
            source=str(self.program.path),
            generator=f"fencepost {__version__}",
            check=self.check.name if self.check is not None else "",
        )

    def values(self, watched: WatchedCondition) -> Sequence[str | None]:
        """Returns the values of an expression along the path, with None wherever it is
        undefined.
        """
        return [
            None if step.state is None else watched.value(step.state) for step in self.walk.path
        ]


def _given(text: str) -> str:
    if not text:
        raise Rejected([Problem("F021", None, "a condition is missing, as in: is x > 3")])
    return text
