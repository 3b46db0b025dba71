"""Random runs of a mapped model, written down as a real system would have: as recordings.

Every run is one that `search` finds again: what comes from outside is made up, and what was put in
ahead of an event of which the run never came is taken back, with all that followed.
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
from fencepost.checker.systems.conform.mapping import Mapped, Move, Shown
from fencepost.checker.systems.conform.verdicts import DEFAULT_AHEAD
from fencepost.spec.core.recording import (
    Event,
    EventField,
    Named,
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
"""How often the fields of an event that comes from outside are made up anew, where they do not
fit.
"""
PATIENCE = 12
"""The steps after which an event does not come any more that something was put in ahead of."""
MAX_VALUES = 1024
"""A type of at most this many values is drawn from as a whole."""
MAX_ELEMENTS = 3
"""The elements of a list that is made up."""
FEW = 4
"""Of more integers the least that are not negative, up to this one, are drawn from."""

Stood: TypeAlias = "tuple[object, ...]"
"""An order of lines, and where it is one: the source, and what such lines have in common."""
Kinds: TypeAlias = "dict[tuple[int, Value], int]"
"""Of values whose names are those of sources, by binding, which source it is."""


@dataclass(frozen=True, slots=True)
class RecordedRuns:
    """Which runs are recorded: ``runs`` of at most ``depth`` steps. First an action is chosen, by
    the ``weights`` of the actions, and then one of its steps; or (``choosing`` "steps") any step,
    by the weight of its action. What an event brings in counts as an action of weight ``entering``.
    """

    seed: int
    depth: int
    runs: int
    choosing: Literal["actions", "steps"]
    weights: tuple[int, ...]
    entering: int


@dataclass(slots=True)
class _Ahead:
    """Something put in ahead of an event: how many lines there were then, and (None: the event has
    not come) when it was read.
    """

    event: Shown
    begun: int
    read: int | None = None


@dataclass(slots=True)
class _Asked:
    """A request that waits for its answer: its input, the fields of its event (those that the
    answer will give have any value), and when it began.
    """

    number: int
    given: tuple[Value, ...]
    begun: _Ahead


@dataclass(slots=True)
class _Run:
    """A run so far. ``names`` are those that stand for values, binding by binding."""

    key: str
    state: State
    names: list[dict[Value, str]]
    lines: list[str] = field(default_factory=list[str])
    ahead: list[_Ahead] = field(default_factory=list[_Ahead])
    pending: dict[int, _Ahead] = field(default_factory=dict[int, "_Ahead"])
    """What was put in and is not read yet, by the source of its event."""
    kinds: Kinds = field(default_factory=dict[tuple[int, Value], int])
    asked: _Asked | None = None
    stood: list[tuple[Stood, int]] = field(default_factory=list[tuple[Stood, int]])
    """The values that order lines, as they were written."""
    before: tuple[State, int, int, int] | None = None
    """Where nothing was pending yet: the state, and how many lines there were, put in, and values
    that order them.
    """
    waited: int = 0

    @property
    def waits(self) -> bool:
        """Whether an event, or an answer, is still to come."""
        return bool(self.pending) or self.asked is not None

    def begin(self, event: Shown) -> _Ahead:
        """Takes note of what is put in for an event that comes later."""
        if not self.waits:
            self.before = self.state, len(self.lines), len(self.ahead), len(self.stood)
        begun = _Ahead(event, len(self.lines))
        self.ahead.append(begun)
        return begun

    def take_back(self) -> None:
        """Goes back to where nothing was pending: the events do not come."""
        assert self.before is not None
        self.state, lines, ahead, stood = self.before
        del self.lines[lines:], self.ahead[ahead:], self.stood[stood:]
        self.pending.clear()
        self.asked = None
        self.waited = 0


class Recorder:
    """Makes random runs of a mapped model. Raises `Rejected` for what it cannot make up."""

    def __init__(self, mapped: Mapped, plan: RecordedRuns) -> None:
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
            for one in event.fields:
                self._named_by_lines(event, one)
        stated = recording.under_way
        self._most_ahead = DEFAULT_AHEAD if stated is None else stated

    def _named_by_lines(self, event: Event, one: EventField) -> None:
        """A field of an event may be the one that says from which source it is: then names of its
        binding are names of sources. Raises `Rejected` for what cannot be both.
        """
        recording = self.recording
        if one.name == "source" and isinstance(one.shape, Named):
            self._patterns.setdefault(one.shape.bind, set()).update(event.sources)
            return
        if one.name not in ("source", recording.event_field, recording.key):
            return
        what = f'the field "{one.name}" of {event.name} says something else of the line, too'
        raise Rejected([Problem("F863", one.span, what)])

    def runs(self, look: Callable[[], bool]) -> Iterator[list[str]]:
        """The lines of each run, as long as ``look`` says that there may be more."""
        for number in range(1, self._plan.runs + 1):
            if not look():
                return
            yield self._run(f"run {number}", look)

    def _run(self, key: str, look: Callable[[], bool]) -> list[str]:
        made: list[dict[Value, str]] = [{} for _ in self.recording.bindings]
        if not self._initial:
            return []
        run = _Run(key, self._random.choice(self._initial), made)
        for _ in range(self._plan.depth):
            if not look():
                break
            stuck = not self._step(run)
            run.waited = run.waited + 1 if run.waits else 0
            if run.waits and (stuck or run.waited > PATIENCE):
                run.take_back()
            elif stuck:
                break
        return run.lines[: _justified(run)]

    # ------------------------------------------------------------ steps

    def _step(self, run: _Run) -> bool:
        """Takes one more step; whether there is one."""
        moves = [move for move in self.mapped.expansion(run.state).moves if self._may(run, move)]
        weights = self._plan.weights
        each = self._plan.choosing == "steps"
        groups: dict[tuple[bool, int], tuple[list[Move], int]] = {}
        for place, move in enumerate(moves):
            found, _ = groups.setdefault((False, place if each else move.action), ([], 0))
            found.append(move)
            groups[False, place if each else move.action] = found, weights[move.action]
        for number in range(len(self.recording.inputs)):
            groups[True, number] = [], self._plan.entering
        while any(weight for _, weight in groups.values()):
            chosen = self._random.choices([*groups], [weight for _, weight in groups.values()])[0]
            found, _ = groups.pop(chosen)
            if chosen[0]:
                if self._enter(run, chosen[1]):
                    return True
            else:
                self._take(run, self._random.choice(found))
                return True
        return False

    def _may(self, run: _Run, move: Move, first: Shown | None = None) -> bool:
        """Whether what a step shows may come now, behind the event ``first`` that it is: before an
        event that something was put in ahead of, nothing else comes from its source.
        """
        waiting = {source: one.event for source, one in run.pending.items()}
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

    def _stands(self, stood: list[tuple[Stood, int]], shown: Shown, source: int) -> bool:
        """Whether an event may come behind those that ``stood`` has, by the fields of it that order
        lines; what it has is added.
        """
        event = self.recording.events[shown.event]
        given = dict(zip((one.name for one in event.fields), shown.values, strict=True))
        for number, order in enumerate(self.recording.orders):
            value = given.get(order.name)
            value = next(iter(value), None) if isinstance(value, tuple) else value
            if not isinstance(value, int):
                continue
            where = (number, source, given.get("source"), *(given.get(name) for name in order.by))
            before = next((known for one, known in reversed(stood) if one == where), None)
            if before is not None and value < before + order.strict:
                return False
            stood.append((where, value))
        return True

    def _source(self, kinds: Kinds, shown: Shown) -> int | None:
        """The source that an event comes from; None: it comes from none, since the source that it
        names is of another kind.
        """
        event = self.recording.events[shown.event]
        for one, value in zip(event.fields, shown.values, strict=True):
            if one.name == "source" and isinstance(one.shape, Named):
                known = kinds.get((one.shape.bind, value))
                if known is None:
                    return event.sources[0]
                return known if known in event.sources else None
        return event.sources[0]

    def _take(self, run: _Run, move: Move) -> None:
        run.state = move.state
        for shown in move.shown:
            self._write(run, shown)

    def _write(self, run: _Run, shown: Shown) -> None:
        event, source = self.recording.events[shown.event], self._source(run.kinds, shown)
        assert source is not None
        self._settle(run.kinds, shown, source)
        self._stands(run.stood, shown, source)
        said: dict[str, Json] = {
            "source": self._sources[source],
            self.recording.event_field: event.said,
        }
        if self.recording.key is not None:
            said[self.recording.key] = run.key
        for one, value in zip(event.fields, shown.values, strict=True):
            if one.name == "source" and isinstance(one.shape, Named):
                said[one.name] = self._made_up_name(run, one.shape.bind, value)
            else:
                said[one.name] = self._said(run, one.shape, value)
        run.lines.append(json.dumps(said))
        expected = run.pending.pop(source, None)
        if expected is not None:
            expected.read = len(run.lines)

    def _settle(self, kinds: Kinds, shown: Shown, source: int) -> None:
        """The name that an event gives as its source is that of a source of this kind."""
        event = self.recording.events[shown.event]
        for one, value in zip(event.fields, shown.values, strict=True):
            if one.name == "source" and isinstance(one.shape, Named):
                kinds[one.shape.bind, value] = source

    def _asked(self, run: _Run) -> int | None:
        """The source of the event of the request that waits for its answer."""
        return None if run.asked is None else self._source(run.kinds, run.asked.begun.event)

    # ------------------------------------------------------------ what comes from outside

    def _enter(self, run: _Run, number: int) -> bool:
        """Makes up an event that brings something in; whether there is one."""
        declared = self.recording.inputs[number]
        event = self.recording.events[declared.event]
        early, asks = declared.kind == "ahead", declared.kind == "answers"
        if asks and run.asked is not None:
            return run.asked.number == number and self._answer(run, run.asked)
        pending = (run.pending[source] for source in event.sources if source in run.pending)
        expected = next((one for one in pending if one.event.event == declared.event), None)
        if expected is not None and not early:
            return False
        if early and self.mapped.under_way(run.state) > self._most_ahead:
            return False
        for _ in range(MAX_TRIED):
            given = self._made_up(declared.event) if expected is None else expected.event.values
            if given is None:
                continue
            entry = self.mapped.input(number, given)
            moves = [move for _, move in self.mapped.entered([entry], run.state).moves]
            if not moves:
                continue
            shown = Shown(declared.event, given)
            source = self._source(run.kinds, shown)
            if source is None or source == self._asked(run):
                continue
            if expected is None and source in run.pending:
                continue
            first = None if early or asks else shown
            moves = [one for one in moves if self._may(run, one, first)]
            if not moves:
                continue
            move = self._random.choice(moves)
            self._settle(run.kinds, shown, source)
            if asks:
                run.asked = _Asked(number, given, run.begin(shown))
            elif early and expected is None:
                run.pending[source] = run.begin(shown)
            elif not early:
                self._write(run, shown)
            self._take(run, move)
            return True
        return False

    def _answer(self, run: _Run, asked: _Asked) -> bool:
        """Takes the answer of a request, where one is there."""
        messages = self.mapped.messages(asked.number, run.state)
        self._random.shuffle(messages)
        for message in messages:
            for _ in range(MAX_TRIED):
                given = self._answered(asked, message)
                entry = self.mapped.answer(asked.number, given)
                moves = self.mapped.entered([entry], run.state).moves
                answered = Shown(asked.begun.event.event, given)
                source = self._source(run.kinds, answered)
                if moves and self._stands([*run.stood], answered, 0 if source is None else source):
                    run.state = self._random.choice(moves)[1].state
                    self._write(run, answered)
                    asked.begun.read = len(run.lines)
                    run.asked = None
                    return True
        return False

    def _answered(self, asked: _Asked, message: Value) -> tuple[Value, ...]:
        """The fields of the event: what the request gave, and what the message says."""
        declared = self.recording.inputs[asked.number]
        assert declared.answer is not None
        known = said(self.mapped.runner, declared, declared.answer, asked.given, message)
        asks, event = asked_fields(declared), self.recording.events[declared.event]
        made: list[Value] = []
        for place, one in enumerate(event.fields):
            value = asked.given[place] if place in asks else known.get(place)
            # What the pattern does not compare may be anything.
            value = self._drawn(one.shape) if value is None else value
            made.append(asked.given[place] if value is None else value)
        return tuple(made)

    def _made_up(self, number: int) -> tuple[Value, ...] | None:
        """The fields of an event: any, or such as the model showed where others were expected."""
        event, known = self.recording.events[number], self._learned.get(number)
        if known and self._random.random() < 0.5:
            return self._random.choice([*known])
        made: list[Value] = []
        for one in event.fields:
            value = self._drawn(one.shape)
            if value is None:
                return None
            made.append(value)
        return tuple(made)

    def _drawn(self, shape: Shape) -> Value | None:
        """A value for a field; None: its type has none."""
        match shape:
            case Plain(kind) | Named(type=kind):
                return self._of_type(kind)
            case Perhaps(element):
                inner = self._drawn(element) if self._random.random() < 0.5 else None
                return () if inner is None else (inner,)
            case Several(element, unordered):
                count = self._random.randint(0, MAX_ELEMENTS)
                drawn = [self._drawn(element) for _ in range(count)]
                found = tuple(cast("list[int]", [one for one in drawn if one is not None]))
                return tuple(sorted(set(found))) if unordered else found
            case _:
                assert_never(shape)

    def _of_type(self, kind: Type) -> Value | None:
        match kind:
            case Integer() if kind.high - kind.low >= MAX_VALUES:
                least = max(kind.low, min(0, kind.high))
                return self._random.randint(least, min(kind.high, least + FEW))
            case Record(fields=fields) if cardinality(kind) > MAX_VALUES:
                parts = [self._of_type(one.type) for one in fields]
                return None if None in parts else tuple(cast("list[Value]", parts))
            case Option(element) if cardinality(kind) > MAX_VALUES:
                inner = self._of_type(element) if self._random.random() < 0.5 else None
                return () if inner is None else (inner,)
            case Set(element) | Seq(element) if cardinality(kind) > MAX_VALUES:
                return ()
            case _:
                every = tuple(values(kind))
                return self._random.choice(every) if every else None

    # ------------------------------------------------------------ values as lines have them

    def _said(self, run: _Run, shape: Shape, value: Value) -> Json:
        match shape, value:
            case Plain(kind), _:
                return in_line(value, kind)
            case Named(bind), _:
                return self._name(run, bind, value)
            case Perhaps(element), tuple():
                return self._said(run, element, value[0]) if value else None
            case Several(element), tuple():
                return [self._said(run, element, one) for one in value]
            case _:
                raise AssertionError((shape, value))

    def _name(self, run: _Run, bind: int, value: Value) -> str | int:
        for name, known in self.recording.bindings[bind].fixed:
            if known == value:
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
    """How many lines of a run stand, without what was put in ahead of events that never came."""
    end = len(run.lines)
    while True:
        late = [
            one.begun
            for one in run.ahead
            if one.begun < end and (one.read is None or one.read > end)
        ]
        if not late:
            return end
        end = min(late)


def _source_name(recording: Recording, number: int, part: str, taken: Collection[str] = ()) -> str:
    """A name for a source, ``part`` in the place of a `*`, and not one of those ``taken``. Raises
    `Rejected` where none is found that fits this source and none before it.
    """
    source = recording.sources[number]
    before = [one for other in recording.sources[:number] for one in other.patterns]
    for pattern in source.patterns:
        name = pattern.replace("*", part).replace("?", "1")
        fits = fnmatchcase(name, pattern) and not any(fnmatchcase(name, one) for one in before)
        if fits and name not in taken:
            return name
    what = f"no other name is found for the source {source.name}"
    raise Rejected([Problem("F863", source.span, what)])
