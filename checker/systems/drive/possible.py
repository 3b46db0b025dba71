"""Computes the exact set of states that a model may be in, given the answers and observations of a
real system.

The set is updated with each answer and never taken back, so that the next request can depend on it.
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
"""Maximum number of pairs of a state and a position in the lines, for each request."""
Source: TypeAlias = tuple[int, str]
"""A source: the number of its declaration, and its name."""
_Node: TypeAlias = tuple[State, tuple[int, ...], int]
"""A state, the number of lines read from each source, and the progress of the request: 0 if it has
not been sent, 1 if it waits for its answer, and 2 if it has been answered.
"""


class Possible:
    """The states that a model may be in.

    ``cuts`` says where a bound of the model may have removed states from the set. If it is not
    empty, an empty set of states proves nothing.
    """

    def __init__(self, mapped: MappedModel) -> None:
        self.mapped = mapped
        self.cuts: set[Cut] = set()
        self.states: frozenset[State] = frozenset()
        self._known: dict[tuple[State, int, tuple[Value, ...]], frozenset[str]] = {}
        self.begin()

    def begin(self) -> None:
        """Returns the model to its initial states."""
        self.cuts = set()
        self.states = frozenset(self._rest(self.mapped.initial(), self.cuts))

    def predict(self, request: Request) -> frozenset[str]:
        """Returns the answers that the model allows, as texts. For an input without an answer,
        returns the name of the event. The result is empty if the request cannot be sent.
        """
        answers: set[str] = set()
        for state in self.states:
            key = state, request.kind.rule, request.given
            if key not in self._known:
                if len(self._known) > MAX_STATES:
                    self._known.clear()
                self._known[key] = frozenset(self._predicted(state, request))
            answers |= self._known[key]
        return frozenset(answers)

    def _predicted(self, state: State, request: Request) -> Iterator[str]:
        rule = request.kind.rule
        after = [move.state for move in self.sent(state, request)]
        if self.mapped.recording.inputs[rule].answer is None:
            if after:
                yield request.kind.event.name
            return
        for reached in self._rest(after, set(), showing=True):
            yield from self.mapped.answers(rule, reached)

    def advance(
        self, request: Request, asked: Source, lines: Mapping[Source, Sequence[Line]]
    ) -> bool:
        """Advances to the states after a request with its answer, which is the first line of the
        source ``asked``, and after the observed lines. Returns whether any such state exists.
        """
        sources = sorted(lines)
        rows = [lines[source] for source in sources]
        ends = tuple(map(len, rows))
        start = (0,) * len(rows)
        todo: list[_Node] = [(state, start, 0) for state in self.states]
        seen = set(todo)
        final_states: set[State] = set()
        step = _Step(self, sources, rows, request, sources.index(asked))
        while todo:
            node = todo.pop()
            if node[1] == ends and node[2] == 2:
                final_states.add(node[0])
            for after in step.from_(node):
                if after not in seen:
                    if len(seen) >= MAX_STATES:
                        self.cuts.add(Cut(f"more than {MAX_STATES:,} states are possible"))
                        todo.clear()
                        break
                    seen.add(after)
                    todo.append(after)
        self.states = frozenset(final_states)
        return bool(final_states)

    def sent(self, state: State, request: Request) -> list[Move]:
        """Returns the results of sending a request. The result is empty if the request cannot be
        sent.
        """
        sent_fields = dict(zip(request.kind.asked, request.given, strict=True))
        # The fields of the answer are not read for this.
        values = tuple(sent_fields.get(declared, ()) for declared in request.kind.event.fields)
        entry = self.mapped.input(request.kind.rule, values)
        return [move for _, move in self.mapped.entered([entry], state).moves]

    def _rest(
        self, states: Sequence[State], cuts: set[Cut], *, showing: bool = False
    ) -> set[State]:
        """Returns the states that can be reached by steps that show nothing or, with ``showing``,
        by any steps.
        """
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
    """Returns the values of those fields of a line that are not names."""
    return tuple(
        field_read.value for field_read in line.fields if isinstance(field_read, KnownValue)
    )


class _Step:
    """One request with its answer, and the lines that were observed after it."""

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
        """Yields the nodes reached by one step of the model, or by the next line."""
        state, cursors, progress = node
        expansion = self.mapped.expansion(state)
        self.possible.cuts |= expansion.cuts
        for move in expansion.moves:
            yield from self._shown(move, cursors, progress)
        if progress < 2:
            yield from self._asked(node)
        for source, line in self._next(node):
            yield from self._event(node, source, line)

    def _next(self, node: _Node) -> Iterator[tuple[int, Line]]:
        """Yields the next lines, except that of a pending request."""
        _, cursors, progress = node
        for source, row in enumerate(self.rows):
            waits = source == self.at and progress < 2
            if cursors[source] < len(row) and not waits and not row[cursors[source]].beyond:
                yield source, row[cursors[source]]

    def _asked(self, node: _Node) -> Iterator[_Node]:
        """Sends the request, or receives its answer."""
        state, cursors, progress = node
        rule, at = self.request.kind.rule, self.at
        line = self.rows[at][cursors[at]]
        if line.beyond:
            # A value outside its type is not an answer of the model, but it does not prove that the
            # system is wrong either.
            self.possible.cuts.update(Cut(why) for why in line.beyond)
            return
        values = read_values(line)
        if progress == 1:
            answered = self.mapped.entered([self.mapped.answer(rule, values)], state)
            self.possible.cuts |= answered.cuts
            for _, move in answered.moves:
                yield move.state, _advanced(cursors, at), 2
            return
        waits = self.mapped.recording.inputs[rule].answer is not None
        yield from self._entered(rule, values, node, at, 1 if waits else 2)

    def _event(self, node: _Node, source: int, line: Line) -> Iterator[_Node]:
        """Lets an observed event act on the model, or skips the event if it is tolerated."""
        state, cursors, progress = node
        values = read_values(line)
        for number, toleration in enumerate(self.mapped.recording.tolerated):
            if toleration.event == line.event:
                tolerated = self.mapped.entered([self.mapped.tolerated(number, values)], state)
                self.possible.cuts |= tolerated.cuts
                if tolerated.moves:
                    yield state, _advanced(cursors, source), progress
        for number, rule in enumerate(self.mapped.recording.inputs):
            if rule.event == line.event and rule.kind == "input":
                yield from self._entered(number, values, node, source, progress)

    def _entered(
        self, rule: int, values: tuple[Value, ...], node: _Node, source: int, progress: int
    ) -> Iterator[_Node]:
        """Lets an event act on the model. An event that waits for its answer is not read yet."""
        state, cursors, before = node
        waits = before == 0 and progress == 1
        entered = self.mapped.entered([self.mapped.input(rule, values)], state)
        self.possible.cuts |= entered.cuts
        for _, move in entered.moves:
            yield from self._shown(move, cursors if waits else _advanced(cursors, source), progress)

    def _shown(self, move: Move, cursors: tuple[int, ...], progress: int) -> Iterator[_Node]:
        """Yields the ways to match the next lines with the events of a step."""
        if not move.shown:
            yield move.state, cursors, progress
            return
        first = move.shown[0]
        rest = move._replace(shown=move.shown[1:])
        for source, line in self._next((move.state, cursors, progress)):
            event = self.mapped.recording.events[first.event]
            if (
                self.sources[source][0] in event.sources
                and line.event == first.event
                and read_values(line) == first.values
            ):
                yield from self._shown(rest, _advanced(cursors, source), progress)


def _advanced(cursors: tuple[int, ...], source: int) -> tuple[int, ...]:
    return (*cursors[:source], cursors[source] + 1, *cursors[source + 1 :])
