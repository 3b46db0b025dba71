"""What is under way while one model is built: its tables, its problems, and the context of a place.

It knows no form of the language; the modules that do (`expressions`, `statements`, ...) call it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from fencepost.spec import ir, syntax
from fencepost.spec.entities import (
    BrokenEntity,
    Entity,
    Ghost,
    Instance,
    LocalName,
    MemberEntity,
    Operand,
    RoleEntity,
)
from fencepost.spec.problem import Note, Problem, suggestion
from fencepost.spec.source import Span
from fencepost.spec.types import Type

MOST_EXPANSIONS = 50_000
"""How many calls of defs and procedures one model may expand to."""

Place: TypeAlias = Literal["constant", "initial", "action", "property", "step"]
"""Where an expression stands: what it may look at depends on it."""


class Typer(Protocol):
    """The one entry to the checking of expressions and types, whatever stands in them."""

    def expression(
        self, context: Context, node: syntax.Expr, expected: Type | None
    ) -> Operand | None:
        """The checked expression, or None when it is wrong (and has been reported)."""
        ...

    def resolve(self, context: Context, node: syntax.Expr) -> Type | None:
        """The type that ``node`` denotes, or None when it is wrong (and has been reported)."""
        ...


class Stop(Exception):
    """Building cannot go on sensibly (a size that explodes); the problem has been recorded."""


@dataclass(slots=True, eq=False)
class Elaboration:
    """The tables of the model being built, and the problems found so far."""

    typer: Typer
    problems: list[Problem] = field(default_factory=list[Problem])
    sites: list[ir.Site] = field(default_factory=list[ir.Site])
    guards: list[ir.Guard] = field(default_factory=list[ir.Guard])
    marks: list[ir.CoverageMark] = field(default_factory=list[ir.CoverageMark])
    action_kinds: list[str] = field(default_factory=list[str])
    slots: int = 0
    labels: int = 0
    expansions: int = 0

    def slot(self) -> int:
        """A slot that nothing else uses."""
        self.slots += 1
        return self.slots - 1

    def label(self) -> int:
        """A block label that nothing else uses."""
        self.labels += 1
        return self.labels - 1

    def report(
        self, code: str, span: Span, message: str, *notes: Note, warning: bool = False
    ) -> None:
        """Records a problem."""
        self.problems.append(Problem(code, span, message, notes, warning))

    def expand(self, span: Span) -> None:
        """Counts one expanded call; a model that explodes ends here."""
        self.expansions += 1
        if self.expansions > MOST_EXPANSIONS:
            self.report(
                "F709",
                span,
                f"the calls of this spec expand to more than {MOST_EXPANSIONS} copies of defs and"
                " procedures; let a def bind what it uses twice",
            )
            raise Stop


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """A place in a spec: which names it sees, and what is known there.

    ``facts``: which tags a union value can have here, by its (immutable) core expression.
    ``returns``: the block that ``return`` ends. ``calls``: the calls being expanded.
    ``declared``: in an initial value, how many variables are declared above. ``after``: inside
    ``next(...)``. ``outermost``: nothing but foralls and conjunctions around, in property ``owner``.
    """

    work: Elaboration
    module: Instance
    place: Place
    role: RoleEntity | None = None
    instance: ir.Expr | None = None
    locals: Mapping[str, LocalName] = field(default_factory=dict[str, LocalName])
    facts: Mapping[ir.Expr, frozenset[int]] = field(default_factory=dict[ir.Expr, frozenset[int]])
    calls: tuple[Span, ...] = ()
    expanding: tuple[object, ...] = ()
    action: int = -1
    returns: int | None = None
    declared: int | None = None
    after: bool = False
    outermost: bool = False
    owner: int = -1

    # ------------------------------------------------------------ shorthands

    def expression(self, node: syntax.Expr, expected: Type | None = None) -> Operand | None:
        """See `Typer.expression`."""
        return self.work.typer.expression(self, node, expected)

    def resolve(self, node: syntax.Expr) -> Type | None:
        """See `Typer.resolve`."""
        return self.work.typer.resolve(self, node)

    def report(self, code: str, span: Span, message: str, *notes: Note) -> None:
        """Records a problem; inside an expanded def or procedure it names the call."""
        calls: tuple[Note, ...] = tuple((call, "called from here") for call in self.calls[-1:])
        self.work.report(code, span, message, *notes, *calls)

    def site(self, code: str, span: Span, message: str) -> int:
        """The number of a new place where evaluation can fail."""
        self.work.sites.append(ir.Site(code, span, message, self.calls))
        return len(self.work.sites) - 1

    def guard(
        self, kind: Literal["require", "choice", "message", "capacity", "budget"], span: Span
    ) -> int:
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

    def inner(self) -> Context:
        """The same place, no longer the outermost part of a property."""
        return replace(self, outermost=False) if self.outermost else self

    def bind(self, name: syntax.Name, operand: Operand | None) -> Context:
        """This context with one more local; shadowing is reported."""
        if name.text == "_":
            return self
        other = self.visible(name.text)
        if other is not None:
            self.work.report(
                "F203",
                name.span,
                f'"{name.text}" is already the name of something visible here; choose another',
                (other, f'"{name.text}" is declared here'),
            )
        return replace(self, locals={**self.locals, name.text: LocalName(operand, name.span)})

    def learn(self, facts: Mapping[ir.Expr, frozenset[int]]) -> Context:
        """This context, knowing more about the tags of union values."""
        if not facts:
            return self
        merged = dict(self.facts)
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
        return replace(self, facts=merged)

    # ------------------------------------------------------------ names

    def visible(self, text: str) -> Span | None:
        """Where the thing is declared that a local of this name would hide, if any."""
        if text in self.locals:
            return self.locals[text].span
        entity = self.find(text)
        if entity is not None:
            # Actions and properties are named in few places, where no local can stand.
            return None if type(entity).__name__ in _UNHIDDEN else entity.span
        members = self.module.members.get(text)
        return members[0].span if members else None

    def find(self, text: str) -> Entity | None:
        """The entity of a name: role, then module, then imports. Members and locals are apart."""
        if self.role is not None and text in self.role.names:
            return self.role.names[text]
        return self.module.names.get(text) or self.module.imports.get(text)

    def members(self, text: str) -> list[MemberEntity]:
        """The members of enums and unions that go by this name."""
        return self.module.members.get(text, [])

    def known(self) -> Iterator[str]:
        """Every name that can be used here, for suggestions."""
        yield from self.locals
        if self.role is not None:
            yield from self.role.names
        yield from self.module.names
        yield from self.module.imports
        yield from self.module.members

    def unknown(self, name: syntax.Name, what: str = "name") -> None:
        """Reports a name that nothing here has, unless its declaration was broken."""
        if name.text in self.module.file.broken.names:
            return
        hint = suggestion(name.text, self.known())
        self.report("F201", name.span, f'no {what} "{name.text}" is known here{hint}')


_UNHIDDEN = ("ActionEntity", "PropertyEntity")


def first_ghost(*operands: Operand | None) -> Ghost | None:
    """The reason why any of the operands is a ghost."""
    for operand in operands:
        if operand is not None and operand.ghost is not None:
            return operand.ghost
    return None


def is_broken(entity: Entity | None) -> bool:
    """Whether an entity is one whose declaration has been reported."""
    return isinstance(entity, BrokenEntity)


def role_locals(role: RoleEntity | None, instance: ir.Expr | None) -> dict[str, LocalName]:
    """The index of a role family as a local: what every member of the role sees."""
    if role is None or role.decl.index is None or instance is None:
        return {}
    name = role.decl.index.name
    return {name.text: LocalName(Operand(instance), name.span)}
