"""What an engine is asked, and what it offers.

It knows no engine.
"""

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
    """What is asked of an engine with a solver."""

    seconds: float | None = None
    """The most seconds that one question may take; None: as long as it takes."""
    k: int = 1
    """How many steps in a row induction assumes."""
    record: bool = False
    """Whether everything that the solver is asked is kept, for `Outcome.script`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to stop; None: nowhere."""

    depth: int | None = None
    """At most N steps from an initial state."""
    max_states: int | None = None
    """At most N distinct states."""
    timeout: float | None = None
    """Seconds for the whole search."""
    memory: int | None = None
    """Bytes, of the whole process."""
    workers: int | None = None
    """Threads, where the engine has several; None: one for each processor."""
    solving: Solving = Solving()
    """For engines with a solver."""
    spill: str | None = None
    """The folder in which states that were expanded may be kept, where memory is short."""


MOST_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is asked of an engine that runs on a cluster."""

    master: str | None = None
    """The URL of the cluster; None: what Spark is configured for, else this machine."""
    partitions: int | None = None
    """Over how many partitions the states are spread; None: Spark's own choice."""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of Spark, by name."""
    session: object = None
    """A session that is there already, and is used as it is."""
    states: str | None = None
    """The folder in which the state graph is left when the search is over."""
    title: str = ""
    """The name of this search among others in this folder."""
    ship: bool = False
    """Whether executors are given this package."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Where a search is saved from time to time."""

    folder: str
    """A path; for an engine on a cluster, also a URL."""
    resumed: bool = False
    """Whether it goes on from where it was saved last."""
    title: str = ""
    """The name of this search among others in the folder."""
    unsigned: bool = False
    """Whether an unsigned checkpoint is resumed, too."""

    @property
    def checkpoint(self) -> str | None:
        """The value of --checkpoint; None if the search is resumed."""
        return None if self.resumed else self.folder

    @property
    def resume(self) -> str | None:
        """The value of --resume."""
        return self.folder if self.resumed else None

    @property
    def place(self) -> str:
        """The folder of this search alone."""
        return f"{self.folder.rstrip('/')}/{self.title}" if self.title else self.folder


Phase: TypeAlias = Literal["automaton", "graph", "product", "edges", "components", "lasso"]
"""The phases in which a property of behaviours is decided, in their order. Some engines skip some;
a component that is searched again returns to an earlier one.
"""


@dataclass(frozen=True, slots=True)
class Deciding:
    """How far a property of behaviours is decided: its title, the phase, the number of edges of
    the state graph and of components so far.

    ``left`` bounds the seconds that the property may still take; None if unknown.
    """

    property: str
    phase: Phase
    edges: int = 0
    components: int = 0
    left: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: the level being expanded, counted from 1, and the counts so far.

    ``queue`` is the number of states found and not yet expanded. Where nothing is ``counted``, as
    by an engine that visits no states one by one, the counts are 0. ``remark`` is what else the
    engine has to say, and ``estimate`` how many states there may be in all. ``deciding`` is set in
    the decision phase, after the search.
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
    """A model as machine code: the seconds that it took to write it down for the
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


def refuse_behaviours(model: Model, properties: Collection[int]) -> None:
    """Raises `Unsupported` for a search for properties of behaviours."""
    for number in model.searched(properties).behaviours:
        prop = model.properties[number]
        what = f"it does not decide what holds of whole behaviours, as {prop.title} does"
        instead = '"--engine local" does, and "--engine bmc" finds short lassos'
        raise Unsupported(what, prop.span, instead)


def refuse_refinements(model: Model, properties: Collection[int]) -> None:
    """Raises `Unsupported` for a search for properties that say what refines what."""
    for number in model.searched(properties).step_invariants:
        prop = model.properties[number]
        if prop.abstract is not None:
            what = f"it does not hold steps against those of another module, as {prop.title} does"
            raise Unsupported(what, prop.span, '"--engine local" and "--engine interpreter" do')


def ignored(_: Progress) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True, slots=True)
class Request:
    """What an engine is asked."""

    model: Model
    properties: frozenset[int]
    """Which properties of the model are checked; assumptions, assertions and evaluation always
    are.
    """
    deadlock: bool = True
    """Whether a deadlock is a problem."""
    limits: Limits = Limits()
    keep_going: bool = False
    """A violated property does not end the search; each is reported once, at its least depth."""
    progress: Callable[[Progress], None] = ignored
    """Called a few times a second at most."""
    profile: bool = False
    """Whether the outcome is to have a profile; for engines that heed --profile."""
    symmetry: bool = True
    """Whether one state may stand for others that differ in which value of a symmetric type is
    which; for engines that heed --no-symmetry.
    """
    observer: Observer | None = None
    """For engines that visit states: called with everything that an `ir.Observe` says of what the
    search evaluates, at least once each, from any thread, before the level counts.
    """
    saving: Saving | None = None
    """Where the search is saved; for engines that heed --checkpoint."""
    tolerant: bool = False
    """An evaluation error or a failed assertion is no problem: such a step is none, and where a
    property has no value it is violated nowhere. For engines that visit states.
    """
    named: tuple[Model, str] | None = None
    """A model, and what names it by its content: no other has this name, in any run. It says
    nothing of another ``model`` that the request may have been given since.
    """

    @property
    def model_name(self) -> str | None:
        """What names the model; None: nothing does."""
        return self.named[1] if self.named is not None and self.named[0] is self.model else None


class Engine(Protocol):
    """A way to check a model; what it can do stands in the table of `checker.engines`."""

    name: str

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

    def run(self, request: Request) -> Outcome:
        """Checks the model. An interrupt from the keyboard ends the run as a limit does. Raises
        `Unsupported`, and nothing else on a legal model.
        """
        ...


@runtime_checkable
class OnCluster(Protocol):
    """An engine that runs on a cluster."""

    def on(self, cluster: Cluster) -> Engine:
        """The same engine on a certain cluster. Raises `Rejected` where that cannot be."""
        ...


class Family(Protocol):
    """A model with symbolic constants, ready to be searched with one choice of values after the
    other.
    """

    def run(self, values: Sequence[int], limits: Limits) -> Outcome:
        """What a search of the model with these values finds, up to the first problem: which one
        it is, without its trace and place.
        """
        ...
