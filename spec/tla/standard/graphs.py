# pyright: basic
"""Paths in graphs, for Graphs, UndirectedGraphs and Relation.

The operators take a set of pairs, so that a module may define its edges in any form.
"""

from __future__ import annotations

from typing import Final

from fencepost.spec.tla.standard.rows import Call, sequence
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


GRAPHS: Final[dict[str, tuple[int, Call]]] = {
    "ReachableFrom": (2, _reachable),
    "PathsWithoutRepetition": (2, _simple_paths),
}
