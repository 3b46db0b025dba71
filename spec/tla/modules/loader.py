"""Reads a module and the modules that it extends or instantiates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fencepost.spec.text import library
from fencepost.spec.text.problem import Problem, Rejected, suggestion
from fencepost.spec.text.source import Source, Span
from fencepost.spec.tla.modules.order import Order
from fencepost.spec.tla.modules.scopes import (
    BuiltIn,
    Constant,
    Named,
    Operator,
    Scope,
    Substituted,
    Variable,
)
from fencepost.spec.tla.standard.table import FOLDER, STANDARD
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.units import has_module, parse_module

SUFFIX = ".tla"
MAX_MODULES = 200
MAX_NESTED = 30


class Loader:
    """Reads modules by name from the folder of the root module, and then from ``search``."""

    def __init__(self, root: Path, search: Sequence[Path] = ()) -> None:
        self.root = root
        self.folders = (root.parent, *search)
        self.variables: list[Variable] = []
        self.sources: dict[str, Source] = {}
        self.trees: list[tree.Module] = []
        """The modules that were read, in order."""
        self._trees: dict[str, tree.Module] = {}
        self._scopes: dict[str, Scope] = {}
        self._trail: list[str] = []
        self.instances: list[Scope] = []
        """Every scope that was made, for overrides in one module and for checks."""

    def load(self) -> Scope:
        """Returns the scope of the root module. Raises `Rejected`."""
        source = library.read(self.root)
        module = parse_module(source, self.root.stem)
        if module.name != self.root.stem:
            message = f'the module of this file must be called "{self.root.stem}"'
            raise Rejected([Problem("F652", module.span, message)])
        self.sources[module.name] = source
        self.trees.append(module)
        self._trees[module.name] = module
        return self.plain(module.name, module.span, None)

    @property
    def untranslated(self) -> bool:
        """Whether the root module has a PlusCal algorithm without a translation."""
        text = self.sources[self.trees[0].name].text
        algorithm = "--algorithm" in text or "--fair algorithm" in text
        return algorithm and "BEGIN TRANSLATION" not in text

    def scopes(self, module: str) -> list[Scope]:
        """Returns the scopes of a module: the plain one, and those of its instances."""
        plain = self._scopes.get(module)
        every = [scope for scope in self.instances if scope.name == module]
        return every if plain is None or plain in every else [plain, *every]

    # ------------------------------------------------------------ modules

    def plain(self, name: str, span: Span, inside: Scope | None) -> Scope:
        """Returns the scope of a module whose constants and variables are its own."""
        nested = None if inside is None else inside.modules.get(name)
        if nested is not None:
            return self._entered(nested, Scope(name), inside)
        if name not in self._scopes:
            standard = self._standard(name)
            if standard is not None:
                self._scopes[name] = standard
            else:
                module = self._tree(name, span)
                self._scopes[name] = self._entered(module, Scope(name), None)
        return self._scopes[name]

    def _standard(self, name: str) -> Scope | None:
        """Returns the scope of a standard module that is written in Python."""
        table = STANDARD.get(name)
        if table is None:
            return None
        scope = Scope(name)
        for extended in table.extends:
            scope.names.update(self.plain(extended, _NOWHERE, None).names)
        for operator, (arity, call) in table.operators.items():
            scope.names[operator] = BuiltIn(operator, name, arity, call)
        return scope

    def _tree(self, name: str, span: Span) -> tree.Module:
        if name in self._trees:
            return self._trees[name]
        path = self._path(name)
        source = self.sources[self.trees[0].name]
        if path is not None:
            source = library.read(path)
        elif not has_module(source, name):
            folders = (*self.folders, FOLDER)
            near = [p.stem for folder in folders for p in _modules(folder)]
            hint = suggestion(name, [*near, *STANDARD])
            places = "next to the root module or on --path"
            message = (
                f'no module "{name}" is found {places}, and no standard module has this name{hint}'
            )
            raise Rejected([Problem("F652", span, message)])
        if len(self._trees) >= MAX_MODULES:
            raise Rejected([Problem("F652", span, f"more than {MAX_MODULES} modules are read")])
        module = parse_module(source, name)
        self.trees.append(module)
        self.sources[name] = source
        self._trees[name] = module
        return module

    def _path(self, name: str) -> Path | None:
        for folder in (*self.folders, FOLDER):
            path = folder / f"{name}{SUFFIX}"
            if library.is_file(path):
                return path
        return None

    def _entered(self, module: tree.Module, scope: Scope, outer: Scope | None) -> Scope:
        """Fills the scope of a module."""
        if module.name in self._trail:
            circle = " needs ".join([*self._trail[self._trail.index(module.name) :], module.name])
            message = f"modules must not need each other in a cycle: {circle}"
            raise Rejected([Problem("F652", module.span, message)])
        if len(self._trail) >= MAX_NESTED:
            message = f"modules are nested more than {MAX_NESTED} deep here"
            raise Rejected([Problem("F652", module.span, message)])
        self._trail.append(module.name)
        self.instances.append(scope)
        if outer is not None:
            names = outer.around[module.name]
            scope.names.update(names)
            scope.local |= names.keys()
            scope.modules.update(outer.modules)
            scope.around.update(outer.around)
        problems: list[Problem] = []
        trail = [*self._trail]
        for name, span in module.extends:
            try:
                extended = self.plain(name, span, scope)
            except Rejected as rejected:
                problems += rejected.problems
                self._trail = [*trail]
                continue
            scope.extended.append(extended)
            scope.modules.update(extended.modules)
            scope.around.update(extended.around)
            self._extend(scope, extended, span)
        if problems:
            raise Rejected(problems)
        self._units(module, scope)
        self._trail.pop()
        return scope

    def _extend(self, scope: Scope, extended: Scope, span: Span) -> None:
        """Adds the names of an extended module."""
        for name, entity in extended.visible():
            scope.declare(name, entity, span)
        if extended.name in ("FiniteSetsExt", "SequencesExt"):
            # Since 2026 they extend Functions; modules written before may define a Range.
            scope.hidden.update(self.plain("Functions", span, None).visible())
        scope.hidden.update(extended.hidden)

    def _units(self, module: tree.Module, scope: Scope) -> None:
        order = Order(module, scope.names)
        for unit in module.units:
            order.check(unit)
            self._unit(unit, scope)
        order.end()

    def _unit(self, unit: tree.Unit, scope: Scope) -> None:
        match unit:
            case tree.Constants(names=names):
                for name in names:
                    constant = Constant(name.name, scope.name, name.span, name.arity)
                    if not _declared_already(scope, constant):
                        scope.declare(name.name, constant, name.span)
            case tree.Variables(names=names):
                for name in names:
                    variable = Variable(name.name, scope.name, name.span, len(self.variables))
                    if not _declared_already(scope, variable):
                        self.variables.append(variable)
                        scope.declare(name.name, variable, name.span)
            case tree.Definition():
                operator = Operator(unit.name, scope, unit.span, unit.parameters, unit.body)
                scope.declare(unit.name, operator, unit.span, local=unit.local)
            case tree.Instance():
                self._instance(unit, scope)
            case tree.Assume():
                scope.assumptions.append(unit)
                if unit.name:
                    operator = Operator(unit.name, scope, unit.span, (), unit.body)
                    scope.declare(unit.name, operator, unit.span)
            case tree.Theorem():
                scope.theorems.add(unit.name)
                operator = Operator(unit.name, scope, unit.span, (), unit.body)
                scope.declare(unit.name, operator, unit.span)
            case tree.Module():
                scope.modules[unit.name] = unit
                scope.around[unit.name] = {**scope.names}
            case tree.Recursive():
                pass

    # ------------------------------------------------------------ instances

    def _instance(self, unit: tree.Instance, scope: Scope) -> None:
        inner = self.instantiated(unit, scope)
        if unit.name:
            named = Named(unit.name, scope.name, unit.span, unit.parameters, inner)
            scope.declare(unit.name, named, unit.span, local=unit.local)
            return
        for name, entity in inner.visible():
            if not isinstance(entity, Substituted | Constant | Variable):
                scope.declare(name, entity, unit.span, local=unit.local)

    def instantiated(self, unit: tree.Instance, scope: Scope) -> Scope:
        """Returns the scope of an instance."""
        nested = scope.modules.get(unit.module)
        if nested is None and unit.module in STANDARD and not unit.substitutions:
            return self.plain(unit.module, unit.span, scope)
        module = nested or self._tree(unit.module, unit.span)
        inner = Scope(unit.module, (*scope.parameters, *unit.parameters))
        substituted = {name: (expr, span) for name, expr, span in unit.substitutions}
        declared = self._declared(module, scope)
        for name, (_, span) in substituted.items():
            if name not in declared:
                hint = suggestion(name, declared)
                message = f'module {unit.module} declares no constant or variable "{name}"{hint}'
                raise Rejected([Problem("F653", span, message)])
        names = {*scope.names, *(p.name for p in unit.parameters)}
        for name in declared:
            if name in substituted:
                expr = substituted[name][0]
            elif name in names:
                expr = tree.Apply(name, (), unit.span)
            else:
                message = f'the instance of {unit.module} needs a value for "{name}"'
                note = (None, f"WITH {name} <- ... gives it one")
                raise Rejected([Problem("F653", unit.span, message, (note,))])
            inner.names[name] = Substituted(name, unit.module, expr, scope)
        return self._extended(module, inner, scope if nested is not None else None)

    def _declared(self, module: tree.Module, scope: Scope) -> dict[str, Span]:
        """Returns the constants and variables of a module and of those that it extends."""
        names: dict[str, Span] = {}
        for name, span in module.extends:
            nested = scope.modules.get(name)
            if name not in STANDARD or nested is not None:
                names |= self._declared(nested or self._tree(name, span), scope)
        for unit in module.units:
            if isinstance(unit, tree.Constants | tree.Variables):
                names |= {name.name: name.span for name in unit.names}
        return names

    def _extended(self, module: tree.Module, inner: Scope, outer: Scope | None) -> Scope:
        """Fills the scope of an instance. The modules that it extends have the same
        substitutions.
        """
        if len(self._trail) >= MAX_NESTED or self._trail.count(module.name) > 1:
            message = f"modules are nested more than {MAX_NESTED} deep here"
            raise Rejected([Problem("F652", module.span, message)])
        self._trail.append(module.name)
        self.instances.append(inner)
        if outer is not None:
            names = {n: e for n, e in outer.around[module.name].items() if n not in inner.names}
            inner.names.update(names)
            inner.local |= names.keys()
            inner.modules.update(outer.modules)
            inner.around.update(outer.around)
        self._fill(module, inner)
        self._trail.pop()
        return inner

    def _fill(self, module: tree.Module, inner: Scope) -> None:
        """Fills the scope of an instance. Each module that it extends has a scope of its own with
        the same substitutions, which keeps local names apart.
        """
        for name, span in module.extends:
            nested = inner.modules.get(name)
            if name in STANDARD and nested is None:
                extended = self.plain(name, span, None)
            else:
                extended = inner.parts.get(name) or Scope(name, inner.parameters)
                if name not in inner.parts:
                    extended.parts = inner.parts
                    inner.parts[name] = extended
                    self.instances.append(extended)
                    extended.names.update(
                        (other, entity)
                        for other, entity in inner.names.items()
                        if isinstance(entity, Substituted)
                    )
                    extended.modules.update(inner.modules)
                    extended.around.update(inner.around)
                    self._fill(nested or self._tree(name, span), extended)
                inner.extended.append(extended)
                inner.modules.update(extended.modules)
                inner.around.update(extended.around)
            self._extend(inner, extended, span)
        self._units(module, inner)


def _declared_already(scope: Scope, new: Constant | Variable) -> bool:
    """Returns whether an instance replaces a name, or it is declared in the same way already."""
    earlier = scope.names.get(new.name)
    if isinstance(earlier, Substituted):
        return True
    arity = getattr(new, "arity", 0)
    return isinstance(earlier, type(new)) and getattr(earlier, "arity", 0) == arity


def _modules(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == SUFFIX]
    except OSError:
        return []


_NOWHERE = Span(Source("", ""), 0, 0)
