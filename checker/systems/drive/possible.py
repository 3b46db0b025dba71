"""The exact set of states that a model may be in, after what a real system has answered and shown.

It goes on with each answer and never back, so what is sent next can depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from fencepost.checker.systems.conform.binding import KnownValue
from fencepost.checker.systems.conform.cuts import Cut
from fencepost.checker.systems.conform.lines import Line
from fencepost.checker.systems.conform.mapping import MappedModel, Move
from fencepost.checker.systems.drive.requests import Request
from fencepost.spec.core.types import State, Value

MAX_STATES = 20_000
"""At most this many pairs of a state and what is read of the lines are visited for one request."""
Source: TypeAlias = tuple[int, str]
"""A source: the number of its declaration, and its name."""
_Node: TypeAlias = tuple[State, tuple[int, ...], int]
"""A state, how many lines of each source are read, and the progress of the request: 0 it is not
sent, 1 it waits for its answer, 2 it is answered.
"""


class Possible:
    """The states that a model may be in.

    ``cuts`` say where the set may lack states, by a bound of the model: from then on, that no state
    is left proves nothing.
    """

    def __init__(self, mapped: MappedModel) -> None:
        self.mapped = mapped
        self.cuts: set[Cut] = set()
        self.states: frozenset[State] = frozenset()
        self._known: dict[tuple[State, int, tuple[Value, ...]], frozenset[str]] = {}
        self.begin()

    def begin(self) -> None:
        """The model is in its initial state again."""
        self.cuts = set()
        self.states = frozenset(self._rest(self.mapped.initial(), self.cuts))

    def predict(self, request: Request) -> frozenset[str]:
        """The answers that the model allows, as they are shown; of an input that is not answered,
        its name. Nothing, if it cannot be sent.
        """
        found: set[str] = set()
        for state in self.states:
            key = state, request.kind.rule, request.given
            if key not in self._known:
                if len(self._known) > MAX_STATES:
                    self._known.clear()
                self._known[key] = frozenset(self._predicted(state, request))
            found |= self._known[key]
        return frozenset(found)

    def _predicted(self, state: State, request: Request) -> Iterator[str]:
        rule = request.kind.rule
        after = [one.state for one in self.sent(state, request)]
        if self.mapped.recording.inputs[rule].answer is None:
            if after:
                yield request.kind.event.name
            return
        for one in self._rest(after, set(), showing=True):
            yield from self.mapped.answers(rule, one)

    def advance(
        self, request: Request, asked: Source, lines: Mapping[Source, Sequence[Line]]
    ) -> bool:
        """Goes on to the states behind a request with its answer, which is the first line of the
        source ``asked``, and behind what was observed. Whether there are any.
        """
        sources = sorted(lines)
        rows = [lines[source] for source in sources]
        ends = tuple(map(len, rows))
        start = (0,) * len(rows)
        todo: list[_Node] = [(state, start, 0) for state in self.states]
        seen = set(todo)
        found: set[State] = set()
        step = _Step(self, sources, rows, request, sources.index(asked))
        while todo:
            node = todo.pop()
            if node[1] == ends and node[2] == 2:
                found.add(node[0])
            for after in step.from_(node):
                if after not in seen:
                    if len(seen) >= MAX_STATES:
                        self.cuts.add(Cut(f"more than {MAX_STATES:,} states are possible"))
                        todo.clear()
                        break
                    seen.add(after)
                    todo.append(after)
        self.states = frozenset(found)
        return bool(found)

    def sent(self, state: State, request: Request) -> list[Move]:
        """What sending a request leads to; nothing where it cannot be sent."""
        given = dict(zip(request.kind.asked, request.given, strict=True))
        # The fields of the answer are not read here.
        values = tuple(given.get(one, ()) for one in request.kind.event.fields)
        entry = self.mapped.input(request.kind.rule, values)
        return [move for _, move in self.mapped.entered([entry], state).moves]

    def _rest(
        self, states: Sequence[State], cuts: set[Cut], *, showing: bool = False
    ) -> set[State]:
        """The states to which steps lead that show nothing, or (``showing``) anything."""
        seen, todo = set(states), list(states)
        while todo and len(seen) < MAX_STATES:
            expansion = self.mapped.expansion(todo.pop())
            cuts |= expansion.cuts
            for move in expansion.moves:
                if (showing or not move.shown) and move.state not in seen:
                    seen.add(move.state)
                    todo.append(move.state)
        if todo:
            cuts.add(Cut(f"more than {MAX_STATES:,} states are possible"))
        return seen


def read_values(line: Line) -> tuple[Value, ...]:
    """The values of a line's fields, none of which is a name."""
    return tuple(one.value for one in line.fields if isinstance(one, KnownValue))


class _Step:
    """One request with its answer, and what was observed behind it."""

    def __init__(
        self,
        possible: Possible,
        sources: Sequence[Source],
        rows: Sequence[Sequence[Line]],
        request: Request,
        at: int,
    ) -> None:
        self.possible = possible
        self.mapped = possible.mapped
        self.sources = sources
        self.rows = rows
        self.request = request
        self.at = at

    def from_(self, node: _Node) -> Iterator[_Node]:
        """The nodes to which one step of the model leads, or the next line."""
        state, cursors, progress = node
        expansion = self.mapped.expansion(state)
        self.possible.cuts |= expansion.cuts
        for move in expansion.moves:
            yield from self._shown(move, cursors, progress)
        if progress < 2:
            yield from self._asked(node)
        for place, line in self._next(node):
            yield from self._event(node, place, line)

    def _next(self, node: _Node) -> Iterator[tuple[int, Line]]:
        """The lines that are next, except a request that is under way."""
        _, cursors, progress = node
        for place, row in enumerate(self.rows):
            waits = place == self.at and progress < 2
            if cursors[place] < len(row) and not waits and not row[cursors[place]].beyond:
                yield place, row[cursors[place]]

    def _asked(self, node: _Node) -> Iterator[_Node]:
        """The request is sent, or its answer is taken."""
        state, cursors, progress = node
        rule, at = self.request.kind.rule, self.at
        line = self.rows[at][cursors[at]]
        if line.beyond:
            # A value outside its type is no answer of the model, and no proof against it.
            self.possible.cuts.update(Cut(why) for why in line.beyond)
            return
        values = read_values(line)
        if progress == 1:
            answered = self.mapped.entered([self.mapped.answer(rule, values)], state)
            self.possible.cuts |= answered.cuts
            for _, one in answered.moves:
                yield one.state, _advanced(cursors, at), 2
            return
        waits = self.mapped.recording.inputs[rule].answer is not None
        yield from self._entered(rule, values, node, at, 1 if waits else 2)

    def _event(self, node: _Node, place: int, line: Line) -> Iterator[_Node]:
        """What an observed event brings in, or that it is passed over."""
        state, cursors, progress = node
        values = read_values(line)
        for number, one in enumerate(self.mapped.recording.tolerated):
            if one.event == line.event:
                tolerated = self.mapped.entered([self.mapped.tolerated(number, values)], state)
                self.possible.cuts |= tolerated.cuts
                if tolerated.moves:
                    yield state, _advanced(cursors, place), progress
        for number, rule in enumerate(self.mapped.recording.inputs):
            if rule.event == line.event and rule.kind == "input":
                yield from self._entered(number, values, node, place, progress)

    def _entered(
        self, rule: int, values: tuple[Value, ...], node: _Node, place: int, progress: int
    ) -> Iterator[_Node]:
        """An event comes in; one that waits for its answer is not read yet."""
        state, cursors, before = node
        waits = before == 0 and progress == 1
        entered = self.mapped.entered([self.mapped.input(rule, values)], state)
        self.possible.cuts |= entered.cuts
        for _, one in entered.moves:
            yield from self._shown(one, cursors if waits else _advanced(cursors, place), progress)

    def _shown(self, move: Move, cursors: tuple[int, ...], progress: int) -> Iterator[_Node]:
        """The ways in which the next lines are what a step shows."""
        if not move.shown:
            yield move.state, cursors, progress
            return
        first = move.shown[0]
        rest = move._replace(shown=move.shown[1:])
        for place, line in self._next((move.state, cursors, progress)):
            event = self.mapped.recording.events[first.event]
            if (
                self.sources[place][0] in event.sources
                and line.event == first.event
                and read_values(line) == first.values
            ):
                yield from self._shown(rest, _advanced(cursors, place), progress)


def _advanced(cursors: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*cursors[:place], cursors[place] + 1, *cursors[place + 1 :])
