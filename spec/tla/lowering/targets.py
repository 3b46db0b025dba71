"""Finds the variables that an action assigns, and the choices in an action."""

from __future__ import annotations

from typing import Any

from fencepost.spec.text.problem import Rejected
from fencepost.spec.tla.lowering.constants import parts
from fencepost.spec.tla.lowering.places import Argument, Definition, Place
from fencepost.spec.tla.lowering.tables import Tables
from fencepost.spec.tla.modules.scopes import Operator, Substituted, Variable
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply


class Targets(Tables):
    """Finds what an action assigns."""

    def hidden(self, entity: Substituted, env: Place) -> int | None:
        if not self.possible or entity.outer.parameters:
            return None
        if entity not in self.hidden_variables:
            outside = env.outside(entity.outer)
            constant = self.is_constant(entity.expr, outside)
            if constant or self.variables_of(entity.expr, outside) is not None:
                return None
            self.hidden_variables[entity] = outside
        return len(self.kinds) + [*self.hidden_variables].index(entity)

    def target(self, node: Any, env: Place) -> int | None:
        """Returns the variable that an equation assigns, or None."""
        if self.initial:
            return self._variable_of(node, env)
        if not isinstance(node, Apply):
            return None
        if node.name == "'" and len(node.args) == 1 and not node.path:
            return self._variable_of(node.args[0], env)
        if node.args:
            return None
        local = None if node.path else env.names.get(node.name)
        if isinstance(local, Argument):
            return self.target(local.node, local.env)
        if isinstance(local, Definition):
            return None if local.parameters else self.target(local.body, local.env)
        if local is not None or node.name in ("BOOLEAN", "STRING"):
            return None
        entity = self.meaning(node, env)[0]
        match entity:
            case Substituted() if self.hidden(entity, env) is not None:
                return None
            case Substituted():
                return self.target(entity.expr, env.outside(entity.outer))
            case Operator(parameters=()) if isinstance(entity.body, Apply):
                if entity.scope.parameters or entity in env.trail:
                    return None
                return self.target(entity.body, _inside(entity, env))
            case _:
                return None

    def _variable_of(self, node: Any, env: Place) -> int | None:
        variables = self.variables_of(node, env)
        single = not isinstance(node, tree.Tuple) and variables is not None and len(variables) == 1
        return variables[0] if single and variables is not None else None

    def variables_of(self, node: Any, env: Place) -> list[int] | None:
        """Returns the variables in a tuple of variables, or in a name of one, else None."""
        if isinstance(node, tree.Tuple):
            result: list[int] = []
            for item in node.items:
                variables = self.variables_of(item, env)
                if variables is None:
                    return None
                result += variables
            return result
        if not isinstance(node, Apply) or node.args:
            return None
        local = None if node.path else env.names.get(node.name)
        if isinstance(local, Argument):
            return self.variables_of(local.node, local.env)
        if isinstance(local, Definition):
            return None if local.parameters else self.variables_of(local.body, local.env)
        if local is not None or node.name in ("BOOLEAN", "STRING"):
            return None
        entity = self.meaning(node, env)[0]
        match entity:
            case Variable(index=index):
                return [index]
            case Substituted():
                hidden = self.hidden(entity, env)
                if hidden is not None:
                    return [hidden]
                return self.variables_of(entity.expr, env.outside(entity.outer))
            case Operator(parameters=()) if isinstance(entity.body, Apply | tree.Tuple):
                if entity.scope.parameters or entity in env.trail:
                    return None
                return self.variables_of(entity.body, _inside(entity, env))
            case _:
                return None

    def splits(self, node: Any, env: Place, seen: frozenset[int]) -> bool:
        """Returns whether there may be several ways through an action, or an assignment in it."""
        match node:
            case tree.Junction(sign="\\/") | tree.Quantified(sign="\\E") | tree.Boxed():
                return True
            case Apply(name="'" | "UNCHANGED"):
                return True
            case Apply(name="=" | "\\in", path=()) if self.initial:
                return True
            case Apply(path=path, args=args):
                if path:
                    return True
                local = env.names.get(node.name)
                if isinstance(local, Argument):
                    return self.splits(local.node, local.env, seen)
                if isinstance(local, Definition):
                    if id(local) in seen:
                        return False
                    return self.splits(local.body, local.env, seen | {id(local)})
                if local is None and node.name not in self.LANGUAGE_FORMS:
                    try:
                        entity = self.meaning(node, env)[0]
                    except Rejected:
                        # A parameter or a bound name: its values are looked at where it gets them.
                        return any(self.splits(arg, env, seen) for arg in args)
                    if isinstance(entity, Substituted):
                        return self.splits(entity.expr, env.outside(entity.outer), seen)
                    if isinstance(entity, Operator) and id(entity) not in seen:
                        inner = Place(entity.scope, {}, {})
                        if self.splits(entity.body, inner, seen | {id(entity)}):
                            return True
                return any(self.splits(arg, env, seen) for arg in args)
            case _:
                return any(self.splits(part, env, seen) for part in parts(node))


def _inside(operator: Operator, env: Place) -> Place:
    """Returns the place of the body of a definition without parameters."""
    return Place(operator.scope, {}, {}, trail=(*env.trail, operator))
