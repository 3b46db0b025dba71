"""Damaged specs of every kind cause problems, never a traceback, in the command and the server.

``FENCEPOST_FUZZ`` is the number of damaged specs. Each has its own seed, which a failure names.
`bench.damaged_specs` tries thousands of them in processes that may crash or hang.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.amounts import amount
from tests.support.damaged_runs import Trials
from tests.support.damaged_specs import DAMAGE, ORIGINALS, damaged

from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.library import read
from fencepost.spec.text.problem import Rejected

FIRST, RUNS, TOGETHER = amount("FIRST", 0), amount("FUZZ", 40), 20


@pytest.mark.parametrize("start", range(FIRST, FIRST + RUNS, TOGETHER))
def test_damaged_specs(start: int) -> None:
    with Trials() as trials:
        for seed in range(start, start + TOGETHER):
            failures = trials.failures(damaged(seed), seed)
            shown = "\n".join(f"{failure.key}\n{failure.details}" for failure in failures)
            assert not failures, f"seed {seed}: {shown}"


def test_most_damage_is_noticed(tmp_path: Path) -> None:
    """The damage must neither make every spec fail at its first token nor leave all specs
    intact.
    """
    path = tmp_path / "damaged.fence"
    clean, kinds, origins = 0, set[str](), set[str]()
    for seed in range(200):
        spec = damaged(seed)
        path.write_bytes(spec.text)
        clean += parses(path)
        kinds |= {*spec.kinds}
        origins.add(spec.original.origin)
    assert 20 < clean < 150
    assert kinds == {*DAMAGE}
    assert len(origins) > len({*ORIGINALS})


def parses(path: Path) -> bool:
    """Checks whether a file is a spec according to the grammar."""
    try:
        return not parse(read(path))[1]
    except Rejected:
        return False
