"""Requests to a real system: what a mapping lets an outsider ask, and which values to ask with.

Values are taken from what the model is in: those that are there, their neighbours, and the ends of
their types. It does not know what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import assert_never

from fencepost.checker.conform.answers import asked_fields
from fencepost.checker.conform.fields import in_line
from fencepost.checker.printing.json_values import Json
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Event, EventField, Recording
from fencepost.spec.core.types import (
    Bag,
    Integer,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    State,
    Type,
    Union,
    Value,
    cardinality,
    values,
)
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected, listing

FEW = 8
"""Of a type with at most this many values all are tried."""
OFTEN, SELDOM = 6, 1
"""How often a value that is there is taken, and one that is not."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: the input of the mapping that it is, and its event, both by number, and
    which fields the request gives; the others are its answer.
    """

    rule: int
    number: int
    event: Event
    asked: tuple[EventField, ...]

    @property
    def answered(self) -> tuple[EventField, ...]:
        return tuple(one for one in self.event.fields if one not in self.asked)


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its kind, and the values of the fields that it gives."""

    kind: Kind
    given: tuple[Value, ...]

    @property
    def fields(self) -> dict[str, Json]:
        pairs = zip(self.kind.asked, self.given, strict=True)
        return {one.name: in_line(value, one.type) for one, value in pairs}


def kinds(recording: Recording, path: str) -> list[Kind]:
    """What an outsider can ask by a mapping. Raises `Rejected` where it cannot be driven."""
    if recording.bindings:
        names = listing([one.name for one in recording.bindings], "and")
        what = f"{path} binds names ({names}): requests have values of the model"
        raise Rejected([Problem("F852", recording.span, what)])
    for order in recording.orders:
        what = "what a driver hears has no order beside that in which it comes"
        raise Rejected([Problem("F852", order.span, what)])
    ahead = next((one for one in recording.inputs if one.kind == "ahead"), None)
    if ahead is not None:
        what = "what is put in ahead of its event is guessed; a driver knows what it asks"
        raise Rejected([Problem("F852", ahead.span, what)])
    found: list[Kind] = []
    for number, one in enumerate(recording.inputs):
        event = recording.events[one.event]
        asked = event.fields
        if one.answer is not None:
            places = asked_fields(one)
            asked = tuple(field for n, field in enumerate(event.fields) if n in places)
        found.append(Kind(number, one.event, event, asked))
    if not found:
        what = f"{path} has no `answers` and no `input`: there is nothing to send"
        raise Rejected([Problem("F852", recording.span, what)])
    return found


def proposed(
    kind: Kind, state: State, model: ir.Model, heard: Sequence[Json], random: Random
) -> Request:
    """A request of a kind; its values are those of a state or (``heard``) of the last answer more
    often than others.
    """
    there: dict[Type, list[Value]] = {}
    for variable, value in zip(model.variables, state, strict=True):
        _gather(value, variable.type, there)
    known = [one for one in heard if isinstance(one, int) and not isinstance(one, bool)]
    given = tuple(_value(one.type, there, known, random) for one in kind.asked)
    return Request(kind, given)


def _gather(value: Value, kind: Type, found: dict[Type, list[Value]]) -> None:
    """The parts of a value by their types, each once."""
    row = found.setdefault(kind, [])
    if value in row:
        return
    row.append(value)
    for part, type_ in _parts(value, kind):
        _gather(part, type_, found)


def _parts(value: Value, kind: Type) -> Iterator[tuple[Value, Type]]:
    if not isinstance(value, tuple):
        return
    match kind:
        case Record(fields=fields):
            yield from zip(value, (one.type for one in fields), strict=True)
        case Union(variants=variants):
            tag, *payload = value
            assert isinstance(tag, int)
            yield from zip(payload, (one.type for one in variants[tag].fields), strict=True)
        case Map(value=element):
            yield from ((one, element) for one in value)
        case Option(element) | Set(element) | Seq(element) | Bag(element):
            yield from ((one, element) for one in value)
        case Scalar():
            return
        case _:
            assert_never(kind)


def _value(
    kind: Type, there: Mapping[Type, list[Value]], known: Sequence[int], random: Random
) -> Value:
    match kind:
        case Record(fields=fields):
            whole = there.get(kind, [])
            if whole and random.random() < 0.5:
                return random.choice(whole)
            return tuple(_value(one.type, there, known, random) for one in fields)
        case Option(element):
            return () if random.random() < 0.3 else (_value(element, there, known, random),)
        case Set(element, capacity) | Seq(element, capacity):
            most = min(3, capacity if capacity is not None else 3, cardinality(element))
            found = [_value(element, there, known, random) for _ in range(random.randint(0, most))]
            return tuple(sorted(set(found))) if isinstance(kind, Set) else tuple(found)
        case Scalar():
            return _plain(kind, there.get(kind, []), known, random)
        case _:
            raise AssertionError(kind)


def _plain(kind: Type, there: Sequence[Value], known: Sequence[int], random: Random) -> Value:
    weights: dict[Value, int] = {}
    if isinstance(kind, Integer):
        low, high = kind.low, kind.high
        for one in (*(v for v in there if isinstance(v, int)), *known):
            for neighbour in (one - 1, one + 1):
                if low <= neighbour <= high:
                    weights.setdefault(neighbour, SELDOM)
            if low <= one <= high:
                weights[one] = OFTEN
        weights.setdefault(low, SELDOM)
        if not weights or cardinality(kind) <= FEW:
            weights = {one: weights.get(one, SELDOM) for one in range(low, high + 1)}
    else:
        weights = {one: OFTEN if one in there else SELDOM for one in values(kind)}
    return random.choices(list(weights), list(weights.values()))[0]
