"""A run with a single value for a symbolic constant has the same outcome as that value has in a run
over all values. A problem found with E0 = 200 can be reproduced with `--const E0=200`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.support.agreement import loaded

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

PLACES = [
    "var x: int8 = 0\naction a: x = int8(E0)",
    "var x: 0..9 = 0\naction a: x = int(E0)",
    "var x: 0..9 = int(E0)",
    "var x: 0..9 in {1, int(E0)} where x > 0",
    "type K = 0..2\nvar m: map[K, bool] = [false for k in K]\naction a: m[int(E0)] = true",
    "type K = 0..2\nvar m: map[K, bool] = [false for k in K]\ninvariant I: not m[int(E0)]",
    "var s: set[0..9, 2] = {}\naction a: s = {1, int(E0)}",
    "var o: (0..9)? = none\naction a: o = int(E0)",
    "def f(n: 0..9): bool = n > 3\nvar x: bool = false\naction a: x = f(int(E0))",
    "role R[i: 0..1]:\n    var x: 0..1 = 0\ninvariant I: R[int(E0)].x == 0",
    "record P: n: 0..9\nvar r: P = P(n: 0)\naction a: r = P(n: int(E0))",
    "var q: seq[0..9, 2] = []\naction a: q = [1, int(E0)]",
    "channel c: N capacity 2\nunion N: M(n: 0..9)\naction a: send M(int(E0)) to c",
    "var x: bool = false\nconstraint C: int8(E0) > -3",
    "var x: bool = false\nreachable C: int8(E0) > -3",
    "var x: bool = false\nterminal: int8(E0) > -3",
    "var x: bool = false\naction a:\n    if int(E0) < 10: x = int8(E0) > -3",
]
"""Spec fragments with a number that is out of range for some values of ``E0``."""
VALUES = (-129, -1, 0, 3, 9, 10, 128, 200)


def problems(model: Model, chosen: frozenset[int], engine: str) -> Sequence[object]:
    outcome = run(model, chosen, engine)
    # The message is not compared: it may contain the value, which a run over all values lacks.
    return [(f.verdict, f.property, f.depth, f.site and f.site.span) for f in outcome.findings]


def run(model: Model, chosen: frozenset[int], engine: str) -> Outcome:
    return load(engine).run(Request(model, properties=chosen, limits=Limits(depth=3, workers=1)))


@pytest.mark.parametrize("part", PLACES)
def test_a_fixed_value_fails_where_the_run_over_all_values_fails(part: str) -> None:
    read = loaded(f"const E0: int16 = any\n{part}\naction idle: skip\n")
    check = read.checks[0]
    every = program.build(read, check)
    chosen = program.select(every, check)
    for value in VALUES:
        alone = problems(instance(every, (value,)), chosen, "interpreter")
        fixed = program.build(read, check, {"E0": str(value)})
        for engine in ("interpreter", "bmc", "local") if value == 200 else ("interpreter",):
            assert problems(fixed, chosen, engine) == alone, (value, engine)


def test_a_literal_value_out_of_range_is_refused_before_the_run() -> None:
    read = loaded("const E0: int16 = 5\nvar x: 0..9 = 0\naction a: x = int(E0)\n")
    with pytest.raises(Rejected, match="F701"):
        program.build(read, read.checks[0], {"E0": "200"})
