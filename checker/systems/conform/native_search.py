"""Searches as in `search`, but on packed states. Machine code computes all successors of a product
state in one call, both for steps of the model and for events that bring something in.
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
from fencepost.checker.systems.conform.mapping import Entry, MappedModel, ShownEvent, failed
from fencepost.checker.systems.conform.places import Head, Position
from fencepost.checker.systems.conform.search import Node, Offer, Search
from fencepost.checker.systems.conform.verdicts import Effort, Events, Judgement, Origin, unread
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import State, Value

MAX_KEPT = 100_000
"""Maximum number of steps that are cached with their events."""
MAX_WORDS = 512
"""Maximum number of words in a packed state. States of the interpreter share parts, but packed
states do not, so wider states would take too much memory.
"""
MAX_PLACES = 5_000
"""Maximum number of positions that are cached with their offers."""
MAX_ENTRIES = 20_000
"""Maximum number of cached calls."""
MAX_VALUES = 2_000
"""Maximum number of decoded values that are cached for each variable."""
DETAILS = Row.REST
"""The offset of the step details in a result row. The details follow the action."""
REFUSED = -1 - REFUSED_SLOT
"""The action number that marks a row for a refused guard."""


class Offers(NamedTuple):
    """The offers of an event, and the calls of machine code for these offers."""

    offers: list[Offer]
    calls: bytes


class Step(NamedTuple):
    """A step of the model: the number of its action, the coverage marks that it sets, the events
    that it shows, and its record as the origin of a state if no event is read.
    """

    action: int
    marks: tuple[int, ...]
    shown: tuple[ShownEvent, ...] | Cut
    did: Origin


Ways: TypeAlias = list[tuple[Position, Events]]
"""The ways to match events. Each way consists of the position afterwards and the events read."""


class ExpandedPosition(NamedTuple):
    """The cached data for an expanded position.

    ``offers`` contains the offers, and ``calls`` their calls of machine code. For each offer,
    ``behind`` contains the next position and the origin, or None if these have not been computed
    yet. ``fitting`` caches the ways to match the events of steps, by the identity of the events.
    """

    offers: list[Offer]
    calls: bytes
    behind: list[tuple[Position, Origin] | None]
    fitting: dict[int, tuple[tuple[ShownEvent, ...], Ways]]


class PackedMapping:
    """A mapping in machine code. Raises `Unsupported`.

    Each process that judges histories loads the code when it judges its first history.
    """

    def __init__(self, mapped: MappedModel) -> None:
        self.mapped = mapped
        model, recording = mapped.model, mapped.recording
        self.combined = combined = mapped.combined
        self.count = len(model.variables)
        for node in walk(tuple(action.body for action in combined.model.actions)):
            if isinstance(node, ir.Enabled):
                raise Unsupported("it does not ask what is enabled", node.span)
        numbers = [*combined.inputs, *combined.answers, *combined.tolerated]
        called = [action for action in numbers if action is not None]
        width = len(combined.model.variables)
        passing = range(self.count, width)
        self.followed = FollowerCode(combined.model, combined.own, called, passing, self.count)
        if self.followed.rows.words > MAX_WORDS:
            raise Unsupported(f"it does not keep states of more than {MAX_WORDS} words here")
        read = sorted(read_by_shown(combined.shows, combined.model))
        self._follower: Follower | None = None
        # For each action, the steps are cached by the step details of a row and the variables read
        # before the step.
        self.steps: list[dict[bytes, Step]] = [{} for _ in combined.actions]
        self._kept_steps = 0
        self._calls: dict[tuple[Entry, int], bytes] = {}
        rows = self.followed.rows
        form = Struct(f"=qq{8 * (rows.size - DETAILS - rows.words)}s{8 * rows.words}s")
        # Yields for each row its call, its action, its step details, and the next state.
        self.parts: Callable[[bytes], Iterator[tuple[int, int, bytes, bytes]]] = form.iter_unpack
        self._before = [number for number in read if number < width]
        self._after = [number - width for number in read if number >= width]
        self.reads = [self.followed.bytes_of(number) for number in self._before]
        self._places = [self.followed.bytes_of(number) for number in range(self.count)]
        self._values: list[dict[bytes, Value]] = [{} for _ in range(self.count)]
        self._least = [
            [least(action.type) for action in event.fields] for event in recording.events
        ]
        self._tags = [
            self.followed.changes(combined.event, (number, *fields))
            for number, fields in enumerate(self._least)
        ]
        self._aheads = [
            self.followed.changes(combined.ahead, n) for n in range(combined.most_ahead + 1)
        ]
        self._changes: dict[tuple[int, int, Value], bytes] = {}

    def judge(self, history: History, effort: Effort, runs: bool = False) -> Judgement:
        """Judges a history; see `Judge`. With ``runs``, the verdict on an allowed history includes
        the run.
        """
        if history.unread:
            return unread(history)
        if self._follower is None:
            self._follower = Follower(self.followed)
        return _PackedSearch(self, self._follower, history, effort).judged(runs)

    def state(self, data: bytes) -> State:
        """Returns the state with these words. Most variables keep their values during a run, so
        decoded values are cached.
        """
        values: list[Value] = []
        for number, (cached, (start, end)) in enumerate(
            zip(self._values, self._places, strict=True)
        ):
            value = cached.get(data[start:end])
            if value is None:
                if len(cached) >= MAX_VALUES:
                    cached.clear()
                value = self.followed.value(number, self.followed.words(data))
                cached[data[start:end]] = value
            values.append(value)
        return tuple(values)

    def before(self, state: bytes) -> bytes:
        """Returns the variables that rules of events read before a step."""
        return b"".join([state[start:end] for start, end in self.reads])

    def step(self, action: int, details: bytes, state: bytes, before: bytes) -> Step:
        """Returns a step of the model, given its action, the step details of its row, the next
        state, and the variables read before the step.
        """
        if self._kept_steps >= MAX_KEPT:
            self._kept_steps = 0
            for cached in self.steps:
                cached.clear()
        self._kept_steps += 1
        step = self.steps[action][details + before] = self._step(action, details, state)
        return step

    def _step(self, number: int, details: bytes, state: bytes) -> Step:
        start = 8 * self.followed.rows.marks
        bits = int.from_bytes(details[:start], sys.byteorder)
        # The marks of the mapping follow those of the model.
        marks = tuple([mark for mark in range(len(self.mapped.model.marks)) if bits >> mark & 1])
        held = self.followed.words(state) if self._before else ()
        before = self._variables(self._before, held)
        after = self._variables(self._after, self.followed.aside(details[start:]))
        action, shown = self.combined.actions[number], self.mapped.shown(number, before, after)
        return Step(action, marks, shown, Origin("step", action, None, (), (), marks))

    def _variables(self, numbers: Sequence[int], held: Sequence[int]) -> State:
        """Returns values for all variables. Variables that are not in ``numbers`` have no
        meaningful value.
        """
        values: list[Value] = [()] * len(self.combined.model.variables)
        for number in numbers:
            values[number] = self.followed.value(number, held)
        return tuple(values)

    def call(self, entry: Entry, ahead: int) -> bytes:
        """Returns the call for an entry of an event."""
        cached = self._calls.get((entry, ahead))
        if cached is None:
            if len(self._calls) >= MAX_ENTRIES:
                self._calls.clear()
            cached = pack("=q", entry.call) + self._call(entry.event[0], entry.values, ahead)
            self._calls[entry, ahead] = cached
        return cached

    def _call(self, event: int, values: Sequence[Value], ahead: int) -> bytes:
        """Returns the call for an entry of an event, without the number of the action."""
        cached = self._changes
        parts = [self._tags[event], self._aheads[ahead]]
        for field, value in enumerate(values):
            key = event, field, value
            part = cached.get(key)
            if part is None:
                if len(cached) >= MAX_KEPT:
                    cached.clear()
                part = cached[key] = self._part(event, field, value)
            parts.append(part)
        changes = b"".join(parts)
        return pack("=q", len(changes) // 16) + changes

    def _part(self, event: int, field: int, value: Value) -> bytes:
        """Returns the changes for one field, which has its own bits in the event."""
        fields = list(self._least[event])
        fields[field] = value
        return self.followed.changes(self.combined.event, (event, *fields))


class _PackedSearch(Search):
    """The search for a run that shows one history."""

    def __init__(
        self, packed: PackedMapping, follower: Follower, history: History, effort: Effort
    ) -> None:
        super().__init__(packed.mapped, history, effort)
        self.packed = packed
        self.follower = follower
        self.called: dict[tuple[Head, int], Offers] = {}
        self.opened: dict[Position, ExpandedPosition] = {}
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
        state, position, _, _ = node
        packed = self.packed
        steps = packed.steps
        if self.called_in != self.layer:
            # Calls contain the limit on messages in flight, so they change with the layer.
            self.called_in = self.layer
            self.called.clear()
            self.opened.clear()
        offers, calls, behind, fitting = self.opened.get(position) or self._opened(position)
        before = packed.before(state) if packed.reads else b""
        late: list[tuple[bytes, Position, Origin]] = []
        rows = self.follower.rows(state, calls, len(offers))
        for call, action, details, after in packed.parts(rows):
            if action < 0:
                self._lacking(node, call, action, details)
            elif call < 0:
                step = steps[action].get(details + before) or packed.step(
                    action, details, state, before
                )
                shown = step.shown
                if not shown:
                    if after not in position.states:
                        self._reach(after, position, node, step.did, 0)
                elif isinstance(shown, Cut):
                    self.cuts.add(shown)
                else:
                    # The cache keeps the tuple alive, so its identity is unique.
                    _, ways = fitting.get(id(shown)) or self._ways(shown, position, fitting)
                    for there, events in ways:
                        if after not in there.states:
                            did = Origin("step", step.action, None, (), events, step.marks)
                            self._reach(after, there, node, did, 0)
            else:
                if offers[call].entry.action is not None:
                    step = steps[action].get(details + before) or packed.step(
                        action, details, state, before
                    )
                    if isinstance(step.shown, Cut):
                        self.cuts.add(step.shown)
                    else:
                        self._stepped(node, after, offers[call], step.marks, step.shown)
                    continue
                there, did = behind[call] or self._behind(position, offers, behind, call)
                if after in there.states:
                    continue
                if did.kind == "ahead":
                    late.append((after, there, did))
                else:
                    self._reach(after, there, node, did, 0)
        for after, there, did in late:
            self._reach(after, there, node, did, 1)

    def _shown(self, kept: bytes) -> Iterator[tuple[ShownEvent, ...]]:
        packed = self.packed
        before = packed.before(kept)
        for _, action, details, _ in packed.parts(self.follower.rows(kept, b"", 0)):
            if action >= 0:
                step = packed.steps[action].get(details + before)
                step = step or packed.step(action, details, kept, before)
                if not isinstance(step.shown, Cut):
                    yield step.shown

    def _ways(
        self,
        shown: tuple[ShownEvent, ...],
        position: Position,
        fitting: dict[int, tuple[tuple[ShownEvent, ...], Ways]],
    ) -> tuple[tuple[ShownEvent, ...], Ways]:
        entry = fitting[id(shown)] = shown, self.places.shown(shown, position, ())
        return entry

    def _behind(
        self,
        position: Position,
        offers: list[Offer],
        behind: list[tuple[Position, Origin] | None],
        call: int,
    ) -> tuple[Position, Origin]:
        """Returns the position after an event that brings something in, and the origin."""
        entry = behind[call] = self._brought(position, offers[call])
        return entry

    def _lacking(self, node: Node, call: int, action: int, details: bytes) -> None:
        """Records that a guard was refused for lack of room, or that evaluation failed."""
        combined = self.packed.combined
        number = int.from_bytes(details[:8], sys.byteorder)
        if action != REFUSED:
            self.cuts.add(failed(combined.model.sites[number]))
        elif number == combined.late:
            self._defer(node)
        else:
            self.cuts.add(combined.cut(number, own=call < 0))

    # ------------------------------------------------------------ what events may bring in

    def _opened(self, position: Position) -> ExpandedPosition:
        offers: list[Offer] = []
        calls: list[bytes] = []
        for head, kind in self._upcoming(position):
            event_offers = self.called.get((head, kind)) or self._called(head, kind)
            offers += event_offers.offers
            calls.append(event_offers.calls)
        if len(self.opened) >= MAX_PLACES:
            self.opened.clear()
        opened = self.opened[position] = ExpandedPosition(
            offers, b"".join(calls), [None] * len(offers), {}
        )
        return opened

    def _called(self, head: Head, kind: int) -> Offers:
        offers = self._offers(head, kind)
        calls = [self.packed.call(offer.entry, self.layer) for offer in offers]
        event_offers = self.called[head, kind] = Offers(offers, b"".join(calls))
        return event_offers
