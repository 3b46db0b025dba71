# pyright: basic
"""Paths in graphs, for Graphs, UndirectedGraphs and Relation, and orders of logs, for VectorClocks.

The operators take a set of pairs, so that a module may define its edges in any form.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from operator import le
from typing import Final

from fencepost.spec.tla.standard.rows import Call, Operator, integer, sequence
from fencepost.spec.tla.values.kinds import Value
from fencepost.spec.tla.values.universe import Universe


def _successors(universe: Universe, pairs: Value) -> dict[Value, list[Value]]:
    successors: dict[Value, list[Value]] = {}
    for pair in universe.elements(pairs):
        first, second = sequence(universe, "a relation", pair)
        successors.setdefault(first, []).append(second)
    return successors


def _reachable(universe: Universe, pairs: Value, start: Value) -> Value:
    """Returns the values that a path of at least one pair leads to."""
    successors = _successors(universe, pairs)
    reached: set[Value] = set()
    waiting = [universe.normalise(start)]
    while waiting:
        for after in successors.get(waiting.pop(), ()):
            if after not in reached:
                reached.add(after)
                waiting.append(after)
    return frozenset(reached)


def _simple_paths(universe: Universe, nodes: Value, pairs: Value) -> Value:
    """Returns the paths that visit no node twice."""
    successors = _successors(universe, pairs)
    inside = universe.finite(nodes)
    paths: list[tuple[Value, ...]] = [(node,) for node in universe.elements(inside)]
    for path in paths:
        paths.extend(
            (*path, after)
            for after in successors.get(path[-1], ())
            if after in inside and after not in path
        )
    return frozenset(paths)


def _causal_order(universe: Universe, log: Value, clock: Operator) -> Value:
    """Returns the lines of a log such that no line comes before one that its vector clock follows.
    Otherwise they keep their order.
    """
    lines = sequence(universe, "CausalOrder", log)
    clocks = [universe.pairs(clock(line)) for line in lines]
    keys = {key: None for counts in clocks for key in counts}
    vectors = [
        [integer(universe, "CausalOrder", counts.get(key, 0)) for key in keys] for counts in clocks
    ]
    after: list[list[int]] = [[] for _ in lines]
    waiting_for = [0] * len(lines)
    for first, left in enumerate(vectors):
        for second, right in enumerate(vectors):
            if left != right and all(map(le, left, right)):
                after[first].append(second)
                waiting_for[second] += 1
    ready = [index for index, count in enumerate(waiting_for) if not count]
    heapify(ready)
    ordered: list[Value] = []
    while ready:
        index = heappop(ready)
        ordered.append(lines[index])
        for later in after[index]:
            waiting_for[later] -= 1
            if not waiting_for[later]:
                heappush(ready, later)
    return tuple(ordered)


VECTOR_CLOCKS: Final[dict[str, tuple[int, Call]]] = {"InCausalOrder": (2, _causal_order)}
GRAPHS: Final[dict[str, tuple[int, Call]]] = {
    "ReachableFrom": (2, _reachable),
    "PathsWithoutRepetition": (2, _simple_paths),
}
