"""The same search as `search`, over packed states: what follows a product state is found by machine
code in one call, for the model's own steps and for all that events may bring in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from struct import Struct, pack
from typing import NamedTuple, TypeAlias

from fencepost.checker.layout import least
from fencepost.checker.native.codegen.compile import REFUSED_SLOT
from fencepost.checker.native.codegen.context_words import Row
from fencepost.checker.native.follower import Follower, FollowerCode
from fencepost.checker.request import Unsupported
from fencepost.checker.systems.conform.cuts import Cut
from fencepost.checker.systems.conform.dependence import read_by_shown
from fencepost.checker.systems.conform.lines import History
from fencepost.checker.systems.conform.mapping import Entry, Mapped, Shown, failed
from fencepost.checker.systems.conform.places import Head, Place
from fencepost.checker.systems.conform.search import Node, Offer, Search
from fencepost.checker.systems.conform.verdicts import Did, Effort, Events, Judged, unread
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import State, Value

MAX_KEPT = 100_000
"""At most this many steps are kept with what they show."""
MAX_WORDS = 512
"""States share nothing, as those of the interpreter do: wider ones would fill the memory."""
MAX_PLACES = 5_000
"""At most this many places are kept with what events may bring in there."""
MAX_ENTRIES = 20_000
"""Limit on cached calls."""
MAX_VALUES = 2_000
"""At most this many values of a variable are kept decoded."""
TOLD = Row.REST
"""Where in a row that begins which tells of a step beside its action."""
REFUSED = -1 - REFUSED_SLOT
"""What stands for the action where a guard was refused."""


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
    machine code; for each the place after it and what led there, None if that is not known yet.
    ``fitting`` has the ways in which what steps show fits, by the identity of that.
    """

    offers: list[Offer]
    calls: bytes
    behind: list[tuple[Place, Did] | None]
    fitting: dict[int, tuple[tuple[Shown, ...], Ways]]


class PackedMapping:
    """A mapping in machine code. Raises `Unsupported`. The code is loaded by each process that
    judges histories, when it judges the first.
    """

    def __init__(self, mapped: Mapped) -> None:
        self.mapped = mapped
        model, recording = mapped.model, mapped.recording
        self.combined = combined = mapped.combined
        self.count = len(model.variables)
        for node in walk(tuple(one.body for one in combined.model.actions)):
            if isinstance(node, ir.Enabled):
                raise Unsupported("it does not ask what is enabled", node.span)
        numbers = [*combined.inputs, *combined.answers, *combined.tolerated]
        called = [one for one in numbers if one is not None]
        width = len(combined.model.variables)
        passing = range(self.count, width)
        self.followed = FollowerCode(combined.model, combined.own, called, passing, self.count)
        if self.followed.rows.words > MAX_WORDS:
            raise Unsupported(f"it does not keep states of more than {MAX_WORDS} words here")
        read = sorted(read_by_shown(combined.shows, combined.model))
        self._follower: Follower | None = None
        # By actions, what a row has between the action and the state, and what is read before.
        self.steps: list[dict[bytes, Step]] = [{} for _ in combined.actions]
        self._kept_steps = 0
        self._calls: dict[tuple[Entry, int], bytes] = {}
        rows = self.followed.rows
        form = Struct(f"=qq{8 * (rows.size - TOLD - rows.words)}s{8 * rows.words}s")
        # The call of each row, its action, what it tells of the step, and the state behind it.
        self.parts: Callable[[bytes], Iterator[tuple[int, int, bytes, bytes]]] = form.iter_unpack
        self._before = [number for number in read if number < width]
        self._after = [number - width for number in read if number >= width]
        self.reads = [self.followed.bytes_of(number) for number in self._before]
        self._places = [self.followed.bytes_of(number) for number in range(self.count)]
        self._values: list[dict[bytes, Value]] = [{} for _ in range(self.count)]
        self._least = [[least(one.type) for one in event.fields] for event in recording.events]
        self._tags = [
            self.followed.changes(combined.event, (number, *fields))
            for number, fields in enumerate(self._least)
        ]
        self._aheads = [
            self.followed.changes(combined.ahead, n) for n in range(combined.most_ahead + 1)
        ]
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

    def _step(self, number: int, told: bytes, state: bytes) -> Step:
        start = 8 * self.followed.rows.marks
        bits = int.from_bytes(told[:start], sys.byteorder)
        # The marks of a mapping come after those of the model.
        marks = tuple([mark for mark in range(len(self.mapped.model.marks)) if bits >> mark & 1])
        held = self.followed.words(state) if self._before else ()
        before = self._variables(self._before, held)
        after = self._variables(self._after, self.followed.aside(told[start:]))
        action, shown = self.combined.actions[number], self.mapped.shown(number, before, after)
        return Step(action, marks, shown, Did("step", action, None, (), (), marks))

    def _variables(self, numbers: Sequence[int], held: Sequence[int]) -> State:
        """All variables; those without these numbers have no proper value."""
        values: list[Value] = [()] * len(self.combined.model.variables)
        for number in numbers:
            values[number] = self.followed.value(number, held)
        return tuple(values)

    def call(self, entry: Entry, ahead: int) -> bytes:
        """The call by which an event brings something in."""
        known = self._calls.get((entry, ahead))
        if known is None:
            if len(self._calls) >= MAX_ENTRIES:
                self._calls.clear()
            known = pack("=q", entry.call) + self._call(entry.event[0], entry.values, ahead)
            self._calls[entry, ahead] = known
        return known

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
        return self.followed.changes(self.combined.event, (event, *fields))


class _PackedSearch(Search):
    """The search for one history."""

    def __init__(
        self, packed: PackedMapping, follower: Follower, history: History, effort: Effort
    ) -> None:
        super().__init__(packed.mapped, history, effort)
        self.packed = packed
        self.follower = follower
        self.called: dict[tuple[Head, int], Offers] = {}
        self.opened: dict[Place, Opened] = {}
        self.called_in = 0

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
        if self.called_in != self.layer:
            # Calls say how many messages may be under way.
            self.called_in = self.layer
            self.called.clear()
            self.opened.clear()
        offers, calls, behind, fitting = self.opened.get(place) or self._opened(place)
        before = packed.before(state) if packed.reads else b""
        late: list[tuple[bytes, Place, Did]] = []
        rows = self.follower.rows(state, calls, len(offers))
        for call, action, told, after in packed.parts(rows):
            if action < 0:
                self._lacking(node, call, action, told)
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
                if offers[call].entry.action is not None:
                    step = known[action].get(told + before) or packed.step(
                        action, told, state, before
                    )
                    if isinstance(step.shown, Cut):
                        self.cuts.add(step.shown)
                    else:
                        self._stepped(node, after, offers[call], step.marks, step.shown)
                    continue
                there, did = behind[call] or self._behind(place, offers, behind, call)
                if after in there.states:
                    continue
                if did.kind == "ahead":
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

    def _behind(
        self, place: Place, offers: list[Offer], behind: list[tuple[Place, Did] | None], call: int
    ) -> tuple[Place, Did]:
        """The place after what an event has brought in, and what led there."""
        made = behind[call] = self._brought(place, offers[call])
        return made

    def _lacking(self, node: Node, call: int, action: int, told: bytes) -> None:
        """A guard was refused for want of room, or evaluation failed."""
        combined = self.packed.combined
        number = int.from_bytes(told[:8], sys.byteorder)
        if action != REFUSED:
            self.cuts.add(failed(combined.model.sites[number]))
        elif number == combined.late:
            self._defer(node)
        else:
            self.cuts.add(combined.cut(number, own=call < 0))

    # ------------------------------------------------------------ what events may bring in

    def _opened(self, place: Place) -> Opened:
        found: list[Offer] = []
        calls: list[bytes] = []
        for head, kind in self._upcoming(place):
            one = self.called.get((head, kind)) or self._called(head, kind)
            found += one.offers
            calls.append(one.calls)
        if len(self.opened) >= MAX_PLACES:
            self.opened.clear()
        made = self.opened[place] = Opened(found, b"".join(calls), [None] * len(found), {})
        return made

    def _called(self, head: Head, kind: int) -> Offers:
        offers = self._offers(head, kind)
        calls = [self.packed.call(one.entry, self.layer) for one in offers]
        made = self.called[head, kind] = Offers(offers, b"".join(calls))
        return made
