"""A mapping made runnable: what the steps from a state show, and what events bring in.

It does not know which events a history has, nor how a run is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from fencepost.checker.conform.cuts import Cut, lacking_room, no_room
from fencepost.checker.conform.dependence import Dependence, dependence, early_parts, shown_by
from fencepost.checker.conform.messages import Tags, counted, emptied
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Recording
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError, Run
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain
from fencepost.spec.semantics.fold import evaluate, execute
from fencepost.spec.semantics.python_codegen import Code, Frame
from fencepost.spec.semantics.stepper import Choice, Failure, Runner

MAX_KEPT = 5_000
"""The number of states whose steps are kept at a time."""
MAX_EVENTS = 50_000
"""The number of events, by their fields, of which it is kept what may come in with them."""


class Shown(NamedTuple):
    """An event that a step shows, by its number, and the values of its fields."""

    event: int
    values: tuple[Value, ...]


class Move(NamedTuple):
    """A step of the model, the state behind it, what it shows, in order, and the coverage marks
    that it sets.
    """

    action: int
    choices: tuple[Choice, ...] | None
    state: State
    shown: tuple[Shown, ...]
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """The steps from a state, and where paths are cut there."""

    moves: tuple[Move, ...]
    cuts: frozenset[Cut]


@dataclass(frozen=True, slots=True)
class _Rule:
    """Code of an expression or statement, and the places of its frame to be filled before."""

    code: Code
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Shows:
    """What the steps of some actions show, by numbers of the rules. ``reads`` gives all that it
    depends on of the variables of a state and the next one; None: it depends on more. By those
    ``kept`` has what is known.
    """

    rules: tuple[int, ...]
    reads: Callable[[State], Any] | None
    kept: dict[Any, tuple[Shown, ...]]


_Outcome: TypeAlias = "tuple[State | Cut, tuple[Choice, ...] | None, tuple[int, ...]]"
"""Where a step leads, its choices where they are wanted, and its coverage marks."""


class _Own(NamedTuple):
    """An action that the model takes by itself; by what it touches ``kept`` has what is known."""

    action: int
    on: Dependence
    kept: dict[Any, tuple[list[Any], frozenset[Cut]]]


class Mapped:
    """A model and its recording. By events ``brings_in`` says whether they may bring in something,
    and ``passed`` has the rules by which they may be passed over.
    """

    def __init__(self, model: ir.Model, recording: Recording) -> None:
        self.model = model
        self.recording = recording
        self.runner = Runner(model, counted=("capacity", "budget"), apart=True)
        kinds = [variable.type for variable in model.variables]
        self._count = len(kinds)
        known = recording.marks, bytearray(b"\1") * len(recording.marks), self.runner.enabled_in
        self._states = ConcreteDomain(kinds, False, *known)
        self._steps = ConcreteDomain(kinds, True, *known)
        self._constraints = [n for n, p in enumerate(model.properties) if p.kind.bounds_search]
        self._shows = [
            self._rule(self._steps, one.body, [slot for _, slot in one.choices])
            for one in recording.shows
        ]
        groups: dict[tuple[int, ...], _Shows] = {}
        self._by_action: list[_Shows] = []
        for action in range(len(model.actions)):
            rules = (
                ()
                if action in recording.hidden
                else tuple(
                    n for n, one in enumerate(recording.shows) if one.action in (None, action)
                )
            )
            if rules not in groups:
                reads = shown_by([recording.shows[n] for n in rules], self._count)
                groups[rules] = _Shows(rules, reads, {})
            self._by_action.append(groups[rules])
        self._conditions = [
            None if one.condition is None else self._rule(self._states, one.condition, one.fields)
            for one in recording.inputs
        ]
        self._bodies = [
            None if one.body is None else self._statement(one.body, one.fields)
            for one in recording.inputs
        ]
        self._choices = [
            [self._rule(self._states, choice, one.fields) for choice in one.choices]
            for one in recording.inputs
        ]
        self._answers = [
            None if one.answer is None else self._statement(one.answer.body, one.fields)
            for one in recording.inputs
        ]
        self._contents = [
            None if one.answer is None else self._rule(self._states, one.answer.content, ())
            for one in recording.inputs
        ]
        self._tolerated = [
            None if one.condition is None else self._rule(self._states, one.condition, one.fields)
            for one in recording.tolerated
        ]
        entered = frozenset(one.action for one in recording.inputs if one.action is not None)
        self._own = [
            _Own(number, dependence(action.body), {})
            for number, action in enumerate(model.actions)
            if number not in entered
        ]
        self._choosing = {
            number
            for number in range(len(model.actions))
            if any(one.choices and one.action == number for one in recording.shows)
        }
        self._early = [
            [self._rule(self._states, part, one.fields) for part in early_parts(one.condition)]
            for one in recording.inputs
        ]
        self._inputs: list[list[int]] = [[] for _ in recording.events]
        for number, given in enumerate(recording.inputs):
            self._inputs[given.event].append(number)
        self.passed: list[list[int]] = [[] for _ in recording.events]
        for number, passed in enumerate(recording.tolerated):
            self.passed[passed.event].append(number)
        both = zip(self._inputs, self.passed, strict=True)
        self.brings_in = [bool(inputs or passed) for inputs, passed in both]
        self._possible: dict[tuple[int, tuple[Value, ...]], tuple[int, ...]] = {}
        self._tracer: Runner | None = None
        self._kept: dict[State, Expansion] = {}
        self._view: Frame = [*[None] * self._states.width, Run()]
        self._double: Frame = [*[None] * self._steps.width, Run()]

    def _rule(self, domain: ConcreteDomain, expr: ir.Expr, slots: Sequence[int]) -> _Rule:
        reserved = [domain.reserved() for _ in slots]
        scope = {slot: code for slot, (_, code) in zip(slots, reserved, strict=True)}
        return _Rule(evaluate(domain, scope, expr), tuple(place for place, _ in reserved))

    def _statement(self, body: ir.Statement, slots: Sequence[int]) -> _Rule:
        reserved = [self._states.reserved() for _ in slots]
        scope = {slot: code for slot, (_, code) in zip(slots, reserved, strict=True)}
        return _Rule(execute(self._states, scope, body), tuple(place for place, _ in reserved))

    # ------------------------------------------------------------ steps of the model

    def initial(self) -> list[State]:
        """The states in which a run may begin, ascending."""
        made = {one.state for one in self.runner.initial() if one.state is not None}
        return sorted(self._without(state) for state in made)

    def expansion(self, state: State) -> Expansion:
        """The steps from a state, by actions and choices; those that only events take left out."""
        known = self._kept.get(state)
        if known is None:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            known = self._kept[state] = self._expanded(state)
        return known

    def _expanded(self, state: State) -> Expansion:
        runner = self.runner
        cuts: set[Cut] = set()
        for number in self._constraints:
            try:
                if not runner.holds(number, state):
                    where = self.model.properties[number].span
                    return Expansion((), frozenset([Cut(f"a constraint ends here ({where})")]))
            except EvaluationError as error:
                return Expansion((), frozenset([self.failed(error.site, self.model.sites)]))
        moves: list[Move] = []
        tags = Tags(state)
        for own in self._own:
            if own.on.received is None or own.on.received[1] in tags[own.on.received[0]]:
                outcomes, refused = self._outcomes(own, state)
                cuts |= refused
                for step, choices, marks in outcomes:
                    if isinstance(step, Cut):
                        cuts.add(step)
                    else:
                        self._add(moves, cuts, own.action, choices, state, step, marks)
        return Expansion(tuple(moves), frozenset(cuts))

    def _outcomes(self, own: _Own, state: State) -> tuple[list[_Outcome], frozenset[Cut]]:
        """What an action leads to, and where it is cut by a guard."""
        if own.on.touched is None:
            return self._tried(own.action, state)
        key = own.on.touched(state)
        known = own.kept.get(key)
        if known is None:
            if len(own.kept) >= MAX_KEPT:
                own.kept.clear()
            outcomes, refused = self._tried(own.action, state)
            known = own.kept[key] = (
                [
                    (one if isinstance(one, Cut) else [one[n] for n in own.on.assigned], *more)
                    for one, *more in outcomes
                ],
                refused,
            )
        found: list[_Outcome] = []
        for changed, choices, marks in known[0]:
            if not isinstance(changed, Cut):
                after = list(state)
                for n, value in zip(own.on.assigned, changed, strict=True):
                    after[n] = value
                changed = tuple(after)
            found.append((changed, choices, marks))
        return found, known[1]

    def _tried(self, action: int, state: State) -> tuple[list[_Outcome], frozenset[Cut]]:
        runner = self.runner
        runner.refused.clear()
        found: list[_Outcome] = []
        for _, step in runner.steps(state, (action,)):
            if isinstance(step, Failure):
                found.append((self.failed(step.site, self.model.sites), None, ()))
            else:
                choices = runner.made() if action in self._choosing else None
                found.append((step, choices, tuple(sorted(set(runner.marked)))))
        if not runner.refused:
            return found, frozenset()
        refused: set[Cut] = set()
        for guard in runner.refused:
            refused.add(lacking_room(self.model.guards[guard]))
        return found, frozenset(refused)

    def _add(
        self,
        moves: list[Move],
        cuts: set[Cut],
        action: int,
        choices: tuple[Choice, ...] | None,
        before: State,
        after: State,
        marks: tuple[int, ...],
    ) -> None:
        try:
            shown = self._shown(action, choices, before, after)
        except EvaluationError as error:
            cuts.add(self.failed(error.site, self.recording.sites))
            return
        after = self._without(after)
        if after != before or shown:
            moves.append(Move(action, choices, after, shown, marks))

    def _shown(
        self, action: int, choices: tuple[Choice, ...] | None, before: State, after: State
    ) -> tuple[Shown, ...]:
        group = self._by_action[action]
        if not group.rules:
            return ()
        both = before + after
        if group.reads is None:
            return self._evaluated(group, choices, both)
        key = group.reads(both)
        known = group.kept.get(key)
        if known is None:
            if len(group.kept) >= MAX_KEPT:
                group.kept.clear()
            known = group.kept[key] = self._evaluated(group, choices, both)
        return known

    def shown(
        self, action: int, choices: tuple[Choice, ...], both: State
    ) -> tuple[Shown, ...] | Cut:
        """What a step of an action shows, by its choices and the values of what that depends on in
        a state and the next one.
        """
        try:
            return self._evaluated(self._by_action[action], choices, both)
        except EvaluationError as error:
            return self.failed(error.site, self.recording.sites)

    def _evaluated(
        self, group: _Shows, choices: tuple[Choice, ...] | None, both: State
    ) -> tuple[Shown, ...]:
        frame = self._double
        frame[: 2 * self._count] = both
        shown: list[Shown] = []
        for number in group.rules:
            declared, rule = self.recording.shows[number], self._shows[number]
            for (label, _), place in zip(declared.choices, rule.places, strict=True):
                frame[place] = next(one.value for one in choices or () if one.label == label)
            shown += [Shown(declared.event, record) for record in rule.code(frame)]
        return tuple(shown)

    def _without(self, state: State) -> State:
        """A state without the messages that are dropped."""
        for dropped in self.recording.drops:
            state = emptied(state, dropped)
        return state

    def failed(self, site: int, sites: Sequence[ir.Site]) -> Cut:
        """What it means that evaluation failed."""
        one = sites[site]
        return Cut(f"{one.message} ({one.span})")

    def choices(self, action: int, before: State, after: State) -> tuple[Choice, ...]:
        """The first choices by which an action leads from one state to another."""
        if self._tracer is None:
            self._tracer = Runner(self.model)
        made = self._tracer.taken(action, before, lambda state: self._without(state) == after)
        assert made is not None, action
        return made

    # ------------------------------------------------------------ what events bring in

    def possible(self, event: int, values: tuple[Value, ...]) -> tuple[int, ...]:
        """The inputs that may come in with an event in some state, as far as its fields tell."""
        known = self._possible.get((event, values))
        if known is None:
            if len(self._possible) >= MAX_EVENTS:
                self._possible.clear()
            known = self._possible[event, values] = tuple(
                [number for number in self._inputs[event] if self._ever(number, values)]
            )
        return known

    def _ever(self, number: int, values: tuple[Value, ...]) -> bool:
        for rule in self._early[number]:
            frame = self._view
            for place, value in zip(rule.places, values, strict=True):
                frame[place] = value
            try:
                if not rule.code(frame):
                    return False
            except EvaluationError:
                return True
        return True

    def condition(self, number: int, values: tuple[Value, ...], state: State) -> bool | Cut:
        """Whether an input, by its number, may come in in a state."""
        return self._holds(self._conditions[number], values, state)

    def tolerated(self, number: int, values: tuple[Value, ...], state: State) -> bool | Cut:
        """Whether an event may be passed over in a state."""
        return self._holds(self._tolerated[number], values, state)

    def _holds(self, rule: _Rule | None, values: tuple[Value, ...], state: State) -> bool | Cut:
        if rule is None:
            return True
        frame = self._view
        frame[: self._count] = state
        for place, value in zip(rule.places, values, strict=True):
            frame[place] = value
        try:
            return bool(rule.code(frame))
        except EvaluationError as error:
            return self.failed(error.site, self.recording.sites)

    def entering(
        self, number: int, values: tuple[Value, ...], state: State
    ) -> Iterator[Move | Cut]:
        """What an input leads to: for one that is a step with what the step shows."""
        declared = self.recording.inputs[number]
        if declared.action is None:
            for after in self._run(self._bodies[number], values, state):
                yield after if isinstance(after, Cut) else Move(-1, None, after, (), ())
            return
        try:
            wanted = tuple(
                rule.code(self._frame(state, rule, values)) for rule in self._choices[number]
            )
        except EvaluationError as error:
            yield self.failed(error.site, self.recording.sites)
            return
        for one in self.runner.attempts(declared.action, state, wanted):
            if one.failure is not None:
                yield self.failed(one.failure.site, self.model.sites)
            elif one.guard is not None and self.model.guards[one.guard].kind in (
                "capacity",
                "budget",
            ):
                yield no_room(self.model.guards[one.guard])
            elif one.state is not None:
                moves: list[Move] = []
                cuts: set[Cut] = set()
                marks = tuple(sorted(set(self.runner.marked)))
                self._add(moves, cuts, declared.action, one.choices, state, one.state, marks)
                yield from cuts
                yield from moves or (
                    () if cuts else (Move(declared.action, one.choices, state, (), marks),)
                )

    def answered(
        self, number: int, values: tuple[Value, ...], state: State
    ) -> Iterator[State | Cut]:
        """The states behind taking the answer of an input, where it is there."""
        return self._run(self._answers[number], values, state)

    def answers(self, number: int, state: State) -> list[str]:
        """The answers to an input that a state holds, as they are shown."""
        declared = self.recording.inputs[number].answer
        if declared is None:
            return []
        return [show(message, declared.message) for message in self.messages(number, state)]

    def messages(self, number: int, state: State) -> list[Value]:
        """The answers to an input that a state holds."""
        rule, declared = self._contents[number], self.recording.inputs[number].answer
        if rule is None or declared is None:
            return []
        try:
            content: tuple[Value, ...] = rule.code(self._frame(state, rule, ()))
        except EvaluationError:
            return []
        return [
            message
            for message in content
            if (message[0] if isinstance(message, tuple) else message) in declared.tags
        ]

    def under_way(self, state: State) -> int:
        """How many messages are under way in a state."""
        variables = self.model.variables
        return sum(counted(state[n], variables[n].type) for n in self.recording.carriers)

    def _run(self, rule: _Rule | None, values: tuple[Value, ...], state: State) -> Iterator[Any]:
        assert rule is not None
        frame = self._frame(state, rule, values)
        run: Run = frame[-1]
        while True:
            frame[: self._count] = state
            try:
                if rule.code(frame) != DISABLED:
                    yield self._without(tuple(frame[: self._count]))
                elif self.recording.guards[run.guard].kind == "capacity":
                    yield no_room(self.recording.guards[run.guard])
            except (EvaluationError, AssertionFailed) as error:
                yield self.failed(error.site, self.recording.sites)
            if not run.advance():
                return

    def _frame(self, state: State, rule: _Rule, values: tuple[Value, ...]) -> Frame:
        frame: Frame = [*state, *[None] * (self._states.width - self._count), Run()]
        for place, value in zip(rule.places, values, strict=False):
            frame[place] = value
        return frame
