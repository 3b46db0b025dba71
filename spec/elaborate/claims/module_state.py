"""Determines the modules whose state is part of a model: those with state that the root names."""

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
"""A name, and the name before its dot, if there is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """The names in the syntax of a program, shared by all its builds.

    Syntax nodes are identified by `id`, and kept alive so that no id is reused.
    """

    found: dict[int, tuple[object, tuple[Mention, ...]]] = field(
        default_factory=dict[int, tuple[object, tuple[Mention, ...]]]
    )

    def names(self, tree: object) -> tuple[Mention, ...]:
        """The names in a piece of syntax, each once, in the order of the text."""
        entry = self.found.get(id(tree))
        if entry is None:
            entry = self.found[id(tree)] = (tree, tuple(dict.fromkeys(_names(tree))))
        return entry[1]


def _names(tree: object) -> Iterator[Mention]:
    for node in walk(tree):
        if isinstance(node, syntax.Name):
            yield None, node.text
        elif isinstance(node, syntax.Attribute) and isinstance(node.base, syntax.Name):
            yield node.base.text, node.name.text


def every_instance(root: Instance) -> list[Instance]:
    """The root and everything that it imports, imported modules first, in order of import."""
    return list(_every(root, set()))


def _every(instance: Instance, seen: set[Instance]) -> Iterator[Instance]:
    if instance in seen:
        return
    seen.add(instance)
    for module in instance.modules:
        yield from _every(module, seen)
    yield instance


def paths(root: Instance) -> dict[Instance, str]:
    """The shortest path from the root to each instance; all are different."""
    path_of = {root: ""}
    waiting = [root]
    for instance in waiting:
        aliases: dict[Instance, str] = {}
        for node in instance.file.declarations:
            if isinstance(node, syntax.Import):
                entry = instance.imports.get((node.alias or node.module[-1]).text)
                if node.names is None and isinstance(entry, ModuleEntity):
                    aliases.setdefault(entry.instance, entry.name)
        for module in instance.modules:
            if module in path_of:
                continue
            prefix = f"{path_of[instance]}." if path_of[instance] else ""
            plain = path = prefix + aliases.get(module, module.alias)
            number = 2
            while path in path_of.values():
                # Imported by names only, or with other arguments.
                path = f"{plain}{number}"
                number += 1
            path_of[module] = path
            waiting.append(module)
    return path_of


def joined(root: Instance, written: Written) -> list[Instance]:
    """The instances whose state is part of the model, imported ones first, in order of import.

    The root is part of it. Another instance is if a joined one names one of its roles, variables,
    channels, actions, procedures or properties, or a def that reads its state. ``written`` is kept
    between builds of a program.
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
    entity: Entity, instance: Instance, cache: dict[DefEntity, bool], written: Written
) -> TypeGuard[_State | DefEntity]:
    """Whether naming this entity in ``instance`` adds the state of its module. ``cache`` holds the
    results for defs.
    """
    if isinstance(entity, DefEntity):
        # A def of the same module adds nothing, since that state is included anyway.
        return entity.module is not instance and _looks_at_state(entity, cache, written)
    return isinstance(entity, _State)


def _looks_at_state(start: DefEntity, cache: dict[DefEntity, bool], written: Written) -> bool:
    """Whether a def, or one that it calls, names state."""
    if start in cache:
        return cache[start]
    seen = {start}
    waiting = [start]
    for entity in waiting:
        for other in _mentioned(entity.module, written.names(entity.decl.body)):
            if isinstance(other, _State) or (isinstance(other, DefEntity) and cache.get(other)):
                cache[start] = True
                return True
            if isinstance(other, DefEntity) and other not in seen:
                seen.add(other)
                waiting.append(other)
    cache.update(dict.fromkeys(seen, False))
    return False


def _mentioned(instance: Instance, names: tuple[Mention, ...]) -> Iterator[Entity]:
    """The entities of a module that names in a piece of its syntax denote."""
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
