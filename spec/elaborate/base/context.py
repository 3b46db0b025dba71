"""The state of elaborating one model: its tables, its problems, and the context of each expression.

This module handles no form of the language itself; the modules that do (`truth`, `statements`, ...)
call it. They also append to a `Recorder`, if there is one, which changes neither the model nor the
problems; `references` interprets the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import DEEPEST, MAX_EXPANDED, MAX_NESTED
from fencepost.spec.core.types import Type
from fencepost.spec.elaborate.base.built_in import BUILT_IN, TYPE_WORDS, VALUE_WORDS
from fencepost.spec.elaborate.base.other_languages import ANYWHERE
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
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
"""A part of a type: () is the type itself; (member,), (field,) and (variant, field) are its
parts.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Recorder:
    """Records of one or more builds of one program, in order. Most entries occur several times.

    ``names`` are names in the text, their declarations, and the instance of each use; ``parts``
    are names of parts of types; ``types`` are the types of expressions and of bound locals.
    """

    instances: list[Instance] = field(default_factory=list[Instance])
    names: list[tuple[syntax.Name, Entity | LocalName, Instance]] = field(
        default_factory=list[tuple[syntax.Name, "Entity | LocalName", Instance]]
    )
    parts: list[tuple[syntax.Name, Type, Path]] = field(
        default_factory=list[tuple[syntax.Name, Type, Path]]
    )
    types: list[tuple[syntax.Node, Type]] = field(default_factory=list[tuple[syntax.Node, Type]])


Place: TypeAlias = Literal["constant", "initial", "action", "property", "step"]
"""The kind of position of an expression; it determines what the expression may read."""


class Typer(Protocol):
    """The entry point for checking expressions and types of any form."""

    def expression(
        self, context: Context, node: syntax.Expr, expected: Type | None
    ) -> Operand | None:
        """The checked expression. None if it is wrong, which has been reported."""
        ...

    def resolve(self, context: Context, node: syntax.Expr) -> Type | None:
        """The type that ``node`` denotes. None if it is wrong, which has been reported."""
        ...


class Convert(Protocol):
    """See `conversion.converted`."""

    def __call__(
        self, context: Context, expr: ir.Expr, target: Type, span: Span, /
    ) -> ir.Expr | None: ...


MAX_HINTED = 100
"""Maximum number of problems after which an unknown name still gets a suggestion."""


class Stop(Exception):
    """Raised when elaboration cannot usefully continue (a size that explodes); the problem has been
    recorded.
    """


@dataclass(slots=True, eq=False)
class Elaboration:
    """The tables of the model being built, and the problems found so far.

    ``sent`` and ``received`` hold the messages, by channel and tag, that some action sends (and
    where) or receives. ``signatures`` caches types of parameters and results by syntax node and
    module. ``resolving`` is the stack of types and constants being resolved. ``symbols`` are the
    symbolic constants without an override, by their numbers; ``given`` is set if one is overridden.
    ``quantified`` are the predicates and domains of formulas before their quantifiers are expanded.
    A ``muted`` elaboration records no problems of size (see `scratch`). Meanings of names are noted
    in ``recorder``, if there is one.
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
    slots: int = 0
    labels: int = 0
    expanded: int = 0
    nested: int = 0
    given: bool = False
    visited: int = 0
    muted: bool = False

    def scratch(self, muted: bool) -> Elaboration:
        """A copy with discarded tables, for code that is checked but never runs.

        Pass ``muted`` if the code is unreachable because of the values of constants; problems that
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

    def slot(self) -> int:
        """A new slot."""
        self.slots += 1
        return self.slots - 1

    def label(self) -> int:
        """A new block label."""
        self.labels += 1
        return self.labels - 1

    def report(
        self, code: str, span: Span, message: str, *notes: Note, warning: bool = False
    ) -> None:
        """Records a problem."""
        if not (self.muted and code.startswith("F7")):
            self.problems.append(Problem(code, span, message, notes, warning))

    def descend(self, span: Span, expanding: bool) -> None:
        """Enters a statement or expression, which `ascend` leaves. Pass ``expanding`` inside the
        copy of a called body.

        Stops a model whose copies explode or nest without end.
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
        """The names on a cycle from a declaration back to itself; empty if it has no other
        members.
        """
        names = [other.name for other in self.resolving[self.resolving.index(entity) :]]
        return f": {', '.join(names)}, {entity.name}" if len(names) > 1 else ""

    def limit(self, count: int, span: Span) -> None:
        """Stops a model that would nest ``count`` successive items inside each other."""
        if count > DEEPEST:
            self._explode(
                "F711",
                span,
                f"each of these is nested in the one before it, and {count} levels are more than "
                f"the {DEEPEST} that engines support",
            )

    def too_many_modules(self, span: Span) -> None:
        """Stops a model whose modules import one another with ever new arguments."""
        self._explode(
            "F609",
            span,
            "too many modules are imported with arguments here, counting their own imports; "
            "importing a module again with the same arguments costs nothing",
        )

    def ascend(self) -> None:
        """See `descend`."""
        self.nested -= 1

    def _explode(self, code: str, span: Span, message: str) -> None:
        self.problems.append(Problem(code, span, message))
        raise Stop


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """Properties of a position in a spec that limit what an expression may read and use.

    ``declared`` is, in an initial value, the number of variables declared above. ``after`` is set
    inside ``next(...)``. ``outermost`` is set if only foralls and conjunctions enclose the
    expression, in property ``owner``. ``domain`` is set if the expected set is only iterated over
    or tested for membership, and so may be large. ``symbolic`` allows symbolic constants where a
    constant is required. ``apart`` is set if values of symmetric types are distinguished and may be
    named, and records of any module may be built by name. ``convert`` builds values of another
    module's types where those are expected.
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


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The scope at a position in a spec, and the known facts.

    ``facts`` are the tags that a union value can have here, by the core expression that reads it
    (see `flow`). ``returns`` is the block that ``return`` ends. ``calls`` are the calls being
    expanded.
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
    action: int = -1
    returns: int | None = None

    @property
    def given(self) -> bool:
        """Whether a value evaluated here may come from an override of a symbolic constant. Such a
        value outside its type is an evaluation error, as in a run for all values.
        """
        position = self.position
        return self.work.given and (position.place != "constant" or position.symbolic)

    # ------------------------------------------------------------ shorthands

    def expression(self, node: syntax.Expr, expected: Type | None = None) -> Operand | None:
        """See `Typer.expression`."""
        return self.work.typer.expression(self, node, expected)

    def resolve(self, node: syntax.Expr) -> Type | None:
        """See `Typer.resolve`."""
        return self.work.typer.resolve(self, node)

    def report(self, code: str, span: Span, message: str, *notes: Note) -> None:
        """Records a problem; inside an expanded def or procedure it points to the call."""
        calls: tuple[Note, ...] = tuple((call, "called from here") for call in self.calls[-1:])
        self.work.report(code, span, message, *notes, *calls)

    def site(self, code: str, span: Span, message: str) -> int:
        """The number of a new site at which evaluation can fail."""
        self.work.sites.append(ir.Site(code, span, message, self.calls))
        return len(self.work.sites) - 1

    def guard(self, kind: ir.GuardKind, span: Span) -> int:
        """The number of a new guard of the current action."""
        self.work.guards.append(ir.Guard(kind, span, self.action, self.calls))
        return len(self.work.guards) - 1

    def mark(
        self, kind: Literal["branch", "guard", "antecedent"], span: Span, owner: int, text: str
    ) -> int:
        """The number of a new coverage mark."""
        self.work.marks.append(ir.CoverageMark(kind, span, owner, text))
        return len(self.work.marks) - 1

    # ------------------------------------------------------------ inner contexts

    def at(self, position: Position) -> Context:
        """The same names and facts at another position."""
        return replace(self, position=position)

    def inner(self) -> Context:
        """The same context, but not the outermost part of a property."""
        position = self.position
        return self.at(replace(position, outermost=False)) if position.outermost else self

    def of_any_size(self) -> Context:
        """The same context, but the next expected set may be large (see `Position`)."""
        return self.at(replace(self.position, domain=True))

    def unreached(self) -> Context:
        """The same context, for code that is unreachable because of the values of constants."""
        return replace(self, work=self.work.scratch(muted=True))

    def bind(self, name: syntax.Name, operand: Operand | None) -> Context:
        """This context with one more local. Shadowing is reported."""
        if name.text == "_":
            return self
        self._refuse_hiding(name)
        if operand is not None and self.work.recorder is not None:
            self.work.recorder.types.append((name, operand.type))
        return replace(self, locals={**self.locals, name.text: LocalName(operand, name.span)})

    def _refuse_hiding(self, name: syntax.Name) -> None:
        text = name.text
        if text in TYPE_WORDS or text in VALUE_WORDS:
            self.work.report("F204", name.span, reserved(text))
        elif text in self.locals:
            self.work.report("F203", name.span, *hiding(text, "a local", self.locals[text].span))
        else:
            entity = self.find(text) or next(iter(self.members(text)), None)
            if entity is not None and not isinstance(entity, BrokenEntity):
                kind = kind_of(entity)
                self.work.report("F203", name.span, *hiding(text, kind, entity.span))

    def learn(self, facts: Mapping[ir.Expr, frozenset[int]]) -> Context:
        """This context with additional facts about the tags of union values."""
        if not facts:
            return self
        merged = dict(self.facts)
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
        return replace(self, facts=merged)

    def with_locals_only(self) -> Context:
        """This context without facts about state that may change."""
        facts: dict[ir.Expr, frozenset[int]] = {
            expr: tags for expr, tags in self.facts.items() if isinstance(expr, ir.Local)
        }
        return replace(self, facts=facts)

    # ------------------------------------------------------------ names

    def find(self, text: str) -> Entity | None:
        """The entity of a name, looked up in the role, the module and the imports, in this order.
        Members and locals are separate.
        """
        if self.role is not None and text in self.role.names:
            return self.role.names[text]
        return self.module.names.get(text) or self.module.imports.get(text)

    def look_up(self, name: syntax.Name) -> Entity | None:
        """The entity that a name in the text denotes; see `find`."""
        entity = self.find(name.text)
        if entity is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, entity, self.module))
        return entity

    def local(self, name: syntax.Name) -> LocalName | None:
        """The local that a name in the text denotes."""
        local = self.locals.get(name.text)
        if local is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, local, self.module))
        return local

    def meant(
        self, name: syntax.Name, entity: Entity | None, module: Instance | None = None
    ) -> None:
        """Records that a name denotes ``entity`` as ``module`` (default: this one) knows it."""
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
        """The members of enums and unions with this name."""
        return self.module.members.get(text, [])

    def known(self) -> Iterator[str]:
        """All names that can be used here, for suggestions."""
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
    ) -> None:
        """Reports an unknown name, unless its declaration was broken.

        Entities of these ``kinds`` are suggested first. ``meant`` maps words of other languages to
        ours; ``instead`` gives advice for words without an equivalent.
        """
        if name.text in self.module.file.broken.names:
            return
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
        self.report("F201", name.span, f'no {what} "{name.text}" is known here{hint}')


def hiding(text: str, what: str, span: Span) -> tuple[str, Note]:
    """The message and the note for a new name that would hide an existing one."""
    message = f'"{text}" is {what} here already, and a name has one meaning; choose another name'
    return message, (span, f'"{text}" is declared here')


def reserved(text: str) -> str:
    """The message for a new name that is reserved by the language."""
    return f'"{text}" is a {BUILT_IN[text].kind} of the language; choose another name'


def first_ghost(*operands: Operand | None) -> Ghost | None:
    """The reason why any of the operands is a ghost."""
    for operand in operands:
        if operand is not None and operand.ghost is not None:
            return operand.ghost
    return None


def role_locals(role: RoleEntity | None, instance: ir.Expr | None) -> dict[str, LocalName]:
    """The index of a role family as a local, visible to every member of the role."""
    if role is None or role.decl.index is None or instance is None:
        return {}
    name = role.decl.index.name
    return {name.text: LocalName(Operand(instance), name.span)}
