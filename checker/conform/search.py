"""Is there a run of the model that shows a history? A search of the product of the model's states,
how far each source is read, and what names stand for.

In layers: with more and more messages under way where one is put in ahead of its event. Within a
layer the states with most events read come first; among those what the model does by itself comes
before what is put in, and what was found earlier before what was found later. So the search depends
on nothing but the history.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from heapq import heappop, heappush
from itertools import chain
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from fencepost.checker.conform.binding import Bound, Names, names_in
from fencepost.checker.conform.lines import History, Key, Line
from fencepost.checker.conform.mapping import Cut, Mapped, Move, Shown
from fencepost.spec.core.recording import Named, Recording
from fencepost.spec.core.types import State, Value, cardinality, describe, show
from fencepost.spec.records import dataclass

USUAL_STATES = 100_000
USUAL_AHEAD = 2
MOST_INSTEAD = 8
MOST_LOOKED_AT = 2_000

Verdict: TypeAlias = Literal["allowed", "not allowed", "unknown", "unread"]
Node: TypeAlias = tuple[Any, tuple[int, ...], Bound, int]
"""A state as a search keeps it, how many events of each source are read, what names stand for, and
which input waits for its answer: its number, times the number of sources, and its source (-1:
none).
"""


Rank: TypeAlias = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Effort:
    """How far a history is searched: product states, and messages under way in the last layer."""

    states: int = USUAL_STATES
    ahead: int = USUAL_AHEAD

    def last_layer(self, recording: Recording) -> int:
        """The most messages that are under way in the last layer."""
        return self.ahead if recording.under_way is None else recording.under_way

    def lines(self, recording: Recording) -> int:
        """How many events of a source a search may come to, where a step shows one at most: in each
        layer a state is visited, whatever the limit is.
        """
        return self.states + self.last_layer(recording) + 2


class Did(NamedTuple):
    """What led to a product state: a step of the model (``action``), an ``input``, or both;
    ``events`` are those that were read, each with its source, and ``marks`` the coverage marks
    that the step sets.
    """

    kind: Literal["start", "step", "input", "ahead", "request", "answer", "tolerated"]
    action: int | None = None
    rule: int | None = None
    values: tuple[Value, ...] = ()
    events: tuple[tuple[int, Line], ...] = ()
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next event of a source, or None: all of its ``total`` events are read, or it is not
    kept.
    """

    source: str
    read: int
    total: int
    line: Line | None


@dataclass(frozen=True, slots=True)
class Layer:
    """How a layer ended: the most messages under way (``ahead``), the product states visited by
    then, and whether it was searched to its end.
    """

    ahead: int
    states: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a history, and what it rests upon.

    ``way`` is a run to the longest prefix that can be read: states, and what led to each.
    ``waiting`` is what is next there, and ``instead`` what the model shows or answers there.
    ``cuts`` say where paths went no further. On the way actions were ``taken``, inputs ``used``,
    kinds of events ``seen`` and coverage marks of the model set (``marked``), by their numbers.
    """

    key: Key
    verdict: Verdict
    total: int
    read: int
    way: tuple[tuple[State, Did], ...] = ()
    waiting: tuple[Waiting, ...] = ()
    instead: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    tolerated: int = 0
    taken: Counter[int] = field(default_factory=Counter[int])
    used: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()

    @property
    def states(self) -> int:
        """How many product states were visited."""
        return self.layers[-1].states if self.layers else 0


def judge(mapped: Mapped, history: History, effort: Effort) -> Judged:
    """The verdict on one history."""
    if history.unread:
        return unread(history)
    return Search(mapped, history, effort).judged(True)


class Judging(Protocol):
    """What judges histories."""

    def judge(self, history: History, effort: Effort) -> Judged:
        """The verdict on one history; where it is allowed, without the run."""
        ...


@dataclass(frozen=True, slots=True)
class Interpreted:
    """Judges histories by the interpreter."""

    mapped: Mapped

    def judge(self, history: History, effort: Effort) -> Judged:
        """See `Judging`."""
        if history.unread:
            return unread(history)
        return Search(self.mapped, history, effort).judged(False)


def unread(history: History) -> Judged:
    """The verdict on a history of which a line could not be read."""
    return Judged(history.key, "unread", history.total, 0)


class Meaning(NamedTuple):
    """What the fields of an event may stand for, with what names stand for then, and which inputs
    may come in with it in some state.
    """

    values: tuple[Value, ...]
    names: Bound
    rules: list[int]


class Search:
    """The search for one history."""

    def __init__(self, mapped: Mapped, history: History, effort: Effort) -> None:
        recording = mapped.recording
        self.mapped = mapped
        self.recording = recording
        self.history = history
        self.effort = effort
        ordered = history.ordered()
        self.classes = [number for number, _, _, _ in ordered]
        self.sources = [name for _, name, _, _ in ordered]
        self.lines = [lines for _, _, lines, _ in ordered]
        self.ends = tuple(total for _, _, _, total in ordered)
        called = (
            one for lines in self.lines for line in lines for read in line.fields
            for one in names_in(read)
        )  # fmt: skip
        self.names = Names(recording.bindings, chain(called, history.called))
        self.by_event = [
            [number for number, one in enumerate(self.classes) if one in event.sources]
            for event in recording.events
        ]
        self.rules: list[list[int]] = [[] for _ in recording.events]
        for number, one in enumerate(recording.inputs):
            self.rules[one.event].append(number)
        self.passed: list[list[int]] = [[] for _ in recording.events]
        for number, passed in enumerate(recording.tolerated):
            self.passed[passed.event].append(number)
        self.cuts: set[Cut] = set()
        self.reached: dict[Node, tuple[Node | None, Did]] = {}
        self.waiting: list[tuple[int, int, int, Node]] = []
        self.deferred: list[Node] = []
        self.meant: dict[tuple[int, Bound], list[Meaning]] = {}
        self.layer = 0
        self.serial = 0
        self.farthest: list[Node] = []
        self.rank: Rank | None = None
        self.most = 0

    # ------------------------------------------------------------ the search

    def judged(self, runs: bool) -> Judged:
        """The verdict; ``runs``: the run that shows an allowed history is wanted."""
        recording, effort = self.recording, self.effort
        stated = recording.under_way
        most = effort.last_layer(recording)
        layers: list[Layer] = []
        for state in self._initial():
            start = (state, (0,) * len(self.ends), self.names.start, -1)
            self._reach(start, None, Did("start"), 0)
        goal: Node | None = None
        cut_short = False
        while True:
            # A layer that takes long must not keep the next ones from being tried.
            share = effort.states * (self.layer + 1) // (most + 1)
            goal, cut_short = self._layer(share)
            layers.append(Layer(self.layer, len(self.reached), not cut_short))
            if goal is not None or not (cut_short or self.deferred) or self.layer >= most:
                break
            self.layer += 1
            again, self.deferred = self.deferred, []
            for node in again:
                self.serial += 1
                heappush(self.waiting, (-sum(node[1]), 0, self.serial, node))
        if goal is not None:
            return self._result("allowed", goal, layers, runs)
        if cut_short:
            self.cuts.add(Cut(f"{effort.states:,} product states were visited (--max-states)"))
        if self.deferred and stated is None:
            what = f"more than {most} messages under way were not tried (--ahead)"
            self.cuts.add(Cut(what))
        for bind in sorted(self.names.lacking):
            one = recording.bindings[bind]
            count = cardinality(one.type)
            what = f"{one.name}: {len(self.names.names[bind])} names, and {describe(one.type)}"
            self.cuts.add(Cut(f"{what} has {count} values"))
        return self._result("unknown" if self.cuts else "not allowed", self._least(), layers)

    def _layer(self, most: int) -> tuple[Node | None, bool]:
        """A run to the end, or None; and whether the search was cut short because more than
        ``most`` product states were visited.
        """
        while self.waiting:
            *_, node = heappop(self.waiting)
            if node[1] == self.ends and node[3] < 0:
                return node, False
            for after, did, kind in self._after(node):
                self._reach(after, node, did, kind)
            if len(self.reached) > most:
                return None, True
        return None, False

    def _reach(self, node: Node, before: Node | None, did: Did, kind: int) -> None:
        if node in self.reached:
            return
        self.reached[node] = (before, did)
        self.serial += 1
        read = sum(node[1])
        heappush(self.waiting, (-read, kind, self.serial, node))
        if read >= self.most:
            self._far(node, read)

    def _far(self, node: Node, read: int) -> None:
        """Keeps a product state if it is one of those that are read the farthest."""
        rank = tuple(-one for one in node[1]), node[3]
        if read > self.most or self.rank is None or rank < self.rank:
            self.most, self.rank = read, rank
            self.farthest = [node]
        elif rank == self.rank:
            self.farthest.append(node)

    def _least(self) -> Node:
        """Of those that are read the farthest the one with the least state."""
        return min(self.farthest, key=self._state)

    def _initial(self) -> Sequence[Any]:
        """The states in which a run may begin, ascending, as they are kept."""
        return self.mapped.initial()

    def _state(self, node: Node) -> State:
        """The state of a product state."""
        state: State = node[0]
        return state

    def _after(self, node: Node) -> Iterator[tuple[Node, Did, int]]:
        """What can follow a product state: the node, what leads there, and 1 for what is put in
        ahead.
        """
        state, cursors, bound, waits = node
        expansion = self.mapped.expansion(state)
        self.cuts |= expansion.cuts
        for move in expansion.moves:
            for far, names, events in self._shown(move.shown, cursors, bound, ()):
                did = Did("step", action=move.action, events=events, marks=move.marks)
                yield (move.state, far, names, waits), did, 0
        if waits >= 0:
            yield from self._answered(node)
        late: list[tuple[Node, Did, int]] = []
        for source, line in self._upcoming(cursors, waits):
            yield from self._events(node, source, line, late)
        yield from late

    def _upcoming(self, cursors: tuple[int, ...], waits: int) -> Iterator[tuple[int, Line]]:
        """The next event of each source that may bring in something."""
        for source in range(len(self.lines)):
            line = self._next(source, cursors)
            if line is None:
                continue
            if line.beyond:
                self.cuts.update(Cut(why) for why in line.beyond)
            elif waits < 0 or waits % len(self.lines) != source:
                yield source, line

    def _next(self, source: int, cursors: tuple[int, ...]) -> Line | None:
        """The next event of a source. Where steps show several events at a time, it may be one that
        is not kept: then what comes is not known.
        """
        lines, read = self.lines[source], cursors[source]
        if read < len(lines):
            return None if lines[read].misplaced else lines[read]
        if read < self.ends[source]:
            what = f"of a source no more than {len(lines):,} events are read (--max-states)"
            self.cuts.add(Cut(what))
        return None

    def _events(
        self, node: Node, source: int, line: Line, late: list[tuple[Node, Did, int]]
    ) -> Iterator[tuple[Node, Did, int]]:
        """What the next event of a source brings in."""
        state, cursors, bound, waits = node
        passed = self.passed[line.event]
        if not self.rules[line.event] and not passed:
            return
        read = advanced(cursors, source)
        for values, names, rules in self._values(line, bound):
            for number in passed:
                holds = self.mapped.tolerated(number, values, state)
                if isinstance(holds, Cut):
                    self.cuts.add(holds)
                elif holds:
                    did = Did("tolerated", events=((source, line),))
                    yield (state, read, names, waits), did, 0
            for number in rules:
                kind = self.recording.inputs[number].kind
                if kind == "answers" and waits >= 0:
                    continue
                holds = self.mapped.condition(number, values, state)
                if isinstance(holds, Cut):
                    self.cuts.add(holds)
                if holds is not True:
                    continue
                if kind == "ahead" and self.mapped.under_way(state) > self.layer:
                    if not self.deferred or self.deferred[-1] is not node:
                        self.deferred.append(node)
                    continue
                for move in self.mapped.entering(number, values, state):
                    if isinstance(move, Cut):
                        self.cuts.add(move)
                    elif kind == "ahead":
                        did = Did("ahead", rule=number, values=values)
                        late.append(((move.state, cursors, names, waits), did, 1))
                    elif kind == "answers":
                        did = Did("request", rule=number, values=values)
                        waiting = number * len(self.lines) + source
                        yield (move.state, cursors, names, waiting), did, 0
                    else:
                        yield from self._entered(node, move, number, values, source, names)

    def _entered(
        self,
        node: Node,
        move: Move,
        number: int,
        values: tuple[Value, ...],
        source: int,
        names: Bound,
    ) -> Iterator[tuple[Node, Did, int]]:
        line = self.lines[source][node[1][source]]
        action = move.action if move.action >= 0 else None
        read = advanced(node[1], source)
        for far, more, events in self._shown(move.shown, read, names, ((source, line),)):
            did = Did("input", action, number, values, events, move.marks)
            yield (move.state, far, more, node[3]), did, 0

    def _answered(self, node: Node) -> Iterator[tuple[Node, Did, int]]:
        state, cursors, bound, waits = node
        number, source = divmod(waits, len(self.lines))
        line = self.lines[source][cursors[source]]
        read = advanced(cursors, source)
        for values, names, _ in self._values(line, bound):
            for after in self.mapped.answered(number, values, state):
                if isinstance(after, Cut):
                    self.cuts.add(after)
                else:
                    did = Did("answer", rule=number, values=values, events=((source, line),))
                    yield (after, read, names, -1), did, 0

    def _values(self, line: Line, bound: Bound) -> list[Meaning]:
        """What the fields of an event may stand for."""
        known = self.meant.get((id(line), bound))
        if known is None:
            known = self.meant[id(line), bound] = [
                Meaning(
                    values,
                    names,
                    [one for one in self.rules[line.event] if self.mapped.ever(one, values)],
                )
                for values, names in self.names.values(line.fields, bound)
            ]
        return known

    def _shown(
        self,
        shown: tuple[Shown, ...],
        cursors: tuple[int, ...],
        bound: Bound,
        events: tuple[tuple[int, Line], ...],
    ) -> Iterator[tuple[tuple[int, ...], Bound, tuple[tuple[int, Line], ...]]]:
        """The ways in which the next events of the sources are those that a step shows."""
        if not shown:
            yield cursors, bound, events
            return
        first, rest = shown[0], shown[1:]
        for source in self.by_event[first.event]:
            line = self._next(source, cursors)
            if line is None or line.event != first.event or line.beyond:
                continue
            for names in self._fields(line, first.values, bound):
                yield from self._shown(
                    rest, advanced(cursors, source), names, (*events, (source, line))
                )

    def _fields(self, line: Line, values: tuple[Value, ...], bound: Bound) -> Iterator[Bound]:
        found = [bound]
        for read, value in zip(line.fields, values, strict=True):
            found = [after for names in found for after in self.names.fits(read, value, names)]
            if not found:
                break
        return iter(found)

    # ------------------------------------------------------------ the result

    def _result(self, verdict: Verdict, end: Node, layers: list[Layer], run: bool = True) -> Judged:
        way: list[tuple[State, Did]] = []
        done: list[Did] = []
        at: Node | None = end
        while at is not None:
            earlier, did = self.reached[at]
            done.append(did)
            if run:
                way.append((self._state(at), did))
            at = earlier
        way.reverse()
        waiting = tuple(
            Waiting(name, read, total, lines[read] if read < len(lines) else None)
            for name, lines, read, total in zip(
                self.sources, self.lines, end[1], self.ends, strict=True
            )
        )
        return Judged(
            key=self.history.key,
            verdict=verdict,
            total=sum(self.ends),
            read=sum(end[1]),
            way=tuple(way),
            waiting=waiting,
            instead=() if verdict == "allowed" else tuple(self._instead(end)),
            cuts=() if verdict == "allowed" else tuple(sorted(one.what for one in self.cuts)),
            layers=tuple(layers),
            names=tuple(self._settled(end[2])),
            tolerated=sum(did.kind == "tolerated" for did in done),
            taken=Counter(did.action for did in done if did.action is not None),
            used=frozenset(did.rule for did in done if did.rule is not None),
            seen=frozenset(line.event for did in done for _, line in did.events),
            marked=frozenset(mark for did in done for mark in did.marks),
        )

    def _instead(self, end: Node) -> Iterator[str]:
        """What the model shows or answers where the longest prefix ends, in each of the states
        there that were visited.
        """
        found: set[str] = set()
        there = (node for node in self.reached if node[1] == end[1])
        for _, node in zip(range(MOST_LOOKED_AT), there, strict=False):
            _, _, bound, waits = node
            state = self._state(node)
            if waits >= 0:
                found.update(self.mapped.answers(waits // len(self.lines), state))
            for move in self.mapped.expansion(state).moves:
                found.update(self._told(one, bound) for one in move.shown)
        yield from sorted(found)[:MOST_INSTEAD]
        if len(found) > MOST_INSTEAD:
            yield f"{len(found) - MOST_INSTEAD} more"

    def _told(self, shown: Shown, bound: Bound) -> str:
        event = self.recording.events[shown.event]
        parts: list[str] = []
        for one, value in zip(event.fields, shown.values, strict=True):
            name = None
            if isinstance(one.shape, Named):
                name = self.names.shown(one.shape.bind, value, bound)
            written = show(value, one.type) if name is None else json.dumps(name)
            parts.append(f"{one.name}: {written}")
        return f"{event.said}({', '.join(parts)})"

    def _settled(self, bound: Bound) -> Iterator[tuple[str, str]]:
        for declared, names, known in zip(
            self.recording.bindings, self.names.names, bound, strict=True
        ):
            for name, value in zip(names, known, strict=True):
                if value is not None:
                    yield f"{declared.name} {name}", show(value, declared.type)


def advanced(cursors: tuple[int, ...], source: int) -> tuple[int, ...]:
    return (*cursors[:source], cursors[source] + 1, *cursors[source + 1 :])
