"""Determines the modules whose state is part of a model. These are the modules with state that the
root names, directly or indirectly.
"""

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
"""The name before the dot, or None if there is no dot, and the name itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """The names that occur in the syntax trees of a program. All builds of the program share them.

    Syntax nodes are identified by `id`. They are kept alive so that no id is reused.
    """

    found: dict[int, tuple[object, tuple[Mention, ...]]] = field(
        default_factory=dict[int, tuple[object, tuple[Mention, ...]]]
    )

    def names(self, tree: object) -> tuple[Mention, ...]:
        """Returns the names in a piece of syntax. Each name is listed once, in the order of the
        text.
        """
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
    """Returns the root and everything that it imports. Imported modules come first, in the order of
    the imports.
    """
    return list(_every(root, set()))


def _every(instance: Instance, seen: set[Instance]) -> Iterator[Instance]:
    if instance in seen:
        return
    seen.add(instance)
    for module in instance.modules:
        yield from _every(module, seen)
    yield instance


def paths(root: Instance) -> dict[Instance, str]:
    """Returns the shortest path from the root to each instance. A number is appended to a path that
    is already in use.
    """
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
                # The module is imported only for its names, or imported again with other arguments.
                path = f"{plain}{number}"
                number += 1
            path_of[module] = path
            waiting.append(module)
    return path_of


def mapping_of(root: Instance) -> Instance:
    """Returns the instance with the recording of a spec: the only imported module that declares
    one, or the root.
    """
    with_recordings = [
        instance
        for instance in every_instance(root)
        if any(isinstance(part, syntax.RecordingDecl) for part in instance.file.declarations)
    ]
    is_only = len(with_recordings) == 1 and not root.file.broken.names
    return with_recordings[0] if is_only else root


def joined(root: Instance, written: Written) -> list[Instance]:
    """Returns the instances whose state is part of the model. Imported instances come first, in the
    order of the imports.

    The state of the root, and of the mapping whose recording it uses, is always part of the model.
    The state of another instance is part of it if an
    instance that is already included names one of its roles, variables, channels, actions,
    procedures or properties, or a def that reads its state. ``written`` is kept between builds of a
    program.
    """
    root.joined = True
    waiting = [root]
    mapping = mapping_of(root)
    if not mapping.joined:
        mapping.joined = True
        waiting.append(mapping)
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
    """Returns whether the state of the entity's module must be included because ``instance`` names
    this entity. ``cache`` holds the results for defs.
    """
    if isinstance(entity, DefEntity):
        # A def of the same module adds nothing, since the state of this module is included anyway.
        return entity.module is not instance and _looks_at_state(entity, cache, written)
    return isinstance(entity, _State)


def _looks_at_state(start: DefEntity, cache: dict[DefEntity, bool], written: Written) -> bool:
    """Returns whether a def names state, either itself or through the defs that it calls."""
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
    """Yields the entities that the names in a piece of a module's syntax denote."""
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
