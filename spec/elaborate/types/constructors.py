"""Elaborates the construction of records and variants, which is written like a call."""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Field, Nominal, Record, Type, Union
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.elaborate.types.arguments import after_with
from fencepost.spec.elaborate.types.partiality import converted_value, settled
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax import vocabulary
from fencepost.spec.text.problem import Note, listing, suggestion


def record(context: Context, kind: Record, node: syntax.Call) -> Operand | None:
    """Elaborates ``Meta(pid: 0, epoch: 1)``."""
    parts = _fields(context, kind, kind.name, kind.fields, node)
    if parts is None:
        return None
    exprs = tuple(part.expr for part in parts)
    expr = settled(ir.MakeRecord(kind, exprs, span=node.span), *exprs)
    return Operand(expr, _ordinary_ghost(kind.fields, parts))


def variant(
    context: Context, kind: Nominal | Union, index: int, node: syntax.Call
) -> Operand | None:
    """Elaborates ``VerifyRequest(token: 1)``."""
    if isinstance(kind, Nominal):
        name = kind.members[index]
        return context.report("F319", node.span, f"{name} has no fields: write it without brackets")
    chosen = kind.variants[index]
    parts = _fields(context, kind, chosen.name, chosen.fields, node)
    if parts is None:
        return None
    exprs = tuple(part.expr for part in parts)
    expr = settled(ir.MakeVariant(kind, index, exprs, span=node.span), *exprs)
    return Operand(expr, _ordinary_ghost(chosen.fields, parts))


def _ordinary_ghost(fields: tuple[Field, ...], parts: list[Operand]) -> Ghost | None:
    """Returns the first ghost value that flows into a field that is not ghost, or None."""
    return first_ghost(
        *(part for field, part in zip(fields, parts, strict=True) if not field.ghost)
    )


def _fields(
    context: Context, kind: Type, name: str, fields: tuple[Field, ...], node: syntax.Call
) -> list[Operand] | None:
    """Elaborates the values of the fields, in declaration order, from positional or named
    arguments. Returns None if a value is missing or wrong.
    """
    notes = declaration(context, kind)
    path = (name,) if isinstance(kind, Union) else ()
    arguments = _given(context, name, [field.name for field in fields], node, notes)
    for field_name, argument in arguments.items():
        if argument.name is not None:
            context.part(argument.name, kind, *path, field_name)
    operands: dict[str, Operand] = {}
    for field in fields:
        if field.name not in arguments:
            continue
        value = arguments[field.name].value
        operand = converted_value(context, value, field.type, field.name)
        if operand is not None:
            operands[field.name] = operand
    return [operands[field.name] for field in fields] if len(operands) == len(fields) else None


def _given(
    context: Context, name: str, names: list[str], node: syntax.Call, notes: tuple[Note, ...]
) -> dict[str, syntax.Argument]:
    """Maps each field name to its argument. Reports superfluous, repeated, missing and unknown
    fields.
    """
    arguments: dict[str, syntax.Argument] = {}
    good = True
    listed = f"{name}({', '.join(names)})" if names else f"{name}, without brackets"
    for position, argument in enumerate(node.arguments):
        if argument.name is None and position >= len(names):
            message = f"one value too many: write {listed}"
            context.report("F320", argument.span, message, *notes)
            good = False
            continue
        key = names[position] if argument.name is None else argument.name.text
        if key not in names:
            assert argument.name is not None
            hint = suggestion(key, names) or f"; write {listed}"
            if after_with(node.arguments, position):
                hint = f"; {vocabulary.SEVERAL_FIELDS}"
            message = f'{name} has no field "{key}"{hint}'
            context.report("F314", argument.name.span, message, *notes)
            good = False
        elif key in arguments:
            first = (arguments[key].span, "first given here")
            context.report("F320", argument.span, f'"{key}" is given twice', first)
            good = False
        else:
            arguments[key] = argument
    missing = [key for key in names if key not in arguments]
    if missing and good:
        message = f"{name} also needs {listing(missing, 'and')}"
        context.report("F320", node.span, message, *notes)
    return arguments
