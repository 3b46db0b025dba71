"""Represents TLA+ as a tree of expressions, definitions and modules.

A node consists of other nodes and of final names. Finished text is never parsed.
"""

from __future__ import annotations

from typing import Literal as OneOf
from typing import TypeAlias, assert_never

from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A node whose fields contain expressions, directly or in tuples."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier: a variable, a bound name, an operator without parameters, or ``TRUE``."""

    text: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class String(Node):
    """A string, without its quotation marks and escapes."""

    text: str


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """``operator(arguments)``."""

    operator: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    """``sign operand``, where the sign is ``~``, ``-`` or a word such as ``ENABLED``."""

    sign: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Infix(Node):
    """``left sign right``. Conjunctions and disjunctions are a `Junction` instead."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Junction(Node):
    r"""Two or more parts, with ``/\`` or ``\/`` between them."""

    sign: OneOf["/\\", "\\/"]
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Prime(Node):
    """The value of a variable after the step."""

    name: str


@dataclass(frozen=True, slots=True)
class At(Node):
    """``function[argument]``."""

    function: Expr
    argument: Expr


@dataclass(frozen=True, slots=True)
class Dot(Node):
    """``record.field``."""

    record: Expr
    field: str


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """``<<parts>>``."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class SetLiteral(Node):
    """``{parts}``."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Filter(Node):
    r"""``{name \in domain : condition}``."""

    name: str
    domain: Expr
    condition: Expr


@dataclass(frozen=True, slots=True)
class Image(Node):
    r"""``{element : name \in domain}``."""

    element: Expr
    name: str
    domain: Expr


@dataclass(frozen=True, slots=True)
class Function(Node):
    r"""``[name \in domain |-> body]``."""

    name: str
    domain: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Functions(Node):
    """``[domain -> codomain]``, the set of functions."""

    domain: Expr
    codomain: Expr


@dataclass(frozen=True, slots=True)
class Cross(Node):
    r"""``first \X second \X third``, the set of tuples. A part that is itself such a set is printed
    in brackets, because the operator is not associative.
    """

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Fields(Node):
    """A record (sign ``|->``) or a set of records (sign ``:``)."""

    sign: OneOf["|->", ":"]
    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Except(Node):
    """``[base EXCEPT !path = value]``. A string in the path is a field; anything else is an
    index.
    """

    base: Expr
    path: tuple[Expr | str, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Quantified(Node):
    r"""``\A name \in domain : body``, or the same with ``\E`` or ``CHOOSE``."""

    sign: OneOf["\\A", "\\E", "CHOOSE"]
    name: str
    domain: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    """``IF condition THEN then ELSE otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``LET definitions IN body``."""

    definitions: tuple[Definition, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """``LAMBDA names : body``."""

    names: tuple[str, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Unchanged(Node):
    """``UNCHANGED <<names>>``."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Always(Node):
    """``[][body]_names``."""

    body: Expr
    names: str


Expr: TypeAlias = (
    Name | Number | String | Apply | Prefix | Infix | Junction | Prime | At | Dot | Tuple |
    SetLiteral | Filter | Image | Function | Functions | Cross | Fields | Except | Quantified | If |
    Let | Lambda | Unchanged | Always
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """``name(parameters) == body``, preceded by ``comment``. A parameter may take the form
    ``Op(_, _)``.
    """

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
class WrittenUnit:
    """Definitions in the form of text that is already broken into lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Instance:
    """``name == INSTANCE module WITH variable <- value, ...``."""

    name: str
    module: str
    values: tuple[tuple[str, Expr], ...]
    comment: str = ""


Unit: TypeAlias = Definition | Assume | Instance | WrittenUnit


@dataclass(frozen=True, slots=True)
class Module:
    """A module with a comment, the modules that it extends, its variables with a comment for each,
    and its definitions.
    """

    name: str
    comment: str
    extends: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    units: tuple[Unit, ...]


TRUE, FALSE = Name("TRUE"), Name("FALSE")
NOTHING = Tuple(())


def bodies(unit: Definition | Assume | Instance) -> list[Expr]:
    """Returns the expressions in a part of a module."""
    match unit:
        case Assume(condition):
            return [condition]
        case Definition(body=body):
            return [body]
        case Instance(values=values):
            return [value for _, value in values]
        case _:
            assert_never(unit)
