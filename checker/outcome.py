"""The results of engines as plain data: verdicts, traces, statistics and coverage."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Literal, TypeAlias, assert_never

from fencepost.checker.growth import MIN_CUT_STATES, Growth
from fencepost.checker.profile import Profile
from fencepost.spec.core.ir import Site
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass, replace
from fencepost.spec.semantics.stepper import BlockedAction, Choice
from fencepost.spec.text.source import Span


class Verdict(Enum):
    """The outcome of a check, as defined in section 10 of docs/language.md."""

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
"""The limits that can end a search. Most are options. Of the others, "machine" means that the
system has no more memory, "solver" that the solver gave up, and "interrupt" that the user
interrupted the run. "outside" applies to properties of behaviours, when some states are outside a
constraint.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit that ended a search. ``str`` formats it for users."""

    kind: LimitKind
    number: float | None = None
    """The value of the option in steps, states, seconds or bytes; None for other kinds."""
    reason: str = ""
    """For "solver", which solver gave up and why; for "machine", what bounds the memory."""
    constant: str = ""
    """The symbolic constant and its value in the search that the limit ended, as ``name = value``.
    Empty if there is none.
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
    """Formats a number of bytes as on the command line, for example ``2G``."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if number and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


INTERRUPTED = Limit("interrupt")
POSTCONDITION = "F913"
"""The code of a postcondition that is not true after a complete search."""
NO_INITIAL_STATE = "There is no initial state, so every property holds."
"""The note of an outcome whose verdict says nothing about the steps of the model."""


@dataclass(frozen=True, slots=True)
class Step:
    """An action and the state that it leads to.

    ``action`` is the action's index in the model, or None for the initial state. ``state`` is None
    if an evaluation error or a failed assertion prevented the step. ``shown`` are the names and
    values that reports show instead of the variables, if any.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None
    shown: tuple[Choice, ...] | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A path from an initial state, with one `Step` for each state.

    If ``loop`` is a position, the steps from that position to the end repeat forever, and the last
    state equals the state before position ``loop``. If ``loop`` is the last position, the last
    state repeats. If ``loop`` is None, the trace ends.
    """

    steps: tuple[Step, ...]
    loop: int | None = None

    def of_first(self, count: int) -> Trace:
        """Returns the trace with only the first ``count`` variables of each state."""
        steps = (
            replace(step, state=None if step.state is None else step.state[:count])
            for step in self.steps
        )
        return Trace(tuple(steps), self.loop)


@dataclass(frozen=True, slots=True)
class FairTo:
    """Explains why an infinite trace satisfies a fairness constraint of the model. In a family of
    constraints, this is the one for steps whose choices begin with ``choices``.

    Either the step to position ``taken`` is taken for the constraint, or the constraint is not
    enabled in the state at position ``impossible``. With strong fairness, it must not be enabled in
    any state of the cycle.
    """

    constraint: int
    choices: tuple[Choice, ...]
    taken: int | None = None
    impossible: int | None = None


@dataclass(frozen=True, slots=True)
class Unfit:
    """Explains why an action of a refined model cannot make a step.

    There are three cases: its nearest step, with ``choices``, leads to ``state``; or it fails at
    ``site``; or ``guards`` are false. If ``action`` is None, ``state`` is the nearest initial
    state.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None = None
    site: int | None = None
    guards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Misfit:
    """Describes a violated refinement. ``before`` and ``after`` are the image of a step that the
    refined model cannot make. If ``before`` is None, ``after`` is the image of an initial state and
    is not initial in the refined model.
    """

    before: State | None
    after: State
    actions: tuple[Unfit, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """Describes how far a trace fits the scenario ``name``: it takes ``behind`` of the scenario's
    ``steps`` steps.
    """

    name: str
    behind: int
    steps: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem: what failed, where it failed, and a shortest trace that leads to it.

    ``property`` is the index of the property, or None for a deadlock, an assertion, an evaluation
    error or an assumption. ``depth`` is defined in section 10 of docs/language.md. ``instance``
    holds values of the quantified variables, with their names, that make the property fail, and
    ``failing`` is the innermost part of the property that is false. ``read`` is what this part
    reads of the last state, for a property without a body. ``blocked`` explains a deadlock.
    ``constants`` holds the values of the symbolic constants in the trace, by path. ``index`` orders
    problems of the same kind at the same depth, see `account.Candidate`. ``fair`` explains why an
    infinite trace satisfies the fairness constraints, and ``since`` is the position at which the
    failing part starts to fail. ``misfit`` explains a violated refinement. ``fit`` is set for a
    scenario; if the scenario is satisfied, the verdict is OK.
    """

    verdict: Verdict
    property: int | None
    depth: int
    trace: Trace | None
    site: Site | None = None
    instance: tuple[Choice, ...] = ()
    failing: Span | None = None
    read: tuple[Choice, ...] = ()
    blocked: tuple[BlockedAction, ...] = ()
    constants: tuple[Choice, ...] = ()
    index: int = -1
    fair: tuple[FairTo, ...] = ()
    since: int | None = None
    misfit: Misfit | None = None
    fit: Fit | None = None


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A finding for a violated property, and its cause: the actions of the steps that the violation
    needs.
    """

    finding: Finding
    cause: frozenset[int]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts of a search, as defined in section 10 of docs/language.md.

    ``levels`` holds the number of distinct states in each level, and ``transitions`` the number of
    successors generated from each level. ``seconds`` is wall time. If ``counted`` is false, as for
    symbolic engines, only the depth, the seconds and the memory are valid.
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
    """The number of orbits visited, if symmetry was used. The other counts cover all states."""
    decided_seconds: float | None = None
    """The part of ``seconds`` that was spent on deciding properties of behaviours; None if there
    were no such properties.
    """

    @property
    def searched_seconds(self) -> float:
        """The part of ``seconds`` spent on the search."""
        return self.seconds - (self.decided_seconds or 0.0)


@dataclass(frozen=True, slots=True)
class Undecided:
    """The properties of behaviours that remained undecided because the limit `Outcome.cut` ended
    the run during the first of them.

    ``searched`` is the limit that had already cut the search of states or paths. It is None if that
    search was complete.
    """

    properties: tuple[int, ...]
    searched: Limit | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """The states that are not terminal and whose only steps lose messages, duplicate messages or
    change nothing.
    """

    count: int
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of the counted states and steps.

    ``taken`` is the number of completed steps of each action, and ``marks`` holds the coverage
    marks that were set. ``blocked`` is the number of times that each guard of kind "capacity" was
    false. ``cut`` is the number of distinct states outside a constraint, or 1 if there are any and
    the engine does not count states. ``reached`` holds the indices of the reachables that were
    seen.
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

    ``property`` is the index of the subject if it is a property. ``reason`` says why the subject
    was not proved, for example that it is "not inductive" or that the solver gave up; it is None if
    the subject was proved. ``finding`` is a counterexample to induction: a trace from a possibly
    unreachable state. The subject fails in its last state and holds in all earlier ones.
    """

    subject: str
    property: int | None
    reason: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The checkpoint that a resumed search continued: its folder and its number of levels."""

    place: str
    levels: int
    signed: bool
    """Whether this checkpoint and all earlier checkpoints that it depends on were signed."""


class Fact(str):
    """A note about how a search ran. It does not weaken the verdict, and --strict accepts it."""

    __slots__ = ()


LONG_SEARCH = 1_000_000
"""The minimum number of states of a search whose report explains its size and its use of
memory and processors.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a search for the requested properties."""

    verdict: Verdict
    """The verdict of the first finding. If there are no findings, it is INCONCLUSIVE if a limit was
    reached, and OK otherwise.
    """
    findings: tuple[Finding, ...]
    """The problems in the order of the report. There is none if the verdict is OK, and more than
    one only with --continue. For a satisfied scenario, this is the run that fits it.
    """
    statistics: Statistics
    """The counts of the search. For a search by regions, the sums over the regions; the depth is
    that of the problem, or the maximum.
    """
    coverage: Coverage
    """The coverage of the part that was searched."""
    cut: Limit | None = None
    """The limit that ended the search, even if a problem was found first."""
    interrupted: bool = False
    """Whether the user interrupted the search or its evaluation. If so, no further check is run."""
    exact: bool = True
    """Whether the engine visited every reachable state within the limits without merging distinct
    states.
    """
    notes: tuple[str, ...] = ()
    """Further remarks, as sentences."""
    script: str | None = None
    """All solver queries in SMT-LIB 2, if they were requested."""
    proofs: tuple[Proof, ...] = ()
    """The results of induction; empty for other engines."""
    lemmas: tuple[str, ...] = ()
    """The lemmas that induction found and used."""
    regions: tuple[Region, ...] = ()
    """The regions of a symbolic constant, in ascending order of its values."""
    profile: Profile | None = None
    """The profile of the visited states, if it was requested."""
    growth: Growth | None = field(default=None, compare=False)
    """The contribution of each variable to the states, if the search was cut or is large. It
    depends on the order in which the workers find states.
    """
    undecided: Undecided | None = None
    """The properties that remain undecided. None unless `cut` ended the phase that decides
    properties of behaviours.
    """
    resumed: Resumed | None = None
    """The checkpoint that the search continued. None if it began with the initial states."""
    restarts: int = 0
    """The number of earlier searches, each of which left a range that was assumed for an integer
    without a declared range.
    """
    counterexamples: tuple[Counterexample, ...] = ()
    """The counterexamples of the property that is violated first, if several were requested. They
    begin with the first finding.
    """

    @property
    def limit(self) -> Limit | None:
        """The limit on which the verdict depends. The verdict for a problem depends on no limit."""
        return None if self.findings else self.cut

    @property
    def deserves_growth(self) -> bool:
        """Whether the report explains the number of states: the search was cut, or has many."""
        least = LONG_SEARCH if self.search_cut is None else MIN_CUT_STATES
        return self.statistics.distinct >= least

    @property
    def cut_by_constraint(self) -> bool:
        """Whether the verdict is inconclusive for the sole reason that properties of behaviours
        depend on states outside a constraint.
        """
        undecided = self.verdict is Verdict.INCONCLUSIVE and not self.interrupted
        return undecided and self.cut is not None and self.cut.kind == "outside"

    @property
    def search_cut(self) -> Limit | None:
        """The limit that cut the search of states. None if every state within the constraints was
        visited, even if some property of behaviours was not decided.
        """
        cut = self.cut if self.undecided is None else self.undecided.searched
        return None if cut is not None and cut.kind == "outside" else cut


@dataclass(frozen=True, slots=True)
class Region:
    """Values of the symbolic constant that lead to the same search result, apart from the numbers
    in it.

    ``ranges`` holds the values as closed intervals in ascending order. For a bool or an enum, they
    are intervals of positions in the type. The search with the constant set to ``value`` returned
    ``outcome``.
    """

    ranges: tuple[tuple[int, int], ...]
    value: Value
    outcome: Outcome
