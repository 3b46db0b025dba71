"""Values of records and variants, written like calls."""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Enum, Field, Record, Type, Union
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.elaborate.types.arguments import after_with
from fencepost.spec.elaborate.types.partiality import coerced, settled
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax import vocabulary
from fencepost.spec.text.problem import Note, listing, suggestion


def record(context: Context, kind: Record, node: syntax.Call) -> Operand | None:
    """``Meta(pid: 0, epoch: 1)``."""
    parts = _fields(context, kind, kind.name, kind.fields, node)
    if parts is None:
        return None
    exprs = tuple(part.expr for part in parts)
    expr = settled(ir.MakeRecord(kind, exprs, span=node.span), *exprs)
    return Operand(expr, _ordinary_ghost(kind.fields, parts))


def variant(context: Context, kind: Enum | Union, index: int, node: syntax.Call) -> Operand | None:
    """``VerifyRequest(token: 1)``."""
    if isinstance(kind, Enum):
        name = kind.members[index]
        context.report("F319", node.span, f"{name} carries nothing: write it without brackets")
        return None
    chosen = kind.variants[index]
    parts = _fields(context, kind, chosen.name, chosen.fields, node)
    if parts is None:
        return None
    exprs = tuple(part.expr for part in parts)
    expr = settled(ir.MakeVariant(kind, index, exprs, span=node.span), *exprs)
    return Operand(expr, _ordinary_ghost(chosen.fields, parts))


def _ordinary_ghost(fields: tuple[Field, ...], parts: list[Operand]) -> Ghost | None:
    """The ghost that reaches a field which is none itself."""
    return first_ghost(
        *(part for field, part in zip(fields, parts, strict=True) if not field.ghost)
    )


def _fields(
    context: Context, kind: Type, name: str, fields: tuple[Field, ...], node: syntax.Call
) -> list[Operand] | None:
    """The fields' values in order, from arguments by position or by name."""
    notes = declaration(context, kind)
    path = (name,) if isinstance(kind, Union) else ()
    given = _given(context, name, [field.name for field in fields], node, notes)
    for name_of_field, argument in given.items():
        if argument.name is not None:
            context.part(argument.name, kind, *path, name_of_field)
    operands: dict[str, Operand] = {}
    for field in fields:
        if field.name not in given:
            continue
        value = given[field.name].value
        operand = context.expression(value, field.type)
        operand = coerced(context, operand, field.type, value.span, field.name)
        if operand is not None:
            operands[field.name] = operand
    return [operands[field.name] for field in fields] if len(operands) == len(fields) else None


def _given(
    context: Context, name: str, names: list[str], node: syntax.Call, notes: tuple[Note, ...]
) -> dict[str, syntax.Argument]:
    """The arguments by the fields that they are for; what is wrong is reported once."""
    given: dict[str, syntax.Argument] = {}
    good = True
    listed = f"{name}({', '.join(names)})" if names else f"{name}, without brackets"
    for place, argument in enumerate(node.arguments):
        if argument.name is None and place >= len(names):
            message = f"one value too many: write {listed}"
            context.report("F320", argument.span, message, *notes)
            good = False
            continue
        key = names[place] if argument.name is None else argument.name.text
        if key not in names:
            assert argument.name is not None
            hint = suggestion(key, names) or f"; write {listed}"
            if after_with(node.arguments, place):
                hint = f"; {vocabulary.SEVERAL_FIELDS}"
            message = f'{name} has no field "{key}"{hint}'
            context.report("F314", argument.name.span, message, *notes)
            good = False
        elif key in given:
            first = (given[key].span, "first given here")
            context.report("F320", argument.span, f'"{key}" is given twice', first)
            good = False
        else:
            given[key] = argument
    missing = [key for key in names if key not in given]
    if missing and good:
        message = f"{name} also needs {listing(missing, 'and')}"
        context.report("F320", node.span, message, *notes)
    return given
