"""What an engine is asked, and the table of engines.

It loads an engine's module only when that engine is wanted, so that none pays for another's
libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fencepost.checker.outcome import Outcome
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.concrete import Observer
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Solving:
    """What an engine with a solver is told. ``seconds``: so long may one question take (None: as
    long as it takes). ``k``: induction assumes so many steps. ``record``: whether to keep
    everything that is said to the solver, for `Outcome.script`.
    """

    seconds: float | None = None
    k: int = 1
    record: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to stop; None: nowhere.

    ``depth``: so many steps from an initial state. ``max_states``: so many distinct states.
    ``timeout``: so many seconds. ``memory``: so many bytes, of the whole process. ``workers``:
    so many threads, where the engine has several (None: one for each processor). ``solving``: for
    engines with a solver.
    """

    depth: int | None = None
    max_states: int | None = None
    timeout: float | None = None
    memory: int | None = None
    workers: int | None = None
    solving: Solving = Solving()

    @property
    def memory_option(self) -> str:
        """The limit on memory as it is given on the command line."""
        size = self.memory or 0
        for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
            if size and size % unit == 0:
                return f"--memory {size // unit}{letter}"
        return f"--memory {size}"


MOST_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is asked of an engine that runs on a cluster.

    ``master``: its URL (None: what Spark is configured for, else this machine). ``partitions``:
    over how many the states are spread. ``settings``: of Spark, by name. ``session``: one that is
    there already, and is used as it is. ``checkpoint``: the folder, as a path or a URL, in which
    the search is saved from time to time; ``resume``: the same, and the search goes on from where
    it was saved last. ``states``: the folder in which the state graph is left when the search is
    over. ``title`` names this search among others in these folders. ``ship``: executors are given
    this package.
    """

    master: str | None = None
    partitions: int | None = None
    settings: tuple[tuple[str, str], ...] = ()
    session: object = None
    checkpoint: str | None = None
    resume: str | None = None
    states: str | None = None
    title: str = ""
    ship: bool = False

    @property
    def words(self) -> list[str]:
        """The options that say so on the command line."""
        said: list[str] = []
        if self.master is not None:
            said += ["--master", self.master]
        if self.partitions is not None:
            said += ["--partitions", str(self.partitions)]
        for name, value in self.settings:
            said += ["--spark-conf", f"{name}={value}"]
        if self.checkpoint is not None:
            said += ["--checkpoint", self.checkpoint]
        if self.resume is not None:
            said += ["--resume", self.resume]
        if self.states is not None:
            said += ["--save-states", self.states]
        if self.ship:
            said.append("--ship-package")
        return said


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: the level being expanded, counted from 1, and the counts so far.

    ``queue`` is the number of states found and not yet expanded. Where nothing is ``counted``, as
    by an engine that visits no states one by one, the counts are 0. ``remark`` is what else the
    engine has to say.
    """

    level: int
    distinct: int
    generated: int
    queue: int
    seconds: float
    bytes: int
    counted: bool = True
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Translation:
    """What a model comes to as machine code: the seconds that it took to write it down for the
    compiler, and seconds and bytes of the code as it comes and of better code.
    """

    written: float
    quick: float
    quick_bytes: int
    better: float
    better_bytes: int


class Unsupported(Exception):
    """The engine cannot run this model. The text says what it does not do ("it does not ..."), and
    ``span``, where it is known, which part of the spec asks for that. ``instead`` is what to do
    about it.
    """

    def __init__(
        self,
        what: str,
        span: Span | None = None,
        instead: str = '"--engine interpreter" runs it',
    ) -> None:
        super().__init__(what)
        self.span = span
        self.instead = instead


class CannotRun(Rejected):
    """The engine cannot run here, whatever it is asked."""


def refuse_symbols(model: Model) -> None:
    """Raises `Unsupported` for a model that has symbolic constants."""
    for symbol in model.symbols:
        what = f"it does not search for all values of {symbol.path} at once"
        instead = f'"--const {symbol.path}=VALUE" gives it one; "--engine local" takes them all'
        raise Unsupported(what, symbol.span, instead)


class Engine(Protocol):
    """A way to check a model. ``parallel``: whether it uses several workers."""

    name: str
    parallel: bool

    @property
    def library(self) -> str:
        """The library that it stands on, and its version; empty: none."""
        ...

    def obstacle(self) -> str | None:
        """Why it cannot run on this machine; None: it can."""
        ...

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """What it makes of the model before a search for these properties; None: it makes no
        machine code. Raises `Unsupported`.
        """
        ...

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
        times a second at most. An interrupt from the keyboard ends the run as a limit does. Raises
        `Unsupported`, and nothing else on a legal model.
        """
        ...


@runtime_checkable
class OnCluster(Protocol):
    """An engine that runs on a cluster."""

    def on(self, cluster: Cluster) -> Engine:
        """The same engine on a certain cluster. Raises `Rejected` where that cannot be."""
        ...


@runtime_checkable
class Observing(Protocol):
    """An engine that visits states, and can tell what `ir.Observe` says on the way."""

    name: str

    def observe(
        self,
        model: Model,
        observer: Observer | None,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        """As `Engine.run`; ``observer`` is told everything that the search looked at, at least
        once each, from any thread. It knows all that the levels which count depend on.
        """
        ...


class Family(Protocol):
    """A model with symbolic constants, ready to be searched with one choice of values after the
    other.
    """

    def run(self, values: Sequence[int], deadlock: bool, limits: Limits) -> Outcome:
        """What a search of the model with these values finds, up to the first problem. Of that it
        tells what it is, and neither the trace nor the place.
        """
        ...
