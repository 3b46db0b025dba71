"""Strongly connected components by machine code, compared with reachability on small graphs."""

from __future__ import annotations

import ctypes
import random
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fencepost.checker.native import components
from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.kernels import components as kernel
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.memory import Memory


@cache
def compiled(budget: int) -> Any:
    """Returns the kernel, which follows ``budget`` edges per call."""
    unit = Unit("components")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "BUDGET", budget)
        kernel.define(unit)
    return build.Compilation(unit.text()).quick()


def explorer(budget: int) -> Any:
    """Returns what `components` needs of an explorer. Its ``pauses`` count."""
    context = (ctypes.c_uint64 * len(Word))()
    found = SimpleNamespace(pauses=0)

    def call(name: str, *arguments: int) -> int:
        getattr(compiled(budget), name)(ctypes.addressof(context), *arguments)
        return int(context[Word.DONE])

    def pause() -> None:
        found.pauses += 1

    put = context.__setitem__
    found.workers = [SimpleNamespace(call=call, get=context.__getitem__, put=put)]
    found.pause = pause
    return found


def partition(
    size: int, edges: list[tuple[int, int]], budget: int = 1 << 20
) -> tuple[set[frozenset[int]], Any]:
    """Returns the components of a graph, and the explorer."""
    edges = sorted(edges)
    sources, targets = (np.array([e[end] for e in edges], np.int32) for end in (0, 1))
    used = explorer(budget)
    count, of = components.components(used, Memory(), size, sources, targets)
    parts = {frozenset(np.flatnonzero(of == number).tolist()) for number in range(count)}
    return parts, used


def expected(size: int, edges: list[tuple[int, int]]) -> set[frozenset[int]]:
    """Returns the classes of vertices that reach each other."""
    reach = np.eye(size, dtype=bool)
    for source, target in edges:
        reach[source, target] = True
    for middle in range(size):
        reach |= reach[:, [middle]] & reach[[middle]]
    both = reach & reach.T
    return {frozenset(np.flatnonzero(row).tolist()) for row in both}


@pytest.mark.parametrize("budget", [1, 1 << 20])
@pytest.mark.parametrize("degree", [0.3, 0.8, 1.0, 1.3, 2.0, 5.0])
def test_random_graphs(degree: float, budget: int) -> None:
    rng = random.Random(f"{degree}")
    for size in [1, 2, 3, *range(4, 40, 3)]:
        count = round(degree * size)
        edges = [(rng.randrange(size), rng.randrange(size)) for _ in range(count)]
        parts, _ = partition(size, edges, budget)
        assert parts == expected(size, edges)


@pytest.mark.parametrize(
    ("edges", "parts"),
    [
        ([], [{0}, {1}, {2}, {3}]),
        ([(0, 1), (1, 2), (2, 3)], [{0}, {1}, {2}, {3}]),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], [{0, 1, 2, 3}]),
        ([(0, 1), (1, 0), (1, 2), (2, 3), (3, 2)], [{0, 1}, {2, 3}]),
        # The same step twice, for two actions.
        ([(0, 1), (0, 1), (1, 0), (2, 3), (2, 3)], [{0, 1}, {2}, {3}]),
        # A vertex entered first that leads into a component found later.
        ([(0, 2), (1, 2), (2, 3), (3, 1)], [{0}, {1, 2, 3}]),
    ],
)
def test_small_graphs(edges: list[tuple[int, int]], parts: list[set[int]]) -> None:
    assert partition(4, edges)[0] == {frozenset(part) for part in parts}


def test_a_long_cycle_needs_no_recursion_and_can_be_interrupted() -> None:
    size = 100_000
    edges = [(vertex, (vertex + 1) % size) for vertex in range(size)]
    parts, used = partition(size, edges, 1000)
    assert [len(part) for part in parts] == [size]
    assert used.pauses > size // 1000
