"""The trees of modules. Every node has the span of its text.

An operator of any fixity is an `Apply` with its canonical name. Junction lists and chains of the
same junction are one `Junction`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class String:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A name with its arguments: a part of the path ``A!B(x)!C``."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator with its arguments. ``path`` leads to it through named instances.

    It may also lead to a part of a definition: ``Def!2!(x)!<<`` has the names "Def", "2", "()" with
    an argument, and "<<".
    """

    name: str
    args: tuple[Expr, ...]
    span: Span
    path: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Junction:
    """``sign`` is ``/\\`` or ``\\/``."""

    sign: str
    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Bound:
    """Names that range over a set. With ``pattern``, one element is a tuple that the names take
    apart. Without ``domain``, the names are unbounded.
    """

    names: tuple[str, ...]
    domain: Expr | None
    pattern: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Quantified:
    """``sign`` is ``\\A`` or ``\\E``, or ``\\AA`` or ``\\EE`` for the temporal quantifiers."""

    sign: str
    bounds: tuple[Bound, ...]
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Choose:
    bound: Bound
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class SetOf:
    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Filter:
    bound: Bound
    condition: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Image:
    """``{element : bounds}``."""

    element: Expr
    bounds: tuple[Bound, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Function:
    """``[bounds |-> body]``. If ``name`` is given, the body may refer to the function by it."""

    bounds: tuple[Bound, ...]
    body: Expr
    span: Span
    name: str = ""


@dataclass(frozen=True, slots=True)
class FunctionSet:
    domain: Expr
    range: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class At:
    """``@``, the old value in an EXCEPT."""

    span: Span


@dataclass(frozen=True, slots=True)
class Index:
    """``function[argument]``; several arguments are one tuple."""

    function: Expr
    argument: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class FieldOf:
    record: Expr
    field: str
    span: Span


@dataclass(frozen=True, slots=True)
class Record:
    fields: tuple[tuple[str, Expr], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RecordSet:
    fields: tuple[tuple[str, Expr], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Update:
    """``!path = value``. A field in the path is a `String`."""

    path: tuple[Expr, ...]
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Except:
    function: Expr
    updates: tuple[Update, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Product:
    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Case:
    arms: tuple[tuple[Expr, Expr], ...]
    other: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Let:
    units: tuple[Unit, ...]
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Lambda:
    parameters: tuple[Parameter, ...]
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Boxed:
    """``[action]_variables``, or ``<<action>>_variables`` if ``angle``."""

    action: Expr
    variables: Expr
    angle: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Fair:
    """``WF_variables(action)``, or SF if ``strong``."""

    strong: bool
    variables: Expr
    action: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Labelled:
    """``label:: body``."""

    label: str
    body: Expr
    span: Span


Expr: TypeAlias = (
    Number | String | Truth | Apply | Junction | Quantified | Choose | SetOf | Filter | Image
    | Function | FunctionSet | At | Index | FieldOf | Record | RecordSet | Except | Tuple | Product
    | If | Case | Let | Lambda | Boxed | Fair | Labelled
)  # fmt: skip


def operands(node: Expr) -> tuple[Expr, ...]:
    """Returns the operands of an expression that a number selects, as in ``Def!2``."""
    match node:
        case Junction(sign=sign, items=(*first, _, _) as items, span=span) if first:
            bullet = span.source.text.startswith(("/\\", "\\/", "\\l"), span.start)
            if bullet and span.start != items[0].span.start:
                return items
            # Between its operands, the sign takes two of them.
            last = items[-2].span.end
            return Junction(sign, items[:-1], Span(span.source, span.start, last)), items[-1]
        case Junction(items=items) | SetOf(items=items) | Tuple(items=items) | Product(items=items):
            return items
        case Apply(args=args):
            return args
        case If(condition=first, then=second, otherwise=third):
            return first, second, third
        case Index(function=first, argument=second) | FunctionSet(domain=first, range=second):
            return first, second
        case Quantified(bounds=bounds) | Function(bounds=bounds) | Image(bounds=bounds):
            return tuple(bound.domain for bound in bounds if bound.domain is not None)
        case Choose(bound=bound) | Filter(bound=bound):
            return () if bound.domain is None else (bound.domain,)
        case Labelled(body=body):
            return operands(body)
        case _:
            return ()


# ---------------------------------------------------------------- units of a module


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, constant or recursive operator, with its number of arguments."""

    name: str
    arity: int
    span: Span


@dataclass(frozen=True, slots=True)
class Constants:
    names: tuple[Parameter, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Variables:
    names: tuple[Parameter, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Recursive:
    names: tuple[Parameter, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    parameters: tuple[Parameter, ...]
    body: Expr
    local: bool
    span: Span
    """The span of the name."""


@dataclass(frozen=True, slots=True)
class Instance:
    """``name(parameters) == INSTANCE module WITH substitutions``. Without a name, the definitions
    of the module become those of this one.
    """

    name: str
    parameters: tuple[Parameter, ...]
    module: str
    substitutions: tuple[tuple[str, Expr, Span], ...]
    local: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Assume:
    name: str
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Theorem:
    """A theorem with a name, which other expressions may use."""

    name: str
    body: Expr
    span: Span


Unit: TypeAlias = (
    "Constants | Variables | Recursive | Definition | Instance | Assume | Theorem | Module"
)


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    extends: tuple[tuple[str, Span], ...]
    units: tuple[Unit, ...]
    span: Span
    """The span of the name."""
    words: tuple[str, ...] = ()
    """The identifiers of the file, by their first appearance."""
    strings: tuple[str, ...] = ()
    """The strings of the file, by their first appearance."""


Level: TypeAlias = Literal[0, 1, 2, 3]
"""Constant, state, action or temporal."""
