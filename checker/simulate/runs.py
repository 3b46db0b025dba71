"""The plan and the result of random runs, as plain data."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from fencepost.checker.outcome import Outcome
from fencepost.spec.records import dataclass

Choosing: TypeAlias = Literal["actions", "steps", "rare"]
"""How a step is chosen: an action and then one of its steps; any step; or an action, preferring
those that were rarely enabled, and then one of its steps.
"""
CHOOSING: tuple[Choosing, ...] = get_args(Choosing)
DEFAULT_DEPTH = 100
DEFAULT_WEIGHT, MAX_WEIGHT = 16, 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of random runs: at most ``runs`` (unlimited if None) with at most ``depth`` steps
    each.

    ``weights`` holds the weights of actions by index, from 0 to 1,024.
    """

    seed: int
    depth: int
    runs: int | None
    choosing: Choosing
    weights: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The extent of judging properties of behaviours: the ``states`` of the first ``runs``."""

    runs: int
    states: int


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of random runs.

    In the outcome's statistics, ``distinct`` is an estimate and ``generated`` counts examined
    steps. ``runs`` were started, with ``steps`` in total; ``left`` of them ended early. ``walked``
    is the number of states of the failing run before it was shortened, ``run`` its number from 1.
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
