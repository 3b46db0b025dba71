"""Random specs with a symbolic constant: the regions are what every single value comes to."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from tests.strategies.symbolic import grown_symbolic, symbolic_specs
from tests.support.agreement import loaded
from tests.support.amounts import amount, examples
from tests.support.bounded_runs import Asked, real, told
from tests.support.region_agreement import assert_brute_force_agrees, regions_of

from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

STEPS = 3
EXAMPLES = amount("EXAMPLES", 20)


@examples(20)
@given(symbolic_specs())
def test_regions_are_what_every_value_comes_to(text: str) -> None:
    agrees(text, "interpreter")


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_local_finds_the_regions_of_the_interpreter(seed: int) -> None:
    agrees(grown_symbolic(seed), "local")


@pytest.mark.parametrize("seed", [13, 31, *range(200, 200 + max(1, EXAMPLES // 5))])
@pytest.mark.parametrize("keep_going", [False, True])
def test_bounded_model_checking_finds_the_problems_of_all_regions(
    seed: int, keep_going: bool
) -> None:
    text = grown_symbolic(seed)
    read = loaded(text)
    try:
        found = regions_of(read, keep_going=keep_going)
    except Rejected:
        return
    model = program.build(read, read.checks[0])
    every = program.select(model, read.checks[0])
    # No run has more steps, as every action counts them.
    symbolic = Asked(model, every, STEPS + 2, True, keep_going).by("bmc", STEPS + 2)
    assert [told(one) for one in real(symbolic)] == [told(one) for one in real(found)], text


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
    # F701: it puts a constant where it never fits. F811: it asks whether an action is enabled with
    # a symbolic value.
    assert codes <= {"F701", "F811", "F812", "F813"}, text
    return not codes
