"""What an engine is asked, and the table of engines.

It loads an engine's module only when that engine is wanted, so that none pays for another's
libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from fencepost.checker.result import Outcome
from fencepost.spec.ir import Model


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to stop; None: nowhere.

    ``depth``: so many steps from an initial state. ``max_states``: so many distinct states.
    ``timeout``: so many seconds. ``memory``: so many bytes, of the whole process. ``workers``:
    so many threads, where the engine has several (None: one for each processor).
    """

    depth: int | None = None
    max_states: int | None = None
    timeout: float | None = None
    memory: int | None = None
    workers: int | None = None

    @property
    def memory_option(self) -> str:
        """The limit on memory as it is given on the command line."""
        size = self.memory or 0
        for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
            if size and size % unit == 0:
                return f"--memory {size // unit}{letter}"
        return f"--memory {size}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: the level being expanded, counted from 1, and the counts so far.

    ``queue`` is the number of states found and not yet expanded.
    """

    level: int
    distinct: int
    generated: int
    queue: int
    seconds: float
    bytes: int


class Engine(Protocol):
    """A way to check a model."""

    name: str

    def run(
        self,
        model: Model,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        """Checks the named properties, and always assumptions, assertions and evaluation.

        ``deadlock``: whether a deadlock is a problem. ``keep_going``: a violated property does
        not end the run; each is reported once, at its least depth. ``progress`` is called a few
        times a second at most. Never raises on a legal model; an interrupt from the keyboard ends
        the run as a limit does.
        """
        ...


ENGINES: Mapping[str, str] = {"interpreter": "fencepost.checker.reference.search"}
"""Name of each engine, and the module whose ``ENGINE`` it is."""


def load(name: str) -> Engine:
    """The engine of this name, one of `ENGINES`."""
    engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine
