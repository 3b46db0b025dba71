"""What the lines of a recording say about the steps of a model: a mapping, elaborated.

It does not know how lines are read, nor how a run that fits them is looked for. An expression or
statement here may read the state; its free slots stand for what the docstrings say.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.types import Record, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that a line gives as it is."""

    type: Type


@dataclass(frozen=True, slots=True)
class Named:
    """A name of the real system, which stands for a value by binding number ``bind``."""

    bind: int
    type: Type


@dataclass(frozen=True, slots=True)
class Perhaps:
    """Nothing (the field is missing, or null), or what ``element`` says."""

    element: Shape


@dataclass(frozen=True, slots=True)
class Several:
    """A list of elements, in order or (``unordered``) as a set."""

    element: Shape
    unordered: bool


Shape: TypeAlias = Plain | Named | Perhaps | Several


@dataclass(frozen=True, slots=True)
class EventField:
    """A field of an event line: what lines and the rules call it, the type of what it stands for,
    and how that is written.
    """

    name: str
    local: str
    type: Type
    shape: Shape
    span: Span


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event, from the sources with the numbers ``sources``. Rules call it ``name``, lines
    ``said``; of one source no two events are called the same in lines.
    """

    name: str
    said: str
    sources: tuple[int, ...]
    fields: tuple[EventField, ...]
    record: Record
    span: Span


@dataclass(frozen=True, slots=True)
class Source:
    """Sources of events: each that one of the ``patterns`` fits has an order of its own."""

    name: str
    patterns: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Order:
    """The values of a field of lines: within a source of a history, each is greater than the one
    before (not ``strict``: or the same), of the lines that have the same in the fields ``by``.
    Lines without the field have nothing to do with it.
    """

    name: str
    by: tuple[str, ...]
    strict: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Binding:
    """Names that stand for values of a type, one to one; ``fixed`` are those known beforehand,
    which are apart: other names may stand for the same values.
    """

    name: str
    type: Type
    fixed: tuple[tuple[str | int, Value], ...]


@dataclass(frozen=True, slots=True)
class Shows:
    """What a step shows: ``body`` is the sequence of the records of the events, of the state and
    the next one. Only steps of ``action`` (None: any) show it; the slots of ``choices`` stand for
    the values of the step's choices with these labels.
    """

    event: int
    action: int | None
    choices: tuple[tuple[str, int], ...]
    body: ir.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Answer:
    """The statement that takes the answer out of the channel; ``content`` is what is in the
    channel, and ``tags`` are those of the answers to the request.
    """

    body: ir.Statement
    content: ir.Expr
    message: Type
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Input:
    """What an event brings in, where ``condition`` holds (None: anywhere): a step of ``action``
    whose first choices are ``choices``, or what the statement ``body`` does. The slots ``fields``
    stand for the fields of the event.

    ``kind``: with "input" the event is read there; "ahead", later; "answers", when its ``answer``
    is there.
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
class Tolerated:
    """Such an event may be passed over, where ``condition`` holds; slots as in `Input`."""

    event: int
    fields: tuple[int, ...]
    condition: ir.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Dropped:
    """Messages with these tags do not stay in the channel that is variable ``variable``."""

    variable: int
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Recording:
    """A mapping between the lines of a recording and a model.

    ``key`` is the field that names a line's history (None: there is one history), ``by`` the fields
    that name it by what other lines of it have said. ``event_field`` names the event. ``under_way``
    is how many messages may be under way when one is put in ahead, None if nothing is said.
    ``carriers`` are the channels in which messages are under way; in the others they stay for ever.
    ``sites`` and ``guards`` begin with those of the model.
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
    tolerated: tuple[Tolerated, ...]
    drops: tuple[Dropped, ...]
    hidden: frozenset[int]
    under_way: int | None
    carriers: tuple[int, ...]
    sites: tuple[ir.Site, ...]
    guards: tuple[ir.Guard, ...]
    marks: tuple[ir.CoverageMark, ...]
    span: Span
