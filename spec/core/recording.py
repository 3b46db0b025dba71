"""An elaborated mapping between the lines of a recording and the steps of a model.

Reading the lines and searching for a run that matches them are done elsewhere. Expressions and
statements here may read the state; the docstrings define their free slots.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.types import Record, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that a line contains literally."""

    type: Type


@dataclass(frozen=True, slots=True)
class NameShape:
    """A name of the real system, mapped to a value by binding number ``bind``."""

    bind: int
    type: Type


@dataclass(frozen=True, slots=True)
class Perhaps:
    """An optional value: the field is missing, null, or of the shape ``element``."""

    element: Shape


@dataclass(frozen=True, slots=True)
class Several:
    """A list of elements, in order or (``unordered``) as a set."""

    element: Shape
    unordered: bool


Shape: TypeAlias = Plain | NameShape | Perhaps | Several


@dataclass(frozen=True, slots=True)
class EventField:
    """A field of an event line: its name in lines and in rules, its type, and its shape in a
    line.
    """

    name: str
    local: str
    type: Type
    shape: Shape
    span: Span


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event, from the sources with the numbers ``sources``. Its name is ``name`` in rules
    and ``said`` in lines; the events of one source have different names in lines.
    """

    name: str
    said: str
    sources: tuple[int, ...]
    fields: tuple[EventField, ...]
    record: Record
    span: Span


@dataclass(frozen=True, slots=True)
class Source:
    """Sources of events. Each source that matches one of the ``patterns`` has an order of its
    own.
    """

    name: str
    patterns: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Order:
    """An order of the values of a field: within a source of a history, each is greater than the one
    before it (if not ``strict``: or equal), among the lines with the same values of the fields
    ``by``. Lines without the field are not constrained.
    """

    name: str
    by: tuple[str, ...]
    strict: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Binding:
    """Names mapped one to one to values of a type. ``fixed`` are the names known in advance; they
    are separate, so other names may denote the same values.
    """

    name: str
    type: Type
    fixed: tuple[tuple[str | int, Value], ...]


@dataclass(frozen=True, slots=True)
class Shows:
    """The events that a step shows: ``body`` is the sequence of their records, an expression over
    the state and the next one. Only steps of ``action`` show them (any, if None); the slots of
    ``choices`` hold the step's choices with these labels.
    """

    event: int
    action: int | None
    choices: tuple[tuple[str, int], ...]
    body: ir.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Answer:
    """The statement that removes the answer from the channel. ``content`` is the content of the
    channel, and ``tags`` are those of the answers to the request.
    """

    body: ir.Statement
    content: ir.Expr
    message: Type
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Input:
    """The effect of an event if ``condition`` holds or is None: a step of ``action`` whose
    first choices are ``choices``, or the statement ``body``. The slots ``fields`` hold the fields
    of the event.

    ``kind``: with "input" the event is read at this step; with "ahead", later; with "answers", when
    its ``answer`` is present.
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
    """Such an event may be skipped if ``condition`` holds; slots as in `Input`."""

    event: int
    fields: tuple[int, ...]
    condition: ir.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class DroppedMessages:
    """Messages with these tags do not remain in the channel that is variable ``variable``."""

    variable: int
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Recording:
    """A mapping between the lines of a recording and a model.

    ``key`` is the field that names a line's history, None if there is only one; ``by`` are the
    fields that identify it by the contents of its other lines. ``event_field`` names the event.
    ``under_way`` is the maximum number of messages in transit when one is sent ahead, None if it is
    not declared. ``carriers`` are the channels with messages in transit; in the others they remain
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
    drops: tuple[DroppedMessages, ...]
    hidden: frozenset[int]
    under_way: int | None
    carriers: tuple[int, ...]
    sites: tuple[ir.Site, ...]
    guards: tuple[ir.Guard, ...]
    marks: tuple[ir.CoverageMark, ...]
    span: Span
