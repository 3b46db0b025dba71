"""Writes random runs of a mapped model as recordings of a real system.

`search` accepts every run. External events are invented. If a message is sent ahead of an event
that never occurs, the message and everything after it is undone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from fnmatch import fnmatchcase
from random import Random
from typing import Literal, TypeAlias, assert_never, cast

from fencepost.checker.printing.json_values import Json
from fencepost.checker.systems.conform.answers import asked_fields, said
from fencepost.checker.systems.conform.fields import in_line
from fencepost.checker.systems.conform.mapping import MappedModel, Move, ShownEvent
from fencepost.checker.systems.conform.verdicts import DEFAULT_AHEAD
from fencepost.spec.core.recording import (
    Event,
    EventField,
    NameShape,
    Perhaps,
    Plain,
    Recording,
    Several,
    Shape,
)
from fencepost.spec.core.types import (
    Integer,
    Option,
    Record,
    Seq,
    Set,
    State,
    Type,
    Value,
    cardinality,
    values,
)
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

MAX_TRIED = 8
"""Maximum number of attempts to invent fitting fields for an external event."""
MAX_WAIT = 12
"""Number of steps to wait for the event of a message that was sent ahead. After that, the event is
given up.
"""
MAX_VALUES = 1024
"""Values of types with at most this many values are drawn uniformly."""
MAX_ELEMENTS = 3
"""Maximum length of an invented list."""
MAX_INTEGERS = 4
"""Number of values that large integers are drawn from, starting at 0 if possible."""

OrderedScope: TypeAlias = "tuple[object, ...]"
"""An order of lines, and the scope of this order: the source, and the values of the `by` fields."""
Kinds: TypeAlias = "dict[tuple[int, Value], int]"
"""For bindings whose names are names of sources: maps a binding and a value to the number of the
source.
"""


@dataclass(frozen=True, slots=True)
class RecordedRuns:
    """The plan of the runs to record: ``runs`` runs with at most ``depth`` steps each.

    With ``choosing`` "actions", an action is chosen according to the ``weights`` of the actions,
    and then one of its steps. With "steps", any step is chosen, according to the weight of its
    action. An external event counts as an action with the weight ``entering``.
    """

    seed: int
    depth: int
    runs: int
    choosing: Literal["actions", "steps"]
    weights: tuple[int, ...]
    entering: int


@dataclass(slots=True)
class _Ahead:
    """A message that is sent ahead of its event. ``begun`` is the number of lines at that time, and
    ``read`` the number of lines after the event, or None if the event has not occurred.
    """

    event: ShownEvent
    begun: int
    read: int | None = None


@dataclass(slots=True)
class _Asked:
    """A request that waits for its answer: the number of its input, the fields of its event, and
    its start. The fields of the answer have arbitrary values.
    """

    number: int
    given: tuple[Value, ...]
    begun: _Ahead


@dataclass(slots=True)
class _Run:
    """The current state of a run. ``names`` contains the names of values, by binding."""

    key: str
    state: State
    names: list[dict[Value, str]]
    lines: list[str] = field(default_factory=list[str])
    ahead: list[_Ahead] = field(default_factory=list[_Ahead])
    pending: dict[int, _Ahead] = field(default_factory=dict[int, "_Ahead"])
    """Messages that were sent ahead and whose events are pending, by the source of the event."""
    kinds: Kinds = field(default_factory=dict[tuple[int, Value], int])
    asked: _Asked | None = None
    stood: list[tuple[OrderedScope, int]] = field(default_factory=list[tuple[OrderedScope, int]])
    """Values of ordered fields in the lines so far."""
    before: tuple[State, int, int, int] | None = None
    """The last moment without pending events: the state, and the numbers of lines, of messages sent
    ahead, and of values of ordered fields.
    """
    waited: int = 0

    @property
    def waits(self) -> bool:
        """Whether an event or an answer is pending."""
        return bool(self.pending) or self.asked is not None

    def begin(self, event: ShownEvent) -> _Ahead:
        """Records that a message is sent ahead of its event."""
        if not self.waits:
            self.before = self.state, len(self.lines), len(self.ahead), len(self.stood)
        begun = _Ahead(event, len(self.lines))
        self.ahead.append(begun)
        return begun

    def take_back(self) -> None:
        """Returns to the last moment without pending events, and gives up these events."""
        assert self.before is not None
        self.state, lines, ahead, stood = self.before
        del self.lines[lines:], self.ahead[ahead:], self.stood[stood:]
        self.pending.clear()
        self.asked = None
        self.waited = 0


class Recorder:
    """Makes random runs of a mapped model. Raises `Rejected` if an event cannot be invented."""

    def __init__(self, mapped: MappedModel, plan: RecordedRuns) -> None:
        recording = mapped.recording
        self.mapped = mapped
        self.recording = recording
        self._plan = plan
        self._random = Random(plan.seed)
        self._initial = mapped.initial()
        self._sources = [_source_name(recording, n, "1") for n in range(len(recording.sources))]
        self._learned: dict[int, dict[tuple[Value, ...], None]] = {}
        self._patterns: dict[int, set[int]] = {}
        for event in recording.events:
            for declared in event.fields:
                self._named_by_lines(event, declared)
        stated = recording.under_way
        self._most_ahead = DEFAULT_AHEAD if stated is None else stated

    def _named_by_lines(self, event: Event, declared: EventField) -> None:
        """Records that the names of a binding are names of sources, if the field of an event names
        the source. Raises `Rejected` if the field would have two meanings.
        """
        recording = self.recording
        if declared.name == "source" and isinstance(declared.shape, NameShape):
            self._patterns.setdefault(declared.shape.bind, set()).update(event.sources)
            return
        if declared.name not in ("source", recording.event_field, recording.key):
            return
        message = (
            f'the field "{declared.name}" of {event.name} also says something else about the line'
        )
        raise Rejected([Problem("F863", declared.span, message)])

    def runs(self, look: Callable[[], bool]) -> Iterator[list[str]]:
        """Yields the lines of each run while ``look`` returns true."""
        for number in range(1, self._plan.runs + 1):
            if not look():
                return
            yield self._run(f"run {number}", look)

    def _run(self, key: str, look: Callable[[], bool]) -> list[str]:
        names: list[dict[Value, str]] = [{} for _ in self.recording.bindings]
        if not self._initial:
            return []
        run = _Run(key, self._random.choice(self._initial), names)
        for _ in range(self._plan.depth):
            if not look():
                break
            stuck = not self._step(run)
            run.waited = run.waited + 1 if run.waits else 0
            if run.waits and (stuck or run.waited > MAX_WAIT):
                run.take_back()
            elif stuck:
                break
        return run.lines[: _justified(run)]

    # ------------------------------------------------------------ steps

    def _step(self, run: _Run) -> bool:
        """Takes one step. Returns False if no step is possible."""
        moves = [move for move in self.mapped.expansion(run.state).moves if self._may(run, move)]
        weights = self._plan.weights
        each = self._plan.choosing == "steps"
        groups: dict[tuple[bool, int], tuple[list[Move], int]] = {}
        for index, move in enumerate(moves):
            group, _ = groups.setdefault((False, index if each else move.action), ([], 0))
            group.append(move)
            groups[False, index if each else move.action] = group, weights[move.action]
        for number in range(len(self.recording.inputs)):
            groups[True, number] = [], self._plan.entering
        while any(weight for _, weight in groups.values()):
            chosen = self._random.choices([*groups], [weight for _, weight in groups.values()])[0]
            group, _ = groups.pop(chosen)
            if chosen[0]:
                if self._enter(run, chosen[1]):
                    return True
            else:
                self._take(run, self._random.choice(group))
                return True
        return False

    def _may(self, run: _Run, move: Move, first: ShownEvent | None = None) -> bool:
        """Checks whether a step may show its events now, after ``first``, which is the event of the
        step itself. A source with a pending event must not show anything else before that event.
        """
        waiting = {source: ahead.event for source, ahead in run.pending.items()}
        kinds = {**run.kinds}
        stood = [*run.stood]
        source = None if first is None else self._source(kinds, first)
        if first is not None and source is not None and not self._stands(stood, first, source):
            return False
        for shown in move.shown:
            source = self._source(kinds, shown)
            if source is None or source == self._asked(run):
                return False
            if not self._stands(stood, shown, source):
                return False
            self._settle(kinds, shown, source)
            expected = waiting.pop(source, shown)
            if expected != shown:
                if expected.event == shown.event:
                    self._learned.setdefault(shown.event, {})[shown.values] = None
                return False
        return True

    def _stands(
        self, stood: list[tuple[OrderedScope, int]], shown: ShownEvent, source: int
    ) -> bool:
        """Checks whether an event respects the orders of lines after the events in ``stood``, and
        appends the values of this event.
        """
        event = self.recording.events[shown.event]
        by_name = dict(zip((key.name for key in event.fields), shown.values, strict=True))
        for number, order in enumerate(self.recording.orders):
            value = by_name.get(order.name)
            value = next(iter(value), None) if isinstance(value, tuple) else value
            if not isinstance(value, int):
                continue
            where = (
                number,
                source,
                by_name.get("source"),
                *(by_name.get(name) for name in order.by),
            )
            before = next((earlier for key, earlier in reversed(stood) if key == where), None)
            if before is not None and value < before + order.strict:
                return False
            stood.append((where, value))
        return True

    def _source(self, kinds: Kinds, shown: ShownEvent) -> int | None:
        """Returns the source of an event, or None if the source that the event names does not have
        such events.
        """
        event = self.recording.events[shown.event]
        for declared, value in zip(event.fields, shown.values, strict=True):
            if declared.name == "source" and isinstance(declared.shape, NameShape):
                source = kinds.get((declared.shape.bind, value))
                if source is None:
                    return event.sources[0]
                return source if source in event.sources else None
        return event.sources[0]

    def _take(self, run: _Run, move: Move) -> None:
        run.state = move.state
        for shown in move.shown:
            self._write(run, shown)

    def _write(self, run: _Run, shown: ShownEvent) -> None:
        event, source = self.recording.events[shown.event], self._source(run.kinds, shown)
        assert source is not None
        self._settle(run.kinds, shown, source)
        self._stands(run.stood, shown, source)
        record: dict[str, Json] = {
            "source": self._sources[source],
            self.recording.event_field: event.said,
        }
        if self.recording.key is not None:
            record[self.recording.key] = run.key
        for declared, value in zip(event.fields, shown.values, strict=True):
            if declared.name == "source" and isinstance(declared.shape, NameShape):
                record[declared.name] = self._made_up_name(run, declared.shape.bind, value)
            else:
                record[declared.name] = self._said(run, declared.shape, value)
        run.lines.append(json.dumps(record))
        expected = run.pending.pop(source, None)
        if expected is not None:
            expected.read = len(run.lines)

    def _settle(self, kinds: Kinds, shown: ShownEvent, source: int) -> None:
        """Records the source that an event names."""
        event = self.recording.events[shown.event]
        for declared, value in zip(event.fields, shown.values, strict=True):
            if declared.name == "source" and isinstance(declared.shape, NameShape):
                kinds[declared.shape.bind, value] = source

    def _asked(self, run: _Run) -> int | None:
        """Returns the source of the pending request, or None."""
        return None if run.asked is None else self._source(run.kinds, run.asked.begun.event)

    # ------------------------------------------------------------ what comes from outside

    def _enter(self, run: _Run, number: int) -> bool:
        """Invents an event that brings something in. Returns whether this succeeded."""
        declared = self.recording.inputs[number]
        event = self.recording.events[declared.event]
        early, asks = declared.kind == "ahead", declared.kind == "answers"
        if asks and run.asked is not None:
            return run.asked.number == number and self._answer(run, run.asked)
        pending = (run.pending[source] for source in event.sources if source in run.pending)
        expected = next(
            (candidate for candidate in pending if candidate.event.event == declared.event), None
        )
        if expected is not None and not early:
            return False
        if early and self.mapped.under_way(run.state) > self._most_ahead:
            return False
        for _ in range(MAX_TRIED):
            fields = self._made_up(declared.event) if expected is None else expected.event.values
            if fields is None:
                continue
            entry = self.mapped.input(number, fields)
            moves = [move for _, move in self.mapped.entered([entry], run.state).moves]
            if not moves:
                continue
            shown = ShownEvent(declared.event, fields)
            source = self._source(run.kinds, shown)
            if source is None or source == self._asked(run):
                continue
            if expected is None and source in run.pending:
                continue
            first = None if early or asks else shown
            moves = [candidate for candidate in moves if self._may(run, candidate, first)]
            if not moves:
                continue
            move = self._random.choice(moves)
            self._settle(run.kinds, shown, source)
            if asks:
                run.asked = _Asked(number, fields, run.begin(shown))
            elif early and expected is None:
                run.pending[source] = run.begin(shown)
            elif not early:
                self._write(run, shown)
            self._take(run, move)
            return True
        return False

    def _answer(self, run: _Run, asked: _Asked) -> bool:
        """Takes an answer to a request, if possible. Returns whether an answer was taken."""
        messages = self.mapped.messages(asked.number, run.state)
        self._random.shuffle(messages)
        for message in messages:
            for _ in range(MAX_TRIED):
                fields = self._answered(asked, message)
                entry = self.mapped.answer(asked.number, fields)
                moves = self.mapped.entered([entry], run.state).moves
                answered = ShownEvent(asked.begun.event.event, fields)
                source = self._source(run.kinds, answered)
                if moves and self._stands([*run.stood], answered, 0 if source is None else source):
                    run.state = self._random.choice(moves)[1].state
                    self._write(run, answered)
                    asked.begun.read = len(run.lines)
                    run.asked = None
                    return True
        return False

    def _answered(self, asked: _Asked, message: Value) -> tuple[Value, ...]:
        """Returns the fields of the event: those of the request, and those that the message
        determines.
        """
        declared = self.recording.inputs[asked.number]
        assert declared.answer is not None
        told = said(self.mapped.runner, declared, declared.answer, asked.given, message)
        asks, event = asked_fields(declared), self.recording.events[declared.event]
        fields: list[Value] = []
        for index, event_field in enumerate(event.fields):
            value = asked.given[index] if index in asks else told.get(index)
            # Fields that the pattern does not compare are arbitrary.
            value = self._drawn(event_field.shape) if value is None else value
            fields.append(asked.given[index] if value is None else value)
        return tuple(fields)

    def _made_up(self, number: int) -> tuple[Value, ...] | None:
        """Invents the fields of an event. They are arbitrary, or equal to those of an event that
        the model showed when it was not expected.
        """
        event, learned = self.recording.events[number], self._learned.get(number)
        if learned and self._random.random() < 0.5:
            return self._random.choice([*learned])
        drawn: list[Value] = []
        for declared in event.fields:
            value = self._drawn(declared.shape)
            if value is None:
                return None
            drawn.append(value)
        return tuple(drawn)

    def _drawn(self, shape: Shape) -> Value | None:
        """Draws a value for a field. Returns None if its type is empty."""
        match shape:
            case Plain(kind) | NameShape(type=kind):
                return self._of_type(kind)
            case Perhaps(element):
                inner = self._drawn(element) if self._random.random() < 0.5 else None
                return () if inner is None else (inner,)
            case Several(element, unordered):
                count = self._random.randint(0, MAX_ELEMENTS)
                drawn = [self._drawn(element) for _ in range(count)]
                items = tuple(cast("list[int]", [item for item in drawn if item is not None]))
                return tuple(sorted(set(items))) if unordered else items
            case _:
                assert_never(shape)

    def _of_type(self, kind: Type) -> Value | None:
        match kind:
            case Integer() if kind.high - kind.low >= MAX_VALUES:
                least = max(kind.low, min(0, kind.high))
                return self._random.randint(least, min(kind.high, least + MAX_INTEGERS))
            case Record(fields=fields) if cardinality(kind) > MAX_VALUES:
                parts = [self._of_type(declared.type) for declared in fields]
                return None if None in parts else tuple(cast("list[Value]", parts))
            case Option(element) if cardinality(kind) > MAX_VALUES:
                inner = self._of_type(element) if self._random.random() < 0.5 else None
                return () if inner is None else (inner,)
            case Set(element) | Seq(element) if cardinality(kind) > MAX_VALUES:
                return ()
            case _:
                every = tuple(values(kind))
                return self._random.choice(every) if every else None

    # ------------------------------------------------------------ values in lines

    def _said(self, run: _Run, shape: Shape, value: Value) -> Json:
        match shape, value:
            case Plain(kind), _:
                return in_line(value, kind)
            case NameShape(bind), _:
                return self._name(run, bind, value)
            case Perhaps(element), tuple():
                return self._said(run, element, value[0]) if value else None
            case Several(element), tuple():
                return [self._said(run, element, item) for item in value]
            case _:
                raise AssertionError((shape, value))

    def _name(self, run: _Run, bind: int, value: Value) -> str | int:
        for name, fixed in self.recording.bindings[bind].fixed:
            if fixed == value:
                return name
        return self._made_up_name(run, bind, value)

    def _made_up_name(self, run: _Run, bind: int, value: Value) -> str:
        names = run.names[bind]
        if value not in names:
            name = f"{self.recording.bindings[bind].name} {len(names) + 1} of {run.key}"
            kinds = self._patterns.get(bind)
            if kinds is not None:
                if (bind, value) not in run.kinds:
                    run.kinds[bind, value] = self._random.choice(sorted(kinds))
                source = run.kinds[bind, value]
                name = _source_name(self.recording, source, name, names.values())
            names[value] = name
        return names[value]


def _justified(run: _Run) -> int:
    """Returns the number of lines of a run that do not depend on events which never occurred."""
    end = len(run.lines)
    while True:
        late = [
            ahead.begun
            for ahead in run.ahead
            if ahead.begun < end and (ahead.read is None or ahead.read > end)
        ]
        if not late:
            return end
        end = min(late)


def _source_name(recording: Recording, number: int, part: str, taken: Collection[str] = ()) -> str:
    """Returns a name for a source that is not in ``taken``, with ``part`` in place of `*`. Raises
    `Rejected` if no name matches this source without matching an earlier one.
    """
    source = recording.sources[number]
    before = [
        pattern_before for other in recording.sources[:number] for pattern_before in other.patterns
    ]
    for pattern in source.patterns:
        name = pattern.replace("*", part).replace("?", "1")
        fits = fnmatchcase(name, pattern) and not any(
            fnmatchcase(name, pattern_before) for pattern_before in before
        )
        if fits and name not in taken:
            return name
    message = f"no other name is found for the source {source.name}"
    raise Rejected([Problem("F863", source.span, message)])
