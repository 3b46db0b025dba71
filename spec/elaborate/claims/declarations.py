"""Collects the names that the declarations of one module introduce, and reports names that would
hide others.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from fencepost.spec.elaborate.base.built_in import FUNCTION_WORDS, TYPE_WORDS, VALUE_WORDS
from fencepost.spec.elaborate.base.context import Elaboration, hiding, reserved
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    Instance,
    MemberEntity,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
    kind_of,
)
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


@dataclass(slots=True)
class Gathering:
    """Collects the names that the declarations of one module introduce."""

    work: Elaboration
    instance: Instance

    def gather(self) -> None:
        """Enters every name that the file declares. Reports names that are declared twice."""
        for node in self.instance.file.declarations:
            entity = self._entity(node)
            if entity is not None:
                self._enter(self.instance.names, entity)
            if isinstance(entity, TypeEntity):
                self._members(entity, member_names(node))
            elif isinstance(entity, RoleEntity):
                self._role(entity)
        for name, known in self.instance.members.items():
            other = self.instance.names.get(name)
            if other is not None:
                self._twice(name, known[0].span, other.span)

    def _entity(self, node: syntax.Declaration) -> Entity | None:
        module = self.instance
        match node:
            case syntax.Const(name=name):
                return ConstEntity(name.text, name.span, module, node)
            case syntax.Param(name=name, kind="const"):
                return ConstEntity(name.text, name.span, module, node)
            case syntax.Param(name=name, kind="type"):
                return TypeEntity(name.text, name.span, module, node)
            case syntax.Param(name=name):
                # The importer replaces this entity by one of its channels.
                return BrokenEntity(name.text, name.span)
            case (
                syntax.TypeDecl(name=name)
                | syntax.EnumDecl(name=name)
                | syntax.RecordDecl(name=name)
                | syntax.UnionDecl(name=name)
                | syntax.SymmetricType(name=name)
            ):
                return TypeEntity(name.text, name.span, module, node)
            case syntax.ChannelDecl(name=name):
                return ChannelEntity(name.text, name.span, module, node)
            case syntax.RoleDecl(name=name):
                return RoleEntity(name.text, name.span, module, node)
            case (
                syntax.VarDecl()
                | syntax.ActionDecl()
                | syntax.DefDecl()
                | syntax.ProcedureDecl()
                | syntax.PropertyDecl()
            ):
                return self._member(node, None)
            case syntax.RefinementDecl(name=name):
                return PropertyEntity(name.text, name.span, module, node, None)
            case (
                syntax.Import()
                | syntax.Assume()
                | syntax.Initially()
                | syntax.CheckDecl()
                | syntax.ScenarioDecl()
            ):
                return None
            case (
                syntax.RecordingDecl()
                | syntax.EventDecl()
                | syntax.ShowsDecl()
                | syntax.InputDecl()
                | syntax.DropDecl()
                | syntax.HiddenDecl()
                | syntax.TolerateDecl()
                | syntax.UnderWayDecl()
            ):
                # Names in a recording are separate from those of the module.
                return None
            case _:
                assert_never(node)

    def _member(self, node: syntax.RoleMember, role: RoleEntity | None) -> Entity | None:
        module = self.instance
        match node:
            case syntax.VarDecl(name=name):
                return VariableEntity(name.text, name.span, module, node, role)
            case syntax.ActionDecl(name=name):
                return ActionEntity(name.text, name.span, module, node, role)
            case syntax.DefDecl(name=name):
                return DefEntity(name.text, name.span, module, node, role)
            case syntax.ProcedureDecl(name=name):
                return ProcedureEntity(name.text, name.span, module, node, role)
            case syntax.PropertyDecl(name=name):
                if name is None:
                    return None
                return PropertyEntity(name.text, name.span, module, node, role)
            case _:
                assert_never(node)

    def _role(self, role: RoleEntity) -> None:
        for node in role.decl.members:
            entity = self._member(node, role)
            if entity is not None:
                self._enter(role.names, entity)

    def _enter(self, names: dict[str, Entity], entity: Entity) -> None:
        other = names.get(entity.name)
        if other is not None:
            self._twice(entity.name, entity.span, other.span)
            names[entity.name] = BrokenEntity(entity.name, other.span)
            return
        called = isinstance(entity, TypeEntity | DefEntity | ProcedureEntity | RoleEntity)
        taken = (*TYPE_WORDS, *VALUE_WORDS, *(FUNCTION_WORDS if called else ()))
        if entity.name in taken:
            self.work.report("F204", entity.span, reserved(entity.name))
        names[entity.name] = entity

    def _members(self, entity: TypeEntity, names: tuple[syntax.Name, ...]) -> None:
        seen: dict[str, syntax.Name] = {}
        for index, name in enumerate(names):
            if name.text in seen:
                self._twice(name.text, name.span, seen[name.text].span)
                continue
            if name.text in (*TYPE_WORDS, *VALUE_WORDS, *FUNCTION_WORDS):
                self.work.report("F204", name.span, reserved(name.text))
            seen[name.text] = name
            member = MemberEntity(name.text, name.span, entity, index)
            self.instance.members.setdefault(name.text, []).append(member)

    def _twice(self, name: str, span: Span, other: Span) -> None:
        first, second = sorted([span, other], key=lambda where: where.start)
        self.work.report(
            "F202", second, f'"{name}" is declared twice', (first, "first declared here")
        )


def member_names(node: syntax.Declaration) -> tuple[syntax.Name, ...]:
    """Returns the names of the members of a declared type."""
    match node:
        case syntax.EnumDecl(members=members) | syntax.SymmetricType(members=members):
            return members
        case syntax.UnionDecl(variants=variants):
            return tuple(variant.name for variant in variants)
        case _:
            return ()


def refuse_hiding(work: Elaboration, instance: Instance) -> None:
    """Reports (F203) names of a module and its roles that hide other names."""
    outside = {**instance.imports, **instance.names}

    def refuse(name: str, span: Span, known: Mapping[str, Entity]) -> None:
        other = known.get(name) or next(iter(instance.members.get(name, [])), None)
        if other is not None and not isinstance(other, BrokenEntity):
            work.report("F203", span, *hiding(name, kind_of(other), other.span))

    for name, entity in instance.names.items():
        own = any(member.owner.module is instance for member in instance.members.get(name, []))
        if not own and not isinstance(entity, BrokenEntity):
            # `gather` has compared the name with the module's own members, so only imported members
            # can still have the same name.
            refuse(name, entity.span, {})
        if isinstance(entity, RoleEntity):
            for inner, declared in entity.names.items():
                if not isinstance(declared, BrokenEntity):
                    refuse(inner, declared.span, outside)
            if entity.decl.index is not None:
                index = entity.decl.index.name
                if index.text in (*TYPE_WORDS, *VALUE_WORDS):
                    work.report("F204", index.span, reserved(index.text))
                refuse(index.text, index.span, ChainMap(entity.names, outside))
