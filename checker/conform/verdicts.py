"""What is found of a history: the verdict on it, and what that rests upon.

It does not know how a run is looked for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from fencepost.checker.conform.lines import History, Key, Line
from fencepost.spec.core.recording import Recording
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass

USUAL_STATES = 100_000
USUAL_AHEAD = 2

Verdict: TypeAlias = Literal["allowed", "not allowed", "unknown", "unread"]
Events: TypeAlias = tuple[tuple[int, Line], ...]
"""Events that are read, each with the number of its source."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How far a history is searched: product states, and messages under way in the last layer."""

    states: int = USUAL_STATES
    ahead: int = USUAL_AHEAD

    def last_layer(self, recording: Recording) -> int:
        """The most messages that are under way in the last layer."""
        return self.ahead if recording.under_way is None else recording.under_way

    def lines(self, recording: Recording) -> int:
        """How many events of a source a search may come to, where a step shows one at most: in each
        layer a state is visited, whatever the limit is.
        """
        return self.states + self.last_layer(recording) + 2


class Did(NamedTuple):
    """What led to a product state: a step of the model (``action``), an ``input``, or both;
    ``events`` are those that were read, and ``marks`` the coverage marks that the step sets.
    """

    kind: Literal["start", "step", "input", "ahead", "request", "answer", "tolerated"]
    action: int | None = None
    rule: int | None = None
    values: tuple[Value, ...] = ()
    events: Events = ()
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The next event of a source, or None: all of its ``total`` events are read, or it is not
    kept.
    """

    source: str
    read: int
    total: int
    line: Line | None


@dataclass(frozen=True, slots=True)
class Layer:
    """How a layer ended: the most messages under way (``ahead``), the product states visited by
    then, and whether it was searched to its end.
    """

    ahead: int
    states: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a history, and what it rests upon.

    ``way`` is a run to the longest prefix that can be read: states, and what led to each.
    ``waiting`` is what is next there, and ``instead`` what the model shows or answers there.
    ``cuts`` say where paths went no further. On the way actions were ``taken``, inputs ``used``,
    kinds of events ``seen`` and coverage marks of the model set (``marked``), by their numbers.
    """

    key: Key
    verdict: Verdict
    total: int
    read: int
    way: tuple[tuple[State, Did], ...] = ()
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
        """How many product states were visited."""
        return self.layers[-1].states if self.layers else 0


def unread(history: History) -> Judged:
    """The verdict on a history of which a line could not be read."""
    return Judged(history.key, "unread", history.total, 0)


class Judging(Protocol):
    """What judges histories."""

    def judge(self, history: History, effort: Effort) -> Judged:
        """The verdict on one history; where it is allowed, without the run."""
        ...
