"""Finds the sets of pairs of a state and a node where a behaviour can continue forever, fairly. The
algorithm is Streett's recursion.

A component where a strong unit is possible but never taken is searched again without the pairs at
which the unit is possible. A component that does not meet an acceptance condition is searched again
without the pairs that require the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.components import components
from fencepost.checker.native.graph import (
    BYTE,
    Bits,
    Ids,
    Labels,
    Numbers,
    Rows,
    StateGraph,
    Units,
)
from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.automaton import Automaton
from fencepost.spec.records import dataclass

Flags = npt.NDArray[np.bool_]
Components: TypeAlias = tuple[int, Numbers]
"""The number of components of some vertices, and the component of each vertex, from 0 on."""


COMPARE_BYTES, INSIDE_BYTES, UNIT_BYTES, ONLY_BYTES = 9, 15, 62, 23
"""The memory in bytes per step: while the components of the ends of steps are compared, for steps
inside a component, for steps that count for a unit, and while a part is restricted.
"""
PAIR_BYTES = 40
"""The memory in bytes per pair, without the units of the pair."""


@dataclass(frozen=True, slots=True)
class Fair:
    """Pairs where a behaviour can continue forever. Each has a state, a node, and the number of its
    component.
    """

    states: Ids
    nodes: Numbers
    components: Numbers


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps between pairs, sorted by source. ``sources`` and ``targets`` are positions of pairs,
    and ``labels`` tell for which units the steps count (see `graph.Units`).
    """

    sources: Numbers
    targets: Numbers
    labels: Labels

    @classmethod
    def joined(cls, several: Sequence[Steps]) -> Steps:
        """Returns the concatenation of some steps."""
        parts = [part for part in several if len(part.sources)]
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([np.zeros(0, np.int32), *(part.sources for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.targets for part in parts)]),
            np.concatenate([np.zeros(0, np.uint16), *(part.labels for part in parts)]),
        )

    def ordered(self) -> Steps:
        """Returns the same steps, sorted by source."""
        order = np.argsort(self.sources, kind="stable")
        return Steps(self.sources[order], self.targets[order], self.labels[order])


@dataclass(frozen=True, slots=True)
class Part:
    """Some pairs, and the steps between them. ``lingers`` tells for each pair whether a behaviour
    may stay there. ``components`` is None unless they are known.
    """

    states: Ids
    nodes: Numbers
    lingers: Flags
    steps: Steps
    components: Components | None = None

    def only(self, kept: Flags) -> Part:
        """Returns the part restricted to the pairs that are kept."""
        renamed = (np.cumsum(kept) - 1).astype(np.int32)
        steps = self.steps
        inside = kept[steps.sources] & kept[steps.targets]
        left = Steps(
            renamed[steps.sources[inside]], renamed[steps.targets[inside]], steps.labels[inside]
        )
        return Part(self.states[kept], self.nodes[kept], self.lingers[kept], left)


class Streett:
    """Splits parts of a product into components."""

    def __init__(
        self,
        graph: StateGraph,
        automaton: Automaton,
        rows: Rows,
        units: Units,
        conditions: Callable[[Ids], list[tuple[Flags, Flags]]],
        decision: Decision,
    ) -> None:
        self._graph = graph
        self._conditions = conditions
        self._decision = decision
        self._automaton = automaton
        self._possible = rows.possible
        self._served = units.served
        self._strong, self._weak = units.of_strength(True), units.of_strength(False)

    def fair(self, part: Part) -> Iterator[Fair]:
        """Yields sets of pairs where a behaviour can continue forever, fairly."""
        waiting = [part]
        memory = self._graph.memory
        self._decision.enter("components")
        while waiting:
            self._graph.explorer.pause()
            part = waiting.pop()
            if not len(part.states):
                continue
            size, steps = len(part.states), part.steps
            count, of_pair = part.components or components(
                self._graph.explorer, memory, size, steps.sources, steps.targets
            )
            self._decision.components += count
            memory.afford(COMPARE_BYTES * len(steps.sources))
            inside = of_pair[steps.sources] == of_pair[steps.targets]
            memory.afford(INSIDE_BYTES * int(np.count_nonzero(inside)) + size)
            good = self._goes_on(part, count, of_pair, inside)
            if not good.any():
                continue
            # Only good components get numbers.
            inside &= good[of_pair[steps.sources]]
            number = (np.cumsum(good) - 1).astype(np.int32)
            within = good[of_pair]
            width = self._possible.shape[1]
            pair_bytes = (PAIR_BYTES + 24 * width) * int(np.count_nonzero(within))
            memory.afford(INSIDE_BYTES * int(np.count_nonzero(inside)) + pair_bytes)
            component = number[of_pair[within]]
            possible = self._possible[part.states[within]]
            taken = self._taken(
                number[of_pair[steps.sources[inside]]],
                part.states[steps.sources[inside]],
                steps.labels[inside],
                int(good.sum()),
            )
            memory.afford(pair_bytes)
            always, ever = _gathered(component, possible, len(taken))
            good_weak = ~filled(always & ~taken & self._weak)
            owed = ever & ~taken & self._strong
            asking = np.zeros(len(component), np.bool_)
            for asks, meets in self._conditions(part.states[within]):
                met = np.zeros(len(taken), np.bool_)
                met[component[meets]] = True
                asking |= asks & ~met[component]
            memory.afford(pair_bytes)
            clear = good_weak & ~filled(owed)
            clear[component[asking]] = False
            if clear.any():
                kept = clear[component]
                places = np.flatnonzero(within)[kept]
                yield Fair(part.states[places], part.nodes[places], component[kept])
            # If a component owes a step of a strong unit but has none, the pairs at which the unit
            # is possible are dropped.
            again = (good_weak & ~clear)[component] & ~filled(owed[component] & possible)
            again &= ~asking
            if again.any():
                memory.afford(ONLY_BYTES * len(steps.sources) + PAIR_BYTES * size)
                keep = np.zeros(size, np.bool_)
                keep[np.flatnonzero(within)[again]] = True
                waiting.append(part.only(keep))

    def _goes_on(self, part: Part, count: int, of_pair: Numbers, inside: Flags) -> Flags:
        """Returns the components where a behaviour can continue forever without postponing a
        promise.
        """
        good = np.zeros(count, np.bool_)
        good[of_pair[part.steps.sources[inside]]] = True
        good[of_pair[part.lingers]] = True
        for promise in range(self._automaton.promises):
            kept = np.array([promise not in node.puts_off for node in self._automaton.nodes])
            if not kept[part.nodes].all():
                keeps = np.zeros(count, np.bool_)
                keeps[of_pair[kept[part.nodes]]] = True
                good &= keeps
        return good

    def _taken(self, component: Numbers, sources: Ids, labels: Labels, count: int) -> Bits:
        """Returns, for each component, the bits of the units that a step within the component
        serves.
        """
        memory, width = self._graph.memory, self._possible.shape[1]
        counts = labels > 0
        memory.afford(UNIT_BYTES * int(np.count_nonzero(counts)) + count * width)
        bits_of = np.zeros(count * width, np.uint8)
        first = component[counts].astype(np.int64) * width
        if self._served is None:
            unit = labels[counts].astype(np.int64) - 1
            bit = np.uint8(1) << (unit % BYTE).astype(np.uint8)
            np.bitwise_or.at(bits_of, first + unit // BYTE, bit)
            return bits_of.reshape(count, width)
        labels, sources = labels[counts], sources[counts]
        for part in range(width):
            bits = self._served[labels, part] & self._possible[sources, part]
            np.bitwise_or.at(bits_of, first + part, bits)
        return bits_of.reshape(count, width)


def _gathered(component: Numbers, possible: Bits, count: int) -> tuple[Bits, Bits]:
    """Returns, for each component, the bits that all of its pairs have, and the bits that at least
    one of its pairs has.
    """
    width = possible.shape[1]
    always, ever = np.zeros((count, width), np.uint8), np.zeros((count, width), np.uint8)
    single = count == len(component)
    if single:
        always[component] = ever[component] = possible
    for part in range(0 if single else width):
        column = np.ascontiguousarray(possible[:, part])
        every, some = np.full(count, ~np.uint8(0)), np.zeros(count, np.uint8)
        np.bitwise_and.at(every, component, column)
        np.bitwise_or.at(some, component, column)
        always[:, part], ever[:, part] = every, some
    return always, ever


def filled(bits: Bits) -> Flags:
    """Returns whether each row has at least one bit."""
    nonzero: Flags = bits[:, 0] != 0
    for part in range(1, bits.shape[1]):
        nonzero |= bits[:, part] != 0
    return nonzero
