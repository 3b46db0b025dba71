"""Calls in expressions: functions of the language, defs, constructors and conversions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fencepost.spec import expressions, ir, syntax
from fencepost.spec.defined import bound, coerced, end_of, size, unified
from fencepost.spec.elaboration import Context, first_ghost, role_locals
from fencepost.spec.entities import (
    ActionEntity,
    BrokenEntity,
    DefEntity,
    Entity,
    MemberEntity,
    Operand,
    RoleEntity,
    TypeEntity,
)
from fencepost.spec.problem import Note, suggestion
from fencepost.spec.resolve import module_member, resolve, type_of
from fencepost.spec.source import Span
from fencepost.spec.types import (
    INT64_HIGH,
    INT64_LOW,
    Bag,
    Field,
    Int,
    Machine,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    describe,
)

Arguments = tuple[syntax.Argument, ...]


def call(context: Context, node: syntax.Call, expected: Type | None) -> Operand | None:
    """``f(a, b)`` and its kin."""
    function = node.function
    entity: Entity | None = None
    if isinstance(function, syntax.Name):
        if function.text in context.locals:
            context.report("F319", function.span, f'"{function.text}" is a value, not a function')
            return None
        entity = context.find(function.text)
        if not isinstance(entity, DefEntity | TypeEntity | BrokenEntity):
            builtin = BUILTINS.get(function.text)
            if builtin is not None:
                return builtin(context.inner(), node)
            if function.text.startswith("int") and function.text[3:] in ("8", "16", "32", "64"):
                return _machine(context.inner(), node, Machine(int(function.text[3:])))
            if entity is None:
                return _variant(context, function, node, expected)
    elif isinstance(function, syntax.Attribute):
        entity = _dotted(context, function)
        if isinstance(entity, TypeEntity) and not _is_constructor(context, entity, function):
            return _variant_of(context, entity, function, node)
    elif isinstance(function, syntax.Index) and function.base == syntax.Name(
        "int", span=function.span
    ):
        kind = resolve(context, function)
        return _machine(context.inner(), node, kind) if isinstance(kind, Machine) else None
    match entity:
        case DefEntity():
            return expanded(context, entity, node.arguments, node.span)
        case TypeEntity():
            kind = type_of(context.work, entity)
            if kind is None:
                return None
            if isinstance(kind, Record):
                return _record(context.inner(), kind, node)
            context.report(
                "F319", function.span, f"{describe(kind)} is no record: it has no constructor"
            )
            return None
        case MemberEntity():
            kind = type_of(context.work, entity.owner)
            return kind and _make_variant(context.inner(), kind, entity.index, node)
        case BrokenEntity():
            return None
        case _:
            hint = ""
            if isinstance(function, syntax.Attribute) and function.name.text in METHODS:
                hint = f"; .{function.name.text}(...) changes a variable, as a statement of its own"
            context.report("F319", function.span, f"this cannot be called in an expression{hint}")
            return None


METHODS = ("add", "remove", "append", "pop_first", "clear")


def _dotted(context: Context, function: syntax.Attribute) -> Entity | None:
    entity = module_member(context, function)
    if entity is not None:
        return entity
    if isinstance(function.base, syntax.Name):
        base = None if function.base.text in context.locals else context.find(function.base.text)
    elif isinstance(function.base, syntax.Attribute):
        base = module_member(context, function.base)
    else:
        base = None
    return base if isinstance(base, TypeEntity) else None


def _is_constructor(context: Context, entity: TypeEntity, function: syntax.Attribute) -> bool:
    """Whether a dotted function is a type of a module, and not a member behind a type."""
    return entity.name == function.name.text and module_member(context, function) is entity


def _variant(
    context: Context, function: syntax.Name, node: syntax.Call, expected: Type | None
) -> Operand | None:
    text = function.text
    if isinstance(expected, Option):
        expected = expected.element
    names = expressions.member_names(expected) if isinstance(expected, Union) else None
    if isinstance(expected, Union) and names is not None and text in names:
        return _make_variant(context.inner(), expected, names.index(text), node)
    members = context.members(text)
    if len({id(member.owner) for member in members}) == 1:
        kind = type_of(context.work, members[0].owner)
        return kind and _make_variant(context.inner(), kind, members[0].index, node)
    if members:
        owners = " and ".join(member.owner.name for member in members)
        context.report(
            "F209",
            function.span,
            f'"{text}" is a member of {owners}: write {members[0].owner.name}.{text}(...)',
        )
        return None
    if text not in context.module.file.broken.names:
        hint = suggestion(text, [*context.known(), *BUILTINS])
        context.report("F201", function.span, f'no function "{text}" is known here{hint}')
    return None


def _variant_of(
    context: Context, entity: TypeEntity, function: syntax.Attribute, node: syntax.Call
) -> Operand | None:
    kind = type_of(context.work, entity)
    if kind is None:
        return None
    names = expressions.member_names(kind) or ()
    if function.name.text not in names:
        hint = suggestion(function.name.text, names)
        context.report(
            "F211", function.name.span, f'{entity.name} has no member "{function.name.text}"{hint}'
        )
        return None
    return _make_variant(context.inner(), kind, names.index(function.name.text), node)


# ---------------------------------------------------------------- constructors


def _make_variant(context: Context, kind: Type, tag: int, node: syntax.Call) -> Operand | None:
    if not isinstance(kind, Union):
        context.report("F319", node.span, f"a member of {describe(kind)} carries nothing")
        return None
    variant = kind.variants[tag]
    parts = construct(context, variant.name, variant.fields, node)
    if parts is None:
        return None
    exprs = tuple(part.expr for part in parts)
    return Operand(
        ir.MakeVariant(kind, tag, exprs, span=node.span), _outside(variant.fields, parts)
    )


def _record(context: Context, kind: Record, node: syntax.Call) -> Operand | None:
    parts = construct(context, kind.name, kind.fields, node)
    if parts is None:
        return None
    exprs = tuple(part.expr for part in parts)
    return Operand(ir.MakeRecord(kind, exprs, span=node.span), _outside(kind.fields, parts))


def _outside(fields: tuple[Field, ...], parts: list[Operand]):  # type: ignore[no-untyped-def]
    """The ghost that reaches a field which is none itself."""
    return first_ghost(
        *(part for field, part in zip(fields, parts, strict=True) if not field.ghost)
    )


def construct(
    context: Context, name: str, fields: tuple[Field, ...], node: syntax.Call
) -> list[Operand] | None:
    """The fields' values in order, from arguments by position or by name."""
    given: dict[str, syntax.Argument] = {}
    names = [field.name for field in fields]
    good = True
    for place, argument in enumerate(node.arguments):
        if argument.name is not None:
            key = argument.name.text
        elif place < len(names):
            key = names[place]
        else:
            context.report(
                "F320", argument.span, f"{name} has {len(names)} fields, and this is one more"
            )
            good = False
            continue
        if key not in names:
            context.report(
                "F314", argument.span, f'{name} has no field "{key}"{suggestion(key, names)}'
            )
            good = False
        elif key in given:
            context.report(
                "F320", argument.span, f'"{key}" is given twice', (given[key].span, "first here")
            )
            good = False
        else:
            given[key] = argument
    missing = [key for key in names if key not in given]
    if missing and good:
        context.report("F320", node.span, f"{name} also needs {', '.join(missing)}")
    parts: list[Operand | None] = []
    for field in fields:
        argument = given.get(field.name)
        if argument is not None:
            parts.append(
                coerced(
                    context,
                    context.expression(argument.value, field.type),
                    field.type,
                    argument.value.span,
                    field.name,
                )
            )
    operands = [part for part in parts if part is not None]
    return operands if good and not missing and len(operands) == len(fields) else None


# ---------------------------------------------------------------- defs


def expanded(
    context: Context, entity: DefEntity, arguments: Arguments, span: Span
) -> Operand | None:
    """A call of a def: its body, with the parameters bound to the arguments."""
    entity.used = True
    inside = entered(context, entity, span)
    bindings = bind_arguments(context, inside, entity, arguments, span)
    if bindings is None or inside is None:
        return None
    inside, lets = bindings
    body = def_body(inside, entity)
    if body is None:
        return None
    expr = body.expr
    for slot, value in reversed(lets):
        expr = ir.Let(expr.type, slot, value, expr, span=span)
    return Operand(expr, body.ghost)


def def_body(inside: Context, entity: DefEntity) -> Operand | None:
    """The body of a def as a value of the declared result type."""
    decl = entity.decl
    if is_open(decl.result):
        body = inside.expression(decl.body)
        kind = None if body is None else opened(inside, decl.result, body.type)
    else:
        kind = inside.resolve(decl.result)
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


def entered(context: Context, entity: DefEntity, span: Span) -> Context | None:
    """The context of a def's body, called at ``span``; None where it may not be called."""
    if entity in context.expanding:
        context.work.report(
            "F213",
            span,
            f'"{entity.name}" calls itself; recursion has no bound that could be checked',
            (entity.span, f'"{entity.name}" is declared here'),
        )
        return None
    if entity.role is not None and entity.role is not context.role:
        context.report(
            "F214", span, f'"{entity.name}" belongs to role {entity.role.name} and is known there'
        )
        return None
    context.work.expand(span)
    return replace(
        context,
        module=entity.module,
        role=entity.role,
        instance=context.instance if entity.role is not None else None,
        locals=role_locals(entity.role, context.instance),
        calls=(*context.calls, span),
        expanding=(*context.expanding, entity),
    )


def is_open(node: syntax.Expr) -> bool:
    """Whether a parameter's type leaves its bounds to the argument: ``int``, ``seq[T]``."""
    match node:
        case syntax.Name(text="int"):
            return True
        case syntax.Index(syntax.Name(text="seq" | "bag"), arguments):
            return len(arguments) == 1
        case syntax.Index(syntax.Name(text="set"), arguments):
            return len(arguments) == 1
        case _:
            return False


def opened(inside: Context, node: syntax.Expr, actual: Type) -> Type | None:
    """An open parameter type with the bounds of the argument's type."""
    match node, actual:
        case syntax.Name(), Int():
            return actual
        case syntax.Index(syntax.Name(text=text), (element,)), Set() | Seq() | Bag():
            names = {"set": Set, "seq": Seq, "bag": Bag}
            kind = inside.resolve(element)
            if kind is None:
                return None
            if isinstance(actual, names[text]):
                return replace(actual, element=kind)
        case _:
            pass
    inside.report(
        "F301", node.span, f"{node.span.text} is wanted here, and this is {describe(actual)}"
    )
    return None


Bindings = tuple[Context, list[tuple[int, ir.Expr]]]


def bind_arguments(
    context: Context,
    inside: Context | None,
    entity: DefEntity,
    arguments: Arguments,
    span: Span,
) -> Bindings | None:
    """``inside`` with the parameters bound; what is not simple gets a slot (to be let)."""
    parameters = entity.decl.parameters
    operands = argument_values(context, inside, entity.name, parameters, arguments, span)
    if operands is None or inside is None:
        return None
    lets: list[tuple[int, ir.Expr]] = []
    for parameter, operand in zip(parameters, operands, strict=True):
        expr = operand.expr
        if not isinstance(expr, ir.Literal | ir.Local | ir.Variable):
            slot = context.work.slot()
            lets.append((slot, expr))
            expr = ir.Local(expr.type, slot, span=parameter.name.span)
        inside = inside.bind(parameter.name, Operand(expr, operand.ghost))
    return inside, lets


def argument_values(
    context: Context,
    inside: Context | None,
    name: str,
    parameters: tuple[syntax.Parameter, ...],
    arguments: Arguments,
    span: Span,
) -> list[Operand] | None:
    """The arguments of a def or procedure as values of the parameters' types."""
    if len(parameters) != len(arguments):
        context.report(
            "F321",
            span,
            f"{name} takes {len(parameters)} arguments, and {len(arguments)} are given",
            *([(parameters[0].span, "declared here")] if parameters else []),
        )
        return None
    operands: list[Operand | None] = []
    outer = context.inner()
    for parameter, argument in zip(parameters, arguments, strict=True):
        if argument.name is not None:
            context.report("F321", argument.span, "arguments of a def are given by position")
        note: Note = (parameter.span, f'"{parameter.name.text}" is declared here')
        if inside is None:
            operands.append(None)
        elif is_open(parameter.type):
            operand = outer.expression(argument.value)
            kind = None
            if operand is not None:
                kind = _opened_at(outer, inside, parameter, operand, argument.value.span, note)
            operands.append(
                kind and coerced(outer, operand, kind, argument.value.span, parameter.name.text)
            )
        else:
            kind = inside.resolve(parameter.type)
            operand = outer.expression(argument.value, kind)
            operands.append(
                kind
                and coerced(outer, operand, kind, argument.value.span, parameter.name.text, note)
            )
    good = [operand for operand in operands if operand is not None]
    return good if len(good) == len(operands) else None


def _opened_at(
    outer: Context,
    inside: Context,
    parameter: syntax.Parameter,
    operand: Operand,
    span: Span,
    note: Note,
) -> Type | None:
    text = parameter.type.span.text
    shapes = {"int": Int, "set": Set, "seq": Seq, "bag": Bag}
    word = text.split("[")[0].strip()
    if not isinstance(operand.type, shapes[word]):
        outer.report(
            "F301",
            span,
            f"{parameter.name.text} is {text}, and this is {describe(operand.type)}",
            note,
        )
        return None
    return opened(inside, parameter.type, operand.type)


def checked_alone(context: Context, entity: DefEntity) -> None:
    """Checks a def that nothing calls, with made-up arguments of the declared types."""
    inside = entered(context, entity, entity.span)
    if inside is None:
        return
    inside = replace(inside, calls=())
    for parameter in entity.decl.parameters:
        node = parameter.type
        kind: Type | None
        if not is_open(node):
            kind = inside.resolve(node)
        elif isinstance(node, syntax.Index):
            element = inside.resolve(node.arguments[0])
            shape = node.base.text if isinstance(node.base, syntax.Name) else ""
            kind = None
            if element is not None:
                kind = {"seq": Seq(element, 4), "bag": Bag(element, 4), "set": Set(element)}[shape]
        else:
            kind = Int(-1000, 1000)
        local = kind and Operand(ir.Local(kind, context.work.slot()))
        inside = inside.bind(parameter.name, local)
    def_body(inside, entity)


# ---------------------------------------------------------------- functions of the language


def _operands(context: Context, node: syntax.Call, least: int, most: int) -> list[Operand] | None:
    name = node.function.span.text
    if not least <= len(node.arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        context.report(
            "F321",
            node.span,
            f"{name} takes {wanted} argument{'s' if most > 1 else ''}, and"
            f" {len(node.arguments)} are given",
        )
        return None
    operands: list[Operand | None] = []
    for argument in node.arguments:
        value = argument.value
        if isinstance(value, syntax.Comprehension):
            operands.append(expressions.comprehension(context, value, None, sequence=True))
        else:
            operands.append(context.expression(value))
    good = [operand for operand in operands if operand is not None]
    return good if len(good) == len(operands) else None


def _collection(context: Context, node: syntax.Call, sequence: bool = False) -> Operand | None:
    operands = _operands(context, node, 1, 1)
    if operands is None:
        return None
    kind = operands[0].type
    if isinstance(kind, Seq) or (isinstance(kind, Set | Bag) and not sequence):
        return operands[0]
    wanted = "a sequence" if sequence else "a set, sequence or bag"
    context.report(
        "F311",
        node.arguments[0].span,
        f"{node.function.span.text} takes {wanted}, and this is {describe(kind)}",
    )
    return None


def _length(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node)
    return operand and Operand(replace(size(operand.expr), span=node.span), operand.ghost)


def _count(context: Context, node: syntax.Call) -> Operand | None:
    if len(node.arguments) != 2:
        return _length(context, node)
    first = context.expression(node.arguments[0].value)
    if first is None:
        return None
    if not isinstance(first.type, Seq | Bag):
        context.report(
            "F311",
            node.arguments[0].span,
            f"count(s, e) takes a sequence or bag, and this is {describe(first.type)}",
        )
        return None
    inner = first.type.element
    second = context.expression(node.arguments[1].value, inner)
    if second is None:
        return None
    both = unified(
        context, second, Operand(ir.Local(inner, -1)), node.span, "this looks for one among"
    )
    if both is None:
        return None
    ghost = first_ghost(first, second) or expressions.comparing(inner, node.span)
    kind = Int(0, first.type.capacity)
    return Operand(ir.Occurrences(kind, first.expr, second.expr, span=node.span), ghost)


def _indices(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node, sequence=True)
    if operand is None:
        return None
    length = size(operand.expr)
    assert isinstance(length.type, Int)
    one = ir.Literal(Int(1, 1), 1)
    last = ir.Arithmetic(Int(-1, length.type.high - 1), ir.Operator.SUBTRACT, length, one)
    kind = Set(Int(0, max(length.type.high - 1, 0)))
    zero = ir.Literal(Int(0, 0), 0)
    return Operand(ir.Interval(kind, zero, last, span=node.span), operand.ghost)


def _first(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node, sequence=True)
    return operand and Operand(end_of(context, operand.expr, True, node.span), operand.ghost)


def _last(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node, sequence=True)
    return operand and Operand(end_of(context, operand.expr, False, node.span), operand.ghost)


def _sum(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node)
    if operand is None:
        return None
    assert isinstance(operand.type, Set | Seq | Bag)
    element = operand.type.element
    if not isinstance(element, Int):
        context.report("F308", node.span, f"sum adds integers, and these are {describe(element)}")
        return None
    count = expressions.most(operand.type)
    low, high = count * min(element.low, 0), count * max(element.high, 0)
    if low < INT64_LOW or high > INT64_HIGH:
        context.report("F702", node.span, f"this sum could lie anywhere in {low}..{high}")
        return None
    return Operand(ir.Sum(Int(low, high), operand.expr, span=node.span), operand.ghost)


def _extreme(greatest: bool) -> Callable[[Context, syntax.Call], Operand | None]:
    def build(context: Context, node: syntax.Call) -> Operand | None:
        if len(node.arguments) == 2:
            return _of_two(context, node, greatest)
        operand = _collection(context, node)
        if operand is None:
            return None
        assert isinstance(operand.type, Set | Seq | Bag)
        element = operand.type.element
        word = "max" if greatest else "min"
        site = context.site("F905", node.span, f"{word} of an empty collection")
        found = ir.Extreme(Option(element), greatest, operand.expr, span=node.span)
        ghost = operand.ghost or expressions.comparing(element, node.span)
        return Operand(expressions.content(context, found, node.span, site), ghost)

    return build


def _of_two(context: Context, node: syntax.Call, greatest: bool) -> Operand | None:
    left, right = expressions.pair(context, node.arguments[0].value, node.arguments[1].value)
    if left is None or right is None:
        return None
    both = unified(context, left, right, node.span, "this compares")
    if both is None:
        return None
    kind = both[2]
    if not isinstance(kind, Int | Machine):
        context.report("F308", node.span, f"this compares integers, and here is {describe(kind)}")
        return None
    first, second = both[0].expr, both[1].expr
    expr = bound(
        context,
        first,
        lambda a: bound(
            context,
            second,
            lambda b: ir.Conditional(
                kind, ir.Less(b, a) if greatest else ir.Less(a, b), a, b, span=node.span
            ),
        ),
    )
    return Operand(expr, first_ghost(left, right))


def _next(context: Context, node: syntax.Call) -> Operand | None:
    if context.place != "step" or context.after:
        context.report("F318", node.span, "next(...) is known in step invariants only, once")
        return None
    operands = _operands(replace(context, after=True), node, 1, 1)
    return operands[0] if operands else None


def _enabled(context: Context, node: syntax.Call) -> Operand | None:
    if context.place not in ("property", "step") or context.after:
        context.report("F318", node.span, "enabled(...) is known in properties only")
        return None
    if len(node.arguments) != 1:
        context.report("F321", node.span, "enabled takes one action")
        return None
    written = node.arguments[0].value
    entity, role, index = _action(context, written)
    if not isinstance(entity, ActionEntity):
        if not isinstance(entity, BrokenEntity):
            context.report(
                "F322", written.span, "an action is wanted here: its name, or Role.action"
            )
        return None
    if entity.index is None:
        return None
    instance: Operand | None = None
    if role is not None and role.index_type is not None:
        if index is not None:
            instance = coerced(
                context,
                context.expression(index, role.index_type),
                role.index_type,
                index.span,
                f"the index of {role.name}",
            )
            if instance is None:
                return None
        elif context.role is role and context.instance is not None:
            instance = Operand(context.instance)
    elif index is not None:
        context.report("F212", index.span, "this role is a single process; it takes no index")
        return None
    expr = ir.Enabled(entity.index, instance.expr if instance else None, span=node.span)
    return Operand(expr, first_ghost(instance))


def _action(
    context: Context, node: syntax.Expr
) -> tuple[Entity | None, RoleEntity | None, syntax.Expr | None]:
    """The action that ``a``, ``R.a`` or ``R[i].a`` names, its role, and the index."""
    if isinstance(node, syntax.Name):
        entity = context.find(node.text)
        role = entity.role if isinstance(entity, ActionEntity) else None
        return entity, role, None
    if not isinstance(node, syntax.Attribute):
        return None, None, None
    direct = module_member(context, node)
    if direct is not None:
        return direct, None, None
    base: syntax.Expr = node.base
    index: syntax.Expr | None = None
    if isinstance(base, syntax.Index) and len(base.arguments) == 1:
        base, index = base.base, base.arguments[0]
    if isinstance(base, syntax.Name):
        role = context.find(base.text)
    elif isinstance(base, syntax.Attribute):
        role = module_member(context, base)
    else:
        role = None
    if not isinstance(role, RoleEntity):
        return None, None, None
    return role.names.get(node.name.text), role, index


def _integer(context: Context, node: syntax.Call) -> Operand | None:
    operands = _operands(context, node, 1, 1)
    if operands is None:
        return None
    kind = operands[0].type
    if isinstance(kind, Int):
        return operands[0]
    if not isinstance(kind, Machine):
        context.report("F308", node.span, f"int converts integers, and this is {describe(kind)}")
        return None
    target = Int(kind.low, kind.high)
    return Operand(ir.Convert(target, operands[0].expr, span=node.span), operands[0].ghost)


def _machine(context: Context, node: syntax.Call, target: Machine) -> Operand | None:
    """``int16(e)``: the same number as a machine integer; one that does not fit is an error."""
    operands = _operands(context, node, 1, 1)
    if operands is None:
        return None
    operand = operands[0]
    kind = operand.type
    if not isinstance(kind, Int | Machine):
        context.report(
            "F308", node.span, f"{describe(target)} converts integers, and this is {describe(kind)}"
        )
        return None
    if isinstance(operand.expr, ir.Literal) and isinstance(operand.expr.value, int):
        return expressions.integer(context, operand.expr.value, node.span, target)
    site = context.site("F901", node.span, f"this number does not fit in {describe(target)}")
    if target.low <= kind.low and kind.high <= target.high:
        return Operand(ir.Convert(target, operand.expr, span=node.span), operand.ghost)
    expr = bound(
        context,
        operand.expr,
        lambda e: ir.Demand(
            target, ir.Fits(e, target), site, ir.Convert(target, e, span=node.span), span=node.span
        ),
    )
    return Operand(expr, operand.ghost)


BUILTINS: dict[str, Callable[[Context, syntax.Call], Operand | None]] = {
    "len": _length,
    "count": _count,
    "indices": _indices,
    "first": _first,
    "last": _last,
    "sum": _sum,
    "min": _extreme(False),
    "max": _extreme(True),
    "next": _next,
    "enabled": _enabled,
    "int": _integer,
}
