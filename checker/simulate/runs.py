"""The plan and the result of random runs, as plain data.

Importing this module must not load llvmlite: `fencepost --help` imports it on every machine.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from fencepost.checker.outcome import Outcome
from fencepost.spec.records import dataclass

Choosing: TypeAlias = Literal["actions", "steps", "rare"]
"""Says how a step is chosen. "actions" chooses an action and then one of its steps, and "steps"
chooses any step. "rare" chooses an action, preferring actions that were rarely enabled, and then
one of its steps.
"""
CHOOSING: tuple[Choosing, ...] = get_args(Choosing)
DEFAULT_DEPTH = 100
DEFAULT_WEIGHT, MAX_WEIGHT = 16, 1024
ROUND = 256
"""Number of runs after which the weights of rare actions are updated."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of random runs: at most ``runs`` runs (unlimited if None) with at most ``depth``
    steps each.

    ``weights`` contains the weight of each action, from 0 to 1,024.
    """

    seed: int
    depth: int
    runs: int | None
    choosing: Choosing
    weights: tuple[int, ...]


def rarer(weight: int, count: int, most: int) -> int:
    """Returns the weight of an action that was enabled ``count`` times, when the most frequently
    enabled action was enabled ``most`` times.
    """
    if not weight:
        return 0
    return max(1, min(MAX_WEIGHT, weight * most // (count + 1)))


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """Describes how much of the state graph was examined for properties of behaviours: the
    ``states`` of the first ``runs`` runs.
    """

    runs: int
    states: int


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of random runs.

    In the statistics of the outcome, ``distinct`` is an estimate and ``generated`` counts the
    examined steps. ``runs`` is the number of runs started, ``steps`` their total number of steps,
    and ``left`` the number of runs that ended early. ``walked`` is the number of states in the
    failing run before it was shortened, and ``run`` is the number of that run, counted from 1.
    ``judged`` is None if no properties of behaviours were judged.
    """

    outcome: Outcome
    plan: Plan
    runs: int = 0
    steps: int = 0
    left: int = 0
    walked: int = 0
    run: int | None = None
    judged: JudgedRun | None = None
