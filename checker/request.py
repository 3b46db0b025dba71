"""Requests to engines, and the protocols that engines implement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from fencepost.checker.estimate import Estimate
from fencepost.checker.outcome import Outcome
from fencepost.spec.core.ir import Model
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Solving:
    """Options for engines with a solver."""

    seconds: float | None = None
    """The maximum time for one query in seconds; None means no limit."""
    k: int = 1
    """The depth of k-induction: the number of consecutive steps that are assumed."""
    record: bool = False
    """Whether to record all queries, for `Outcome.script`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a search. None means no limit."""

    depth: int | None = None
    """The maximum number of steps from an initial state."""
    max_states: int | None = None
    """The maximum number of distinct states."""
    timeout: float | None = None
    """The maximum time for the whole search in seconds."""
    memory: int | None = None
    """The maximum memory of the process in bytes."""
    workers: int | None = None
    """The number of threads, for parallel engines. None means one per processor."""
    solving: Solving = Solving()
    """The options for engines with a solver."""
    spill: str | None = None
    """The folder to which expanded states are moved when memory runs short."""


MAX_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """Options for an engine that runs on a cluster."""

    master: str | None = None
    """The URL of the cluster. None means the master in Spark's configuration, or this machine if
    there is none.
    """
    partitions: int | None = None
    """The number of partitions for states. None leaves the choice to Spark."""
    settings: tuple[tuple[str, str], ...] = ()
    """Spark properties by name."""
    session: object = None
    """An existing Spark session, which is used unchanged."""
    states: str | None = None
    """The output folder for the state graph."""
    title: str = ""
    """The name of this search. It is unique in the folder."""
    ship: bool = False
    """Whether to send this package to the executors."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Where and how to save a search."""

    folder: str
    """A path or, for an engine on a cluster, a URL."""
    resumed: bool = False
    """Whether to resume from the last checkpoint."""
    title: str = ""
    """The name of this search. It is unique in the folder."""
    unsigned: bool = False
    """Whether to accept an unsigned checkpoint."""

    @property
    def checkpoint(self) -> str | None:
        """The value of --checkpoint, or None if the search is resumed."""
        return None if self.resumed else self.folder

    @property
    def resume(self) -> str | None:
        """The value of --resume, or None if the search is not resumed."""
        return self.folder if self.resumed else None

    @property
    def place(self) -> str:
        """The folder that belongs to this search."""
        return f"{self.folder.rstrip('/')}/{self.title}" if self.title else self.folder


Phase: TypeAlias = Literal["automaton", "graph", "product", "edges", "components", "lasso"]
"""The phases of deciding a property of behaviours, in order. Some engines skip phases, and earlier
phases are repeated for a component that is searched again.
"""


@dataclass(frozen=True, slots=True)
class Deciding:
    """The progress in deciding a property of behaviours: its title, the current phase, and the
    number of edges and components so far.

    ``left`` holds a lower and an upper bound of the remaining seconds, or None if they are unknown.
    """

    property: str
    phase: Phase
    edges: int = 0
    components: int = 0
    left: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """The progress of random runs: the number of completed runs and of their steps."""

    runs: int
    steps: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a search: the level being expanded, counted from 1, and the counts so far.

    ``queue`` is the number of states that were found but not yet expanded. If ``counted`` is false,
    as for a symbolic engine, the counts are 0. ``remark`` is text from the engine, and ``estimate``
    is the expected total number of states. ``deciding`` is set while properties of behaviours are
    decided after the search. For random runs, ``runs`` is set, ``distinct`` is an estimate, and
    ``level`` and ``queue`` are 0.
    """

    level: int
    distinct: int
    generated: int
    queue: int
    seconds: float
    bytes: int
    counted: bool = True
    remark: str = ""
    estimate: Estimate | None = None
    deciding: Deciding | None = None
    runs: Runs | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """The cost of compiling a model: the seconds to emit intermediate code, and the seconds and
    bytes for the quick and the optimized machine code.

    ``better_bytes`` is None if the code was not optimized. In that case ``better`` is an estimate.
    """

    written: float
    quick: float
    quick_bytes: int
    better: float
    better_bytes: int | None


class Unsupported(Exception):
    """Raised when the engine cannot run this model.

    ``what`` is a clause about the engine ("it does not ..."). ``span`` is the part of the spec that
    needs the missing feature, if that is known. ``instead`` suggests a remedy other than another
    engine, and ``code`` is the code of the problem.
    """

    code = "F807"

    def __init__(
        self,
        what: str,
        span: Span | None = None,
        instead: str = "",
    ) -> None:
        super().__init__(what)
        self.span = span
        self.instead = instead


class RangeNeeded(Unsupported):
    """Raised when the engine needs bounds that a number without a declared range does not have."""

    code = "F810"

    def __init__(self, what: str) -> None:
        super().__init__(what, None, "declare a range such as 0..10, or use --engine local")


@contextmanager
def required_by(span: Span | None) -> Generator[None]:
    """Adds ``span`` to an `Unsupported` error that has no span yet."""
    try:
        yield
    except Unsupported as unsupported:
        unsupported.span = unsupported.span or span
        raise


class CannotRun(Rejected):
    """Raised when the engine cannot run on this machine at all."""


def refuse_symbols(model: Model) -> None:
    """Raises `Unsupported` if the model has symbolic constants."""
    for symbol in model.symbols:
        message = f"it does not search for all values of {symbol.path} at once"
        instead = f'"--const {symbol.path}=VALUE" gives it one; "--engine local" takes them all'
        raise Unsupported(message, symbol.span, instead)


def refuse_behaviours(model: Model, properties: Collection[int]) -> None:
    """Raises `Unsupported` if one of the requested properties requires deciding behaviours."""
    for number in model.searched(properties).behaviours:
        prop = model.properties[number]
        message = f"it does not decide temporal properties such as {prop.title}"
        instead = '"--engine local" does, and "--engine bmc" finds short lassos'
        raise Unsupported(message, prop.span, instead)


def refuse_refinements(model: Model, properties: Collection[int]) -> None:
    """Raises `Unsupported` if one of the requested properties is a refinement."""
    for number in model.searched(properties).step_invariants:
        prop = model.properties[number]
        if prop.abstract is not None:
            message = f"it does not check refinements such as {prop.title}"
            raise Unsupported(message, prop.span, '"--engine local" and "--engine interpreter" do')


def ignored(_: Progress) -> None:
    """Ignores a progress report."""


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments for a run of an engine."""

    model: Model
    properties: frozenset[int]
    """The indices of the properties to check. Assumptions, assertions and evaluation errors are
    always checked.
    """
    deadlock: bool = True
    """Whether a deadlock is a problem."""
    limits: Limits = Limits()
    keep_going: bool = False
    """Whether to continue after a violated property. Each property is reported once, at its least
    depth.
    """
    progress: Callable[[Progress], None] = ignored
    """The function that receives progress reports. It is called at most a few times a second."""
    profile: bool = False
    """Whether the outcome should include a profile, for engines with --profile."""
    symmetry: bool = True
    """Whether to visit only one of several symmetric states, for engines with --no-symmetry."""
    observer: Observer | None = None
    """A function that engines that visit states call with each value that an `ir.Observe` reports.
    It is called at least once for each value, from any thread, before the level is counted.
    """
    saving: Saving | None = None
    """Where to save the search, for engines with --checkpoint."""
    tolerant: bool = False
    """Whether to ignore evaluation errors and failed assertions. If so, a step that fails is not
    taken, and an undefined property is not violated. For engines that visit states.
    """
    named: tuple[Model, str] | None = None
    """A model and a name that is derived from its content and is the same in every run. The name is
    valid only if ``model`` is that object, because requests are copied with other models.
    """

    @property
    def model_name(self) -> str | None:
        """The name of ``model``, or None if it has no name."""
        return self.named[1] if self.named is not None and self.named[0] is self.model else None


class Engine(Protocol):
    """An engine that checks models. The table `checker.engines` lists its capabilities."""

    name: str

    @property
    def library(self) -> str:
        """The library that the engine uses, with its version, or "" if it uses none."""
        ...

    def obstacle(self) -> str | None:
        """Returns the reason why the engine cannot run on this machine, or None if it can."""
        ...

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """Compiles the model for a search for these properties. Returns None if the engine
        generates no machine code. Raises `Unsupported` if the engine cannot run the model.
        """
        ...

    def run(self, request: Request) -> Outcome:
        """Checks the model. A keyboard interrupt ends the run like a limit.

        For a valid model, raises only `Unsupported`.
        """
        ...


@runtime_checkable
class OnCluster(Protocol):
    """An engine that runs on a cluster."""

    def on(self, cluster: Cluster) -> Engine:
        """Returns the same engine on the given cluster. Raises `Rejected` if that is impossible."""
        ...


class Family(Protocol):
    """A compiled model with symbolic constants. It can be searched for many combinations of their
    values.
    """

    def run(self, values: Sequence[int], limits: Limits) -> Outcome:
        """Searches the model with these values until the first problem. The finding has neither a
        trace nor a site.
        """
        ...
