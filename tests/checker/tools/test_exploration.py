"""The session that both explorers share: its paths and its watched expressions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.explorers import exploration

from fencepost.checker.outcome import Step

SPEC = """\
var x: 0..9 = 0
action add(n in 1..3):
    require x + n < 9
    x += n
terminal: true
"""

MOVES: dict[str, tuple[str, list[list[int]], int, list[int]]] = {
    "straight on": ("1 2 3", [[1, 2, 3]], 0, [1, 2, 3]),
    "back is no way": ("1 2 3 b b", [[1, 2, 3]], 0, [1]),
    "the same step again": ("1 2 3 b b 2", [[1, 2, 3]], 0, [1, 2]),
    "and further than before": ("1 2 b b 1 2 1", [[1, 2, 1]], 0, [1, 2, 1]),
    "another step": ("1 2 3 b b 3", [[1, 2, 3], [1, 3]], 1, [1, 3]),
    "the first way again": ("1 2 3 b b 3 w0", [[1, 2, 3], [1, 3]], 0, [1, 2, 3]),
    "on it by its own step": ("1 2 3 b b 3 b 2", [[1, 2, 3], [1, 3]], 0, [1, 2]),
    "a third": ("1 2 b 3 b b 2", [[1, 2], [1, 3], [2]], 2, [2]),
    "on from a place on another": ("1 2 b 3 w0 1", [[1, 2, 1], [1, 3]], 0, [1, 2, 1]),
    "back to the start": ("1 1 b b b", [[1, 1]], 0, []),
}
"""Commands, the numbers added on each path, the number of the current path, and the numbers added
up to the current state.

A number as a command adds that number, ``b`` goes back, and ``w0`` goes to the first path.
"""


def added(steps: Sequence[Step]) -> list[int]:
    """Returns the number that each step after the first state adds."""
    values: list[int] = []
    for step in steps:
        assert step.state is not None
        (value,) = step.state
        assert isinstance(value, int)
        values.append(value)
    return [after - before for before, after in itertools.pairwise(values)]


@pytest.mark.parametrize("name", MOVES)
def test_ways(name: str, tmp_path: Path) -> None:
    words, ways, way, path = MOVES[name]
    explored = exploration(tmp_path, SPEC)
    for word in words.split():
        match word[0]:
            case "b":
                explored.back(1)
            case "w":
                explored.go(int(word[1:]))
            case _:
                explored.take(int(word))

    walk = explored.walk
    assert [added(steps) for steps in walk.ways] == ways
    assert (walk.way, added(walk.path)) == (way, path)
    assert walk.ahead == len(ways[way]) - len(path)
    for number, steps in enumerate(ways):
        same = next((n for n, (a, b) in enumerate(zip(steps, path, strict=False)) if a != b), None)
        assert walk.common(number) == 1 + (min(len(steps), len(path)) if same is None else same)
    # The options are those of the current state.
    assert len(explored.options) == len(walk.options())


def test_a_search_is_a_path_too(tmp_path: Path) -> None:
    explored = exploration(tmp_path, SPEC)
    assert explored.sought(explored.goto("x == 7")) == "3 steps, 8 states seen"
    explored.back(2)
    assert explored.sought(explored.goto("x == 0")) == (
        "in none of the 8 states reachable from here"
    )
    assert explored.sought(explored.goto("x == x")) == "it holds here"
    explored.goto("x == 8")
    assert len(explored.walk.ways) == 2


def test_watched_values_along_the_path(tmp_path: Path) -> None:
    explored = exploration(tmp_path, SPEC)
    for text in ("x * 2", "9 // x", "x * 2"):
        explored.watch(text)
    explored.take(3)
    assert [explored.values(watched_expression) for watched_expression in explored.watched] == [
        ["0", "6"],
        [None, "3"],
    ]
    explored.unwatch(0)
    assert [watched_expression.text for watched_expression in explored.watched] == ["9 // x"]
