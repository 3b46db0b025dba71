"""The same search as `search`, over packed states: what follows a product state is found by machine
code in one call, for the model's own steps and for all that events may bring in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from heapq import heappop
from struct import Struct, pack
from typing import NamedTuple, TypeAlias

from fencepost.checker.conform.as_model import compared
from fencepost.checker.conform.binding import Bound
from fencepost.checker.conform.dependence import read_by_shown
from fencepost.checker.conform.lines import History, Line
from fencepost.checker.conform.mapping import Cut, Mapped, Shown, lacking_room, no_room
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
from fencepost.checker.request import Unsupported
from fencepost.spec.core.types import State, Value
from fencepost.spec.semantics.stepper import Choice

MOST_KEPT = 100_000
"""What is known of the events of steps is kept for so many at a time."""
MOST_WORDS = 512
"""States share nothing, as those of the interpreter do: wider ones would fill the memory."""
MOST_PLACES = 5_000
"""What events may bring in is kept for so many places at a time."""
TOLD = 8 * Row.ACTION
"""Where in a row that begins which tells of a step."""
REFUSED = -1 - REFUSED_SLOT
"""What stands for the action where a guard was refused."""
HEAD = Struct("=qqq")
"""The call of a row, its action, and its first word of marks, or what failed or was refused."""


class Offer(NamedTuple):
    """What an event may bring in: input ``number``, a step of ``action`` if there is one; its
    answer; or that it is passed over.
    """

    kind: str
    number: int
    source: int
    line: Line
    values: tuple[Value, ...]
    names: Bound
    action: int | None


class Step(NamedTuple):
    """The number of the action of a step, the coverage marks that it sets, and what it shows."""

    action: int
    marks: tuple[int, ...]
    shown: tuple[Shown, ...] | Cut


Ways: TypeAlias = "list[tuple[tuple[int, ...], Bound, tuple[tuple[int, Line], ...]]]"
"""The ways in which events fit: how far sources are read then, names, and the events."""


class Offers(NamedTuple):
    """What events may bring in, as calls of machine code."""

    offers: list[Offer]
    calls: bytes


class Place(NamedTuple):
    """What product states have in common of which the same is read, and names stand for the same.
    ``fitting`` has the ways in which what steps show fits, by the identity of that.
    """

    offers: list[Offer]
    calls: bytes
    fitting: dict[int, tuple[tuple[Shown, ...], Ways]]


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
        passing = [copy for _, copy in made.kept]
        passing += [*made.chosen.values(), made.event, made.ahead]
        self.followed = Followed(made.model, made.own, called, passing, self.count)
        if self.followed.rows.words > MOST_WORDS:
            raise Unsupported(f"it does not keep states of more than {MOST_WORDS} words here")
        read = read_by_shown(recording.shows, self.count) or set()
        self._follower: Follower | None = None
        self._steps: dict[bytes, Step] = {}
        self._before = tuple(sorted(number for number in read if number < self.count))
        self._reads = [self.followed.bytes_of(number) for number in self._before]
        self._least = [[least(one.type) for one in event.fields] for event in recording.events]
        self._tags = [
            self.followed.changes(made.event, (number, *fields))
            for number, fields in enumerate(self._least)
        ]
        self._aheads = [self.followed.changes(made.ahead, n) for n in range(made.most_ahead + 1)]
        self._changes: dict[tuple[int, int, Value], bytes] = {}

    def judge(self, history: History, effort: Effort, runs: bool = False) -> Judged:
        """See `Judging`; ``runs``: those of histories that are allowed are wanted."""
        if history.unread:
            return unread(history)
        if self._follower is None:
            self._follower = Follower(self.followed)
        return _PackedSearch(self, self._follower, history, effort).judged(runs)

    def step(self, before: bytes, told: bytes) -> Step:
        """A step of the model, by the state before it and what a row tells of it: the words from
        that of the action to that of the state.
        """
        key = told
        if self._reads:
            key += b"".join([before[start:end] for start, end in self._reads])
        known = self._steps.get(key)
        if known is None:
            if len(self._steps) >= MOST_KEPT:
                self._steps.clear()
            known = self._steps[key] = self._step(before, told)
        return known

    def _step(self, before: bytes, told: bytes) -> Step:
        action = self.made.actions[int.from_bytes(told[:8], sys.byteorder)]
        behind = 8 * (1 + self.followed.rows.marks)
        bits = int.from_bytes(told[8:behind], sys.byteorder)
        marks = tuple(mark for mark in range(bits.bit_length()) if bits >> mark & 1)
        put = self.followed.aside(told[behind:])
        choices = tuple(
            Choice(label, self.followed.layout.types[variable], self.followed.value(variable, put))
            for (number, label), variable in self.made.chosen.items()
            if number == action
        )
        shown = self.mapped.shown(action, choices, self._both(before, put))
        return Step(action, marks, shown)

    def _both(self, before: bytes, put: Sequence[int]) -> State:
        """A state and the next one, as far as rules of events read them."""
        followed = self.followed
        both: list[Value] = [()] * (2 * self.count)
        if self._before:
            held = followed.words(before)
            for number in self._before:
                both[number] = followed.value(number, held)
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


class _PackedSearch(Search):
    """The search for one history."""

    def __init__(
        self, packed: PackedMapping, follower: Follower, history: History, effort: Effort
    ) -> None:
        super().__init__(packed.mapped, history, effort)
        self.packed = packed
        self.follower = follower
        self.offered: dict[tuple[int, int, Bound, int], Offers] = {}
        self.places: dict[tuple[tuple[int, ...], Bound, int], Place] = {}
        self.offered_in = 0
        self.fitting: dict[tuple[int, int, Bound], tuple[Shown, tuple[Bound, ...]]] = {}
        rows = packed.followed.rows
        self.size = 8 * rows.size
        self.start = self.size - 8 * rows.words

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
        packed, start, size = self.packed, self.start, self.size
        offers, calls, fitting = self._place(cursors, bound, waits)
        data = self.follower.rows(state, calls, len(offers))
        late: list[tuple[Node, Did]] = []
        for at in range(0, len(data), size):
            call: int
            action: int
            call, action, first = HEAD.unpack_from(data, at)
            if action < 0:
                taken = call >= 0 and offers[call].action is not None
                self._lacking(node, call, action, first, taken)
                continue
            after = data[at + start : at + size]
            if call >= 0:
                one = offers[call]
                if one.action is not None:
                    step = packed.step(state, data[at + TOLD : at + start])
                    if isinstance(step.shown, Cut):
                        self.cuts.add(step.shown)
                        continue
                    if one.kind == "input":
                        self._stepped(node, after, one, step)
                        continue
                there, did = self._behind(node, after, one)
                if one.kind == "ahead":
                    late.append((there, did))
                else:
                    self._reach(there, node, did, 0)
                continue
            number, marks, shown = packed.step(state, data[at + TOLD : at + start])
            if isinstance(shown, Cut):
                self.cuts.add(shown)
            elif shown:
                known = fitting.get(id(shown))
                if known is None:
                    # What is held keeps its identity.
                    known = fitting[id(shown)] = shown, self._ways(shown, cursors, bound)
                for far, names, events in known[1]:
                    did = Did("step", number, None, (), events, marks)
                    self._reach((after, far, names, waits), node, did, 0)
            elif after != state:
                did = Did("step", number, None, (), (), marks)
                self._reach((after, cursors, bound, waits), node, did, 0)
        for there, did in late:
            self._reach(there, node, did, 1)

    def _ways(self, shown: tuple[Shown, ...], cursors: tuple[int, ...], bound: Bound) -> Ways:
        if len(shown) != 1:
            return list(self._shown(shown, cursors, bound, ()))
        one = shown[0]
        found: Ways = []
        for source in self.by_event[one.event]:
            line = self._next(source, cursors)
            if line is None or line.event != one.event or line.beyond:
                continue
            key = id(line), id(one), bound
            known = self.fitting.get(key)
            if known is None:
                known = self.fitting[key] = one, tuple(self._fields(line, one.values, bound))
            for names in known[1]:
                found.append((advanced(cursors, source), names, ((source, line),)))
        return found

    def _stepped(self, node: Node, after: bytes, one: Offer, step: Step) -> None:
        """Reaches what is behind a step that an event is, where it shows what comes next."""
        assert not isinstance(step.shown, Cut)
        _, number, source, line, values, names, _ = one
        read = advanced(node[1], source)
        for far, more, events in self._shown(step.shown, read, names, ((source, line),)):
            did = Did("input", step.action, number, values, events, step.marks)
            self._reach((after, far, more, node[3]), node, did, 0)

    def _behind(self, node: Node, after: bytes, one: Offer) -> tuple[Node, Did]:
        """The product state behind what an event has brought in, and what led there."""
        kind, number, source, line, values, names, _ = one
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

    def _lacking(self, node: Node, call: int, action: int, number: int, action_taken: bool) -> None:
        """A guard was refused for want of room, or evaluation failed."""
        recording = self.recording
        if action != REFUSED:
            self.cuts.add(self.mapped.failed(number, recording.sites))
        elif number == self.packed.made.late:
            if not self.deferred or self.deferred[-1] is not node:
                self.deferred.append(node)
        elif call < 0:
            self.cuts.add(lacking_room(recording.guards[number]))
        elif action_taken or recording.guards[number].kind == "capacity":
            self.cuts.add(no_room(recording.guards[number]))

    # ------------------------------------------------------------ what events may bring in

    def _place(self, cursors: tuple[int, ...], bound: Bound, waits: int) -> Place:
        if self.offered_in != self.layer:
            # Calls say how many messages may be under way.
            self.offered_in = self.layer
            self.offered.clear()
            self.places.clear()
        key = cursors, bound, waits
        known = self.places.get(key)
        if known is None:
            if len(self.places) >= MOST_PLACES:
                self.places.clear()
            known = self.places[key] = Place(*self._offers(cursors, bound, waits), {})
        return known

    def _offers(self, cursors: tuple[int, ...], bound: Bound, waits: int) -> Offers:
        found: list[Offer] = []
        calls: list[bytes] = []
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
            yield Offer("answer", number, source, line, values, names, None)

    def _offered(self, source: int, line: Line, bound: Bound, asks: bool) -> Iterator[Offer]:
        passed = self.passed[line.event]
        if not self.rules[line.event] and not passed:
            return
        for values, names, rules in self._values(line, bound):
            for number in passed:
                yield Offer("tolerated", number, source, line, values, names, None)
            for number in rules:
                given = self.recording.inputs[number]
                if given.kind != "answers" or asks:
                    what = source, line, values, names, given.action
                    yield Offer(given.kind, number, *what)

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
