"""Requests to engines, and the protocols that engines implement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
    """Maximum time for one query in seconds; None is unlimited."""
    k: int = 1
    """The depth of k-induction: the number of consecutive steps that are assumed."""
    record: bool = False
    """Whether to record all queries, for `Outcome.script`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a search; None is unlimited."""

    depth: int | None = None
    """Maximum number of steps from an initial state."""
    max_states: int | None = None
    """Maximum number of distinct states."""
    timeout: float | None = None
    """Seconds for the whole search."""
    memory: int | None = None
    """Maximum memory of the process in bytes."""
    workers: int | None = None
    """Number of threads, for parallel engines; None means one per processor."""
    solving: Solving = Solving()
    """For engines with a solver."""
    spill: str | None = None
    """The folder for expanded states when memory runs short."""


MAX_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """Options for an engine that runs on a cluster."""

    master: str | None = None
    """The URL of the cluster; None means Spark's configuration, or else this machine."""
    partitions: int | None = None
    """The number of partitions for states; None leaves the choice to Spark."""
    settings: tuple[tuple[str, str], ...] = ()
    """Spark properties by name."""
    session: object = None
    """An existing Spark session, used without changes."""
    states: str | None = None
    """The output folder for the state graph."""
    title: str = ""
    """The name of this search, unique in the folder."""
    ship: bool = False
    """Whether to send this package to executors."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Where and how a search is saved."""

    folder: str
    """A path or, for an engine on a cluster, a URL."""
    resumed: bool = False
    """Whether to resume the last checkpoint."""
    title: str = ""
    """The name of this search, unique in the folder."""
    unsigned: bool = False
    """Whether to accept an unsigned checkpoint."""

    @property
    def checkpoint(self) -> str | None:
        """The value of --checkpoint; None if the search is resumed."""
        return None if self.resumed else self.folder

    @property
    def resume(self) -> str | None:
        """The value of --resume; None if the search is not resumed."""
        return self.folder if self.resumed else None

    @property
    def place(self) -> str:
        """The folder of this search."""
        return f"{self.folder.rstrip('/')}/{self.title}" if self.title else self.folder


Phase: TypeAlias = Literal["automaton", "graph", "product", "edges", "components", "lasso"]
"""The phases of deciding a property of behaviours, in order. Some engines skip phases; a component
that is searched again repeats earlier ones.
"""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Progress in deciding a property of behaviours: its title, the phase, and the number of edges
    and components so far.

    ``left`` bounds the remaining seconds; None if unknown.
    """

    property: str
    phase: Phase
    edges: int = 0
    components: int = 0
    left: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a search: the level being expanded, counted from 1, and counts so far.

    ``queue`` is the number of states that were found and not yet expanded. If ``counted`` is false,
    as for a symbolic engine, the counts are 0. ``remark`` is text from the engine, ``estimate`` the
    expected total of states. ``deciding`` is set during the decision phase after the search.
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


@dataclass(frozen=True, slots=True)
class Translation:
    """The cost of compiling a model: seconds to emit the intermediate code, and seconds and bytes
    of the quick and the optimized machine code.

    ``better_bytes`` is None if the code was not optimized; ``better`` is then an estimate.
    """

    written: float
    quick: float
    quick_bytes: int
    better: float
    better_bytes: int | None


class Unsupported(Exception):
    """The engine cannot run this model.

    ``what`` completes "the engine ..." ("it does not ..."). ``span`` is the part of the spec that
    needs the missing feature, if known. ``instead`` suggests a remedy.
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
    """The engine cannot run on this machine at all."""


def refuse_symbols(model: Model) -> None:
    """Raises `Unsupported` for a model with symbolic constants."""
    for symbol in model.symbols:
        message = f"it does not search for all values of {symbol.path} at once"
        instead = f'"--const {symbol.path}=VALUE" gives it one; "--engine local" takes them all'
        raise Unsupported(message, symbol.span, instead)


def refuse_behaviours(model: Model, properties: Collection[int]) -> None:
    """Raises `Unsupported` if a property of behaviours is searched."""
    for number in model.searched(properties).behaviours:
        prop = model.properties[number]
        message = f"it does not decide temporal properties such as {prop.title}"
        instead = '"--engine local" does, and "--engine bmc" finds short lassos'
        raise Unsupported(message, prop.span, instead)


def refuse_refinements(model: Model, properties: Collection[int]) -> None:
    """Raises `Unsupported` if a refinement is searched."""
    for number in model.searched(properties).step_invariants:
        prop = model.properties[number]
        if prop.abstract is not None:
            message = f"it does not check refinements such as {prop.title}"
            raise Unsupported(message, prop.span, '"--engine local" and "--engine interpreter" do')


def ignored(_: Progress) -> None:
    """Discards progress."""


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of an engine's run."""

    model: Model
    properties: frozenset[int]
    """Indexes of the properties to check. Assumptions, assertions and evaluation errors are always
    checked.
    """
    deadlock: bool = True
    """Whether a deadlock is a problem."""
    limits: Limits = Limits()
    keep_going: bool = False
    """Continue after a violated property; each is reported once, at its least depth."""
    progress: Callable[[Progress], None] = ignored
    """Called at most a few times a second."""
    profile: bool = False
    """Whether the outcome includes a profile, for engines with --profile."""
    symmetry: bool = True
    """Whether symmetric states are explored once, for engines with --no-symmetry."""
    observer: Observer | None = None
    """For engines that visit states: called with every value that an `ir.Observe` reports, at least
    once each, from any thread, before the level is counted.
    """
    saving: Saving | None = None
    """Where to save the search, for engines with --checkpoint."""
    tolerant: bool = False
    """Ignore evaluation errors and failed assertions: such a step is not taken, and an undefined
    property is not violated. For engines that visit states.
    """
    named: tuple[Model, str] | None = None
    """A model and a name derived from its content, unique across runs. Only valid if ``model`` is
    that object, since requests are copied with other models.
    """

    @property
    def model_name(self) -> str | None:
        """The name of ``model``, or None if it has none."""
        return self.named[1] if self.named is not None and self.named[0] is self.model else None


class Engine(Protocol):
    """A way to check a model; the table `checker.engines` lists its capabilities."""

    name: str

    @property
    def library(self) -> str:
        """The library that it uses, with its version; "" if none."""
        ...

    def obstacle(self) -> str | None:
        """The reason that it cannot run on this machine, or None."""
        ...

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """Compiles the model for a search for these properties. Returns None if the engine
        generates no machine code. Raises `Unsupported`.
        """
        ...

    def run(self, request: Request) -> Outcome:
        """Checks the model. A keyboard interrupt ends the run like a limit.

        Raises `Unsupported`, and nothing else for a valid model.
        """
        ...


@runtime_checkable
class OnCluster(Protocol):
    """An engine that runs on a cluster."""

    def on(self, cluster: Cluster) -> Engine:
        """The same engine on a given cluster. Raises `Rejected` if that is impossible."""
        ...


class Family(Protocol):
    """A compiled model with symbolic constants, which can be searched with many choices of
    values.
    """

    def run(self, values: Sequence[int], limits: Limits) -> Outcome:
        """Searches the model with these values up to the first problem; the finding has no trace or
        place.
        """
        ...
