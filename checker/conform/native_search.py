"""The same search as `search`, over packed states: what follows a product state is found by machine
code in one call, for the model's own steps and for all that events may bring in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from struct import Struct, pack
from typing import NamedTuple, TypeAlias

from fencepost.checker.conform.as_model import compared
from fencepost.checker.conform.binding import Bound
from fencepost.checker.conform.cuts import Cut, lacking_room, no_room
from fencepost.checker.conform.dependence import read_by_shown
from fencepost.checker.conform.lines import History
from fencepost.checker.conform.mapping import Mapped, Shown
from fencepost.checker.conform.places import Head, Place
from fencepost.checker.conform.search import Node, Search
from fencepost.checker.conform.verdicts import Did, Effort, Events, Judged, unread
from fencepost.checker.layout import least
from fencepost.checker.native.codegen.compile import REFUSED_SLOT
from fencepost.checker.native.codegen.context_words import Row
from fencepost.checker.native.follower import Follower, FollowerCode
from fencepost.checker.request import Unsupported
from fencepost.spec.core.types import State, Value
from fencepost.spec.semantics.stepper import Choice

MAX_KEPT = 100_000
"""At most this many steps are kept with what they show."""
MAX_WORDS = 512
"""States share nothing, as those of the interpreter do: wider ones would fill the memory."""
MAX_PLACES = 5_000
"""At most this many places are kept with what events may bring in there."""
MAX_ENTRIES = 20_000
"""At most this many events are kept, each with its values, with what they may bring in."""
MAX_VALUES = 2_000
"""At most this many values of a variable are kept decoded."""
ASKING, WAITING = -1, -2
"""What an event may bring in beside answers, where requests may come in, and where one waits."""
TOLD = Row.REST
"""Where in a row that begins which tells of a step beside its action."""
REFUSED = -1 - REFUSED_SLOT
"""What stands for the action where a guard was refused."""


class Entry(NamedTuple):
    """What an event with certain values may bring in: input ``number``, a step of ``action`` if
    there is one; its answer; or that it is passed over.
    """

    kind: str
    number: int
    action: int | None
    values: tuple[Value, ...]


class Entries(NamedTuple):
    """What an event may bring in, as calls of machine code."""

    entries: tuple[Entry, ...]
    calls: bytes


class Offer(NamedTuple):
    """What the next event of a source may bring in, and what names stand for then."""

    entry: Entry
    head: Head
    names: Bound


class Offers(NamedTuple):
    """What events may bring in, as calls of machine code."""

    offers: list[Offer]
    calls: bytes


class Step(NamedTuple):
    """A step of the model: the number of its action, the coverage marks that it sets, what it
    shows, and the step as that which led to a state, where no event is read.
    """

    action: int
    marks: tuple[int, ...]
    shown: tuple[Shown, ...] | Cut
    did: Did


Ways: TypeAlias = list[tuple[Place, Events]]
"""The ways in which events fit: where they are read, and the events."""


class Opened(NamedTuple):
    """What is known of a place that was expanded: what events may bring in there, as calls of
    machine code; for each what is behind it (None: not known yet): the place, what led there,
    and whether it was put in ahead. ``fitting`` has the ways in which what steps show fits, by the
    identity of that.
    """

    offers: list[Offer]
    calls: bytes
    behind: list[tuple[Place, Did, bool] | None]
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
        self.followed = FollowerCode(made.model, made.own, called, passing, self.count)
        if self.followed.rows.words > MAX_WORDS:
            raise Unsupported(f"it does not keep states of more than {MAX_WORDS} words here")
        read = read_by_shown(recording.shows, self.count) or set()
        self._follower: Follower | None = None
        # By actions, what a row has between the action and the state, and what is read before.
        self.steps: list[dict[bytes, Step]] = [{} for _ in made.actions]
        self._kept_steps = 0
        self._entries: dict[tuple[int, tuple[Value, ...], bool, int], Entries] = {}
        rows = self.followed.rows
        form = Struct(f"=qq{8 * (rows.size - TOLD - rows.words)}s{8 * rows.words}s")
        # The call of each row, its action, what it tells of the step, and the state behind it.
        self.parts: Callable[[bytes], Iterator[tuple[int, int, bytes, bytes]]] = form.iter_unpack
        self._before = tuple(sorted(number for number in read if number < self.count))
        self.reads = [self.followed.bytes_of(number) for number in self._before]
        self._places = [self.followed.bytes_of(number) for number in range(self.count)]
        self._values: list[dict[bytes, Value]] = [{} for _ in range(self.count)]
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

    def state(self, data: bytes) -> State:
        """The state that has these words: in a run, most variables are as in the state before."""
        found: list[Value] = []
        for number, (known, (start, end)) in enumerate(
            zip(self._values, self._places, strict=True)
        ):
            value = known.get(data[start:end])
            if value is None:
                if len(known) >= MAX_VALUES:
                    known.clear()
                value = self.followed.value(number, self.followed.words(data))
                known[data[start:end]] = value
            found.append(value)
        return tuple(found)

    def before(self, state: bytes) -> bytes:
        """What rules of events read of the state before a step."""
        return b"".join([state[start:end] for start, end in self.reads])

    def step(self, action: int, told: bytes, state: bytes, before: bytes) -> Step:
        """A step of the model from a state, by its action, what a row has between this and the
        state behind the step, and what rules of events read of the state before it.
        """
        if self._kept_steps >= MAX_KEPT:
            self._kept_steps = 0
            for known in self.steps:
                known.clear()
        self._kept_steps += 1
        made = self.steps[action][told + before] = self._step(action, told, state)
        return made

    def _step(self, number: int, told: bytes, before: bytes) -> Step:
        action = self.made.actions[number]
        behind = 8 * self.followed.rows.marks
        bits = int.from_bytes(told[:behind], sys.byteorder)
        marks = tuple(mark for mark in range(bits.bit_length()) if bits >> mark & 1)
        put = self.followed.aside(told[behind:])
        choices = tuple(
            Choice(label, self.followed.layout.types[variable], self.followed.value(variable, put))
            for (owner, label), variable in self.made.chosen.items()
            if owner == action
        )
        shown = self.mapped.shown(action, choices, self._both(before, put))
        return Step(action, marks, shown, Did("step", action, None, (), (), marks))

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

    def entries(
        self, event: int, values: tuple[Value, ...], rules: tuple[int, ...], asks: bool, ahead: int
    ) -> Entries:
        """What an event may bring in, by rules that its values allow; ``asks``: requests, too."""
        key = event, values, asks, ahead
        known = self._entries.get(key)
        if known is None:
            if len(self._entries) >= MAX_ENTRIES:
                self._entries.clear()
            known = self._entries[key] = self._made(event, values, rules, asks, ahead)
        return known

    def _made(
        self, event: int, values: tuple[Value, ...], rules: tuple[int, ...], asks: bool, ahead: int
    ) -> Entries:
        made, inputs = self.made, self.mapped.recording.inputs
        passed = self.mapped.passed[event]
        found = [Entry("tolerated", number, None, values) for number in passed]
        called = [made.tolerated[number] for number in passed]
        for number in rules:
            given = inputs[number]
            if given.kind != "answers" or asks:
                found.append(Entry(given.kind, number, given.action, values))
                called.append(made.inputs[number])
        changes = self._call(event, values, ahead)
        return Entries(tuple(found), b"".join([pack("=q", one) + changes for one in called]))

    def answer(
        self, number: int, event: int, values: tuple[Value, ...], ahead: int
    ) -> tuple[Entry, bytes]:
        """The answer to an input that waits, as a call."""
        answer = self.made.answers[number]
        assert answer is not None
        call = pack("=q", answer) + self._call(event, values, ahead)
        return Entry("answer", number, None, values), call

    def _call(self, event: int, values: Sequence[Value], ahead: int) -> bytes:
        """A call by which this event comes in, without the number of the action."""
        known = self._changes
        parts = [self._tags[event], self._aheads[ahead]]
        for field, value in enumerate(values):
            key = event, field, value
            part = known.get(key)
            if part is None:
                if len(known) >= MAX_KEPT:
                    known.clear()
                part = known[key] = self._part(event, field, value)
            parts.append(part)
        changes = b"".join(parts)
        return pack("=q", len(changes) // 16) + changes

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
        self.offered: dict[tuple[Head, int], Offers] = {}
        self.opened: dict[Place, Opened] = {}
        self.offered_in = 0

    def _initial(self) -> list[bytes]:
        return [self.packed.followed.packed(state) for state in self.mapped.initial()]

    def _state(self, kept: bytes) -> State:
        return self.packed.state(kept)

    def _least(self) -> Node:
        least, *others = self.farthest
        for other in others:
            if self.follower.precedes(other[0], least[0]):
                least = other
        return least

    def _expand(self, node: Node) -> None:
        state, place, _, _ = node
        packed = self.packed
        known = packed.steps
        if self.offered_in != self.layer:
            # Calls say how many messages may be under way.
            self.offered_in = self.layer
            self.offered.clear()
            self.opened.clear()
        offers, calls, behind, fitting = self.opened.get(place) or self._open(place)
        before = packed.before(state) if packed.reads else b""
        late: list[tuple[bytes, Place, Did]] = []
        rows = self.follower.rows(state, calls, len(offers))
        for call, action, told, after in packed.parts(rows):
            if action < 0:
                self._lacking(node, call, action, told, offers)
            elif call < 0:
                step = known[action].get(told + before) or packed.step(action, told, state, before)
                shown = step.shown
                if not shown:
                    if after not in place.states:
                        self._reach(after, place, node, step.did, 0)
                elif isinstance(shown, Cut):
                    self.cuts.add(shown)
                else:
                    # What is held keeps its identity.
                    _, ways = fitting.get(id(shown)) or self._ways(shown, place, fitting)
                    for there, events in ways:
                        if after not in there.states:
                            did = Did("step", step.action, None, (), events, step.marks)
                            self._reach(after, there, node, did, 0)
            else:
                entry = offers[call].entry
                if entry.action is not None:
                    step = known[action].get(told + before) or packed.step(
                        action, told, state, before
                    )
                    if isinstance(step.shown, Cut):
                        self.cuts.add(step.shown)
                        continue
                    if entry.kind == "input":
                        self._stepped(node, after, offers[call], step, step.shown)
                        continue
                there, did, ahead = behind[call] or self._behind(place, offers, behind, call)
                if after in there.states:
                    continue
                if ahead:
                    late.append((after, there, did))
                else:
                    self._reach(after, there, node, did, 0)
        for after, there, did in late:
            self._reach(after, there, node, did, 1)

    def _shown(self, kept: bytes) -> Iterator[tuple[Shown, ...]]:
        packed = self.packed
        before = packed.before(kept)
        for _, action, told, _ in packed.parts(self.follower.rows(kept, b"", 0)):
            if action >= 0:
                step = packed.steps[action].get(told + before)
                step = step or packed.step(action, told, kept, before)
                if not isinstance(step.shown, Cut):
                    yield step.shown

    def _ways(
        self,
        shown: tuple[Shown, ...],
        place: Place,
        fitting: dict[int, tuple[tuple[Shown, ...], Ways]],
    ) -> tuple[tuple[Shown, ...], Ways]:
        made = fitting[id(shown)] = shown, self.places.shown(shown, place, ())
        return made

    def _stepped(
        self, node: Node, after: bytes, one: Offer, step: Step, shown: tuple[Shown, ...]
    ) -> None:
        """Reaches what is behind a step that an event is, where it shows what comes next."""
        (_, number, _, values), head, names = one
        assert head.line is not None
        read = self.places.advanced(node[1], head.source, names)
        for there, events in self.places.shown(shown, read, ((head.source, head.line),)):
            did = Did("input", step.action, number, values, events, step.marks)
            self._reach(after, there, node, did, 0)

    def _behind(
        self,
        place: Place,
        offers: list[Offer],
        behind: list[tuple[Place, Did, bool] | None],
        call: int,
    ) -> tuple[Place, Did, bool]:
        """The place behind what an event has brought in, and what led there."""
        made = behind[call] = self._brought(place, offers[call])
        return made

    def _brought(self, place: Place, one: Offer) -> tuple[Place, Did, bool]:
        (kind, number, _, values), head, names = one
        places, source, line = self.places, head.source, head.line
        assert line is not None
        events = ((source, line),)
        match kind:
            case "ahead":
                there = places.waiting(place, names, place.waits)
                return there, Did("ahead", None, number, values), True
            case "answers":
                there = places.waiting(place, names, number * self.sources + source)
                return there, Did("request", None, number, values), False
            case "answer":
                there = places.answered(place, source, names)
                return there, Did("answer", None, number, values, events), False
            case "tolerated":
                there = places.advanced(place, source, names)
                return there, Did("tolerated", events=events), False
            case _:
                there = places.advanced(place, source, names)
                return there, Did("input", None, number, values, events), False

    def _lacking(
        self, node: Node, call: int, action: int, told: bytes, offers: list[Offer]
    ) -> None:
        """A guard was refused for want of room, or evaluation failed."""
        recording = self.recording
        number = int.from_bytes(told[:8], sys.byteorder)
        if action != REFUSED:
            self.cuts.add(self.mapped.failed(number, recording.sites))
        elif number == self.packed.made.late:
            self._defer(node)
        elif call < 0:
            self.cuts.add(lacking_room(recording.guards[number]))
        elif offers[call].entry.action is not None or recording.guards[number].kind == "capacity":
            self.cuts.add(no_room(recording.guards[number]))

    # ------------------------------------------------------------ what events may bring in

    def _open(self, place: Place) -> Opened:
        found: list[Offer] = []
        calls: list[bytes] = []
        known = self.offered
        waits = place.waits
        if waits >= 0:
            number, source = divmod(waits, self.sources)
            head = place.heads[source]
            answers = known.get((head, number)) or self._answers(head, number)
            found += answers.offers
            calls.append(answers.calls)
        asks = waits < 0
        kind = ASKING if asks else WAITING
        for head in self.places.upcoming(place):
            one = known.get((head, kind)) or self._offers(head, asks)
            found += one.offers
            calls.append(one.calls)
        if len(self.opened) >= MAX_PLACES:
            self.opened.clear()
        made = self.opened[place] = Opened(found, b"".join(calls), [None] * len(found), {})
        return made

    def _answers(self, head: Head, number: int) -> Offers:
        assert head.line is not None
        found: list[Offer] = []
        calls: list[bytes] = []
        for values, names, _ in self.places.meanings(head):
            entry, call = self.packed.answer(number, head.line.event, values, self.layer)
            found.append(Offer(entry, head, names))
            calls.append(call)
        known = self.offered[head, number] = Offers(found, b"".join(calls))
        return known

    def _offers(self, head: Head, asks: bool) -> Offers:
        assert head.line is not None
        event, layer, packed = head.line.event, self.layer, self.packed
        found: list[Offer] = []
        calls: list[bytes] = []
        for values, names, rules in self.places.meanings(head):
            brought = packed.entries(event, values, rules, asks, layer)
            found += [Offer(entry, head, names) for entry in brought.entries]
            calls.append(brought.calls)
        known = self.offered[head, ASKING if asks else WAITING] = Offers(found, b"".join(calls))
        return known
