"""Lowers CHOOSE, which takes the first element in TLC's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.type_relations import least
from fencepost.spec.tla.inference.kinds import (
    NEVER,
    Fun,
    Kind,
    Name,
    Never,
    NotLowered,
    Number,
    Rec,
    SetOf,
    Truth,
    Tup,
    Union,
    components,
    core,
    items_of,
    length,
)
from fencepost.spec.tla.lowering.expressions import Expressions
from fencepost.spec.tla.lowering.places import Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    Term,
    conjunction,
    disjunction,
    negation,
)
from fencepost.spec.tla.syntax import tree


class Choose(Expressions):
    """Lowers CHOOSE."""

    def _choose(self, node: Any, env: Place) -> Term:
        if node.bound.domain is None:
            raise NotLowered("a CHOOSE that depends on the state has no set")
        domain, kind = self.members(node.bound.domain, env)
        slot, option = self.slot(), types.Option(core(kind))
        element = ir.Local(core(kind), slot)
        names = self.taken(node.bound, node.bound.names[0], Term(kind, element))
        condition = self.cond(node.body, env.having(names))
        if has_order(kind):
            first: Expr = ir.Find(option, slot, domain, condition)
        else:
            best = ir.Local(option, self.slot())
            before = ir.Content(core(kind), best)
            better = disjunction([negation(ir.IsSome(best)), self.precedes(element, before, kind)])
            taken = ir.Conditional(option, better, ir.Some(option, element), best)
            body = ir.Conditional(option, condition, taken, best)
            nothing = ir.Literal(option, ())
            first = ir.Fold(option, slot, best.slot, domain, nothing, body)
        site = self.site(node.span, "no element satisfies the condition of this CHOOSE")
        type = core(kind)
        return Term(
            kind,
            self.let(
                first,
                NEVER,
                lambda option: ir.Demand(type, ir.IsSome(option), site, ir.Content(type, option)),
            ),
        )

    def precedes(self, left: Expr, right: Expr, kind: Kind) -> Expr:
        """Returns whether a value is before another one in TLC's order. The expressions are simple.
        Raises `NotLowered` for a kind without an order.
        """
        match kind:
            case Never():
                return FALSE
            case Truth():
                return conjunction([negation(left), right])
            case Number() | Name():
                return ir.Less(left, right)
            case Rec() | Tup() | Fun():
                return self._precedes_in_parts(left, right, kind)
            case SetOf(element):
                return self._precedes_as_set(left, right, kind, element)
            case Union(parts):
                return self._precedes_by_case(left, right, parts)
            case _:
                raise NotLowered("a CHOOSE is among values whose order is another one in TLC")

    def _precedes_in_parts(self, left: Expr, right: Expr, kind: Kind) -> Expr:
        inner = components(kind) if isinstance(kind, Rec) else items_of(kind)
        if isinstance(kind, Fun) and length(kind) is None:
            raise NotLowered("a CHOOSE is among values whose order is another one in TLC")
        result: Expr = FALSE
        pairs = [*zip(self.parts(left, kind), self.parts(right, kind), inner, strict=True)]
        for a, b, part in reversed(pairs):
            same = ir.Equal(a, b)
            result = disjunction([self.precedes(a, b, part), conjunction([same, result])])
        return result

    def _precedes_as_set(self, left: Expr, right: Expr, kind: SetOf, element: Kind) -> Expr:
        """Sets with fewer elements are first, and then those with the least element that the other
        one does not have.
        """
        type = core(kind)
        sizes = [ir.Size(types.Int(0, kind.capacity), part) for part in (left, right)]
        difference = ir.SetOperator.DIFFERENCE
        mine, other = self.slot(), self.slot()
        less = self.precedes(ir.Local(core(element), mine), ir.Local(core(element), other), element)
        every = ir.Quantified(True, other, ir.SetAlgebra(type, difference, right, left), less)
        first = ir.Quantified(False, mine, ir.SetAlgebra(type, difference, left, right), every)
        return disjunction(
            [ir.Less(sizes[0], sizes[1]), conjunction([ir.Equal(sizes[0], sizes[1]), first])]
        )

    def _precedes_by_case(self, left: Expr, right: Expr, parts: Sequence[Kind]) -> Expr:
        """Values of different kinds have the order of any two of them."""
        samples = [self.forms.decode(least(core(part)), part) for part in parts]
        result: Expr = FALSE
        for number, part in enumerate(parts):
            inner = [ir.Payload(core(part), side, number, 0) for side in (left, right)]
            later = [
                ir.HasTag(right, other)
                for other, sample in enumerate(samples)
                if other != number and self.universe.compare(samples[number], sample) < 0
            ]
            same = conjunction([ir.HasTag(right, number), self.precedes(inner[0], inner[1], part)])
            result = disjunction(
                [result, conjunction([ir.HasTag(left, number), disjunction([same, *later])])]
            )
        return result

    FORMS: ClassVar[dict[type, Callable[[Any, Any, Place], Term]]] = {
        **Expressions.FORMS,
        tree.Choose: _choose,
    }


def has_order(kind: Kind) -> bool:
    """Returns whether the core orders the values of a kind as TLC does."""
    match kind:
        case Number() | Name() | Truth() | Never():
            return True
        case Rec() | Tup() | Fun():
            return all(map(has_order, components(kind)))
        case _:
            return False
