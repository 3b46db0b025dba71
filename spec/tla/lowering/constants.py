"""Finds constant expressions, which the evaluator evaluates once, and the meanings of names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.machine import (
    EFFECT,
    Env,
    Layout,
    LetInstance,
    LetOperator,
    Local,
    Located,
)
from fencepost.spec.tla.evaluate.names import part
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.inference.forms import Forms
from fencepost.spec.tla.inference.kinds import NotLowered
from fencepost.spec.tla.lowering.places import Argument, Binding, Definition, LocalInstance, Place
from fencepost.spec.tla.lowering.terms import Term, Terms
from fencepost.spec.tla.modules.scopes import (
    BuiltIn,
    Constant,
    Entity,
    Given,
    Named,
    Operator,
    Part,
    Substituted,
    Variable,
)
from fencepost.spec.tla.standard.tlc import CHANGING
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply, Expr
from fencepost.spec.tla.values.kinds import EvaluationError, LazySet, Value

LANGUAGE = frozenset([
    "=", "#", "\\in", "\\notin", "\\subseteq", "~", "=>", "<=>", "\\cup", "\\cap", "\\",
    "SUBSET", "UNION", "DOMAIN", "BOOLEAN", "STRING",
])  # fmt: skip
"""The operators of the language, which no module defines."""
MAX_RECURSION = 50
"""The maximum nesting depth of the calls of one definition."""
MAX_WRITTEN = 64
"""The size of the largest constant set that is written out."""
OF_STATES = frozenset(["'", "ENABLED", "UNCHANGED", "[]", "<>", "~>", "-+->", "\\cdot"])
"""The operators of the language whose value is never taken for constant."""


class Constants(Terms):
    """Decides what is constant. A constant has the value that the evaluator computes."""

    def __init__(self, specification: Specification) -> None:
        super().__init__(Forms(specification.universe))
        self.specification = specification
        self.compiler = specification.compiler
        self._constant: dict[tuple[int, Place], tuple[Expr, bool]] = {}
        self._words: dict[int, tuple[Expr, frozenset[str]]] = {}
        self._unknown: set[int] = set()
        """The positions of the names without a value in the expression that is evaluated."""
        self._trail: list[tuple[int, Place]] = []

    # ------------------------------------------------------------ meanings

    def meaning(self, node: Apply, env: Place) -> tuple[Entity, list[Binding]]:
        """Returns the meaning of a name that is not local, and the arguments of the instances on
        the path to it.
        """
        scope = env.scope
        instance: list[Binding] = [*env.base.values()]
        for number, call in enumerate(node.path):
            local, args = env.names.get(call.name) if not number else None, call.args
            if isinstance(local, LocalInstance):
                named: Entity = local.named
                args = (*local.args, *args)
            else:
                named = scope.find(call.name, node.span)
            if isinstance(named, Operator):
                selectors = (*node.path[number + 1 :], tree.Call(node.name, node.args))
                return part(named, call.args, selectors, node.span), instance
            assert isinstance(named, Named)
            del instance[len(named.scope.parameters) - len(named.parameters) :]
            for parameter, arg in zip(named.parameters, args, strict=True):
                instance.append(self.bound(parameter, arg, env))
            scope = named.scope
        entity = scope.find(node.name, node.span)
        if isinstance(entity, Substituted) and node.args:
            return self._substituted_operator(entity, env)
        return entity, instance

    def _substituted_operator(
        self, entity: Substituted, env: Place
    ) -> tuple[Entity, list[Binding]]:
        outside = env.outside(entity.outer)
        if entity.operator is not None:
            return entity.operator, [*outside.base.values()]
        assert isinstance(entity.expr, Apply)
        if not entity.expr.path and entity.expr.name in outside.names:
            raise NotLowered(f'"{entity.name}" is an operator that is an argument')
        named, instance = self.meaning(entity.expr, outside)
        return (
            self._substituted_operator(named, outside)
            if isinstance(named, Substituted)
            else (named, instance)
        )

    def bound(self, parameter: tree.Parameter, arg: Expr, env: Place) -> Binding:
        """Returns the binding of a parameter to an argument."""
        if not parameter.arity:
            if isinstance(arg, Apply) and not arg.args and not arg.path and not env.primed:
                local = env.names.get(arg.name)
                if isinstance(local, Term | Argument):
                    return local
            return Argument(arg, env)
        if isinstance(arg, tree.Lambda):
            return Definition(arg.parameters, arg.body, env)
        assert isinstance(arg, Apply)
        local = None if arg.path else env.names.get(arg.name)
        if isinstance(local, Definition):
            return local
        names = tuple(
            tree.Parameter(f"{number} of {arg.name}", 0, arg.span)
            for number in range(parameter.arity)
        )
        args = tuple(Apply(name.name, (), arg.span) for name in names)
        if arg.name in ("/\\", "\\/"):
            return Definition(names, tree.Junction(arg.name, args, arg.span), env)
        return Definition(names, Apply(arg.name, args, arg.span, arg.path), env)

    def called(
        self, operator: Operator, node: Apply, env: Place, instance: Sequence[Binding]
    ) -> Place:
        """Returns the place of the body of a definition."""
        args = operator.args if isinstance(operator, Part) else node.args
        base = {
            parameter.name: binding
            for parameter, binding in zip(operator.scope.parameters, instance, strict=False)
        }
        own = {
            parameter.name: self.bound(parameter, arg, env)
            for parameter, arg in zip(operator.parameters, args, strict=True)
        }
        self.check_recursion(operator, args, env)
        trail = (*env.trail, operator)
        return Place(operator.scope, {**base, **own}, base, env.primed, trail)

    def check_recursion(self, definition: object, args: Sequence[Expr], env: Place) -> None:
        """Raises `NotLowered` for recursive calls, unless constants may end the recursion."""
        depth = env.trail.count(definition)
        constant = any(
            self.is_constant(arg, env) for arg in args if not isinstance(arg, tree.Lambda)
        )
        if depth > MAX_RECURSION or (depth and not constant):
            name = getattr(definition, "name", "a definition of a LET")
            raise NotLowered(f"the recursive {name} is applied to values that change")

    # ------------------------------------------------------------ constants

    def is_constant(self, node: Expr, env: Place) -> bool:
        """Returns whether an expression has one value in all states."""
        key = (id(node), env)
        if key not in self._constant:
            if key in self._trail:
                return True
            self._trail.append(key)
            self._constant[key] = node, self._is_constant(node, env, frozenset())
            self._trail.pop()
        return self._constant[key][1]

    def _is_constant(self, node: Any, env: Place, inner: frozenset[str]) -> bool:
        match node:
            case Apply(name=name, args=args, path=path):
                if not all(self._is_constant(arg, env, inner) for arg in args):
                    return False
                if not path:
                    if name in inner or name in LANGUAGE:
                        return True
                    if name in OF_STATES:
                        return False
                    local = env.names.get(name)
                    if local is not None:
                        return self._is_constant_binding(local, inner)
                elif not all(self._is_constant(a, env, inner) for c in path for a in c.args):
                    return False
                return self._is_constant_meaning(node, env)
            case tree.At():
                local = env.names.get("@")
                return "@" in inner or (isinstance(local, Term) and local.is_constant)
            case tree.Boxed() | tree.Fair():
                return False
            case tree.Except(function, updates):
                return (
                    self._is_constant(function, env, inner)
                    and all(self._is_constant(k, env, inner) for u in updates for k in u.path)
                    and all(self._is_constant(u.value, env, inner | {"@"}) for u in updates)
                )
            case tree.Let(units=units):
                for unit in units:
                    if isinstance(unit, tree.Definition):
                        inner |= {unit.name}
                for unit in units:
                    if isinstance(unit, tree.Instance):
                        return False
                    if isinstance(unit, tree.Definition):
                        names = inner | {p.name for p in unit.parameters}
                        if not self._is_constant(unit.body, env, names):
                            return False
                return self._is_constant(node.body, env, inner)
            case _:
                bound = [*getattr(node, "bounds", ())]
                if hasattr(node, "bound"):
                    bound.append(node.bound)
                inner |= {name for item in bound for name in item.names}
                if isinstance(node, tree.Lambda):
                    inner |= {p.name for p in node.parameters}
                if isinstance(node, tree.Function) and node.name:
                    inner |= {node.name}
                return all(self._is_constant(part, env, inner) for part in parts(node))

    def _is_constant_binding(self, local: Binding, inner: frozenset[str]) -> bool:
        match local:
            case Term():
                return local.is_constant
            case Argument(node, env):
                return self.is_constant(node, env)
            case Definition():
                names = frozenset(p.name for p in local.parameters)
                key = (id(local.body), local.env)
                if key in self._trail:
                    return True
                self._trail.append(key)
                result = self._is_constant(local.body, local.env, names)
                self._trail.pop()
                return result
            case LocalInstance():
                return False

    def _is_constant_meaning(self, node: Apply, env: Place) -> bool:
        try:
            entity, instance = self.meaning(node, env)
        except NotLowered:
            return False
        match entity:
            case Given():
                return True
            case Constant():
                return entity.override is not None
            case BuiltIn():
                return entity.name not in CHANGING
            case Substituted():
                return self.is_constant(entity.expr, env.outside(entity.outer))
            case Part():
                return False
            case Operator():
                body = entity.compiled.get((False, "value", False))
                if body is None or body.code is None or body.code.level:
                    return False
                if body.code.free & EFFECT:
                    return False
                return all(self._is_constant_binding(item, frozenset()) for item in instance)
            case Variable():
                return False
            case _:
                return False

    def evaluated(self, node: Expr, env: Place) -> Term:
        """Returns the value of a constant expression."""
        layout = Layout()
        frame: list[Any] = []
        outer, self._unknown = self._unknown, set[int]()
        try:
            inside = self._environment(node, env, layout, frame, {})
            code = self.compiler.expr(node, inside)
            # The evaluator decides again whether the expression is constant.
            assert not code.level, node
            assert not code.free & self._unknown, node
            layout.widen(frame)
            return self.constant(self._written(code.run(frame)))
        except Located as error:
            return self.failing(error.span, str(error))
        except EvaluationError as error:
            return self.failing(node.span, str(error))
        except Rejected as rejected:
            raise NotLowered(rejected.problems[0].message) from None
        finally:
            self._unknown = outer

    def _written(self, value: Value) -> Value:
        """Returns the normal form of a value, unless it is a large set."""
        try:
            if isinstance(value, LazySet) and (
                not value.is_finite(self.universe) or value.size(self.universe) > MAX_WRITTEN
            ):
                return value
            return self.universe.normalise(value)
        except EvaluationError:
            return value

    def _environment(
        self, node: Expr, env: Place, layout: Layout, frame: list[Any], build: dict[Any, Any]
    ) -> Env:
        """Returns the place for the evaluator. Only names that the expression uses are bound."""
        locals_: dict[str, Any] = {}
        result = Env(env.scope, layout)
        result.locals = locals_
        pending = [*self.words(node), *env.base]
        while pending:
            name = pending.pop()
            binding = env.names.get(name, env.base.get(name))
            if binding is None or name in locals_:
                continue
            key = id(binding)
            if key in build:
                locals_[name] = build[key]
            elif isinstance(binding, LocalInstance):
                locals_[name] = LetInstance(binding.named, binding.args)
                pending += [arg.name for arg in binding.args if isinstance(arg, Apply)]
            elif isinstance(binding, Definition) and name in env.base:
                raise NotLowered("an instance has an operator as an argument")
            elif isinstance(binding, Definition):
                parameters = {
                    p.name: Local("operator" if p.arity else "lazy", layout.slot(), p.arity)
                    for p in binding.parameters
                }
                operator = LetOperator([*parameters.values()], binding.body, layout.slot())
                build[key] = locals_[name] = operator
                inner = self._environment(binding.body, binding.env, layout, frame, build)
                operator.env = inner.having(parameters)
            else:
                term = self._cached(binding)
                local = Local("value", layout.slot())
                layout.widen(frame)
                if term is not None and term.is_constant:
                    frame[local.slot] = term.value
                else:
                    self._unknown.add(local.slot)
                build[key] = locals_[name] = local
        layout.widen(frame)
        for name in env.base:
            result.base[name] = locals_[name]
        return result

    def _cached(self, binding: Term | Argument) -> Term | None:
        if isinstance(binding, Term):
            return binding
        if binding.term is not None and binding.term.is_constant:
            return binding.term
        if self.is_constant(binding.node, binding.env):
            return self.evaluated(binding.node, binding.env)
        return None

    def words(self, node: Expr) -> frozenset[str]:
        """Returns all names in an expression."""
        cached = self._words.get(id(node))
        if cached is None:
            names: set[str] = set()
            pending: list[Any] = [node]
            while pending:
                item = pending.pop()
                if isinstance(item, Apply):
                    names.add(item.name)
                    names.update(call.name for call in item.path)
                elif isinstance(item, tree.At):
                    names.add("@")
                pending += parts(item)
            cached = self._words[id(node)] = (node, frozenset(names))
        return cached[1]


def parts(node: Any) -> list[Any]:
    """Returns the nodes directly inside a node of a module."""
    result: list[Any] = []
    pending = [getattr(node, item.name) for item in fields(node) if item.name != "span"]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            pending += value
        elif is_dataclass(value) and not isinstance(value, Span | tree.Parameter):
            result.append(value)
    return result
