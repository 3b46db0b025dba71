"""An elaborated mapping between the lines of a recording and the steps of a model.

Other modules read the lines, and search for a run that matches them. Expressions and statements in
this module may read the state; the docstrings define their free slots.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.types import Record, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that appears literally in a line."""

    type: Type


@dataclass(frozen=True, slots=True)
class NameShape:
    """A name from the real system. Binding number ``bind`` maps it to a value."""

    bind: int
    type: Type


@dataclass(frozen=True, slots=True)
class Perhaps:
    """An optional value. The field is missing, null, or of the shape ``element``."""

    element: Shape


@dataclass(frozen=True, slots=True)
class Several:
    """A list of elements. The order is ignored if ``unordered`` is set."""

    element: Shape
    unordered: bool


Shape: TypeAlias = Plain | NameShape | Perhaps | Several


@dataclass(frozen=True, slots=True)
class EventField:
    """A field of an event. ``name`` is its name in lines, and ``local`` its name in rules;
    ``shape`` is its shape in a line.
    """

    name: str
    local: str
    type: Type
    shape: Shape
    span: Span


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event, which occurs in the sources with the numbers ``sources``. Rules call it
    ``name``, and lines call it ``said``. Within one source, different events have different names
    in lines.
    """

    name: str
    said: str
    sources: tuple[int, ...]
    fields: tuple[EventField, ...]
    record: Record
    span: Span


@dataclass(frozen=True, slots=True)
class Source:
    """A group of event sources. Each source that matches one of the ``patterns`` is ordered
    separately.
    """

    name: str
    patterns: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Order:
    """An order on the values of a field. Within one source of a history, each value is greater than
    the one before it; unless ``strict`` is set, it may also be equal.

    Only lines with the same values of the fields ``by`` are compared. Lines without the field are
    not constrained.
    """

    name: str
    by: tuple[str, ...]
    strict: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Binding:
    """A one-to-one mapping of names to values of a type. ``fixed`` contains the names known in
    advance. These names are outside the one-to-one mapping, so other names may denote the same
    values.
    """

    name: str
    type: Type
    fixed: tuple[tuple[str | int, Value], ...]


@dataclass(frozen=True, slots=True)
class Shows:
    """The events that a step shows. ``body`` evaluates to the sequence of their records; it is an
    expression over the state before the step and the state after it.

    Only steps of ``action`` show these events, or steps of any action if it is None. ``choices``
    pairs labels with slots: each slot holds the step's choice with that label.
    """

    event: int
    action: int | None
    choices: tuple[tuple[str, int], ...]
    body: ir.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Answer:
    """The statement that removes an answer from the channel. ``content`` is the content of the
    channel, and ``tags`` are the tags of the answers to the request.
    """

    body: ir.Statement
    content: ir.Expr
    message: Type
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Input:
    """The effect of an event if ``condition`` holds or is None.

    The effect is either a step of ``action`` whose first choices are ``choices``, or the statement
    ``body``. The slots ``fields`` hold the fields of the event. ``kind`` determines when the event
    is read: "input" at this step, "ahead" at a later step, and "answers" when its ``answer`` is
    present.
    """

    kind: Literal["input", "ahead", "answers"]
    event: int
    fields: tuple[int, ...]
    condition: ir.Expr | None
    body: ir.Statement | None
    action: int | None
    choices: tuple[ir.Expr, ...]
    answer: Answer | None
    span: Span


@dataclass(frozen=True, slots=True)
class Toleration:
    """A rule that allows an event to be skipped if ``condition`` holds. Slots are as in `Input`."""

    event: int
    fields: tuple[int, ...]
    condition: ir.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class ExplainedValue:
    """A value in an explanation. Binding number ``bind`` names it, or its parts, if it is not
    None.
    """

    value: ir.Expr
    bind: int | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an event may not come next, if ``condition`` holds. Slots are as in `Input`."""

    event: int
    fields: tuple[int, ...]
    condition: ir.Expr | None
    parts: tuple[str | ExplainedValue, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DroppedMessages:
    """Messages with these tags do not remain in the channel, which is state variable
    ``variable``.
    """

    variable: int
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Recording:
    """A mapping between the lines of a recording and a model.

    ``key`` is the field that names the history of a line, or None if there is only one history.
    ``by`` are the fields that identify the history by the contents of its other lines.
    ``event_field`` is the field that names the event. ``under_way`` is the maximum number of
    messages in transit when a message is sent ahead, or None if no maximum is declared.
    ``carriers`` are the channels whose messages are in transit; in other channels, messages remain
    forever. ``sites`` and ``guards`` begin with those of the model.
    """

    key: str | None
    by: tuple[str, ...]
    event_field: str
    sources: tuple[Source, ...]
    orders: tuple[Order, ...]
    bindings: tuple[Binding, ...]
    events: tuple[Event, ...]
    shows: tuple[Shows, ...]
    inputs: tuple[Input, ...]
    tolerated: tuple[Toleration, ...]
    explained: tuple[Explanation, ...]
    drops: tuple[DroppedMessages, ...]
    hidden: frozenset[int]
    under_way: int | None
    carriers: tuple[int, ...]
    sites: tuple[ir.Site, ...]
    guards: tuple[ir.Guard, ...]
    marks: tuple[ir.CoverageMark, ...]
    span: Span
