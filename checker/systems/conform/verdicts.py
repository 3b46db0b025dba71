"""The verdict on a history, and the evidence for it."""

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
    """Bounds for the search for a run: product states, and messages in flight in the last layer."""

    states: int = DEFAULT_STATES
    ahead: int = DEFAULT_AHEAD

    def last_layer(self, recording: Recording) -> int:
        """The maximum of messages in flight in the last layer."""
        return self.ahead if recording.under_way is None else recording.under_way

    def lines(self, recording: Recording) -> int:
        """The number of events of a source that a search can reach, if each step shows one: every
        layer visits a state, even if the limit is reached.
        """
        return self.states + self.last_layer(recording) + 2


class Origin(NamedTuple):
    """The origin of a product state: a step of the model (``action``), an ``input``, or both;
    ``events`` are the events it reads, ``marks`` the coverage marks that it sets.
    """

    kind: Literal["start", "step", "input", "ahead", "request", "answer", "tolerated"]
    action: int | None = None
    rule: int | None = None
    values: tuple[Value, ...] = ()
    events: Events = ()
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next event of a source, or None if all its ``total`` events are read or the event was not
    kept.
    """

    source: str
    read: int
    total: int
    line: Line | None


@dataclass(frozen=True, slots=True)
class Layer:
    """The end of a layer: the maximum of messages in flight (``ahead``), the product states visited
    so far, and whether it was searched completely.
    """

    ahead: int
    states: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a history, and the evidence for it.

    ``way`` is a run for the longest prefix that can be read: states, and their origins. ``waiting``
    has the next events at its end, ``instead`` what the model shows or answers there. ``cuts`` are
    the reasons why paths ended. The actions ``taken``, inputs ``used``, kinds of events ``seen``
    and coverage marks ``marked`` on the way are given by number.
    """

    key: Key
    verdict: Verdict
    total: int
    read: int
    way: tuple[tuple[State, Origin], ...] = ()
    waiting: tuple[Waiting, ...] = ()
    instead: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    tolerated: int = 0
    taken: Counter[int] = field(default_factory=Counter[int])
    used: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()

    @property
    def states(self) -> int:
        """The number of product states visited."""
        return self.layers[-1].states if self.layers else 0


def unread(history: History) -> Judgement:
    """The verdict on a history with an unreadable line."""
    return Judgement(history.key, "unread", history.total, 0)


class Judge(Protocol):
    """Judges histories."""

    def judge(self, history: History, effort: Effort) -> Judgement:
        """The verdict on one history; without the run if it is allowed."""
        ...
