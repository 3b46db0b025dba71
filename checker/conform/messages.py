"""The messages that the channels of a state hold."""

from __future__ import annotations

from typing import cast

from fencepost.spec.core.recording import Dropped
from fencepost.spec.core.types import State, Value


class Tags(dict[int, frozenset[int]]):
    """The tags of the messages that are in a variable, by its number."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __missing__(self, variable: int) -> frozenset[int]:
        messages = cast("tuple[tuple[int, ...] | int, ...]", self._state[variable])
        tags = frozenset(one[0] if isinstance(one, tuple) else one for one in messages)
        self[variable] = tags
        return tags


def counted(value: Value, kind: object) -> int:
    """How many messages are in a channel, or a family of channels, of this type."""
    assert isinstance(value, tuple)
    inner = getattr(kind, "value", None)
    return len(value) if inner is None else sum(counted(one, inner) for one in value)


def emptied(state: State, dropped: Dropped) -> State:
    """A state without the messages that are dropped."""
    content = state[dropped.variable]
    if not content:
        return state
    assert isinstance(content, tuple)
    kept = tuple(m for m in content if isinstance(m, tuple) and m[0] not in dropped.tags)
    if len(kept) == len(content):
        return state
    return (*state[: dropped.variable], kept, *state[dropped.variable + 1 :])
