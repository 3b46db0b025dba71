"""Completions at the cursor: keywords of the grammar, names in scope, members after a dot, and
messages of a channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol import types as lsp

from fencepost.checker.engines import COUNTING
from fencepost.checker.lsp.describe import heading, signature
from fencepost.checker.lsp.desk import Desk, View
from fencepost.checker.lsp.patch import WORD, patched, word_at
from fencepost.checker.lsp.places import Text
from fencepost.spec.core.types import (
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Type,
    Union,
    describe,
)
from fencepost.spec.elaborate.base.built_in import RESERVED, TYPE_WORDS
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    FairnessEntity,
    Instance,
    MemberEntity,
    ModuleEntity,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
    declared_at,
)
from fencepost.spec.elaborate.ide.references import Declaration, Kind
from fencepost.spec.elaborate.ide.survey import locals_of, path_to
from fencepost.spec.elaborate.values.functions import BUILT_IN, FUNCTIONS, methods_of
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import expected_at
from fencepost.spec.syntax.tokens import NAME
from fencepost.spec.syntax.vocabulary import FORMS
from fencepost.spec.text.library import SUFFIX, package_root
from fencepost.spec.text.source import Span

KINDS: dict[Kind, lsp.CompletionItemKind] = {
    "constant": lsp.CompletionItemKind.Constant,
    "type": lsp.CompletionItemKind.Struct,
    "enum member": lsp.CompletionItemKind.EnumMember,
    "variant": lsp.CompletionItemKind.EnumMember,
    "field": lsp.CompletionItemKind.Field,
    "variable": lsp.CompletionItemKind.Variable,
    "channel": lsp.CompletionItemKind.Interface,
    "role": lsp.CompletionItemKind.Class,
    "action": lsp.CompletionItemKind.Method,
    "fairness": lsp.CompletionItemKind.Property,
    "def": lsp.CompletionItemKind.Function,
    "procedure": lsp.CompletionItemKind.Function,
    "parameter": lsp.CompletionItemKind.Variable,
    "local": lsp.CompletionItemKind.Variable,
    "property": lsp.CompletionItemKind.Property,
    "module": lsp.CompletionItemKind.Module,
    "check": lsp.CompletionItemKind.Event,
    "scenario": lsp.CompletionItemKind.Event,
}
_NO_PROPERTY = (
    ActionEntity, ChannelEntity, ConstEntity, DefEntity, MemberEntity, ModuleEntity,
    ProcedureEntity, RoleEntity, TypeEntity, VariableEntity,
)  # fmt: skip
"""The entities that a name in an expression or a statement may denote."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A completion. If ``fits`` is true, it has the expected kind and is listed first."""

    name: str
    kind: lsp.CompletionItemKind
    detail: str = ""
    text: str | None = None
    fits: bool = False


async def completions(desk: Desk, path: Path, shown: Text, offset: int) -> list[lsp.CompletionItem]:
    """Returns the completions at an offset of a text, best first. Each completion replaces the word
    at the cursor.
    """
    text = shown.text.removeprefix("\ufeff")
    start, end = word_at(text, offset)
    expected = expected_at(text, start)
    items: dict[str, _Item] = {}
    for item in await _names(desk, path, text, start) if NAME in expected else ():
        items.setdefault(item.name, item)
    for word in sorted(word for word in expected if word.isidentifier() and word.islower()):
        items.setdefault(word, _Item(word, lsp.CompletionItemKind.Keyword, FORMS.get(word, "")))
    where = shown.range(start, end)
    return [
        lsp.CompletionItem(
            item.name,
            kind=item.kind,
            detail=item.detail or None,
            documentation=None
            if item.text is None
            else lsp.MarkupContent(lsp.MarkupKind.Markdown, item.text),
            sort_text=f"{'0' if item.fits else '1'}{item.name.lower()}",
            text_edit=lsp.TextEdit(where, item.name),
        )
        for item in items.values()
        if item.name != WORD
    ]


async def _names(desk: Desk, path: Path, text: str, start: int) -> Iterable[_Item]:
    patch = patched(text, start)
    if patch is None:
        return ()
    whole = await desk.with_texts(path, {path: patch.text})
    if whole.survey is None or whole.tree is None or not whole.survey.instances:
        return ()
    return list(_Scope(desk, whole, patch.path).items())


class _Scope:
    """The syntactic context of the cursor in a text that was completed around it."""

    def __init__(self, desk: Desk, view: View, path: tuple[syntax.Node, ...]) -> None:
        self.desk = desk
        self.view = view
        # These nodes belong to the survey's own tree, so the survey has entries for their spans.
        assert view.tree is not None
        assert view.survey is not None
        self.path = path_to(view.tree, WORD) or path
        self.instances = [i for i in view.survey.instances if i.path == view.path]
        self.entities: dict[Span, Entity] = {}
        for instance in view.survey.instances:
            for entity in (*instance.names.values(), *instance.imports.values()):
                self.entities.setdefault(entity.span, entity)
                if isinstance(entity, RoleEntity):
                    for inner in entity.names.values():
                        self.entities.setdefault(inner.span, inner)

    # ------------------------------------------------------------ items

    def items(self) -> Iterator[_Item]:
        """Yields all completions at the cursor."""
        name = self.path[-1]
        parent = self.path[-2] if len(self.path) > 1 else None
        match parent:
            case syntax.ScenarioStep() | syntax.FairDecl() if _is_acting(parent, name):
                for kind in (ActionEntity, RoleEntity, ChannelEntity, ModuleEntity):
                    yield from self._scope(kind)
            case syntax.Attribute(base=base) if parent.name is name and self._is_step(parent):
                yield from self._acting(base)
            case syntax.Attribute(base=base) if parent.name is name:
                yield from self._behind_dot(base)
            case syntax.Pattern() | syntax.Is():
                yield from self._tested(parent)
            case syntax.Send(message=message, channel=channel) if message is name:
                yield from self._messages(channel)
                yield from self._values()
            case syntax.Send() | syntax.Receive():
                yield from self._scope(ChannelEntity)
                yield from self._scope(ModuleEntity)
            case syntax.Argument(name=named) if named is name:
                match self.path:
                    case (*_, syntax.With(record=record), _, _):
                        yield from self._fields(self._types(record))
                    case _:
                        return
            case syntax.Import():
                yield from self._imported(parent, name)
            case syntax.ModuleArgument() if parent.name is name:
                yield from self._arguments()
            case syntax.CheckConst(path=path) if name in path:
                yield from self._constants(path)
            case syntax.CheckProperties() | syntax.ExpectVerdict():
                yield from self._of_root(PropertyEntity)
            case syntax.CheckWithout():
                yield from self._of_root((FairnessEntity, ActionEntity, RoleEntity))
            case syntax.CheckEngine():
                for engine in COUNTING:
                    yield _Item(engine, lsp.CompletionItemKind.Value)
            case syntax.Bind():
                return
            case _ if parent is not None and _is_declared(parent, name):
                return
            case _ if parent is not None and _is_type(parent, name):
                yield from self._scope(TypeEntity)
                yield from self._scope(ModuleEntity)
                yield from self._scope(ConstEntity)
                yield from _built_in(TYPE_WORDS)
            case _:
                yield from self._expected(parent, name)
                yield from self._values()

    def _values(self) -> Iterator[_Item]:
        """Yields the names in scope, members, and the functions of the language."""
        for name in locals_of(self.path):
            declaration = self.view.references.declarations.get(name.span)
            if declaration is not None:
                yield self._item(declaration, fits=True)
        yield from self._scope()
        yield from _built_in((*FUNCTIONS, *RESERVED))

    def _scope(self, kind: type | None = None) -> Iterator[_Item]:
        """Yields the names of a kind in the enclosing role, in the module and in its imports. If
        ``kind`` is None, yields names of every kind.
        """
        role = next((n for n in self.path if isinstance(n, syntax.RoleDecl)), None)
        for instance in self.instances:
            if role is not None:
                entity = instance.names.get(role.name.text)
                if isinstance(entity, RoleEntity):
                    yield from self._entities(entity.names, kind, fits=kind is None)
            yield from self._entities(instance.names, kind)
            yield from self._entities(instance.imports, kind)
            if kind is None:
                for members in instance.members.values():
                    yield from self._entities({member.name: member for member in members[:1]}, None)

    def _entities(
        self,
        names: dict[str, Entity],
        kind: type | tuple[type, ...] | None,
        fits: bool = False,
    ) -> Iterator[_Item]:
        for text, entity in names.items():
            wanted = kind or _NO_PROPERTY
            if isinstance(entity, wanted):
                span = declared_at(entity, self.instances[0]) if self.instances else entity.span
                declaration = self.view.references.declarations.get(span)
                if declaration is not None:
                    yield self._item(declaration, text, fits or kind is not None)

    def _item(self, declaration: Declaration, name: str | None = None, fits: bool = False) -> _Item:
        signed = signature(declaration)
        detail = (
            signed[0]
            if signed
            else " or ".join(declaration.types) or heading(declaration).partition("\n")[0]
        )
        return _Item(
            name or declaration.name, KINDS[declaration.kind], detail, declaration.docstring, fits
        )

    # ------------------------------------------------------------ by syntactic context

    def _behind_dot(self, base: syntax.Expr) -> Iterator[_Item]:
        match self._entity(base):
            case ModuleEntity(instance=instance):
                yield from self._entities(instance.names, None, fits=True)
                for members in instance.members.values():
                    yield from self._entities({member.name: member for member in members[:1]}, None)
            case RoleEntity(names=names):
                yield from self._entities(names, None, fits=True)
            case TypeEntity(type=kind) if isinstance(kind, Nominal | Union):
                yield from self._members((kind,))
            case _:
                types = self._types(base)
                yield from self._fields(types)
                if self._is_statement():
                    for kind in types:
                        yield from _built_in(methods_of(kind))

    def _is_step(self, node: syntax.Expr) -> bool:
        """Returns whether a dotted name is a step of a scenario."""
        for above in self.path[-4:-2]:
            if isinstance(above, syntax.ScenarioStep):
                call = above.action
                return node is (call.function if isinstance(call, syntax.Call) else call)
        return False

    def _acting(self, base: syntax.Expr) -> Iterator[_Item]:
        """Yields the actions of a role, the faults of a channel, or the entities of a module that
        can act.
        """
        match self._entity(base):
            case RoleEntity(names=names):
                yield from self._entities(names, ActionEntity)
            case ChannelEntity(decl=decl):
                kinds = {option.kind for option in decl.options if isinstance(option, syntax.Fault)}
                for kind, verb in (("lossy", "lose"), ("duplicating", "duplicate")):
                    if kind in kinds:
                        yield _Item(verb, KINDS["action"], f"{kind} channel", fits=True)
            case ModuleEntity(instance=instance):
                for kind_of_entity in (ActionEntity, RoleEntity, ChannelEntity):
                    yield from self._entities(instance.names, kind_of_entity)
            case _:
                return

    def _is_statement(self) -> bool:
        """Returns whether the cursor is after a dot in the first expression of a statement."""
        return any(isinstance(node, syntax.Do | syntax.Assign) for node in self.path[-3:])

    def _tested(self, parent: syntax.Pattern | syntax.Is) -> Iterator[_Item]:
        """Yields the members of the type that is matched or tested, or the messages of the
        channel.
        """
        if isinstance(parent, syntax.Is):
            yield from self._members(self._types(parent.operand))
            return
        for node in reversed(self.path):
            if isinstance(node, syntax.Match | syntax.MatchValue):
                yield from self._members(self._types(node.subject))
                return
            if isinstance(node, syntax.Receive):
                items = [*self._messages(node.channel)]
                if not items:
                    # The channel has not been typed yet.
                    for channel in self._channels():
                        items += self._members((channel.message,) if channel.message else ())
                yield from items
                return

    def _messages(self, channel: syntax.Expr) -> Iterator[_Item]:
        entity = self._entity(channel)
        if isinstance(entity, ChannelEntity) and entity.message is not None:
            yield from self._members((entity.message,))
        elif entity is None:
            for channel_entity in self._channels():
                yield from self._members(
                    (channel_entity.message,) if channel_entity.message else ()
                )

    def _channels(self) -> Iterator[ChannelEntity]:
        for instance in self.instances:
            for entity in (*instance.names.values(), *instance.imports.values()):
                if isinstance(entity, ChannelEntity):
                    yield entity

    def _imported(self, parent: syntax.Import, name: syntax.Node) -> Iterator[_Item]:
        if parent.names is not None and name in parent.names:
            module = self._module(parent)
            if module is not None:
                yield from self._entities(module.names, None, fits=True)
                for members in module.members.values():
                    yield from self._entities({member.name: member for member in members[:1]}, None)
        elif name in parent.module:
            index = next(n for n, part in enumerate(parent.module) if part is name)
            words = [part.text for part in parent.module[:index]]
            for module_name in sorted(set(self._files(words))):
                yield _Item(module_name, lsp.CompletionItemKind.Module, fits=True)

    def _files(self, words: list[str]) -> Iterator[str]:
        """Yields the modules and folders that can follow ``words`` in an import."""
        roots = [self.view.path.parent, *self.desk.search]
        if words and words[0] in ("models", "invariants"):
            roots.append(package_root())
        elif not words:
            yield from ("models", "invariants")
        for root in roots:
            folder = Path(root, *words)
            try:
                entries = list(folder.iterdir())
            except OSError:
                continue
            for entry in entries:
                if entry.suffix == SUFFIX and entry != self.view.path:
                    yield entry.stem
                elif entry.name.isidentifier() and entry.is_dir() and any(entry.glob("*" + SUFFIX)):
                    yield entry.name

    def _module(self, node: syntax.Node) -> Instance | None:
        """Returns an instance of the module that an import names, or None if there is none."""
        survey = self.view.survey
        if not isinstance(node, syntax.Import) or survey is None:
            return None
        key = (self.view.path, tuple(part.text for part in node.module))
        target = survey.files.imports.get(key)
        return next((instance for instance in survey.instances if instance.path == target), None)

    def _arguments(self) -> Iterator[_Item]:
        """Yields the parameters and constants of the module that the enclosing import names."""
        imports = [node for node in self.path if isinstance(node, syntax.Import)]
        module = self._module(imports[0]) if imports else None
        declarations = () if module is None else module.file.declarations
        for node in declarations:
            if isinstance(node, syntax.Param | syntax.Const):
                declaration = self.view.references.declarations.get(node.name.span)
                if declaration is not None:
                    yield self._item(declaration, fits=True)

    def _constants(self, path: tuple[syntax.Name, ...]) -> Iterator[_Item]:
        for instance in self.instances[:1]:
            current = instance
            for part in path[:-1]:
                module = current.imports.get(part.text)
                if not isinstance(module, ModuleEntity):
                    return
                current = module.instance
            for names in (current.names, current.imports):
                yield from self._entities(names, ConstEntity)
                yield from self._entities(names, ModuleEntity)

    def _of_root(self, kind: type | tuple[type, ...]) -> Iterator[_Item]:
        """Yields the entities of a kind that the root and its roles declare."""
        for instance in self.instances[:1]:
            for names in (instance.names, instance.imports):
                yield from self._entities(names, kind)
                for entity in names.values():
                    if isinstance(entity, RoleEntity):
                        yield from self._entities(entity.names, kind)

    def _expected(self, parent: syntax.Node | None, name: syntax.Node) -> Iterator[_Item]:
        """Yields the members of the expected type, which the context determines: for example, the
        other operand of a comparison.
        """
        match parent:
            case syntax.Binary(left=left, right=right) if parent.operator in ("==", "!="):
                yield from self._members(self._types(right if left is name else left))
            case syntax.Assign(target=target, value=value) if value is name:
                yield from self._members(self._types(target))
            case syntax.Argument():
                call = self.path[-3:][0]
                entity = self._entity(call.function) if isinstance(call, syntax.Call) else None
                if isinstance(entity, ActionEntity) and isinstance(call, syntax.Call):
                    yield from self._argument(entity, call, parent)
                if isinstance(entity, TypeEntity) and entity.type is not None:
                    yield from self._fields((entity.type,))
            case _:
                return

    def _argument(
        self, entity: ActionEntity, call: syntax.Call, argument: syntax.Argument
    ) -> Iterator[_Item]:
        """Yields the values that can be an argument of a scenario step: the members of the
        parameter's type, or the messages of a channel.
        """
        index = next(n for n, candidate in enumerate(call.arguments) if candidate is argument)
        kinds = list(entity.parameters or ())
        if index < len(kinds):
            yield from self._members(kinds[index : index + 1])
        elif entity.decl.receive is not None:
            yield from self._messages(entity.decl.receive.channel)

    # ------------------------------------------------------------ lookup

    def _types(self, node: syntax.Expr) -> tuple[Type, ...]:
        """Returns the types of an expression. The target of an assignment is not an expression, so
        its type is derived from its parts.
        """
        types = self.view.references.values.get(node.span, ())
        if not types and isinstance(node, syntax.Name | syntax.Attribute):
            name = node.name if isinstance(node, syntax.Attribute) else node
            meant = self.view.references.uses.get(name.span, ())
            types = tuple(
                k
                for declaration in meant
                for k in self.view.references.values.get(declaration.span, ())
            )
        if not types and isinstance(node, syntax.Index):
            types = tuple(_part(kind) for kind in self._types(node.base))
        return tuple(kind.element if isinstance(kind, Option) else kind for kind in types)

    def _entity(self, node: syntax.Expr) -> Entity | None:
        """Returns the entity that a name denotes, or None if it denotes none. The name may be
        dotted or indexed.
        """
        if isinstance(node, syntax.Index):
            node = node.base
        name = node.name if isinstance(node, syntax.Attribute) else node
        for meant in self.view.references.uses.get(name.span, ()):
            entity = self.entities.get(meant.span)
            if entity is not None:
                return entity
        return None

    def _members(self, kinds: Iterable[Type]) -> Iterator[_Item]:
        for kind in kinds:
            match kind:
                case Nominal(members=members):
                    for text in members:
                        yield _Item(text, KINDS["enum member"], describe(kind), fits=True)
                case Union(variants=variants):
                    for variant in variants:
                        fields = ", ".join(f"{f.name}: {describe(f.type)}" for f in variant.fields)
                        detail = f"{variant.name}({fields})" if fields else describe(kind)
                        yield _Item(variant.name, KINDS["variant"], detail, fits=True)
                case _:
                    pass

    def _fields(self, kinds: Iterable[Type]) -> Iterator[_Item]:
        for kind in kinds:
            match kind:
                case Record(fields=fields):
                    all_fields = fields
                case Union(variants=variants):
                    all_fields = tuple(item for variant in variants for item in variant.fields)
                case _:
                    continue
            for item in all_fields:
                yield _Item(item.name, KINDS["field"], describe(item.type), fits=True)


def _part(kind: Type) -> Type:
    """Returns the type that results from indexing a value of ``kind``."""
    return kind.value if isinstance(kind, Map) else kind.element if isinstance(kind, Seq) else kind


def _is_declared(parent: syntax.Node, name: syntax.Node) -> bool:
    """Returns whether ``parent`` declares a name."""
    if isinstance(parent, syntax.Binder | syntax.Let | syntax.LetIn):
        return parent.target is name
    if isinstance(parent, syntax.Expr | syntax.Argument | syntax.With):
        return False
    return getattr(parent, "name", None) is name


def _is_acting(parent: syntax.ScenarioStep | syntax.FairDecl, name: syntax.Node) -> bool:
    """Returns whether a name is a step of a scenario or a member of a group."""
    return isinstance(parent, syntax.ScenarioStep) or any(name is m for m in parent.members)


def _is_type(parent: syntax.Node, name: syntax.Node) -> bool:
    """Returns whether a name is in type position."""
    inside = ("type", "result") if not isinstance(parent, syntax.ChannelDecl) else ("message",)
    return any(getattr(parent, field, None) is name for field in inside)


def _built_in(words: Iterable[str]) -> Iterator[_Item]:
    for word in words:
        row = BUILT_IN[word]
        kind = lsp.CompletionItemKind.Function
        if row.kind == "type":
            kind = lsp.CompletionItemKind.Struct
        yield _Item(word, kind, row.form, row.meaning)
