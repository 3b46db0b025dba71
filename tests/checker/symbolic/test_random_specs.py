"""Random specs, which fail in all kinds of places: all problems that bounded model checking finds,
also going on, and nothing false that induction proves.

`python -m bench.campaign` takes thousands of them.
"""

from __future__ import annotations

import pytest
from tests.strategies import grown
from tests.support.agreement import loaded
from tests.support.amounts import amount
from tests.support.bounded_runs import Asked, agreed, proved

from fencepost.spec.elaborate.claims import program

SPECS = range(500, 500 + amount("EXAMPLES", 20))
STEPS = 3


def asked(seed: int, deadlock: bool, keep_going: bool) -> Asked:
    read = loaded(grown(seed))
    check = read.checks[0]
    model = program.build(read, check)
    return Asked(model, program.select(model, check), STEPS, deadlock, keep_going)


@pytest.mark.parametrize("seed", SPECS)
def test_all_problems_within_some_steps(seed: int) -> None:
    for deadlock, keep_going in ((True, False), (True, True), (False, True)):
        agreed(asked(seed, deadlock, keep_going))


@pytest.mark.parametrize("seed", SPECS)
def test_what_is_proved(seed: int) -> None:
    proved(asked(seed, True, False), 1 + seed % 2)
