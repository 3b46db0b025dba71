"""Elaborates folds.

The accumulator has the type that the fold declares. Otherwise, its type is that of the start value,
with ranges and capacities that are wide enough for the values of all rounds.
"""

from __future__ import annotations

from math import prod

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.types import Bag, Seq, Set, Type, as_collection
from fencepost.spec.elaborate.base.context import Context, Reported, first_ghost
from fencepost.spec.elaborate.base.ghosts import going_through
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.bidirectional import Need, need
from fencepost.spec.elaborate.types.growth import Types, attempted, grown
from fencepost.spec.elaborate.types.partiality import coerced
from fencepost.spec.elaborate.values.collections import generators
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note


def fold(context: Context, node: syntax.Fold, expected: Type | None) -> Operand | None:
    """Elaborates ``fold(acc, x in S, y in T if p from e: body)``."""
    context = context.inner()
    declared = _declared(context, node)
    start = _start(context, node, declared or expected)
    drawn, inside = generators(context, node.binders, node.span)
    complete = len(drawn) == len(node.binders) and start is not None
    if start is None or not complete or (declared is None and _is_typed(node)):
        inside.bind(node.accumulator.name, None)
        return None
    domains = [generator.domain for generator in drawn]
    orders = (going_through(domain.type, node.span) for domain in domains)
    ghost = first_ghost(start, *domains) or next(filter(None, orders), None)
    name = node.accumulator.name
    note: Note = (name.span, f'"{name.text}" is declared here')
    holder = f"the accumulator {name.text}"
    kind = declared
    if kind is None:
        rounds = prod(most(as_collection(domain.type)) for domain in domains)
        kind = _kind(inside, node, start, rounds)
        if kind is None:
            return None
    beginning = coerced(context, start, kind, node.start.span, holder, note)
    slots = [context.work.slot() for _ in drawn]
    accumulators = [ir.Local(kind, slot, span=name.span) for slot in slots]
    body = _body(inside, node, Operand(accumulators[-1], ghost))
    body = coerced(inside, body, kind, node.body.span, holder, note)
    if body is None or beginning is None:
        return None
    starts = [beginning.expr, *accumulators]
    expr = body.expr
    for generator, slot, first in reversed(list(zip(drawn, slots, starts, strict=False))):
        domain = generator.domain.expr
        expr = ir.Fold(kind, generator.slot, slot, domain, first, expr, span=node.span)
    return Operand(expr, first_ghost(body) or ghost)


def _is_typed(node: syntax.Fold) -> bool:
    written = node.accumulator.type
    return written is not None and not (isinstance(written, syntax.Name) and written.text == "int")


def _declared(context: Context, node: syntax.Fold) -> Type | None:
    written = node.accumulator.type
    return context.resolve(written) if written is not None and _is_typed(node) else None


def _start(context: Context, node: syntax.Fold, expected: Type | None) -> Operand | None:
    """Elaborates the start value. A collection that is written as empty has capacity 0."""
    if expected is None and need(context, node.start) > Need.TASTE:
        message = "the type of this start value cannot be inferred here; write the type of"
        name = node.accumulator.name.text
        return context.report("F307", node.start.span, f"{message} {name}: fold({name}: T, ...)")
    start = context.expression(node.start, expected)
    if start is not None and isinstance(start.expr, ir.Literal) and start.expr.value == ():
        kind = start.type
        if isinstance(kind, Set | Seq | Bag) and kind.capacity is not None:
            empty = replace(kind, capacity=0)
            return replace(start, expr=ir.Literal(empty, (), span=start.expr.span))
    return start


def _kind(inside: Context, node: syntax.Fold, start: Operand, rounds: int) -> Type | None:
    """Returns a type for the values of all rounds. Returns None if no such type is known, which is
    reported (F702), or if the body is wrong.
    """
    name = node.accumulator.name

    def step(kinds: Types, first: bool) -> Types | None:
        def attempt(context: Context) -> Types | None:
            body = _body(context, node, Operand(ir.Local(kinds[0], context.work.slot())))
            return None if body is None else (body.type,)

        return attempted(inside, attempt, reporting=first)

    def unknown() -> Reported:
        message = f"the range of {name.text} cannot be determined in 64 bits; write its type"
        form = f"the form is: fold({name.text}: 0..100, x in S from e: body)"
        return inside.report("F702", name.span, message, (None, form))

    kinds = grown((start.type,), rounds, step, unknown)
    return None if kinds is None else kinds[0]


def _body(inside: Context, node: syntax.Fold, accumulator: Operand) -> Operand | None:
    """Elaborates the body with a value for the accumulator. If the condition is false, the
    accumulator keeps its value.
    """
    name, body = node.accumulator.name, node.body
    if node.condition is not None:
        body = syntax.Conditional(node.condition, body, name, span=body.span)
    return inside.bind(name, accumulator).expression(body, accumulator.type)
