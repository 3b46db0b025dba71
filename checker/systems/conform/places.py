"""Represents positions in a history: the number of events read from each source, and the binding of
names. A product state consists of a position and a state of the model.

Each position and each binding is represented by a single object, so that they can be compared by
identity. The possible meanings of an event are computed on demand, because the limit on them
affects the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from fencepost.checker.systems.conform.binding import (
    Bound,
    KnownValue,
    ListRead,
    Names,
    Read,
    names_in,
)
from fencepost.checker.systems.conform.cuts import Cut, lacking_values, too_many_meanings, unkept
from fencepost.checker.systems.conform.lines import History, Line
from fencepost.checker.systems.conform.mapping import MappedModel, ShownEvent
from fencepost.checker.systems.conform.verdicts import Events
from fencepost.spec.core.types import Value

MAX_MEANINGS = 400_000
"""Maximum number of meanings of one event that are tried. This is enough for nine new names in a
set and as many values.
"""


class Meaning(NamedTuple):
    """A possible meaning of an event's fields, with the resulting binding."""

    values: tuple[Value, ...]
    names: Bound


class Head:
    """The next event of a source under a binding.

    ``line`` is the event, or None if there is none to read. ``event`` is its kind if steps may show
    it, and -1 otherwise. ``brings`` says that the event may bring in something. ``stops`` says that
    the continuation of the source is unknown, because the event has a value outside its type or was
    not kept (in this case ``line`` is None). If all names in the event are bound, ``settled`` is
    its only meaning.
    """

    __slots__ = (
        "bound", "brings", "event", "fits", "line", "meanings", "settled", "source", "stops",
    )  # fmt: skip

    def __init__(self, source: int, line: Line | None, bound: Bound) -> None:
        self.source = source
        self.line = line
        self.bound = bound
        self.event = -1 if line is None or line.beyond else line.event
        self.brings = False
        self.stops = line is not None and bool(line.beyond)
        self.settled: tuple[Value, ...] | None = None
        self.meanings: list[Meaning] | None = None
        self.fits: dict[tuple[Value, ...], tuple[Bound, ...]] | None = None


class Position:
    """A position in a history.

    ``cursors`` contains the number of events read from each source, ``read`` is their sum, and
    ``bound`` is the binding. ``waits`` identifies the input that waits for its answer: it is the
    number of the input times the number of sources, plus its source, or -1 if no input waits.
    ``asking`` is the source of this input, or -1; the next event of that source is read with the
    answer. ``states`` contains the model states reached at this position. ``further`` caches the
    position after one more event of a source, with the same binding.
    """

    __slots__ = ("asking", "bound", "cursors", "further", "heads", "read", "states", "waits")

    def __init__(
        self, cursors: tuple[int, ...], bound: Bound, waits: int, read: int, heads: list[Head]
    ) -> None:
        self.cursors = cursors
        self.bound = bound
        self.waits = waits
        self.asking = waits % len(cursors) if waits >= 0 else -1
        self.read = read
        self.heads = heads
        self.states: set[Any] = set()
        self.further: dict[int, Position] = {}

    def is_before(self, other: Position) -> bool:
        """Checks whether reports prefer this position to another one with the same number of
        events.
        """
        if self.cursors == other.cursors:
            return self.waits < other.waits
        return self.cursors > other.cursors


class BoundPositions:
    """The positions under one binding, and the heads by source and number of events read."""

    __slots__ = ("bound", "heads", "places")

    def __init__(self, bound: Bound, sources: int) -> None:
        self.bound = bound
        self.places: dict[tuple[tuple[int, ...], int], Position] = {}
        self.heads: list[dict[int, Head]] = [{} for _ in range(sources)]


class Positions:
    """The positions in one history. ``cuts`` contains the reasons why paths ended."""

    def __init__(self, mapped: MappedModel, history: History) -> None:
        recording = mapped.recording
        self.mapped = mapped
        self.recording = recording
        ordered = history.ordered()
        self.sources = [name for _, name, _, _ in ordered]
        self.lines = [lines for _, _, lines, _ in ordered]
        self.ends = tuple([total for _, _, _, total in ordered])
        self.cuts: set[Cut] = set()
        # Lines with equal content in a field share the object that results from reading the field.
        said: dict[int, Read] = {
            id(read): read
            for lines in self.lines
            for line in lines
            for read in line.fields
            if read.__class__ is not KnownValue
        }
        called = (number_of_source for read in said.values() for number_of_source in names_in(read))
        self.names = Names(recording.bindings, chain(called, history.called))
        self.by_event = [
            [
                number
                for number, (number_of_source, _, _, _) in enumerate(ordered)
                if number_of_source in event.sources
            ]
            for event in recording.events
        ]
        self._under: dict[Bound, BoundPositions] = {}
        self._by_identity: dict[int, BoundPositions] = {}

    @property
    def start(self) -> Position:
        """The position before the first event."""
        return self._at((0,) * len(self.ends), self._one(self.names.start), -1)

    # ------------------------------------------------------------ from place to place

    def advanced(self, position: Position, source: int, bound: Bound) -> Position:
        """Returns the position after one more event of a source."""
        if bound is not position.bound:
            return self._at(_advanced(position.cursors, source), bound, position.waits)
        next_ = position.further.get(source)
        if next_ is None:
            next_ = position.further[source] = self._next(position, source)
        return next_

    def waiting(self, position: Position, bound: Bound, waits: int) -> Position:
        """Returns the position with the same events read, but with another waiting input."""
        if bound is position.bound and waits == position.waits:
            return position
        return self._at(position.cursors, bound, waits)

    def answered(self, position: Position, source: int, bound: Bound) -> Position:
        """Returns the position after one more event of a source, without a waiting input."""
        return self._at(_advanced(position.cursors, source), bound, -1)

    def _next(self, position: Position, source: int) -> Position:
        under = self._by_identity[id(position.bound)]
        cursors = _advanced(position.cursors, source)
        next_ = under.places.get((cursors, position.waits))
        if next_ is None:
            heads = [*position.heads]
            heads[source] = self._head(under, source, cursors[source])
            next_ = Position(cursors, position.bound, position.waits, position.read + 1, heads)
            under.places[cursors, position.waits] = next_
        return next_

    def _at(self, cursors: tuple[int, ...], bound: Bound, waits: int) -> Position:
        under = self._by_identity[id(bound)]
        position = under.places.get((cursors, waits))
        if position is None:
            heads = [self._head(under, source, read) for source, read in enumerate(cursors)]
            position = Position(cursors, under.bound, waits, sum(cursors), heads)
            under.places[cursors, waits] = position
        return position

    def _one(self, bound: Bound) -> Bound:
        """Returns the object that represents a binding."""
        under = self._under.get(bound)
        if under is None:
            under = self._under[bound] = BoundPositions(bound, len(self.ends))
            self._by_identity[id(bound)] = under
        return under.bound

    def _head(self, under: BoundPositions, source: int, read: int) -> Head:
        head = under.heads[source].get(read)
        if head is None:
            lines = self.lines[source]
            line = lines[read] if read < len(lines) and not lines[read].misplaced else None
            head = under.heads[source][read] = Head(source, line, under.bound)
            if line is None:
                head.stops = len(lines) <= read < self.ends[source]
            else:
                head.brings = not head.stops and self.mapped.brings_in[line.event]
                head.settled = self.names.settled(line.fields, under.bound)
        return head

    # ------------------------------------------------------------ the next events

    def upcoming(self, position: Position) -> list[Head]:
        """Returns the next events of the sources, as far as they may bring in something."""
        heads: list[Head] = []
        for head in position.heads:
            if head.brings:
                if head.source != position.asking:
                    heads.append(head)
            elif head.stops:
                self._cut_at(head)
        return heads

    def _cut_at(self, head: Head) -> None:
        if head.line is None:
            # If steps show several events at once, a search may reach events that were not kept.
            self.cuts.add(unkept(len(self.lines[head.source])))
        else:
            self.cuts.update([Cut(why) for why in head.line.beyond])

    def meanings(self, head: Head) -> list[Meaning]:
        """Returns the possible meanings of an event's fields."""
        cached = head.meanings
        if cached is None:
            assert head.line is not None
            cached = head.meanings = [Meaning(*choice) for choice in self._choices(head, head.line)]
        return cached

    def _choices(self, head: Head, line: Line) -> Iterable[tuple[tuple[Value, ...], Bound]]:
        """Returns the results of `Names.values`, or none if a list has too many names."""
        if head.settled is not None:
            return ((head.settled, head.bound),)
        if any(isinstance(read, ListRead) for read in line.fields):
            ways = self.names.ways(line.fields, head.bound)
            if ways > MAX_MEANINGS:
                self.cuts.add(too_many_meanings(line.heading.name, MAX_MEANINGS))
            if not 0 < ways <= MAX_MEANINGS:
                return ()
        choices = self.names.values(line.fields, head.bound)
        return ((values, self._one(names)) for values, names in choices)

    def shown(
        self, shown: tuple[ShownEvent, ...], position: Position, events: Events
    ) -> list[tuple[Position, Events]]:
        """Returns the ways to match the events of a step with the next events of the sources. Each
        way consists of the position afterwards and the events read, which follow ``events``.
        """
        if len(shown) == 1:
            return self._ways(shown[0], position, events)
        ways = [(position, events)]
        for event in shown:
            ways = [way for before in ways for way in self._ways(event, *before)]
        return ways

    def _ways(
        self, shown: ShownEvent, position: Position, events: Events
    ) -> list[tuple[Position, Events]]:
        event, values = shown
        ways: list[tuple[Position, Events]] = []
        for source in self.by_event[event]:
            head = position.heads[source]
            if head.event == event:
                line, settled = head.line, head.settled
                assert line is not None
                if source == position.asking or (settled is not None and settled != values):
                    continue
                read = *events, (source, line)
                for names in self._fitting(head, line, values):
                    ways.append((self.advanced(position, source, names), read))
            elif head.stops and head.line is None:
                self._cut_at(head)
        return ways

    def _fitting(self, head: Head, line: Line, values: tuple[Value, ...]) -> Iterable[Bound]:
        """Returns the bindings under which the fields of an event have these values."""
        if head.settled is not None:
            return (head.bound,) if head.settled == values else ()
        if head.fits is None:
            head.fits = {}
        cached = head.fits.get(values)
        if cached is None:
            bindings = [head.bound]
            for read, value in zip(line.fields, values, strict=True):
                bindings = [
                    after for names in bindings for after in self.names.fits(read, value, names)
                ]
                if not bindings:
                    break
            cached = head.fits[values] = tuple([self._one(names) for names in bindings])
        return cached

    def lacking(self) -> Iterator[Cut]:
        """Yields the cuts for bindings that ran out of values."""
        for bind in self.names.lacking:
            yield lacking_values(self.recording.bindings[bind], len(self.names.names[bind]))


def _advanced(cursors: tuple[int, ...], source: int) -> tuple[int, ...]:
    return (*cursors[:source], cursors[source] + 1, *cursors[source + 1 :])
