"""Makes partial operations total by turning their definedness into an explicit condition.

Every function here builds core expressions that cannot be undefined: a partial operation becomes
the body of a `Demand` for its precondition. An operation on literals is evaluated immediately
(`settled`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import (
    exceeds_64_bits,
    is_unbounded,
    limited,
    open_integers,
    relaxed,
    saturated,
    stored,
)
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.spelling import show
from fencepost.spec.core.type_relations import component_pairs, join, same_shape, within
from fencepost.spec.core.types import (
    INT64_HIGH,
    Int,
    Integer,
    Machine,
    Option,
    Seq,
    Type,
    Value,
    as_collection,
    describe,
)
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.records import replace
from fencepost.spec.semantics.concrete import EvaluationError, evaluate_constant
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span

# ---------------------------------------------------------------- binding and folding


def bound(context: Context, expr: ir.Expr, build: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """Calls ``build`` with an expression that has the value of ``expr``. ``build`` may use this
    expression any number of times; ``expr`` itself is evaluated only once.
    """
    if isinstance(expr, ir.Literal | ir.Local | ir.Variable):
        return build(expr)
    slot = context.work.slot()
    body = build(ir.Local(expr.type, slot, span=expr.span))
    return ir.Let(body.type, slot, expr, body, span=body.span)


def bound_pair(
    context: Context, left: ir.Expr, right: ir.Expr, build: Callable[[ir.Expr, ir.Expr], ir.Expr]
) -> ir.Expr:
    """Like `bound`, for two expressions, of which ``left`` is evaluated first."""
    return bound(context, left, lambda a: bound(context, right, lambda b: build(a, b)))


def bound_all(
    context: Context, exprs: Sequence[ir.Expr], build: Callable[[Sequence[ir.Expr]], ir.Expr]
) -> ir.Expr:
    """Like `bound`, for any number of expressions, which are evaluated in order."""
    if not exprs:
        return build(())
    first, *rest = exprs
    return bound(context, first, lambda a: bound_all(context, rest, lambda b: build((a, *b))))


def guarded(condition: ir.Expr, site: int, body: ir.Expr) -> ir.Expr:
    """Returns ``body`` if ``condition`` holds; otherwise that is the evaluation error ``site``."""
    return ir.Demand(body.type, condition, site, body, span=body.span)


def settled(expr: ir.Expr, *operands: ir.Expr) -> ir.Expr:
    """Evaluates ``expr`` to a literal if all its ``operands`` are literals. Returns ``expr``
    unchanged if they are not, or if the evaluation fails.
    """
    if not all(isinstance(operand, ir.Literal) for operand in operands):
        return expr
    try:
        value = evaluate_constant(expr)
    except EvaluationError:
        return expr
    kind = expr.type
    if isinstance(kind, Int) and isinstance(value, int):
        kind = Int(value, value)
    return ir.Literal(kind, value, span=expr.span)


def number(value: int, span: Span | None = None) -> ir.Literal:
    """Returns an integer literal of the core with the tightest type."""
    return ir.Literal(Int(value, value), value, span=span)


def integer_of(expr: ir.Expr) -> int | None:
    """Returns the value of an integer literal of the core, or None for any other expression."""
    if isinstance(expr, ir.Literal) and isinstance(expr.type, Integer):
        assert isinstance(expr.value, int)
        return expr.value
    return None


# ---------------------------------------------------------------- conversion to other types


def coerced(
    context: Context,
    operand: Operand | None,
    target: Type,
    span: Span,
    holder: str = "",
    *notes: Note,
) -> Operand | None:
    """Converts ``operand`` to ``target``.

    A value that may lie outside the target's range or capacity is checked at run time. A type of a
    different shape is a static error (F301), and so is a literal that is out of range (F701).
    ``holder`` names the destination of the value in messages, for example "hour".

    If a symbolic constant was given a value, a literal may stem from that value. In that case, a
    literal that is out of range is an evaluation error, too, as it would be in a run for all
    values.
    """
    if operand is None:
        return None
    expr = operand.expr
    if isinstance(target, Option) and not isinstance(expr.type, Option):
        inner = coerced(context, operand, target.element, span, holder, *notes)
        if inner is None:
            return None
        some = settled(ir.Some(target, inner.expr, span=span), inner.expr)
        return Operand(some, inner.ghost)
    if expr.type == target:
        return operand
    if isinstance(expr, ir.MakeRecord | ir.Literal) and component_pairs(expr.type, target):
        whole = _by_components(context, expr, target, span, holder, *notes)
        return None if whole is None else Operand(whole, operand.ghost)
    holds = (
        f"{holder} holds {describe(target)}" if holder else f"{describe(target)} is required here"
    )
    if not same_shape(expr.type, target):
        converted = (
            context.position.convert(context, expr, target, span)
            if context.position.convert
            else None
        )
        if converted is not None:
            # A literal stays a literal.
            operand = Operand(settled(converted, expr), operand.ghost)
            return coerced(context, operand, target, span, holder, *notes)
    if not same_kind(context, expr.type, target, span, holds, *notes):
        return None
    if isinstance(expr, ir.Literal):
        if not evaluate_constant(ir.Fits(expr, target)):
            if context.given or evaluate_constant(ir.Fits(expr, relaxed(target, expr.type))):
                note_stored(context, target, expr.value)
                return Operand(_fitted(context, expr, target, span, holds), operand.ghost)
            value = show(expr.value, expr.type)
            return context.report("F701", span, f"{holds}, but this is {value}", *notes)
        return Operand(ir.Literal(target, expr.value, span=span), operand.ghost)
    return Operand(_fitted(context, expr, target, span, holds), operand.ghost)


def _by_components(
    context: Context,
    expr: ir.MakeRecord | ir.Literal,
    target: Type,
    span: Span,
    holder: str,
    *notes: Note,
) -> ir.Expr | None:
    """Converts each component of a tuple by itself, so that messages name it."""
    types = component_pairs(expr.type, target)
    if isinstance(expr, ir.MakeRecord):
        fields = expr.fields
    else:
        assert isinstance(expr.value, tuple)
        values = zip(types, expr.value, strict=True)
        fields = tuple(ir.Literal(kind, value, span=expr.span) for (kind, _), value in values)
    parts: list[ir.Expr] = []
    for number, (part, (_, kind)) in enumerate(zip(fields, types, strict=True), 1):
        name = component(number, holder) if holder else ""
        operand = coerced(context, Operand(part), kind, part.span or span, name, *notes)
        parts += [] if operand is None else [operand.expr]
    if len(parts) < len(fields):
        return None
    return settled(ir.MakeRecord(target, tuple(parts), span=expr.span), *parts)


def component(number: int, holder: str) -> str:
    """Returns the name of a component in messages. Components are counted from 1."""
    return f"component {number} of {holder}"


def converted_value(
    context: Context, node: syntax.Expr, target: Type, holder: str = "", *notes: Note
) -> Operand | None:
    """Elaborates an expression and converts it to ``target`` (see `coerced`)."""
    return coerced(context, context.expression(node, target), target, node.span, holder, *notes)


def converting(kind: Type) -> str:
    """Returns the hint for a value of this type in a position for an ``int``, or ""."""
    return "; int(...) converts" if isinstance(kind, Machine) else ""


def same_kind(
    context: Context, kind: Type, target: Type, span: Span, holds: str, *notes: Note
) -> bool:
    """Whether the types differ only in ranges and capacities. Reports F301 if they differ
    otherwise.
    """
    if same_shape(kind, target):
        return True
    hint = ""
    if isinstance(kind, Option) and same_shape(kind.element, target):
        hint = "; `!` unwraps an option"
    elif {type(kind), type(target)} == {Int, Machine}:
        name = describe(target) if isinstance(target, Machine) else "int"
        hint = f"; {name}(...) converts"
    context.report("F301", span, f"{holds}, but this is {describe(kind)}{hint}", *notes)
    return False


def _fitted(context: Context, expr: ir.Expr, target: Type, span: Span, holds: str) -> ir.Expr:
    """Converts ``expr`` to ``target``, which has the same shape. Adds a run-time check if the value
    may not fit.
    """
    if within(expr.type, target):
        return ir.Convert(target, expr, span=span)
    tests: list[tuple[Type, int]] = []
    wide = relaxed(target, expr.type)
    if not within(expr.type, wide):
        code = "F901" if isinstance(target, Int) else "F902"
        tests.append((wide, context.site(code, span, f"{holds}, but this value does not fit")))
    every = {item.open: item for item in open_integers(target) if item.open is not None}
    for assumed in every.values():
        for above in (False, True):
            tighter = limited(wide, assumed, above)
            if not within(wide, tighter):
                tests.append((tighter, _leaving(context, assumed, above, span)))
            wide = tighter
    return narrowed(context, expr, target, tests, span)


def _leaving(context: Context, assumed: Int, above: bool, span: Span) -> int:
    """Returns the number of a new site at which a value may leave an assumed range."""
    site = context.site("F910", span, "this value is outside the range that was assumed")
    context.work.sites[site] = replace(context.work.sites[site], leaves=assumed.open, above=above)
    return site


def note_stored(context: Context, target: Type, value: Value) -> None:
    """Notes that ``value``, whose type has the shape of ``target``, may be stored as a
    ``target``.
    """
    for number_of_range, item in stored(target, value):
        context.work.need(number_of_range, item)


def narrowed(
    context: Context, expr: ir.Expr, target: Type, tests: Sequence[tuple[Type, int]], span: Span
) -> ir.Expr:
    """Converts ``expr`` to ``target``. A value that does not fit into one of the types of ``tests``
    is the evaluation error at its site. They are tested in order, and the last one is ``target``.
    """

    def build(value: ir.Expr) -> ir.Expr:
        whole: ir.Expr = ir.Convert(target, value, span=span)
        for kind, site in reversed(tests):
            whole = guarded(ir.Fits(value, kind), site, whole)
        return whole

    return bound(context, expr, build)


def unified(
    context: Context, left: Operand, right: Operand, span: Span, action: str, *notes: Note
) -> tuple[Operand, Operand, Type] | None:
    """Converts both operands to their common type. Reports F302 if they have none."""
    target = join(left.type, right.type)
    if target is None:
        return context.report(
            "F302",
            span,
            f"{action} {describe(left.type)} and {describe(right.type)}, which"
            f" {_strangers(left.type, right.type)}",
            *notes,
        )
    return widened(left, target), widened(right, target), target


def _strangers(left: Type, right: Type) -> str:
    """Returns the reason why values of the two types cannot be combined, for a message."""
    match left, right:
        case (Machine() as machine, Int()) | (Int(), Machine() as machine):
            return f"do not mix: {describe(machine)}(...) or int(...) converts"
        case Machine(), Machine():
            return f"do not mix: {describe(left)}(...) or {describe(right)}(...) converts"
        case _:
            return "have no value in common"


def widened(operand: Operand, target: Type) -> Operand:
    """Converts ``operand`` to a type that contains all values of its own type."""
    expr = operand.expr
    if expr.type == target:
        return operand
    if isinstance(target, Option) and not isinstance(expr.type, Option):
        inner = widened(operand, target.element)
        some = settled(ir.Some(target, inner.expr, span=expr.span), inner.expr)
        return Operand(some, operand.ghost)
    if isinstance(expr, ir.Literal):
        return Operand(ir.Literal(target, expr.value, span=expr.span), operand.ghost)
    if isinstance(expr, ir.MakeRecord):
        pairs = zip(expr.fields, component_pairs(expr.type, target), strict=True)
        parts = tuple(widened(Operand(part), kind).expr for part, (_, kind) in pairs)
        return Operand(ir.MakeRecord(target, parts, span=expr.span), operand.ghost)
    return Operand(ir.Convert(target, expr, span=expr.span), operand.ghost)


# ---------------------------------------------------------------- partial operations


def size(collection: ir.Expr) -> ir.Expr:
    """Builds an expression for the number of elements of a collection. Its type is the range of
    possible sizes.
    """
    kind = as_collection(collection.type)
    length = ir.Size(Int(0, min(most(kind), INT64_HIGH)), collection, span=collection.span)
    return settled(length, collection)


def in_bounds(sequence: ir.Expr, index: ir.Expr) -> ir.Expr:
    """Builds the condition that ``index`` is a position of ``sequence``. The condition may contain
    both expressions more than once.
    """
    tests: list[ir.Expr] = [ir.Less(index, size(sequence))]
    if not (isinstance(index.type, Int) and index.type.low >= 0):
        tests.insert(0, ir.Less(number(0), index, or_equal=True))
    return tests[0] if len(tests) == 1 else ir.And(tuple(tests))


def element_at(context: Context, sequence: ir.Expr, index: ir.Expr, span: Span) -> ir.Expr:
    """Elaborates ``sequence[index]``; an index out of bounds is an evaluation error."""
    assert isinstance(sequence.type, Seq)
    element = sequence.type.element
    site = context.site("F903", span, "the index is outside the sequence")

    def build(s: ir.Expr, i: ir.Expr) -> ir.Expr:
        return guarded(in_bounds(s, i), site, ir.At(element, s, i, span=span))

    return bound_pair(context, sequence, index, build)


def end_of(context: Context, sequence: ir.Expr, first: bool, span: Span) -> ir.Expr:
    """Elaborates ``first(q)`` and ``last(q)``; an empty sequence is an evaluation error."""
    assert isinstance(sequence.type, Seq)
    element = sequence.type.element
    site = context.site("F903", span, "the sequence is empty")

    def build(s: ir.Expr) -> ir.Expr:
        length = size(s)
        assert isinstance(length.type, Int)
        index: ir.Expr = number(0)
        if not first:
            kind = Int(length.type.low - 1, length.type.high - 1)
            index = ir.Arithmetic(kind, Operator.SUBTRACT, length, number(1))
        nonempty = ir.Less(number(0), length)
        return guarded(nonempty, site, ir.At(element, s, index, span=span))

    return bound(context, sequence, build)


def content(context: Context, option: ir.Expr, span: Span, site: int) -> ir.Expr:
    """Unwraps ``option``. If it is none, that is the evaluation error ``site``."""
    assert isinstance(option.type, Option)
    element = option.type.element

    def build(o: ir.Expr) -> ir.Expr:
        return guarded(ir.IsSome(o), site, ir.Content(element, o, span=span))

    return bound(context, option, build)


def quotient(
    context: Context, operator: Operator, left: Operand, right: Operand, kind: Type, span: Span
) -> Operand:
    """Elaborates ``left operator right``; a right operand of zero is an evaluation error."""
    ghost = first_ghost(left, right)
    divisor = right.expr.type
    zero = ir.Literal(divisor, 0)
    value = integer_of(right.expr)
    never = isinstance(divisor, Int) and (divisor.low > 0 or divisor.high < 0)
    if never or value not in (None, 0):
        expr: ir.Expr = ir.Arithmetic(kind, operator, left.expr, right.expr, span=span)
        return Operand(settled(expr, left.expr, right.expr), ghost)
    site = context.site("F904", span, "the divisor is zero")

    def build(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        nonzero = ir.Not(ir.Equal(b, zero))
        return guarded(nonzero, site, ir.Arithmetic(kind, operator, a, b, span=span))

    return Operand(bound_pair(context, left.expr, right.expr, build), ghost)


def in_64_bits(context: Context, low: int, high: int, span: Span) -> Int | None:
    """Returns the type ``low..high``, or one without bounds if it is computed from such a type.
    Reports F702 if any other type does not fit in 64 bits.
    """
    if is_unbounded(low, high):
        return Int(*saturated(low, high))
    if exceeds_64_bits(low, high):
        value = f"is {low}" if low == high else f"could be anywhere in {low}..{high}"
        return context.report("F702", span, f"this {value}, which does not fit in 64 bits")
    return Int(low, high)
