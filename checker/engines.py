"""The table of engines; one is loaded when it is wanted, so that none pays for another's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from fencepost.checker.request import Engine, Family
from fencepost.checker.search.interrupts import deferred
from fencepost.spec.core.ir import Model
from fencepost.spec.text.problem import Problem, Rejected

ENGINES: Mapping[str, str] = {
    "local": "fencepost.checker.native.search",
    "interpreter": "fencepost.checker.reference.search",
    "bmc": "fencepost.checker.symbolic.bounded",
    "induction": "fencepost.checker.symbolic.induction",
    "spark": "fencepost.checker.spark.search",
}
"""Name of each engine, and the module whose ``ENGINE`` it is; the first runs what names none."""


FAMILIES: Mapping[str, str] = {"local": "fencepost.checker.native.family"}
"""The engines that translate a model once for all values of its symbolic constants."""


def family(name: str, model: Model, properties: frozenset[int]) -> Family | None:
    """The model, translated by the engine of this name; None: that does not work so. Raises
    `Unsupported` for what it cannot run.
    """
    if name not in FAMILIES:
        return None
    with deferred():
        family = import_module(FAMILIES[name])
    made: Family = family.Family(model, properties)
    return made


@cache
def load(name: str) -> Engine:
    """The engine of this name, one of `ENGINES`. Raises `Rejected` where it cannot run."""
    obstacle: str | None
    try:
        with deferred():
            engine: Engine = import_module(ENGINES[name]).ENGINE
            obstacle = engine.obstacle()
    except (ImportError, OSError) as error:
        # A library may be missing, or be there and not fit the machine.
        if isinstance(error, ImportError) and (error.name or "").startswith("fencepost"):
            raise
        obstacle = str(error)
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("pyspark"):
            obstacle += "; pip install 'fencepost[spark]'"
    else:
        if obstacle is None:
            return engine
    raise Rejected([_unusable(name, obstacle)])


def _unusable(name: str, obstacle: str) -> Problem:
    reason = " ".join(obstacle.split())
    what = f'the engine "{name}" cannot run here ({reason}); "--engine interpreter" runs anywhere'
    return Problem("F030", None, what)
