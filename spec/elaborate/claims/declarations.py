"""Collects the names that the declarations of one module introduce, reports names that would hide
others, and checks what nothing calls.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import get_args

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.actions.statements import suite
from fencepost.spec.elaborate.base.built_in import RESERVED
from fencepost.spec.elaborate.base.context import (
    Context,
    Elaboration,
    Place,
    Position,
    Stop,
    hiding,
    reserved,
    role_locals,
    twice,
)
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    FairnessEntity,
    Instance,
    MemberEntity,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
    kind_of,
)
from fencepost.spec.elaborate.claims.module_state import every_instance
from fencepost.spec.elaborate.values.defs import checked_alone
from fencepost.spec.elaborate.values.functions import FUNCTIONS
from fencepost.spec.elaborate.values.parameters import made_up
from fencepost.spec.records import replace
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

    def _entity(self, node: syntax.Declaration, role: RoleEntity | None = None) -> Entity | None:
        """Returns the entity that a declaration introduces, or None if it introduces none."""
        name: syntax.Name | None = getattr(node, "name", None)
        make = _ENTITIES[type(node)]
        if name is None or make is None:
            return None
        owner = (role,) if isinstance(node, syntax.RoleMember | syntax.RefinementDecl) else ()
        return make(name.text, name.span, self.instance, node, *owner)

    def _role(self, role: RoleEntity) -> None:
        for node in role.decl.members:
            entity = self._entity(node, role)
            if entity is not None:
                self._enter(role.names, entity)

    def _enter(self, names: dict[str, Entity], entity: Entity) -> None:
        other = names.get(entity.name)
        if other is not None:
            self._twice(entity.name, entity.span, other.span)
            names[entity.name] = BrokenEntity(entity.name, other.span)
            return
        called = isinstance(entity, TypeEntity | DefEntity | ProcedureEntity | RoleEntity)
        row = RESERVED.get(entity.name) or (FUNCTIONS.get(entity.name) if called else None)
        if row is not None:
            self.work.report("F204", entity.span, reserved(row))
        names[entity.name] = entity

    def _members(self, entity: TypeEntity, names: tuple[syntax.Name, ...]) -> None:
        seen: dict[str, syntax.Name] = {}
        for index, name in enumerate(names):
            if name.text in seen:
                self._twice(name.text, name.span, seen[name.text].span)
                continue
            row = RESERVED.get(name.text) or FUNCTIONS.get(name.text)
            if row is not None:
                self.work.report("F204", name.span, reserved(row))
            seen[name.text] = name
            member = MemberEntity(name.text, name.span, entity, index)
            self.instance.members.setdefault(name.text, []).append(member)

    def _twice(self, name: str, span: Span, other: Span) -> None:
        first, second = sorted([span, other], key=lambda where: where.start)
        self.work.report("F202", second, *twice(name, first))


def _parameter(name: str, span: Span, module: Instance, node: syntax.Param) -> Entity:
    match node.kind:
        case "const":
            return ConstEntity(name, span, module, node)
        case "type":
            return TypeEntity(name, span, module, node)
        case "channel":
            # The importer replaces this entity by one of its channels.
            return BrokenEntity(name, span)


_ENTITIES: Mapping[type[syntax.Declaration], Callable[..., Entity] | None] = {
    syntax.Const: ConstEntity,
    syntax.Param: _parameter,
    syntax.TypeDecl: TypeEntity,
    syntax.EnumDecl: TypeEntity,
    syntax.RecordDecl: TypeEntity,
    syntax.UnionDecl: TypeEntity,
    syntax.SymmetricType: TypeEntity,
    syntax.ChannelDecl: ChannelEntity,
    syntax.RoleDecl: RoleEntity,
    syntax.VarDecl: VariableEntity,
    syntax.ActionDecl: ActionEntity,
    syntax.FairDecl: FairnessEntity,
    syntax.DefDecl: DefEntity,
    syntax.ProcedureDecl: ProcedureEntity,
    syntax.PropertyDecl: PropertyEntity,
    syntax.RefinementDecl: PropertyEntity,
    syntax.Import: None,
    syntax.Assume: None,
    syntax.Initially: None,
    syntax.CheckDecl: None,
    syntax.ScenarioDecl: None,
    # Names in a recording are separate from those of the module.
    **dict.fromkeys(get_args(syntax.RecordingPart), None),
}
"""Maps each kind of declaration to the constructor of its entity."""


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
                if index.text in RESERVED:
                    work.report("F204", index.span, reserved(RESERVED[index.text]))
                refuse(index.text, index.span, ChainMap(entity.names, outside))


def check_unused(work: Elaboration, root: Instance) -> None:
    """Checks the defs and procedures of the root that are never called.

    With a recorder, the defs and procedures of other modules are checked as well, to record the
    meanings of the names in them. Their problems are not reported here; they are reported when the
    file is checked as the root.
    """
    _check(work, root)
    if work.recorder is not None:
        silent = replace(work, problems=[], resolving=[])
        with suppress(Stop):
            for instance in every_instance(root):
                _check(silent, instance)


def _check(work: Elaboration, instance: Instance) -> None:
    roles = [role for role in instance.names.values() if isinstance(role, RoleEntity)]
    unused = [
        entity
        for names in (instance.names, *(role.names for role in roles))
        for entity in names.values()
        if isinstance(entity, DefEntity | ProcedureEntity) and not entity.used
    ]
    bodies = tuple(entity.decl.body for entity in unused)
    called = {node.text for node in walk(bodies) if isinstance(node, syntax.Name)}
    # Callees are checked together with their callers. Only cycles remain.
    for entity in sorted(unused, key=lambda entity: entity.name in called):
        if entity.used:
            continue
        if isinstance(entity, DefEntity):
            checked_alone(_alone(work, instance, entity.role, "property"), entity)
        else:
            context = _alone(work, instance, entity.role, "action")
            context = replace(context, returns=context.work.label(), expanding=(entity,))
            suite(made_up(context, entity.decl.parameters), entity.decl.body)


def _alone(
    work: Elaboration, instance: Instance, role: RoleEntity | None, position: Place
) -> Context:
    context = Context(work.scratch(muted=False), instance, Position(position), role=role)
    if role is not None and role.index_type is not None:
        local = ir.Local(role.index_type, context.work.slot())
        context = replace(context, instance=local, locals=role_locals(role, local))
    return context
