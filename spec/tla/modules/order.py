"""Checks the names in the units of a module, in their order: each is declared before it is used,
and a local name has no other meaning.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, cast, get_args

from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.operators import LANGUAGE
from fencepost.spec.tla.syntax.tree import Bound, Expr

_EXPRESSIONS = get_args(Expr)


class Order:
    """Checks the units of one module. ``earlier`` are the names declared so far, which grow. In an
    instance, they have the constants and variables of the module from the beginning.
    """

    def __init__(self, module: tree.Module, earlier: Container[str]) -> None:
        self._earlier = earlier
        self._later = {name: span for unit in module.units for name, span in _declared(unit)}
        """The names that the rest of the module declares, with their places."""
        self._recursive: dict[str, tree.Parameter] = {}
        """The operators that are declared as recursive, and not defined yet."""

    def check(self, unit: tree.Unit) -> None:
        """Checks a unit before its names are declared. Raises `Rejected`."""
        match unit:
            case tree.Recursive():
                self._recursive |= {name.name: name for name in unit.names}
            case tree.Definition():
                self._definition(unit, self._recursive, frozenset())
            case tree.Instance():
                self._instance(unit, frozenset())
            case tree.Assume(body=body):
                self._walk(body, frozenset())
            case _:
                pass
        for name, _ in _declared(unit):
            self._later.pop(name, None)

    def end(self) -> None:
        """Reports operators that are declared as recursive, but not defined."""
        _all_defined(self._recursive)

    def _definition(
        self,
        unit: tree.Definition,
        recursive: dict[str, tree.Parameter],
        bound: frozenset[str],
    ) -> None:
        """Checks a definition, which may use the names in ``recursive``."""
        if unit.name in LANGUAGE:
            message = f'"{unit.name}" is an operator of the language'
            raise Rejected([Problem("F652", unit.span, message)])
        names = {*recursive}
        declared = recursive.pop(unit.name, None)
        if declared is not None and declared.arity != len(unit.parameters):
            message = (
                f'"{unit.name}" has {len(unit.parameters)} parameters, but its RECURSIVE '
                f"declaration has {declared.arity}"
            )
            raise Rejected([Problem("F654", unit.span, message)])
        if isinstance(unit.body, tree.Function) and unit.body.name:
            names.add(unit.name)
        inside = self._with(bound, ((p.name, p.span) for p in unit.parameters))
        self._walk(unit.body, inside | names)

    def _instance(self, unit: tree.Instance, bound: frozenset[str]) -> None:
        inside = self._with(bound, ((p.name, p.span) for p in unit.parameters))
        for _, expr, _ in unit.substitutions:
            self._walk(expr, inside)

    def _with(self, bound: frozenset[str], names: Iterable[tuple[str, Span]]) -> frozenset[str]:
        """Returns the local names with more of them."""
        for name, span in names:
            if name in bound or (name in self._earlier and name not in self._later):
                raise Rejected([Problem("F652", span, f'"{name}" has a meaning already')])
            bound |= {name}
        return bound

    def _bounds(self, bounds: Iterable[Bound], bound: frozenset[str]) -> frozenset[str]:
        inside = bound
        for each in bounds:
            if each.domain is not None:
                self._walk(each.domain, bound)
            inside = self._with(inside, ((name, each.span) for name in each.names))
        return inside

    def _walk(self, node: Expr, bound: frozenset[str]) -> None:
        match node:
            case tree.Apply(name=name, path=path, span=span):
                first = path[0].name if path else name
                if first in self._later and first not in bound:
                    self._early(first, span)
            case (
                tree.Quantified(bounds=bounds, body=body) | tree.Function(bounds=bounds, body=body)
            ):
                self._walk(body, self._bounds(bounds, bound))
                return
            case tree.Image(bounds=bounds, element=body):
                self._walk(body, self._bounds(bounds, bound))
                return
            case tree.Choose(bound=only, body=body) | tree.Filter(bound=only, condition=body):
                self._walk(body, self._bounds((only,), bound))
                return
            case tree.Lambda(parameters=parameters, body=body):
                self._walk(body, self._with(bound, ((p.name, p.span) for p in parameters)))
                return
            case tree.Let(units=units, body=body):
                self._walk(body, self._let(units, bound))
                return
            case _:
                pass
        for part in _parts(node):
            self._walk(part, bound)

    def _let(self, units: Iterable[tree.Unit], bound: frozenset[str]) -> frozenset[str]:
        recursive: dict[str, tree.Parameter] = {}
        for unit in units:
            match unit:
                case tree.Recursive():
                    self._with(bound, ((name.name, name.span) for name in unit.names))
                    recursive |= {name.name: name for name in unit.names}
                case tree.Definition():
                    after = self._with(bound, [(unit.name, unit.span)])
                    self._definition(unit, recursive, bound)
                    bound = after
                case tree.Instance():
                    self._instance(unit, bound)
                    bound = self._with(bound, [(unit.name, unit.span)]) if unit.name else bound
                case _:
                    pass
        _all_defined(recursive)
        return bound

    def _early(self, name: str, span: Span) -> None:
        message = f'"{name}" is used here before its definition'
        notes = ((self._later[name], "it is defined here"), (None, "move the definition up"))
        raise Rejected([Problem("F653", span, message, notes)])


def _all_defined(recursive: Mapping[str, tree.Parameter]) -> None:
    for name, parameter in recursive.items():
        message = f'"{name}" is declared as RECURSIVE, but not defined'
        raise Rejected([Problem("F653", parameter.span, message)])


def _declared(unit: tree.Unit) -> Iterator[tuple[str, Span]]:
    match unit:
        case tree.Constants(names=names) | tree.Variables(names=names):
            yield from ((name.name, name.span) for name in names)
        case tree.Definition() | tree.Instance() | tree.Assume() | tree.Theorem() if unit.name:
            yield unit.name, unit.span
        case _:
            pass


def _parts(node: object) -> Iterator[Expr]:
    """Yields the expressions in a node that binds no names."""
    values: Iterable[object] = ()
    if isinstance(node, tuple):
        values = cast("tuple[object, ...]", node)
    elif isinstance(node, (*_EXPRESSIONS, tree.Call, tree.Update)):
        values = (getattr(node, field.name) for field in fields(cast("Any", node)))
    for value in values:
        if isinstance(value, _EXPRESSIONS):
            yield cast("Expr", value)
        else:
            yield from _parts(value)
