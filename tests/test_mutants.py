"""Changes to the layout and the generated code are noticed: a small sample of `tests.mutants`.

``FENCEPOST_MUTANTS`` is how many of each module are tried.
"""

from __future__ import annotations

import os

import pytest
from tests import mutants, mutation

SAMPLE = int(os.environ.get("FENCEPOST_MUTANTS", "2"))
SOURCE = """
def room(count, most):
    assert count >= 0
    if count < most:
        return 8 * count
    return most
"""
CHANGES = [
    ("if count < most:\n    return 8 * count", "if not count < most:\n    return 8 * count"),
    ("count < most", "count <= most"),
    ("8 * count", "8 + count"),
    ("8", "9"),
    ("8", "7"),
]


def test_every_change_of_a_text() -> None:
    made = mutation.mutants(SOURCE)
    changes = [(" ".join(a.split()), " ".join(b.split())) for a, b in CHANGES]
    assert [(mutant.before, mutant.after) for mutant in made] == changes
    values: list[int] = []
    for mutant in made:
        names: dict[str, int] = {}
        code = mutation.mutated(f"{SOURCE}\nfound = room(3, 5) + 100 * room(5, 5)", mutant, "x")
        exec(code, names)
        values.append(names["found"])
    # As it is written: 24 and 5.
    assert values == [4_005, 4_024, 511, 527, 521]


@pytest.fixture(scope="module")
def entries() -> list[mutants.Entry]:
    """The cheap part of the corpus."""
    return mutants.measured(list(mutants.small()))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", mutants.MODULES)
def test_a_sample_is_noticed(name: str, entries: list[mutants.Entry]) -> None:
    every = mutation.mutants(mutants.source_of(name))
    step = -(-len(every) // SAMPLE)
    records = list(mutants.trials(name, every[step // 2 :: step], entries, 3))
    reached = [record for record in records if record["reached"]]
    survivors = [record for record in reached if not record["noticed"]]
    assert len(survivors) <= max(1, len(reached) // 2), survivors
