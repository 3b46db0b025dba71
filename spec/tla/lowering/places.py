"""Where an expression is lowered: the module, and the meaning of local names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from fencepost.spec.records import dataclass
from fencepost.spec.tla.lowering.terms import Term
from fencepost.spec.tla.modules.scopes import Named, Scope
from fencepost.spec.tla.syntax.tree import Expr, Parameter


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """``base`` are the parameters of the instances that lead to the module, and ``trail`` the
    definitions whose bodies are around the expression.
    """

    scope: Scope
    names: Mapping[str, Binding]
    base: Mapping[str, Binding]
    primed: bool = False
    trail: tuple[object, ...] = ()

    def having(self, names: Mapping[str, Binding]) -> Place:
        """Returns the same place with more local names."""
        return Place(self.scope, {**self.names, **names}, self.base, self.primed, self.trail)

    def prime(self) -> Place:
        """Returns the same place under a prime."""
        return Place(self.scope, self.names, self.base, True, self.trail)

    def inside(self, definition: object, trail: tuple[object, ...]) -> Place:
        """Returns the same place inside of a definition that is called where ``trail`` leads."""
        return Place(self.scope, self.names, self.base, self.primed, (*trail, definition))

    def outside(self, scope: Scope) -> Place:
        """Returns the place of the expressions that an instance substitutes."""
        return Place(scope, self.base, self.base, self.primed, self.trail)


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """An argument: the expression and its place. ``term`` is its value in the current state if that
    is at hand.
    """

    node: Expr
    env: Place
    term: Term | None = None


@dataclass(slots=True, eq=False)
class Definition:
    """A definition of a LET, or an argument that is an operator. ``place`` is set when all names of
    the LET are cached.
    """

    parameters: tuple[Parameter, ...]
    body: Expr
    env: Place


@dataclass(frozen=True, slots=True, eq=False)
class LocalInstance:
    """An instance in a LET. ``args`` are the local names that its substitutions may use."""

    named: Named
    args: tuple[Expr, ...]


Binding: TypeAlias = Term | Argument | Definition | LocalInstance
