"""What an expression is may depend on what is expected of it: which ones, and in pairs."""

from __future__ import annotations

from fencepost.spec import syntax
from fencepost.spec.elaboration import Context
from fencepost.spec.entities import Operand
from fencepost.spec.types import Type


def open_ended(context: Context, node: syntax.Expr) -> bool:
    """Whether what ``node`` is depends on what is expected of it."""
    match node:
        case syntax.Nothing() | syntax.Integer():
            return True
        case syntax.Unary(operator="-", operand=operand):
            return open_ended(context, operand)
        case syntax.Binary(operator="+" | "-" | "*" | "//" | "%", left=left, right=right):
            return open_ended(context, left) and open_ended(context, right)
        case syntax.Collection(elements=elements):
            return all(open_ended(context, element) for element in elements)
        case syntax.Name(text=text):
            return (
                text not in context.locals
                and context.find(text) is None
                and len(context.members(text)) != 1
            )
        case syntax.Call(function=syntax.Name() as function):
            return context.find(function.text) is None and open_ended(context, function)
        case syntax.Conditional(then=then, otherwise=otherwise):
            return open_ended(context, then) and open_ended(context, otherwise)
        case syntax.Comprehension(brackets="[]"):
            # A sequence, a bag or a map.
            return True
        case _:
            return False


def pair(
    context: Context, left: syntax.Expr, right: syntax.Expr, expected: Type | None = None
) -> tuple[Operand | None, Operand | None]:
    """Two operands that should be of one type; each may tell what the other is.

    Where one is wrong nothing is known of the other, so one that depends on it is not looked at.
    """
    turned = open_ended(context, left) and not open_ended(context, right)
    one, other = (right, left) if turned else (left, right)
    first = context.expression(one, expected)
    second: Operand | None = None
    if first is not None or not open_ended(context, other):
        second = context.expression(other, first.type if first else expected)
    return (second, first) if turned else (first, second)
