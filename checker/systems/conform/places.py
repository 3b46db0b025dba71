"""How far the sources of a history are read, and what its names stand for there: all of a product
state that is not the model's.

Of each place there is one object, and of each binding, so both are compared by identity. What an
event may stand for is found when it is asked for, as where that is cut short is part of a verdict.
It does not know states of the model, nor in which order places are visited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from fencepost.checker.systems.conform.binding import Bound, Known, Listed, Names, Read, names_in
from fencepost.checker.systems.conform.cuts import Cut, lacking_values, too_many_meanings, unkept
from fencepost.checker.systems.conform.lines import History, Line
from fencepost.checker.systems.conform.mapping import Mapped, Shown
from fencepost.checker.systems.conform.verdicts import Events
from fencepost.spec.core.types import Value

MAX_MEANINGS = 400_000
"""So many ways in which names of one event may stand for values are tried: nine new names in a set,
and as many values.
"""


class Meaning(NamedTuple):
    """What the fields of an event may stand for, with what names stand for then."""

    values: tuple[Value, ...]
    names: Bound


class Head:
    """The next event of a source under a binding (``line``; None: none can be read), and which one
    steps may show there (``event``; -1: none). ``brings``: it may bring in something. ``stops``: it
    has a value outside its type, or it is not kept (then there is no line), so that what comes is
    not known. Where all its names are settled the fields stand for ``settled`` and nothing else.
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


class Place:
    """How many events of each source are read (``read``: of all), what names stand for, and which
    input waits for its answer: its number, times the number of sources, and its source (-1: none);
    ``asking`` is that source, whose next event is read with the answer (-1: none). ``states`` are
    those of the model that were reached there, and ``further`` is where one more event of a source
    is read and the binding is the same.
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
        self.further: dict[int, Place] = {}

    def is_before(self, other: Place) -> bool:
        """Whether this one is reported, of two where as much is read."""
        if self.cursors == other.cursors:
            return self.waits < other.waits
        return self.cursors > other.cursors


class _Under:
    """The places and heads of a binding, these by sources and how much of them is read."""

    __slots__ = ("bound", "heads", "places")

    def __init__(self, bound: Bound, sources: int) -> None:
        self.bound = bound
        self.places: dict[tuple[tuple[int, ...], int], Place] = {}
        self.heads: list[dict[int, Head]] = [{} for _ in range(sources)]


class Places:
    """The places of one history. ``cuts`` say where paths went no further."""

    def __init__(self, mapped: Mapped, history: History) -> None:
        recording = mapped.recording
        self.mapped = mapped
        self.recording = recording
        ordered = history.ordered()
        self.sources = [name for _, name, _, _ in ordered]
        self.lines = [lines for _, _, lines, _ in ordered]
        self.ends = tuple([total for _, _, _, total in ordered])
        self.cuts: set[Cut] = set()
        # Lines that say the same of a field share what is read of it.
        said: dict[int, Read] = {
            id(read): read
            for lines in self.lines
            for line in lines
            for read in line.fields
            if read.__class__ is not Known
        }
        called = (one for read in said.values() for one in names_in(read))
        self.names = Names(recording.bindings, chain(called, history.called))
        self.by_event = [
            [number for number, (one, _, _, _) in enumerate(ordered) if one in event.sources]
            for event in recording.events
        ]
        self._under: dict[Bound, _Under] = {}
        self._by_identity: dict[int, _Under] = {}

    @property
    def start(self) -> Place:
        """Where nothing is read."""
        return self._at((0,) * len(self.ends), self._one(self.names.start), -1)

    # ------------------------------------------------------------ from place to place

    def advanced(self, place: Place, source: int, bound: Bound) -> Place:
        """Where one more event of a source is read."""
        if bound is not place.bound:
            return self._at(_advanced(place.cursors, source), bound, place.waits)
        known = place.further.get(source)
        if known is None:
            known = place.further[source] = self._next(place, source)
        return known

    def waiting(self, place: Place, bound: Bound, waits: int) -> Place:
        """Where as much is read; which input waits may be another one."""
        if bound is place.bound and waits == place.waits:
            return place
        return self._at(place.cursors, bound, waits)

    def answered(self, place: Place, source: int, bound: Bound) -> Place:
        """Where one more event of a source is read, and no input waits."""
        return self._at(_advanced(place.cursors, source), bound, -1)

    def _next(self, place: Place, source: int) -> Place:
        under = self._by_identity[id(place.bound)]
        cursors = _advanced(place.cursors, source)
        known = under.places.get((cursors, place.waits))
        if known is None:
            heads = [*place.heads]
            heads[source] = self._head(under, source, cursors[source])
            known = Place(cursors, place.bound, place.waits, place.read + 1, heads)
            under.places[cursors, place.waits] = known
        return known

    def _at(self, cursors: tuple[int, ...], bound: Bound, waits: int) -> Place:
        under = self._by_identity[id(bound)]
        known = under.places.get((cursors, waits))
        if known is None:
            heads = [self._head(under, source, read) for source, read in enumerate(cursors)]
            known = Place(cursors, under.bound, waits, sum(cursors), heads)
            under.places[cursors, waits] = known
        return known

    def _one(self, bound: Bound) -> Bound:
        """The object that stands for a binding."""
        under = self._under.get(bound)
        if under is None:
            under = self._under[bound] = _Under(bound, len(self.ends))
            self._by_identity[id(bound)] = under
        return under.bound

    def _head(self, under: _Under, source: int, read: int) -> Head:
        known = under.heads[source].get(read)
        if known is None:
            lines = self.lines[source]
            line = lines[read] if read < len(lines) and not lines[read].misplaced else None
            known = under.heads[source][read] = Head(source, line, under.bound)
            if line is None:
                known.stops = len(lines) <= read < self.ends[source]
            else:
                known.brings = not known.stops and self.mapped.brings_in[line.event]
                known.settled = self.names.settled(line.fields, under.bound)
        return known

    # ------------------------------------------------------------ the next events

    def upcoming(self, place: Place) -> list[Head]:
        """The next event of each source that may bring in something."""
        found: list[Head] = []
        for head in place.heads:
            if head.brings:
                if head.source != place.asking:
                    found.append(head)
            elif head.stops:
                self._cut_at(head)
        return found

    def _cut_at(self, head: Head) -> None:
        if head.line is None:
            # Where steps show several events at a time, a search may come to what is not kept.
            self.cuts.add(unkept(len(self.lines[head.source])))
        else:
            self.cuts.update([Cut(why) for why in head.line.beyond])

    def meanings(self, head: Head) -> list[Meaning]:
        """What the fields of an event may stand for."""
        known = head.meanings
        if known is None:
            assert head.line is not None
            known = head.meanings = [Meaning(*one) for one in self._choices(head, head.line)]
        return known

    def _choices(self, head: Head, line: Line) -> Iterable[tuple[tuple[Value, ...], Bound]]:
        """What `Names.values` finds; nothing, where a list has too many names for that."""
        if head.settled is not None:
            return ((head.settled, head.bound),)
        if any(isinstance(read, Listed) for read in line.fields):
            ways = self.names.ways(line.fields, head.bound)
            if ways > MAX_MEANINGS:
                self.cuts.add(too_many_meanings(line.heading.name, MAX_MEANINGS))
            if not 0 < ways <= MAX_MEANINGS:
                return ()
        found = self.names.values(line.fields, head.bound)
        return ((values, self._one(names)) for values, names in found)

    def shown(
        self, shown: tuple[Shown, ...], place: Place, events: Events
    ) -> list[tuple[Place, Events]]:
        """The ways in which the next events of the sources are those that a step shows: where they
        are read, and they with the ``events`` before them.
        """
        if len(shown) == 1:
            return self._ways(shown[0], place, events)
        found = [(place, events)]
        for one in shown:
            found = [way for before in found for way in self._ways(one, *before)]
        return found

    def _ways(self, shown: Shown, place: Place, events: Events) -> list[tuple[Place, Events]]:
        event, values = shown
        found: list[tuple[Place, Events]] = []
        for source in self.by_event[event]:
            head = place.heads[source]
            if head.event == event:
                line, settled = head.line, head.settled
                assert line is not None
                if source == place.asking or (settled is not None and settled != values):
                    continue
                read = *events, (source, line)
                for names in self._fitting(head, line, values):
                    found.append((self.advanced(place, source, names), read))
            elif head.stops and head.line is None:
                self._cut_at(head)
        return found

    def _fitting(self, head: Head, line: Line, values: tuple[Value, ...]) -> Iterable[Bound]:
        """The bindings by which the fields of an event have these values."""
        if head.settled is not None:
            return (head.bound,) if head.settled == values else ()
        if head.fits is None:
            head.fits = {}
        known = head.fits.get(values)
        if known is None:
            found = [head.bound]
            for read, value in zip(line.fields, values, strict=True):
                found = [after for names in found for after in self.names.fits(read, value, names)]
                if not found:
                    break
            known = head.fits[values] = tuple([self._one(names) for names in found])
        return known

    def lacking(self) -> Iterator[Cut]:
        """Where there were more names than values."""
        for bind in self.names.lacking:
            yield lacking_values(self.recording.bindings[bind], len(self.names.names[bind]))


def _advanced(cursors: tuple[int, ...], source: int) -> tuple[int, ...]:
    return (*cursors[:source], cursors[source] + 1, *cursors[source + 1 :])
