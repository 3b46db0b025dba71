"""Counts the ways through conditions that an action quantifies over a set that changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.spec.core import ir
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.operators import Operator as Arithmetic
from fencepost.spec.core.operators import result_range
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.kinds import (
    NotLowered,
    Number,
    core,
)
from fencepost.spec.tla.lowering.places import Argument, Definition, Place
from fencepost.spec.tla.lowering.targets import Targets
from fencepost.spec.tla.lowering.terms import FALSE, TRUE, Term, literal
from fencepost.spec.tla.modules.scopes import Operator, Substituted
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply

MAX_WAYS = 1 << 20
"""The maximum number of ways through the conditions of an action in one state."""


class Ways(Targets):
    """Counts ways. Each way through the conditions of an action is a step of its own, as if the
    action chose one of them.
    """

    def ways(self, node: Any, env: Place) -> Term:
        """Returns the number of ways through an action that assigns nothing. Raises `NotLowered` if
        it assigns a variable.
        """
        if not self.splits(node, env, frozenset()):
            return self._one_if(self.cond(node, env))
        match node:
            case tree.Junction(sign="/\\", items=items):
                return self._all_of([*items], env)
            case tree.Junction(items=items):
                return self._sum([self.ways(item, env) for item in items], node.span)
            case tree.Quantified(sign=sign):
                return self._quantified_ways(node, env, sign == "\\A")
            case tree.If(condition=condition, then=first, otherwise=second):
                test = self.cond(condition, env)
                if test in (TRUE, FALSE):
                    return self.ways(first if test == TRUE else second, env)
                return self.either(test, self.ways(first, env), self.ways(second, env))
            case tree.Let(body=body):
                inner, held = self.let_place(node, env)
                return self.holding(held, self.ways(body, inner))
            case tree.Labelled(body=body):
                return self.ways(body, env)
            case Apply(name="=>", args=(left, right), path=()):
                test = self.cond(left, env)
                return self.either(test, self.ways(right, env), self.constant(1))
            case Apply() if not node.path and node.name in self.LANGUAGE_FORMS:
                if node.name in ("=", "\\in") and self.target(node.args[0], env) is None:
                    return self._one_if(self.cond(node, env))
            case Apply() if not env.primed:
                return self._ways_of_call(node, env)
            case _:
                pass
        raise NotLowered("an action with assignments is quantified over a set that changes")

    def _one_if(self, condition: Expr) -> Term:
        if condition in (TRUE, FALSE):
            return self.constant(1 if condition == TRUE else 0)
        return self.either(condition, self.constant(1), self.constant(0))

    def _ways_of_call(self, node: Apply, env: Place) -> Term:
        local = None if node.path else env.names.get(node.name)
        if isinstance(local, Definition):
            return self.ways(local.body, self.entered(local, node, env))
        if isinstance(local, Argument):
            return self.ways(local.node, local.env)
        if local is not None:
            return self._one_if(self.cond(node, env))
        entity, instance = self.meaning(node, env)
        if isinstance(entity, Substituted) and not node.args:
            return self.ways(entity.expr, env.outside(entity.outer))
        if isinstance(entity, Operator):
            return self.ways(entity.body, self.called(entity, node, env, instance))
        return self._one_if(self.cond(node, env))

    def _all_of(self, items: list[Any], env: Place) -> Term:
        first, *rest = items
        term = self.ways(first, env)
        if not rest:
            return term

        def with_rest(count: Term) -> Term:
            none = ir.Equal(self.own(count), literal(0))
            product = self._product_of(count, self._all_of(rest, env), first.span)
            return self.either(none, self.constant(0), product)

        return self.shared(Term(term.kind, self.own(term)), with_rest)

    def _sum(self, terms: Sequence[Term], span: Span) -> Term:
        total = terms[0]
        for term in terms[1:]:
            total = self._computed(Arithmetic.ADD, total, term, span)
        return total

    def _product_of(self, left: Term, right: Term, span: Span) -> Term:
        return self._computed(Arithmetic.MULTIPLY, left, right, span)

    def _computed(self, operator: Arithmetic, left: Term, right: Term, span: Span) -> Term:
        """Returns a sum or product of numbers of ways, which is an error above `MAX_WAYS`."""
        ranges = [(t.kind.low, t.kind.high) for t in (left, right) if isinstance(t.kind, Number)]
        low, high = result_range(operator, *ranges)
        whole = Number(low, high)
        expr = ir.Arithmetic(core(whole), operator, self.own(left), self.own(right))
        if high <= MAX_WAYS:
            return Term(whole, expr)

        def limited(term: Term) -> Term:
            few = ir.Less(term.code, literal(MAX_WAYS), True)
            kind = Number(low, MAX_WAYS)
            inner = Term(kind, ir.Convert(core(kind), term.code))
            return self.demand(few, span, "there are too many ways through this action", inner)

        return self.shared(Term(whole, expr), limited)

    def _quantified_ways(self, node: Any, env: Place, every: bool) -> Term:
        if any(bound.domain is None for bound in node.bounds):
            raise NotLowered("a quantifier has no set")
        kind = Number(0, MAX_WAYS)
        start = 1 if every else 0

        def body(inner: Place) -> Expr:
            return self.into(self.ways(node.body, inner), kind)

        def around(slot: int, domain: Expr, inner: Expr) -> Expr:
            whole = self.slot()
            before = Term(kind, ir.Local(core(kind), whole))
            here = Term(kind, inner)
            if every:
                none = ir.Equal(before.code, literal(0))
                product = self._product_of(before, here, node.span)
                after = self.either(none, self.constant(0), product)
            else:
                after = self._sum([before, here], node.span)
            first = ir.Literal(core(kind), start)
            return ir.Fold(core(kind), slot, whole, domain, first, self.into(after, kind))

        counted = self.enumerated(
            node.bounds, env, body, around, lambda s, v, e: ir.Let(e.type, s, v, e)
        )
        return Term(kind, counted)
