"""Elaborates the arguments of defs and procedures, and the types in their signatures."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import relaxed
from fencepost.spec.core.size_limits import countable, most
from fencepost.spec.core.type_relations import same_shape, set_type
from fencepost.spec.core.types import SMALL_SET, Bag, Collection, Int, Seq, Set, Type
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import DefEntity, Operand, ProcedureEntity
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.narrowing import bound_to
from fencepost.spec.elaborate.types.partiality import coerced, converting
from fencepost.spec.elaborate.values.collections import comprehension
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span

Arguments = tuple[syntax.Argument, ...]


@dataclass(frozen=True, slots=True)
class Bindings:
    """Parameters bound to arguments. ``context`` contains the parameters; ``values`` are the slots
    to bind, with their values.
    """

    context: Context
    values: tuple[tuple[int, ir.Expr], ...]


def bound_arguments(
    context: Context,
    inside: Context | None,
    entity: DefEntity | ProcedureEntity,
    arguments: Arguments,
    span: Span,
) -> Bindings | None:
    """Binds the parameters in ``inside``. An argument gets a slot if it may change or if evaluating
    it again would be costly.
    """
    operands = argument_values(context, inside, entity, arguments, span)
    if operands is None or inside is None:
        return None
    values: list[tuple[int, ir.Expr]] = []
    for parameter, operand in zip(entity.decl.parameters, operands, strict=True):
        expr = operand.expr
        # A parameter keeps its value even if variables change while a procedure runs.
        constant = isinstance(expr, ir.Literal | ir.Local)
        if not constant and not (isinstance(expr, ir.Variable) and isinstance(entity, DefEntity)):
            slot = context.work.slot()
            values.append((slot, expr))
            local = ir.Local(expr.type, slot, span=parameter.name.span)
            inside, expr = bound_to(inside, local, expr), local
        inside = inside.bind(parameter.name, Operand(expr, operand.ghost))
    return Bindings(inside, tuple(values))


def argument_values(
    context: Context,
    inside: Context | None,
    entity: DefEntity | ProcedureEntity,
    arguments: Arguments,
    span: Span,
) -> list[Operand] | None:
    """Elaborates the arguments of a def or procedure and converts them to the types of the
    parameters.
    """
    parameters = entity.decl.parameters
    context.work.limit(len(parameters), entity.span)
    if named(context, arguments):
        return None
    if len(parameters) != len(arguments):
        names = [item.name.text for item in parameters]
        return wrong_number(
            context,
            entity.name,
            len(names),
            len(arguments),
            span,
            (entity.span, f"{entity.name}({', '.join(names)}) is declared here"),
        )
    operands: list[Operand] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if inside is None:
            # The call is recursive, and this was reported.
            continue
        operand = _argument_value(context.inner(), inside, parameter, argument.value)
        if operand is not None:
            operands.append(operand)
    return operands if len(operands) == len(parameters) else None


def _argument_value(
    outer: Context, inside: Context, parameter: syntax.Parameter, value: syntax.Expr
) -> Operand | None:
    name = parameter.name.text
    note: Note = (parameter.span, f'"{name}" is declared here')
    if not is_open(inside, parameter.type):
        kind = declared(inside, parameter.type)
        if kind is None and open_ended(outer, value):
            return None
        operand = outer.expression(value, kind)
        if kind is None or operand is None:
            return None
        return coerced(outer, operand, loosened(kind, operand.type), value.span, name, note)
    expected_shape = shape(inside, parameter.type)
    if isinstance(value, syntax.Comprehension):
        operand = comprehension(outer, value, expected_shape, sequence=True)
    else:
        operand = outer.expression(value, expected_shape)
    if operand is None:
        return None
    kind = opened(inside, parameter.type, operand.type)
    if kind is None:
        if not isinstance(parameter.type, syntax.Index) or expected_shape is not None:
            expected = " ".join(parameter.type.span.text.split())
            hint = converting(operand.type)
            outer.mismatch("F301", value.span, f"{name} is {expected}", operand.type, hint, note)
        return None
    return coerced(outer, operand, kind, value.span, name, note)


def declared(inside: Context, node: syntax.Expr) -> Type | None:
    """Resolves a type in a signature once for all calls."""
    signatures = inside.work.signatures
    key = (id(node), inside.module)
    if key not in signatures:
        signatures[key] = inside.resolve(node)
    return signatures[key]


def loosened(kind: Type, actual: Type) -> Type:
    """Returns a type in a signature whose integers without a declared range have those of the
    actual type.
    """
    return relaxed(kind, actual) if same_shape(kind, actual) else kind


def is_open(inside: Context, node: syntax.Expr) -> bool:
    """Whether a type in a signature leaves its bounds open, as ``int`` and ``seq[T]`` do."""
    match node:
        case syntax.Name(text="int"):
            return True
        case syntax.Index(syntax.Name(text="seq" | "bag"), arguments):
            return len(arguments) == 1
        case syntax.Index(syntax.Name(text="set"), (element,)):
            # A small set needs no capacity, so its type is not open.
            kind = declared(inside, element)
            return kind is not None and not countable(kind, SMALL_SET)
        case _:
            return False


def shape(inside: Context, node: syntax.Expr) -> Type | None:
    """Returns the expected type for an open type: its shape with capacity 0. Returns None for
    ``int``.
    """
    if not isinstance(node, syntax.Index) or not isinstance(node.base, syntax.Name):
        return None
    element = declared(inside, node.arguments[0])
    if element is None:
        return None
    return _COLLECTIONS[node.base.text](element, 0)


_COLLECTIONS: Mapping[str, type[Collection]] = {"set": Set, "seq": Seq, "bag": Bag}


def opened(inside: Context, node: syntax.Expr, actual: Type) -> Type | None:
    """Gives an open type the bounds of an actual type. Returns None if the shapes differ."""
    match node, actual:
        case syntax.Name(), Int():
            return actual
        case syntax.Index(syntax.Name(text=text), (element,)), Set() | Seq() | Bag() if isinstance(
            actual, _COLLECTIONS[text]
        ):
            kind = declared(inside, element)
            if kind is None:
                return None
            kind = loosened(kind, actual.element)
            if isinstance(actual, Set):
                return set_type(kind, most(actual))
            return replace(actual, element=kind)
        case _:
            return None


def made_up(context: Context, parameters: tuple[syntax.Parameter, ...]) -> Context:
    """Binds parameters to unknown values, so that a body that is never called can be checked."""
    for parameter in parameters:
        node = parameter.type
        kind: Type | None = Int(0, 1)
        if not is_open(context, node):
            kind = declared(context, node)
        elif isinstance(node, syntax.Index):
            hint = shape(context, node)
            kind = replace(hint, capacity=1) if isinstance(hint, Set | Seq | Bag) else None
        local = None if kind is None else Operand(ir.Local(kind, context.work.slot()))
        context = context.bind(parameter.name, local)
    return context
