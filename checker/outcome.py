"""What every engine returns: verdict, trace, statistics, coverage. Plain data.

It does not know how a search works, nor how a result is shown.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Literal, TypeAlias, assert_never

from fencepost.checker.profile import Profile
from fencepost.spec.core.ir import Site
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import BlockedAction, Choice
from fencepost.spec.text.source import Span


class Verdict(Enum):
    """The outcome of a check (docs/language.md section 10)."""

    OK = "ok"
    VIOLATED = "violated"
    DEADLOCK = "deadlock"
    ASSERTION = "assertion"
    ERROR = "error"
    UNREACHED = "unreached"
    ASSUMPTION = "assumption"
    INCONCLUSIVE = "inconclusive"


LimitKind: TypeAlias = Literal[
    "depth",
    "max-states",
    "runs",
    "timeout",
    "memory",
    "solver-timeout",
    "machine",
    "solver",
    "interrupt",
    "outside",
]
"""What may end a search: the options of these names, "machine" (the system gives no more memory),
"solver" (it gave up), an "interrupt" by the user, or, where behaviours are asked for, that
there are states "outside" a constraint.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """What ended a search before it had seen everything; ``str`` of it is what users read."""

    kind: LimitKind
    number: float | None = None
    """Steps, states, seconds or bytes as given; None for the kinds that are no option."""
    reason: str = ""
    """For a "solver": which one gave up, and why. For a "machine": what bounds the memory."""
    constant: str = ""
    """``E0 = 5`` where one search of several met the limit: that with this value of the symbolic
    constant. Empty: the limit is that of the whole check.
    """

    def __str__(self) -> str:
        match self.kind:
            case "depth" | "max-states" | "runs":
                text = f"--{self.kind} {self.number}"
            case "timeout" | "solver-timeout":
                text = f"--{self.kind} {self.number:g}"
            case "memory":
                text = f"--memory {as_given(int(self.number or 0))}"
            case "machine":
                text = self.reason
            case "solver":
                text = self.reason
            case "interrupt":
                text = "interrupted"
            case "outside":
                text = "a constraint"
            case _:
                assert_never(self.kind)
        return f"{text} with {self.constant}" if self.constant else text


def as_given(number: int) -> str:
    """Bytes as the command line takes them: ``2G``."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if number and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


INTERRUPTED = Limit("interrupt")
NO_INITIAL_STATE = "There is no initial state, so everything holds."
"""A note of an outcome: the verdict says nothing about the steps of the model."""


@dataclass(frozen=True, slots=True)
class Step:
    """An action taken (None: an initial state) and the state it leads to.

    ``action`` is the number of the action in the model. ``state`` is None for the step of an
    evaluation error or failed assertion, which is not completed.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None


@dataclass(frozen=True, slots=True)
class Trace:
    """A path from an initial state, one `Step` per state.

    From position ``loop`` on its steps come again and again, in this order, so that the last state
    is also the one before ``loop``; where that is the last position, nothing happens any more.
    None: the trace ends.
    """

    steps: tuple[Step, ...]
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class FairTo:
    """Why a trace without end is fair to an action, as far as the first of its choices are
    ``choices``: the step to position ``taken`` is one that counts, or none is possible in the state
    at position ``impossible`` (where the fairness is ``strong``, in none of those that come again).
    """

    action: int
    choices: tuple[Choice, ...]
    strong: bool
    taken: int | None = None
    impossible: int | None = None


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why an action of a model that is refined does not make a step: its step that comes nearest,
    with its ``choices``, leads to ``state``; or fails at ``site``; or the ``guards`` are false.
    Without an ``action``: the initial state that comes nearest.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None = None
    site: int | None = None
    guards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Misfit:
    """A step that is none of the model that is refined, and an image of a state that is not initial
    there (``before`` is None): the images of both states, and why no action makes it.
    """

    before: State | None
    after: State
    actions: tuple[Unfit, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """How far a trace fits a scenario of this ``name``: ``behind`` of its ``steps`` are taken."""

    name: str
    behind: int
    steps: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: what broke, where, and the shortest way there.

    ``property`` is the index of the property in the model (None for a deadlock, assertion,
    evaluation error or assumption). ``depth`` as docs/language.md section 10 counts it.
    ``instance``: the values of the quantified variables for which the property fails, with their
    names.
    ``failing`` is the innermost part of the property that is false there; ``blocked`` explains
    a deadlock. ``constants`` are the values of the symbolic constants in the trace, by path.
    ``index`` orders problems of one kind at the same depth, see `account.Candidate`. ``fair``: why
    a trace without end is fair to all to which that is owed; ``since``: from which position on the
    failing part fails. ``misfit``: why a step violates a refinement. ``fit``: of a scenario, which
    is no problem where it is met: then the verdict is OK.
    """

    verdict: Verdict
    property: int | None
    depth: int
    trace: Trace | None
    site: Site | None = None
    instance: tuple[Choice, ...] = ()
    failing: Span | None = None
    blocked: tuple[BlockedAction, ...] = ()
    constants: tuple[Choice, ...] = ()
    index: int = -1
    fair: tuple[FairTo, ...] = ()
    since: int | None = None
    misfit: Misfit | None = None
    fit: Fit | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a search (docs/language.md section 10).

    ``levels`` are the distinct states per level, ``transitions`` the successors generated from
    each level; seconds are wall time. An engine that visits no states one by one has nothing
    ``counted``: then depth, seconds and memory are all that there is.
    """

    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]
    transitions: tuple[int, ...]
    seconds: float
    peak_bytes: int
    counted: bool = True
    orbits: int | None = None
    """How many states were visited, each for all of its orbit, where symmetry was used; the other
    counts are those of a search of all states.
    """
    decided_seconds: float | None = None
    """The part of ``seconds`` in which properties of behaviours were decided; None: none were."""

    @property
    def searched_seconds(self) -> float:
        """The part of ``seconds`` before properties of behaviours were decided."""
        return self.seconds - (self.decided_seconds or 0.0)


@dataclass(frozen=True, slots=True)
class Undecided:
    """Properties of behaviours that were not decided, since `Outcome.cut` ended the run while the
    first of them was. ``searched`` is the limit that cut the search of states or paths as well;
    None: the search was complete.
    """

    properties: tuple[int, ...]
    searched: Limit | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """States that can only lose, duplicate or step to themselves, and are not terminal."""

    count: int
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What happened in the states and steps that were counted.

    ``taken``: completed steps per action. ``marks``: the numbers of the coverage marks that
    were set. ``blocked``: per guard number of kind "capacity", how often it was false.
    ``cut``: distinct states outside a constraint. ``reached``: indices of the reachables seen.
    """

    taken: tuple[int, ...]
    marks: frozenset[int]
    blocked: dict[int, int] = field(default_factory=dict[int, int])
    cut: int = 0
    reached: frozenset[int] = frozenset()
    stuck: Stuck = Stuck(0, None)


@dataclass(frozen=True, slots=True)
class Proof:
    """What induction says of one thing that was to be proved.

    ``subject`` names it ("invariant S8", "no evaluation error"), ``property`` is its index where it
    is one. ``reason``: why it was not proved ("not inductive", or that the solver gave up); None:
    it was. ``finding`` is a counterexample to induction: a trace from a state that the model need
    not reach, at the end of which the subject fails though it holds before.
    """

    subject: str
    property: int | None
    reason: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The checkpoint from which a search was resumed: its folder and its number of levels."""

    place: str
    levels: int
    signed: bool
    """Whether this checkpoint and every earlier one on which it relies were signed."""


class Fact(str):
    """A note about how a search ran, which takes nothing from the verdict: --strict allows it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found, over the properties that it was asked for."""

    verdict: Verdict
    """The verdict of the first finding; without one, OK, or INCONCLUSIVE where a limit was met."""
    findings: tuple[Finding, ...]
    """The problems, the one to report first; more than one only under --continue, none for OK. Of a
    scenario that is met, the run that fits it.
    """
    statistics: Statistics
    """Of a search by regions, the sums over them; the depth is that of the problem, or the
    greatest.
    """
    coverage: Coverage
    """What was taken, reached and blocked in the part that was searched."""
    cut: Limit | None = None
    """The limit that ended the search, also where a problem had been found by then."""
    interrupted: bool = False
    """Whether the user ended the run, be it the search or what was done with its result: then no
    other check is run.
    """
    exact: bool = True
    """Every reachable state within the limits was visited, none merged with another."""
    notes: tuple[str, ...] = ()
    """What else a reader should know, in sentences."""
    script: str | None = None
    """Everything that the solver was asked, in SMT-LIB 2, where that was to be kept."""
    proofs: tuple[Proof, ...] = ()
    """What induction says of each thing that was to be proved; empty for other engines."""
    lemmas: tuple[str, ...] = ()
    """The lemmas that induction found by itself, and needed."""
    regions: tuple[Region, ...] = ()
    """The regions of a symbolic constant, ascending by their values."""
    profile: Profile | None = None
    """What the visited states look like, where that was asked."""
    undecided: Undecided | None = None
    """What was left to decide; None unless `cut` ended the decision phase."""
    resumed: Resumed | None = None
    """Where the search was resumed; None if it began from the initial states."""

    @property
    def limit(self) -> Limit | None:
        """The limit on which the verdict depends: a problem is one whatever was not searched."""
        return None if self.findings else self.cut

    @property
    def search_cut(self) -> Limit | None:
        """The limit that cut the search of states; None: all within the constraints were visited,
        even if not every property of behaviours was decided.
        """
        cut = self.cut if self.undecided is None else self.undecided.searched
        return None if cut is not None and cut.kind == "outside" else cut


@dataclass(frozen=True, slots=True)
class Region:
    """Values of the symbolic constant for which a search comes out alike, but for the numbers that
    it prints.

    ``ranges`` hold the values, ascending, both ends included; of a bool or an enum, their places
    in the type. ``value`` is the one that was searched with, and ``outcome`` its outcome.
    """

    ranges: tuple[tuple[int, int], ...]
    value: Value
    outcome: Outcome
