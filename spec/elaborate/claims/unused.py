"""Checks each uncalled def and procedure once, with arbitrary parameters."""

from __future__ import annotations

from contextlib import suppress

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.actions.statements import suite
from fencepost.spec.elaborate.base.context import (
    Context,
    Elaboration,
    Place,
    Position,
    Stop,
    role_locals,
)
from fencepost.spec.elaborate.base.symbols import DefEntity, Instance, ProcedureEntity, RoleEntity
from fencepost.spec.elaborate.claims.module_state import every_instance
from fencepost.spec.elaborate.values.calls import checked_alone, made_up
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax


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
