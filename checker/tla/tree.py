"""TLA+ as a tree: expressions, definitions and modules, and how they are simplified.

A node is made of other nodes and of names that are final; nothing ever looks into finished text.
The functions in lower case are the constructors that also simplify (`conjoined`, `chosen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier: a variable, a bound name, an operator without parameters, ``TRUE``."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class String:
    """A string, without its quotation marks and escapes."""

    text: str


@dataclass(frozen=True, slots=True)
class Apply:
    """``operator(arguments)``."""

    operator: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """``sign operand``: ``~``, ``-`` or a word such as ``ENABLED``."""

    sign: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Infix:
    """``left sign right``; conjunctions and disjunctions are `Junction`."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Junction:
    r"""Two or more parts with ``/\`` or ``\/`` between them."""

    sign: OneOf["/\\", "\\/"]
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Prime:
    """The value of a variable after the step."""

    name: str


@dataclass(frozen=True, slots=True)
class At:
    """``function[argument]``."""

    function: Expr
    argument: Expr


@dataclass(frozen=True, slots=True)
class Dot:
    """``record.field``."""

    record: Expr
    field: str


@dataclass(frozen=True, slots=True)
class Tuple:
    """``<<parts>>``."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """``{parts}``."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    r"""``{name \in domain : condition}``."""

    name: str
    domain: Expr
    condition: Expr


@dataclass(frozen=True, slots=True)
class Image:
    r"""``{element : name \in domain}``."""

    element: Expr
    name: str
    domain: Expr


@dataclass(frozen=True, slots=True)
class Function:
    r"""``[name \in domain |-> body]``."""

    name: str
    domain: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Functions:
    """``[domain -> codomain]``, the set of functions."""

    domain: Expr
    codomain: Expr


@dataclass(frozen=True, slots=True)
class Fields:
    """A record (sign ``|->``) or a set of records (sign ``:``)."""

    sign: OneOf["|->", ":"]
    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Except:
    """``[base EXCEPT !path = value]``; a string in the path is a field, anything else an index."""

    base: Expr
    path: tuple[Expr | str, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Quantified:
    r"""``\A name \in domain : body``; also ``\E`` and ``CHOOSE``."""

    sign: OneOf["\\A", "\\E", "CHOOSE"]
    name: str
    domain: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class If:
    """``IF condition THEN then ELSE otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Let:
    """``LET definitions IN body``."""

    definitions: tuple[Definition, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Lambda:
    """``LAMBDA names : body``."""

    names: tuple[str, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Unchanged:
    """``UNCHANGED <<names>>``."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """``[][body]_names``."""

    body: Expr
    names: str


Expr: TypeAlias = (
    Name | Number | String | Apply | Prefix | Infix | Junction | Prime | At | Dot | Tuple | Listed
    | Filter | Image | Function | Functions | Fields | Except | Quantified | If | Let | Lambda
    | Unchanged | Always
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    """``name(parameters) == body``, after ``comment``; a parameter may be written ``Op(_, _)``."""

    name: str
    parameters: tuple[str, ...]
    body: Expr
    comment: str = ""
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Assume:
    """``ASSUME condition``."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Module:
    """A module: a comment, what it extends, its variables with a comment each, its definitions."""

    name: str
    comment: str
    extends: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    units: tuple[Definition | Assume, ...]


TRUE, FALSE = Name("TRUE"), Name("FALSE")
NOTHING = Tuple(())


# ---------------------------------------------------------------- going through a tree


def children(node: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one, in the order written."""
    match node:
        case Name() | Number() | String() | Prime() | Unchanged():
            return ()
        case Apply(_, parts) | Junction(_, parts) | Tuple(parts) | Listed(parts):
            return parts
        case Prefix(_, operand) | Lambda(_, operand) | Always(operand, _):
            return (operand,)
        case Infix(_, left, right) | At(left, right) | Functions(left, right):
            return (left, right)
        case Dot(record, _):
            return (record,)
        case Filter(_, domain, body) | Function(_, domain, body) | Quantified(_, _, domain, body):
            return (domain, body)
        case Image(element, _, domain):
            return (element, domain)
        case Fields(_, fields):
            return tuple(value for _, value in fields)
        case Except(base, path, value):
            return (base, *(step for step in path if not isinstance(step, str)), value)
        case If(condition, then, otherwise):
            return (condition, then, otherwise)
        case Let(definitions, body):
            return (*(one.body for one in definitions), body)
        case _:
            assert_never(node)


def changed(node: Expr, part: Callable[[Expr], Expr]) -> Expr:
    """``node`` with ``part`` of each expression directly inside it."""
    match node:
        case Name() | Number() | String() | Prime() | Unchanged():
            return node
        case Apply(operator, parts):
            return Apply(operator, tuple(map(part, parts)))
        case Junction(sign, parts):
            made = tuple(map(part, parts))
            return conjoined(made) if sign == "/\\" else either(made)
        case Tuple(parts):
            return Tuple(tuple(map(part, parts)))
        case Listed(parts):
            return Listed(tuple(map(part, parts)))
        case Prefix(sign, operand):
            return Prefix(sign, part(operand))
        case Lambda(names, body):
            return Lambda(names, part(body))
        case Always(body, names):
            return Always(part(body), names)
        case Infix(sign, left, right):
            return Infix(sign, part(left), part(right))
        case At(left, right):
            return At(part(left), part(right))
        case Functions(left, right):
            return Functions(part(left), part(right))
        case Dot(record, field):
            return Dot(part(record), field)
        case Filter(name, domain, body):
            return Filter(name, part(domain), part(body))
        case Function(name, domain, body):
            return Function(name, part(domain), part(body))
        case Quantified(sign, name, domain, body):
            return Quantified(sign, name, part(domain), part(body))
        case Image(element, name, domain):
            return Image(part(element), name, part(domain))
        case Fields(sign, fields):
            return Fields(sign, tuple((name, part(value)) for name, value in fields))
        case Except(base, path, value):
            steps = tuple(step if isinstance(step, str) else part(step) for step in path)
            return Except(part(base), steps, part(value))
        case If(condition, then, otherwise):
            return chosen(part(condition), part(then), part(otherwise))
        case Let(definitions, body):
            made_definitions = tuple(
                Definition(d.name, d.parameters, part(d.body), d.comment, d.recursive)
                for d in definitions
            )
            return Let(made_definitions, part(body))
        case _:
            assert_never(node)


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
    "FloorMod", "Head", "Len", "SetToBag", "SubSeq", "TLCEval", "Tail", "Within", "Wrap",
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
