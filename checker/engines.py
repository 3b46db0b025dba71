"""The table of engines: what each can decide, and which options it accepts.

Engines are imported on demand, so that a run loads only the libraries it needs.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module

from fencepost.checker.options import flags
from fencepost.checker.request import Engine, Family, Request
from fencepost.checker.search.interrupts import deferred
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

_SOLVER = frozenset({"--solver-timeout", "--dump-smt2"})
_SAVING = frozenset({"--checkpoint", "--resume"})
_SEARCH = frozenset({"--max-states", "--depth", "--cross-check"})
_PROCESS = frozenset({"--workers", "--memory"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One engine."""

    home: str
    """The module that defines its ``ENGINE``."""
    options: frozenset[str]
    """The options it accepts, among those that some engines ignore."""
    visits_states: bool = True
    """Whether it enumerates states, and so counts them and reports to an observer. Other engines
    use formulas and handle symbolic constants directly.
    """
    needs_depth: bool = False
    """Whether it requires a depth."""
    decides_behaviours: bool = False
    """Whether it decides properties of behaviours after visiting every state."""
    for_behaviours: tuple[str, ...] = ()
    """The modules that it imports for deciding behaviours."""
    proves: bool = False
    """Whether it proves properties and finds no traces of violations."""
    parallel: bool = False
    """Whether it uses several workers."""
    family: str | None = None
    """The module whose ``Family`` compiles a model once for all values of its symbolic constants,
    or None.
    """
    always_there: bool = False
    """Whether it needs nothing but Python."""
    machines: frozenset[tuple[str, str]] = frozenset()
    """Platforms (`sys.platform`, `platform.machine`) where a correct installation includes its
    library; on Linux only with glibc.
    """
    slow_start: bool = False
    """Whether it starts too slowly to be tried on a small spec."""


ENGINES: Mapping[str, Entry] = {
    "local": Entry(
        "fencepost.checker.native.search",
        _SEARCH | _PROCESS | {"--profile", "--no-symmetry", "--spill"} | _SAVING,
        parallel=True,
        family="fencepost.checker.native.family",
        decides_behaviours=True,
        for_behaviours=("fencepost.checker.native.behaviours", "scipy.sparse.csgraph"),
        machines=frozenset({("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}),
    ),
    "interpreter": Entry(
        "fencepost.checker.reference.search",
        _SEARCH | _PROCESS | {"--no-symmetry"},
        decides_behaviours=True,
        always_there=True,
    ),
    "bmc": Entry(
        "fencepost.checker.symbolic.bounded",
        (_SEARCH - {"--max-states"}) | _PROCESS | _SOLVER,
        visits_states=False,
        needs_depth=True,
    ),
    "induction": Entry(
        "fencepost.checker.symbolic.induction",
        _PROCESS | _SOLVER | {"--k"},
        visits_states=False,
        proves=True,
    ),
    "spark": Entry(
        "fencepost.checker.spark.search",
        _SEARCH | _SAVING | flags("settings.cluster"),
        slow_start=True,
    ),
}
"""The engines by name; the first is the default."""

EXTRAS: Mapping[str, str] = {"llvmlite": "local", "pyspark": "spark", "z3": "symbolic"}
"""The package extra that installs an engine's library. On platforms with wheels, LLVM and Z3 are
installed by default.
"""

DEFAULT = next(iter(ENGINES))
COUNTING: Mapping[str, bool] = {name: entry.visits_states for name, entry in ENGINES.items()}
"""The names of engines and whether they count states, as the language needs them."""


def visits_states(name: str | None) -> bool:
    """Whether an engine visits states; None means the default engine."""
    return ENGINES[name or DEFAULT].visits_states


def family(name: str, request: Request) -> Family | None:
    """Compiles the request's model for all values of its symbolic constants; None if the engine
    cannot.

    Raises `Unsupported` for a model that it cannot run.
    """
    home = ENGINES[name].family
    if home is None:
        return None
    with deferred():
        module = import_module(home)
    compiled: Family = module.Family(request)
    return compiled


def expected(name: str) -> bool:
    """Whether an engine works on this platform after a correct installation."""
    entry = ENGINES[name]
    wheels = sys.platform != "linux" or platform.libc_ver()[0] == "glibc"
    return entry.always_there or (wheels and (sys.platform, platform.machine()) in entry.machines)


@cache
def load(name: str) -> Engine:
    """Loads an engine of `ENGINES`. Raises `Rejected` if it cannot run here."""
    obstacle: str | None
    try:
        with deferred():
            engine: Engine = import_module(ENGINES[name].home).ENGINE
            obstacle = engine.obstacle()
    except (ImportError, OSError) as error:
        # The library may be missing, or not fit the machine.
        if isinstance(error, ImportError) and (error.name or "").startswith("fencepost"):
            raise
        obstacle = _missing(error)
    else:
        if obstacle is None:
            return engine
    raise Rejected([_unusable(name, obstacle)])


def load_for_behaviours(name: str) -> None:
    """Imports what an engine needs to decide behaviours, so that forks share it."""
    with suppress(ImportError, OSError), deferred():
        for module in ENGINES[name].for_behaviours:
            import_module(module)


def _missing(error: ImportError | OSError) -> str:
    """Why an engine's library cannot be imported, and how to install it."""
    library = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if not isinstance(error, ModuleNotFoundError) or library not in EXTRAS:
        return str(error)
    return f"{library} is not installed: pip install 'fencepost[{EXTRAS[library]}]'"


def _unusable(name: str, obstacle: str) -> Problem:
    reason = " ".join(obstacle.split())
    message = (
        f'the engine "{name}" cannot run here ({reason}); "--engine interpreter" runs anywhere'
    )
    return Problem("F030", None, message)
