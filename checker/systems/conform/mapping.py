"""Runs a mapping with the reference stepper: determines the steps from a state with the events that
they show, and the effects of events.

The model that is run is built by `as_model`. This module depends neither on the events of a history
nor on the order of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from fencepost.checker.systems.conform.as_model import MAX_MESSAGES, combine
from fencepost.checker.systems.conform.cuts import Cut
from fencepost.checker.systems.conform.dependence import Tags, early_parts, read_by_shown, received
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Input, Recording, Toleration
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError, Run
from fencepost.spec.semantics.concrete import ConcreteDomain
from fencepost.spec.semantics.fold import evaluate
from fencepost.spec.semantics.python_codegen import Code, Frame
from fencepost.spec.semantics.stepper import Choice, Failure, Runner

MAX_STATES = 5_000
"""Maximum number of states whose steps are cached. The same limit applies to cached results of
event rules.
"""
MAX_EVENTS = 50_000
"""Maximum number of events, with their fields, whose possible inputs are cached."""


class ShownEvent(NamedTuple):
    """An event that a step shows: the number of the event, and the values of its fields."""

    event: int
    values: tuple[Value, ...]


class Move(NamedTuple):
    """A step, or the effect of an event.

    ``action`` is the number of the action in the model, or -1 if this is not a step of the model.
    ``state`` is the state after it. ``shown`` contains the events that it shows, in order, and
    ``marks`` the coverage marks that it sets. ``choices`` is empty unless the step is an input.
    """

    action: int
    choices: tuple[Choice, ...]
    state: State
    shown: tuple[ShownEvent, ...]
    marks: tuple[int, ...]


class Entry(NamedTuple):
    """A possible effect of an event with certain values.

    ``number`` is the number of the rule, and ``call`` is the action of the combined model that
    performs the effect. ``action`` is the corresponding action of the original model, or None.
    ``event`` is the value for the variable of events: the number of the event, followed by its
    values.
    """

    kind: Literal["input", "ahead", "answers", "answer", "tolerated"]
    number: int
    action: int | None
    call: int
    event: tuple[Any, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """The values of the event's fields."""
        return self.event[1:]


@dataclass(frozen=True, slots=True)
class Expansion:
    """The steps from a state, and the cuts of paths in that state."""

    moves: tuple[Move, ...]
    cuts: frozenset[Cut]


class EntryMoves(NamedTuple):
    """The moves of entries, each with the index of its entry, and the cuts of paths. ``late`` says
    whether one of the entries was refused because too many messages were under way.
    """

    moves: list[tuple[int, Move]]
    cuts: set[Cut]
    late: bool


class MappedModel:
    """A model and its recording. ``brings_in`` says for each event whether it may bring in
    anything.
    """

    def __init__(self, model: ir.Model, recording: Recording) -> None:
        self.model = model
        self.recording = recording
        self.combined = combined = combine(model, recording)
        self.runner = Runner(combined.model, counted=("capacity", "budget"), apart=True)
        self._count = len(model.variables)
        self._passing: tuple[Any, ...] = (None,) * (len(combined.model.variables) - self._count)
        self._own = [
            (number, None if action < 0 else received(model.actions[action].body))
            for number, action in enumerate(combined.actions[: combined.own])
        ]
        kinds = [variable.type for variable in combined.model.variables]
        marks = combined.model.marks
        covered = bytearray(b"\1") * len(marks)
        steps = ConcreteDomain(kinds, True, marks, covered, self.runner.enabled_in)
        self._shows = [
            (rule.event, evaluate(steps, {}, body))
            for rule, body in zip(recording.shows, combined.shows, strict=True)
        ]
        self._frame: Frame = [*[None] * steps.width, Run()]
        self._known: dict[Any, tuple[ShownEvent, ...] | Cut] = {}
        self._by_action = [self._rules(action) for action in combined.actions]
        domain = ConcreteDomain(kinds[: self._count])
        self._early = [
            [_Rule(domain, part, declared.fields) for part in early_parts(declared.condition)]
            for declared in recording.inputs
        ]
        self._contents = [
            None if declared.answer is None else _Rule(domain, declared.answer.content)
            for declared in recording.inputs
        ]
        self._under_way = _Rule(domain, combined.under_way)
        self._explained = [
            (
                None if e.condition is None else _Rule(domain, e.condition, e.fields),
                [None if isinstance(p, str) else _Rule(domain, p.value, e.fields) for p in e.parts],
            )
            for e in recording.explained
        ]
        events = range(len(recording.events))
        self._inputs = [_of_event(recording.inputs, event) for event in events]
        self._tolerated = [_of_event(recording.tolerated, event) for event in events]
        self.brings_in = [bool(self._inputs[event] or self._tolerated[event]) for event in events]
        self._entries: dict[tuple[int, tuple[Value, ...], bool], tuple[Entry, ...]] = {}
        self._expansions: dict[State, Expansion] = {}

    def _rules(self, action: int) -> tuple[tuple[int, ...], Callable[[State], Any]]:
        """Returns the rules of events that apply to the steps of an action of the model, and a
        function that selects the variables before and after a step that these rules read.
        """
        shown = action >= 0 and action not in self.recording.hidden
        rules = [n for n, one in enumerate(self.recording.shows) if one.action in (None, action)]
        bodies = [self.combined.shows[number] for number in rules]
        read = read_by_shown(bodies, self.combined.model)
        return tuple(rules if shown else ()), itemgetter(0, *sorted(read))

    # ------------------------------------------------------------ steps of the model

    def initial(self) -> list[State]:
        """Returns the initial states of runs, in ascending order."""
        states = (successor.state for successor in self.runner.initial())
        return sorted({state[: self._count] for state in states if state is not None})

    def expansion(self, state: State) -> Expansion:
        """Returns the steps from a state, ordered by actions and choices, without those that only
        events take.
        """
        cached = self._expansions.get(state)
        if cached is None:
            if len(self._expansions) >= MAX_STATES:
                self._expansions.clear()
            cached = self._expansions[state] = self._expanded(state)
        return cached

    def _expanded(self, state: State) -> Expansion:
        cuts: set[Cut] = set()
        before, tags = (*state, *self._passing), Tags(state)
        calls = [
            (number, before)
            for number, message in self._own
            if message is None or message[1] in tags[message[0]]
        ]
        moves = [
            move
            for _, move in self._moves(before, calls, cuts, own=True)
            if move.shown or move.state != state
        ]
        return Expansion(tuple(moves), frozenset(cuts))

    def _moves(
        self, before: State, calls: Sequence[tuple[int, State]], cuts: set[Cut], *, own: bool
    ) -> Iterator[tuple[int, Move]]:
        """Yields the moves that calls of actions of the combined model make, each with the index of
        its call. Adds the cuts of paths to ``cuts``. The calls differ from ``before`` only in the
        variables of a single step. ``own`` says whether the actions are those that the model takes
        by itself.
        """
        runner, combined = self.runner, self.combined
        runner.refused.clear()
        for index, after in runner.calls(calls):
            if isinstance(after, Failure):
                cuts.add(failed(combined.model.sites[after.site]))
                continue
            call = calls[index][0]
            action = combined.actions[call]
            shown = self.shown(call, before, after)
            if isinstance(shown, Cut):
                cuts.add(shown)
                continue
            choices = () if own or action < 0 else runner.made()
            marks = () if action < 0 else self._marks()
            yield index, Move(action, choices, after[: self._count], shown, marks)
        refused = runner.refused.keys() - {combined.late}
        cuts.update([combined.cut(guard, own=own) for guard in refused])

    def _marks(self) -> tuple[int, ...]:
        """Returns the coverage marks of the model that the runner's last step set."""
        marked, end = self.runner.marked, len(self.model.marks)
        return tuple(sorted({mark for mark in marked if mark < end})) if marked else ()

    def shown(self, action: int, before: State, after: State) -> tuple[ShownEvent, ...] | Cut:
        """Returns the events that a step of an action of the combined model shows. Variables that
        no rule reads may have any value.
        """
        rules, read = self._by_action[action]
        if not rules:
            return ()
        both = before + after
        key = rules, read(both)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_STATES:
                self._known.clear()
            known = self._known[key] = self._evaluated(rules, both)
        return known

    def _evaluated(self, rules: tuple[int, ...], both: State) -> tuple[ShownEvent, ...] | Cut:
        frame = self._frame
        frame[: len(both)] = both
        events: list[ShownEvent] = []
        try:
            for number in rules:
                event, code = self._shows[number]
                events += [ShownEvent(event, record) for record in code(frame)]
        except EvaluationError as error:
            return failed(self.combined.model.sites[error.site])
        return tuple(events)

    def choices(
        self, action: int, rule: int | None, values: tuple[Value, ...], before: State, after: State
    ) -> tuple[Choice, ...]:
        """Returns the first choices with which a step leads from one state to another. The step is
        one of ``action`` or, if ``rule`` is given, of the input that performs the action.
        """
        if rule is None:
            call, passing = self.combined.actions.index(action), self._passing
        else:
            entry = self.input(rule, values)
            call = entry.call
            passing = (*self._passing[:-2], entry.event, MAX_MESSAGES)
        start = (*before, *passing)
        choices = self.runner.taken(call, start, lambda state: state[: self._count] == after)
        assert choices is not None, action
        return choices

    # ------------------------------------------------------------ what events bring in

    def entries(self, event: int, values: tuple[Value, ...], asks: bool) -> tuple[Entry, ...]:
        """Returns the possible effects of an event, as far as its fields determine them, for any
        state. Answers are not included. Requests are only included with ``asks``.
        """
        cached = self._entries.get((event, values, asks))
        if cached is None:
            if len(self._entries) >= MAX_EVENTS:
                self._entries.clear()
            entries = [self.tolerated(number, values) for number in self._tolerated[event]]
            for number in self._inputs[event]:
                allowed = asks or self.recording.inputs[number].kind != "answers"
                if allowed and self._possible(number, values):
                    entries.append(self.input(number, values))
            cached = self._entries[event, values, asks] = tuple(entries)
        return cached

    def _possible(self, number: int, values: tuple[Value, ...]) -> bool:
        """Checks whether the fields of an event allow an input to come in in some state."""
        try:
            return all(rule.value((), values) for rule in self._early[number])
        except EvaluationError:
            return True

    def tolerated(self, number: int, values: tuple[Value, ...]) -> Entry:
        """Returns the entry for an event that may be passed over, given the number of its rule."""
        event, call = self.recording.tolerated[number].event, self.combined.tolerated[number]
        return Entry("tolerated", number, None, call, (event, *values))

    def input(self, number: int, values: tuple[Value, ...]) -> Entry:
        """Returns the entry for an input."""
        rule = self.recording.inputs[number]
        call = self.combined.inputs[number]
        return Entry(rule.kind, number, rule.action, call, (rule.event, *values))

    def answer(self, number: int, values: tuple[Value, ...]) -> Entry:
        """Returns the entry for the answer to an input."""
        event, call = self.recording.inputs[number].event, self.combined.answers[number]
        assert call is not None
        return Entry("answer", number, None, call, (event, *values))

    def entered(
        self, entries: Sequence[Entry], state: State, ahead: int | None = None
    ) -> EntryMoves:
        """Returns the moves of entries while at most ``ahead`` messages are under way. None means
        that any number may be.
        """
        cuts: set[Cut] = set()
        before, most = (*state, *self._passing), MAX_MESSAGES if ahead is None else ahead
        rest = before[:-2]
        calls = [(entry.call, (*rest, entry.event, most)) for entry in entries]
        moves = list(self._moves(before, calls, cuts, own=False))
        late = self.combined.late in self.runner.refused
        return EntryMoves(moves, cuts, late)

    def answers(self, number: int, state: State) -> list[str]:
        """Returns the answers to an input that a state contains, as texts for reports."""
        declared = self.recording.inputs[number].answer
        if declared is None:
            return []
        return [show(message, declared.message) for message in self.messages(number, state)]

    def messages(self, number: int, state: State) -> list[Value]:
        """Returns the answers to an input that a state contains."""
        rule, declared = self._contents[number], self.recording.inputs[number].answer
        if rule is None or declared is None:
            return []
        try:
            content: tuple[Value, ...] = rule.value(state)
        except EvaluationError:
            return []
        return [
            message
            for message in content
            if (message[0] if isinstance(message, tuple) else message) in declared.tags
        ]

    def explained(
        self, number: int, state: State, values: tuple[Value, ...]
    ) -> list[Value | None] | None:
        """Returns the values of the parts of an explanation, or None if its condition is false or
        undefined. Parts that are texts have no value.
        """
        condition, parts = self._explained[number]
        try:
            if condition is not None and not condition.value(state, values):
                return None
            return [None if part is None else part.value(state, values) for part in parts]
        except EvaluationError:
            return None

    def under_way(self, state: State) -> int:
        """Returns the number of messages that are under way in a state."""
        count: int = self._under_way.value(state)
        return count


def _of_event(rules: Sequence[Input | Toleration], event: int) -> list[int]:
    """Returns the numbers of the rules for an event."""
    return [number for number, rule in enumerate(rules) if rule.event == event]


class _Rule:
    """An expression on the variables of a state. Its free ``slots`` are given values."""

    def __init__(self, domain: ConcreteDomain, expr: ir.Expr, slots: Sequence[int] = ()) -> None:
        reserved = [domain.reserved() for _ in slots]
        scope = {slot: code for slot, (_, code) in zip(slots, reserved, strict=True)}
        self._code: Code = evaluate(domain, scope, expr)
        self._places = [position for position, _ in reserved]
        self._frame: Frame = [*[None] * domain.width, Run()]

    def value(self, state: State, values: Sequence[Value] = ()) -> Any:
        """Evaluates the expression in a state. The state may be empty for an expression that reads
        no variables.
        """
        frame = self._frame
        frame[: len(state)] = state
        for position, value in zip(self._places, values, strict=True):
            frame[position] = value
        return self._code(frame)


def failed(site: ir.Site) -> Cut:
    """Returns the cut for a path on which evaluation fails."""
    return Cut(f"{site.message} ({site.span})")
