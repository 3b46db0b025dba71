"""Extracts the requests in a saved trace: messages received in its steps that a mapping can send,
and steps that are inputs of the mapping.

Names in the trace may lack the prefix of the mapping if the trace was made from the model alone.
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
"""Maximum number of values of a type that are all tried. For larger types, only the values
mentioned in the trace are tried.
"""
MAX_TRIED = 20_000
"""Maximum number of requests that are tried for one message."""
_NUMBER = re.compile(r"-?\d+")


def requests_of(
    document: TraceDocument, possible: Possible, kinds: Sequence[Kind]
) -> Iterator[Request]:
    """Yields the requests of a trace in the order of their receipt. Each request is built for the
    current states of the model.
    """
    for step in document.steps:
        yield from _steps(step, possible, kinds)
        for exchange in step.act.exchanges:
            if exchange.kind in ("receive", "read"):
                message = text(exchange.message.tree)
                request = _sending(message, exchange.channel, possible, kinds)
                if request is not None:
                    yield request


def _sending(
    message: str, channel: str, possible: Possible, kinds: Sequence[Kind]
) -> Request | None:
    """Returns a request that puts a message into a channel, or None."""
    mapped = possible.mapped
    variables = mapped.model.variables
    channels = [n for n, variable in enumerate(variables) if _same(variable.name, channel)]
    numbers = _numbers(message)
    for kind in kinds:
        if mapped.recording.inputs[kind.rule].body is None:
            continue
        for request in _made(kind, numbers):
            for state in possible.states:
                for move in possible.sent(state, request):
                    if any(
                        _added(state, move, n, variables[n].type) == [message] for n in channels
                    ):
                        return request
    return None


def _added(before: State, move: Move, variable: int, kind: Type) -> list[str]:
    old, new = before[variable], move.state[variable]
    if not isinstance(old, tuple) or not isinstance(new, tuple):
        return []
    element = getattr(kind, "element", None)
    if element is None:
        return []
    return [show(message, element) for message in (Counter(new) - Counter(old)).elements()]


def _steps(step: ShownStep, possible: Possible, kinds: Sequence[Kind]) -> Iterator[Request]:
    """Yields the request that is a step of the trace, if the step is one."""
    mapped = possible.mapped
    for kind in kinds:
        if step.act.action == f"request {kind.event.name}":
            yield from islice(_asked(step, kind), 1)
            return
        action = mapped.recording.inputs[kind.rule].action
        if action is None or not _same(mapped.model.actions[action].name, step.act.action):
            continue
        arguments = step.arguments or {}
        for request in _made(kind, _numbers(str(arguments))):
            for state in possible.states:
                for move in possible.sent(state, request):
                    choices = {
                        choice.label: encode(choice.value, choice.type) for choice in move.choices
                    }
                    if choices == arguments:
                        yield request
                        return


def _asked(step: ShownStep, kind: Kind) -> Iterator[Request]:
    """Yields the requests that agree with a step in the trace of a recording."""
    arguments = step.arguments or {}
    for request in _made(kind, _numbers(str(arguments))):
        pairs = zip(kind.asked, request.given, strict=True)
        if all(
            arguments.get(declared.name) == encode(value, declared.type)
            for declared, value in pairs
        ):
            yield request


def requests_in(history: History, kinds: Sequence[Kind]) -> list[Request]:
    """Returns the requests of a recorded history, source by source."""
    requests: list[Request] = []
    for _, _, lines, _ in history.ordered():
        for line in lines:
            for kind in kinds:
                if line.event == kind.number and not line.beyond:
                    by_field = dict(zip(kind.event.fields, read_values(line), strict=True))
                    requests.append(
                        Request(kind, tuple(by_field[declared] for declared in kind.asked))
                    )
                    break
    return requests


def _same(name: str, short: str) -> bool:
    return bool(short) and (name == short or name.endswith(f".{short}"))


def _numbers(value_text: str) -> list[int]:
    return sorted({int(digits) for digits in _NUMBER.findall(value_text)})


def _made(kind: Kind, numbers: Sequence[int]) -> Iterator[Request]:
    rows = [list(_candidates(declared.type, numbers)) for declared in kind.asked]
    for chosen_values in islice(product(*rows), MAX_TRIED):
        yield Request(kind, chosen_values)


def _candidates(kind: Type, numbers: Sequence[int]) -> Iterator[Value]:
    match kind:
        case Option(element):
            yield ()
            yield from ((item,) for item in _candidates(element, numbers))
        case Record(fields=fields):
            yield from product(*(list(_candidates(item.type, numbers)) for item in fields))
        case Integer():
            if kind.high - kind.low < MAX_ENUMERATED:
                yield from range(kind.low, kind.high + 1)
            else:
                yield from (item for item in numbers if kind.low <= item <= kind.high)
        case _:
            if cardinality(kind) <= MAX_ENUMERATED:
                yield from values(kind)
