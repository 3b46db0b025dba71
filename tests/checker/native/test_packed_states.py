"""The engine ``local`` at the limits of packing: states of all zeros and all ones, states of
exactly one word, of one bit more and of a kilobit, and a million initial states.
"""

from __future__ import annotations

import pytest
from tests.support.agreement import model_of, run_of_model

from fencepost.checker.layout import Layout
from fencepost.checker.request import Limits
from fencepost.spec.core.ir import Model

WORKERS = pytest.mark.parametrize("workers", [1, 2, 3])


def figures(model: Model, workers: int) -> tuple[str, int, int, int]:
    """Returns the verdict and the numbers of distinct states, generated states and levels."""
    seen = run_of_model(model, limits=Limits(workers=workers)).by("local")
    return seen.verdict, seen.distinct, seen.generated, seen.depth


def flipping(widths: list[int], flips: int) -> str:
    """Returns a spec with integers of these widths, each at its minimum or maximum (all bits 0, or
    all bits 1).

    Each of the ``flips`` actions changes every variable whose number is congruent to its own modulo
    ``flips``.
    """
    lines: list[str] = []
    changes: list[list[str]] = [[] for _ in range(flips)]
    ends: list[str] = []
    for number, width in enumerate(widths):
        low, high = -(1 << width - 1), (1 << width - 1) - 1
        lines.append(f"var v{number}: int[{width}] = {low}")
        change = f"    v{number} = if v{number} == {low} then {high} else {low}"
        changes[number % flips].append(change)
        ends.append(f"v{number} == {high}")
    for number, body in enumerate(changes):
        lines += [f"action flip{number}:", *body]
    lines.append(f"reachable AllOnes: {' and '.join(ends)}")
    lines.append(f"invariant InStep: v0 == {-(1 << widths[0] - 1)} or v0 > 0")
    return "\n".join(lines) + "\n"


@WORKERS
@pytest.mark.parametrize(
    ("widths", "bits", "words"),
    [
        # One bit of the first word marks a state as present, which leaves 63.
        ([63], 64, 1),
        ([31, 16, 8, 4, 2, 2], 64, 1),
        ([64], 65, 2),
        ([32, 16, 8, 4, 2, 2], 65, 2),
        ([63, *[64] * 15], 1024, 16),
        ([64] * 16, 1025, 17),
    ],
)
def test_states_of_all_zeros_and_all_ones(
    widths: list[int], bits: int, words: int, workers: int
) -> None:
    flips = min(len(widths), 8)
    model = model_of(flipping(widths, flips))
    layout = Layout(model)
    assert (layout.bits, layout.words) == (bits, words)
    zeros = tuple(-(1 << width - 1) for width in widths)
    ones = tuple((1 << width - 1) - 1 for width in widths)
    assert sum(word.bit_count() for word in layout.encode(zeros)) == 1
    assert sum(word.bit_count() for word in layout.encode(ones)) == bits
    expected = ("ok", 1 << flips, 1 + flips * (1 << flips), flips + 1)
    assert figures(model, workers) == expected


@WORKERS
def test_one_initial_state(workers: int) -> None:
    model = model_of("var x: 0..0 = 0\nterminal: true\n")
    assert Layout(model).bits == 1
    assert figures(model, workers) == ("ok", 1, 1, 1)


@WORKERS
def test_a_million_initial_states(workers: int) -> None:
    text = """\
var x: 0..999 = any
var y: 0..999 = any
action swap:
    require x < y
    let old = x
    x = y
    y = old
terminal: true
reachable Last: x == 999 and y == 999
"""
    swaps = 1000 * 999 // 2
    model = model_of(text)
    assert figures(model, workers) == ("ok", 1_000_000, 1_000_000 + swaps, 1)
