"""The table of engines: what each can decide, and which options it heeds.

An engine is loaded when it is wanted, so that none pays for another's libraries.
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
    """The module whose ``ENGINE`` it is."""
    options: frozenset[str]
    """The options of `fencepost check` that it heeds, of those that not every engine does."""
    visits_states: bool = True
    """Whether it visits states one by one, and so counts them and reports to an observer. Others
    decide by formulas, and take symbolic constants as they are.
    """
    needs_depth: bool = False
    """Whether it searches to a depth that must be given."""
    decides_behaviours: bool = False
    """Whether it decides what holds of whole behaviours once it has visited every state."""
    for_behaviours: tuple[str, ...] = ()
    """The modules that it loads to do so, when it is about to."""
    proves: bool = False
    """Whether it shows that something always holds, and not how it is violated."""
    parallel: bool = False
    """Whether it uses several workers."""
    family: str | None = None
    """The module whose ``Family`` translates a model once for all values of its symbolic constants;
    None: it has none.
    """
    always_there: bool = False
    """Whether it works wherever Fencepost is installed properly; the others need more than it."""
    machines: frozenset[tuple[str, str]] = frozenset()
    """Systems and processors where Fencepost is not installed properly without its library, as
    `sys.platform` and `platform.machine` name them; on Linux where the C library is glibc.
    """
    slow_start: bool = False
    """Whether it takes too long to start to be tried on a small spec."""


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
"""The engines by name; the first runs a check that names none."""

EXTRAS: Mapping[str, str] = {"llvmlite": "local", "pyspark": "spark", "z3": "symbolic"}
"""The extras of the package that bring the libraries of engines. Where there are wheels of them,
LLVM and Z3 come with the package as it is.
"""

DEFAULT = next(iter(ENGINES))
COUNTING: Mapping[str, bool] = {name: entry.visits_states for name, entry in ENGINES.items()}
"""What the language must know of engines: their names, and whether they count states."""


def visits_states(name: str | None) -> bool:
    """Whether the engine of this name (None: the one that runs what names none) visits states."""
    return ENGINES[name or DEFAULT].visits_states


def family(name: str, request: Request) -> Family | None:
    """The model of the request, translated by the engine of this name; None: it has no families.
    Raises `Unsupported` for what it cannot run.
    """
    home = ENGINES[name].family
    if home is None:
        return None
    with deferred():
        module = import_module(home)
    made: Family = module.Family(request)
    return made


def expected(name: str) -> bool:
    """Whether the engine of this name works here if Fencepost is installed properly."""
    entry = ENGINES[name]
    wheels = sys.platform != "linux" or platform.libc_ver()[0] == "glibc"
    return entry.always_there or (wheels and (sys.platform, platform.machine()) in entry.machines)


@cache
def load(name: str) -> Engine:
    """The engine of this name, one of `ENGINES`. Raises `Rejected` where it cannot run."""
    obstacle: str | None
    try:
        with deferred():
            engine: Engine = import_module(ENGINES[name].home).ENGINE
            obstacle = engine.obstacle()
    except (ImportError, OSError) as error:
        # A library may be missing, or be there and not fit the machine.
        if isinstance(error, ImportError) and (error.name or "").startswith("fencepost"):
            raise
        obstacle = _missing(error)
    else:
        if obstacle is None:
            return engine
    raise Rejected([_unusable(name, obstacle)])


def load_for_behaviours(name: str) -> None:
    """Loads what an engine needs to decide behaviours, so that copies of this process have it."""
    with suppress(ImportError, OSError), deferred():
        for module in ENGINES[name].for_behaviours:
            import_module(module)


def _missing(error: ImportError | OSError) -> str:
    """Why the libraries of an engine cannot be had, and what to do where one is not installed."""
    library = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if not isinstance(error, ModuleNotFoundError) or library not in EXTRAS:
        return str(error)
    return f"{library} is not installed: pip install 'fencepost[{EXTRAS[library]}]'"


def _unusable(name: str, obstacle: str) -> Problem:
    reason = " ".join(obstacle.split())
    what = f'the engine "{name}" cannot run here ({reason}); "--engine interpreter" runs anywhere'
    return Problem("F030", None, what)
