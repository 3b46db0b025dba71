"""The state of elaborating one model: its tables, its problems, and the context of each expression.

This module does not elaborate any form of the language itself; it is called by the modules that do
(`boolean`, `statements`, ...). If there is a `Recorder`, this module and its callers append to it;
this changes neither the model nor the problems. `references` interprets the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal, Never, Protocol, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import Range, Ranges, assumed_range, widened
from fencepost.spec.core.size_limits import DEEPEST, MAX_EXPANDED, MAX_NESTED
from fencepost.spec.core.types import Int, Option, Type, describe
from fencepost.spec.elaborate.base.built_in import RESERVED, VALUE_WORDS, BuiltIn
from fencepost.spec.elaborate.base.other_languages import ANYWHERE
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    Ghost,
    Instance,
    LocalName,
    MemberEntity,
    Operand,
    RoleEntity,
    TypeEntity,
    kind_of,
)
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import Note, Problem, suggestion
from fencepost.spec.text.source import Span

Path: TypeAlias = tuple[str, ...]
"""The path from a type to one of its parts. The type itself has the path (); a member, a field and
a field of a variant have the paths (member,), (field,) and (variant, field).
"""


@dataclass(frozen=True, slots=True, eq=False)
class Recorder:
    """Records of one or more builds of one program, in order. Most entries occur several times.

    ``names`` contains names in the text, the declarations that they denote, and the instance of
    each use. ``parts`` contains names of parts of types. ``types`` contains the types of
    expressions and of bound locals.
    """

    instances: list[Instance] = field(default_factory=list[Instance])
    names: list[tuple[syntax.Name, Entity | LocalName, Instance]] = field(
        default_factory=list[tuple[syntax.Name, "Entity | LocalName", Instance]]
    )
    parts: list[tuple[syntax.Name, Type, Path]] = field(
        default_factory=list[tuple[syntax.Name, Type, Path]]
    )
    types: list[tuple[syntax.Node, Type]] = field(default_factory=list[tuple[syntax.Node, Type]])


# mypy rejects ``return f()`` if f returns None and nothing else.
Reported: TypeAlias = "Never | None"  # noqa: RUF020
"""The result of a function that reports a problem. It is None, and may be the result of a function
with any optional type: ``return context.report(...)``.
"""

Place: TypeAlias = Literal["constant", "initial", "action", "property", "step"]
"""The kind of an expression's position, which determines what the expression may read."""


class Typer(Protocol):
    """The entry point for checking expressions and types of any form."""

    def expression(
        self, context: Context, node: syntax.Expr, expected: Type | None
    ) -> Operand | None:
        """Returns the checked expression. If the expression is wrong, returns None after a problem
        has been reported.
        """
        ...

    def resolve(self, context: Context, node: syntax.Expr) -> Type | None:
        """Returns the type that ``node`` denotes. If ``node`` is wrong, returns None after a
        problem has been reported.
        """
        ...

    def is_function(self, text: str) -> bool:
        """Returns whether a name is that of a built-in function."""
        ...


class Convert(Protocol):
    """Converts an expression to a type of another module (see `refinements.converted`)."""

    def __call__(
        self, context: Context, expr: ir.Expr, target: Type, span: Span, /
    ) -> ir.Expr | None: ...


MAX_HINTED = 100
"""Unknown names get suggestions only while fewer problems than this have been found."""


ANOTHER_NAME = "choose another name"
"""The advice for a name that hides another one."""


class Stop(Exception):
    """Raised when elaboration cannot usefully continue, for example because a size explodes. The
    problem has already been recorded.
    """


@dataclass(slots=True, eq=False)
class Elaboration:
    """The tables of the model being built, and the problems found so far.

    ``sent`` and ``received`` hold the messages, by channel and tag, that some action sends or
    receives; ``sent`` includes the span where the message is sent. ``signatures`` caches the types
    of parameters and results by syntax node and module. ``resolving`` is the stack of types and
    constants being resolved. ``symbols`` are the symbolic constants without an override, in the
    order of their numbers; ``given`` is set if a symbolic constant is overridden. ``quantified``
    holds the predicates and domains of formulas before their quantifiers are expanded. ``ranges``
    are the assumed ranges, ``open_ranges`` those of the integers met so far, and ``needed`` the
    ranges that include the values known to be stored there. ``misnamed`` holds the unions that were
    compared with an unknown member. If ``muted`` is set, problems that depend on the values of
    constants are not recorded (see `scratch`).
    ``recorder``, if there is one, records the meanings of names.
    """

    typer: Typer
    recorder: Recorder | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    sites: list[ir.Site] = field(default_factory=list[ir.Site])
    guards: list[ir.Guard] = field(default_factory=list[ir.Guard])
    marks: list[ir.CoverageMark] = field(default_factory=list[ir.CoverageMark])
    sent: dict[tuple[ChannelEntity, int], Span] = field(
        default_factory=dict[tuple[ChannelEntity, int], Span]
    )
    received: set[tuple[ChannelEntity, int]] = field(default_factory=set[tuple[ChannelEntity, int]])
    signatures: dict[tuple[int, Instance], Type | None] = field(
        default_factory=dict[tuple[int, Instance], "Type | None"]
    )
    resolving: list[TypeEntity | ConstEntity] = field(
        default_factory=list["TypeEntity | ConstEntity"]
    )
    symbols: list[ConstEntity] = field(default_factory=list[ConstEntity])
    quantified: list[ir.Expr] = field(default_factory=list[ir.Expr])
    action_kinds: list[str] = field(default_factory=list[str])
    ranges: Ranges = field(default_factory=dict[str, Range])
    open_ranges: dict[str, ir.OpenRange] = field(default_factory=dict[str, ir.OpenRange])
    needed: dict[str, Range] = field(default_factory=dict[str, Range])
    misnamed: set[ir.Expr] = field(default_factory=set[ir.Expr])
    slots: int = 0
    labels: int = 0
    expanded: int = 0
    nested: int = 0
    given: bool = False
    visited: int = 0
    muted: bool = False

    def scratch(self, muted: bool) -> Elaboration:
        """Returns a copy with separate tables, for code that is checked but never runs. The entries
        that the code adds to these tables are discarded.

        Pass ``muted`` if the code is unreachable because of the values of constants. Problems that
        depend on such values (F7xx) are then not recorded.
        """
        return replace(
            self,
            sites=list(self.sites),
            guards=list(self.guards),
            marks=list(self.marks),
            sent=dict(self.sent),
            received=set(self.received),
            signatures=dict(self.signatures),
            muted=self.muted or muted,
        )

    def open_integer(self, span: Span) -> Int:
        """Returns the type of the integer without a declared range that is written at ``span``."""
        key = f"{span.source.name}:{span.start}"
        if key not in self.open_ranges:
            low, high = assumed_range(self.ranges, key)
            self.open_ranges[key] = ir.OpenRange(key, "", low, high, span)
        known = self.open_ranges[key]
        return Int(known.low, known.high, list(self.open_ranges).index(key))

    def need(self, number: int, value: int) -> None:
        """Notes that ``value`` may be stored in an integer without a declared range."""
        known = [*self.open_ranges.values()][number]
        assumed = self.needed.get(known.key, (known.low, known.high))
        self.needed[known.key] = widened(assumed, value)

    def slot(self) -> int:
        """Returns a new slot."""
        self.slots += 1
        return self.slots - 1

    def label(self) -> int:
        """Returns a new block label."""
        self.labels += 1
        return self.labels - 1

    def report(
        self, code: str, span: Span, message: str, *notes: Note, warning: bool = False
    ) -> Reported:
        """Records a problem."""
        if not (self.muted and code.startswith("F7")):
            self.problems.append(Problem(code, span, message, notes, warning))
        return None

    def descend(self, span: Span, expanding: bool) -> None:
        """Enters a statement or expression. `ascend` leaves it. Pass ``expanding`` inside the copy
        of a called body.

        Stops the elaboration if the copies of called bodies become too many or are nested too
        deeply.
        """
        self.nested += 1
        self.expanded += expanding
        self.visited += 1
        if not self.visited % 256:
            tick()
        if self.expanded > MAX_EXPANDED:
            self._explode(
                "F709",
                span,
                f"with every call expanded, this spec has more than {MAX_EXPANDED} statements "
                "and expressions; a def that uses a call twice can take its value as a parameter",
            )
        if self.nested > MAX_NESTED:
            self._explode(
                "F711",
                span,
                f"with the calls around it, this is nested more than {MAX_NESTED} levels deep",
            )

    def circle(self, entity: TypeEntity | ConstEntity) -> str:
        """Returns the names on the cycle that leads from a declaration back to itself, formatted as
        the end of a message. Returns an empty string if the cycle has no other members.
        """
        names = [other.name for other in self.resolving[self.resolving.index(entity) :]]
        return f": {', '.join(names)}, {entity.name}" if len(names) > 1 else ""

    def limit(self, count: int, span: Span) -> None:
        """Stops the elaboration if ``count`` exceeds the limit for successive items that become
        nested inside each other.
        """
        if count > DEEPEST:
            self._explode(
                "F711",
                span,
                f"each of these is nested in the one before it, and {count} levels are more than "
                f"the {DEEPEST} that engines support",
            )

    def too_many_modules(self, span: Span) -> None:
        """Stops the elaboration of a model whose modules keep importing one another with new
        arguments.
        """
        self._explode(
            "F609",
            span,
            "too many modules are imported with arguments here, counting their own imports; "
            "importing a module again with the same arguments costs nothing",
        )

    def ascend(self) -> None:
        """Leaves a statement or expression that `descend` entered."""
        self.nested -= 1

    def _explode(self, code: str, span: Span, message: str) -> None:
        self.problems.append(Problem(code, span, message))
        raise Stop


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """Properties of a position in a spec that limit what an expression may read and use.

    In an initial value, ``declared`` is the number of variables declared above it. ``after`` is set
    inside ``next(...)``. ``owner`` is the number of the property that contains the expression, and
    ``outermost`` is set if only foralls and conjunctions of this property enclose the expression.
    ``domain`` is set if the expected set is only iterated over or tested for membership, and so may
    be large. ``symbolic`` allows symbolic constants where a constant is required. ``apart`` is set
    if values of symmetric types are distinguished; these may then be named, and records of any
    module may be built by name. ``convert``, if present, converts values to types of another module
    where such types are expected.
    """

    place: Place
    declared: int | None = None
    after: bool = False
    outermost: bool = False
    owner: int = -1
    domain: bool = False
    symbolic: bool = False
    apart: bool = False
    convert: Convert | None = None


@dataclass(slots=True, eq=False)
class Recursing:
    """A def with a bound whose body is being elaborated.

    ``depth`` is the depth of the call that evaluates the body. ``slots`` are bound to the depth,
    the instance of a role family, and the parameters; ``kinds`` are the types of the parameters,
    and ``result`` is that of the body. ``after`` is as in `Position`. ``called`` is set if the body
    calls the def, and ``joined`` if it calls a def whose body contains this call. In a ``trial``,
    ``kinds`` grow so that they include the types of all arguments.
    """

    entity: DefEntity
    depth: ir.Local
    bound: int
    slots: tuple[int, ...]
    kinds: tuple[Type, ...]
    result: Type
    after: bool = False
    trial: bool = False
    called: bool = False
    joined: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The scope at a position in a spec, and the facts that are known there.

    ``facts`` maps core expressions that read union values to the tags that these values can have
    here (see `narrowing`). ``returns`` is the label of the block that ``return`` leaves. ``calls``
    are the spans of the calls being expanded, ``expanding`` are their defs and procedures, and
    ``recursing`` those defs that have a bound. All three begin with the outermost call.
    """

    work: Elaboration
    module: Instance
    position: Position
    role: RoleEntity | None = None
    instance: ir.Expr | None = None
    locals: Mapping[str, LocalName] = field(default_factory=dict[str, LocalName])
    facts: Mapping[ir.Expr, frozenset[int]] = field(default_factory=dict[ir.Expr, frozenset[int]])
    calls: tuple[Span, ...] = ()
    expanding: tuple[object, ...] = ()
    recursing: tuple[Recursing, ...] = ()
    action: int = -1
    returns: int | None = None

    @property
    def given(self) -> bool:
        """Whether a value evaluated here may come from an override of a symbolic constant. If such
        a value is outside its type, this is an evaluation error, as in a run for all values.
        """
        position = self.position
        return self.work.given and (position.place != "constant" or position.symbolic)

    # ------------------------------------------------------------ shorthands

    def expression(self, node: syntax.Expr, expected: Type | None = None) -> Operand | None:
        """Checks an expression in this context (see `Typer.expression`)."""
        return self.work.typer.expression(self, node, expected)

    def resolve(self, node: syntax.Expr) -> Type | None:
        """Resolves a type in this context (see `Typer.resolve`)."""
        return self.work.typer.resolve(self, node)

    def report(self, code: str, span: Span, message: str, *notes: Note) -> Reported:
        """Records a problem. Inside an expanded def or procedure, a note points to the call."""
        calls: tuple[Note, ...] = tuple((call, "called from here") for call in self.calls[-1:])
        return self.work.report(code, span, message, *notes, *calls)

    def mismatch(
        self, code: str, span: Span, rule: str, kind: Type, hint: str = "", *notes: Note
    ) -> Reported:
        """Reports a value of type ``kind`` in a position where ``rule`` does not allow it. If there
        is no other ``hint``, the message about an option says how to take its value out.
        """
        if isinstance(kind, Option) and not hint:
            hint = "; `!` unwraps an option"
        return self.report(code, span, f"{rule}, but this is {describe(kind)}{hint}", *notes)

    def site(self, code: str, span: Span, message: str) -> int:
        """Returns the number of a new site at which evaluation can fail."""
        self.work.sites.append(ir.Site(code, span, message, self.calls))
        return len(self.work.sites) - 1

    def guard(self, kind: ir.GuardKind, span: Span) -> int:
        """Returns the number of a new guard of the current action."""
        self.work.guards.append(ir.Guard(kind, span, self.action, self.calls))
        return len(self.work.guards) - 1

    def mark(
        self, kind: Literal["branch", "guard", "antecedent"], span: Span, owner: int, text: str
    ) -> int:
        """Returns the number of a new coverage mark."""
        self.work.marks.append(ir.CoverageMark(kind, span, owner, text))
        return len(self.work.marks) - 1

    # ------------------------------------------------------------ inner contexts

    def at(self, position: Position) -> Context:
        """Returns a context with the same names and facts at another position."""
        return replace(self, position=position)

    def inner(self) -> Context:
        """Returns the same context, except that it is not the outermost part of a property."""
        position = self.position
        return self.at(replace(position, outermost=False)) if position.outermost else self

    def of_any_size(self) -> Context:
        """Returns the same context, except that the next expected set may be large (see
        `Position`).
        """
        return self.at(replace(self.position, domain=True))

    def unreached(self) -> Context:
        """Returns the same context for code that is unreachable because of the values of
        constants.
        """
        return replace(self, work=self.work.scratch(muted=True))

    def bind(
        self, name: syntax.Name, operand: Operand | None, advice: str = ANOTHER_NAME
    ) -> Context:
        """Returns this context with one more local. Reports a local that hides another name, with
        ``advice``.
        """
        if name.text == "_":
            return self
        self._refuse_hiding(name, advice)
        if operand is not None and self.work.recorder is not None:
            self.work.recorder.types.append((name, operand.type))
        return replace(self, locals={**self.locals, name.text: LocalName(operand, name.span)})

    def _refuse_hiding(self, name: syntax.Name, advice: str) -> None:
        text = name.text
        if text in RESERVED:
            self.work.report("F204", name.span, reserved(RESERVED[text]))
        elif text in self.locals:
            hidden = hiding(text, "a local", self.locals[text].span, advice)
            self.work.report("F203", name.span, *hidden)
        else:
            entity = self.find(text) or next(iter(self.members(text)), None)
            if entity is not None and not isinstance(entity, BrokenEntity):
                hidden = hiding(text, kind_of(entity), entity.span, advice)
                self.work.report("F203", name.span, *hidden)

    def learn(self, facts: Mapping[ir.Expr, frozenset[int]]) -> Context:
        """Returns this context with additional facts about the tags of union values."""
        if not facts:
            return self
        merged = dict(self.facts)
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
        return replace(self, facts=merged)

    def with_locals_only(self) -> Context:
        """Returns this context without facts about state that may change."""
        facts: dict[ir.Expr, frozenset[int]] = {
            expr: tags for expr, tags in self.facts.items() if isinstance(expr, ir.Local)
        }
        return replace(self, facts=facts)

    # ------------------------------------------------------------ names

    def find(self, text: str) -> Entity | None:
        """Returns the entity that a name denotes. The name is looked up in the role, the module and
        the imports, in this order. Members and locals are looked up separately.
        """
        if self.role is not None and text in self.role.names:
            return self.role.names[text]
        return self.module.names.get(text) or self.module.imports.get(text)

    def look_up(self, name: syntax.Name) -> Entity | None:
        """Returns the entity that a name in the text denotes, and records the meaning of the name
        (see `find`).
        """
        entity = self.find(name.text)
        if entity is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, entity, self.module))
        if entity is None and name.text not in RESERVED and not self.members(name.text):
            return self.module.unreadable(name)
        return entity

    def local(self, name: syntax.Name) -> LocalName | None:
        """Returns the local that a name in the text denotes, and records the meaning of the
        name.
        """
        local = self.locals.get(name.text)
        if local is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, local, self.module))
        return local

    def meant(
        self, name: syntax.Name, entity: Entity | None, module: Instance | None = None
    ) -> None:
        """Records that a name denotes ``entity``, as seen from ``module`` (by default, the current
        module).
        """
        if entity is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, entity, module or self.module))

    def stands_for(self, name: syntax.Name, span: Span) -> None:
        """Records that a name denotes a declaration at ``span`` that is not an entity."""
        if self.work.recorder is not None:
            self.work.recorder.names.append((name, LocalName(None, span), self.module))

    def part(self, name: syntax.Name, kind: Type, *path: str) -> None:
        """Records that a name denotes a part of a type, which is not an entity."""
        if self.work.recorder is not None:
            self.work.recorder.parts.append((name, kind, path))

    def members(self, text: str) -> list[MemberEntity]:
        """Returns the members of enums and unions with this name."""
        return self.module.members.get(text, [])

    def known(self) -> Iterator[str]:
        """Yields all names that can be used here, for suggestions."""
        yield from self.locals
        if self.role is not None:
            yield from self.role.names
        yield from self.module.names
        yield from self.module.imports
        yield from self.module.members
        yield from ("true", "false", "none", *VALUE_WORDS)

    def unknown(
        self,
        name: syntax.Name,
        what: str = "name",
        also: tuple[str, ...] = (),
        kinds: tuple[type[Entity], ...] = (),
        meant: Mapping[str, str] | None = None,
        instead: Mapping[str, str] | None = None,
    ) -> Reported:
        """Reports an unknown name, unless its declaration could not be parsed.

        Entities of these ``kinds`` are suggested first. ``meant`` maps words of other languages to
        ours. ``instead`` gives advice for words that have no equivalent.
        """
        if self.module.unreadable(name):
            return None
        hint = ""
        if len(self.work.problems) < MAX_HINTED:
            fitting = [text for text in self.known() if isinstance(self.find(text), kinds)]
            hint = suggestion(name.text, fitting) or suggestion(name.text, [*self.known(), *also])
        other = (meant or {}).get(name.text.lower())
        if other is not None:
            hint = f'; it is called "{other}"'
        elif (instead or {}).get(name.text.lower()):
            hint = f"; {(instead or {})[name.text.lower()]}"
        elif not hint and name.text in ANYWHERE:
            hint = f"; {ANYWHERE[name.text]}"
        elif not hint and name.span.follows("//") and name.span.ends_line:
            hint = '; "//" divides, and a comment begins with "#"'
        return self.report("F201", name.span, f'no {what} "{name.text}" is known here{hint}')


def twice(name: str, span: Span) -> tuple[str, Note]:
    """Returns the message and the note for a name that was first declared at ``span``."""
    return f'"{name}" is declared twice', (span, "first declared here")


def hiding(text: str, what: str, span: Span, advice: str = ANOTHER_NAME) -> tuple[str, Note]:
    """Returns the message and the note for a new name that would hide an existing one."""
    message = f'"{text}" is {what} here already, and a name has one meaning; {advice}'
    return message, (span, f'"{text}" is declared here')


def reserved(row: BuiltIn) -> str:
    """Returns the message for a new name that the language reserves."""
    return f'"{row.name}" is a {row.kind} of the language; choose another name'


def first_ghost(*operands: Operand | None) -> Ghost | None:
    """Returns the reason why one of the operands is a ghost, or None if none of them is."""
    for operand in operands:
        if operand is not None and operand.ghost is not None:
            return operand.ghost
    return None


def role_locals(role: RoleEntity | None, instance: ir.Expr | None) -> dict[str, LocalName]:
    """Returns the index of a role family as a local that all members of the role can see."""
    if role is None or role.decl.index is None or instance is None:
        return {}
    name = role.decl.index.name
    operand = None if role.placeholder else Operand(instance)
    return {name.text: LocalName(operand, name.span)}
