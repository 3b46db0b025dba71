"""Bidirectional typing: determines how far an expression depends on its expected type, and types
pairs of operands in the right order.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Option, Type
from fencepost.spec.elaborate.base.built_in import TYPE_WORDS
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import LocalName, Operand
from fencepost.spec.elaborate.types.partiality import unified
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

_ARITHMETIC = {operator.value for operator in Operator}


class Need(IntEnum):
    """The degree to which an expression depends on its expected type."""

    NOTHING = 0
    """The expression has a type of its own."""
    TASTE = 1
    """The expression adapts to the expected type: a number to the kind of integer, a list to the
    kind of collection.
    """
    TYPE = 2
    """The expression has no type of its own. It is an empty collection, or a member that several
    types share.
    """
    ELEMENT = 3
    """The expression is ``none``, an option whose element type is unknown."""


def need(context: Context, node: syntax.Expr) -> Need:
    """Returns the degree to which the meaning of ``node`` depends on its expected type."""
    match node:
        case syntax.Nothing():
            return Need.ELEMENT
        case syntax.Integer() | syntax.Comprehension(brackets="[]"):
            return Need.TASTE
        case syntax.Unary(operator="-", operand=operand):
            return need(context, operand)
        case syntax.Binary(operator, left, right) if operator in _ARITHMETIC:
            return min(need(context, left), need(context, right))
        case syntax.Collection(elements=()):
            return Need.TYPE
        case syntax.Collection(elements=elements):
            # One element with a type of its own is enough; only the kind of collection remains
            # open.
            inside = min(need(context, element) for element in elements)
            return max(inside, Need.TASTE if node.brackets == "[]" else Need.NOTHING)
        case syntax.Tuple(parts):
            return max(need(context, part) for part in parts)
        case syntax.Map(entries=entries):
            # The expected type may add keys that are not written.
            keys = min(need(context, entry.key) for entry in entries)
            values = min(need(context, entry.value) for entry in entries)
            return max(keys, values, Need.TASTE)
        case syntax.Name(text=text):
            unambiguous = text in context.locals or context.find(text) is not None
            return Need.NOTHING if unambiguous or len(context.members(text)) == 1 else Need.TYPE
        case syntax.Call(function=syntax.Name() as function):
            return need(context, function) if _is_member(context, function) else Need.NOTHING
        case syntax.Conditional(then=then, otherwise=otherwise):
            return min(need(context, then), need(context, otherwise))
        case syntax.Fold(accumulator=accumulator, start=start) if accumulator.type is None:
            return need(context, start)
        case syntax.LetIn(target=target, body=body):
            # The types of the bound names do not depend on the context.
            return _need_inside(context, target, body)
        case syntax.MatchValue(cases=cases):
            return min(_need_of_case(context, case) for case in cases)
        case _:
            return Need.NOTHING


def _need_of_case(context: Context, case: syntax.ValueCase) -> Need:
    """Returns the need of the value of ``case``. The types of the names in a pattern do not depend
    on the expected type.
    """
    return _need_inside(context, case.pattern, case.value)


def _need_inside(
    context: Context, target: syntax.Target | syntax.Pattern, body: syntax.Expr
) -> Need:
    """Returns the need of ``body``, where ``target`` binds names."""
    names = {name.text: LocalName(None, name.span) for name in syntax.names_of(target)}
    return need(replace(context, locals={**context.locals, **names}), body)


def _is_member(context: Context, name: syntax.Name) -> bool:
    """Whether a called name can only be a member of an enum or union."""
    text = name.text
    built_in = text in TYPE_WORDS or context.work.typer.is_function(text)
    return not built_in and context.find(text) is None


def open_ended(context: Context, node: syntax.Expr) -> bool:
    """Whether the meaning of ``node`` depends on its expected type."""
    return need(context, node) > Need.NOTHING


def wanted_of(node: syntax.Expr, kind: Type | None) -> Type | None:
    """Returns the expected type of ``node`` next to an operand of type ``kind``, in a position that
    accepts both a plain value and an option.
    """
    if isinstance(node, syntax.Nothing) and kind is not None and not isinstance(kind, Option):
        return Option(kind)
    return kind


def pair(
    context: Context, left: syntax.Expr, right: syntax.Expr, expected: Type | None = None
) -> tuple[Operand | None, Operand | None]:
    """Elaborates two operands that should have the same type. Each of them may determine the type
    of the other.

    If one operand is wrong and the other needs its type, the other is skipped.
    """
    swapped = need(context, left) > need(context, right)
    first_node, second_node = (right, left) if swapped else (left, right)
    first = context.expression(first_node, expected)
    second: Operand | None = None
    if first is not None or not open_ended(context, second_node):
        second = context.expression(second_node, first.type if first else expected)
    return (second, first) if swapped else (first, second)


def alternatives(
    arms: Sequence[tuple[Context, syntax.Expr]], expected: Type | None = None
) -> list[Operand | None]:
    """Elaborates expressions that should have the same type, each in its own context. Without an
    expected type, an expression that has a type of its own is elaborated before the others, and
    determines theirs.

    If that expression is wrong, those that need its type are skipped.
    """
    order = list(range(len(arms)))
    if expected is None:
        order.sort(key=lambda index: need(*arms[index]))
    operands: list[Operand | None] = [None] * len(arms)
    kind = expected
    for number, index in enumerate(order):
        context, node = arms[index]
        if number and kind is None and need(context, node) > Need.TASTE:
            continue
        operand = context.expression(node, expected or wanted_of(node, kind))
        operands[index] = operand
        if kind is None and operand is not None:
            kind = operand.type
    return operands


def alike(
    context: Context, left: syntax.Expr, right: syntax.Expr, span: Span, action: str
) -> tuple[Operand, Operand, Type] | None:
    """Elaborates two operands and converts them to their common type (see `unified`)."""
    first, second = pair(context, left, right)
    if first is None or second is None:
        return None
    return unified(context, first, second, span, action)
