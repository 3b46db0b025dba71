"""Entities, which are the declarations that names denote during elaboration.

Entities are created when the declarations of a module are collected. Their types, values and
variable numbers are resolved on first use. `Pending` marks the entities being resolved, so that
cycles are detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum as PythonEnum
from pathlib import Path
from typing import TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span


class Pending(PythonEnum):
    """The progress of resolving an entity on first use."""

    NEW = "new"
    RESOLVING = "resolving"
    DONE = "done"


@dataclass(slots=True, eq=False)
class Named:
    """The base of all entities. ``span`` is the name in the declaration."""

    name: str
    span: Span

    @property
    def note(self) -> Note:
        """A note that points to the declaration."""
        return self.span, f'"{self.name}" is declared here'


@dataclass(slots=True, eq=False)
class Owned(Named):
    """An entity that belongs to a module."""

    module: Instance


@dataclass(slots=True, eq=False)
class ConstEntity(Owned):
    """A constant. ``override`` is an expression that replaces its value; it comes from an import, a
    check or the command line.

    A symbolic constant without an override has the number ``symbol`` and no value.
    """

    decl: syntax.Const | syntax.Param
    override: tuple[syntax.Expr, Instance] | None = None
    state: Pending = Pending.NEW
    type: Type | None = None
    value: Value | None = None
    symbol: int | None = None


@dataclass(slots=True, eq=False)
class TypeEntity(Owned):
    """A named type. Each member of an enum or union also has a `MemberEntity`."""

    decl: (
        syntax.TypeDecl
        | syntax.EnumDecl
        | syntax.RecordDecl
        | syntax.UnionDecl
        | syntax.SymmetricType
        | syntax.Param
    )
    state: Pending = Pending.NEW
    type: Type | None = None


@dataclass(slots=True, eq=False)
class MemberEntity(Named):
    """Member number ``index`` of an enum or union."""

    owner: TypeEntity
    index: int


@dataclass(slots=True, eq=False)
class VariableEntity(Owned):
    """A state variable. ``type`` is the declared type. In a role family, this is the type of one
    process's variable.
    """

    decl: syntax.VarDecl
    role: RoleEntity | None
    index: int | None = None
    type: Type | None = None


@dataclass(slots=True, eq=False)
class ChannelEntity(Owned):
    """A channel. A ``param channel`` is replaced by the channel that the importer passes for it.

    ``looked_at`` says whether some expression reads the channel's content.
    """

    decl: syntax.ChannelDecl
    index: int | None = None
    message: Type | None = None
    type: Type | None = None
    indices: tuple[Type, ...] = ()
    capacity: int | None = None
    looked_at: bool = False


@dataclass(slots=True, eq=False)
class RoleEntity(Owned):
    """A role and the names declared in it. ``index_type`` is None for a single process, and a
    ``placeholder`` if the declared type is wrong.
    """

    decl: syntax.RoleDecl
    index_type: Type | None = None
    placeholder: bool = False
    names: dict[str, Entity] = field(default_factory=dict[str, "Entity"])


@dataclass(slots=True, eq=False)
class ActionEntity(Owned):
    """An action. ``index`` is its number in the model. ``parameters`` holds the element types of
    its parameters' domains once they are known.
    """

    decl: syntax.ActionDecl
    role: RoleEntity | None
    index: int | None = None
    parameters: tuple[Type, ...] | None = None


@dataclass(slots=True, eq=False)
class FairnessEntity(Owned):
    """A fairness constraint of a group of actions, with a name."""

    decl: syntax.FairDecl
    role: RoleEntity | None


@dataclass(slots=True, eq=False)
class DefEntity(Owned):
    """A pure function, expanded at each call."""

    decl: syntax.DefDecl
    role: RoleEntity | None
    used: bool = False


@dataclass(slots=True, eq=False)
class ProcedureEntity(Owned):
    """A procedure, expanded at each call."""

    decl: syntax.ProcedureDecl
    role: RoleEntity | None
    used: bool = False


@dataclass(slots=True, eq=False)
class PropertyEntity(Owned):
    """A named property."""

    decl: syntax.PropertyDecl | syntax.RefinementDecl
    role: RoleEntity | None


@dataclass(slots=True, eq=False)
class ModuleEntity(Named):
    """An imported module under its alias."""

    instance: Instance


@dataclass(slots=True, eq=False)
class BrokenEntity(Named):
    """A name whose declaration is wrong or could not be parsed. The declaration has been reported,
    so uses of the name are not.
    """


Entity: TypeAlias = (
    ConstEntity | TypeEntity | MemberEntity | VariableEntity | ChannelEntity | RoleEntity
    | ActionEntity | FairnessEntity | DefEntity | ProcedureEntity | PropertyEntity | ModuleEntity
    | BrokenEntity
)  # fmt: skip


def kind_of(entity: Entity) -> str:
    """Returns the kind of an entity in the words of the language, such as "a constant" or "an
    action".
    """
    kind = _KINDS[type(entity)]
    return f"{kind} of {entity.owner.name}" if isinstance(entity, MemberEntity) else kind


_KINDS: Mapping[type[Entity], str] = {
    ConstEntity: "a constant",
    TypeEntity: "a type",
    MemberEntity: "a member",
    VariableEntity: "a variable",
    ChannelEntity: "a channel",
    RoleEntity: "a role",
    ActionEntity: "an action",
    FairnessEntity: "a fairness constraint",
    DefEntity: "a def",
    ProcedureEntity: "a procedure",
    PropertyEntity: "a property",
    ModuleEntity: "a module",
    BrokenEntity: "a declaration",
}


@dataclass(slots=True, eq=False)
class Instance:
    """A module with its arguments. Imports with the same file and equal arguments share one
    instance.

    ``names`` holds what the module declares itself, and ``imports`` the names that it imports.
    ``members`` holds the members of enums and unions by name; several types may have a member of
    the same name. ``joined`` says whether the module's state is part of the model. ``home``
    distinguishes the module's types from those of other instances.
    """

    path: Path
    file: syntax.File
    home: str
    alias: str
    names: dict[str, Entity] = field(default_factory=dict[str, "Entity"])
    imports: dict[str, Entity] = field(default_factory=dict[str, "Entity"])
    members: dict[str, list[MemberEntity]] = field(default_factory=dict[str, "list[MemberEntity]"])
    modules: list[Instance] = field(default_factory=list["Instance"])
    joined: bool = False

    def unreadable(self, name: syntax.Name) -> BrokenEntity | None:
        """Returns an entity for an unknown name if a declaration that could not be parsed may
        declare it.
        """
        may_declare = self.file.broken.may_declare(name.text)
        return BrokenEntity(name.text, name.span) if may_declare else None


def declared_at(entity: Entity, module: Instance) -> Span:
    """Returns the span that declares ``entity`` in the text of ``module``. A channel passed as an
    argument is declared by the parameter.
    """
    if isinstance(entity, ChannelEntity) and entity.module is not module:
        for decl in module.file.declarations:
            if isinstance(decl, syntax.Param) and module.names.get(decl.name.text) is entity:
                return decl.name.span
    return entity.span


@dataclass(frozen=True, slots=True)
class Ghost:
    """The reason why a value must not influence ordinary code, and the span of its cause."""

    span: Span
    reason: str


Opening: TypeAlias = Callable[[ir.Statement], ir.Statement]
"""A statement that still needs its continuation."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A checked expression: its core form and, if it is a ghost, the reason for that."""

    expr: ir.Expr
    ghost: Ghost | None = None

    @property
    def type(self) -> Type:
        return self.expr.type


@dataclass(frozen=True, slots=True)
class LocalName:
    """A local: its value, or None if its declaration is wrong, and the span that binds it."""

    operand: Operand | None
    span: Span


# ---------------------------------------------------------------- definitions in files


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A ``def`` with its name, parameters and spans. ``used`` contains the parameters that the body
    uses, in the order of their first use.
    """

    name: str
    parameters: tuple[str, ...]
    span: Span
    body: Span
    used: tuple[str, ...]


def definitions(files: Iterable[syntax.File]) -> tuple[Definition, ...]:
    """Returns the definitions in the given files, including those in roles."""
    return tuple(
        _definition(node)
        for file in files
        for node in walk(file.declarations)
        if isinstance(node, syntax.DefDecl)
    )


def _definition(node: syntax.DefDecl) -> Definition:
    parameters = tuple(parameter.name.text for parameter in node.parameters)
    names = [part.text for part in walk(node.body) if isinstance(part, syntax.Name)]
    used = dict.fromkeys(name for name in names if name in parameters)
    return Definition(node.name.text, parameters, node.span, node.body.span, tuple(used))


def role_indices(files: Iterable[syntax.File]) -> dict[str, str]:
    """Returns the index names of role families by role name."""
    return {
        node.name.text: node.index.name.text
        for file in files
        for node in walk(file.declarations)
        if isinstance(node, syntax.RoleDecl) and node.index is not None
    }
