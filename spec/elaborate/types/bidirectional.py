"""What an expression is may depend on what is expected of it: which ones, and in pairs."""

from __future__ import annotations

from enum import IntEnum

from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Option, Type
from fencepost.spec.elaborate.base.built_in import FUNCTION_WORDS, TYPE_WORDS
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import LocalName, Operand
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax

_ARITHMETIC = {operator.value for operator in Operator}


class Need(IntEnum):
    """How much an expression depends on what is expected of it."""

    NOTHING = 0
    """It is what it is."""
    TASTE = 1
    """It adapts: a number to the kind of integer, a list to the kind of collection."""
    TYPE = 2
    """Its type is not known from itself: an empty collection, a member of several types."""
    ELEMENT = 3
    """``none``: of an option, whatever is in it."""


def need(context: Context, node: syntax.Expr) -> Need:
    """How much what ``node`` is depends on what is expected of it."""
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
            # The elements tell, if one of them does; the kind of collection is to be told.
            inside = min(need(context, element) for element in elements)
            return max(inside, Need.TASTE if node.brackets == "[]" else Need.NOTHING)
        case syntax.Map(entries=entries):
            # Which numbers there are beside those that are written is for the place to say.
            keys = min(need(context, entry.key) for entry in entries)
            values = min(need(context, entry.value) for entry in entries)
            return max(keys, values, Need.TASTE)
        case syntax.Name(text=text):
            known = text in context.locals or context.find(text) is not None
            return Need.NOTHING if known or len(context.members(text)) == 1 else Need.TYPE
        case syntax.Call(function=syntax.Name() as function):
            return need(context, function) if _is_member(context, function) else Need.NOTHING
        case syntax.Conditional(then=then, otherwise=otherwise):
            return min(need(context, then), need(context, otherwise))
        case syntax.LetIn(name=name, body=body):
            # What the name stands for is known by itself.
            local = LocalName(None, name.span)
            return need(replace(context, locals={**context.locals, name.text: local}), body)
        case _:
            return Need.NOTHING


def _is_member(context: Context, name: syntax.Name) -> bool:
    """Whether a name in front of brackets can only be a member of some type."""
    text = name.text
    return text not in (*FUNCTION_WORDS, *TYPE_WORDS) and context.find(text) is None


def open_ended(context: Context, node: syntax.Expr) -> bool:
    """Whether what ``node`` is depends on what is expected of it."""
    return need(context, node) > Need.NOTHING


def wanted_of(node: syntax.Expr, kind: Type | None) -> Type | None:
    """What is expected of ``node``, where it stands beside something of type ``kind``, and where
    a plain value and an option may meet.
    """
    if isinstance(node, syntax.Nothing) and kind is not None and not isinstance(kind, Option):
        return Option(kind)
    return kind


def pair(
    context: Context, left: syntax.Expr, right: syntax.Expr, expected: Type | None = None
) -> tuple[Operand | None, Operand | None]:
    """Two operands that should be of one type; each may tell what the other is.

    Where one is wrong nothing is known of the other, so one that depends on it is not looked at.
    """
    turned = need(context, left) > need(context, right)
    one, other = (right, left) if turned else (left, right)
    first = context.expression(one, expected)
    second: Operand | None = None
    if first is not None or not open_ended(context, other):
        second = context.expression(other, first.type if first else expected)
    return (second, first) if turned else (first, second)
