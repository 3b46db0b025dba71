"""The product of the state graph and an automaton. This module finds the reachable pairs, and the
sets of pairs where a fair behaviour can stay forever.

A pair of a state and a node is represented by a bit of the state. A node without requirements that
may wait forever needs no bit: its pair is reachable whenever the state is. Machine code carries
bits along steps, and computes only the steps of states with at least one bit. Pairs that reach no
cycle are dropped; the others are split into components (`streett.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from fencepost.checker.native.components import dense
from fencepost.checker.native.graph import (
    BYTE,
    PLACE_BYTES,
    Bits,
    Ids,
    Numbers,
    Rows,
    StateGraph,
    Units,
    bits_of,
    distinct,
    width_of,
)
from fencepost.checker.native.kernels.components import SINGLE
from fencepost.checker.native.streett import (
    PAIR_BYTES,
    Components,
    Fair,
    Flags,
    Part,
    Steps,
    Streett,
    filled,
)
from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.automaton import Automaton
from fencepost.checker.temporal.lasso import Logic, holds
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.records import dataclass

BATCH = 1 << 15
"""The number of states in a batch."""
ROUND_WORDS = 6
"""The number of temporary words per state in a round, apart from the bits of the state."""
COLUMN_BYTES = 17
"""The memory in bytes per state while the states that have a bit are selected from an existing
column.
"""
CYCLIC_BYTES = 31
"""The memory in bytes per state while the states on cycles are selected."""
COLLECT_BYTES, ORDER_BYTES = 20, 28
"""The memory in bytes per step while steps are collected, and while they are sorted."""
PIECE, SMALL_PIECE, MAX_TABLED = 16, 8, 128
"""The number of predicates that index one table. More than `MAX_TABLED` predicates use smaller
tables, since they need many.
"""


_FLAGS: Logic[Flags] = Logic(
    lambda rows: np.logical_and.reduce([*rows]),
    lambda rows: np.logical_or.reduce([*rows]),
    np.logical_not,
)
"""Logical operations on the truth values of several states at once."""


@dataclass(frozen=True, slots=True)
class Round:
    """The states with pairs at one distance from the initial pairs. ``bits`` holds these pairs."""

    states: Ids
    bits: Bits


class Tables:
    """A function on bit sets that distributes over unions. ``images`` holds the images of single
    bits.
    """

    def __init__(self, images: Sequence[int], width: int) -> None:
        self._width = width
        self._tables: list[Bits] = []
        for start in range(0, len(images), BYTE):
            part = images[start : start + BYTE]
            table = np.zeros((1 << len(part), width), np.uint8)
            for position, image in enumerate(part):
                half = 1 << position
                table[half : 2 * half] = table[:half] | bits_of(image, width)
            self._tables.append(table)

    def __call__(self, bits: Bits) -> Bits:
        images = np.zeros((len(bits), self._width), np.uint8)
        for number, table in enumerate(self._tables):
            images |= table[bits[:, number]]
        return images


class Product:
    """The pairs of automaton nodes and states. ``labels`` holds the predicates of each state."""

    def __init__(
        self,
        graph: StateGraph,
        labels: Bits,
        places: dict[int, int],
        automaton: Automaton,
        decision: Decision,
    ) -> None:
        self.graph = graph
        self.decision = decision
        self.automaton = automaton
        self.nodes = automaton.nodes
        self.groups = list(_groups(automaton))
        recurrent = {node for group in self.groups for node in group}
        self.free = frozenset(
            number
            for number, node in enumerate(self.nodes)
            if not node.requires
            and number in automaton.initial
            and number in node.successors
            and number not in recurrent
        )
        self.bound = [number for number in range(len(self.nodes)) if number not in self.free]
        self._bit = {node: bit for bit, node in enumerate(self.bound)}
        self.width = width_of(len(self.bound))
        self._size = PIECE if len(places) <= MAX_TABLED else SMALL_PIECE
        self._labels = labels
        self._places = places
        self._conditional = sorted(
            {
                number
                for condition in automaton.conditions
                for part in (condition.stays, condition.meets)
                for number in predicates(part)
            }
        )
        self.behind = self.bits(
            after for node in self.free for after in self.nodes[node].successors
        )
        self.first = self.bits(automaton.initial)
        self.onward = Tables(
            [self.bits(self.nodes[node].successors) for node in self.bound], self.width
        )

    def bits(self, nodes: Iterable[int]) -> int:
        """Returns the bits of some nodes."""
        return sum(1 << self._bit[node] for node in set(nodes) if node in self._bit)

    def mask(self, nodes: Iterable[int]) -> Bits:
        """Returns bytes with the bits of some nodes."""
        return bits_of(self.bits(nodes), self.width)

    def leads(self, node: int, after: int) -> bool:
        """Returns whether ``after`` is a successor of a node."""
        return after in self.nodes[node].successors

    @cached_property
    def _fitting(self) -> list[Bits]:
        """One table for each piece of the predicates. It maps the values of these predicates to the
        nodes that fit them.
        """
        tables: list[Bits] = []
        for piece in range(-(-len(self._places) // self._size)):
            size = min(self._size, len(self._places) - self._size * piece)
            table = np.zeros((1 << size, self.width), np.uint8)
            values = np.arange(1 << size)
            for bit, node in enumerate(self.bound):
                mask = wanted = 0
                for predicate, truth in self.nodes[node].requires:
                    position = self._places[predicate]
                    if position // self._size == piece:
                        mask |= 1 << position % self._size
                        wanted |= truth << position % self._size
                table[(values & mask) == wanted, bit // BYTE] |= np.uint8(1 << bit % BYTE)
            tables.append(table)
        return tables

    def _allowed(self) -> Iterator[tuple[slice, Bits]]:
        """Yields batches of states, and the nodes that each of these states fits."""
        everything = bits_of((1 << len(self.bound)) - 1, self.width)
        for start in range(0, self.graph.states, BATCH):
            part = slice(start, min(self.graph.states, start + BATCH))
            labels = self._labels[part]
            allowed = np.tile(everything, (len(labels), 1))
            for piece, table in enumerate(self._fitting):
                allowed &= table[_piece(labels, self._size * piece, len(table))]
            yield part, allowed

    def allowed(self) -> Bits:
        """Returns the nodes that each state fits."""
        allowed = self.graph.bits(self.width)
        for part, bits in self._allowed():
            allowed[part] = bits
        return allowed

    def wanted(self) -> Flags | None:
        """Returns the states with a pair that may matter, or None if nothing can violate the
        formula.
        """
        behind, first = bits_of(self.behind, self.width), bits_of(self.first, self.width)
        goal = bits_of(self.bits(n for group in self.groups for n in group), self.width)
        start = self.graph.starts[1] if len(self.graph.starts) > 1 else 0
        begins = ends = False
        self.graph.memory.afford(self.graph.states)
        wanted: Flags = np.zeros(self.graph.states, np.bool_)
        for part, bits in self._allowed():
            begins = begins or bool((bits & behind).any())
            if part.start < start:
                begins = begins or bool((bits[: start - part.start] & first).any())
            ends = ends or bool((bits & goal).any())
            wanted[part] = filled(bits)
        return wanted if begins and ends else None

    # ------------------------------------------------------------ what can be reached

    def rounds(self, rows: Rows) -> Iterator[Round]:
        """Yields the reachable pairs by distance, and computes the steps of the states of these
        pairs on the way.
        """
        starts = self.graph.starts
        opened, fresh = self.allowed(), self.graph.bits(self.width)
        reached = np.zeros(0, np.int64)
        level = 0
        while level + 1 < len(starts) or len(reached):
            enters = self.behind | (self.first if level == 0 else 0)
            entering = bits_of(enters, self.width)
            begun = slice(0, 0)
            if level + 1 < len(starts):
                begun = slice(starts[level], starts[level + 1])
            self._afford(len(reached) + begun.stop - begun.start, ROUND_WORDS)
            begin = np.flatnonzero(filled(opened[begun] & entering)) + begun.start
            states = distinct([reached, begin])
            # A state of an earlier level was entered at that time, so none of its pairs is open.
            bits = fresh[states] | (opened[states] & entering)
            fresh[states] = 0
            opened[states] &= ~bits
            self._stay(states, bits, opened)
            yield Round(states, bits)
            before = rows.steps
            reached = rows.advance(states, self.onward(bits), opened, fresh)
            self.decision.edges += rows.steps - before
            self.decision.advance(len(states))
            level += 1

    def spread(
        self, rows: Rows, start: tuple[int, int], opened: Bits, fresh: Bits
    ) -> Generator[Round]:
        """Yields the pairs reachable from one pair within ``opened``, by distance. At the end,
        restores ``opened`` and empties ``fresh``.
        """
        number, node = start
        states, bits = np.array([number], np.int64), self.mask([node])[np.newaxis]
        opened[states] &= ~bits
        rounds: list[Round] = []
        try:
            while len(states):
                self._afford(len(states), ROUND_WORDS)
                self._stay(states, bits, opened)
                rounds.append(Round(states, bits))
                yield rounds[-1]
                states = rows.advance(states, self.onward(bits), opened, fresh)
                bits = fresh[states]
                fresh[states] = 0
        finally:
            for earlier in rounds:
                opened[earlier.states] |= earlier.bits

    def _stay(self, states: Ids, bits: Bits, opened: Bits) -> None:
        """Adds the pairs that can be reached while the state stays the same."""
        while True:
            after = self.onward(bits) & opened[states]
            if not after.any():
                return
            bits |= after
            opened[states] &= ~after

    # ------------------------------------------------------------ fair cycles

    def has(self, bits: Bits, state: int, node: int) -> bool:
        """Returns whether a state has the bit of a node."""
        bit = self._bit[node]
        return bool(bits[state, bit // BYTE] >> bit % BYTE & 1)

    def marked(self, bits: Bits, states: Ids, nodes: Numbers) -> None:
        """Sets the bits of some pairs."""
        for node in np.unique(nodes).tolist():
            bit = self._bit[node]
            bits[states[nodes == node], bit // BYTE] |= np.uint8(1 << bit % BYTE)

    def fair(self, rows: Rows, rounds: Sequence[Round], units: Units) -> list[Fair]:
        """Returns the largest sets of pairs where a behaviour can continue forever, fairly and
        without postponing a promise.
        """
        reached = self.graph.bits(self.width)
        for earlier in rounds:
            self._afford(len(earlier.states), 2)
            reached[earlier.states] |= earlier.bits
        fair: list[Fair] = []
        for group in self.groups:
            self.graph.memory.afford((COLUMN_BYTES + self.width) * self.graph.states)
            states = self._settling(np.flatnonzero(filled(reached & self.mask(group))))
            if not len(states):
                continue
            states, components = self._cyclic(rows, states)
            if not len(states):
                continue
            if len(group) == 1:
                part = self._lone(rows, states, components, *group)
            else:
                part = self._part(rows, reached, states, components[1], group)
            streett = Streett(
                self.graph, self.automaton, rows, units, self.conditions, self.decision
            )
            fair += streett.fair(part)
        return fair

    def conditions(self, states: Ids) -> list[tuple[Flags, Flags]]:
        """Returns, for each acceptance condition, which of the states require that their cycles
        meet it, and which of the states meet it.
        """
        flags = len(self._conditional) + 4 * len(self.automaton.conditions)
        self.graph.memory.afford((COLUMN_BYTES + 8 + flags) * len(states) if flags else 0)
        values = {
            number: [column(self._labels, states, self._places[number])]
            for number in self._conditional
        }

        def true(formula: Formula) -> Flags:
            row: Flags = holds(formula, values, 1, 0, _FLAGS)[0]
            whole: Flags = np.broadcast_to(row, states.shape)
            return whole

        return [
            (~true(condition.stays), true(condition.meets))
            for condition in self.automaton.conditions
        ]

    def _settling(self, states: Ids) -> Ids:
        """Returns the states that may lie on an accepting cycle. States that require a condition
        that no state meets are removed repeatedly.
        """
        for asks, meets in self.conditions(states):
            if not meets.any():
                return self._settling(states[~asks]) if asks.any() else states
        return states

    def _cyclic(self, rows: Rows, states: Ids) -> tuple[Ids, Components]:
        """Returns those of some states that lie on a cycle of these states, or where a behaviour
        can stay forever because no unit is possible; and the components of these.
        """
        memory = self.graph.memory
        self.decision.enter("components")
        marks = rows.components(states)
        memory.afford(CYCLIC_BYTES * len(states))
        kept = np.zeros(len(states), np.bool_)
        for start in range(0, len(states), BATCH):
            part = slice(start, start + BATCH)
            kept[part] = marks[states[part]] < SINGLE
            kept[part] |= ~filled(rows.possible[states[part]])
        highest = len(states)
        states = states[kept]
        return states, dense(marks[states], highest)

    def _afford(self, states: int, words: int) -> None:
        """Raises `Exhausted` unless there is enough memory for ``words`` words per state, and for
        the same number of bytes per state and byte of nodes.
        """
        self.graph.memory.afford(words * (8 + self.width) * states)

    def _between(self, rows: Rows, states: Ids) -> Steps:
        """Returns the steps between some states. Ends of steps are positions in ``states``."""
        self.decision.enter("edges", len(states))
        places = self.graph.places()
        self.graph.memory.afford(COLLECT_BYTES * rows.count(states) + PLACE_BYTES * len(states))
        places[states] = np.arange(len(states), dtype=np.int32)
        return Steps(*rows.inside(states, places, self.decision.advance))

    def _lone(self, rows: Rows, states: Ids, components: Components, node: int) -> Part:
        """Returns the pairs of some states with ``node``, and the steps between these pairs. The
        node forms a group by itself, since it is its own successor.
        """
        self.graph.memory.afford((PLACE_BYTES + 1) * len(states))
        nodes, lingering = np.full(len(states), node, np.int32), np.ones(len(states), np.bool_)
        return Part(states, nodes, lingering, self._between(rows, states), components)

    def _part(
        self, rows: Rows, reached: Bits, states: Ids, of_state: Numbers, group: Sequence[int]
    ) -> Part:
        """Returns the pairs of some states with the nodes of a group, and the steps between these
        pairs. ``of_state`` is the component of each state.
        """
        memory, steps = self.graph.memory, self._between(rows, states)
        leaving, reaching, labels = steps.sources, steps.targets, steps.labels
        # A cycle of pairs projects to a cycle of states, so only steps within components are kept.
        memory.afford(COLLECT_BYTES * len(leaving))
        kept = of_state[leaving] == of_state[reaching]
        leaving, reaching, labels = leaving[kept], reaching[kept], labels[kept]
        vertex: dict[int, Numbers] = {}
        count = 0
        owners: list[Ids] = []
        memory.afford((PLACE_BYTES + 1) * len(states) * len(group))
        for node in group:
            bit = self._bit[node]
            has = (reached[states, bit // BYTE] & np.uint8(1 << bit % BYTE)) != 0
            mine = np.flatnonzero(has)
            vertex[node] = np.full(len(states), -1, np.int32)
            vertex[node][mine] = np.arange(count, count + len(mine), dtype=np.int32)
            count += len(mine)
            owners.append(mine)
        nodes = np.repeat(np.array(group, np.int32), [len(mine) for mine in owners])
        lingers = np.array([node in self.nodes[node].successors for node in range(len(self.nodes))])
        memory.afford(PAIR_BYTES * count)
        parts: list[Steps] = []
        size = 0
        for node, mine in zip(group, owners, strict=True):
            memory.afford(ORDER_BYTES * len(leaving))
            out = np.flatnonzero(vertex[node][leaving] >= 0)
            sources, reached_here, own = vertex[node][leaving[out]], reaching[out], labels[out]
            here: list[Steps] = []
            for after in self.nodes[node].successors:
                if after not in vertex:
                    continue
                fresh = sum(len(part.sources) for part in here) + len(out) + len(mine)
                memory.afford(ORDER_BYTES * fresh + COLLECT_BYTES // 2 * size)
                other = vertex[after][reached_here]
                kept = other >= 0
                here.append(Steps(sources[kept], other[kept], own[kept]))
                if after != node:
                    other = vertex[after][mine]
                    kept = other >= 0
                    nothing = np.zeros(int(kept.sum()), np.uint16)
                    here.append(Steps(vertex[node][mine][kept], other[kept], nothing))
            size += sum(len(part.sources) for part in here)
            parts.append(Steps.joined(here).ordered() if len(here) > 1 else here[0])
        every = Steps.joined(parts)
        return Part(states[np.concatenate(owners)], nodes, lingers[nodes], every)


def column(labels: Bits, states: Ids, position: int) -> Flags:
    """Returns one bit of the labels of some states, such as the values of a predicate."""
    truth: Flags = (labels[states, position // BYTE] & np.uint8(1 << position % BYTE)) != 0
    return truth


def _piece(bits: Bits, first: int, size: int) -> Ids:
    """Returns the values of the bits, starting with bit ``first`` of a byte, as indexes of a table
    of ``size`` rows.
    """
    value = bits[:, first // BYTE].astype(np.intp)
    if size > 1 << BYTE:
        value |= bits[:, first // BYTE + 1].astype(np.intp) << BYTE
    return value & (size - 1)


def _groups(automaton: Automaton) -> Iterator[tuple[int, ...]]:
    """Yields the sets of nodes where a run can stay forever without postponing a promise."""
    nodes = automaton.nodes
    ahead = [sum(1 << after for after in node.successors) for node in nodes]
    for middle in range(len(nodes)):  # Warshall's closure.
        for node, reached in enumerate(ahead):
            if reached >> middle & 1:
                ahead[node] |= ahead[middle]
    grouped = 0
    for node, reached in enumerate(ahead):
        if grouped >> node & 1 or not reached >> node & 1:
            continue
        group = tuple(n for n in range(len(nodes)) if reached >> n & 1 and ahead[n] >> node & 1)
        grouped |= sum(1 << node for node in group)
        if all(
            any(promise not in nodes[node].puts_off for node in group)
            for promise in range(automaton.promises)
        ):
            yield group
