"""Elaborates calls of defs.

A call is expanded to the body of the def. A def with a bound may call itself: the call that is
expanded is then a recursion, and the calls inside it evaluate the body again. Every recursion has
a hidden parameter, the depth of the call. The depth of a call from outside is 1. If defs call one
another in a cycle, the depth counts the calls of all of them, and each def compares it with its own
bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.size_limits import MAX_RECURSION
from fencepost.spec.core.type_relations import join
from fencepost.spec.core.types import Int, Type
from fencepost.spec.elaborate.base.context import (
    Context,
    Recursing,
    Reported,
    first_ghost,
    role_locals,
)
from fencepost.spec.elaborate.base.symbols import DefEntity, Ghost, Operand, ProcedureEntity
from fencepost.spec.elaborate.types.constants import integer
from fencepost.spec.elaborate.types.growth import Types, attempted, grown
from fencepost.spec.elaborate.types.partiality import coerced, guarded, number, widened
from fencepost.spec.elaborate.values.parameters import (
    Arguments,
    argument_values,
    bound_arguments,
    declared,
    is_open,
    loosened,
    made_up,
    opened,
    shape,
)
from fencepost.spec.elaborate.values.roles import Through, instance_of, process
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span


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
    if entity.decl.bound is not None:
        body = _bounded(context, entity, arguments, instance, node.span)
    else:
        inside = entered(context, entity, instance, node.span)
        bindings = bound_arguments(context, inside, entity, arguments, node.span)
        if inside is None or bindings is None:
            return None
        body = def_body(bindings.context, entity)
        values += bindings.values
    if body is None:
        return None
    expr = body.expr
    for slot, value in reversed(values):
        expr = ir.Let(expr.type, slot, value, expr, span=node.span)
    return Operand(expr, body.ghost or ghost)


def def_body(inside: Context, entity: DefEntity, fixed: Type | None = None) -> Operand | None:
    """Elaborates the body of a def and converts it to the declared result type, or to the type
    ``fixed`` if the declared type is open.
    """
    decl = entity.decl
    if is_open(inside, decl.result):
        body = inside.expression(decl.body, fixed or shape(inside, decl.result))
        kind = None if body is None else opened(inside, decl.result, body.type)
        if body is not None and kind is None:
            rule = f"{entity.name} is {decl.result.span.text}"
            note: Note = (decl.result.span, "its type is declared here")
            inside.mismatch("F301", decl.body.span, rule, body.type, "", note)
        kind = kind and (fixed or kind)
    else:
        kind = declared(inside, decl.result)
        body = inside.expression(decl.body, kind)
        if kind is not None and body is not None and decl.bound is None:
            kind = loosened(kind, body.type)
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
        return _refuse(context, entity, span)
    return _inside(context, entity, instance, span)


def _inside(
    context: Context, entity: DefEntity | ProcedureEntity, instance: ir.Expr | None, span: Span
) -> Context:
    return replace(
        context,
        module=entity.module,
        role=entity.role,
        instance=instance,
        locals=role_locals(entity.role, instance),
        calls=(*context.calls, span),
        expanding=(*context.expanding, entity),
    )


def _refuse(
    context: Context,
    entity: DefEntity | ProcedureEntity,
    span: Span,
    called: DefEntity | None = None,
) -> Reported:
    """Reports that a def without a bound, or a procedure, is recursive. The call at ``span`` calls
    ``called``, or ``entity`` itself if that is None.
    """
    last = context.expanding[-1]
    through = called if last is entity else last
    other = f" through {through.name}" if isinstance(through, DefEntity | ProcedureEntity) else ""
    name = f'"{entity.name}" calls itself{other}'
    if isinstance(entity, ProcedureEntity):
        message = f"{name}, but procedures cannot be recursive; a def can"
        return context.work.report("F213", span, message, entity.note)
    head = Span(entity.span.source, entity.span.start, entity.decl.result.span.end)
    form = f"def {' '.join(head.text.split())} at most 10 = ..."
    message = f"{name}, so it needs a bound on the depth of its calls: {form}"
    return context.work.report("F213", span, message, entity.note)


def checked_alone(context: Context, entity: DefEntity) -> None:
    """Checks a def that is never called."""
    inside = entered(context, entity, context.instance, entity.span)
    if inside is None:
        return
    inside = replace(made_up(inside, entity.decl.parameters), calls=())
    if entity.decl.bound is None:
        def_body(inside, entity)
        return
    names = [parameter.name.text for parameter in entity.decl.parameters]
    operands = [inside.locals[name].operand for name in names if name in inside.locals]
    arguments = [operand for operand in operands if operand is not None]
    if len(arguments) == len(names):
        _recursion(context, entity, arguments, context.instance, entity.span)


# ---------------------------------------------------------------- recursion


def _bounded(
    context: Context,
    entity: DefEntity,
    arguments: Arguments,
    instance: ir.Expr | None,
    span: Span,
) -> Operand | None:
    """Elaborates a call of a def with a bound."""
    around = [item for item in context.recursing if item.entity is entity]
    if entity in context.expanding and not around:
        # The call is in a constant.
        return _refuse(context, entity, span)
    signature = _inside(context, entity, None, span)
    operands = argument_values(context, signature, entity, arguments, span)
    if operands is None:
        return None
    for item in around:
        # The body reads the state after the step if the call is inside `next`.
        if item.after == context.position.after:
            return _recall(context, item, operands, instance, span)
    return _recursion(context, entity, operands, instance, span)


def _bound(context: Context, entity: DefEntity) -> int | None:
    """Evaluates the bound of a def once for all calls."""
    node = entity.decl.bound
    assert node is not None
    signatures, key = context.work.signatures, (id(node), entity.module)
    if key not in signatures:
        bound = integer(
            replace(context, module=entity.module, expanding=(*context.expanding, entity)), node
        )
        if bound is not None and not 1 <= bound <= MAX_RECURSION:
            message = f"the bound of a recursion is 1 to {MAX_RECURSION}, but this is {bound}"
            bound = context.work.report("F713", node.span, message)
        signatures[key] = None if bound is None else Int(1, bound)
    kind = signatures[key]
    return kind.high if isinstance(kind, Int) else None


def _recursion(
    context: Context,
    entity: DefEntity,
    operands: Sequence[Operand],
    instance: ir.Expr | None,
    span: Span,
) -> Operand | None:
    """Elaborates a call of a def with a bound from outside the def."""
    bound = _bound(context, entity)
    inside = _inside(context, entity, instance, span).inner()
    if span == entity.span:
        # The def is checked on its own, without a call.
        inside = replace(inside, calls=context.calls)
    result = _first_result(inside, entity)
    if bound is None or result is None:
        return None
    kinds = tuple(operand.type for operand in operands)
    types = _types(inside, entity, (*kinds, result), bound)
    if types is None:
        return None
    arguments = [widened(part, kind) for part, kind in zip(operands, types, strict=False)]
    recursing, body = _body(inside, entity, types, bound, arguments)
    if body is None:
        return None
    values = [part.expr for part in arguments]
    if instance is not None:
        values.insert(0, instance)
    expr, caller = body.expr, context.recursing[-1] if recursing.joined else None
    depth = ir.Literal(Int(1, bound), 1, span=span) if caller is None else _deeper(caller, bound)
    if recursing.called:
        slots, whole = recursing.slots, (depth, *values)
        expr = ir.Recursion(expr.type, slots, whole, bound, expr, span=span)
    else:
        # Without a recursive call, the depth matters only in a cycle.
        pairs = list(zip(recursing.slots, (depth, *values), strict=True))
        for slot, value in reversed(pairs[0 if recursing.joined else 1 :]):
            expr = ir.Let(expr.type, slot, value, expr, span=span)
    ghost = first_ghost(body, *operands)
    if caller is not None:
        expr = _limited(context, caller, entity, bound, expr, span)
    return Operand(expr, ghost)


def _recall(
    context: Context,
    recursing: Recursing,
    operands: Sequence[Operand],
    instance: ir.Expr | None,
    span: Span,
) -> Operand | None:
    """Elaborates a call of a def inside its own body."""
    entity, caller = recursing.entity, context.recursing[-1]
    for other in context.expanding[context.expanding.index(entity) + 1 :]:
        if isinstance(other, DefEntity) and other.decl.bound is None:
            return _refuse(context, other, span, entity)
    recursing.called = True
    for item in context.recursing[context.recursing.index(recursing) + 1 :]:
        item.joined = True
    values = [] if instance is None else [instance]
    if recursing.trial:
        pairs = zip(recursing.kinds, operands, strict=True)
        recursing.kinds = tuple(join(kind, new.type) or kind for kind, new in pairs)
        values += [operand.expr for operand in operands]
    else:
        for kind, operand, parameter in zip(
            recursing.kinds, operands, entity.decl.parameters, strict=True
        ):
            name = parameter.name.text
            value = coerced(
                context, operand, kind, span, name, (parameter.span, f'"{name}" is declared here')
            )
            if value is None:
                return None
            values.append(value.expr)
    depth = _deeper(caller, recursing.bound)
    expr = ir.Recall(recursing.result, recursing.slots, (depth, *values), span=span)
    limited = _limited(context, caller, entity, recursing.bound, expr, span)
    return Operand(limited, first_ghost(*operands))


def _deeper(caller: Recursing, bound: int) -> ir.Expr:
    """Returns the depth of a call in the body of ``caller``. It does not exceed ``bound``."""
    kind = Int(2, caller.bound + 1)
    sum_ = ir.Arithmetic(kind, Operator.ADD, caller.depth, number(1))
    return ir.Convert(Int(1, bound), sum_)


def _limited(
    context: Context, caller: Recursing, entity: DefEntity, bound: int, expr: ir.Expr, span: Span
) -> ir.Expr:
    """Returns a call in the body of ``caller``, with a check of its depth."""
    message = f"this call of {entity.name} is nested more than {bound} deep"
    site = context.site("F909", span, message)
    return guarded(ir.Less(caller.depth, number(bound)), site, expr)


def _body(
    inside: Context,
    entity: DefEntity,
    types: Types,
    bound: int,
    arguments: Sequence[Operand],
    *,
    trial: bool = False,
) -> tuple[Recursing, Operand | None]:
    """Elaborates the body of a recursive def for parameters and a result of these types. The
    parameters may be ghosts if the ``arguments`` are.
    """
    work, instance = inside.work, inside.instance
    depth = ir.Local(Int(1, bound), work.slot())
    slots = [depth.slot]
    if instance is not None:
        instance = ir.Local(instance.type, work.slot(), span=instance.span)
        slots.append(instance.slot)
        inside = replace(inside, instance=instance, locals=role_locals(entity.role, instance))
    for parameter, kind, argument in zip(entity.decl.parameters, types, arguments, strict=False):
        local = ir.Local(kind, work.slot(), span=parameter.name.span)
        slots.append(local.slot)
        inside = inside.bind(parameter.name, Operand(local, argument.ghost))
    after = inside.position.after
    recursing = Recursing(
        entity, depth, bound, tuple(slots), types[:-1], types[-1], after=after, trial=trial
    )
    inside = replace(inside, recursing=(*inside.recursing, recursing))
    return recursing, def_body(inside, entity, None if trial else types[-1])


def _first_result(inside: Context, entity: DefEntity) -> Type | None:
    """Returns the declared type of the result, or for an open type the type of its first value."""
    result = entity.decl.result
    if not is_open(inside, result):
        return declared(inside, result)
    return shape(inside, result) if isinstance(result, syntax.Index) else Int(0, 0)


def _types(inside: Context, entity: DefEntity, kinds: Types, bound: int) -> Types | None:
    """Returns the types of the parameters and of the result, given the types of the arguments and
    of the first result. Types that are not open remain unchanged.
    """
    signature = [*(part.type for part in entity.decl.parameters), entity.decl.result]
    if not any(is_open(inside, node) for node in signature):
        return kinds

    def step(types: Types, first: bool) -> Types | None:
        def attempt(context: Context) -> Types | None:
            parts = [Operand(ir.Local(kind, context.work.slot())) for kind in types[:-1]]
            recursing, body = _body(context, entity, types, bound, parts, trial=True)
            return None if body is None else (*recursing.kinds, body.type)

        return attempted(inside, attempt, reporting=first)

    def unknown() -> Reported:
        message = f"the ranges of {entity.name} cannot be determined in 64 bits; declare them"
        form = f"the form is: def {entity.name}(n: 0..9): 0..99 at most 10 = e"
        return inside.report("F702", entity.span, message, (None, form))

    return grown(kinds, bound, step, unknown)
