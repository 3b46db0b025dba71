"""The same search as `search`, over packed states: what follows a product state is found by machine
code in one call, for the model's own steps and for all that events may bring in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from heapq import heappop
from struct import Struct, pack
from typing import NamedTuple

from fencepost.checker.conform.as_model import MOST_AHEAD, compared
from fencepost.checker.conform.binding import Bound
from fencepost.checker.conform.dependence import read_by_shown
from fencepost.checker.conform.lines import History, Line
from fencepost.checker.conform.mapping import Cut, Mapped, Shown, lacking_room
from fencepost.checker.conform.search import (
    Did,
    Effort,
    Judged,
    Node,
    Search,
    advanced,
    unread,
)
from fencepost.checker.layout import least
from fencepost.checker.native.codegen.context_words import Row
from fencepost.checker.native.codegen.single_steps import REFUSED_SLOT
from fencepost.checker.native.follower import Followed, Follower
from fencepost.spec.core.types import State, Value

MOST_KEPT = 100_000
"""What is known of the events of steps is kept for so many at a time."""
REFUSED = -1 - REFUSED_SLOT
"""What stands for the action where a guard was refused."""
HEAD = Struct("=qqq")
"""The call of a row, its action, and its first word of marks, or what failed or was refused."""


class Offer(NamedTuple):
    """What an event may bring in: input ``number``, its answer, or that it is passed over."""

    kind: str
    number: int
    source: int
    line: Line
    values: tuple[Value, ...]
    names: Bound


class Offers(NamedTuple):
    """What events may bring in in a product state, as calls of machine code."""

    offers: list[Offer]
    calls: bytes


class PackedMapping:
    """A mapping in machine code. Raises `Unsupported`. The code is loaded by each process that
    judges histories, when it judges the first.
    """

    def __init__(self, mapped: Mapped) -> None:
        self.mapped = mapped
        model, recording = mapped.model, mapped.recording
        self.made = made = compared(model, recording)
        self.count = len(model.variables)
        numbers = [*made.inputs, *made.answers, *made.tolerated]
        called = [one for one in numbers if one is not None]
        passing = [*(copy for _, copy in made.kept), made.event, made.ahead]
        self.followed = Followed(made.model, len(made.own), called, passing, self.count)
        read = read_by_shown(recording.shows, self.count) or set()
        self._follower: Follower | None = None
        self._known: dict[tuple[int, bytes, bytes], tuple[Shown, ...] | Cut] = {}
        self._marks: dict[bytes, tuple[int, ...]] = {}
        self._before = tuple(sorted(number for number in read if number < self.count))
        self._reads = [self.followed.bytes_of(number) for number in self._before]
        self._alike = mapped.alike()
        self._least = [[least(one.type) for one in event.fields] for event in recording.events]
        self._tags = [
            self.followed.changes(made.event, (number, *fields))
            for number, fields in enumerate(self._least)
        ]
        self._aheads = [self.followed.changes(made.ahead, n) for n in range(MOST_AHEAD + 1)]
        self._changes: dict[tuple[int, int, Value], bytes] = {}

    def judge(self, history: History, effort: Effort, runs: bool = False) -> Judged:
        """See `Judging`; ``runs``: those of histories that are allowed are wanted."""
        if history.unread:
            return unread(history)
        if self._follower is None:
            self._follower = Follower(self.followed)
        return _PackedSearch(self, self._follower, history, effort).judged(runs)

    def shown(self, action: int, before: bytes, aside: bytes) -> tuple[Shown, ...] | Cut:
        """What a step shows, by the state before it and what it has put aside."""
        read = b"".join([before[start:end] for start, end in self._reads])
        key = self._alike[action], read, aside
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            known = self._known[key] = self.mapped.shown(action, self._both(before, aside))
        return known

    def _both(self, before: bytes, aside: bytes) -> State:
        """A state and the next one, as far as rules of events read them."""
        followed = self.followed
        both: list[Value] = [()] * (2 * self.count)
        if self._before:
            held = followed.words(before)
            for number in self._before:
                both[number] = followed.value(number, held)
        put = followed.aside(aside)
        for number, copy in self.made.kept:
            both[self.count + number] = followed.value(copy, put)
        return tuple(both)

    def changes(self, event: int, values: Sequence[Value], ahead: int) -> bytes:
        """What of a state says that this event comes in, as a call has it."""
        known = self._changes
        parts = [self._tags[event], self._aheads[ahead]]
        for field, value in enumerate(values):
            key = event, field, value
            part = known.get(key)
            if part is None:
                if len(known) >= MOST_KEPT:
                    known.clear()
                part = known[key] = self._part(event, field, value)
            parts.append(part)
        return b"".join(parts)

    def _part(self, event: int, field: int, value: Value) -> bytes:
        """What one field adds: fields have bits of their own."""
        fields = list(self._least[event])
        fields[field] = value
        return self.followed.changes(self.made.event, (event, *fields))

    def marks(self, data: bytes) -> tuple[int, ...]:
        """The coverage marks that are set in words of a row."""
        known = self._marks.get(data)
        if known is None:
            bits = int.from_bytes(data, sys.byteorder)
            known = tuple(mark for mark in range(8 * len(data)) if bits >> mark & 1)
            self._marks[data] = known
        return known


class _PackedSearch(Search):
    """The search for one history."""

    def __init__(
        self, packed: PackedMapping, follower: Follower, history: History, effort: Effort
    ) -> None:
        super().__init__(packed.mapped, history, effort)
        self.packed = packed
        self.follower = follower
        self.offered: dict[tuple[int, int, Bound, int], Offers] = {}
        self.offered_in = 0
        self.fitting: dict[tuple[int, int, Bound], tuple[Shown, tuple[Bound, ...]]] = {}
        rows = packed.followed.rows
        self.marks = 8 * Row.REST
        self.start = self.marks + 8 * rows.marks
        self.stop = self.start + 8 * rows.words
        self.size = 8 * rows.size

    def _initial(self) -> list[bytes]:
        return [self.packed.followed.packed(state) for state in self.mapped.initial()]

    def _state(self, node: Node) -> State:
        return self.packed.followed.state(node[0])

    def _least(self) -> Node:
        least, *others = self.farthest
        for other in others:
            if self.follower.precedes(other[0], least[0]):
                least = other
        return least

    def _layer(self, most: int) -> tuple[Node | None, bool]:
        waiting, reached, ends = self.waiting, self.reached, self.ends
        while waiting:
            *_, node = heappop(waiting)
            if node[1] == ends and node[3] < 0:
                return node, False
            self._expand(node)
            if len(reached) > most:
                return None, True
        return None, False

    def _expand(self, node: Node) -> None:
        """Reaches what can follow a product state."""
        state, cursors, bound, waits = node
        packed, own = self.packed, self.packed.made.own
        start, stop, size = self.start, self.stop, self.size
        offers, calls = self._offers(cursors, bound, waits)
        data = self.follower.rows(state, calls, len(offers))
        late: list[tuple[Node, Did]] = []
        for at in range(0, len(data), size):
            call, action, first = HEAD.unpack_from(data, at)
            if action < 0:
                self._lacking(node, call, action, first)
                continue
            after = data[at + start : at + stop]
            if call >= 0:
                one = offers[call]
                found = self._behind(node, after, one)
                if one.kind == "ahead":
                    late.append(found)
                else:
                    self._reach(found[0], node, found[1], 0)
                continue
            number = own[action]
            shown = packed.shown(number, state, data[at + stop : at + size])
            if isinstance(shown, Cut):
                self.cuts.add(shown)
            elif shown:
                marks = packed.marks(data[at + self.marks : at + start])
                for far, names, events in self._shows(shown, cursors, bound):
                    did = Did("step", number, None, (), events, marks)
                    self._reach((after, far, names, waits), node, did, 0)
            elif after != state:
                marks = packed.marks(data[at + self.marks : at + start])
                did = Did("step", number, None, (), (), marks)
                self._reach((after, cursors, bound, waits), node, did, 0)
        for there, did in late:
            self._reach(there, node, did, 1)

    def _shows(
        self, shown: tuple[Shown, ...], cursors: tuple[int, ...], bound: Bound
    ) -> list[tuple[tuple[int, ...], Bound, tuple[tuple[int, Line], ...]]]:
        """What `_shown` gives, which is known for what was shown before."""
        if len(shown) > 1:
            return list(self._shown(shown, cursors, bound, ()))
        (one,) = shown
        found: list[tuple[tuple[int, ...], Bound, tuple[tuple[int, Line], ...]]] = []
        for source in self.by_class.get(self.recording.events[one.event].source, ()):
            line = self._next(source, cursors)
            if line is None or line.event != one.event or line.beyond:
                continue
            key = id(line), id(one), bound
            known = self.fitting.get(key)
            if known is None:
                known = one, tuple(self._fields(line, one.values, bound))
                self.fitting[key] = known
            for names in known[1]:
                found.append((advanced(cursors, source), names, ((source, line),)))
        return found

    def _behind(self, node: Node, after: bytes, one: Offer) -> tuple[Node, Did]:
        """The product state behind what an event has brought in, and what led there."""
        kind, number, source, line, values, names = one
        _, cursors, _, waits = node
        match kind:
            case "ahead":
                return (after, cursors, names, waits), Did("ahead", None, number, values)
            case "answers":
                waiting = number * len(self.lines) + source
                return (after, cursors, names, waiting), Did("request", None, number, values)
            case _:
                read = advanced(cursors, source)
                events = ((source, line),)
        match kind:
            case "answer":
                return (after, read, names, -1), Did("answer", None, number, values, events)
            case "tolerated":
                return (after, read, names, waits), Did("tolerated", events=events)
            case _:
                return (after, read, names, waits), Did("input", None, number, values, events)

    def _lacking(self, node: Node, call: int, action: int, number: int) -> None:
        """A guard was refused for want of room, or evaluation failed."""
        recording = self.recording
        if action != REFUSED:
            self.cuts.add(self.mapped.failed(number, recording.sites))
        elif number == self.packed.made.late:
            if not self.deferred or self.deferred[-1] is not node:
                self.deferred.append(node)
        elif call < 0 or recording.guards[number].kind == "capacity":
            self.cuts.add(lacking_room(recording.guards[number]))

    # ------------------------------------------------------------ what events may bring in

    def _offers(self, cursors: tuple[int, ...], bound: Bound, waits: int) -> Offers:
        found: list[Offer] = []
        calls: list[bytes] = []
        if self.offered_in != self.layer:
            # Calls say how many messages may be under way.
            self.offered_in = self.layer
            self.offered.clear()
        if waits >= 0:
            source = waits % len(self.lines)
            key = source, cursors[source], bound, waits
            answers = self.offered.get(key)
            if answers is None:
                answers = self._keep(key, self._answers(cursors, bound, waits))
            found += answers.offers
            calls.append(answers.calls)
        for source, line in self._upcoming(cursors, waits):
            key = source, cursors[source], bound, -1 if waits < 0 else -2
            known = self.offered.get(key)
            if known is None:
                known = self._keep(key, self._offered(source, line, bound, waits < 0))
            if known.offers:
                found += known.offers
                calls.append(known.calls)
        return Offers(found, b"".join(calls))

    def _keep(self, key: tuple[int, int, Bound, int], offers: Iterator[Offer]) -> Offers:
        found = list(offers)
        known = self.offered[key] = Offers(found, b"".join(map(self._call, found)))
        return known

    def _answers(self, cursors: tuple[int, ...], bound: Bound, waits: int) -> Iterator[Offer]:
        number, source = divmod(waits, len(self.lines))
        line = self.lines[source][cursors[source]]
        for values, names, _ in self._values(line, bound):
            yield Offer("answer", number, source, line, values, names)

    def _offered(self, source: int, line: Line, bound: Bound, asks: bool) -> Iterator[Offer]:
        passed = self.passed[line.event]
        if not self.rules[line.event] and not passed:
            return
        for values, names, rules in self._values(line, bound):
            for number in passed:
                yield Offer("tolerated", number, source, line, values, names)
            for number in rules:
                kind = self.recording.inputs[number].kind
                if kind != "answers" or asks:
                    yield Offer(kind, number, source, line, values, names)

    def _call(self, one: Offer) -> bytes:
        made = self.packed.made
        match one.kind:
            case "tolerated":
                action = made.tolerated[one.number]
            case "answer":
                answer = made.answers[one.number]
                assert answer is not None
                action = answer
            case _:
                action = made.inputs[one.number]
        changes = self.packed.changes(one.line.event, one.values, self.layer)
        return pack("=qq", action, len(changes) // 16) + changes
