"""Where an expression or statement stands: what its variables, locals and operators are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol, TypeAlias

from fencepost.checker.tla.names import Names
from fencepost.checker.tla.simplify import let, substituted, uses
from fencepost.checker.tla.tree import Apply, At, Dot, Expr, Name, Number, Prime, String, Tuple
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import Node, children, walk
from fencepost.spec.records import dataclass


class Operators(Protocol):
    """What a module defines that expressions use."""

    def enabled(self, action: int, choices: Sequence[Expr]) -> Expr:
        """Whether an action can be taken (see `ir.Enabled`)."""
        ...

    def quiescent(self) -> Expr:
        """Whether nothing can happen but steps that need not be taken."""
        ...

    def value(self, scope: Scope, expr: ir.Expr) -> Expr:
        """An expression of the core in TLA+."""
        ...

    def called(self, scope: Scope, expr: ir.Expr) -> Expr | None:
        """The call of a definition that ``expr`` is the body of, if it is one."""
        ...


@dataclass(slots=True)
class Work:
    """What is known of a model while its module is made."""

    model: ir.Model
    locals: dict[int, str] = field(default_factory=dict[int, str])
    partial: dict[int, bool] = field(default_factory=dict[int, bool])
    """Whether a node, by its identity, has a part whose evaluation may fail."""
    whole: set[str] = field(default_factory=lambda: {"Assert", "Defined"})
    """Names of conditions that TLC does not take apart in an action."""

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
        """Whether the evaluation of an expression may be undefined."""
        known = self.partial.get(id(node))
        if known is None:
            known = isinstance(node, ir.Demand) or any(map(self.fails, children(node)))
            self.partial[id(node)] = known
        return known

    def fault(self, site: int) -> String:
        """What TLC says when an evaluation fails."""
        one = self.model.sites[site]
        return String(f"evaluation error: {one.message} ({_place(one)})")

    def assertion(self, site: int) -> String:
        """What TLC says when an assertion fails."""
        one = self.model.sites[site]
        return String(f"assertion: {one.message} ({_place(one)})")


def _place(site: ir.Site) -> str:
    line, column = site.span.source.position(site.span.start)
    return f"{line}:{column}"


@dataclass(frozen=True, slots=True)
class Scope:
    """What variables and slots stand for at some place.

    ``variables`` are the present values by number, ``after`` those after the step; ``slots`` the
    values of locals. ``names`` are those of the definition that the place is in.
    """

    work: Work
    operators: Operators
    names: Names
    variables: Mapping[int, Expr]
    after: Mapping[int, Expr]
    slots: Mapping[int, Expr] = field(default_factory=dict[int, Expr])
    inside: object = None
    parameters: Mapping[int, str] = field(default_factory=dict[int, str])
    """Inside of which definition of the spec the place is, and what those of its parameters are
    called that stand for variables, by the variables' numbers."""

    def inner(self) -> Scope:
        """For a definition of its own: what it binds may be called alike in another one."""
        return replace(self, names=self.names.inner())

    def bound(self, slot: int, value: Expr) -> Scope:
        """With a value for a slot."""
        return replace(self, slots={**self.slots, slot: value})

    def assigned(self, variable: int, value: Expr) -> Scope:
        """With another value of a variable."""
        return replace(self, variables={**self.variables, variable: value})

    def value(self, expr: ir.Expr) -> Expr:
        """An expression of the core, here."""
        return self.operators.value(self, expr)

    def local(self, slot: int, wanted: str = "") -> str:
        """A name for a slot: what the spec calls it, if it calls it anything."""
        return self.names.fresh(wanted or self.work.locals.get(slot, "") or "x")


def simple(value: Expr) -> bool:
    """Whether a value may be written several times: it is short, and costs nothing."""
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
"""What is made of a value."""


def shared(scope: Scope, value: Expr, body: Body, wanted: str = "v") -> Expr:
    """``body`` of a value that it writes several times: by a name, unless it is simple."""
    if simple(value):
        return body(value)
    name = scope.names.fresh(wanted)
    inside = body(Name(name))
    if uses(inside, name) == 1:
        return substituted(inside, {name: value})
    return let(name, value, inside)
