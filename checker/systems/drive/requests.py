"""Generates requests to a real system: the kinds that a mapping provides, and values for their
fields.

Values are based on the current state of the model: values that occur in the state, their
neighbours, and the bounds of their types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from fencepost.checker.printing.json_values import Json
from fencepost.checker.systems.conform.answers import asked_fields
from fencepost.checker.systems.conform.fields import in_line
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Event, EventField, Recording
from fencepost.spec.core.types import (
    Integer,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    State,
    Type,
    Value,
    cardinality,
    opened,
    values,
)
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected, listing

MAX_ENUMERATED = 8
"""Maximum number of values of a type that are all tried."""
LIKELY, UNLIKELY = 6, 1
"""Weights of values that occur in the state, and of other values."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: the numbers of the input in the mapping and of its event, the event
    itself, and the fields that the request provides. The other fields of the event are the answer.
    """

    rule: int
    number: int
    event: Event
    asked: tuple[EventField, ...]

    @property
    def answered(self) -> tuple[EventField, ...]:
        return tuple(declared for declared in self.event.fields if declared not in self.asked)


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its kind, and the values of its fields."""

    kind: Kind
    given: tuple[Value, ...]

    @property
    def fields(self) -> dict[str, Json]:
        pairs = zip(self.kind.asked, self.given, strict=True)
        return {declared.name: in_line(value, declared.type) for declared, value in pairs}


def kinds(recording: Recording, path: str) -> list[Kind]:
    """Returns the kinds of requests of a mapping. Raises `Rejected` if the mapping cannot be
    driven.
    """
    if recording.bindings:
        names = listing([declared.name for declared in recording.bindings], "and")
        message = f"{path} binds names ({names}), but requests use values of the model"
        raise Rejected([Problem("F852", recording.span, message)])
    for order in recording.orders:
        message = "a driver receives answers in order, so no other order can be declared"
        raise Rejected([Problem("F852", order.span, message)])
    ahead = next((declared for declared in recording.inputs if declared.kind == "ahead"), None)
    if ahead is not None:
        message = "`ahead` guesses messages before their events; a driver knows its requests"
        raise Rejected([Problem("F852", ahead.span, message)])
    kinds_of_request: list[Kind] = []
    for number, declared in enumerate(recording.inputs):
        event = recording.events[declared.event]
        asked = event.fields
        if declared.answer is not None:
            positions = asked_fields(declared)
            asked = tuple(field for n, field in enumerate(event.fields) if n in positions)
        kinds_of_request.append(Kind(number, declared.event, event, asked))
    if not kinds_of_request:
        message = f"{path} has no `answers` and no `input`: there is nothing to send"
        raise Rejected([Problem("F852", recording.span, message)])
    return kinds_of_request


def proposed(
    kind: Kind, state: State, model: ir.Model, heard: Sequence[Json], random: Random
) -> Request:
    """Proposes a request of a kind. Values that occur in the state or in the last answer
    (``heard``) are preferred.
    """
    occurring: dict[Type, list[Value]] = {}
    for variable, value in zip(model.variables, state, strict=True):
        _gather(value, variable.type, occurring)
    numbers = [item for item in heard if isinstance(item, int) and not isinstance(item, bool)]
    chosen = tuple(_value(item.type, occurring, numbers, random) for item in kind.asked)
    return Request(kind, chosen)


def _gather(value: Value, kind: Type, by_type: dict[Type, list[Value]]) -> None:
    """Collects the distinct parts of a value by type."""
    row = by_type.setdefault(kind, [])
    if value in row:
        return
    row.append(value)
    for part, inner in opened(kind, value)[1]:
        _gather(inner, part.type, by_type)


def _value(
    kind: Type, occurring: Mapping[Type, list[Value]], numbers: Sequence[int], random: Random
) -> Value:
    match kind:
        case Record(fields=fields):
            whole = occurring.get(kind, [])
            if whole and random.random() < 0.5:
                return random.choice(whole)
            return tuple(_value(field.type, occurring, numbers, random) for field in fields)
        case Option(element):
            return () if random.random() < 0.3 else (_value(element, occurring, numbers, random),)
        case Set(element, capacity) | Seq(element, capacity):
            limit = min(3, capacity if capacity is not None else 3, cardinality(element))
            items = [
                _value(element, occurring, numbers, random) for _ in range(random.randint(0, limit))
            ]
            return tuple(sorted(set(items))) if isinstance(kind, Set) else tuple(items)
        case Scalar():
            return _plain(kind, occurring.get(kind, []), numbers, random)
        case _:
            raise AssertionError(kind)


def _plain(kind: Type, occurring: Sequence[Value], numbers: Sequence[int], random: Random) -> Value:
    weights: dict[Value, int] = {}
    if isinstance(kind, Integer):
        low, high = kind.low, kind.high
        for candidate in (*(v for v in occurring if isinstance(v, int)), *numbers):
            for neighbour in (candidate - 1, candidate + 1):
                if low <= neighbour <= high:
                    weights.setdefault(neighbour, UNLIKELY)
            if low <= candidate <= high:
                weights[candidate] = LIKELY
        weights.setdefault(low, UNLIKELY)
        if not weights or cardinality(kind) <= MAX_ENUMERATED:
            weights = {
                candidate: weights.get(candidate, UNLIKELY) for candidate in range(low, high + 1)
            }
    else:
        weights = {
            candidate: LIKELY if candidate in occurring else UNLIKELY for candidate in values(kind)
        }
    return random.choices(list(weights), list(weights.values()))[0]
