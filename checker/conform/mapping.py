"""A mapping made runnable: what the steps from a state show, and what events bring in.

It does not know which events a history has, nor how a run is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.spec.core import ir
from fencepost.spec.core.recording import Dropped, Recording
from fencepost.spec.core.types import State, Value, show
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError, Run
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain
from fencepost.spec.semantics.fold import evaluate, execute
from fencepost.spec.semantics.python_codegen import Code, Frame
from fencepost.spec.semantics.stepper import Choice, Failure, Runner

MOST_KEPT = 20_000
"""The number of states whose steps are kept at a time."""


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """Why a path goes no further although the real system might: a bound of the model, or of the
    search.
    """

    what: str


@dataclass(frozen=True, slots=True)
class Shown:
    """An event that a step shows, by its number, and the values of its fields."""

    event: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A step of the model, the state behind it, and what it shows, in order."""

    action: int
    choices: tuple[Choice, ...] | None
    state: State
    shown: tuple[Shown, ...]


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


class Mapped:
    """A model and its recording."""

    def __init__(self, model: ir.Model, recording: Recording) -> None:
        self.model = model
        self.recording = recording
        self.runner = Runner(model, counted=("capacity", "budget"))
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
        self.entered = frozenset(one.action for one in recording.inputs if one.action is not None)
        """The actions that only events take."""
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
            if len(self._kept) >= MOST_KEPT:
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
                return Expansion((), frozenset([self._failed(error.site, self.model.sites)]))
        moves: list[Move] = []
        runner.refused.clear()
        for action, step in runner.steps(state):
            if action in self.entered:
                continue
            if isinstance(step, Failure):
                cuts.add(self._failed(step.site, self.model.sites))
                continue
            needed = any(one.choices and one.action == action for one in self.recording.shows)
            choices = runner.made() if needed else None
            self._add(moves, cuts, action, choices, state, step)
        for guard in runner.refused:
            one = self.model.guards[guard]
            if one.action not in self.entered:
                what = "is full" if one.kind == "capacity" else "has no budget left"
                where = one.span
                cuts.add(Cut(f"a channel {what} ({where})"))
        return Expansion(tuple(moves), frozenset(cuts))

    def _add(
        self,
        moves: list[Move],
        cuts: set[Cut],
        action: int,
        choices: tuple[Choice, ...] | None,
        before: State,
        after: State,
    ) -> None:
        try:
            shown = self._shown(action, choices, before, after)
        except EvaluationError as error:
            cuts.add(self._failed(error.site, self.recording.sites))
            return
        after = self._without(after)
        if after != before or shown:
            moves.append(Move(action, choices, after, shown))

    def _shown(
        self, action: int, choices: tuple[Choice, ...] | None, before: State, after: State
    ) -> tuple[Shown, ...]:
        if action in self.recording.hidden:
            return ()
        frame: Frame | None = None
        shown: list[Shown] = []
        for declared, rule in zip(self.recording.shows, self._shows, strict=True):
            if declared.action is not None and declared.action != action:
                continue
            if frame is None:
                frame = self._double
                frame[: self._count], frame[self._count : 2 * self._count] = before, after
            for (label, _), place in zip(declared.choices, rule.places, strict=True):
                frame[place] = next(one.value for one in choices or () if one.label == label)
            shown += [Shown(declared.event, record) for record in rule.code(frame)]
        return tuple(shown)

    def _without(self, state: State) -> State:
        """A state without the messages that are dropped."""
        for dropped in self.recording.drops:
            state = _emptied(state, dropped)
        return state

    def _failed(self, site: int, sites: Sequence[ir.Site]) -> Cut:
        one = sites[site]
        return Cut(f"{one.message} ({one.span})")

    def choices(self, action: int, before: State, after: State) -> tuple[Choice, ...]:
        """The first choices by which an action leads from one state to another."""
        if self._tracer is None:
            self._tracer = Runner(self.model)
        made = self._tracer.taken(action, before, lambda state: self._without(state) == after)
        assert made is not None, action
        return made

    def covered(self, steps: Iterable[tuple[int, State, State]]) -> frozenset[int]:
        """The coverage marks of steps: actions, and from where they lead to where."""
        for action, before, after in steps:
            self.choices(action, before, after)
        if self._tracer is None:
            return frozenset()
        marked = frozenset(self._tracer.marked)
        self._tracer.forget()
        return marked

    # ------------------------------------------------------------ what events bring in

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
            return self._failed(error.site, self.recording.sites)

    def entering(
        self, number: int, values: tuple[Value, ...], state: State
    ) -> Iterator[Move | Cut]:
        """What an input leads to: for one that is a step with what the step shows."""
        declared = self.recording.inputs[number]
        if declared.action is None:
            for after in self._run(self._bodies[number], values, state):
                yield after if isinstance(after, Cut) else Move(-1, None, after, ())
            return
        try:
            wanted = tuple(
                rule.code(self._frame(state, rule, values)) for rule in self._choices[number]
            )
        except EvaluationError as error:
            yield self._failed(error.site, self.recording.sites)
            return
        for one in self.runner.attempts(declared.action, state, wanted):
            if one.failure is not None:
                yield self._failed(one.failure.site, self.model.sites)
            elif one.guard is not None and self.model.guards[one.guard].kind in (
                "capacity",
                "budget",
            ):
                yield Cut(f"a channel is full ({self.model.guards[one.guard].span})")
            elif one.state is not None:
                moves: list[Move] = []
                cuts: set[Cut] = set()
                self._add(moves, cuts, declared.action, one.choices, state, one.state)
                yield from cuts
                yield from moves or (
                    () if cuts else (Move(declared.action, one.choices, state, ()),)
                )

    def answered(
        self, number: int, values: tuple[Value, ...], state: State
    ) -> Iterator[State | Cut]:
        """The states behind taking the answer of an input, where it is there."""
        return self._run(self._answers[number], values, state)

    def answers(self, number: int, state: State) -> list[str]:
        """The answers to an input that a state holds, as they are shown."""
        rule, declared = self._contents[number], self.recording.inputs[number].answer
        if rule is None or declared is None:
            return []
        try:
            content: tuple[Value, ...] = rule.code(self._frame(state, rule, ()))
        except EvaluationError:
            return []
        return [
            show(message, declared.message)
            for message in content
            if (message[0] if isinstance(message, tuple) else message) in declared.tags
        ]

    def under_way(self, state: State) -> int:
        """How many messages are under way in a state."""
        variables = self.model.variables
        return sum(_size(state[n], variables[n].type) for n in self.recording.carriers)

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
                    yield Cut(f"a channel is full ({self.recording.guards[run.guard].span})")
            except (EvaluationError, AssertionFailed) as error:
                yield self._failed(error.site, self.recording.sites)
            if not run.advance():
                return

    def _frame(self, state: State, rule: _Rule, values: tuple[Value, ...]) -> Frame:
        frame: Frame = [*state, *[None] * (self._states.width - self._count), Run()]
        for place, value in zip(rule.places, values, strict=False):
            frame[place] = value
        return frame


def _size(value: Value, kind: object) -> int:
    assert isinstance(value, tuple)
    inner = getattr(kind, "value", None)
    return len(value) if inner is None else sum(_size(one, inner) for one in value)


def _emptied(state: State, dropped: Dropped) -> State:
    content = state[dropped.variable]
    assert isinstance(content, tuple)
    kept = tuple(m for m in content if isinstance(m, tuple) and m[0] not in dropped.tags)
    if len(kept) == len(content):
        return state
    return (*state[: dropped.variable], kept, *state[dropped.variable + 1 :])
