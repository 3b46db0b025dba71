"""Traverses, rewrites and simplifies TLA+ trees (`conjoined`, `chosen`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import cast

from fencepost.checker.tla_export.tree import (
    FALSE,
    TRUE,
    Always,
    Apply,
    Cross,
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

# ---------------------------------------------------------------- traversal


def children(node: Expr) -> list[Expr]:
    """Returns the direct subexpressions of a node, in the order in the text."""
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
    """Applies ``part`` to each direct subexpression of ``node``, and simplifies the result."""

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
    """Yields all nodes of a tree, including the root."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current)[::-1])


def size(node: Expr) -> int:
    """Counts the nodes of a tree."""
    return sum(1 for _ in everything(node))


def uses(node: Expr, name: str) -> int:
    """Counts the uses of a name in a tree, as a value or as an operator."""
    return sum(
        1
        for current in everything(node)
        if (isinstance(current, Name) and current.text == name)
        or (isinstance(current, Apply) and current.operator == name)
    )


def substituted(node: Expr, values: dict[str, Expr]) -> Expr:
    """Replaces names in a tree by values. No name is bound twice in a definition, so no name in a
    value is captured.
    """
    if isinstance(node, Name):
        return values.get(node.text, node)
    return changed(node, lambda part: substituted(part, values))


def inlined(node: Expr, operator: Definition) -> Expr:
    """Replaces the calls of an operator in a tree by its body."""
    node = changed(node, lambda part: inlined(part, operator))
    if isinstance(node, Apply) and node.operator == operator.name:
        values = dict(zip(operator.parameters, node.arguments, strict=True))
        return substituted(operator.body, values)
    if isinstance(node, Name) and node.text == operator.name:
        return operator.body
    return node


def demands(node: Expr, name: str) -> bool:
    """Checks whether TLC needs the value of ``name`` for any value of ``node``. If ``node`` is an
    action, only an error may end the step before the value is needed.
    """

    def need(part: Expr) -> bool:
        return demands(part, name)

    match node:
        case Name(text):
            return text == name
        case (
            Number()
            | String()
            | Prime()
            | Unchanged()
            | Lambda()
            | Functions()
            | Cross()
            | Always()
        ):
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
                not local.parameters and need(local.body) and demands(body, local.name)
                for local in definitions
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
    """Checks whether a conjunct only defines the next value of a variable, so that it cannot be
    false.
    """
    return isinstance(part, Unchanged) or (
        isinstance(part, Infix) and part.sign == "=" and isinstance(part.left, Prime)
    )


STRICT = frozenset({
    "Append", "BagCardinality", "BagToSet", "Cardinality", "CopiesIn", "Defined", "FloorDiv",
    "FloorMod", "Head", "InsertAt", "Len", "Range", "RemoveAt", "SetToBag", "SubSeq",
    "SumOfBag", "SumOfSequence", "SumOfSet", "TLCEval", "Tail", "Within", "Wrap",
})  # fmt: skip
"""Operators that need the values of all arguments."""


# ---------------------------------------------------------------- construction and simplification


def conjoined(parts: Sequence[Expr]) -> Expr:
    """Returns the conjunction of the parts. Unchanged variables are collected into one conjunct."""
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
    """Returns the disjunction of the parts."""
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
    """Returns the negation of an expression."""
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
    """Returns the implication ``premise => conclusion``."""
    if premise == TRUE:
        return conclusion
    return TRUE if premise == FALSE else Infix("=>", premise, conclusion)


def chosen(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Returns the conditional expression."""
    if condition == TRUE:
        return then
    if condition == FALSE:
        return otherwise
    return If(condition, then, otherwise)


def among(element: Expr, whole: Expr) -> Expr:
    """Returns the condition that an element is a member of a set."""
    return Infix("\\in", element, whole)


def equal(left: Expr, right: Expr) -> Expr:
    """Returns the condition that two values are equal."""
    return Infix("=", left, right)


def call(operator: str, *arguments: Expr) -> Expr:
    """Returns ``operator(arguments)``."""
    return Apply(operator, arguments) if arguments else Name(operator)


def let(name: str, value: Expr, body: Expr) -> Expr:
    """Returns ``LET name == value IN body``. Nested definitions share a LET."""
    named = Definition(name, (), value)
    return defining(named, body)


def defining(definition: Definition, body: Expr) -> Expr:
    """Returns ``body`` inside a ``LET`` with a definition."""
    if isinstance(body, Let):
        return Let((definition, *body.definitions), body.body)
    return Let((definition,), body)


def plus(number: Expr, amount: int) -> Expr:
    """Returns the sum of an expression and a constant."""
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
