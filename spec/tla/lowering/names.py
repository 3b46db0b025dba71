"""Lowers names, and applies definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from fencepost.spec.core import ir
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.traverse import walk
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.inference.kinds import (
    Kind,
    NotLowered,
    core,
)
from fencepost.spec.tla.lowering.function_sets import FunctionSets
from fencepost.spec.tla.lowering.places import Argument, Definition, LocalInstance, Place
from fencepost.spec.tla.lowering.terms import (
    Term,
)
from fencepost.spec.tla.modules.scopes import BuiltIn, Given, Operator, Part, Substituted, Variable
from fencepost.spec.tla.syntax import tree


class Names(FunctionSets):
    """Lowers names. ``kinds`` are those of the variables.

    ``after`` has the terms of the variables in the next state: those that are assigned so far in an
    action, or all of them on a step.
    """

    LANGUAGE_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {}
    """The forms of the operators of the language, and below of those of standard modules."""
    BUILT_IN_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {}

    def __init__(self, specification: Specification, kinds: list[Kind]) -> None:
        super().__init__(specification)
        self.kinds = kinds
        self.after: Mapping[int, Callable[[], Term]] = {}
        self.initial = False
        """Whether the expressions are about an initial state: ``after`` has its variables."""

    def reads_next(self, expr: Expr) -> bool:
        return any(isinstance(node, ir.Variable) and node.next for node in walk(expr))

    # ------------------------------------------------------------ names

    def named(self, node: Any, env: Place) -> Term:
        if not node.path:
            form = self.LANGUAGE_FORMS.get(node.name)
            if form is not None:
                return form(self, node, env)
            local = env.names.get(node.name)
            if local is not None:
                return self._local(local, node, env)
        entity, instance = self.meaning(node, env)
        match entity:
            case Variable(index=index):
                return self.variable(index, node.span, env.primed)
            case Given(value=value):
                return self.constant(value)
            case Substituted():
                hidden = self.hidden(entity, env) if env.primed else None
                if hidden is not None:
                    return self.variable(hidden, node.span, True)
                return self.expr(entity.expr, env.outside(entity.outer))
            case BuiltIn():
                built_in = self.BUILT_IN_FORMS.get(entity.name)
                if built_in is None:
                    raise NotLowered(f'the operator "{entity.name}" is applied to a state')
                return built_in(self, node, env)
            case Operator():
                return self.expr(entity.body, self.called(entity, node, env, instance))
            case _:
                raise NotLowered(f'"{node.name}" is used')

    possible = 0
    """The number of ENABLED expressions around what is lowered."""
    hidden_variables: dict[Substituted, Place]
    """The hidden variables of ENABLED, with the places of their expressions."""

    def hidden(self, entity: Substituted, env: Place) -> int | None:
        """Returns the number of the hidden variable that a variable of an instance is in ENABLED,
        or None if it is a constant or a variable of the module. A hidden variable has the value of
        an expression in the current state, and any value in the next.
        """
        raise NotImplementedError

    def variable(self, index: int, span: Span, primed: bool) -> Term:
        """Returns the value of a variable in the current state or in the next first."""
        if self.initial and primed:
            raise NotLowered("the initial condition is about the next state")
        if not primed and not self.initial:
            return Term(self.kinds[index], ir.Variable(core(self.kinds[index]), index))
        term = self.after.get(index)
        if term is None:
            variables = [*self.specification.variables, *self.hidden_variables]
            name = variables[index].name + ("" if self.initial else "'")
            return self.failing(span, f"{name} is read here before it has a value")
        return term()

    def _local(self, local: Any, node: Any, env: Place) -> Term:
        if isinstance(local, Definition):
            return self.expr(local.body, self.entered(local, node, env))
        assert not isinstance(local, LocalInstance)
        return self.bound_value(local, env.primed)

    def definition(self, node: tree.Expr, env: Place) -> tuple[Place, tree.Expr]:
        while (
            isinstance(node, tree.Apply) and not node.args and node.name not in self.LANGUAGE_FORMS
        ):
            local = None if node.path else env.names.get(node.name)
            if isinstance(local, Argument) and local.term is None:
                node, env = local.node, self.inside_of(local, env.primed)
                continue
            if isinstance(local, Definition):
                node, env = local.body, self.entered(local, node, env)
                continue
            if local is not None or node.name in ("BOOLEAN", "STRING"):
                break
            entity, instance = self.meaning(node, env)
            if isinstance(entity, Substituted):
                node, env = entity.expr, env.outside(entity.outer)
            elif isinstance(entity, Operator) and not isinstance(entity, Part):
                env = self.called(entity, node, env, instance)
                node = entity.body
            else:
                break
        return env, node

    def inside_of(self, local: Argument, primed: bool) -> Place:
        """Returns the place of an argument, whose value is wanted in this or in the next state."""
        return local.env.prime() if primed and not local.env.primed else local.env

    def bound_value(self, local: Term | Argument, primed: bool) -> Term:
        """Returns the value of a bound name or of a parameter."""
        if isinstance(local, Term):
            return local
        if local.term is not None and not primed:
            return local.term
        return self.expr(local.node, self.inside_of(local, primed))

    def entered(self, local: Definition, node: Any, env: Place) -> Place:
        """Returns the place of the body of a local definition."""
        names = {
            parameter.name: self.bound(parameter, arg, env)
            for parameter, arg in zip(local.parameters, node.args, strict=True)
        }
        self.check_recursion(local, node.args, env)
        inner = local.env.having(names).inside(local, env.trail)
        return inner.prime() if env.primed and not inner.primed else inner

    def apply(self, operator: tree.Expr, args: list[Term], env: Place) -> Term:
        """Applies an operator that is an argument."""
        definition = self.bound(tree.Parameter("", len(args), operator.span), operator, env)
        assert isinstance(definition, Definition)
        names = definition.parameters
        inner = definition.env.having({p.name: t for p, t in zip(names, args, strict=True)})
        return self.expr(definition.body, inner.inside(definition, env.trail))
