"""Exchanges of steps with channels, and the flights of messages derived from them.

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
    """A message put into a channel or taken from it.

    ``read`` receives from a persistent channel, where the message stays. ``duplicate`` adds a copy;
    ``lose`` removes a message that is not received.
    """

    kind: ExchangeKind
    channel: str
    message: M


@dataclass(frozen=True, slots=True)
class Flight(Generic[M]):
    """A message in transit, from the step that sent or copied it to the step that ended its flight.

    Steps are positions in the trace. The initial content of a channel is sent by position 0;
    ``sent`` is None if unknown. ``ended`` is None for a message still in flight at the end.
    """

    channel: str
    message: M
    sent: int | None
    ended: int | None = None
    end: Literal["received", "lost", "flying"] = "flying"
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Causes:
    """Exchanges and needed earlier positions, by position in the trace.

    ``end`` holds the positions that the problem needs, ``spare`` those without which the others
    still lead to it.
    """

    exchanges: tuple[tuple[Exchange[Choice], ...], ...]
    needs: tuple[tuple[int, ...], ...]
    end: tuple[int, ...] = ()
    spare: frozenset[int] = frozenset()


def flights(steps: Sequence[Sequence[Exchange[M]]]) -> tuple[Flight[M], ...]:
    """The flights of a trace, in the order of their starts.

    Equal messages in a channel are indistinguishable; the oldest is assumed to be received first.
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
