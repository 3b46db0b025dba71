"""Properties of behaviours, decided from packed states: pairs of a state and a node as arrays,
components by a library, fairness by Streett's recursion.

It finds the lasso that `temporal.decide` finds, by the rule that stands there. Only nodes that
matter are multiplied with the states: one that asks for nothing and may wait for ever can be had in
every state, as soon as the state can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fencepost.checker.layout import Layout
from fencepost.checker.native.components import components
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.graph import Rows, StateGraph, Units
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.temporal.automaton import Automaton, violating
from fencepost.checker.temporal.decide import unrepeated
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.paths import Edge, Pair, Round
from fencepost.checker.temporal.units import Unit, instance_type, outgoing, without_ghosts
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State, values
from fencepost.spec.semantics.stepper import Runner

STEP_BYTES = 60
"""What a step of pairs takes while components are looked for, in our arrays and the library's."""

Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int64]


def units_of(model: Model) -> tuple[Units, list[Unit]]:
    """The units of a model without `each`, as machine code numbers them."""
    first: list[int] = []
    family: list[bool] = []
    every: list[Unit] = []
    for number, action in enumerate(model.actions):
        first.append(0 if action.fairness is None else len(every) + 1)
        kind = None if action.fairness is None else instance_type(model, number)
        family.append(kind is not None)
        if kind is not None:
            every += [Unit(number, (value,)) for value in values(kind)]
        elif action.fairness is not None:
            every.append(Unit(number, ()))
    strong = frozenset(place for place, unit in enumerate(every) if _is_strong(model, unit))
    return Units(first, family, len(every), strong), every


def _is_strong(model: Model, unit: Unit) -> bool:
    fairness = model.actions[unit.action].fairness
    return fairness is not None and fairness.strong


class Behaviours:
    """What can be said of the behaviours within the first ``levels`` levels of a search. ``pause``
    is called between steps of the work. Raises `Exhausted`, and what ``pause`` raises.
    """

    def __init__(
        self,
        model: Model,
        layout: Layout,
        explorer: Explorer,
        memory: Memory,
        levels: int,
        predicates: Sequence[int],
        pause: Callable[[], None],
    ) -> None:
        self.model = model
        self.layout = layout
        self.runner = Runner(model)
        self.pause = pause
        self.graph = StateGraph(explorer, memory, layout.words, levels)
        self.units, self.every = units_of(model)
        self.places = {number: place for place, number in enumerate(predicates)}
        self.labels = self.graph.labels(len(predicates))
        self.initial = self.graph.starts[1] if levels else 0
        self.memory = memory

    @cached_property
    def rows(self) -> Rows:
        """The steps, made when they are first wanted."""
        return self.graph.rows(self.units)

    @cached_property
    def levels(self) -> npt.NDArray[np.int32]:
        """The number of steps to each state."""
        starts = np.asarray(self.graph.starts)
        return np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))

    def violation(self, property: int) -> Lasso | None:
        """The lasso that violates a property; None: every behaviour meets it. Raises `TooLarge`."""
        formula = self.model.properties[property].formula
        assert formula is not None
        return _Product(self, violating(formula)).lasso()

    def holds(self, predicate: int, wanted: bool) -> Flags:
        """In which states a predicate is as wanted."""
        place = self.places[predicate]
        column = self.labels[:, place // 64]
        found: Flags = ((column >> np.uint64(place % 64)) & np.uint64(1)) == np.uint64(wanted)
        return found

    def possible(self, unit: int, states: Ids) -> Flags:
        """In which of some states a step that counts for a unit is possible."""
        column = self.rows.possible[states, unit // 64]
        found: Flags = ((column >> np.uint64(unit % 64)) & np.uint64(1)) != 0
        return found

    def state(self, number: int) -> State:
        """A state by its number."""
        return self.layout.decode(self.graph.packed(number))

    def number(self, state: State) -> int | None:
        """The number of a state; None: it is none of those that were expanded."""
        return self.graph.find(self.layout.encode(state))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some pairs by their numbers, and the steps between them, by positions among the pairs."""

    pairs: Ids
    sources: Ids
    targets: Ids
    units: npt.NDArray[np.uint16]

    def only(self, kept: Flags) -> _Part:
        """The pairs that are kept, and the steps between these."""
        renamed = np.cumsum(kept) - 1
        inside = kept[self.sources] & kept[self.targets]
        return _Part(
            self.pairs[kept],
            renamed[self.sources[inside]],
            renamed[self.targets[inside]],
            self.units[inside],
        )


class _Product:
    """The pairs of one automaton. A pair has the number ``node * states + state``."""

    def __init__(self, of: Behaviours, automaton: Automaton) -> None:
        self.of = of
        self.nodes = automaton.nodes
        self.automaton = automaton
        self.count = of.graph.states
        self.allowed = [self._allowed(node.requires) for node in self.nodes]
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

    def _allowed(self, requires: Sequence[tuple[int, bool]]) -> Flags:
        allowed = np.ones(self.count, np.bool_)
        for predicate, wanted in requires:
            allowed &= self.of.holds(predicate, wanted)
        return allowed

    def lasso(self) -> Lasso | None:
        seeds = self.seeds()
        if not seeds or not any(self.allowed[n].any() for group in self.groups for n in group):
            return None
        distance = self.distances(seeds)
        best: tuple[int, Pair, npt.NDArray[np.bool_]] | None = None
        for group in self.groups:
            pairs = np.concatenate([self.reached(distance, node) for node in group])
            for fair in self.fair(self.part(pairs, group)):
                least, start = self.least(distance, fair)
                if best is None or (least, start) < best[:2]:
                    inside = np.zeros(len(self.nodes) * self.count, np.bool_)
                    inside[fair] = True
                    best = least, start, inside
        if best is None:
            return None
        _, start, inside = best
        stem = self.stem(distance, start)
        moves = _Moves(self, inside)
        way = Round(moves, self.automaton, moves.possible, lambda u: _is_strong(self.of.model, u))
        return Lasso(unrepeated(stem), tuple(way.cycle(start)))

    # ------------------------------------------------------------ reachable pairs

    def seeds(self) -> list[tuple[int, Ids, npt.NDArray[np.int32]]]:
        """Where pairs of nodes that are not free begin: node, states, and the steps to these."""
        found: list[tuple[int, Ids, npt.NDArray[np.int32]]] = []
        behind = {after for node in self.free for after in self.nodes[node].successors}
        for node in range(len(self.nodes)):
            if node in self.free:
                continue
            if node in behind:
                states = np.flatnonzero(self.allowed[node])
            elif node in self.automaton.initial:
                states = np.flatnonzero(self.allowed[node][: self.of.initial])
            else:
                continue
            if len(states):
                found.append((node, states, self.of.levels[states]))
        return found

    def distances(
        self, seeds: Sequence[tuple[int, Ids, npt.NDArray[np.int32]]]
    ) -> npt.NDArray[np.int32]:
        """The least number of steps to each pair of a node that is not free; -1: there are none."""
        self.of.memory.afford(8 * len(self.nodes) * self.count)
        distance = np.full(len(self.nodes) * self.count, -1, np.int32)
        waiting: dict[int, list[Ids]] = {}
        for node, states, levels in seeds:
            for level in np.unique(levels):
                chosen = states[levels == level] + node * self.count
                waiting.setdefault(int(level), []).append(chosen)
        level = 0
        while waiting:
            self.of.pause()
            fresh = self.fresh(distance, waiting.pop(level, []), level)
            after: list[Ids] = []
            while len(fresh):
                after += self.steps(fresh)
                fresh = self.fresh(distance, self.stays(fresh), level)
            if after:
                waiting.setdefault(level + 1, []).extend(after)
            level += 1
        return distance

    def fresh(self, distance: npt.NDArray[np.int32], found: list[Ids], level: int) -> Ids:
        """Those of some pairs that are met for the first time, noted at a level."""
        if not found:
            return np.zeros(0, np.int64)
        pairs = np.unique(np.concatenate(found))
        pairs = pairs[distance[pairs] < 0]
        distance[pairs] = level
        return pairs

    def stays(self, pairs: Ids) -> list[Ids]:
        """The pairs that come next while the states stay."""
        found: list[Ids] = []
        for node, states in self.by_node(pairs):
            for after in self.nodes[node].successors:
                if after != node and after not in self.free:
                    found.append(states[self.allowed[after][states]] + after * self.count)
        return found

    def steps(self, pairs: Ids) -> list[Ids]:
        """The pairs that steps lead to."""
        found: list[Ids] = []
        for node, states in self.by_node(pairs):
            places, _ = _spread(self.of.rows.ends, states)
            targets = np.unique(self.of.rows.targets[places]).astype(np.int64)
            for after in self.nodes[node].successors:
                if after not in self.free:
                    found.append(targets[self.allowed[after][targets]] + after * self.count)
        return found

    def by_node(self, pairs: Ids) -> Iterator[tuple[int, Ids]]:
        """The states of some pairs, node by node."""
        nodes = pairs // self.count
        for node in np.unique(nodes):
            yield int(node), pairs[nodes == node] - int(node) * self.count

    def reached(self, distance: npt.NDArray[np.int32], node: int) -> Ids:
        here = distance[node * self.count : (node + 1) * self.count]
        return np.flatnonzero(here >= 0) + node * self.count

    # ------------------------------------------------------------ fair components

    def part(self, pairs: Ids, group: Sequence[int]) -> _Part:
        """Some pairs, ascending by node, with the steps between them."""
        self.of.memory.afford(8 * len(self.nodes) * self.count + STEP_BYTES * self.going(pairs))
        place = np.full(len(self.nodes) * self.count, -1, np.int64)
        place[pairs] = np.arange(len(pairs))
        sources: list[Ids] = []
        targets: list[Ids] = []
        units: list[npt.NDArray[np.uint16]] = []
        for node, states in self.by_node(pairs):
            rows = self.of.rows
            places, owners = _spread(rows.ends, states)
            for after in self.nodes[node].successors:
                if after not in group:
                    continue
                # Staying is a step that counts for nothing.
                staying = place[states + after * self.count]
                going = place[rows.targets[places].astype(np.int64) + after * self.count]
                here = place[states + node * self.count]
                sources += [here[staying >= 0], here[owners][going >= 0]]
                targets += [staying[staying >= 0], going[going >= 0]]
                units += [
                    np.zeros(int((staying >= 0).sum()), np.uint16),
                    rows.units[places][going >= 0],
                ]
        return _Part(pairs, _joined(sources), _joined(targets), np.concatenate(units or [_NONE]))

    def going(self, pairs: Ids) -> int:
        """How many steps there are from some pairs at most, staying included."""
        ends, states = self.of.rows.ends, pairs % self.count
        starts = np.where(states > 0, ends[states - 1], 0)
        return int((ends[states] - starts).sum()) + len(pairs)

    def fair(self, part: _Part) -> Iterator[Ids]:
        """The largest sets of pairs round which a behaviour can go for ever, fairly and putting off
        no promise.
        """
        waiting = [part]
        while waiting:
            self.of.pause()
            part = waiting.pop()
            if not len(part.pairs):
                continue
            count, of_pair = components(len(part.pairs), part.sources, part.targets)
            good, owed = self.judged(part, count, of_pair)
            for component in np.flatnonzero(good & ~owed.any(axis=1)):
                yield part.pairs[of_pair == component]
            # Where a strong unit is owed that cannot be had, the states in which it is possible go.
            rest = good & owed.any(axis=1)
            if rest.any():
                kept = rest[of_pair]
                states = part.pairs % self.count
                for place, unit in enumerate(sorted(self.of.units.strong)):
                    kept &= ~(owed[of_pair, place] & self.of.possible(unit, states))
                waiting.append(part.only(kept))

    def judged(
        self, part: _Part, count: int, of_pair: npt.NDArray[np.int32]
    ) -> tuple[Flags, Flags]:
        """Which components can be gone round for ever but for strong units, and the strong units
        that are owed in each.
        """
        inside = of_pair[part.sources] == of_pair[part.targets]
        steps = of_pair[part.sources[inside]]
        good = np.bincount(steps, minlength=count) > 0
        nodes, states = part.pairs // self.count, part.pairs % self.count
        for promise in range(self.automaton.promises):
            kept = np.array([promise not in node.puts_off for node in self.nodes])
            good &= np.bincount(of_pair[kept[nodes]], minlength=count) > 0
        sizes = np.bincount(of_pair, minlength=count)
        counting = part.units[inside]
        owed = np.zeros((count, len(self.of.units.strong)), np.bool_)
        for place, unit in enumerate(sorted(self.of.units.strong)):
            taken = np.bincount(steps[counting == unit + 1], minlength=count) > 0
            possible = np.bincount(of_pair[self.of.possible(unit, states)], minlength=count)
            owed[:, place] = ~taken & (possible > 0)
        for unit in range(self.of.units.count):
            if unit not in self.of.units.strong:
                taken = np.bincount(steps[counting == unit + 1], minlength=count) > 0
                possible = np.bincount(of_pair[self.of.possible(unit, states)], minlength=count)
                good &= taken | (possible < sizes)
        return good, owed

    # ------------------------------------------------------------ the lasso

    def least(self, distance: npt.NDArray[np.int32], pairs: Ids) -> tuple[int, Pair]:
        """The least of some pairs: by the number of steps to it, by state, and by node."""
        least = int(distance[pairs].min())
        first = pairs[distance[pairs] == least]
        numbers = np.unique(first % self.count)
        state, number = min((self.of.state(int(n)), int(n)) for n in numbers)
        node = int(first[first % self.count == number].min()) // self.count
        return least, (state, node)

    def stem(self, distance: npt.NDArray[np.int32], end: Pair) -> list[Pair]:
        """The path to a pair that `paths.path_to` finds, from its end backwards."""
        path = [end]
        state, node = end
        number = self.of.number(state)
        assert number is not None
        level = self.steps_to(distance, number, node)
        while True:
            before = self.before(distance, number, node, level)
            if before is None:
                path.reverse()
                return path
            number, node, level = before
            path.append((self.of.state(number), node))

    def steps_to(self, distance: npt.NDArray[np.int32], number: int, node: int) -> int:
        """The number of steps to a pair; -1: none leads there."""
        if node in self.free:
            return int(self.of.levels[number])
        return int(distance[node * self.count + number])

    def before(
        self, distance: npt.NDArray[np.int32], number: int, node: int, level: int
    ) -> tuple[int, int, int] | None:
        """The pair through which a pair is found first, and the steps to it; None: it is first."""
        here = [n for n in range(len(self.nodes)) if self.steps_to(distance, number, n) == level]
        entries: dict[int, tuple[int, int, int] | None] = {}
        for one in here:
            if level == 0 and one in self.automaton.initial and number < self.of.initial:
                entries[one] = None
            elif level:
                found = self.leading(distance, number, one, level)
                if found is not None:
                    entries[one] = found
        known = dict(entries)
        waiting = list(entries)
        for one in waiting:
            for after in self.nodes[one].successors:
                if after in here and after not in known:
                    known[after] = number, one, level
                    waiting.append(after)
        return known[node]

    def leading(
        self, distance: npt.NDArray[np.int32], number: int, node: int, level: int
    ) -> tuple[int, int, int] | None:
        """The least pair of the level before from which a step leads to a pair."""
        rows = self.of.rows
        places = np.flatnonzero(rows.targets == number)
        sources = np.unique(np.searchsorted(rows.ends, places, side="right"))
        found: list[tuple[State, int, int]] = []
        for source in sources:
            for one in range(len(self.nodes)):
                before = self.steps_to(distance, int(source), one)
                if before == level - 1 and node in self.nodes[one].successors:
                    found.append((self.of.state(int(source)), one, int(source)))
        if not found:
            return None
        _, one, source = min(found)
        return source, one, level - 1


class _Moves:
    """The moves of pairs within a component, by the successor function; see `paths.Moves`."""

    def __init__(self, product: _Product, inside: Flags) -> None:
        self._product = product
        self._inside = inside
        self._seen = without_ghosts(product.of.model)
        self._known: dict[State, tuple[dict[State, frozenset[Unit]], frozenset[Unit]]] = {}

    def _outgoing(self, state: State) -> tuple[dict[State, frozenset[Unit]], frozenset[Unit]]:
        if state not in self._known:
            self._product.of.pause()
            self._known[state] = outgoing(self._product.of.runner, self._seen, state)
        return self._known[state]

    def possible(self, state: State) -> frozenset[Unit]:
        """The units of which a step is possible in a state."""
        return self._outgoing(state)[1]

    def _has(self, state: State, node: int) -> bool:
        number = self._product.of.number(state)
        return number is not None and bool(self._inside[node * self._product.count + number])

    def stays(self, pair: Pair) -> list[Pair]:
        state, node = pair
        after = self._product.nodes[node].successors
        return [(state, one) for one in after if self._has(state, one)]

    def edges(self, pair: Pair) -> list[Edge]:
        state, node = pair
        return [
            Edge((after, following), units)
            for after, units in self._outgoing(state)[0].items()
            for following in self._product.nodes[node].successors
            if self._has(after, following)
        ]


_NONE = np.zeros(0, np.uint16)


def _joined(parts: Sequence[Ids]) -> Ids:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _spread(ends: npt.NDArray[np.int64], states: Ids) -> tuple[Ids, Ids]:
    """The places of the steps from some states, and for each the position of its state."""
    starts = np.where(states > 0, ends[states - 1], 0)
    lengths = ends[states] - starts
    owners = np.repeat(np.arange(len(states)), lengths)
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    return np.arange(total) - before[owners] + starts[owners], owners


def _groups(automaton: Automaton) -> Iterator[tuple[int, ...]]:
    """The sets of nodes between which a run can go for ever without putting off a promise."""
    rows = [n for n, node in enumerate(automaton.nodes) for _ in node.successors]
    columns = [after for node in automaton.nodes for after in node.successors]
    count, of_node = components(len(automaton.nodes), np.array(rows), np.array(columns))
    for component in range(count):
        group = tuple(int(node) for node in np.flatnonzero(of_node == component))
        goes_on = any(
            after in group for node in group for after in automaton.nodes[node].successors
        )
        kept = all(
            any(promise not in automaton.nodes[node].puts_off for node in group)
            for promise in range(automaton.promises)
        )
        if goes_on and kept:
            yield group
