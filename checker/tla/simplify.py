"""Trees of TLA+: going through them, changing them, and making them as simple as their parts allow
(`conjoined`, `chosen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import cast

from fencepost.checker.tla.tree import (
    FALSE,
    TRUE,
    Always,
    Apply,
    Definition,
    Expr,
    Filter,
    Function,
    Functions,
    If,
    Image,
    Infix,
    Junction,
    Lambda,
    Let,
    Name,
    Node,
    Number,
    Prefix,
    Prime,
    Quantified,
    String,
    Unchanged,
)

# ---------------------------------------------------------------- going through a tree


def children(node: Expr) -> list[Expr]:
    """The expressions directly inside one, in the order written."""
    return [part for item in fields(node) for part in _inside(getattr(node, item.name))]


def _inside(value: object) -> Iterator[Expr]:
    if isinstance(value, Definition):
        yield value.body
    elif isinstance(value, Node):
        yield cast("Expr", value)
    elif isinstance(value, tuple):
        for item in cast("tuple[object, ...]", value):
            yield from _inside(item)


def changed(node: Expr, part: Callable[[Expr], Expr]) -> Expr:
    """``node`` with ``part`` of each expression directly inside it, and simplified."""

    def made(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(made(item) for item in cast("tuple[object, ...]", value))
        if isinstance(value, Definition):
            return replace(value, body=part(value.body))
        return part(cast("Expr", value)) if isinstance(value, Node) else value

    new = [made(getattr(node, item.name)) for item in fields(node)]
    whole: Expr = type(node)(*new)  # type: ignore[arg-type]
    match whole:
        case Junction("/\\", parts):
            return conjoined(parts)
        case Junction(_, parts):
            return either(parts)
        case If(condition, then, otherwise):
            return chosen(condition, then, otherwise)
        case _:
            return whole


def everything(node: Expr) -> Iterator[Expr]:
    """A tree's nodes, itself included."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(children(one)[::-1])


def size(node: Expr) -> int:
    """How many nodes a tree has."""
    return sum(1 for _ in everything(node))


def uses(node: Expr, name: str) -> int:
    """How often a name is used in a tree, as a value or as an operator."""
    return sum(
        1
        for one in everything(node)
        if (isinstance(one, Name) and one.text == name)
        or (isinstance(one, Apply) and one.operator == name)
    )


def substituted(node: Expr, values: dict[str, Expr]) -> Expr:
    """A tree with values in the place of names. No name is bound twice in a definition, so none
    of a value's names is captured.
    """
    if isinstance(node, Name):
        return values.get(node.text, node)
    return changed(node, lambda part: substituted(part, values))


def inlined(node: Expr, operator: Definition) -> Expr:
    """A tree with the body of an operator in the place of its calls."""
    node = changed(node, lambda part: inlined(part, operator))
    if isinstance(node, Apply) and node.operator == operator.name:
        values = dict(zip(operator.parameters, node.arguments, strict=True))
        return substituted(operator.body, values)
    if isinstance(node, Name) and node.text == operator.name:
        return operator.body
    return node


def demands(node: Expr, name: str) -> bool:
    """Whether TLC needs the value of ``name`` for that of ``node``, wherever ``node`` has one and,
    if it is an action, nothing in it but an error ends the step.
    """

    def need(part: Expr) -> bool:
        return demands(part, name)

    match node:
        case Name(text):
            return text == name
        case Number() | String() | Prime() | Unchanged() | Lambda() | Functions() | Always():
            return False
        case Junction("/\\", parts):
            for part in parts:
                if need(part):
                    return True
                if not _settles(part):
                    return False
            return False
        case Junction(_, parts):
            return need(parts[0])
        case Infix("=>", left, _):
            return need(left)
        case If(condition, then, otherwise):
            return need(condition) or (need(then) and need(otherwise))
        case Let(definitions, body):
            return need(body) or any(
                not one.parameters and need(one.body) and demands(body, one.name)
                for one in definitions
            )
        case Filter(_, domain, _) | Function(_, domain, _) | Quantified(_, _, domain, _):
            return need(domain)
        case Image(_, _, domain):
            return need(domain)
        case Apply(operator, parts):
            return operator in STRICT and any(map(need, parts))
        case _:
            return any(map(need, children(node)))


def _settles(part: Expr) -> bool:
    """Whether a conjunct only says what a variable is after the step, and so cannot be false."""
    return isinstance(part, Unchanged) or (
        isinstance(part, Infix) and part.sign == "=" and isinstance(part.left, Prime)
    )


STRICT = frozenset({
    "Append", "BagCardinality", "BagToSet", "Cardinality", "CopiesIn", "Defined", "FloorDiv",
    "FloorMod", "Head", "InsertAt", "Len", "Range", "RemoveAt", "SetToBag", "SubSeq",
    "SumOfBag", "SumOfSequence", "SumOfSet", "TLCEval", "Tail", "Within", "Wrap",
})  # fmt: skip
"""Operators that need the values of all their arguments."""


# ---------------------------------------------------------------- making and simplifying


def conjoined(parts: Sequence[Expr]) -> Expr:
    """All of the parts hold. What is said of the variables after the step comes together: those
    that stay as they are are listed.
    """
    flat: list[Expr] = []
    for part in parts:
        flat += part.parts if isinstance(part, Junction) and part.sign == "/\\" else [part]
    kept: list[Expr] = []
    same: list[str] = []
    for part in flat:
        match part:
            case Name("TRUE"):
                continue
            case Infix("=", Prime(name), Name(other)) if name == other:
                same.append(name)
            case Unchanged(names):
                same += names
            case _:
                kept.append(part)
                if part == FALSE:
                    break
    if same and FALSE not in kept:
        kept.append(Unchanged(tuple(same)))
    if not kept:
        return TRUE
    return kept[0] if len(kept) == 1 else Junction("/\\", tuple(kept))


def either(parts: Sequence[Expr]) -> Expr:
    """One of the parts holds."""
    flat: list[Expr] = []
    for part in parts:
        flat += part.parts if isinstance(part, Junction) and part.sign == "\\/" else [part]
    kept: list[Expr] = []
    for part in flat:
        if part != FALSE:
            kept.append(part)
        if part == TRUE:
            break
    if not kept:
        return FALSE
    return kept[0] if len(kept) == 1 else Junction("\\/", tuple(kept))


def opposite(part: Expr) -> Expr:
    """The part does not hold."""
    match part:
        case Name("TRUE"):
            return FALSE
        case Name("FALSE"):
            return TRUE
        case Prefix("~", operand):
            return operand
        case Infix(sign, left, right) if sign in _OPPOSITES:
            return Infix(_OPPOSITES[sign], left, right)
        case _:
            return Prefix("~", part)


_OPPOSITES = {
    "=": "/=", "/=": "=", "\\in": "\\notin", "\\notin": "\\in",
    "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip


def implied(premise: Expr, conclusion: Expr) -> Expr:
    """The one holds only where the other does."""
    if premise == TRUE:
        return conclusion
    return TRUE if premise == FALSE else Infix("=>", premise, conclusion)


def chosen(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """The one or the other."""
    if condition == TRUE:
        return then
    if condition == FALSE:
        return otherwise
    return If(condition, then, otherwise)


def among(element: Expr, whole: Expr) -> Expr:
    """An element is in a set."""
    return Infix("\\in", element, whole)


def equal(left: Expr, right: Expr) -> Expr:
    """Two values are the same."""
    return Infix("=", left, right)


def call(operator: str, *arguments: Expr) -> Expr:
    """``operator(arguments)``."""
    return Apply(operator, arguments) if arguments else Name(operator)


def let(name: str, value: Expr, body: Expr) -> Expr:
    """``LET name == value IN body``; definitions that follow each other share a LET."""
    one = Definition(name, (), value)
    return defining(one, body)


def defining(one: Definition, body: Expr) -> Expr:
    """``LET`` a definition ``IN body``."""
    if isinstance(body, Let):
        return Let((one, *body.definitions), body.body)
    return Let((one,), body)


def plus(number: Expr, amount: int) -> Expr:
    """A number and a constant."""
    match number:
        case Number(value):
            return Number(value + amount)
        case Infix("+", left, Number(value)):
            return plus(left, value + amount)
        case Infix("-", left, Number(value)):
            return plus(left, amount - value)
        case _ if amount == 0:
            return number
        case _ if amount < 0:
            return Infix("-", number, Number(-amount))
        case _:
            return Infix("+", number, Number(amount))
