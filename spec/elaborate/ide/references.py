"""Finds definitions, references and types of expressions by their position in the text.

Editors and other position-based tools use this index. It is derived from the surface tree and from
the notes of a `Recorder`; nothing is resolved a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path as FilePath
from typing import Literal, TypeAlias

from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Enum, Field, Record, Type, Union, describe
from fencepost.spec.elaborate.base.context import Path, Recorder
from fencepost.spec.elaborate.base.files import Files
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
    "fairness", "def", "procedure", "parameter", "local", "property", "module", "check",
    "scenario",
]  # fmt: skip


_Declared: TypeAlias = "tuple[str, Kind, syntax.Node | None]"

Declared: TypeAlias = dict[
    FilePath, tuple[syntax.File, tuple[tuple[Span, _Declared, str | None], ...]]
]
"""The declarations of each file, with their docstrings. If a caller keeps this mapping, only files
that changed are visited again.
"""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared name. ``span`` is unique: it is the span of the name in its declaration or, for a
    module, the start of the file.

    ``types`` are the types of the name as text. The tuple is empty if the name has no type or the
    spec is wrong, and has several items if a module is instantiated in several ways. ``docstring``
    is the docstring of a module, or the comment lines directly above any other declaration.
    ``node`` is the declaring node, or None for a module that is a file.
    """

    name: str
    kind: Kind
    span: Span
    types: tuple[str, ...] = ()
    docstring: str | None = None
    node: syntax.Node | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class References:
    """An index of a program by position in the text.

    ``declarations`` maps the span of each declared name to its declaration, and ``uses`` maps the
    span of each use to the declarations that it denotes. ``types`` maps the spans of expressions to
    their types as text. ``values`` maps the spans of expressions and declarations to the types
    themselves.
    """

    declarations: Mapping[Span, Declaration]
    uses: Mapping[Span, tuple[Declaration, ...]]
    types: Mapping[Span, tuple[str, ...]]
    values: Mapping[Span, tuple[Type, ...]]

    def definition_at(self, source: Source, offset: int) -> tuple[Declaration, ...]:
        """Returns the declarations that the name at a character offset denotes or declares, or ()
        if there is no name at the offset.

        There are several if a module is instantiated in several ways, or if a field belongs to
        several variants.
        """
        meant = _innermost(self.uses, source, offset)
        if meant is not None:
            return self.uses[meant]
        declared = _innermost(self.declarations, source, offset)
        return () if declared is None else (self.declarations[declared],)

    def references_of(self, declaration: Declaration) -> tuple[Span, ...]:
        """Returns the spans where a declaration is used, sorted by file and position. The
        declaration itself is not included.
        """
        spans = [span for span, meant in self.uses.items() if declaration in meant]
        return tuple(sorted(spans, key=_order))

    def renaming(self, declaration: Declaration) -> tuple[Span, ...]:
        """Returns all spans to change when a declaration is renamed, sorted by file and position.

        If a name denotes several declarations at once, all of these declarations are renamed.
        """
        renamed = {declaration}
        spans: set[Span] = set()
        growing = True
        while growing:
            touched = {span for span, meant in self.uses.items() if not renamed.isdisjoint(meant)}
            growing = not touched <= spans
            spans |= touched
            renamed |= {other for span in touched for other in self.uses[span]}
        return tuple(sorted(spans | {other.span for other in renamed}, key=_order))

    def type_at(self, source: Source, offset: int) -> tuple[str, ...]:
        """Returns the types of the name or expression at a character offset, whichever is shorter.
        An expression takes precedence over a name of the same length.
        """
        span = _innermost(self.types, source, offset)
        name = _innermost(self.uses, source, offset) or _innermost(
            self.declarations, source, offset
        )
        if span is not None and (name is None or name.end - name.start >= span.end - span.start):
            return self.types[span]
        definitions = self.definition_at(source, offset)
        return tuple(dict.fromkeys(kind for definition in definitions for kind in definition.types))


def _order(span: Span) -> tuple[str, int]:
    return span.source.name, span.start


def _innermost(spans: Iterable[Span], source: Source, offset: int) -> Span | None:
    """Returns the shortest of ``spans`` around an offset, or None. A span that ends at the offset
    counts as well, because editors put the cursor after a name, but a span that continues takes
    precedence.
    """
    around = [span for span in spans if span.source is source and span.start <= offset <= span.end]
    return min(
        (span for span in around if span.end > span.start),
        key=lambda span: (span.end == offset, span.end - span.start),
        default=None,
    )


def references(files: Files, recorder: Recorder, declared: Declared | None = None) -> References:
    """Interprets the notes that were recorded during the builds of a program, in order.

    ``declared`` supplies the declarations of unchanged files, and is updated.
    """
    return _Index(files, recorder, {} if declared is None else declared).references()


@dataclass(slots=True)
class _Index:
    """Builds the index. The span of a declaration identifies it. ``made`` maps each type to a list
    with one dictionary for every declaration that creates it; the dictionary maps the paths of the
    type's parts to their spans.
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
            cached = self.declared.get(path)
            if cached is None or cached[0] is not file:
                cached = self.declared[path] = (file, tuple(_declared(path.stem, file)))
            for span, declared, docstring in cached[1]:
                self.kinds.setdefault(span, declared)
                self.docstrings.setdefault(span, docstring)
        self._imported()
        for instance in self.recorder.instances:
            self._instance(instance)
        for name, meant, module in self.recorder.names:
            span = meant.span if isinstance(meant, LocalName) else declared_at(meant, module)
            self.uses[name.span][span] = None
        # Types may be large, so compare them as rarely as possible.
        parts = {(id(note[0]), id(note[1]), note[2]): note for note in self.recorder.parts}
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
            span: tuple(declarations[note] for note in meant if note in declarations)
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
        """Records that the last part of an import's path denotes the imported file."""
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
                    index_type = None if entity.placeholder else entity.index_type
                    self._add(entity.decl.index.name.span, index_type)
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
        """Records the parts of the type that the declaration of ``entity`` creates."""
        kind = entity.type
        spans: dict[Path, Span] = {(): entity.span}
        match kind, entity.decl:
            case Enum(), syntax.EnumDecl(members=members):
                for name in members:
                    spans[(name.text,)] = name.span
                    self._add(name.span, kind)
            case Record(), syntax.RecordDecl(fields=nodes):
                spans |= self._fields((), kind.fields, nodes)
            case Union(), syntax.UnionDecl(variants=variants):
                for node, variant in zip(variants, kind.variants, strict=True):
                    spans[(variant.name,)] = node.name.span
                    self._add(node.name.span, kind)
                    spans |= self._fields((variant.name,), variant.fields, node.fields)
            case _:
                return
        self.made.setdefault(kind, []).append(spans)

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
        """Records the names in the items of checks and scenarios. Their paths are looked up from
        the root module.
        """
        roots = [
            instance for instance in self.recorder.instances if instance.path == self.files.root
        ]
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
        """Records what each part of a role's or action's dotted name denotes."""
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
    """Splits a dotted name into its parts."""
    if isinstance(node, syntax.Attribute):
        return (*_dotted(node.base), node.name)
    return (node,) if isinstance(node, syntax.Name) else ()


def _named(instance: Instance, text: str) -> Iterator[Entity]:
    """Yields the entities that a name in a check may denote. The properties of a role are named
    without the role.
    """
    for names in (instance.names, instance.imports):
        if text in names:
            yield names[text]
    for role in instance.names.values():
        if isinstance(role, RoleEntity) and text in role.names:
            yield role.names[text]


def _declared(module: str, file: syntax.File) -> Iterator[tuple[Span, _Declared, str | None]]:
    """Yields the declarations of a file with their docstrings. If two have the same position, the
    first one counts.
    """
    yield Span(file.source, 0, 0), (module, "module", None), file.docstring
    for node in walk(file.declarations):
        whole = node if isinstance(node, syntax.Node) else None
        for name, kind in declared_names(node):
            # The binders of an action are visited twice: first as parameters, then as binders.
            yield name.span, (name.text, kind, whole), _comment_above(name.span)


_NAMED: Mapping[type[syntax.Node], Kind] = {
    syntax.Const: "constant",
    syntax.ChannelDecl: "channel",
    syntax.TypeDecl: "type",
    syntax.EnumDecl: "type",
    syntax.SymmetricType: "type",
    syntax.RecordDecl: "type",
    syntax.UnionDecl: "type",
    syntax.VariantDecl: "variant",
    syntax.FieldDecl: "field",
    syntax.EventFieldDecl: "field",
    syntax.RecordingEvent: "field",
    syntax.RecordingKey: "field",
    syntax.RecordingOrder: "field",
    syntax.RecordingSource: "local",
    syntax.RecordingBind: "local",
    syntax.VarDecl: "variable",
    syntax.RoleDecl: "role",
    syntax.ActionDecl: "action",
    syntax.FairDecl: "fairness",
    syntax.DefDecl: "def",
    syntax.ProcedureDecl: "procedure",
    syntax.Parameter: "parameter",
    syntax.PropertyDecl: "property",
    syntax.RefinementDecl: "property",
    syntax.CheckDecl: "check",
    syntax.ScenarioDecl: "scenario",
    syntax.Bind: "local",
    syntax.Accumulator: "local",
}
"""The kind of the name that a node declares as its ``name``."""


def declared_names(node: object) -> Iterator[tuple[syntax.Name, Kind]]:
    """Yields the names that ``node`` itself declares, with their kinds."""
    name: syntax.Name | None = getattr(node, "name", None)
    if isinstance(node, syntax.Node) and type(node) in _NAMED and name is not None:
        yield name, _NAMED[type(node)]
    match node:
        case syntax.Param(name=name, kind=kind):
            yield name, "constant" if kind == "const" else kind
        case syntax.EnumDecl(members=members) | syntax.SymmetricType(members=members):
            for member in members:
                yield member, "enum member"
        case syntax.EventFieldDecl(alias=syntax.Name() as name):
            yield name, "local"
        case syntax.RecordingKey(by=by) | syntax.RecordingOrder(by=by):
            for key in by:
                yield key, "field"
        case (
            syntax.EventDecl(name=name, head=syntax.EventHead(alias=alias))
            | syntax.InputDecl(event=name, head=syntax.EventHead(alias=alias))
        ):
            yield name, "local" if alias is None else "field"
            if alias is not None:
                yield alias, "local"
        case syntax.Choices(binders=binders):
            for binder in binders:
                for name in syntax.names_of(binder.target):
                    yield name, "parameter"
        case syntax.Binder(target=target) | syntax.Let(target=target) | syntax.LetIn(target=target):
            for name in syntax.names_of(target):
                yield name, "local"
        case syntax.Import(names=None):
            yield node.alias or node.module[-1], "module"
        case syntax.Pattern(alias=syntax.Name() as name):
            yield name, "local"
        case _:
            pass


def _comment_above(span: Span) -> str | None:
    """Returns the comment lines directly above the line of ``span``, without comment marks, or None
    if there are none.
    """
    lines: list[str] = []
    number = span.line - 1
    while number > 0:
        line = span.source.line(number).strip()
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
        number -= 1
    return "\n".join(reversed(lines)) or None
