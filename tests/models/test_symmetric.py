"""Published specs with symmetric types have as many orbits as TLC counts, and the same states as
before.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from tests.support.agreement import summary
from tests.support.paths import ROOT

import fencepost

CLASSICS = ROOT / "models" / "classics"
EDITS = {
    "raft": (),
    "multipaxos": (),
    "paxos": (
        ("type Acceptor = 1..Acceptors", "symmetric type Acceptor = {a1, a2, a3}"),
        ("type Value = 1..Values", "symmetric type Value = {v1, v2}"),
        # The other module has types of its own.
        ("import voting with", "# import voting with"),
        ("refinement RefinesVoting: voting where\n    votes = votes,\n", "# "),
        ("    promised = [Voter[a].promised for a in Acceptor]\n", ""),
        ("violated RefinesVoting", "violated Agreement"),
    ),
    "btree": (
        ("type Value = 1..Values", "symmetric type Value = {v1, v2, v3}"),
        ("const Values: int = 3\n", ""),
        ("    const Values = 1\n", ""),
    ),
    "snapshot_isolation": (
        ("type Id = 1..Transactions", "symmetric type Id = {t1, t2, t3}\ntype Turn = 1..3"),
        ("map[Id, Id]", "map[Turn, Id]"),
        ("for p in Id}", "for p in Turn}"),
        ("forall p in Id:", "forall p in Turn:"),
    ),
}
"""The edits that make a type of each spec symmetric."""
COUNTED = (
    ("raft", "four_terms", 69_899),
    ("paxos", "two_ballots", 443),
    ("paxos", "three_ballots", 17_153),
    ("btree", "four_keys", 64_685),
    ("snapshot_isolation", "three", 32_293),
    ("multipaxos", "write_only", 2_628),
)
"""The numbers of orbits that TLC counts with a SYMMETRY of the same types."""


@pytest.mark.parametrize(("name", "check", "orbits"), COUNTED)
def test_orbits_as_tlc_counts_them(name: str, check: str, orbits: int, tmp_path: Path) -> None:
    folder = copytree(CLASSICS, tmp_path / "classics")
    path = folder / f"{name}.fence"
    text = path.read_text("utf-8")
    for before, after in EDITS[name]:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text, "utf-8")
    (result,) = fencepost.check(path, checks=[check], slow=True, workers=2).checks
    assert result.explanation is None
    assert result.outcome.statistics.orbits == orbits


@pytest.mark.parametrize("check", ["two_terms", "figure_8"])
def test_raft_is_searched_as_before(check: str) -> None:
    """The check expects the number of states, and a violation has the same trace."""
    path = CLASSICS / "raft.fence"
    symmetric, every = (
        fencepost.check(path, checks=[check], slow=True, workers=1, symmetry=symmetry).checks[0]
        for symmetry in (True, False)
    )
    assert symmetric.outcome.statistics.orbits is not None
    assert every.outcome.statistics.orbits is None
    assert symmetric.explanation is every.explanation is None
    assert summary(symmetric.job.model, symmetric.outcome) == summary(
        every.job.model, every.outcome
    )
