"""Which modules take part in a model with their state: those of which the root names some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias, TypeGuard

from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    ChannelEntity,
    DefEntity,
    Entity,
    Instance,
    ModuleEntity,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    VariableEntity,
)
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax

Mention: TypeAlias = tuple[str | None, str]
"""A name, and the name in front of its dot, if there is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """The names in the syntax of a program, which are the same in each build of it.

    Syntax is known by its identity, and held, so that no identity is used twice.
    """

    found: dict[int, tuple[object, tuple[Mention, ...]]] = field(
        default_factory=dict[int, tuple[object, tuple[Mention, ...]]]
    )

    def names(self, tree: object) -> tuple[Mention, ...]:
        """The names in a piece of syntax, each once, in the order written."""
        known = self.found.get(id(tree))
        if known is None:
            known = self.found[id(tree)] = (tree, tuple(dict.fromkeys(_names(tree))))
        return known[1]


def _names(tree: object) -> Iterator[Mention]:
    for node in walk(tree):
        if isinstance(node, syntax.Name):
            yield None, node.text
        elif isinstance(node, syntax.Attribute) and isinstance(node.base, syntax.Name):
            yield node.base.text, node.name.text


def every_instance(root: Instance) -> list[Instance]:
    """The root and all that it imports, imported ones first, in order of import."""
    return list(_every(root, set()))


def _every(instance: Instance, seen: set[Instance]) -> Iterator[Instance]:
    if instance in seen:
        return
    seen.add(instance)
    for module in instance.modules:
        yield from _every(module, seen)
    yield instance


def paths(root: Instance) -> dict[Instance, str]:
    """How the root leads to each instance, by the shortest way; no two are equal."""
    found = {root: ""}
    waiting = [root]
    for instance in waiting:
        aliases: dict[Instance, str] = {}
        for node in instance.file.declarations:
            if isinstance(node, syntax.Import):
                known = instance.imports.get((node.alias or node.module[-1]).text)
                if node.names is None and isinstance(known, ModuleEntity):
                    aliases.setdefault(known.instance, known.name)
        for module in instance.modules:
            if module in found:
                continue
            prefix = f"{found[instance]}." if found[instance] else ""
            plain = path = prefix + aliases.get(module, module.alias)
            number = 2
            while path in found.values():
                # Imported by names only, with other arguments.
                path = f"{plain}{number}"
                number += 1
            found[module] = path
            waiting.append(module)
    return found


def joined(root: Instance, written: Written) -> list[Instance]:
    """The instances whose state is part of the model, imported ones first, in order of import.

    The root is; another is when a joined one names a role, variable, channel, action, procedure
    or property of it, or a def that looks at its state. ``written`` is kept from one build of a
    program to the next.
    """
    root.joined = True
    waiting = [root]
    stateful: dict[DefEntity, bool] = {}
    while waiting:
        instance = waiting.pop()
        for entity in _mentioned(instance, written.names(instance.file.declarations)):
            if _is_state(entity, instance, stateful, written) and not entity.module.joined:
                entity.module.joined = True
                waiting.append(entity.module)
    return [instance for instance in every_instance(root) if instance.joined]


_State = (
    RoleEntity | VariableEntity | ChannelEntity | ActionEntity | ProcedureEntity | PropertyEntity
)


def _is_state(
    entity: Entity, instance: Instance, known: dict[DefEntity, bool], written: Written
) -> TypeGuard[_State | DefEntity]:
    """Whether naming this in ``instance`` brings the state of its module along.

    ``known`` is what has been found out about defs.
    """
    if isinstance(entity, DefEntity):
        # Of its own module it has the state anyway.
        return entity.module is not instance and _looks_at_state(entity, known, written)
    return isinstance(entity, _State)


def _looks_at_state(start: DefEntity, known: dict[DefEntity, bool], written: Written) -> bool:
    """Whether a def, or one that it calls, names something that is state."""
    if start in known:
        return known[start]
    seen = {start}
    waiting = [start]
    for entity in waiting:
        for other in _mentioned(entity.module, written.names(entity.decl.body)):
            if isinstance(other, _State) or (isinstance(other, DefEntity) and known.get(other)):
                known[start] = True
                return True
            if isinstance(other, DefEntity) and other not in seen:
                seen.add(other)
                waiting.append(other)
    known.update(dict.fromkeys(seen, False))
    return False


def _mentioned(instance: Instance, names: tuple[Mention, ...]) -> Iterator[Entity]:
    """The entities of a module that are meant by names in a piece of its syntax."""
    for base, name in names:
        entity: Entity | None = None
        if base is not None:
            module = instance.imports.get(base)
            if isinstance(module, ModuleEntity):
                entity = module.instance.names.get(name)
        else:
            entity = instance.imports.get(name) or instance.names.get(name)
        if entity is not None:
            yield entity
