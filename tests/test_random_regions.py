"""Random specs with a symbolic constant: the regions are what every single value comes to.

``FENCEPOST_EXAMPLES`` is the number of specs that the interpreter takes; `local` takes a tenth.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from tests.regions import assert_brute_force_agrees
from tests.strategies.symbolic import grown_symbolic, symbolic_specs

from fencepost.spec.problem import Rejected

EXAMPLES = int(os.environ.get("FENCEPOST_EXAMPLES", "50"))


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(symbolic_specs())
def test_regions_are_what_every_value_comes_to(text: str) -> None:
    agrees(text, "interpreter")


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_local_finds_the_regions_of_the_interpreter(seed: int) -> None:
    agrees(grown_symbolic(seed), "local")


def test_few_specs_are_refused() -> None:
    counts = Counter(agrees(grown_symbolic(seed), "interpreter") for seed in range(100, 120))
    assert counts[True] > 15


def agrees(text: str, engine: str) -> bool:
    """False: such a search refuses the spec."""
    codes: set[str] = set()
    try:
        assert_brute_force_agrees(text, engine)
    except Rejected as rejected:
        codes = {problem.code for problem in rejected.problems}
    # F701: it puts a constant where it never fits.
    assert codes <= {"F701", "F812", "F813"}, text
    return not codes
