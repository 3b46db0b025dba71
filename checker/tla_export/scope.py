"""Represents the context of an expression or statement: the names of variables, locals and
operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol, TypeAlias

from fencepost.checker.tla_export.names import Names
from fencepost.checker.tla_export.simplify import let, substituted, uses
from fencepost.checker.tla_export.tree import (
    Apply,
    At,
    Dot,
    Expr,
    Name,
    Number,
    Prime,
    String,
    Tuple,
)
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import Node, children, walk
from fencepost.spec.records import dataclass


class Operators(Protocol):
    """The definitions of a module that expressions use."""

    def enabled(self, action: int, choices: Sequence[Expr]) -> Expr:
        """Returns the condition that an action can be taken (see `ir.Enabled`)."""
        ...

    def quiescent(self) -> Expr:
        """Returns the condition that only optional steps are possible."""
        ...

    def value(self, scope: Scope, expr: ir.Expr) -> Expr:
        """Translates an expression of the core to TLA+."""
        ...

    def called(self, scope: Scope, expr: ir.Expr) -> Expr | None:
        """Returns the call of a definition whose body is ``expr``, or None."""
        ...


@dataclass(slots=True)
class Work:
    """Facts about a model that are collected while its module is generated."""

    model: ir.Model
    locals: dict[int, str] = field(default_factory=dict[int, str])
    functions: dict[tuple[int, ...], str] = field(default_factory=dict[tuple[int, ...], str])
    """The names of the operators for recursions, by their slots."""
    partial: dict[int, bool] = field(default_factory=dict[int, bool])
    """Whether a node has a part whose evaluation may fail, by the identity of the node."""
    whole: set[str] = field(default_factory=lambda: {"Assert", "Defined"})
    """Names of conditions that TLC does not split in an action."""

    def __post_init__(self) -> None:
        for node in walk((self.model.initial, *self._bodies())):
            if isinstance(node, ir.Local) and node.span is not None:
                text = node.span.text
                if text.isidentifier():
                    self.locals.setdefault(node.slot, text)

    def _bodies(self) -> list[Node]:
        return [
            *(action.body for action in self.model.actions),
            *(prop.body for prop in self.model.properties),
        ]

    def fails(self, node: Node) -> bool:
        """Checks whether the evaluation of an expression may be undefined."""
        may_fail = self.partial.get(id(node))
        if may_fail is None:
            may_fail = isinstance(node, ir.Demand) or any(map(self.fails, children(node)))
            self.partial[id(node)] = may_fail
        return may_fail

    def fault(self, site: int) -> String:
        """Returns the message that TLC prints when an evaluation fails."""
        failed = self.model.sites[site]
        return String(f"evaluation error: {failed.message} ({_place(failed)})")

    def assertion(self, site: int) -> String:
        """Returns the message that TLC prints when an assertion fails."""
        failed = self.model.sites[site]
        return String(f"assertion: {failed.message} ({_place(failed)})")


def _place(site: ir.Site) -> str:
    line, column = site.span.source.position(site.span.start)
    return f"{line}:{column}"


@dataclass(frozen=True, slots=True)
class Scope:
    """The expressions for variables and slots at some point.

    ``variables`` contains the current values of variables by number, ``after`` their values after
    the step, and ``slots`` the values of locals. ``names`` allocates names in the enclosing
    definition.
    """

    work: Work
    operators: Operators
    names: Names
    variables: Mapping[int, Expr]
    after: Mapping[int, Expr]
    slots: Mapping[int, Expr] = field(default_factory=dict[int, Expr])
    inside: object = None
    parameters: Mapping[int, str] = field(default_factory=dict[int, str])
    """``inside`` is the enclosing definition of the spec. ``parameters`` contains, by variable
    number, the names of its parameters that represent variables.
    """

    def inner(self) -> Scope:
        """Returns the scope of a separate definition, which may reuse names that are bound in
        others.
        """
        return replace(self, names=self.names.inner())

    def bound(self, slot: int, value: Expr) -> Scope:
        """Returns this scope with a value for a slot."""
        return replace(self, slots={**self.slots, slot: value})

    def assigned(self, variable: int, value: Expr) -> Scope:
        """Returns this scope with another value for a variable."""
        return replace(self, variables={**self.variables, variable: value})

    def value(self, expr: ir.Expr) -> Expr:
        """Translates an expression of the core in this scope."""
        return self.operators.value(self, expr)

    def local(self, slot: int, wanted: str = "") -> str:
        """Returns a name for a slot. If the spec has a name for it, the result is similar to that
        name.
        """
        return self.names.fresh(wanted or self.work.locals.get(slot, "") or "x")


def simple(value: Expr) -> bool:
    """Checks whether a value is short and cheap, so that it may be duplicated."""
    match value:
        case Name() | Number() | String() | Prime() | Tuple(()):
            return True
        case Dot(record, _):
            return simple(record)
        case At(function, argument):
            return simple(function) and isinstance(argument, Name | Number | String)
        case Apply("Head" | "Len", (Name(),)):
            return True
        case _:
            return False


Body: TypeAlias = "Callable[[Expr], Expr]"
"""A function that builds an expression from a value in TLA+."""


def shared(scope: Scope, value: Expr, body: Body, wanted: str = "v") -> Expr:
    """Returns ``body`` of a value. If ``body`` uses the value several times, the value is bound to
    a name, unless it is simple.
    """
    if simple(value):
        return body(value)
    name = scope.names.fresh(wanted)
    inside = body(Name(name))
    if uses(inside, name) == 1:
        return substituted(inside, {name: value})
    return let(name, value, inside)
