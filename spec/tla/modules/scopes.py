"""The names of modules and their meanings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.spec.text.problem import Problem, Rejected, suggestion
from fencepost.spec.text.source import Span
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Expr, Parameter
from fencepost.spec.tla.values.kinds import Value


class Entity:
    """The meaning of a name. ``span`` is the place of its declaration."""

    __slots__ = ("home", "name", "override", "span")

    def __init__(self, name: str, home: str, span: Span | None) -> None:
        self.name = name
        self.home = home
        self.span = span
        self.override: Entity | None = None
        """The replacement that the configuration gives, if any."""

    @property
    def meaning(self) -> Entity:
        """The entity, or what the configuration puts in its place."""
        return self if self.override is None else self.override


class Constant(Entity):
    """A declared constant, which may be an operator."""

    __slots__ = ("arity",)

    def __init__(self, name: str, home: str, span: Span | None, arity: int) -> None:
        super().__init__(name, home, span)
        self.arity = arity


class Given(Entity):
    """A value that the configuration gives."""

    __slots__ = ("value",)

    def __init__(self, name: str, value: Value, span: Span | None) -> None:
        super().__init__(name, "", span)
        self.value = value


class Variable(Entity):
    """A variable of the state, by its position."""

    __slots__ = ("index",)

    def __init__(self, name: str, home: str, span: Span | None, index: int) -> None:
        super().__init__(name, home, span)
        self.index = index


class Operator(Entity):
    """A definition of a module. ``compiled`` is for the evaluator."""

    __slots__ = ("body", "compiled", "parameters", "place", "scope")

    def __init__(
        self, name: str, scope: Scope, span: Span, parameters: Sequence[Parameter], body: Expr
    ) -> None:
        super().__init__(name, scope.name, span)
        self.place = span
        self.scope = scope
        self.parameters = tuple(parameters)
        self.body = body
        self.compiled: dict[object, Any] = {}


class Part(Operator):
    """A part of a definition. ``args`` are the arguments of the definition, and those of the names
    that are bound on the way to the part.
    """

    __slots__ = ("args",)

    def __init__(
        self, whole: Operator, parameters: Sequence[Parameter], body: Expr, args: Sequence[Expr]
    ) -> None:
        super().__init__(whole.name, whole.scope, whole.place, parameters, body)
        self.args = tuple(args)


class BuiltIn(Entity):
    """An operator of a standard module that is not defined in TLA+."""

    __slots__ = ("arity", "call")

    def __init__(self, name: str, home: str, arity: int, call: Callable[..., Any]) -> None:
        super().__init__(name, home, None)
        self.arity = arity
        self.call = call


class Substituted(Entity):
    """A constant or variable of an instantiated module, and the expression that replaces it.

    A constant that is an operator is replaced by the name of one, or by a LAMBDA: ``operator``.
    """

    __slots__ = ("expr", "operator", "outer")

    def __init__(self, name: str, home: str, expr: Expr, outer: Scope) -> None:
        super().__init__(name, home, expr.span)
        self.expr = expr
        self.outer = outer
        self.operator: Operator | None = None
        if isinstance(expr, tree.Lambda):
            self.operator = Operator(name, outer, expr.span, expr.parameters, expr.body)


class Named(Entity):
    """A named instance of a module: ``name(parameters) == INSTANCE ...``."""

    __slots__ = ("parameters", "scope")

    def __init__(
        self, name: str, home: str, span: Span, parameters: Sequence[Parameter], scope: Scope
    ) -> None:
        super().__init__(name, home, span)
        self.parameters = tuple(parameters)
        self.scope = scope


class Scope:
    """The names of a module. ``parameters`` are those of the instances that lead to it: each
    operator has them before its own. ``local`` names are not for modules that extend this one.
    ``theorems`` are names of formulas, which are compiled where they are used.
    """

    def __init__(self, name: str, parameters: Sequence[Parameter] = ()) -> None:
        self.name = name
        self.parameters = tuple(parameters)
        self.names: dict[str, Entity] = {}
        self.local: set[str] = set()
        self.theorems: set[str] = set()
        self.modules: dict[str, tree.Module] = {}
        """The modules that are defined inside this one."""
        self.around: dict[str, dict[str, Entity]] = {}
        """The names before the definition of each of these modules, which it may use."""
        self.assumptions: list[tree.Assume] = []
        self.extended: list[Scope] = []
        self.hidden: dict[str, Entity] = {}
        """Names that a module may define itself instead."""
        self.parts: dict[str, Scope] = {}
        """The modules that an instance extends, shared by all of these."""

    def find(self, name: str, span: Span) -> Entity:
        """Returns the meaning of a name. Raises `Rejected`."""
        entity = self.names.get(name) or self.hidden.get(name)
        if entity is None:
            raise self.unknown(name, span, self.names)
        return entity.meaning

    def unknown(self, name: str, span: Span, names: Mapping[str, object]) -> Rejected:
        """Returns the error for a name without a meaning."""
        home = _HOMES.get(name)
        hint = suggestion(name, names)
        if home is not None:
            hint = f"; EXTENDS {home} brings it"
        return Rejected([Problem("F653", span, f'"{name}" is not defined here{hint}')])

    def visible(self) -> Iterator[tuple[str, Entity]]:
        """Yields the names for modules that extend this one."""
        for name, entity in self.names.items():
            if name not in self.local:
                yield name, entity

    def declare(self, name: str, entity: Entity, span: Span, *, local: bool = False) -> None:
        """Adds a name. Raises `Rejected` if it has another meaning."""
        earlier = self.names.get(name)
        if earlier is not None and earlier is not entity and not _same(earlier, entity):
            notes = ((earlier.span, "it is declared here as well"),) if earlier.span else ()
            message = f'"{name}" has a meaning already'
            if earlier.home and earlier.home != self.name:
                message = f"{message}, in module {earlier.home}"
            raise Rejected([Problem("F652", span, message, notes)])
        self.names[name] = entity
        if local:
            self.local.add(name)


def _same(first: Entity, second: Entity) -> bool:
    """Returns whether two entities come from the same text, as SANY allows."""
    return first.home == second.home and type(first) is type(second) and first.span == second.span


_HOMES = {
    "+": "Naturals", "-": "Naturals", "*": "Naturals", "..": "Naturals", "<=": "Naturals",
    "<": "Naturals", ">": "Naturals", ">=": "Naturals", "%": "Naturals", "\\div": "Naturals",
    "^": "Naturals", "Nat": "Naturals", "Int": "Integers", "-.": "Integers", "/": "Reals",
    "Cardinality": "FiniteSets", "IsFiniteSet": "FiniteSets", "\\o": "Sequences",
    "Append": "Sequences", "Head": "Sequences", "Tail": "Sequences", "Len": "Sequences",
    "Seq": "Sequences", "SubSeq": "Sequences", "SelectSeq": "Sequences", ":>": "TLC",
    "@@": "TLC", "Print": "TLC", "PrintT": "TLC", "Assert": "TLC", "Permutations": "TLC",
    "TLCGet": "TLC", "TLCSet": "TLC", "ToString": "TLC",
}  # fmt: skip
