"""Elaborates calls in expressions: calls of defs and built-in functions, constructors and
conversions.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import countable, most
from fencepost.spec.core.type_relations import set_type
from fencepost.spec.core.types import (
    SMALL_SET,
    Bag,
    Collection,
    Int,
    Machine,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
)
from fencepost.spec.elaborate.base import other_languages
from fencepost.spec.elaborate.base.context import Context, Reported, role_locals
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    DefEntity,
    Entity,
    Ghost,
    MemberEntity,
    Operand,
    ProcedureEntity,
    TypeEntity,
    kind_of,
)
from fencepost.spec.elaborate.types import constructors
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.members import index_of, member_named
from fencepost.spec.elaborate.types.narrowing import bound_to
from fencepost.spec.elaborate.types.partiality import coerced, converting
from fencepost.spec.elaborate.types.type_expressions import module_member, resolve, type_of
from fencepost.spec.elaborate.values import arithmetic
from fencepost.spec.elaborate.values.collections import comprehension
from fencepost.spec.elaborate.values.functions import FUNCTIONS, METHODS, function
from fencepost.spec.elaborate.values.roles import (
    Through,
    denoted,
    instance_of,
    is_broken,
    member,
    process,
    through,
)
from fencepost.spec.records import dataclass, replace
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


# ---------------------------------------------------------------- defs


def expanded(
    context: Context,
    entity: DefEntity,
    arguments: Arguments,
    node: syntax.Expr,
    seen: Through | None = None,
) -> Operand | None:
    """Elaborates a call of a def to its body, with the parameters bound to the arguments.

    ``seen`` is the role through which a def of that role is called.
    """
    entity.used = True
    instance = context.instance if entity.role is not None else None
    ghost: Ghost | None = None
    values: list[tuple[int, ir.Expr]] = []
    if seen is not None:
        good, index = process(context, seen, syntax.Name(entity.name, span=node.span))
        if not good:
            return None
        instance = instance_of(index)
        ghost = index.ghost if index else None
        if instance is not None and not isinstance(instance, ir.Literal | ir.Local):
            # The body may use the instance many times.
            values.append((context.work.slot(), instance))
            instance = ir.Local(instance.type, values[0][0], span=instance.span)
    inside = entered(context, entity, instance, node.span)
    bindings = bound_arguments(context, inside, entity, arguments, node.span)
    if inside is None or bindings is None:
        return None
    body = def_body(bindings.context, entity)
    if body is None:
        return None
    expr = body.expr
    for slot, value in reversed([*values, *bindings.values]):
        expr = ir.Let(expr.type, slot, value, expr, span=node.span)
    return Operand(expr, body.ghost or ghost)


def def_body(inside: Context, entity: DefEntity) -> Operand | None:
    """Elaborates the body of a def and converts it to the declared result type."""
    decl = entity.decl
    if _is_open(inside, decl.result):
        body = inside.expression(decl.body, _shape(inside, decl.result))
        kind = None if body is None else _opened(inside, decl.result, body.type)
        if body is not None and kind is None:
            rule = f"{entity.name} is {decl.result.span.text}"
            note: Note = (decl.result.span, "its type is declared here")
            inside.mismatch("F301", decl.body.span, rule, body.type, "", note)
    else:
        kind = _declared(inside, decl.result)
        body = inside.expression(decl.body, kind)
    if kind is None:
        return None
    return coerced(
        inside,
        body,
        kind,
        decl.body.span,
        f"the result of {entity.name}",
        (decl.result.span, "its type is declared here"),
    )


def entered(
    context: Context, entity: DefEntity | ProcedureEntity, instance: ir.Expr | None, span: Span
) -> Context | None:
    """Returns the context for the body of a def or procedure called at ``span``. Returns None for a
    recursive call, after reporting it.
    """
    if entity in context.expanding:
        return context.work.report(
            "F213",
            span,
            f'"{entity.name}" calls itself, and the depth of recursion cannot be bounded',
            entity.note,
        )
    return replace(
        context,
        module=entity.module,
        role=entity.role,
        instance=instance,
        locals=role_locals(entity.role, instance),
        calls=(*context.calls, span),
        expanding=(*context.expanding, entity),
    )


# ---------------------------------------------------------------- arguments


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
    operands = _argument_values(context, inside, entity, arguments, span)
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


def _argument_values(
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
    if not _is_open(inside, parameter.type):
        kind = _declared(inside, parameter.type)
        if kind is None and open_ended(outer, value):
            return None
        operand = outer.expression(value, kind)
        return None if kind is None else coerced(outer, operand, kind, value.span, name, note)
    shape = _shape(inside, parameter.type)
    if isinstance(value, syntax.Comprehension):
        operand = comprehension(outer, value, shape, sequence=True)
    else:
        operand = outer.expression(value, shape)
    if operand is None:
        return None
    kind = _opened(inside, parameter.type, operand.type)
    if kind is None:
        if not isinstance(parameter.type, syntax.Index) or shape is not None:
            expected = " ".join(parameter.type.span.text.split())
            hint = converting(operand.type)
            outer.mismatch("F301", value.span, f"{name} is {expected}", operand.type, hint, note)
        return None
    return coerced(outer, operand, kind, value.span, name, note)


def _declared(inside: Context, node: syntax.Expr) -> Type | None:
    """Resolves a type in a signature once for all calls."""
    signatures = inside.work.signatures
    key = (id(node), inside.module)
    if key not in signatures:
        signatures[key] = inside.resolve(node)
    return signatures[key]


def _is_open(inside: Context, node: syntax.Expr) -> bool:
    """Whether a type in a signature leaves its bounds open, as ``int`` and ``seq[T]`` do."""
    match node:
        case syntax.Name(text="int"):
            return True
        case syntax.Index(syntax.Name(text="seq" | "bag"), arguments):
            return len(arguments) == 1
        case syntax.Index(syntax.Name(text="set"), (element,)):
            # A small set needs no capacity, so its type is not open.
            kind = _declared(inside, element)
            return kind is not None and not countable(kind, SMALL_SET)
        case _:
            return False


def _shape(inside: Context, node: syntax.Expr) -> Type | None:
    """Returns the expected type for an open type: its shape with capacity 0. Returns None for
    ``int``.
    """
    if not isinstance(node, syntax.Index) or not isinstance(node.base, syntax.Name):
        return None
    element = _declared(inside, node.arguments[0])
    if element is None:
        return None
    return _COLLECTIONS[node.base.text](element, 0)


_COLLECTIONS: Mapping[str, type[Collection]] = {"set": Set, "seq": Seq, "bag": Bag}


def _opened(inside: Context, node: syntax.Expr, actual: Type) -> Type | None:
    """Gives an open type the bounds of an actual type. Returns None if the shapes differ."""
    match node, actual:
        case syntax.Name(), Int():
            return actual
        case syntax.Index(syntax.Name(text=text), (element,)), Set() | Seq() | Bag() if isinstance(
            actual, _COLLECTIONS[text]
        ):
            kind = _declared(inside, element)
            if kind is None:
                return None
            if isinstance(actual, Set):
                return set_type(kind, most(actual))
            return replace(actual, element=kind)
        case _:
            return None


# ---------------------------------------------------------------- defs that nothing calls


def made_up(context: Context, parameters: tuple[syntax.Parameter, ...]) -> Context:
    """Binds parameters to unknown values, so that a body that is never called can be checked."""
    for parameter in parameters:
        node = parameter.type
        kind: Type | None = Int(0, 1)
        if not _is_open(context, node):
            kind = _declared(context, node)
        elif isinstance(node, syntax.Index):
            hint = _shape(context, node)
            kind = replace(hint, capacity=1) if isinstance(hint, Set | Seq | Bag) else None
        local = None if kind is None else Operand(ir.Local(kind, context.work.slot()))
        context = context.bind(parameter.name, local)
    return context


def checked_alone(context: Context, entity: DefEntity) -> None:
    """Checks a def that is never called."""
    inside = entered(context, entity, context.instance, entity.span)
    if inside is not None:
        def_body(made_up(replace(inside, calls=()), entity.decl.parameters), entity)
