"""Results of engines, as plain data: verdict, traces, statistics, coverage."""

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
"""The limits that can end a search: options by their names; "machine" (the system has no more
memory); "solver" (it gave up); "interrupt" (by the user); and, for properties of behaviours,
"outside" (there are states outside a constraint).
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit that ended a search; ``str`` gives the text for users."""

    kind: LimitKind
    number: float | None = None
    """The value of the option (steps, states, seconds or bytes); None for other kinds."""
    reason: str = ""
    """For "solver", which solver gave up and why; for "machine", what bounds the memory."""
    constant: str = ""
    """For "solver", the solver that gave up and why; for "machine", what bounds the memory."""

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
    """Formats bytes as on the command line: ``2G``."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if number and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


INTERRUPTED = Limit("interrupt")
NO_INITIAL_STATE = "There is no initial state, so every property holds."
"""A note of an outcome whose verdict says nothing about the steps of the model."""


@dataclass(frozen=True, slots=True)
class Step:
    """An action and the state it leads to.

    ``action`` is its index in the model, or None for the initial state. ``state`` is None if an
    evaluation error or a failed assertion prevented the step.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None


@dataclass(frozen=True, slots=True)
class Trace:
    """A path from an initial state, with one `Step` per state.

    If ``loop`` is a position, the steps from there to the end repeat forever: the last state equals
    the one before position ``loop``. If ``loop`` is the last position, the last state repeats. None
    means that the trace ends.
    """

    steps: tuple[Step, ...]
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class FairTo:
    """Why an infinite trace is fair to an action whose choices begin with ``choices``.

    Either the step to position ``taken`` is one of its steps, or the action is disabled in the
    state at position ``impossible``; for ``strong`` fairness, in every state of the cycle.
    """

    action: int
    choices: tuple[Choice, ...]
    strong: bool
    taken: int | None = None
    impossible: int | None = None


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why an action of a refined model cannot make a step.

    Its nearest step, with ``choices``, leads to ``state``; or it fails at ``site``; or ``guards``
    are false. If ``action`` is None, ``state`` is the nearest initial state.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None = None
    site: int | None = None
    guards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Misfit:
    """A violated refinement: the image of a step that the refined model cannot make, or of a state
    that is not initial there (``before`` is None).
    """

    before: State | None
    after: State
    actions: tuple[Unfit, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """The extent to which a trace fits the scenario ``name``: ``behind`` of its ``steps`` are
    taken.
    """

    name: str
    behind: int
    steps: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem: what failed, where, and a shortest trace to it.

    ``property`` is the index of the property, or None for a deadlock, assertion, evaluation error
    or assumption. ``depth`` is defined in docs/language.md section 10. ``instance`` holds the
    values of the quantified variables that make the property fail, with their names. ``failing`` is
    the innermost false part of the property. ``blocked`` explains a deadlock. ``constants`` are the
    values of symbolic constants in the trace, by path. ``index`` orders problems of one kind at the
    same depth, see `account.Candidate`. ``fair`` explains why an infinite trace satisfies the
    fairness constraints, and ``since`` is the position where the failing part starts to fail.
    ``misfit`` explains a violated refinement. ``fit`` is set for a scenario; if the scenario is
    satisfied, the verdict is OK.
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

    ``levels`` holds the number of distinct states per level, ``transitions`` the number of
    successors generated from each level; seconds are wall time. If ``counted`` is false, as for
    symbolic engines, only depth, seconds and memory are valid.
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
    """The number of orbits visited, if symmetry was used; the other counts cover all states."""
    decided_seconds: float | None = None
    """The part of ``seconds`` spent on deciding properties of behaviours; None if there were
    none.
    """

    @property
    def searched_seconds(self) -> float:
        """The part of ``seconds`` spent on the search."""
        return self.seconds - (self.decided_seconds or 0.0)


@dataclass(frozen=True, slots=True)
class Undecided:
    """Properties of behaviours that were not decided, because `Outcome.cut` ended the run during
    the first of them.

    ``searched`` is the limit that also cut the search of states or paths; None if it was complete.
    """

    properties: tuple[int, ...]
    searched: Limit | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """States that are not terminal and only have steps that lose, duplicate or change nothing."""

    count: int
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of the states and steps that were counted.

    ``taken`` counts completed steps per action, ``marks`` holds the coverage marks that were set,
    and ``blocked`` counts how often each guard of kind "capacity" was false. ``cut`` is the number
    of distinct states outside a constraint, ``reached`` the indices of the reachables seen.
    """

    taken: tuple[int, ...]
    marks: frozenset[int]
    blocked: dict[int, int] = field(default_factory=dict[int, int])
    cut: int = 0
    reached: frozenset[int] = frozenset()
    stuck: Stuck = Stuck(0, None)


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of induction for one subject ("invariant S8", "no evaluation error").

    ``property`` is its index if it is a property. ``reason`` says why it was not proved ("not
    inductive", or that the solver gave up); None if it was proved. ``finding`` is a counterexample
    to induction: a trace from a possibly unreachable state, at whose end the subject fails though
    it holds before.
    """

    subject: str
    property: int | None
    reason: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The checkpoint that a search was resumed from: its folder and its number of levels."""

    place: str
    levels: int
    signed: bool
    """Whether this checkpoint and all earlier ones on which it depends were signed."""


class Fact(str):
    """A note about how a search ran, which does not weaken the verdict; --strict accepts it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a search for the requested properties."""

    verdict: Verdict
    """The verdict of the first finding; without findings, OK, or INCONCLUSIVE if a limit was
    reached.
    """
    findings: tuple[Finding, ...]
    """The problems, in the order of reporting: more than one only under --continue, none for OK.
    For a satisfied scenario, the run that fits it.
    """
    statistics: Statistics
    """For a search by regions, the sums over them; its depth is that of the problem, or the
    maximum.
    """
    coverage: Coverage
    """Coverage of the part that was searched."""
    cut: Limit | None = None
    """The limit that ended the search, even if a problem was found before."""
    interrupted: bool = False
    """Whether the user interrupted the search or its evaluation; no further check is run."""
    exact: bool = True
    """Whether every reachable state within the limits was visited, without merging distinct
    states.
    """
    notes: tuple[str, ...] = ()
    """Further remarks, as sentences."""
    script: str | None = None
    """All solver queries in SMT-LIB 2, if requested."""
    proofs: tuple[Proof, ...] = ()
    """The results of induction; empty for other engines."""
    lemmas: tuple[str, ...] = ()
    """The lemmas that induction found and used."""
    regions: tuple[Region, ...] = ()
    """The regions of a symbolic constant, in ascending order of values."""
    profile: Profile | None = None
    """The profile of visited states, if requested."""
    undecided: Undecided | None = None
    """The properties that remain undecided; None unless `cut` ended the decision phase."""
    resumed: Resumed | None = None
    """The checkpoint that the search continued from; None if it began with the initial states."""

    @property
    def limit(self) -> Limit | None:
        """The limit on which the verdict depends. A problem does not depend on any."""
        return None if self.findings else self.cut

    @property
    def search_cut(self) -> Limit | None:
        """The limit that cut the search of states; None if all states within the constraints were
        visited, even if some property of behaviours was not decided.
        """
        cut = self.cut if self.undecided is None else self.undecided.searched
        return None if cut is not None and cut.kind == "outside" else cut


@dataclass(frozen=True, slots=True)
class Region:
    """Values of the symbolic constant with the same search result, apart from the numbers in it.

    ``ranges`` holds the values as closed intervals in ascending order; for a bool or an enum, the
    positions in the type. ``value`` is the value used for the search with the result ``outcome``.
    """

    ranges: tuple[tuple[int, int], ...]
    value: Value
    outcome: Outcome
