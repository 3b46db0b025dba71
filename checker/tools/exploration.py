"""What a user does with a model by hand: a walk, and what is asked of the states on it.

The explorer in the terminal and the one in a browser are two faces of this; it prints nothing,
reads no input, and knows no protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from fencepost import __version__
from fencepost.checker.outcome import Step, Trace, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.run.words import plural
from fencepost.checker.tools.interactive_walk import Option, Sought, Walk
from fencepost.checker.tools.property_values import sentences
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.of_search import document
from fencepost.checker.trace.steps import families, title, write_state
from fencepost.spec.core.ir import Expr, Model, Site
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Check, Program, build
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Problem, Rejected

MOST = 200_000
"""States that `Exploration.goto` visits, unless it is given another bound."""
NO_VALUE = "it has no value here"


class Stopped(Exception):
    """A search for a state was given up, because `Exploration.stop` was called."""


@dataclass(frozen=True, slots=True)
class Watched:
    """An expression, and what it takes to evaluate it; ``known`` are the values found so far."""

    text: str
    runner: Runner
    body: Expr
    known: dict[State, str | None] = field(default_factory=dict[State, str | None])

    def value(self, state: State) -> str | None:
        """The value in a state, as it is shown; None where there is none."""
        if state not in self.known:
            self.known[state] = self._value(state)
        return self.known[state]

    def _value(self, state: State) -> str | None:
        try:
            return show(self.runner.value(self.body, {}, state, None), self.body.type)
        except EvaluationError:
            return None


class Exploration:
    """A session: the model of a check, a walk through it, and the expressions that are watched.

    ``options`` are the steps that can be taken next, ``most`` the states that a search may visit.
    """

    def __init__(
        self,
        program: Program,
        check: Check | None,
        constants: Mapping[str, str],
        model: Model,
        most: int = MOST,
    ) -> None:
        self.program = program
        self.check = check
        self.constants = constants
        self.model = model
        self.most = most
        self.walk = Walk(model)
        self.watched: list[Watched] = []
        self.options: list[Option] = []
        self._stopped = False
        self._given = False
        self._begin()

    @property
    def title(self) -> str:
        """The spec, and the check whose constants it has."""
        name = self.check.name if self.check is not None else ""
        return f"{self.program.path}, {name}" if name else str(self.program.path)

    # ------------------------------------------------------------ moving

    def _begin(self) -> None:
        """Stands at the first choice; a single initial state is none."""
        self.options = self.walk.options()
        self._given = len(self.options) == 1 and self.options[0].failure is None
        if self._given:
            self.take(1)

    @property
    def returnable(self) -> int:
        """How many steps can be taken back: a single initial state is no choice."""
        return len(self.walk.path) - self._given

    def take(self, number: int) -> None:
        """Takes one of the options, counted from 1."""
        self.walk.take(self.options[number - 1].step)
        self.options = self.walk.options()

    def back(self, count: int) -> int:
        """Takes back steps, at most all; how many it were."""
        taken = self.walk.back(count)
        self._moved()
        return taken

    def go(self, way: int, steps: int | None = None) -> None:
        """Stands behind the first steps (None: all) of a way that was gone, counted from 0."""
        self.walk.go(way, len(self.walk.ways[way]) if steps is None else steps)
        self._moved()

    def _moved(self) -> None:
        self.options = self.walk.options()
        if not self.walk.path:
            self._begin()

    def goto(self, text: str) -> Sought:
        """Goes on to the nearest state where a condition holds, if there is one; raises `Rejected`
        for a condition that is none or has no value in a state, and `Stopped`.
        """
        self._stopped = False
        found = self.walk.seek(self._condition(text), self.most)
        for step in found.steps or ():
            self.walk.take(step)
        self.options = self.walk.options()
        return found

    def stop(self) -> None:
        """Ends a `goto` that is under way in another thread."""
        self._stopped = True

    def _condition(self, text: str) -> Callable[[State], bool]:
        model = self._asked(text)
        runner, number = Runner(model), len(model.properties) - 1

        def holds(state: State) -> bool:
            if self._stopped:
                raise Stopped
            try:
                return runner.holds(number, state)
            except EvaluationError as error:
                site = model.sites[error.site]
                raise Rejected([Problem(site.code, site.span, site.message)]) from None

        return holds

    def sought(self, found: Sought) -> str:
        """What a search came to, in words; of one that led somewhere, what it took."""
        states = plural(found.seen, "state")
        if found.steps is None:
            cut = f"not within {states}; --max-states allows more"
            return cut if found.cut else f"in none of the {states} that can be reached from here"
        if not found.steps:
            return "it holds here"
        return f"{plural(len(found.steps), 'step')}, {states} seen"

    # ------------------------------------------------------------ asking

    def expression(self, text: str) -> Watched:
        """An expression of any type; raises `Rejected`."""
        model = self._asked(text, of_any_type=True)
        return Watched(text, Runner(model), model.properties[-1].body)

    def watch(self, text: str) -> None:
        """Watches an expression, once; raises `Rejected`."""
        if all(one.text != text for one in self.watched):
            self.watched.append(self.expression(text))

    def unwatch(self, number: int) -> None:
        """Watches one expression less, by its number from 0."""
        del self.watched[number]

    def _asked(self, text: str, *, of_any_type: bool = False) -> Model:
        """The model with what the user asks for as its last property; raises `Rejected`."""
        if not text:
            raise Rejected([Problem("F021", None, "a condition is missing, as in: is x > 3")])
        return build(self.program, self.check, self.constants, text, of_any_type=of_any_type)

    # ------------------------------------------------------------ what there is to see

    def label(self, step: Step) -> str:
        """A step by its title, an initial state by its values."""
        if step.action is not None or step.state is None:
            return title(self.model, step)
        state = document(self.model, Trace((step,))).steps[0].state or {}
        page = Page(10_000)
        write_state(page, state, families(self.model), 0)
        return ", ".join(" ".join(line.split()) for line in page.text().splitlines())

    def notes(self, option: Option) -> list[str]:
        """What is to be known of a step before it is taken."""
        found = sentences(self.model, option.judgement)
        if option.failure is not None:
            found.append(f"fails: {self.model.sites[option.failure].message}")
        if option.same:
            found.append("changes nothing")
        return found

    def nothing(self) -> str:
        """Why there are no options."""
        if not self.walk.path:
            return "there is no initial state, so no walk can begin"
        return "nothing can follow" if self.walk.ended else "no action can be taken here"

    def wrong(self) -> list[tuple[str, Site | None]]:
        """What is wrong where the walk stands: sentences, and places of what has no value."""
        properties, judgement = self.model.properties, self.walk.judgement()
        found: list[tuple[str, Site | None]] = [
            (f"{properties[number].title} {properties[number].kind.broken}", None)
            for number in judgement.violated
        ]
        found += [
            (f"{properties[number].title} has no value", self.model.sites[error])
            for number, error in judgement.failed
        ]
        return found

    def failure(self) -> tuple[Site, bool] | None:
        """Why the last step failed, if it did, and whether that was an assertion."""
        finding = self.walk.finding() if self.walk.ended else None
        if finding is None or finding.site is None:
            return None
        return finding.site, finding.verdict is Verdict.ASSERTION

    def document(self) -> TraceDocument:
        """The way so far as a trace, which must have a step, with its causes."""
        trace, finding = self.walk.trace(), self.walk.finding()
        return replace(
            document(self.model, trace, finding, causes(self.model, trace, finding)),
            description=f"a walk of {plural(len(trace.steps) - 1, 'step')}",
            source=str(self.program.path),
            generator=f"fencepost {__version__}",
            check=self.check.name if self.check is not None else "",
        )

    def values(self, watched: Watched) -> Sequence[str | None]:
        """The values of an expression in the states of the way; None where there is none."""
        return [
            None if step.state is None else watched.value(step.state) for step in self.walk.path
        ]
