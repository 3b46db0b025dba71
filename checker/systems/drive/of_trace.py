"""The requests in a saved trace: messages that its steps receive and a mapping can send, and steps
that an input of the mapping is.

Names of the trace may lack what the mapping puts before them: it was made of the model alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product

from fencepost.checker.systems.conform.lines import History
from fencepost.checker.systems.conform.mapping import Move
from fencepost.checker.systems.drive.possible import Possible, read_values
from fencepost.checker.systems.drive.requests import Kind, Request
from fencepost.checker.trace.document import ShownStep, TraceDocument
from fencepost.checker.trace.itf_values import encode
from fencepost.checker.trace.value_tree import text
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import (
    Integer,
    Option,
    Record,
    State,
    Type,
    Value,
    cardinality,
    values,
)

MAX_ENUMERATED = 64
"""Of a type with at most this many values all are tried; of another, those that are mentioned."""
MAX_TRIED = 20_000
"""Requests that are tried for one message."""
_NUMBER = re.compile(r"-?\d+")


def requests_of(
    document: TraceDocument, possible: Possible, kinds: Sequence[Kind]
) -> Iterator[Request]:
    """The requests of a trace in the order in which they are received, each made where the model
    is when it is asked for.
    """
    for step in document.steps:
        yield from _steps(step, possible, kinds)
        for exchange in step.act.exchanges:
            if exchange.kind in ("receive", "read"):
                message = text(exchange.message.tree)
                found = _sending(message, exchange.channel, possible, kinds)
                if found is not None:
                    yield found


def _sending(
    message: str, channel: str, possible: Possible, kinds: Sequence[Kind]
) -> Request | None:
    """A request that puts a message into a channel."""
    mapped = possible.mapped
    variables = mapped.model.variables
    places = [n for n, one in enumerate(variables) if _same(one.name, channel)]
    numbers = _numbers(message)
    for kind in kinds:
        if mapped.recording.inputs[kind.rule].body is None:
            continue
        for request in _made(kind, numbers):
            for state in possible.states:
                for move in possible.sent(state, request):
                    if any(_added(state, move, n, variables[n].type) == [message] for n in places):
                        return request
    return None


def _added(before: State, move: Move, variable: int, kind: Type) -> list[str]:
    old, new = before[variable], move.state[variable]
    if not isinstance(old, tuple) or not isinstance(new, tuple):
        return []
    element = getattr(kind, "element", None)
    if element is None:
        return []
    return [show(one, element) for one in (Counter(new) - Counter(old)).elements()]


def _steps(step: ShownStep, possible: Possible, kinds: Sequence[Kind]) -> Iterator[Request]:
    """The request that is a step of the trace."""
    mapped = possible.mapped
    for kind in kinds:
        if step.act.action == f"request {kind.event.name}":
            yield from islice(_asked(step, kind), 1)
            return
        action = mapped.recording.inputs[kind.rule].action
        if action is None or not _same(mapped.model.actions[action].name, step.act.action):
            continue
        said = step.arguments or {}
        for request in _made(kind, _numbers(str(said))):
            for state in possible.states:
                for move in possible.sent(state, request):
                    choices = {one.label: encode(one.value, one.type) for one in move.choices}
                    if choices == said:
                        yield request
                        return


def _asked(step: ShownStep, kind: Kind) -> Iterator[Request]:
    """The request that a trace of a recording says."""
    said = step.arguments or {}
    for request in _made(kind, _numbers(str(said))):
        pairs = zip(kind.asked, request.given, strict=True)
        if all(said.get(one.name) == encode(value, one.type) for one, value in pairs):
            yield request


def requests_in(history: History, kinds: Sequence[Kind]) -> list[Request]:
    """The requests of a recorded history, source by source."""
    found: list[Request] = []
    for _, _, lines, _ in history.ordered():
        for line in lines:
            for kind in kinds:
                if line.event == kind.number and not line.beyond:
                    given = dict(zip(kind.event.fields, read_values(line), strict=True))
                    found.append(Request(kind, tuple(given[one] for one in kind.asked)))
                    break
    return found


def _same(name: str, short: str) -> bool:
    return bool(short) and (name == short or name.endswith(f".{short}"))


def _numbers(said: str) -> list[int]:
    return sorted({int(one) for one in _NUMBER.findall(said)})


def _made(kind: Kind, numbers: Sequence[int]) -> Iterator[Request]:
    rows = [list(_candidates(one.type, numbers)) for one in kind.asked]
    for given in islice(product(*rows), MAX_TRIED):
        yield Request(kind, given)


def _candidates(kind: Type, numbers: Sequence[int]) -> Iterator[Value]:
    match kind:
        case Option(element):
            yield ()
            yield from ((one,) for one in _candidates(element, numbers))
        case Record(fields=fields):
            yield from product(*(list(_candidates(one.type, numbers)) for one in fields))
        case Integer():
            if kind.high - kind.low < MAX_ENUMERATED:
                yield from range(kind.low, kind.high + 1)
            else:
                yield from (one for one in numbers if kind.low <= one <= kind.high)
        case _:
            if cardinality(kind) <= MAX_ENUMERATED:
                yield from values(kind)
