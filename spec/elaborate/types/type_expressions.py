"""Resolves type expressions when they are first used.

The sizes of types are limited here, before anything is allocated.
"""

from __future__ import annotations

from typing import assert_never

from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.size_limits import MAX_CAPACITY, countable
from fencepost.spec.core.types import (
    INT64_HIGH,
    INT64_LOW,
    SMALL_SET,
    Bag,
    Bool,
    Enum,
    Field,
    Int,
    Machine,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Variant,
    cardinality,
    describe,
    has_ghost,
    tuple_type,
)
from fencepost.spec.elaborate.base.built_in import TYPE_WORDS
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position, Reported, twice
from fencepost.spec.elaborate.base.other_languages import TYPES
from fencepost.spec.elaborate.base.size_checks import bounded, map_type, without_bounds
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ConstEntity,
    Entity,
    ModuleEntity,
    Pending,
    TypeEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.constants import integer
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, listing, suggestion
from fencepost.spec.text.source import Span

_APPLIED = {
    "set": "set[T] or set[T, capacity]",
    "seq": "seq[T, capacity]",
    "bag": "bag[T, capacity]",
    "map": "map[K, V]",
}


def resolve(context: Context, node: syntax.Expr) -> Type | None:
    """Returns the type that ``node`` denotes, or None if a mistake was reported."""
    match node:
        case syntax.Name():
            return _named(context, node)
        case syntax.Attribute():
            entity = module_member(context, node)
            if isinstance(entity, TypeEntity):
                return type_of(context.work, entity)
            if not isinstance(entity, BrokenEntity):
                _not_a_type(context, node, entity)
            return None
        case syntax.Range(low, high):
            return _range(context, low, high, node.span)
        case syntax.Optional(element):
            inner = resolve(context, element)
            if isinstance(inner, Option):
                return context.report("F305", node.span, f"{describe(inner)} is already an option")
            return None if inner is None else bounded(context, Option(inner), node.span)
        case syntax.Tuple(parts):
            kinds = [resolve(context, part) for part in parts]
            resolved = [kind for kind in kinds if kind is not None]
            if len(resolved) < len(kinds):
                return None
            return bounded(context, tuple_type(resolved), node.span)
        case syntax.Index(syntax.Name(text=text), arguments) if text in (*_APPLIED, "int"):
            return _applied(context, text, arguments, node.span)
        case syntax.Index(syntax.Name() as name) if context.find(name.text) is None:
            return _named(context, name)
        case _:
            return _not_a_type(context, node, None)


def denotes_type(context: Context, node: syntax.Expr) -> bool:
    """Returns whether ``node`` can only be a type, so that a tuple of such nodes is a type too."""
    match node:
        case syntax.Name(text=text) | syntax.Index(base=syntax.Name(text=text)) if (
            text in TYPE_WORDS and context.find(text) is None
        ):
            return text not in context.locals
        case syntax.Name(text=text):
            return text not in context.locals and isinstance(context.find(text), TypeEntity)
        case syntax.Attribute(syntax.Name(text=text), syntax.Name(text=member)):
            module = None if text in context.locals else context.find(text)
            names = module.instance.names if isinstance(module, ModuleEntity) else {}
            return isinstance(names.get(member), TypeEntity)
        case syntax.Range() | syntax.Optional():
            return True
        case syntax.Tuple(parts):
            return all(denotes_type(context, part) for part in parts)
        case _:
            return False


def _not_a_type(context: Context, node: syntax.Expr, entity: Entity | None) -> Reported:
    if entity is not None:
        message = f'a type is required here, but "{entity.name}" is {kind_of(entity)}'
        notes = (_COMPUTED,) if _holds_set(entity) else ()
        return context.report("F304", node.span, message, entity.note, *notes)
    forms = listing(["bool", "int8 to int64", "int[bits]", *_APPLIED.values()])
    return context.report(
        "F304",
        node.span,
        f"a type is required here: the name of one, low..high, T?, {forms}",
        *((_COMPUTED,) if _is_set(node) else ()),
    )


_COMPUTED: Note = (
    None,
    "a type is not computed from sets: use a type with more values, such as map[K, V?] for some of"
    " the keys, and exclude the others by a condition",
)


def _holds_set(entity: Entity) -> bool:
    kind = entity.decl.type if isinstance(entity, ConstEntity) else None
    return isinstance(kind, syntax.Index) and kind.base == syntax.Name("set", span=kind.span)


def _is_set(node: syntax.Expr) -> bool:
    match node:
        case syntax.Collection(brackets="{}") | syntax.Comprehension(brackets="{}"):
            return True
        case syntax.Binary(operator="-" | "|" | "&", left=left, right=right):
            return _is_set(left) or _is_set(right)
        case _:
            return False


def _named(context: Context, node: syntax.Name) -> Type | None:
    text = node.text
    match "" if text in context.module.names else text:
        case "bool":
            return Bool()
        case "int8" | "int16" | "int32" | "int64":
            return Machine(int(text[3:]))
        case "int":
            return context.work.open_integer(node.span)
        case "set" | "seq" | "bag" | "map":
            return context.report("F306", node.span, f"{text} needs its types: {_APPLIED[text]}")
        case _:
            pass
    if text in TYPE_WORDS:
        # The spec itself declares this word, and that was reported.
        return None
    local = context.local(node)
    if local is not None:
        message = f'a type is required here, but "{text}" is a local'
        return context.report("F304", node.span, message, (local.span, "bound here"))
    entity = context.look_up(node) or next(iter(context.members(text)), None)
    match entity:
        case TypeEntity():
            return type_of(context.work, entity)
        case BrokenEntity():
            return None
        case None:
            types = [
                name
                for names in (context.module.names, context.module.imports)
                for name, entry in names.items()
                if isinstance(entry, TypeEntity)
            ]
            hint = suggestion(text, types)
            if not hint and (advice := TYPES.get(text.lower())):
                hint = f"; {advice}"
            hint = hint or suggestion(text, TYPE_WORDS)
            return context.report("F201", node.span, f'no type "{text}" is known here{hint}')
        case _:
            return _not_a_type(context, node, entity)


def module_member(context: Context, node: syntax.Attribute) -> Entity | None:
    """Returns the entity that ``m.name`` denotes if ``m`` is an imported module, and None
    otherwise.

    If the module does not contain the name, reports this and returns a `BrokenEntity`.
    """
    if not isinstance(node.base, syntax.Name) or node.base.text in context.locals:
        return None
    module = context.look_up(node.base)
    if not isinstance(module, ModuleEntity):
        return None
    instance = module.instance
    name = node.name.text
    members = instance.members.get(name, [])
    entity = instance.names.get(name) or (members[0] if len(members) == 1 else None)
    if entity is not None:
        context.meant(node.name, entity, instance)
        return entity
    if not instance.unreadable(node.name):
        hint = suggestion(name, [*instance.names, *instance.members])
        kind = "several members" if members else "nothing"
        context.report(
            "F603", node.name.span, f'module "{node.base.text}" has {kind} called "{name}"{hint}'
        )
    return BrokenEntity(name, node.name.span)


def _range(context: Context, low: syntax.Expr, high: syntax.Expr, span: Span) -> Type | None:
    ends = (integer(context, low), integer(context, high))
    if ends[0] is None or ends[1] is None:
        return None
    if ends[0] < INT64_LOW or ends[1] > INT64_HIGH:
        return context.report("F703", span, "this range does not fit in 64 bits")
    if ends[0] > ends[1]:
        return context.report("F707", span, f"the range {ends[0]}..{ends[1]} has no values")
    return Int(ends[0], ends[1])


def _applied(
    context: Context, text: str, arguments: tuple[syntax.Expr, ...], span: Span
) -> Type | None:
    if text == "int":
        width = integer(context, arguments[0]) if len(arguments) == 1 else 0
        if width is None:
            return None
        if not 2 <= width <= 64:
            return context.report(
                "F306", span, "a machine integer is written int[bits], of 2 to 64 bits"
            )
        return Machine(width)
    min_count, max_count = {"set": (1, 2), "seq": (2, 2), "bag": (2, 2), "map": (2, 2)}[text]
    if not min_count <= len(arguments) <= max_count:
        return context.report("F306", span, f"{text} is written {_APPLIED[text]}")
    first = resolve(context, arguments[0])
    if text == "map":
        second = resolve(context, arguments[1])
        if first is None or second is None:
            return None
        return map_type(context, first, second, span)
    size = _capacity(context, arguments[1]) if len(arguments) == 2 else None
    if first is None or (len(arguments) == 2 and size is None):
        return None
    if text == "set":
        written = " ".join(arguments[0].span.text.split())
        return _set(context, first, size, written, span)
    assert size is not None
    return bounded(context, Seq(first, size) if text == "seq" else Bag(first, size), span)


def _capacity(context: Context, node: syntax.Expr) -> int | None:
    size = integer(context, node)
    if size is not None and not 0 <= size <= MAX_CAPACITY:
        return context.report(
            "F705", node.span, f"a capacity is 0 to {MAX_CAPACITY}, but this is {size}"
        )
    return size


def _set(
    context: Context, element: Type, capacity: int | None, written: str, span: Span
) -> Type | None:
    if has_ghost(element):
        return context.report(
            "F503",
            span,
            f"{describe(element)} has ghost fields, but values with ghost fields are not allowed "
            "in a set: the set would depend on them",
        )
    small = countable(element, SMALL_SET)
    if capacity is None and is_open(element):
        return context.report(
            "F704",
            span,
            f"{without_bounds(element)}, so the set needs a capacity: set[{written}, n]",
        )
    if capacity is None and not small:
        return context.report(
            "F704",
            span,
            f"{written} has more than {SMALL_SET} values, so the set needs a capacity:"
            f" set[{written}, n]",
        )
    if capacity is not None and small and capacity >= cardinality(element):
        capacity = None
    return bounded(context, Set(element, capacity), span)


# ---------------------------------------------------------------- named types


def type_of(work: Elaboration, entity: TypeEntity) -> Type | None:
    """Returns the type that a declaration creates, or None if the declaration is wrong."""
    if entity.state is Pending.RESOLVING:
        circle = work.circle(entity)
        message = (
            f'the type "{entity.name}" contains itself, so its values would be infinite{circle}'
        )
        return work.report("F206", entity.span, message)
    if entity.state is Pending.NEW:
        entity.state = Pending.RESOLVING
        work.descend(entity.span, False)
        work.resolving.append(entity)
        entity.type = _declared(Context(work, entity.module, Position("constant")), entity)
        work.resolving.pop()
        work.ascend()
        entity.state = Pending.DONE
    return entity.type


def declaration(context: Context, kind: Type) -> tuple[Note, ...]:
    """Returns a note that points to the declaration of an enum, record or union, or () if it is not
    visible in this module.
    """
    for entity in (*context.module.names.values(), *context.module.imports.values()):
        named = isinstance(entity, TypeEntity) and not isinstance(entity.decl, syntax.TypeDecl)
        if isinstance(entity, TypeEntity) and named and entity.type == kind:
            return ((entity.span, f"{entity.name} is declared here"),)
    return ()


def _declared(context: Context, entity: TypeEntity) -> Type | None:
    home = entity.module.home
    match entity.decl:
        case syntax.TypeDecl(type=node):
            return resolve(context, node)
        case syntax.EnumDecl(members=members):
            return Enum(entity.name, tuple(name.text for name in members), home)
        case syntax.RecordDecl(fields=nodes):
            fields = _fields(context, nodes)
            if fields is None:
                return None
            return bounded(context, Record(entity.name, fields, home), entity.span)
        case syntax.UnionDecl(variants=nodes):
            payloads = [_fields(context, node.fields) for node in nodes]
            variants = tuple(
                Variant(node.name.text, payload)
                for node, payload in zip(nodes, payloads, strict=True)
                if payload is not None
            )
            if len(variants) < len(nodes):
                return None
            return bounded(context, Union(entity.name, variants, home), entity.span)
        case syntax.SymmetricType(members=members):
            return Enum(entity.name, tuple(name.text for name in members), home, True)
        case syntax.Param():
            return None
        case _:
            assert_never(entity.decl)


def _fields(context: Context, nodes: tuple[syntax.FieldDecl, ...]) -> tuple[Field, ...] | None:
    fields: list[Field] = []
    seen: dict[str, syntax.FieldDecl] = {}
    for node in nodes:
        name = node.name.text
        if name in seen:
            context.report("F202", node.name.span, *twice(name, seen[name].name.span))
        seen.setdefault(name, node)
        kind = resolve(context, node.type)
        if kind is not None:
            fields.append(Field(name, kind, node.ghost))
    return tuple(fields) if len(fields) == len(nodes) else None
