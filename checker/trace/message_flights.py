"""What steps did to channels, and the flights of messages that follow from it.

It does not know what a message is: values of a model and shapes read from a file are treated alike.
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
    """One message put into a channel or taken out of it.

    ``read`` is a reception from a persistent channel: the message stays. ``duplicate`` adds a
    copy, ``lose`` takes a message away that is not received.
    """

    kind: ExchangeKind
    channel: str
    message: M


@dataclass(frozen=True, slots=True)
class Flight(Generic[M]):
    """A message on its way, from the step that sent (or copied) it to the one that ended it.

    Steps are positions in the trace. What is in a channel at the start is sent by position 0;
    ``sent`` is None where that is not known. ``ended`` is None while it is ``flying``, at the end
    of the trace.
    """

    channel: str
    message: M
    sent: int | None
    ended: int | None = None
    end: Literal["received", "lost", "flying"] = "flying"
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Causes:
    """By position in the trace: exchanges, and the earlier positions that a step needs.

    ``end`` are the positions that the problem needs, ``spare`` those without which the rest of
    the trace leads to the same problem.
    """

    exchanges: tuple[tuple[Exchange[Choice], ...], ...]
    needs: tuple[tuple[int, ...], ...]
    end: tuple[int, ...] = ()
    spare: frozenset[int] = frozenset()


def flights(steps: Sequence[Sequence[Exchange[M]]]) -> tuple[Flight[M], ...]:
    """The flights of a trace, in the order in which they begin.

    Which of several equal messages in a channel is received is not known: it is said to be the
    oldest.
    """
    found: list[Flight[M]] = []
    waiting: dict[tuple[str, M], deque[int]] = {}
    for position, exchanges in enumerate(steps):
        for exchange in exchanges:
            key = exchange.channel, exchange.message
            queue = waiting.setdefault(key, deque())
            match exchange.kind:
                case "send" | "duplicate":
                    copied = exchange.kind == "duplicate"
                    queue.append(len(found))
                    found.append(Flight(*key, position, copied=copied))
                case "receive" | "lose":
                    if not queue:
                        queue.append(len(found))
                        found.append(Flight(*key, None))
                    number = queue.popleft()
                    end: Literal["received", "lost"] = (
                        "received" if exchange.kind == "receive" else "lost"
                    )
                    found[number] = replace(found[number], ended=position, end=end)
                case "read":
                    sent = found[queue[0]].sent if queue else None
                    if queue and found[queue[0]].ended is None:
                        number = queue[0]
                        found[number] = replace(found[number], ended=position, end="received")
                    else:
                        found.append(Flight(*key, sent, position, "received"))
    return tuple(found)
