"""What is known of a spec by place: definitions, references, and the types of expressions.

For editors, and for whatever else starts at a place in a text. All of it comes from the surface
tree and from what a `Recorder` noted; nothing is resolved a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path as FilePath
from typing import Literal, TypeAlias

from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Enum, Field, Record, Type, Union, describe
from fencepost.spec.elaborate.base.files import Files
from fencepost.spec.elaborate.base.recorder import Path, Recorder
from fencepost.spec.elaborate.base.symbols import (
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    Instance,
    LocalName,
    ModuleEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
    declared_at,
)
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Source, Span

Kind: TypeAlias = Literal[
    "constant", "type", "enum member", "variant", "field", "variable", "channel", "role", "action",
    "def", "procedure", "parameter", "local", "property", "module", "check", "scenario",
]  # fmt: skip


_Declared: TypeAlias = "tuple[str, Kind, syntax.Node | None]"

Declared: TypeAlias = dict[
    FilePath, tuple[syntax.File, tuple[tuple[Span, _Declared, str | None], ...]]
]
"""The declarations of each file, with their docstrings. Who keeps one has a file gone through again
only when it has changed.
"""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared name. ``span`` is the name where it is declared, of a module the start of its
    file, and no two declarations have the same.

    ``types`` are its types as text: none where it has no type or the spec is wrong, several where a
    module is instantiated in several ways. ``docstring`` is that of a module, or the comment lines
    right above the line of the declaration. ``node`` is what declares it, None for a module that
    is a file.
    """

    name: str
    kind: Kind
    span: Span
    types: tuple[str, ...] = ()
    docstring: str | None = None
    node: syntax.Node | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class References:
    """The declarations of a program by the span of their names; what each name that is a use means,
    by its span; the types of expressions as text, by span; and the types themselves of expressions
    and declarations.
    """

    declarations: Mapping[Span, Declaration]
    uses: Mapping[Span, tuple[Declaration, ...]]
    types: Mapping[Span, tuple[str, ...]]
    values: Mapping[Span, tuple[Type, ...]]

    def definition_at(self, source: Source, offset: int) -> tuple[Declaration, ...]:
        """What the name at a character offset means, or declares; () where there is no name.

        There are several where a module is instantiated in several ways, and where a field belongs
        to several variants.
        """
        meant = _innermost(self.uses, source, offset)
        if meant is not None:
            return self.uses[meant]
        declared = _innermost(self.declarations, source, offset)
        return () if declared is None else (self.declarations[declared],)

    def references_of(self, declaration: Declaration) -> tuple[Span, ...]:
        """Where a declaration is used, without the declaration itself, by file and place."""
        spans = [span for span, meant in self.uses.items() if declaration in meant]
        return tuple(sorted(spans, key=_order))

    def renaming(self, declaration: Declaration) -> tuple[Span, ...]:
        """Every place that must change with a declaration's name, by file and place.

        Where a name means several declarations at once, all of them change.
        """
        wanted = {declaration}
        spans: set[Span] = set()
        grown = True
        while grown:
            touched = {span for span, meant in self.uses.items() if not wanted.isdisjoint(meant)}
            grown = not touched <= spans
            spans |= touched
            wanted |= {one for span in touched for one in self.uses[span]}
        return tuple(sorted(spans | {one.span for one in wanted}, key=_order))

    def type_at(self, source: Source, offset: int) -> tuple[str, ...]:
        """The types of the innermost expression, or else of the name, at a character offset."""
        span = _innermost(self.types, source, offset)
        name = _innermost(self.uses, source, offset) or _innermost(
            self.declarations, source, offset
        )
        if span is not None and (name is None or name.end - name.start >= span.end - span.start):
            return self.types[span]
        found = self.definition_at(source, offset)
        return tuple(dict.fromkeys(kind for one in found for kind in one.types))


def _order(span: Span) -> tuple[str, int]:
    return span.source.name, span.start


def _innermost(spans: Iterable[Span], source: Source, offset: int) -> Span | None:
    """The shortest of ``spans`` around an offset. One that ends there counts, as editors put the
    cursor behind a name, unless another goes on.
    """
    around = [one for one in spans if one.source is source and one.start <= offset <= one.end]
    return min(
        (one for one in around if one.end > one.start),
        key=lambda one: (one.end == offset, one.end - one.start),
        default=None,
    )


def references(files: Files, recorder: Recorder, declared: Declared | None = None) -> References:
    """What a recorder noted about the builds of a program, in order.

    ``declared`` is used for files that are as they were, and kept up to date.
    """
    return _Index(files, recorder, {} if declared is None else declared).references()


@dataclass(slots=True)
class _Index:
    """The notes being put in order. A declaration is known by its span; ``made`` are those of the
    parts of types, by their paths.
    """

    files: Files
    recorder: Recorder
    declared: Declared
    kinds: dict[Span, _Declared] = field(default_factory=dict[Span, "_Declared"])
    docstrings: dict[Span, str | None] = field(default_factory=dict[Span, str | None])
    types: defaultdict[Span, dict[str, Type | None]] = field(
        default_factory=lambda: defaultdict[Span, dict[str, Type | None]](dict)
    )
    uses: defaultdict[Span, dict[Span, None]] = field(
        default_factory=lambda: defaultdict[Span, dict[Span, None]](dict)
    )

    made: dict[Type, list[dict[Path, Span]]] = field(
        default_factory=dict[Type, list[dict[Path, Span]]]
    )

    def references(self) -> References:
        for path, file in self.files.files.items():
            known = self.declared.get(path)
            if known is None or known[0] is not file:
                known = self.declared[path] = (file, tuple(_declared(path.stem, file)))
            for span, declared, docstring in known[1]:
                self.kinds.setdefault(span, declared)
                self.docstrings.setdefault(span, docstring)
        self._imported()
        for instance in self.recorder.instances:
            self._instance(instance)
        for name, meant, module in self.recorder.names:
            span = meant.span if isinstance(meant, LocalName) else declared_at(meant, module)
            self.uses[name.span][span] = None
        # Types are compared as seldom as can be: they may be large.
        parts = {(id(one[0]), id(one[1]), one[2]): one for one in self.recorder.parts}
        for name, kind, inside in parts.values():
            for places in self.made.get(kind, ()):
                if inside in places:
                    self.uses[name.span][places[inside]] = None
        self._checks()
        typed = {(id(node), id(kind)): (node.span, kind) for node, kind in self.recorder.types}
        for span, kind in typed.values():
            self._add(span, kind)
        declarations = {
            span: Declaration(
                name, kind, span, tuple(self.types.get(span, ())), self.docstrings.get(span), node
            )
            for span, (name, kind, node) in self.kinds.items()
        }
        uses = {
            span: tuple(declarations[one] for one in meant if one in declarations)
            for span, meant in self.uses.items()
        }
        return References(
            declarations,
            {span: meant for span, meant in uses.items() if meant},
            {span: tuple(texts) for span, texts in self.types.items() if span not in declarations},
            {
                span: tuple(kind for kind in texts.values() if kind is not None)
                for span, texts in self.types.items()
            },
        )

    # ------------------------------------------------------------ declarations

    def _imported(self) -> None:
        """The last word of an import's path means the file."""
        for path, file in self.files.files.items():
            for node in file.declarations:
                if not isinstance(node, syntax.Import):
                    continue
                target = self.files.imports.get((path, tuple(part.text for part in node.module)))
                tree = None if target is None else self.files.files.get(target)
                if tree is not None:
                    self.uses[node.module[-1].span][Span(tree.source, 0, 0)] = None

    def _instance(self, instance: Instance) -> None:
        for entity in instance.names.values():
            self._entity(entity)
            if isinstance(entity, RoleEntity):
                if entity.decl.index is not None:
                    self._add(entity.decl.index.name.span, entity.index_type)
                for inner in entity.names.values():
                    self._entity(inner)

    def _entity(self, entity: Entity) -> None:
        match entity:
            case ConstEntity() | VariableEntity():
                self._add(entity.span, entity.type)
            case ChannelEntity():
                self._add(entity.span, entity.message)
                for parameter, kind in zip(entity.decl.indices, entity.indices, strict=False):
                    self._add(parameter.name.span, kind)
            case DefEntity():
                self.types[entity.span][" ".join(entity.decl.result.span.text.split())] = None
            case TypeEntity():
                self._add(entity.span, entity.type)
                self._made(entity)
            case _:
                pass

    def _made(self, entity: TypeEntity) -> None:
        """The parts of the type that a declaration makes."""
        kind = entity.type
        places: dict[Path, Span] = {(): entity.span}
        match kind, entity.decl:
            case Enum(), syntax.EnumDecl(members=members):
                for name in members:
                    places[(name.text,)] = name.span
                    self._add(name.span, kind)
            case Record(), syntax.RecordDecl(fields=nodes):
                places |= self._fields((), kind.fields, nodes)
            case Union(), syntax.UnionDecl(variants=variants):
                for node, variant in zip(variants, kind.variants, strict=True):
                    places[(variant.name,)] = node.name.span
                    self._add(node.name.span, kind)
                    places |= self._fields((variant.name,), variant.fields, node.fields)
            case _:
                return
        self.made.setdefault(kind, []).append(places)

    def _fields(
        self, path: Path, fields: tuple[Field, ...], nodes: tuple[syntax.FieldDecl, ...]
    ) -> dict[Path, Span]:
        for item, node in zip(fields, nodes, strict=True):
            self._add(node.name.span, item.type)
        return {(*path, node.name.text): node.name.span for node in nodes}

    def _add(self, span: Span, kind: Type | None) -> None:
        if kind is not None:
            self.types[span].setdefault(describe(kind), kind)

    # ------------------------------------------------------------ checks

    def _checks(self) -> None:
        """What the lines of checks name, which is looked up in the root by its path."""
        roots = [one for one in self.recorder.instances if one.path == self.files.root]
        if not roots:
            return
        for check in self.files.files[self.files.root].declarations:
            if not isinstance(check, syntax.CheckDecl | syntax.ScenarioDecl):
                continue
            for item in check.items:
                match item:
                    case syntax.CheckConst(path=path):
                        self._path(roots[0], path, ConstEntity)
                    case syntax.CheckProperties(names=names):
                        for name in names:
                            self._path(roots[0], _dotted(name), PropertyEntity)
                    case syntax.CheckWithout(names=names):
                        for name in names:
                            self._acting(roots[0], _dotted(name))
                    case syntax.ExpectVerdict(property=name) if name is not None:
                        self._path(roots[0], _dotted(name), PropertyEntity)
                    case _:
                        pass

    def _acting(self, instance: Instance, path: tuple[syntax.Name, ...]) -> None:
        """What the parts of the name of a role or action mean."""
        scope = {**instance.imports, **instance.names}
        for part in path:
            entity = scope.get(part.text)
            if entity is None:
                return
            self.uses[part.span][entity.span] = None
            match entity:
                case ModuleEntity():
                    scope = entity.instance.names
                case RoleEntity():
                    scope = entity.names
                case _:
                    scope = {}

    def _path(
        self,
        instance: Instance,
        path: tuple[syntax.Name, ...],
        kind: type[ConstEntity | PropertyEntity],
    ) -> None:
        for part in path[:-1]:
            module = instance.imports.get(part.text)
            if not isinstance(module, ModuleEntity):
                return
            self.uses[part.span][module.span] = None
            instance = module.instance
        last = path[-1]
        for entity in _named(instance, last.text):
            if isinstance(entity, kind):
                self.uses[last.span][entity.span] = None


def _dotted(node: syntax.Expr) -> tuple[syntax.Name, ...]:
    """The names of a dotted name."""
    if isinstance(node, syntax.Attribute):
        return (*_dotted(node.base), node.name)
    return (node,) if isinstance(node, syntax.Name) else ()


def _named(instance: Instance, text: str) -> Iterator[Entity]:
    """What a check may mean by a name: a property of a role is named without the role."""
    for names in (instance.names, instance.imports):
        if text in names:
            yield names[text]
    for role in instance.names.values():
        if isinstance(role, RoleEntity) and text in role.names:
            yield role.names[text]


def _declared(module: str, file: syntax.File) -> Iterator[tuple[Span, _Declared, str | None]]:
    """The declarations of a file, with their docstrings; the first of a place counts."""
    yield Span(file.source, 0, 0), (module, "module", None), file.docstring
    for node in walk(file.declarations):
        whole = node if isinstance(node, syntax.Node) else None
        for name, kind in declared_names(node):
            # An action's binders are met before they are known for binders.
            yield name.span, (name.text, kind, whole), _comment_above(name.span)


def declared_names(node: object) -> Iterator[tuple[syntax.Name, Kind]]:
    """The names that a node itself declares, and what they are."""
    match node:
        case syntax.Const(name=name) | syntax.Param(name=name, kind="const"):
            yield name, "constant"
        case syntax.Param(name=name, kind="channel") | syntax.ChannelDecl(name=name):
            yield name, "channel"
        case (
            syntax.EnumDecl(name=name, members=members)
            | syntax.SymmetricType(name=name, members=members)
        ):
            yield name, "type"
            for member in members:
                yield member, "enum member"
        case syntax.Param(name=name) | syntax.TypeDecl(name=name):
            yield name, "type"
        case syntax.RecordDecl(name=name) | syntax.UnionDecl(name=name):
            yield name, "type"
        case syntax.VariantDecl(name=name):
            yield name, "variant"
        case syntax.FieldDecl(name=name) | syntax.RecordingEvent(name=name):
            yield name, "field"
        case syntax.EventFieldDecl(name=name):
            yield name, "field"
            if node.alias is not None:
                yield node.alias, "local"
        case syntax.RecordingKey(name=name, by=by) | syntax.RecordingOrder(name=name, by=by):
            for one in (name, *by):
                yield one, "field"
        case (
            syntax.RecordingSource(name=name)
            | syntax.RecordingBind(name=name)
            | syntax.EventDecl(name=name, head=syntax.EventHead(alias=None))
            | syntax.InputDecl(head=syntax.EventHead(alias=None), event=name)
        ):
            yield name, "local"
        case (
            syntax.EventDecl(name=name, head=syntax.EventHead(alias=syntax.Name() as alias))
            | syntax.InputDecl(head=syntax.EventHead(alias=syntax.Name() as alias), event=name)
        ):
            yield name, "field"
            yield alias, "local"
        case syntax.VarDecl(name=name):
            yield name, "variable"
        case syntax.RoleDecl(name=name):
            yield name, "role"
        case syntax.ActionDecl(name=name):
            yield name, "action"
        case syntax.Choices(binders=binders):
            for binder in binders:
                yield binder.name, "parameter"
        case syntax.DefDecl(name=name):
            yield name, "def"
        case syntax.ProcedureDecl(name=name):
            yield name, "procedure"
        case syntax.Parameter(name=name):
            yield name, "parameter"
        case syntax.PropertyDecl(name=syntax.Name() as name) | syntax.RefinementDecl(name=name):
            yield name, "property"
        case syntax.CheckDecl(name=name):
            yield name, "check"
        case syntax.ScenarioDecl(name=name):
            yield name, "scenario"
        case syntax.Import(names=None):
            yield node.alias or node.module[-1], "module"
        case (
            syntax.Binder(name=name)
            | syntax.Let(name=name)
            | syntax.LetIn(name=name)
            | syntax.Bind(name=name)
        ):
            yield name, "local"
        case syntax.Pattern(alias=syntax.Name() as name):
            yield name, "local"
        case _:
            pass


def _comment_above(span: Span) -> str | None:
    """The comment lines right above a line, without their marks."""
    lines: list[str] = []
    number = span.line - 1
    while number > 0:
        line = span.source.line(number).strip()
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
        number -= 1
    return "\n".join(reversed(lines)) or None
