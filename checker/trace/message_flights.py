"""Derives the flights of messages from the exchanges of steps with channels.

Messages may be values of a model or trees from a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, Literal, TypeAlias, TypeVar

from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice

M = TypeVar("M")

ExchangeKind: TypeAlias = Literal["send", "receive", "read", "lose", "duplicate"]


@dataclass(frozen=True, slots=True)
class Exchange(Generic[M]):
    """A message that a step puts into a channel or takes from it.

    ``read`` receives from a persistent channel, where the message stays. ``duplicate`` adds a copy,
    and ``lose`` removes a message that is not received.
    """

    kind: ExchangeKind
    channel: str
    message: M


@dataclass(frozen=True, slots=True)
class Flight(Generic[M]):
    """A message in transit, from the step that sent or copied it to the step at which it was
    received or lost.

    Steps are given as positions in the trace. The initial content of a channel counts as sent at
    position 0. ``sent`` is None if the sender is unknown, and ``ended`` is None if the message is
    still in flight at the end.
    """

    channel: str
    message: M
    sent: int | None
    ended: int | None = None
    end: Literal["received", "lost", "flying"] = "flying"
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Causes:
    """The causes in a trace. For each position, ``exchanges`` holds the exchanges of the step, and
    ``needs`` holds the earlier positions that the step needs.

    ``end`` holds the positions that the problem needs. ``spare`` holds positions of steps that can
    be left out so that the remaining steps still lead to the problem.
    """

    exchanges: tuple[tuple[Exchange[Choice], ...], ...]
    needs: tuple[tuple[int, ...], ...]
    end: tuple[int, ...] = ()
    spare: frozenset[int] = frozenset()


def flights(steps: Sequence[Sequence[Exchange[M]]]) -> tuple[Flight[M], ...]:
    """Returns the flights of a trace, ordered by their starts.

    Equal messages in a channel cannot be distinguished, so the oldest one is assumed to be received
    first.
    """
    result: list[Flight[M]] = []
    waiting: dict[tuple[str, M], deque[int]] = {}
    for position, exchanges in enumerate(steps):
        for exchange in exchanges:
            key = exchange.channel, exchange.message
            queue = waiting.setdefault(key, deque())
            match exchange.kind:
                case "send" | "duplicate":
                    copied = exchange.kind == "duplicate"
                    queue.append(len(result))
                    result.append(Flight(*key, position, copied=copied))
                case "receive" | "lose":
                    if not queue:
                        queue.append(len(result))
                        result.append(Flight(*key, None))
                    number = queue.popleft()
                    end: Literal["received", "lost"] = (
                        "received" if exchange.kind == "receive" else "lost"
                    )
                    result[number] = replace(result[number], ended=position, end=end)
                case "read":
                    sent = result[queue[0]].sent if queue else None
                    if queue and result[queue[0]].ended is None:
                        number = queue[0]
                        result[number] = replace(result[number], ended=position, end="received")
                    else:
                        result.append(Flight(*key, sent, position, "received"))
    return tuple(result)
