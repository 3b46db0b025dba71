"""Which random runs are made, and what was found by them. Plain data."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from fencepost.checker.outcome import Outcome
from fencepost.spec.records import dataclass

Choosing: TypeAlias = Literal["actions", "steps", "rare"]
"""How a step is chosen: first an action and then one of its steps; any step; or first an action,
and rather one that was possible seldom.
"""
CHOOSING: tuple[Choosing, ...] = get_args(Choosing)
USUAL_DEPTH = 100
USUAL_WEIGHT, MOST_WEIGHT = 16, 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """Which runs are made.

    At most ``runs`` (None: no limit), each of at most ``depth`` steps. ``weights`` are those of the
    actions by their numbers, from 0 to 1,024.
    """

    seed: int
    depth: int
    runs: int | None
    choosing: Choosing
    weights: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Where properties of behaviours were judged: among the ``states`` of the first ``runs``."""

    runs: int
    states: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was found by random runs.

    Of the outcome's statistics ``distinct`` is an estimate, and ``generated`` counts the steps that
    were looked at. ``runs`` were begun and ``steps`` taken; ``left`` runs ended before they were as
    long as they may be. ``walked``: how many states the run with the problem had, before it was
    shortened; ``run``: its number, from 1 on. ``judged``: None where no property of behaviours was.
    """

    outcome: Outcome
    plan: Plan
    runs: int = 0
    steps: int = 0
    left: int = 0
    walked: int = 0
    run: int | None = None
    judged: Judged | None = None
