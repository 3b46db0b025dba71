"""Searches for a run of the model that shows a history, in the product of the model's states and
the positions in the history.

The search proceeds in layers, and each layer allows more messages in flight that were sent ahead of
their events. Within a layer, states with more events read are expanded first. Among these, states
that the model reaches by itself come first, and otherwise the order of arrival decides. The search
therefore depends only on the history.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from fencepost.checker.systems.conform.binding import Bound
from fencepost.checker.systems.conform.cuts import too_few_ahead, too_many_states
from fencepost.checker.systems.conform.lines import History
from fencepost.checker.systems.conform.mapping import Entry, MappedModel, ShownEvent
from fencepost.checker.systems.conform.places import Head, Position, Positions
from fencepost.checker.systems.conform.reasons import (
    misplaced,
    nearest,
    reasons,
    told_event,
)
from fencepost.checker.systems.conform.verdicts import (
    Effort,
    Judgement,
    Layer,
    Origin,
    Reason,
    Verdict,
    Waiting,
    unread,
)
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass

MAX_ALTERNATIVES = 8
MAX_EXAMINED = 2_000

Node: TypeAlias = "tuple[Any, Position, Node | None, Origin]"
"""A product state: a state of the model as the search stores it, a position, the predecessor (None
at the start of a run), and the origin.
"""
ASKING, WAITING = -1, -2
"""Kinds of offers other than answers: while no request waits, and while one does."""


class Offer(NamedTuple):
    """An effect that the next event of a source may have, and the resulting binding."""

    head: Head
    names: Bound
    entry: Entry


def judge(mapped: MappedModel, history: History, effort: Effort) -> Judgement:
    """Judges one history."""
    if history.unread:
        return unread(history)
    return Search(mapped, history, effort).judged(True)


@dataclass(frozen=True, slots=True)
class InterpreterJudge:
    """A judge of histories that uses the interpreter."""

    mapped: MappedModel

    def judge(self, history: History, effort: Effort) -> Judgement:
        """Judges one history; see `Judge`."""
        if history.unread:
            return unread(history)
        return Search(self.mapped, history, effort).judged(False)


class _Agenda:
    """The product states to expand. States with the most events read come first; among these,
    states that were reached without a message sent ahead; and then the order of arrival decides.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, deque[Node]] = {}
        self._last = 0

    def add(self, node: Node, kind: int) -> None:
        number = 2 * node[1].read - kind
        waiting = self._waiting.get(number)
        if waiting is None:
            waiting = self._waiting[number] = deque()
        waiting.append(node)
        if number > self._last:
            self._last = number

    def next(self) -> Node | None:
        """Removes and returns the next product state, or returns None if none is left."""
        if not self._waiting:
            return None
        while (waiting := self._waiting.get(self._last)) is None:
            self._last -= 1
        node = waiting.popleft()
        if not waiting:
            del self._waiting[self._last]
        return node


class Search:
    """The search for a run that shows one history."""

    def __init__(self, mapped: MappedModel, history: History, effort: Effort) -> None:
        self.mapped = mapped
        self.recording = mapped.recording
        self.history = history
        self.effort = effort
        self.places = places = Positions(mapped, history)
        self.sources = len(places.sources)
        self.cuts = places.cuts
        self.events = sum(places.ends)
        self.agenda = _Agenda()
        self.reached: list[Node] = []
        self.deferred: list[Node] = []
        self.offered: dict[tuple[Head, int], list[Offer]] = {}
        self.open: dict[Position, list[Offer]] = {}
        self.layer = 0
        self.farthest: list[Node] = []
        self.most = 0

    # ------------------------------------------------------------ the search

    def judged(self, runs: bool) -> Judgement:
        """Judges the history. With ``runs``, the verdict on an allowed history includes the run."""
        recording, effort = self.recording, self.effort
        stated = recording.under_way
        most = effort.last_layer(recording)
        layers: list[Layer] = []
        start = self.places.start
        for state in self._initial():
            self._reach(state, start, None, Origin("start"), 0)
        goal: Node | None = None
        cut_short = False
        while True:
            # A slow layer must leave time for later layers.
            share = effort.states * (self.layer + 1) // (most + 1)
            goal, cut_short = self._layer(share)
            layers.append(Layer(self.layer, len(self.reached), not cut_short))
            if goal is not None or not (cut_short or self.deferred) or self.layer >= most:
                break
            self.layer += 1
            again, self.deferred = self.deferred, []
            for node in again:
                self.agenda.add(node, 0)
        if goal is not None:
            return self._result("allowed", goal, layers, runs)
        if cut_short:
            self.cuts.add(too_many_states(effort.states))
        if self.deferred and stated is None:
            self.cuts.add(too_few_ahead(most))
        self.cuts.update(self.places.lacking())
        return self._result("unknown" if self.cuts else "not allowed", self._least(), layers)

    def _layer(self, limit: int) -> tuple[Node | None, bool]:
        """Searches one layer. Returns the end of a run that shows the whole history, or None, and
        whether the search was cut because it visited more than ``limit`` product states.
        """
        agenda, reached, events = self.agenda, self.reached, self.events
        while (node := agenda.next()) is not None:
            if node[1].read == events and node[1].waits < 0:
                return node, False
            self._expand(node)
            if len(reached) > limit:
                return None, True
        return None, False

    def _reach(
        self, state: Any, position: Position, before: Node | None, did: Origin, kind: int
    ) -> None:
        if state in position.states:
            return
        position.states.add(state)
        node = state, position, before, did
        self.reached.append(node)
        self.agenda.add(node, kind)
        if position.read >= self.most:
            self._far(node, position)

    def _far(self, node: Node, position: Position) -> None:
        """Keeps a product state if it is among those with the most events read."""
        if position.read > self.most or not self.farthest:
            self.most, self.farthest = position.read, [node]
            return
        other = self.farthest[0][1]
        if position.is_before(other):
            self.farthest = [node]
        elif not other.is_before(position):
            self.farthest.append(node)

    def _least(self) -> Node:
        """Returns the farthest product state with the least state of the model."""
        return min(self.farthest, key=lambda node: self._state(node[0]))

    def _initial(self) -> Sequence[Any]:
        """Returns the initial states in ascending order, as they are stored."""
        return self.mapped.initial()

    def _state(self, kept: Any) -> State:
        """Converts a stored state to a state of the model."""
        state: State = kept
        return state

    def _expand(self, node: Node) -> None:
        """Reaches the successors of a product state."""
        state, position, _, _ = node
        expansion = self.mapped.expansion(state)
        self.cuts |= expansion.cuts
        for move in expansion.moves:
            for there, events in self.places.shown(move.shown, position, ()):
                if move.state not in there.states:
                    did = Origin("step", move.action, None, (), events, move.marks)
                    self._reach(move.state, there, node, did, 0)
        offers = self.open.get(position)
        if offers is None:
            offers = [
                o for head, kind in self._upcoming(position) for o in self._offers(head, kind)
            ]
            self.open[position] = offers
        if not offers:
            return
        entered = self.mapped.entered([offer.entry for offer in offers], state, self.layer)
        self.cuts |= entered.cuts
        if entered.late:
            self._defer(node)
        late: list[tuple[Any, Position, Origin]] = []
        for index, move in entered.moves:
            offer = offers[index]
            if offer.entry.action is not None:
                self._stepped(node, move.state, offer, move.marks, move.shown)
                continue
            there, did = self._brought(position, offer)
            if did.kind == "ahead":
                late.append((move.state, there, did))
            else:
                self._reach(move.state, there, node, did, 0)
        for after, there, did in late:
            self._reach(after, there, node, did, 1)

    def _defer(self, node: Node) -> None:
        """Schedules a product state to be expanded again in the next layer."""
        if not self.deferred or self.deferred[-1] is not node:
            self.deferred.append(node)

    def _stepped(
        self,
        node: Node,
        after: Any,
        offer: Offer,
        marks: tuple[int, ...],
        shown: tuple[ShownEvent, ...],
    ) -> None:
        """Reaches the state after a step that is itself an event, if the next events match those
        that the step shows.
        """
        head, names, entry = offer
        assert head.line is not None
        read = self.places.advanced(node[1], head.source, names)
        for there, events in self.places.shown(shown, read, ((head.source, head.line),)):
            did = Origin("input", entry.action, entry.number, entry.values, events, marks)
            self._reach(after, there, node, did, 0)

    def _brought(self, position: Position, offer: Offer) -> tuple[Position, Origin]:
        """Returns the position after an event that brings something in, and the origin."""
        head, names, entry = offer
        assert head.line is not None
        places, source = self.places, head.source
        number, values = entry.number, entry.values
        events = ((source, head.line),)
        match entry.kind:
            case "ahead":
                there = places.waiting(position, names, position.waits)
                return there, Origin("ahead", None, number, values)
            case "answers":
                there = places.waiting(position, names, number * self.sources + source)
                return there, Origin("request", None, number, values)
            case "answer":
                there = places.answered(position, source, names)
                return there, Origin("answer", None, number, values, events)
            case "tolerated":
                there = places.advanced(position, source, names)
                return there, Origin("tolerated", events=events)
            case "input":
                there = places.advanced(position, source, names)
                return there, Origin("input", None, number, values, events)

    # ------------------------------------------------------------ what events may bring in

    def _upcoming(self, position: Position) -> Iterator[tuple[Head, int]]:
        """Yields the events that may bring in something at a position, each with its kind for
        `_offers`.
        """
        if position.waits >= 0:
            number, source = divmod(position.waits, self.sources)
            yield position.heads[source], number
        kind = ASKING if position.waits < 0 else WAITING
        for head in self.places.upcoming(position):
            yield head, kind

    def _offers(self, head: Head, kind: int) -> list[Offer]:
        """Returns the offers of the next event of a source. If ``kind`` is the number of an input,
        these are the answers to that input; otherwise they are all other offers.
        """
        cached = self.offered.get((head, kind))
        if cached is None:
            mapped = self.mapped
            cached = self.offered[head, kind] = [
                Offer(head, names, entry)
                for values, names in self.places.meanings(head)
                for entry in (
                    mapped.entries(head.event, values, kind == ASKING)
                    if kind < 0
                    else (mapped.answer(kind, values),)
                )
            ]
        return cached

    # ------------------------------------------------------------ the result

    def _result(
        self, verdict: Verdict, end: Node, layers: list[Layer], run: bool = True
    ) -> Judgement:
        way: list[tuple[State, Origin]] = []
        done: list[Origin] = []
        at: Node | None = end
        while at is not None:
            kept, _, before, did = at
            done.append(did)
            if run:
                way.append((self._state(kept), did))
            at = before
        way.reverse()
        places, position = self.places, end[1]
        waiting = tuple(
            Waiting(name, read, total, lines[read] if read < len(lines) else None)
            for name, lines, read, total in zip(
                places.sources, places.lines, position.cursors, places.ends, strict=True
            )
        )
        reason, near = ((), ()) if verdict == "allowed" else self._reasons(position)
        return Judgement(
            key=self.history.key,
            verdict=verdict,
            total=self.events,
            read=position.read,
            way=tuple(way),
            waiting=waiting,
            instead=() if verdict == "allowed" else tuple(self._instead(position)),
            reasons=reason,
            nearest=near,
            cuts=() if verdict == "allowed" else tuple(sorted(cut.what for cut in self.cuts)),
            layers=tuple(layers),
            names=tuple(self._settled(position.bound)),
            tolerated=[did.kind for did in done].count("tolerated"),
            taken=Counter([did.action for did in done if did.action is not None]),
            used=frozenset([did.rule for did in done if did.rule is not None]),
            seen=frozenset([line.event for did in done for _, line in did.events]),
            marked=frozenset([mark for marks in {did.marks for did in done} for mark in marks]),
        )

    def _instead(self, end: Position) -> Iterator[str]:
        """Yields the events and answers that the model offers at the end of the longest prefix, in
        any visited state at that position.
        """
        texts: set[str] = set()
        for kept, position, _, _ in self._there(end):
            if position.waits >= 0:
                waits = position.waits // self.sources
                texts.update(self.mapped.answers(waits, self._state(kept)))
        events, names = self.recording.events, self.places.names
        for shown, bound in self._events(end):
            texts.add(told_event(events[shown.event], shown.values, names, bound))
        yield from sorted(texts)[:MAX_ALTERNATIVES]
        if len(texts) > MAX_ALTERNATIVES:
            yield f"{len(texts) - MAX_ALTERNATIVES} more"

    def _shown(self, kept: Any) -> Iterator[tuple[ShownEvent, ...]]:
        """Returns the events that the steps from a state show."""
        return (move.shown for move in self.mapped.expansion(kept).moves)

    def _there(self, end: Position) -> Iterator[Node]:
        """Yields visited product states that have read the same events as ``end``."""
        there = (node for node in self.reached if node[1].cursors == end.cursors)
        return islice(there, MAX_EXAMINED)

    def _events(self, end: Position) -> set[tuple[ShownEvent, Bound]]:
        """Returns the events that the model shows in such states, with the bindings."""
        return {
            (event, position.bound)
            for kept, position, _, _ in self._there(end)
            for shown in self._shown(kept)
            for event in shown
        }

    def _reasons(self, end: Position) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
        # With another binding, the names in the next events denote other values.
        there = (kept for kept, position, _, _ in self._there(end) if position.bound is end.bound)
        states = [self._state(kept) for kept in there]
        causes = [*misplaced(self.places, end), *reasons(self.mapped, self.places, end, states)]
        events = sorted(self._events(end), key=str)
        return tuple(causes), tuple(nearest(self.mapped, self.places, end, events))

    def _settled(self, bound: Bound) -> Iterator[tuple[str, str]]:
        for declared, names, values_of in zip(
            self.recording.bindings, self.places.names.names, bound, strict=True
        ):
            for name, value in zip(names, values_of, strict=True):
                if value is not None:
                    yield f"{declared.name} {name}", show(value, declared.type)
