"""The shipped models and their checks. Of models with many checks, only a few are used.

The checks determine which tests exist, so the models' text is only scanned, and no model is built.
`tests.models.test_shipped` compares the result of this scan with the parser's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

from tests.support.agreement import Run, run_of
from tests.support.amounts import everything
from tests.support.paths import ROOT

from fencepost.checker import engines

T = TypeVar("T")
MAPPING = re.compile(r"^recording:|^import conform_\w+ as mapping$", re.M)
MODELS = sorted(
    path
    for path in (ROOT / "models").rglob("*.fence")
    if path.parent.name != "lib" and not MAPPING.search(path.read_text(encoding="utf-8"))
)
"""Folders named lib hold modules that models share. Mappings of recordings, and specs that
import one, are not searched."""

CHECK = re.compile(r"^check (\w+)( slow)?:\n((?:[ #].*\n|\n)*)", re.M)
ENGINE = re.compile(r"^ +engine (\w+)", re.M)
COUNT = re.compile(r"^ +expect (states|generated|depth) == (\d+)$", re.M)
BEHAVIOURS = re.compile(r"^property (\w+)(?: within constraint)?:", re.M)
LOOKED_AT = re.compile(r"^ +(?:properties:|expect violated) (.+)$", re.M)


@dataclass(frozen=True, slots=True)
class ShippedCheck:
    """A check in source form, with its engine and the counts that it expects.

    ``of_behaviours`` is set if the check has temporal properties, which few engines decide.
    """

    path: Path
    name: str
    slow: bool
    engine: str | None
    counts: Mapping[str, int]
    of_behaviours: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.path.stem}-{self.name}"

    @property
    def states(self) -> int:
        return self.counts.get("states", 0)

    def run(self) -> Run:
        """Returns the search of the check."""
        return run_of(self.path, self.name)


@cache
def checks(path: Path) -> tuple[ShippedCheck, ...]:
    """Returns the checks of a model in textual order."""
    text = path.read_text(encoding="utf-8")
    behaviours = set(BEHAVIOURS.findall(text))
    return tuple(
        ShippedCheck(
            path,
            name,
            bool(slow),
            next(iter(ENGINE.findall(body)), None),
            {figure: int(count) for figure, count in COUNT.findall(body)},
            not behaviours.isdisjoint(_looked_at(body, behaviours)),
        )
        for name, slow, body in CHECK.findall(text)
    )


def _looked_at(body: str, behaviours: set[str]) -> set[str]:
    """Returns the properties that a check names, or all of them if it names none."""
    named = LOOKED_AT.search(body)
    return behaviours if named is None else set(named[1].split(", "))


def quick(path: Path, most: int | None = None) -> list[ShippedCheck]:
    """Returns the checks of a model that are not slow, have no temporal properties and count
    states.

    If ``most`` is given, they have at most this many states.
    """
    return [
        check
        for check in checks(path)
        if not check.slow
        and not check.of_behaviours
        and engines.visits_states(check.engine)
        and (most is None or check.states <= most)
    ]


def has_many_checks(path: Path) -> bool:
    """Checks whether the checks of a model run similar code with different constants."""
    return path.parent.name == "kafka"


PORTS = {
    "atomic_commitment", "bakery", "bosco", "btree", "byzantine_broadcast", "disruptor", "ewd687a",
    "ewd998", "folklore_broadcast", "kafka_transactions", "klotski", "lamport_mutex", "multipaxos",
    "nano_blockchain", "paxos", "paxos_commit", "raft", "safra", "snapshot_isolation",
    "spanning_tree", "voting", "yoyo",
}  # fmt: skip
"""Published specs in their published sizes; TLC has confirmed their figures. They are searched to
check these figures; most other tests skip them.
"""


def is_port(path: Path) -> bool:
    return path.parent.name == "classics" and path.stem in PORTS


def a_few(path: Path, chosen: Sequence[T], count: int) -> Sequence[T]:
    """Returns all the checks, or at most ``count`` of them, evenly spaced, if the model has
    many.
    """
    if not has_many_checks(path) or len(chosen) <= count:
        return chosen
    return [chosen[(2 * number + 1) * len(chosen) // (2 * count)] for number in range(count)]


def turn(chosen: Sequence[T], number: int, of: int = 2) -> Sequence[T]:
    """Returns every second element, or every ``of``-th, for tests that share the models or
    examples.

    With ``FENCEPOST_TURNS=all``, returns all elements.
    """
    return chosen if everything("TURNS") else chosen[number::of]
