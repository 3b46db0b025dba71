"""The surface tree, with one frozen dataclass for each form of the grammar.

Spans are excluded from equality, so two texts have equal trees if they differ only in layout. Types
are expressions (``0..N``, ``seq[Entry, 3]``, ``Token?``), because a finite type may be used as a
set; elaboration distinguishes them. Parentheses and comments are not represented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, TypeAlias

from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Source, Span


@dataclass(frozen=True, slots=True)
class Node:
    """The base of all nodes. ``span`` is the position of the node."""

    span: Span = field(compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------- expressions and types


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A bare name: a variable, constant, local, member, type, def, role or module."""

    text: str


@dataclass(frozen=True, slots=True)
class Named(Node):
    """A node that begins with a name, such as a declaration."""

    name: Name


@dataclass(frozen=True, slots=True)
class Integer(Node):
    """A decimal literal; underscores are allowed between digits."""

    value: int


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True)
class Nothing(Node):
    """``none``."""


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``not e`` or ``-e``."""

    operator: Literal["not", "-"]
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``left operator right``. Comparisons do not chain.

    ``operator`` is the sign or word as written in the text. The grammar determines which ones are
    possible.
    """

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Is(Node):
    """``e is Marker`` or ``e is not m.Marker``. ``member`` is a `Name`, or an `Attribute` of
    names.
    """

    operand: Expr
    member: Expr
    negated: bool


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``if c then a else b``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Binder(Node):
    """``x in S`` or ``(x, y) in S``."""

    target: Target
    domain: Expr

    @property
    def label(self) -> str:
        """The target as text, which names the value in reports."""
        return _label(self.target)


def _label(target: Target | PatternArgument) -> str:
    match target:
        case Name(text=text) | Named(name=Name(text=text)):
            return text
        case TuplePattern(arguments=arguments):
            return f"({', '.join(map(_label, arguments))})"
        case _:
            return "_"


def names_of(target: Target | PatternArgument | Pattern) -> Iterator[Name]:
    """Yields the names that a target or pattern declares, in source order."""
    match target:
        case Name(text=text) if text != "_":
            yield target
        case Named(name=name):
            yield name
        case Pattern(member=member, arguments=arguments, alias=alias):
            inner = member if isinstance(member, TuplePattern) else None
            yield from names_of(inner or TuplePattern(arguments or (), span=target.span))
            if alias is not None:
                yield alias
        case TuplePattern(arguments=arguments):
            for argument in arguments:
                yield from names_of(argument)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class Quantifier(Node):
    """``forall x in S, y in T if p: e``, or the same with ``exists``. ``condition`` is None without
    ``if``.
    """

    kind: Literal["forall", "exists"]
    binders: tuple[Binder, ...]
    condition: Expr | None
    body: Expr


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    """An indented block after a colon, which is the conjunction of its lines. A block of one line
    has no node of its own; the line represents it.
    """

    lines: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choose(Node):
    """``choose x in S where p``, the least x in S that satisfies p. ``condition`` is None without
    ``where``.
    """

    binder: Binder
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class LetIn(Node):
    """The expression ``let x = e: body``, which is ``body`` with x bound to the value of e. With
    ``let (x, y) = e: body``, the names are bound to the components.
    """

    target: Target
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class ValueCase(Node):
    """``case P: e`` in a match expression."""

    pattern: Pattern
    value: Expr


@dataclass(frozen=True, slots=True)
class MatchValue(Node):
    """The expression ``match e: case P: a; case Q: b``, whose value is that of the first case that
    matches.
    """

    subject: Expr
    cases: tuple[ValueCase, ...]


@dataclass(frozen=True, slots=True)
class Collection(Node):
    """``[a, b]`` (list) or ``{a, b}`` (set), possibly empty."""

    brackets: Literal["[]", "{}"]
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """``(a, b)``, a tuple, or the type of tuples with components of types ``a`` and ``b``. There
    are at least two parts.
    """

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Entry(Node):
    """``key: value`` in a map."""

    key: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Map(Node):
    """``[A: 1, B: 2]``, with at least one entry."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """``[e for x in S, y in T if p]`` or ``{e for x in S, y in T if p}``."""

    brackets: Literal["[]", "{}"]
    element: Expr
    binders: tuple[Binder, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Accumulator(Named):
    """``acc`` or ``acc: T`` in a fold. ``type`` is None without a type."""

    type: Expr | None


@dataclass(frozen=True, slots=True)
class Fold(Node):
    """``fold(acc, x in S, y in T if p from e: body)``. ``condition`` is None without ``if``."""

    accumulator: Accumulator
    binders: tuple[Binder, ...]
    condition: Expr | None
    start: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Anything(Node):
    """``...`` as an argument of a scenario step. It matches any number of arbitrary values."""


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """An argument of a call: ``e``, or ``name: e`` in a constructor."""

    name: Name | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``f(a, b)``, ``Meta(pid: 0, epoch: 1)``, ``log.append(e)``, ``enabled(Leader.on_answer)``."""

    function: Expr
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``q[i]``, ``net[a, b]``, ``Client[c].phase`` (the bracket part), ``seq[Entry, 3]``."""

    base: Expr
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Part(Node):
    """``q[i..]`` (``high`` is None) or ``q[..j]`` (``low`` is None). ``q[i..j]`` is an `Index`."""

    base: Expr
    low: Expr | None
    high: Expr | None


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``e.f``, where f is a field, a variable of a role, or a member of a module, an enum or a
    union; or ``e.1``, the first component of a tuple, where the name is the number.
    """

    base: Expr
    name: Name


@dataclass(frozen=True, slots=True)
class Unwrap(Node):
    """``e!``."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class With(Node):
    """``r with f: e, g: d``. There is at least one field, and every field is named."""

    record: Expr
    fields: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``low..high``."""

    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class Optional(Node):
    """``T?``."""

    element: Expr


@dataclass(frozen=True, slots=True)
class UnaryTemporal(Node):
    """``always F`` or ``eventually F``, in the formula of a property."""

    operator: Literal["always", "eventually"]
    operand: Expr


@dataclass(frozen=True, slots=True)
class BinaryTemporal(Node):
    """``F until G`` or ``F leads to G``, in the formula of a property."""

    operator: Literal["until", "leads to"]
    left: Expr
    right: Expr


Expr: TypeAlias = (
    Name | Integer | Boolean | Nothing | Unary | Binary | Is | Conditional | Quantifier
    | Conjunction | Choose | LetIn | MatchValue | Collection | Tuple | Map | Comprehension | Fold
    | Call | Index | Part | Attribute | Unwrap | With | Range | Optional | UnaryTemporal
    | BinaryTemporal | Anything
)  # fmt: skip


# ---------------------------------------------------------------- patterns and statements


@dataclass(frozen=True, slots=True)
class Bind(Named):
    """``name`` inside the parentheses of a pattern. It binds the field to a new name."""


@dataclass(frozen=True, slots=True)
class Ignore(Node):
    """``_`` inside the parentheses of a pattern."""


@dataclass(frozen=True, slots=True)
class Equals(Node):
    """``==e`` inside the parentheses of a pattern. It requires the field to equal e."""

    value: Expr


@dataclass(frozen=True, slots=True)
class TuplePattern(Node):
    """``(x, _, ==e)``, a pattern for a tuple."""

    arguments: tuple[PatternArgument, ...]


PatternArgument: TypeAlias = Bind | Ignore | Equals | TuplePattern

Target: TypeAlias = Name | TuplePattern
"""A new name, or a pattern for a tuple that names components and contains no `Equals`. The name
``_`` declares nothing.
"""


@dataclass(frozen=True, slots=True)
class Pattern(Node):
    """``_`` (``member`` is None), ``Empty``, ``m.Produce(b, _, ==e)``, ``EndTxn as r`` or
    ``(x, y)``.

    ``member`` is a `Name`, an `Attribute` of names, a `Boolean`, `Nothing` or a `TuplePattern`.
    ``arguments`` is None if the pattern has no parentheses; the fields are then ignored.
    """

    member: Expr | TuplePattern | None
    arguments: tuple[PatternArgument, ...] | None
    alias: Name | None


@dataclass(frozen=True, slots=True)
class Require(Node):
    """``require e``."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Assert(Node):
    """``assert e, "why"``. ``message`` is None if no reason is given."""

    condition: Expr
    message: str | None


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``x = e``, or a compound assignment such as ``x += e``. The target is checked during
    elaboration.
    """

    target: Expr
    operator: Literal["=", "+=", "-=", "|=", "&="]
    value: Expr


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``let y = e`` or ``let (x, y) = e``."""

    target: Target
    value: Expr


@dataclass(frozen=True, slots=True)
class Pick(Node):
    """``pick y in S where p``. ``condition`` is None without ``where``."""

    binder: Binder
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Send(Node):
    """``send e to c``."""

    message: Expr
    channel: Expr


@dataclass(frozen=True, slots=True)
class Do(Node):
    """A call as a statement: a procedure, or a method such as ``log.append(e)``."""

    call: Call


@dataclass(frozen=True, slots=True)
class Return(Node):
    """``return``."""


@dataclass(frozen=True, slots=True)
class Skip(Node):
    """``skip``."""


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """An ``if`` or ``elif`` branch of an if statement."""

    condition: Expr
    body: Suite


@dataclass(frozen=True, slots=True)
class If(Node):
    """An if statement: ``if``, any number of ``elif``, and an optional ``else``. ``otherwise`` is
    None without ``else``.
    """

    branches: tuple[Branch, ...]
    otherwise: Suite | None


@dataclass(frozen=True, slots=True)
class Case(Node):
    """A ``case`` of a match statement."""

    pattern: Pattern
    body: Suite


@dataclass(frozen=True, slots=True)
class Match(Node):
    """``match e:``, with its cases."""

    subject: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for y in S:``."""

    binder: Binder
    body: Suite


Statement: TypeAlias = (
    Require | Assert | Assign | Let | Pick | Send | Do | Return | Skip | If | Match | For
)
Suite: TypeAlias = tuple[Statement, ...]


# ---------------------------------------------------------------- declarations


@dataclass(frozen=True, slots=True)
class ModuleArgument(Named):
    """``N = 4`` after ``with``."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Import(Node):
    """``import a.b as x with ...`` (``names`` is None), or ``from a.b import c, d with ...``.

    ``alias`` is None without ``as``; the last part of the path then names the module.
    """

    module: tuple[Name, ...]
    alias: Name | None
    names: tuple[Name, ...] | None
    arguments: tuple[ModuleArgument, ...]


@dataclass(frozen=True, slots=True)
class Const(Named):
    """``const N: T = e``, or the symbolic constant ``const N: T = any where p`` (``value`` is None,
    and ``symbolic`` is true).
    """

    type: Expr
    value: Expr | None
    symbolic: bool
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Param(Node):
    """``param const N: T``, ``param type T`` or ``param channel c: M``. ``type`` is None for a type
    parameter.
    """

    kind: Literal["const", "type", "channel"]
    name: Name
    type: Expr | None


@dataclass(frozen=True, slots=True)
class Assume(Node):
    """``assume e``."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class TypeDecl(Named):
    """``type T = ...``."""

    type: Expr


@dataclass(frozen=True, slots=True)
class SymmetricType(Named):
    """``symmetric type T = {a, b}``."""

    members: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class EnumDecl(Named):
    """``enum E: A, B``."""

    members: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class FieldDecl(Named):
    """``f: T`` or ``ghost f: T``."""

    type: Expr
    ghost: bool


@dataclass(frozen=True, slots=True)
class RecordDecl(Named):
    """``record R: f: T, g: U``."""

    fields: tuple[FieldDecl, ...]


@dataclass(frozen=True, slots=True)
class VariantDecl(Named):
    """``A(x: T)`` or ``B`` in a union."""

    fields: tuple[FieldDecl, ...]


@dataclass(frozen=True, slots=True)
class UnionDecl(Named):
    """``union M: A(x: T), B``."""

    variants: tuple[VariantDecl, ...]


@dataclass(frozen=True, slots=True)
class Discipline(Node):
    """``unordered``, ``ordered``, ``persistent`` or ``distinct``."""

    kind: Literal["unordered", "ordered", "persistent", "distinct"]


@dataclass(frozen=True, slots=True)
class Fault(Node):
    """``lossy(A, B) at most 1``. ``variants`` is None if all variants are affected, and ``budget``
    is None if the number of faults is not limited.
    """

    kind: Literal["lossy", "duplicating"]
    variants: tuple[Expr, ...] | None
    budget: Expr | None


@dataclass(frozen=True, slots=True)
class Capacity(Node):
    """``capacity n`` or ``capacity n or block``."""

    size: Expr
    block: bool


@dataclass(frozen=True, slots=True)
class Parameter(Named):
    """``x: T``, which is an index of a role or channel family, or a parameter of a def or
    procedure.
    """

    type: Expr


@dataclass(frozen=True, slots=True)
class ChannelDecl(Named):
    """``channel c[a: A]: M unordered lossy capacity 4 = e``. ``options`` are in source order, and
    ``content`` is the initial content, or None if the channel is empty.
    """

    indices: tuple[Parameter, ...]
    message: Expr
    options: tuple[Discipline | Fault | Capacity, ...]
    content: Expr | None


@dataclass(frozen=True, slots=True)
class VarDecl(Node):
    """``var x: T = e``, ``var x: T = any`` (kind "any", ``value`` is None), or ``var x: T in S
    where p`` (kind "member").
    """

    ghost: bool
    name: Name
    type: Expr
    kind: Literal["value", "any", "member"]
    value: Expr | None
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Initially(Node):
    """``initially: e``."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Choices(Node):
    """``(x in S, y in T) where p`` after the name of an action. ``condition`` is None without
    ``where``.
    """

    binders: tuple[Binder, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Receive(Node):
    """``on PATTERN from c where p``. ``condition`` is None without ``where``."""

    pattern: Pattern
    channel: Expr
    condition: Expr | None


Fairness: TypeAlias = Literal["", "fair", "strongly fair"]


@dataclass(frozen=True, slots=True)
class ActionDecl(Named):
    """An atomic step. ``fairness``, ``each`` (which is part of the fairness) and ``environment``
    are prefixes.
    """

    fairness: Fairness
    each: bool
    environment: bool
    choices: Choices | None
    receive: Receive | None
    body: Suite


@dataclass(frozen=True, slots=True)
class FairDecl(Node):
    """``fair {A.x, B[i].y} where p``: weak fairness of a group of actions; or ``strongly fair``.
    With a name, ``fair Progress: {stop, spin}``. ``condition`` is None without ``where``.
    """

    name: Name | None
    fairness: Fairness
    members: tuple[Expr, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class DefDecl(Named):
    """``def f(x: T): U at most n = e``, or ``def f: U = e`` without parameters. ``bound`` is None
    without ``at most``.
    """

    parameters: tuple[Parameter, ...]
    result: Expr
    bound: Expr | None
    body: Expr


@dataclass(frozen=True, slots=True)
class ProcedureDecl(Named):
    """``procedure p(x: T): ...``."""

    parameters: tuple[Parameter, ...]
    body: Suite


@dataclass(frozen=True, slots=True)
class PropertyDecl(Node):
    """A property such as ``invariant I: e``. ``kind`` is the keyword, or keywords, before the name.

    Only a terminal or a constraint may have no name. Only the body of a ``property`` contains
    temporal operators, and only a ``property`` may be ``within`` the constraints.
    """

    kind: str
    name: Name | None
    body: Expr
    within: bool = False


@dataclass(frozen=True, slots=True)
class Image(Node):
    """``R.x = e``, the image of a variable of another module. ``path`` is the name of the variable
    in reports on that module.
    """

    path: tuple[Name, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class RefinementDecl(Named):
    """``refinement R: m where x = e, y = f``."""

    module: Name
    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class CheckConst(Node):
    """``const N = 4`` or ``const x.Verify = false`` in a check. ``path`` begins with the outermost
    module.
    """

    path: tuple[Name, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class CheckEngine(Node):
    """``engine bmc, depth 20``. Either part may be missing; in ``depth 20``, ``engine`` is None."""

    engine: Name | None
    depth: int | None


@dataclass(frozen=True, slots=True)
class CheckProperties(Node):
    """``properties: A, B``. A name may be qualified."""

    names: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CheckWithout(Node):
    """``without fair R.a, S``. The fairness of these actions and roles is removed."""

    names: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ExpectVerdict(Node):
    """``expect ok``, ``expect ok within 5``, ``expect violated A``, ``expect deadlock``, ``expect
    assertion``, ``expect error`` or ``expect inconclusive``.
    """

    verdict: Literal["ok", "violated", "deadlock", "assertion", "error", "inconclusive"]
    property: Expr | None
    within: int | None


@dataclass(frozen=True, slots=True)
class ExpectCount(Node):
    """``expect depth == 10``."""

    what: Literal["states", "generated", "depth"]
    count: int


CheckItem: TypeAlias = (
    CheckConst | CheckEngine | CheckProperties | CheckWithout | ExpectVerdict | ExpectCount
)


@dataclass(frozen=True, slots=True)
class CheckDecl(Named):
    """``check c:`` or ``check c slow:``, with its lines in source order."""

    slow: bool
    items: tuple[CheckItem, ...]


@dataclass(frozen=True, slots=True)
class ScenarioStep(Node):
    """A step such as ``Client[a].begin``, ``Leader.on_produce(Produce(...))`` or ``net.lose``.
    ``action`` is the name of the action, or a call if it has arguments.
    """

    action: Expr


@dataclass(frozen=True, slots=True)
class ScenarioGap(Node):
    """``...`` as a line of a scenario. It matches any number of arbitrary steps."""


@dataclass(frozen=True, slots=True)
class ScenarioExpect(Node):
    """``expect E``, the condition that must hold after the steps."""

    condition: Expr


ScenarioItem: TypeAlias = CheckConst | ScenarioStep | ScenarioGap | ScenarioExpect


@dataclass(frozen=True, slots=True)
class ScenarioDecl(Named):
    """``scenario S: STEP; ...; expect E``, optionally ``slow``. The items are in source order."""

    slow: bool
    items: tuple[ScenarioItem, ...]


@dataclass(frozen=True, slots=True)
class RecordingKey(Named):
    """``key f by g, h``. Field ``f`` of an event line names the history of the line. A line without
    ``f`` belongs to the history that has named its ``g``, or else its ``h``.
    """

    by: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class RecordingEvent(Named):
    """``event f``, the field of a line that names the event. The default is ``event``."""


@dataclass(frozen=True, slots=True)
class RecordingSource(Named):
    """``source s ordered in "t-*", "u"``. Each source that matches one of these names is ordered
    separately. Without ``in``, the source is called ``s``.
    """

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordingOrder(Named):
    """``rising f by g``: within a source, the values of field ``f`` increase among lines with the
    same ``g``. With ``not falling f by g``, they do not decrease (``strict`` is false).
    """

    by: tuple[Name, ...]
    strict: bool


@dataclass(frozen=True, slots=True)
class FixedName(Node):
    """``"x" = e`` or ``-1 = e``, the fixed value of a name from the real system."""

    text: str | int
    value: Expr


@dataclass(frozen=True, slots=True)
class RecordingBind(Named):
    """``bind client: T where -1 = e``, which maps names from the real system to values of T."""

    type: Expr
    fixed: tuple[FixedName, ...]


RecordingItem: TypeAlias = (
    RecordingKey | RecordingEvent | RecordingSource | RecordingOrder | RecordingBind
)


@dataclass(frozen=True, slots=True)
class RecordingDecl(Node):
    """``recording:``, with its lines in source order."""

    items: tuple[RecordingItem, ...]


@dataclass(frozen=True, slots=True)
class EventFieldDecl(Named):
    """``f: T``, or ``f as g: T`` if rules refer to field ``f`` of a line as ``g``."""

    alias: Name | None
    type: Expr


@dataclass(frozen=True, slots=True)
class EventHead(Node):
    """``as d (f: T, g: U) from s, t``. ``alias`` is the name of the event in rules, if it differs
    from the name in lines. The fields and the sources of the event follow.
    """

    alias: Name | None
    fields: tuple[EventFieldDecl, ...]
    sources: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class EventDecl(Named):
    """``event e(f: T) from s`` or ``event e as d(f: T) from s, t``."""

    head: EventHead


@dataclass(frozen=True, slots=True)
class ShowsDecl(Node):
    """``shows e(a, b) on R.act(x) for y in S when c``, the events that a step shows. ``action`` is
    the name of an action, or a `Call` with the names that it binds.
    """

    event: Name
    arguments: tuple[Expr, ...]
    action: Expr | None
    binders: tuple[Binder, ...]
    condition: Expr | None


InputKind: TypeAlias = Literal["input", "ahead", "answers"]


@dataclass(frozen=True, slots=True)
class InputDecl(Node):
    """``input e(f: T) from s when c on PATTERN from c: body``, an input from outside.

    ``head`` also declares the event; it is None if the event is declared elsewhere. ``body`` is a
    suite, or the action (or a `Call` of it) that the event represents. With ``answers``,
    ``receive`` is the answer.
    """

    kind: InputKind
    event: Name
    head: EventHead | None
    condition: Expr | None
    receive: Receive | None
    body: Suite | Expr


@dataclass(frozen=True, slots=True)
class DropDecl(Node):
    """``drop A, B from c``. No action receives these messages, so they are removed at once."""

    messages: tuple[Expr, ...]
    channel: Expr


@dataclass(frozen=True, slots=True)
class HiddenDecl(Node):
    """``hidden R.a, S``. The steps of these actions and roles show no events."""

    names: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TolerateDecl(Node):
    """``tolerate e when c``. Such an event may be skipped."""

    event: Name
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class ExplainedValue(Node):
    """``e as b`` in an explanation, a value that is shown with the names of the binding ``b``."""

    value: Expr
    binding: Name | None


@dataclass(frozen=True, slots=True)
class ExplainDecl(Node):
    """``explain e when c: "text", x``. Why such an event may not come next."""

    event: Name
    condition: Expr | None
    parts: tuple[str | ExplainedValue, ...]


@dataclass(frozen=True, slots=True)
class UnderWayDecl(Node):
    """``at most 1 under way``."""

    count: Expr


RecordingPart: TypeAlias = (
    RecordingDecl | EventDecl | ShowsDecl | InputDecl | DropDecl | HiddenDecl | TolerateDecl
    | ExplainDecl | UnderWayDecl
)  # fmt: skip
"""The declarations that map recordings to a model."""

RoleMember: TypeAlias = VarDecl | ActionDecl | FairDecl | DefDecl | ProcedureDecl | PropertyDecl


@dataclass(frozen=True, slots=True)
class RoleDecl(Named):
    """``role R:`` or ``role R[i: I]:``. ``fairness`` is the prefix."""

    fairness: Fairness
    index: Parameter | None
    members: tuple[RoleMember, ...]


Declaration: TypeAlias = (
    Import | Const | Param | Assume | TypeDecl | SymmetricType | EnumDecl | RecordDecl
    | UnionDecl | ChannelDecl | VarDecl | Initially | RoleDecl | ActionDecl | FairDecl | DefDecl
    | ProcedureDecl | PropertyDecl | RefinementDecl | CheckDecl | ScenarioDecl | RecordingPart
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BrokenDeclarations:
    """The names that the unreadable declarations of a file, or members of its roles, may declare.

    Later phases report no unknown name that one of them may declare, so that each mistake is
    reported once. ``unnamed`` says whether some name is missing or unrecognizable.
    """

    names: frozenset[str] = frozenset()
    unnamed: bool = False

    def may_declare(self, name: str) -> bool:
        """Returns whether one of the declarations may declare this name."""
        return self.unnamed or name in self.names


@dataclass(frozen=True, slots=True)
class File:
    """A file, with its docstring (or None) and its declarations, in source order."""

    source: Source = field(compare=False, repr=False)
    docstring: str | None
    declarations: tuple[Declaration, ...]
    broken: BrokenDeclarations = field(default=BrokenDeclarations(), compare=False, repr=False)
