"""Creates the instances of modules, with their arguments, overridden constants and imported names.

A file is read once per program. However, each model has its own `Instance` objects, because the
values of constants, and therefore types, differ between checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fencepost.spec.core.types import Bool, Int, describe
from fencepost.spec.elaborate.base.built_in import TYPE_WORDS
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position, twice
from fencepost.spec.elaborate.base.files import Files
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    Entity,
    Instance,
    ModuleEntity,
    Pending,
    TypeEntity,
    kind_of,
)
from fencepost.spec.elaborate.claims.declarations import (
    Gathering,
    member_names,
    refuse_hiding,
)
from fencepost.spec.elaborate.types.constants import value_of
from fencepost.spec.elaborate.types.type_expressions import type_of
from fencepost.spec.elaborate.values.roles import denoted
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import suggestion

MAX_ARGUMENTS = 2_000
"""Maximum number of imports with arguments in one model."""

Override: TypeAlias = tuple[syntax.Expr, "Instance | None"]
"""A new value of a constant, and the instance whose text contains the value, or None for the
root.
"""

Overrides: TypeAlias = Mapping[tuple[str, ...], Override]
"""New values of constants by path. The last name of a path is the name of the constant."""


@dataclass(slots=True)
class Modules:
    """The instances of one model.

    ``instances`` holds them by file and by the values that the arguments have in the module.
    ``written`` holds those with simple arguments by file and by the values that the arguments have
    in the importer. ``argued`` counts imports with arguments. ``imported`` holds the instance of
    each import, by the id of its syntax node.
    """

    work: Elaboration
    files: Files
    instances: dict[object, Instance] = field(default_factory=dict[object, Instance])
    written: dict[object, Instance] = field(default_factory=dict[object, Instance])
    argued: int = 0
    imported: dict[int, Instance] = field(default_factory=dict[int, Instance])

    def root(self, overrides: Overrides) -> Instance:
        """Creates the instance of the root file, with everything that it imports."""
        instance = self._gathered(self.files.root, "", "")
        for decl in instance.file.declarations:
            if isinstance(decl, syntax.Param):
                self.work.report(
                    "F605",
                    decl.span,
                    f'"{decl.name.text}" is a parameter, so this module can only be imported,'
                    f" `with {decl.name.text} = ...`",
                )
                instance.names[decl.name.text] = BrokenEntity(decl.name.text, decl.name.span)
        self._override(instance, overrides, instance)
        self._imports(instance, overrides)
        self._settle(instance)
        return instance

    def _gathered(self, path: Path, home: str, alias: str) -> Instance:
        instance = Instance(path, self.files.files[path], home, alias)
        Gathering(self.work, instance).gather()
        if self.work.recorder is not None:
            self.work.recorder.instances.append(instance)
        return instance

    def _settle(self, instance: Instance) -> None:
        """Completes an instance once its imports are known."""
        refuse_hiding(self.work, instance)
        # Constants and types are resolved here, so that long chains are resolved from their start,
        # and unused declarations are checked.
        for entity in instance.names.values():
            if isinstance(entity, ConstEntity):
                value_of(self.work, entity)
            elif isinstance(entity, TypeEntity):
                type_of(self.work, entity)

    def _override(self, instance: Instance, overrides: Overrides, home: Instance) -> None:
        for path, (value, written) in overrides.items():
            entity = instance.names.get(path[0]) if len(path) == 1 else None
            if isinstance(entity, ConstEntity):
                entity.override = (value, written or home)
                if isinstance(entity.decl, syntax.Const) and entity.decl.symbolic:
                    self.work.given = True

    # ------------------------------------------------------------ imports

    def _imports(self, instance: Instance, overrides: Overrides) -> None:
        nodes = [n for n in instance.file.declarations if isinstance(n, syntax.Import)]
        changed = {path[0] for path in overrides}
        # Equal imports share one instance, so an override of any of them applies to all. If several
        # of them override the same constant, the first one wins.
        alike: dict[object, dict[tuple[str, ...], Override]] = {}
        for node in reversed(nodes):
            shared = alike.setdefault(_target(node), {})
            shared.update(self._within(instance, node, overrides))

        # Imports with overrides come first, so that a module that is reached twice gets the new
        # value. ``instance.modules`` keeps the order of the file.
        def changes(node: syntax.Import) -> bool:
            names = node.names or (node.alias or node.module[-1],)
            return any(name.text in changed for name in names)

        for node in sorted(nodes, key=lambda node: not changes(node)):
            own = dict(self._within(instance, node, overrides))
            self._import(instance, node, {**alike[_target(node)], **own})
        modules = [self.imported[id(node)] for node in nodes if id(node) in self.imported]
        instance.modules = list(dict.fromkeys(modules))

    def _import(self, instance: Instance, node: syntax.Import, overrides: Overrides) -> None:
        path = self.files.imports.get((instance.path, tuple(part.text for part in node.module)))
        alias = node.alias or node.module[-1]
        if path is None or path not in self.files.files:
            for name in node.names or (alias,):
                instance.imports.setdefault(name.text, BrokenEntity(name.text, name.span))
            return
        module = self._instance(instance, path, alias.text, node, overrides)
        self.imported[id(node)] = module
        if node.names is None:
            self._enter(instance, alias, ModuleEntity(alias.text, alias.span, module))
        else:
            for name in node.names:
                self._import_name(instance, module, name)

    def _within(
        self, instance: Instance, node: syntax.Import, overrides: Overrides
    ) -> Iterator[tuple[tuple[str, ...], Override]]:
        """Yields the overrides that refer to an import, with paths relative to the imported
        module.
        """
        alias = node.alias or node.module[-1]
        for target, (value, written) in overrides.items():
            home = written or instance
            if node.names is None and target[0] == alias.text and len(target) > 1:
                yield target[1:], (value, home)
            elif len(target) == 1 and any(name.text == target[0] for name in node.names or ()):
                yield target, (value, home)

    def _enter(self, instance: Instance, name: syntax.Name, entity: Entity) -> None:
        other = instance.names.get(name.text) or instance.imports.get(name.text)
        if other is None:
            instance.imports[name.text] = entity
        elif other is not entity and not isinstance(other, BrokenEntity):
            self.work.report("F202", name.span, *twice(name.text, other.span))

    def _import_name(self, instance: Instance, module: Instance, name: syntax.Name) -> None:
        entity = module.names.get(name.text)
        members = module.members.get(name.text, [])
        if entity is None and members:
            instance.members.setdefault(name.text, []).extend(members)
            for member in members:
                self._meant(name, member, module)
            return
        if entity is None:
            if not module.unreadable(name):
                hint = suggestion(name.text, [*module.names, *module.members])
                message = f'module "{module.path.stem}" has no "{name.text}"{hint}'
                self.work.report("F603", name.span, message)
            entity = BrokenEntity(name.text, name.span)
        else:
            self._meant(name, entity, module)
        self._enter(instance, name, entity)
        if isinstance(entity, TypeEntity):
            self._members(module, instance, entity)

    def _meant(self, name: syntax.Name, entity: Entity | None, module: Instance) -> None:
        Context(self.work, module, Position("constant")).meant(name, entity)

    def _members(self, source: Instance, target: Instance, entity: Entity | None) -> None:
        """Adds the members of an enum or union to another module."""
        if not isinstance(entity, TypeEntity):
            return
        for name in member_names(entity.decl):
            for member in [m for m in source.members[name.text] if m.owner is entity]:
                members_there = target.members.setdefault(name.text, [])
                if member not in members_there:
                    members_there.append(member)

    # ------------------------------------------------------------ instances

    def _instance(
        self,
        importer: Instance,
        path: Path,
        alias: str,
        node: syntax.Import,
        overrides: Overrides,
    ) -> Instance:
        """Returns the instance of a module for an import. Imports with equal arguments share one
        instance.
        """
        key: object = (path,)
        plain = self._plain_key(importer, path, node)
        existing = self.written.get(plain) if plain is not None else None
        if existing is not None:
            self._compare(existing, overrides)
            for argument in node.arguments:
                self._meant(argument.name, existing.names.get(argument.name.text), existing)
            return existing
        problems = len(self.work.problems)
        instance = self._made(importer, path, alias, node, overrides, key)
        if plain is not None and len(self.work.problems) == problems:
            self.written[plain] = instance
        return instance

    def _plain_key(self, importer: Instance, path: Path, node: syntax.Import) -> object:
        """Returns a key for simple arguments before they are evaluated in the module, which would
        require all of its imports. Returns None if an argument is not simple.

        Without this shortcut, modules that pass on their arguments would double the work from file
        to file.
        """
        key: dict[str, object] = {}
        for argument in node.arguments:
            plain = self._plain(importer, argument.value)
            if plain is None or argument.name.text in key:
                return None
            key[argument.name.text] = plain
        return (path, frozenset(key.items())) if key else None

    def _plain(self, importer: Instance, value: syntax.Expr) -> object:
        """Returns a key for an argument that is a number, a truth value, the name of a constant,
        type or channel, or an arithmetic operation on such arguments. Returns None for any other
        argument.
        """
        match value:
            case syntax.Integer(value=number):
                return "value", Int(number, number), number
            case syntax.Boolean(value=truth):
                return "value", Bool(), truth
            case syntax.Name(text=text):
                entity = Context(self.work, importer, Position("constant")).look_up(value)
                if isinstance(entity, ConstEntity):
                    value_there = value_of(self.work, entity)
                    return None if value_there is None else ("value", *value_there)
                if isinstance(entity, ChannelEntity):
                    return "channel", id(entity)
                if isinstance(entity, TypeEntity):
                    kind = type_of(self.work, entity)
                    return None if kind is None else ("type", kind)
                return ("word", text) if entity is None and text in TYPE_WORDS else None
            case syntax.Binary(operator="+" | "-" | "*" as operator, left=left, right=right):
                parts = [self._plain(importer, part) for part in (left, right)]
                return None if None in parts else (operator, *parts)
            case _:
                return None

    def _made(
        self,
        importer: Instance,
        path: Path,
        alias: str,
        node: syntax.Import,
        overrides: Overrides,
        key: object,
    ) -> Instance:
        if node.arguments:
            # The arguments are evaluated in a temporary copy, because values that depend on them
            # are evaluated again once the instance has its own types and overridden constants.
            copy = self._argued(importer, path, alias, "", node)
            self._imports(copy, overrides)
            key = self._key(copy)
        existing = self.instances.get(key)
        if existing is not None:
            self._compare(existing, overrides)
            return existing
        home = f"{path}#{len(self.instances)}"
        instance = self._argued(importer, path, alias, home, node)
        self.instances[key] = instance
        self._override(instance, overrides, importer)
        self._imports(instance, overrides)
        self._carried(instance, node)
        self._settle(instance)
        return instance

    def _carried(self, instance: Instance, node: syntax.Import) -> None:
        """Reports (F607) each channel argument whose messages differ from those that the module's
        parameter declares.
        """
        arguments = {argument.name.text: argument for argument in node.arguments}
        context = Context(self.work, instance, Position("constant"))
        for decl in instance.file.declarations:
            if not isinstance(decl, syntax.Param) or decl.type is None:
                continue
            channel = instance.names.get(decl.name.text)
            if decl.kind != "channel" or not isinstance(channel, ChannelEntity):
                continue
            expected = context.resolve(decl.type)
            actual = Context(self.work, channel.module, Position("constant")).resolve(
                channel.decl.message
            )
            if expected is not None and actual is not None and expected != actual:
                self.work.report(
                    "F607",
                    arguments[decl.name.text].value.span,
                    f'"{decl.name.text}" carries {describe(expected)}, but {channel.name} carries'
                    f" {describe(actual)}",
                    (decl.span, "declared here"),
                )
                instance.names[decl.name.text] = BrokenEntity(channel.name, decl.name.span)

    def _argued(
        self, importer: Instance, path: Path, alias: str, home: str, node: syntax.Import
    ) -> Instance:
        tick()
        self.argued += 1
        if self.argued > MAX_ARGUMENTS:
            self.work.too_many_modules(node.span)
        instance = self._gathered(path, home, alias)
        self._arguments(importer, instance, node)
        return instance

    def _key(self, instance: Instance) -> object:
        key: list[object] = [instance.path]
        for name, entity in sorted(instance.names.items()):
            if isinstance(entity, ConstEntity) and entity.override is not None:
                key.append((name, value_of(self.work, entity)))
            elif isinstance(entity, TypeEntity) and isinstance(entity.decl, syntax.Param):
                key.append((name, entity.type))
            elif isinstance(entity, ChannelEntity) and entity.module is not instance:
                key.append((name, id(entity)))
        return tuple(key)

    def _compare(self, instance: Instance, overrides: Overrides) -> None:
        """Reports (F824) each constant whose override differs from that of an earlier import of the
        same instance.
        """
        for path, (value, _) in overrides.items():
            entity = instance.names.get(path[0]) if len(path) == 1 else None
            if not isinstance(entity, ConstEntity):
                continue
            if entity.override is None or entity.override[0] is not value:
                self.work.report(
                    "F824",
                    value.span,
                    f'"{path[0]}" belongs to a module that is imported twice with equal arguments:'
                    " it is one constant, and has one value",
                    (entity.span, f'"{path[0]}" is declared here'),
                )

    def _arguments(self, importer: Instance, instance: Instance, node: syntax.Import) -> None:
        arguments: dict[str, syntax.ModuleArgument] = {}
        open_to_change = {
            decl.name.text: decl
            for decl in instance.file.declarations
            if isinstance(decl, syntax.Param | syntax.Const)
        }
        for argument in node.arguments:
            name = argument.name.text
            if name in arguments:
                note = (arguments[name].span, "first given here")
                self.work.report("F604", argument.span, f'"{name}" is given twice', note)
                continue
            arguments[name] = argument
            self._argument(importer, instance, argument, open_to_change)
        missing = [
            decl
            for decl in instance.file.declarations
            if isinstance(decl, syntax.Param) and decl.name.text not in arguments
        ]
        for decl in missing:
            self.work.report(
                "F605",
                node.span,
                f'module "{instance.path.stem}" needs a value for its parameter'
                f' "{decl.name.text}": `with {decl.name.text} = ...`',
                (decl.span, "declared here"),
            )
            instance.names[decl.name.text] = BrokenEntity(decl.name.text, decl.name.span)

    def _argument(
        self,
        importer: Instance,
        instance: Instance,
        argument: syntax.ModuleArgument,
        open_to_change: Mapping[str, syntax.Param | syntax.Const],
    ) -> None:
        name = argument.name.text
        decl = open_to_change.get(name)
        if decl is None:
            if instance.unreadable(argument.name):
                return
            hint = suggestion(name, open_to_change)
            message = f'module "{instance.path.stem}" has no constant or parameter "{name}"{hint}'
            self.work.report("F606", argument.name.span, message)
            return
        entity = instance.names.get(name)
        self._meant(argument.name, entity, instance)
        if isinstance(decl, syntax.Param) and decl.kind == "type":
            if isinstance(entity, TypeEntity):
                self._type_argument(importer, instance, entity, argument)
        elif isinstance(decl, syntax.Param) and decl.kind == "channel":
            self._channel_argument(importer, instance, decl, argument)
        elif isinstance(entity, ConstEntity):
            entity.override = (argument.value, importer)
            entity.state = Pending.NEW

    def _type_argument(
        self,
        importer: Instance,
        instance: Instance,
        entity: TypeEntity,
        argument: syntax.ModuleArgument,
    ) -> None:
        context = Context(self.work, importer, Position("constant"))
        entity.type = context.resolve(argument.value)
        entity.state = Pending.DONE
        if entity.type is None:
            instance.names[entity.name] = BrokenEntity(entity.name, entity.span)
            return
        argument_entity = denoted(context, argument.value)
        if isinstance(argument_entity, TypeEntity):
            # If the argument is an enum or union, its members are also visible in the module.
            self._members(argument_entity.module, instance, argument_entity)

    def _channel_argument(
        self,
        importer: Instance,
        instance: Instance,
        decl: syntax.Param,
        argument: syntax.ModuleArgument,
    ) -> None:
        name = decl.name.text
        context = Context(self.work, importer, Position("constant"))
        argument_entity = denoted(context, argument.value)
        if isinstance(argument_entity, ChannelEntity):
            instance.names[name] = argument_entity
            return
        instance.names[name] = BrokenEntity(name, decl.name.span)
        if isinstance(argument_entity, BrokenEntity):
            return
        if argument_entity is None and isinstance(argument.value, syntax.Name):
            context.unknown(argument.value, "channel", kinds=(ChannelEntity,))
            return
        hint = (
            f', and "{argument_entity.name}" is {kind_of(argument_entity)}'
            if argument_entity
            else ""
        )
        note = (decl.span, "declared here")
        message = f'"{name}" is a channel: give it the name of one{hint}'
        self.work.report("F607", argument.value.span, message, note)


def _target(node: syntax.Import) -> object:
    """Returns the module and the arguments of an import. Imports share an instance if both are
    equal.
    """
    return node.module, node.arguments
