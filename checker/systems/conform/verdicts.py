"""Defines the verdict on a history, and the evidence for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from fencepost.checker.systems.conform.lines import History, Key, Line
from fencepost.spec.core.recording import Recording
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass

DEFAULT_STATES = 100_000
DEFAULT_AHEAD = 2

Verdict: TypeAlias = Literal["allowed", "not allowed", "unknown", "unread"]
Events: TypeAlias = tuple[tuple[int, Line], ...]
"""Events that have been read, each with the number of its source."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Bounds of the search for a run: the number of product states, and the number of messages in
    flight in the last layer.
    """

    states: int = DEFAULT_STATES
    ahead: int = DEFAULT_AHEAD

    def last_layer(self, recording: Recording) -> int:
        """Returns the maximum number of messages in flight in the last layer."""
        return self.ahead if recording.under_way is None else recording.under_way

    def lines(self, recording: Recording) -> int:
        """Returns the number of events of a source that a search can reach if each step shows one
        event. Every layer visits a state, even if the limit has been reached.
        """
        return self.states + self.last_layer(recording) + 2


class Origin(NamedTuple):
    """The origin of a product state: a step of the model (``action``), an input (``rule``), or
    both. ``events`` are the events that it reads, and ``marks`` the coverage marks that it sets.
    """

    kind: Literal["start", "step", "input", "ahead", "request", "answer", "tolerated"]
    action: int | None = None
    rule: int | None = None
    values: tuple[Value, ...] = ()
    events: Events = ()
    marks: tuple[int, ...] = ()


class Reason(NamedTuple):
    """Why the next event of a source, given by its number, cannot come there."""

    source: int
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next event of a source. ``line`` is None if all ``total`` events have been read or the
    event was not kept.
    """

    source: str
    read: int
    total: int
    line: Line | None


@dataclass(frozen=True, slots=True)
class Layer:
    """The result of a layer: the maximum number of messages in flight (``ahead``), the number of
    product states visited so far, and whether the layer was searched completely.
    """

    ahead: int
    states: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a history, and the evidence for it.

    ``way`` is a run for the longest prefix that can be read, as a sequence of states with their
    origins. ``waiting`` contains the next events at the end of this run, and ``instead`` the events
    or answers of the model at that point. ``reasons`` are the explanations of the mapping, and
    ``nearest`` the smallest differences from the events of the model. ``otherwise`` says which
    other check allows the history. ``cuts`` contains the reasons why paths ended. ``taken``,
    ``used``, ``seen`` and ``marked`` contain the numbers of the actions, inputs, kinds of events
    and coverage marks that occur in the run.
    """

    key: Key
    verdict: Verdict
    total: int
    read: int
    way: tuple[tuple[State, Origin], ...] = ()
    waiting: tuple[Waiting, ...] = ()
    instead: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    nearest: tuple[Reason, ...] = ()
    otherwise: str = ""
    cuts: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    tolerated: int = 0
    taken: Counter[int] = field(default_factory=Counter[int])
    used: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()

    @property
    def offending(self) -> Waiting | None:
        """The event that most likely prevents a longer run, or None if there is none."""
        for reason in (*self.reasons, *self.nearest):
            return self.waiting[reason.source]
        return next((item for item in self.waiting if item.line is not None), None)

    @property
    def states(self) -> int:
        """The number of product states visited."""
        return self.layers[-1].states if self.layers else 0


def unread(history: History) -> Judgement:
    """Returns the verdict on a history with an unreadable line."""
    return Judgement(history.key, "unread", history.total, 0)


class Judge(Protocol):
    """A judge of histories."""

    def judge(self, history: History, effort: Effort) -> Judgement:
        """Judges one history. The verdict on an allowed history does not include the run."""
        ...
