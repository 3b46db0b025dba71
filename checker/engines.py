"""The table of engines: what each engine can decide, and which options it accepts.

Engines are imported on demand, so that a run loads only the libraries that it needs.
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
_MORE = frozenset({"--counterexamples"})


@dataclass(frozen=True, slots=True)
class Entry:
    """An engine's row in the table."""

    home: str
    """The module that defines the engine as ``ENGINE``."""
    options: frozenset[str]
    """The options that the engine accepts, among those that not every engine supports."""
    visits_states: bool = True
    """Whether the engine enumerates states. Such an engine counts them and reports to an observer;
    the others work on formulas and handle symbolic constants directly.
    """
    needs_depth: bool = False
    """Whether the engine requires a depth."""
    decides_behaviours: bool = False
    """Whether the engine can decide properties of behaviours after visiting every state."""
    for_behaviours: tuple[str, ...] = ()
    """The modules that the engine imports to decide properties of behaviours."""
    proves: bool = False
    """Whether the engine proves properties and finds no traces of violations."""
    parallel: bool = False
    """Whether the engine uses several workers."""
    family: str | None = None
    """The module whose ``Family`` compiles a model once for all values of its symbolic constants;
    None if the engine has no such module.
    """
    always_there: bool = False
    """Whether the engine needs nothing but Python."""
    machines: frozenset[tuple[str, str]] = frozenset()
    """The platforms, as pairs of `sys.platform` and `platform.machine`, on which a correct
    installation includes the engine's library. On Linux this requires glibc.
    """
    slow_start: bool = False
    """Whether the engine takes too long to start to be tried on a small spec."""
    for_modules: bool = False
    """Whether the engine runs TLA+ modules. The other engines run specs."""


ENGINES: Mapping[str, Entry] = {
    "local": Entry(
        "fencepost.checker.native.search",
        _SEARCH | _PROCESS | _MORE | {"--profile", "--no-symmetry", "--spill"} | _SAVING,
        parallel=True,
        family="fencepost.checker.native.family",
        decides_behaviours=True,
        for_behaviours=("fencepost.checker.native.behaviours",),
        machines=frozenset({("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}),
    ),
    "interpreter": Entry(
        "fencepost.checker.reference.search",
        _SEARCH | _PROCESS | _MORE | {"--no-symmetry"},
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
    "evaluator": Entry(
        "fencepost.checker.evaluator.search",
        (_SEARCH - {"--cross-check"}) | _PROCESS | _MORE | {"--config", "--allow-read"},
        always_there=True,
        for_modules=True,
    ),
    "compiled": Entry(
        "fencepost.checker.compiled.search",
        (_SEARCH - {"--cross-check"}) | _PROCESS | {"--config", "--allow-read"},
        parallel=True,
        for_modules=True,
    ),
}
"""The engines by name; the first is the default."""

EXTRAS: Mapping[str, str] = {"llvmlite": "local", "pyspark": "spark", "z3": "symbolic"}
"""Maps an engine's library to the package extra that installs it. On platforms with wheels, LLVM
and Z3 are installed by default.
"""

DEFAULT = next(iter(ENGINES))
COUNTING: Mapping[str, bool] = {
    name: entry.visits_states for name, entry in ENGINES.items() if not entry.for_modules
}
"""Maps the name of each engine for specs to whether it counts states, in the form that the language
expects.
"""


def visits_states(name: str | None) -> bool:
    """Returns whether an engine visits states. None is the default engine."""
    return ENGINES[name or DEFAULT].visits_states


def family(name: str, request: Request) -> Family | None:
    """Compiles the request's model for all values of its symbolic constants. Returns None if the
    engine cannot do that.

    Raises `Unsupported` if the engine cannot run the model.
    """
    home = ENGINES[name].family
    if home is None:
        return None
    with deferred():
        module = import_module(home)
    compiled: Family = module.Family(request)
    return compiled


def expected(name: str) -> bool:
    """Returns whether an engine works on this platform after a correct installation."""
    entry = ENGINES[name]
    wheels = sys.platform != "linux" or platform.libc_ver()[0] == "glibc"
    return entry.always_there or (wheels and (sys.platform, platform.machine()) in entry.machines)


@cache
def load(name: str) -> Engine:
    """Loads the engine ``name`` from `ENGINES`. Raises `Rejected` if it cannot run here."""
    obstacle: str | None
    try:
        with deferred():
            engine: Engine = import_module(ENGINES[name].home).ENGINE
            obstacle = engine.obstacle()
    except (ImportError, OSError) as error:
        # The library may be missing, or it may not run on this machine.
        if isinstance(error, ImportError) and (error.name or "").startswith("fencepost"):
            raise
        obstacle = _missing(error)
    else:
        if obstacle is None:
            return engine
    raise Rejected([_unusable(name, obstacle)])


def load_for_behaviours(name: str) -> None:
    """Imports the modules that an engine needs to decide behaviours, so that forked processes share
    them.
    """
    with suppress(ImportError, OSError), deferred():
        for module in ENGINES[name].for_behaviours:
            import_module(module)


def _missing(error: ImportError | OSError) -> str:
    """Explains why an engine's library cannot be imported, and how to install it."""
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
