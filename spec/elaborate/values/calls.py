"""Elaborates calls in expressions: calls of defs and built-in functions, constructors and
conversions.
"""

from __future__ import annotations

from fencepost.spec.core.types import (
    Machine,
    Nominal,
    Option,
    Record,
    Type,
    Union,
)
from fencepost.spec.elaborate.base import other_languages
from fencepost.spec.elaborate.base.context import Context, Reported
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    DefEntity,
    Entity,
    MemberEntity,
    Operand,
    ProcedureEntity,
    TypeEntity,
    kind_of,
)
from fencepost.spec.elaborate.types import constructors
from fencepost.spec.elaborate.types.members import index_of, member_named
from fencepost.spec.elaborate.types.type_expressions import module_member, resolve, type_of
from fencepost.spec.elaborate.values import arithmetic
from fencepost.spec.elaborate.values.defs import expanded
from fencepost.spec.elaborate.values.functions import FUNCTIONS, METHODS, function
from fencepost.spec.elaborate.values.roles import (
    Through,
    denoted,
    is_broken,
    member,
    through,
)
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span

Arguments = tuple[syntax.Argument, ...]


def call(context: Context, node: syntax.Call, expected: Type | None) -> Operand | None:
    """Elaborates ``f(a, b)`` and all other forms of calls."""
    match node.function:
        case syntax.Name() as name:
            return _named(context, name, node, expected)
        case syntax.Attribute() as dotted:
            return _dotted(context, dotted, node)
        case syntax.Index(syntax.Name(text="int")) as function:
            kind = resolve(context, function)
            return arithmetic.machine(context, node, kind) if isinstance(kind, Machine) else None
        case function:
            advice = other_languages.CALLED.get(function.span.text)
            hint = f"; {advice}" if advice else ""
            message = f"this is not a function, so it cannot be called{hint}"
            return context.report("F319", function.span, message)


def _named(
    context: Context, name: syntax.Name, node: syntax.Call, expected: Type | None
) -> Operand | None:
    text = name.text
    if text in FUNCTIONS:
        return function(context, FUNCTIONS[text], node)
    if text in ("int", "int8", "int16", "int32", "int64"):
        if text == "int":
            return arithmetic.integer(context, node)
        return arithmetic.machine(context, node, Machine(int(text[3:])))
    local = context.local(name)
    if local is not None:
        note: Note = (local.span, f'"{text}" is bound here')
        return context.report(
            "F319", name.span, f'"{text}" is a value and takes no arguments', note
        )
    entity = context.look_up(name)
    if entity is not None:
        return _of(context, entity, node, None)
    plain = expected.element if isinstance(expected, Option) else expected
    if context.position.apart and isinstance(plain, Record) and plain.name == text:
        # Values are displayed in this form, even if their types belong to other modules.
        return constructors.record(context.inner(), plain, node)
    chosen = member_named(context, name, expected)
    if chosen is not None:
        return constructors.variant(context.inner(), *chosen, node)
    if not context.members(text):
        context.unknown(
            name,
            "def or function",
            tuple(FUNCTIONS),
            meant=other_languages.FUNCTIONS,
            instead=other_languages.INSTEAD,
        )
    return None


def _dotted(context: Context, function: syntax.Attribute, node: syntax.Call) -> Operand | None:
    entity = module_member(context, function)
    if entity is not None:
        return _of(context, entity, node, None)
    seen = through(context, function)
    if seen is not None:
        entity = member(context, seen.role, function.name)
        return None if entity is None else _of(context, entity, node, seen)
    base = denoted(context, function.base)
    if isinstance(base, TypeEntity):
        kind = type_of(context.work, base)
        if not isinstance(kind, Nominal | Union):
            if kind is not None:
                _no_call(context, base, function.span)
            return None
        index = index_of(context, function.name, kind)
        return None if index is None else constructors.variant(context.inner(), kind, index, node)
    if is_broken(context, function.base):
        return None
    hint = ""
    name = function.name.text
    if name in METHODS:
        hint = f"; .{name}(...) changes a variable, as a separate statement"
    elif name in other_languages.FUNCTIONS or name in FUNCTIONS:
        hint = f"; write {other_languages.FUNCTIONS.get(name, name)}(...)"
    elif name in other_languages.INSTEAD:
        hint = f"; {other_languages.INSTEAD[name]}"
    return context.report(
        "F319", function.span, f"this is not a function, so it cannot be called{hint}"
    )


def _of(
    context: Context, entity: Entity, node: syntax.Call, seen: Through | None
) -> Operand | None:
    """Elaborates a call of a declared entity."""
    match entity:
        case DefEntity():
            return expanded(context, entity, node.arguments, node, seen)
        case TypeEntity():
            kind = type_of(context.work, entity)
            if isinstance(kind, Record):
                return constructors.record(context.inner(), kind, node)
            if kind is not None:
                _no_call(context, entity, node.function.span)
            return None
        case MemberEntity():
            kind = type_of(context.work, entity.owner)
            if not isinstance(kind, Nominal | Union):
                return None
            return constructors.variant(context.inner(), kind, entity.index, node)
        case BrokenEntity():
            return None
        case ProcedureEntity():
            message = (
                f'"{entity.name}" is a procedure, a statement without a value; use a def for a '
                "value"
            )
            return context.report("F319", node.function.span, message, entity.note)
        case _:
            return _no_call(context, entity, node.function.span)


def _no_call(context: Context, entity: Entity, span: Span) -> Reported:
    message = f'"{entity.name}" is {kind_of(entity)}, so it cannot be called'
    return context.report("F319", span, message, entity.note)
