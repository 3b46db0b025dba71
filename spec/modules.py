"""Files and the modules they become: imports, arguments, instances, and which of them join a model.

A file is read once for a program; an `Instance` is made for each model that is built, because
constants (and with them types) differ between checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TypeAlias, assert_never

from fencepost.spec import library, syntax
from fencepost.spec.elaboration import Context, Elaboration
from fencepost.spec.entities import (
    ActionEntity,
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    Instance,
    MemberEntity,
    ModuleEntity,
    Pending,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
)
from fencepost.spec.parse import parse
from fencepost.spec.problem import Problem, Rejected, suggestion
from fencepost.spec.source import Span

Overrides: TypeAlias = Mapping[tuple[str, ...], tuple[syntax.Expr, "Instance | None"]]
"""New values of constants by path; the instance in whose names the value is written (None: root)."""

BUILTIN_TYPES = (
    "bool", "int", "int8", "int16", "int32", "int64", "set", "seq", "bag", "map",
)  # fmt: skip


@dataclass(slots=True)
class Files:
    """Every file of a program by its resolved path, and where each import leads."""

    root: Path
    files: dict[Path, syntax.File] = field(default_factory=dict[Path, syntax.File])
    imports: dict[tuple[Path, tuple[str, ...]], Path] = field(
        default_factory=dict[tuple[Path, tuple[str, ...]], Path]
    )
    problems: list[Problem] = field(default_factory=list[Problem])


def read_files(path: Path, search: Sequence[Path]) -> Files:
    """The root file and all that it imports. Raises Rejected when the root cannot be read."""
    source = library.read(path)
    files = Files(path.resolve())
    tree, problems = parse(source)
    files.problems += problems
    files.files[files.root] = tree
    _follow(files, files.root, search, [files.root])
    return files


def _follow(files: Files, path: Path, search: Sequence[Path], trail: list[Path]) -> None:
    tree = files.files[path]
    for node in tree.declarations:
        if not isinstance(node, syntax.Import):
            continue
        parts = tuple(part.text for part in node.module)
        where = node.module[0].span.to(node.module[-1].span)
        target = library.find_module(node.module, path.parent, search)
        if target is None:
            hint = _similar_module(parts, path.parent, search)
            files.problems.append(
                Problem("F601", where, f'no module "{".".join(parts)}" is found{hint}')
            )
            continue
        target = target.resolve()
        files.imports[path, parts] = target
        if target in trail:
            names = " imports ".join(p.stem for p in [*trail[trail.index(target) :], target])
            files.problems.append(Problem("F602", where, f"modules import each other: {names}"))
            continue
        if target not in files.files:
            try:
                source = library.read(target)
            except Rejected as rejected:
                files.problems += rejected.problems
                continue
            files.files[target], problems = parse(source)
            files.problems += problems
            _follow(files, target, search, [*trail, target])


def _similar_module(parts: tuple[str, ...], beside: Path, search: Sequence[Path]) -> str:
    names: set[str] = set()
    for folder in [beside, *search, library.package_root()]:
        below = folder.joinpath(*parts[:-1])
        if below.is_dir():
            names |= {
                ".".join((*parts[:-1], entry.stem))
                for entry in below.iterdir()
                if entry.suffix == ".fence"
            }
    return suggestion(".".join(parts), names)


# ---------------------------------------------------------------- instances


@dataclass(slots=True)
class Modules:
    """The instances of one model, by file and arguments."""

    work: Elaboration
    files: Files
    instances: dict[object, Instance] = field(default_factory=dict[object, Instance])
    instances_of: dict[int, Instance] = field(default_factory=dict[int, Instance])

    def root(self, overrides: Overrides) -> Instance:
        """The instance of the root file, with everything that it imports."""
        instance = self._gathered(self.files.root, "", "")
        for name, entity in instance.names.items():
            if isinstance(entity, ConstEntity | TypeEntity) and isinstance(
                entity.decl, syntax.Param
            ):
                self.work.report(
                    "F605",
                    entity.span,
                    f'"{name}" is a parameter of this module: it can only be imported, `with` a'
                    " value for it",
                )
        self._override(instance, overrides, instance)
        self._imports(instance, overrides)
        return instance

    def _gathered(self, path: Path, home: str, alias: str) -> Instance:
        instance = Instance(path, self.files.files[path], home, alias)
        Gathering(self.work, instance).gather()
        return instance

    def _override(self, instance: Instance, overrides: Overrides, root: Instance | None) -> None:
        for path, (value, home) in overrides.items():
            entity = instance.names.get(path[0]) if len(path) == 1 else None
            if isinstance(entity, ConstEntity):
                entity.override = (value, home or root or instance)

    def _imports(self, instance: Instance, overrides: Overrides) -> None:
        nodes = [n for n in instance.file.declarations if isinstance(n, syntax.Import)]
        changed = {path[0] for path in overrides}

        # What an override names comes first, so that a module which is reached twice is made
        # with the new value; names keep the order of the file.
        def changes(node: syntax.Import) -> bool:
            if node.names is None:
                return (node.alias or node.module[-1]).text in changed
            return any(name.text in changed for name in node.names)

        for node in sorted(nodes, key=lambda node: not changes(node)):
            self._import(instance, node, overrides)
        order = [self.instances_of[id(node)] for node in nodes if id(node) in self.instances_of]
        instance.modules = list(dict.fromkeys(order))

    def _import(self, instance: Instance, node: syntax.Import, overrides: Overrides) -> None:
        path = self.files.imports.get((instance.path, tuple(part.text for part in node.module)))
        alias = node.alias or node.module[-1]
        if path is None or path not in self.files.files:
            for name in node.names or (alias,):
                instance.imports.setdefault(name.text, BrokenEntity(name.text, name.span))
            return
        inner: dict[tuple[str, ...], tuple[syntax.Expr, Instance | None]] = {}
        for target, (value, home) in overrides.items():
            if node.names is None and target[0] == alias.text and len(target) > 1:
                inner[target[1:]] = (value, home or instance)
            elif len(target) == 1 and any(name.text == target[0] for name in node.names or ()):
                inner[target] = (value, home or instance)
        module = self._instance(instance, path, alias.text, node, inner)
        self.instances_of[id(node)] = module
        if node.names is None:
            self._enter(instance, alias, ModuleEntity(alias.text, alias.span, module))
        else:
            for name in node.names:
                self._import_name(instance, module, name)

    def _enter(self, instance: Instance, name: syntax.Name, entity: Entity) -> None:
        other = instance.names.get(name.text) or instance.imports.get(name.text)
        if other is not None:
            self.work.report(
                "F202",
                name.span,
                f'"{name.text}" is declared twice',
                (other.span, "first declared here"),
            )
            return
        instance.imports[name.text] = entity

    def _import_name(self, instance: Instance, module: Instance, name: syntax.Name) -> None:
        entity = module.names.get(name.text)
        members = module.members.get(name.text, [])
        if entity is None and not members:
            if name.text not in module.file.broken.names:
                hint = suggestion(name.text, [*module.names, *module.members])
                self.work.report(
                    "F603", name.span, f'module "{module.path.stem}" has no "{name.text}"{hint}'
                )
            entity = BrokenEntity(name.text, name.span)
        if entity is None:
            instance.members.setdefault(name.text, []).extend(members)
            return
        self._enter(instance, name, entity)
        if isinstance(entity, TypeEntity):
            for shared in module.members.values():
                for member in shared:
                    if member.owner is entity:
                        instance.members.setdefault(member.name, []).append(member)

    def _instance(
        self,
        importer: Instance,
        path: Path,
        alias: str,
        node: syntax.Import,
        overrides: Overrides,
    ) -> Instance:
        instance = self._gathered(path, "", alias)
        self._arguments(importer, instance, node)
        context = Context(self.work, instance, "constant")
        key: list[object] = [path]
        for name, entity in sorted(instance.names.items()):
            if isinstance(entity, ConstEntity) and entity.override is not None:
                value = context.expression(syntax.Name(name, span=entity.span))
                key.append((name, None if value is None else value.expr))
            elif isinstance(entity, TypeEntity) and isinstance(entity.decl, syntax.Param):
                key.append((name, entity.type))
            elif isinstance(entity, ChannelEntity) and entity.module is not instance:
                key.append((name, id(entity)))
        made = self.instances.get(tuple(key))
        if made is not None:
            return made
        self.instances[tuple(key)] = instance
        instance.home = f"{path}#{len(self.instances)}"
        for entity in instance.names.values():
            if isinstance(entity, ConstEntity) and entity.override is not None:
                entity.state = Pending.NEW
        self._override(instance, overrides, None)
        self._imports(instance, overrides)
        return instance

    def _arguments(self, importer: Instance, instance: Instance, node: syntax.Import) -> None:
        context = Context(self.work, importer, "constant")
        given: dict[str, syntax.ModuleArgument] = {}
        for argument in node.arguments:
            name = argument.name.text
            if name in given:
                self.work.report(
                    "F604",
                    argument.span,
                    f'"{name}" is given twice',
                    (given[name].span, "first given here"),
                )
                continue
            given[name] = argument
            self._argument(context, importer, instance, argument)
        for decl in instance.file.declarations:
            if isinstance(decl, syntax.Param) and decl.name.text not in given:
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
        context: Context,
        importer: Instance,
        instance: Instance,
        argument: syntax.ModuleArgument,
    ) -> None:
        name = argument.name.text
        decls = [
            decl
            for decl in instance.file.declarations
            if isinstance(decl, syntax.Param | syntax.Const) and decl.name.text == name
        ]
        if not decls:
            known = [
                decl.name.text
                for decl in instance.file.declarations
                if isinstance(decl, syntax.Param | syntax.Const)
            ]
            self.work.report(
                "F606",
                argument.name.span,
                f'module "{instance.path.stem}" has no constant or parameter'
                f' "{name}"{suggestion(name, known)}',
            )
            return
        decl = decls[0]
        entity = instance.names.get(name)
        if isinstance(decl, syntax.Param) and decl.kind == "type":
            resolved = context.resolve(argument.value)
            if isinstance(entity, TypeEntity):
                entity.type = resolved
                entity.state = Pending.DONE
                if resolved is None:
                    instance.names[name] = BrokenEntity(name, decl.name.span)
                else:
                    self._type_members(importer, instance, argument.value)
        elif isinstance(decl, syntax.Param) and decl.kind == "channel":
            channel = (
                context.find(argument.value.text)
                if isinstance(argument.value, syntax.Name)
                else None
            )
            if isinstance(channel, ChannelEntity):
                instance.names[name] = channel
                return
            if not isinstance(channel, BrokenEntity):
                self.work.report(
                    "F607", argument.value.span, f'"{name}" is a channel; give the name of one'
                )
            instance.names[name] = BrokenEntity(name, decl.name.span)
        elif isinstance(entity, ConstEntity):
            entity.override = (argument.value, importer)

    def _type_members(self, importer: Instance, instance: Instance, value: syntax.Expr) -> None:
        """Members of an enum or union that is given as a type are known in the module too."""
        context = Context(self.work, importer, "constant")
        entity = context.find(value.text) if isinstance(value, syntax.Name) else None
        for shared in list(importer.members.values()):
            for member in shared:
                if member.owner is entity:
                    instance.members.setdefault(member.name, []).append(member)


@dataclass(slots=True)
class Gathering:
    """The names that the declarations of one module make."""

    work: Elaboration
    instance: Instance

    def gather(self) -> None:
        """Enters every name of the file; a name declared twice is reported."""
        for node in self.instance.file.declarations:
            entity = self._entity(node)
            if entity is not None:
                self._enter(self.instance.names, entity)
            match node:
                case syntax.EnumDecl(members=members) | syntax.SymmetricType(members=members):
                    self._members(entity, members)
                case syntax.UnionDecl(variants=variants):
                    self._members(entity, tuple(variant.name for variant in variants))
                case syntax.RoleDecl() if isinstance(entity, RoleEntity):
                    self._role(entity)
                case _:
                    pass
        for name, members in self.instance.members.items():
            other = self.instance.names.get(name)
            if other is not None:
                self._twice(name, members[0].span, other)

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
                # The importer replaces it by a channel of its own.
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
                | syntax.LivenessDecl()
            ):
                return self._member(node, None)
            case syntax.Import() | syntax.Assume() | syntax.Initially() | syntax.CheckDecl():
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
            case syntax.PropertyDecl(name=None):
                return None
            case syntax.PropertyDecl(name=syntax.Name() as name) | syntax.LivenessDecl(name=name):
                return PropertyEntity(name.text, name.span, module, node, role)
            case _:
                assert_never(node)

    def _role(self, role: RoleEntity) -> None:
        if role.decl.index is not None:
            index = role.decl.index.name
            other = self.instance.names.get(index.text)
            if other is not None:
                self._hidden(index.text, index, other)
        for node in role.decl.members:
            entity = self._member(node, role)
            if entity is not None:
                self._enter(role.names, entity)

    def _enter(self, names: dict[str, Entity], entity: Entity) -> None:
        other = names.get(entity.name)
        if other is not None:
            self._twice(entity.name, entity.span, other)
            names[entity.name] = BrokenEntity(entity.name, other.span)
            return
        if entity.name in BUILTIN_TYPES:
            self.work.report(
                "F204", entity.span, f'"{entity.name}" is a type of the language; choose another'
            )
        names[entity.name] = entity

    def _members(self, entity: Entity | None, names: tuple[syntax.Name, ...]) -> None:
        if not isinstance(entity, TypeEntity):
            return
        seen: dict[str, syntax.Name] = {}
        for index, name in enumerate(names):
            if name.text in seen:
                self.work.report(
                    "F202",
                    name.span,
                    f'"{name.text}" is declared twice',
                    (seen[name.text].span, "first declared here"),
                )
                continue
            seen[name.text] = name
            member = MemberEntity(name.text, name.span, entity, index)
            self.instance.members.setdefault(name.text, []).append(member)

    def _twice(self, name: str, span: Span, other: Entity) -> None:
        first, second = sorted([span, other.span], key=lambda where: where.start)
        self.work.report(
            "F202", second, f'"{name}" is declared twice', (first, "first declared here")
        )

    def _hidden(self, text: str, name: syntax.Name, other: Entity) -> None:
        self.work.report(
            "F203",
            name.span,
            f'"{text}" is already the name of something visible here; choose another',
            (other.span, f'"{text}" is declared here'),
        )


# ---------------------------------------------------------------- joining


def joined(root: Instance) -> list[Instance]:
    """The instances whose state is part of the model, imported ones first, in order of import.

    The root is; another is when a joined one names a role, variable, channel, action, procedure
    or property of it, or a def that looks at its state.
    """
    root.joined = True
    changed = True
    every = list(_all(root, set()))
    while changed:
        changed = False
        for instance in every:
            if instance.joined:
                for module in _named(instance):
                    if not module.joined:
                        module.joined = changed = True
    return [instance for instance in every if instance.joined]


def _all(instance: Instance, seen: set[int]) -> Iterator[Instance]:
    if id(instance) in seen:
        return
    seen.add(id(instance))
    for module in instance.modules:
        yield from _all(module, seen)
    yield instance


def _named(instance: Instance) -> Iterator[Instance]:
    for entity in _mentioned(instance, instance.file.declarations):
        if not isinstance(entity, ModuleEntity | MemberEntity | BrokenEntity):
            if _is_state(entity, set()):
                yield entity.module


def _is_state(entity: Entity, seen: set[int]) -> bool:
    match entity:
        case (
            RoleEntity()
            | VariableEntity()
            | ChannelEntity()
            | ActionEntity()
            | ProcedureEntity()
            | PropertyEntity()
        ):
            return True
        case DefEntity():
            if id(entity) in seen:
                return False
            seen.add(id(entity))
            return any(
                _is_state(other, seen) for other in _mentioned(entity.module, entity.decl.body)
            )
        case ConstEntity() | TypeEntity() | MemberEntity() | ModuleEntity() | BrokenEntity():
            return False
        case _:
            assert_never(entity)


def _mentioned(instance: Instance, tree: object) -> Iterator[Entity]:
    """The entities of other modules, and defs of this one, that a piece of syntax names."""
    for node in walk(tree):
        if isinstance(node, syntax.Attribute) and isinstance(node.base, syntax.Name):
            module = instance.imports.get(node.base.text)
            if isinstance(module, ModuleEntity):
                entity = module.instance.names.get(node.name.text)
                if entity is not None:
                    yield entity
        elif isinstance(node, syntax.Name):
            entity = instance.imports.get(node.text) or instance.names.get(node.text)
            if entity is not None:
                yield entity


def walk(tree: object) -> Iterator[syntax.Node]:
    """Every node of a piece of syntax, itself included, in the order written."""
    stack: list[object] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(reversed(node))
        elif isinstance(node, syntax.Node) and is_dataclass(node):
            yield node
            stack.extend(
                getattr(node, item.name) for item in reversed(fields(node)) if item.name != "span"
            )
