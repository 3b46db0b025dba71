"""Evaluates constants and constant expressions when they are first used."""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.signatures import operands
from fencepost.spec.core.size_limits import MAX_EFFORT, most
from fencepost.spec.core.types import (
    Int,
    Integer,
    Map,
    Scalar,
    Type,
    Value,
    as_collection,
    cardinality,
    describe,
)
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position
from fencepost.spec.elaborate.base.size_checks import bounded
from fencepost.spec.elaborate.base.symbols import ConstEntity, Operand, Pending
from fencepost.spec.elaborate.types.partiality import coerced
from fencepost.spec.semantics.concrete import EvaluationError, evaluate_constant
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


def constant(
    context: Context, node: syntax.Expr, expected: Type | None, holder: str = ""
) -> tuple[Type, Value] | None:
    """Evaluates a constant expression. Returns its type and value, or None if a mistake was
    reported.
    """
    inside = Context(
        context.work, context.module, Position("constant"), expanding=context.expanding
    )
    operand = inside.expression(node, expected)
    if expected is not None:
        operand = coerced(inside, operand, expected, node.span, holder)
    if operand is None:
        return None
    if bounded(context, operand.type, node.span) is None:
        return None
    if effort(operand.expr) > MAX_EFFORT:
        return context.report("F712", node.span, "evaluating this constant would take too long")
    try:
        return operand.type, evaluate_constant(operand.expr)
    except EvaluationError as error:
        site = context.work.sites[error.site]
        if site.leaves is not None:
            # The model is built again for a wider range.
            assumed = [*context.work.open_ranges.values()][site.leaves]
            context.work.need(site.leaves, assumed.high + 1 if site.above else assumed.low - 1)
        return context.report(site.code, site.span, site.message)


def effort(expr: ir.Expr) -> int:
    """Returns an upper bound on the number of nodes visited while ``expr`` is evaluated."""
    rounds, total = 1, 1
    if isinstance(expr, ir.BuildMap) and isinstance(expr.type, Map):
        rounds = cardinality(expr.type.key)
    for operand, role, inside in operands(expr):
        if role == "Collection":
            rounds = most(as_collection(operand.type))
            total += rounds
        total += effort(operand) * (rounds if inside else 1)
    if isinstance(expr, ir.Recursion):
        calls = _calls(expr.body, frozenset([expr.slots]))
        total *= expr.depth if calls < 2 else calls**expr.depth
    return total


def _calls(expr: ir.Expr, slots: frozenset[tuple[int, ...]]) -> int:
    """Returns an upper bound on the number of calls of the recursions with these slots in one
    evaluation of ``expr``, without the calls that they make in turn.
    """
    match expr:
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            return _calls(condition, slots) + max(_calls(then, slots), _calls(otherwise, slots))
        case ir.Recursion(slots=own, body=body) if _calls(body, slots):
            slots |= {own}
        case _:
            pass
    total = int(isinstance(expr, ir.Recall) and expr.slots in slots)
    rounds = 1
    for operand, role, inside in operands(expr):
        if role == "Collection":
            rounds = most(as_collection(operand.type))
        total += _calls(operand, slots) * (rounds if inside else 1)
    return total


def integer(context: Context, node: syntax.Expr) -> int | None:
    """Evaluates a constant integer expression. A literal may be of any size."""
    if isinstance(node, syntax.Integer):
        return node.value
    result = constant(context, node, None)
    if result is None:
        return None
    kind, value = result
    if not isinstance(kind, Integer) or not isinstance(value, int):
        return context.mismatch("F301", node.span, "an integer is required here", kind)
    return value


def value_of(work: Elaboration, entity: ConstEntity) -> tuple[Type, Value] | None:
    """Returns the type and value of a declared constant. The type of an integer contains only that
    integer.
    """
    if entity.state is Pending.RESOLVING:
        circle = work.circle(entity)
        return work.report(
            "F207", entity.span, f'the constant "{entity.name}" depends on itself{circle}'
        )
    if entity.state is Pending.NEW:
        entity.state = Pending.RESOLVING
        work.resolving.append(entity)
        result = _constant_value(Context(work, entity.module, Position("constant")), entity)
        if result is not None:
            entity.type, entity.value = result
        work.resolving.pop()
        entity.state = Pending.DONE
    if entity.type is None or entity.value is None:
        return None
    if isinstance(entity.type, Int) and isinstance(entity.value, int):
        return Int(entity.value, entity.value), entity.value
    return entity.type, entity.value


def symbol(context: Context, entity: ConstEntity, span: Span) -> Operand | None:
    """Elaborates a symbolic constant to a value. Reports F804 in positions that need a value known
    before the run.
    """
    if entity.symbol is None or entity.type is None:
        return None
    if context.position.place == "constant" and not context.position.symbolic:
        return context.report(
            "F804",
            span,
            f'"{entity.name}" is symbolic, but a known value is required here',
            entity.note,
            (None, "conditions on a symbolic constant go into its `where`"),
        )
    return Operand(ir.Symbol(entity.type, entity.symbol, span=span))


def _make_symbolic(context: Context, entity: ConstEntity, node: syntax.Expr) -> None:
    """Gives a symbolic constant its type and its number. Its condition is checked later."""
    free = isinstance(node, syntax.Name) and node.text == "int"
    kind = None if free else context.resolve(node)
    if kind is None and not free:
        return
    if not isinstance(kind, Scalar) or is_open(kind):
        bounded_kind = None if kind is None or is_open(kind) else f"this is {describe(kind)}"
        reason = bounded_kind or "int has no bounds"
        context.report(
            "F808",
            node.span,
            "a symbolic constant is a bool, a range like 0..9, a machine integer like int16, or a"
            f" value of an enum, and {reason}",
        )
        return
    entity.type = kind
    entity.symbol = len(context.work.symbols)
    context.work.symbols.append(entity)


def _constant_value(context: Context, entity: ConstEntity) -> tuple[Type, Value] | None:
    decl = entity.decl
    if isinstance(decl, syntax.Const) and decl.symbolic and entity.override is None:
        _make_symbolic(context, entity, decl.type)
        return None
    free = isinstance(decl.type, syntax.Name) and decl.type.text == "int"
    kind = None if free or decl.type is None else context.resolve(decl.type)
    if kind is None and not free and decl.type is not None:
        return None
    node = decl.value if isinstance(decl, syntax.Const) else None
    home = context
    if entity.override is not None:
        node, module = entity.override
        home = Context(context.work, module, Position("constant"))
    if node is None:
        return None
    result = constant(home, node, kind, entity.name)
    if result is not None and free and not isinstance(result[0], Int):
        return context.mismatch("F301", node.span, f"{entity.name} is an int", result[0])
    return result
