"""Lowers the operators of the language, and those on sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.kinds import (
    Fun,
    Kind,
    Never,
    NotLowered,
    Number,
    Partial,
    Rec,
    Seq,
    SetOf,
    Tup,
    core,
    join,
    set_of,
)
from fencepost.spec.tla.lowering.places import Place
from fencepost.spec.tla.lowering.sequences import Sequences
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Term,
    conjunction,
    disjunction,
    is_total,
    literal,
    negation,
)
from fencepost.spec.tla.modules.scopes import Operator
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply


class Operators(Sequences):
    """Lowers operators."""

    def _equality(self, node: Any, env: Place) -> Term:
        left, right = (self.expr(arg, env) for arg in node.args)
        same = self.equal(left, right, node.span)
        return self.condition(same if node.name == "=" else negation(same))

    def _negation(self, node: Any, env: Place) -> Term:
        return self.condition(negation(self.cond(node.args[0], env)))

    def _implication(self, node: Any, env: Place) -> Term:
        left = self.cond(node.args[0], env)
        if left == FALSE:
            return self.condition(TRUE)
        return self.condition(disjunction([negation(left), self.cond(node.args[1], env)]))

    def _equivalence(self, node: Any, env: Place) -> Term:
        left, right = (self.cond(arg, env) for arg in node.args)
        return self.condition(ir.Equal(left, right))

    def _unchanged(self, node: Any, env: Place) -> Term:
        return self.condition(self.unchanged(node.args[0], env, node.span))

    def unchanged(self, node: Any, env: Place, span: Span) -> Expr:
        """Returns whether an expression has the same value in the next state. The components of a
        tuple are compared one by one, since they are often of different kinds.
        """
        if isinstance(node, tree.Tuple):
            parts = [self.unchanged(item, env, span) for item in node.items]
            if all(map(is_total, parts)):
                return conjunction(parts)
            # Every component is evaluated, even if another one changes.
            slots = [(self.slot(), part) for part in parts]
            result = conjunction([ir.Local(ir.BOOL, slot) for slot, _ in slots])
            for slot, part in reversed(slots):
                result = ir.Let(ir.BOOL, slot, part, result)
            return result
        if isinstance(node, Apply) and not node.args:
            local = None if node.path else env.names.get(node.name)
            if local is None and node.name not in self.LANGUAGE_FORMS:
                entity, instance = self.meaning(node, env)
                if isinstance(entity, Operator) and isinstance(entity.body, Apply | tree.Tuple):
                    inner = self.called(entity, node, env, instance)
                    return self.unchanged(entity.body, inner, span)
        before, after = self.expr(node, env), self.expr(node, env.prime())
        return self.equal(before, after, span)

    def _refused_operator(self, node: Any, env: Place) -> Term:
        raise NotLowered(f"{node.name} is used")

    def _prime(self, node: Any, env: Place) -> Term:
        return self.expr(node.args[0], env.prime())

    def _algebra(self, node: Any, env: Place) -> Term:
        operator = {
            "\\cup": ir.SetOperator.UNION,
            "\\cap": ir.SetOperator.INTERSECTION,
            "\\": ir.SetOperator.DIFFERENCE,
        }[node.name]
        terms: list[Term] = []
        for arg in node.args:
            term = self.written(self.expr(arg, env))
            term = self.only(term, SetOf, arg.span, f"an operand of {node.name} must be a set")
            if not isinstance(term.kind, SetOf):
                return term
            terms.append(term)
        left, right = terms
        assert isinstance(left.kind, SetOf)
        assert isinstance(right.kind, SetOf)
        element = join(left.kind.element, right.kind.element)
        sizes = left.kind.capacity, right.kind.capacity
        capacity = {"\\cup": sum(sizes), "\\cap": min(sizes), "\\": sizes[0]}[node.name]
        kind = set_of(element, min(capacity, self._count(element)))
        operands = [
            self.into(term, set_of(element, size)) for term, size in zip(terms, sizes, strict=True)
        ]
        return Term(kind, ir.SetAlgebra(core(kind), operator, *operands))

    def _count(self, element: Kind) -> int:
        return types.count_values(core(element), 1 << 20)

    def _power_set(self, node: Any, env: Place) -> Term:
        term = self.only(
            self.written(self.expr(node.args[0], env)), SetOf, node.span, "a set is expected here"
        )
        if not isinstance(term.kind, SetOf):
            return term
        # The set may be too large for a value, but not for an enumeration.
        kind = SetOf(term.kind, 1 << term.kind.capacity)
        return Term(kind, ir.Subsets(types.Set(core(term.kind)), self.own(term)))

    def _big_union(self, node: Any, env: Place) -> Term:
        domain, kind = self.members(node.args[0], env)
        if isinstance(kind, Never):
            return self.constant(frozenset())
        if not isinstance(kind, SetOf):
            return self.failing(node.span, "UNION is about values that are not sets")
        size = min(self._most(domain) * kind.capacity, self._count(kind.element))
        result = set_of(kind.element, size)
        slot = self.slot()
        return Term(result, ir.Gather(core(result), slot, domain, ir.Local(core(kind), slot)))

    def _domain(self, node: Any, env: Place) -> Term:
        term = self.written(self.expr(node.args[0], env))
        return self.shared(term, lambda t: self._domain_of(t, node.span))

    def _domain_of(self, term: Term, span: Span) -> Term:
        kind = term.kind
        match kind:
            case Rec(fields):
                return self.constant(frozenset(name for name, _ in fields))
            case Fun(domain):
                return self.constant(domain)
            case Tup(items):
                return self.constant(frozenset(range(1, len(items) + 1)))
            case Seq(_, capacity):
                number = Number(1, capacity)
                result = set_of(number, capacity)
                size = ir.Size(types.Int(0, capacity), self.own(term))
                if not capacity:
                    return self.constant(frozenset())
                return Term(result, ir.Interval(types.Set(core(number)), literal(1), size))
            case Partial(keys, element):
                result = set_of(keys, self._count(keys))
                slot = self.slot()
                key = ir.Local(core(keys), slot)
                option = ir.Get(types.Option(core(element)), self.own(term), key)
                every = ir.Universe(types.Set(core(keys)))
                test = ir.IsSome(option)
                return Term(result, ir.Collect(core(result), slot, every, test, key))
            case _:
                raise NotLowered("the domain of a value that may be no function is computed")

    def _cardinality(self, node: Any, env: Place) -> Term:
        term = self.written(self.expr(node.args[0], env))
        term = self.only(term, SetOf, node.span, "Cardinality is about a value that is not a set")
        if not isinstance(term.kind, SetOf):
            return term
        kind = Number(0, min(term.kind.capacity, self._count(term.kind.element)))
        return Term(kind, ir.Size(core(kind), self.own(term)))

    def _is_finite_set(self, node: Any, env: Place) -> Term:
        term = self.written(self.expr(node.args[0], env))
        if not isinstance(term.kind, SetOf):
            raise NotLowered("IsFiniteSet is about a value that may be no set")
        return self.condition(TRUE)

    LANGUAGE_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        **Sequences.LANGUAGE_FORMS,
        "=": _equality, "#": _equality, "~": _negation, "=>": _implication, "<=>": _equivalence,
        **dict.fromkeys(("ENABLED", "[]", "<>", "~>", "-+->", "\\cdot"), _refused_operator),
        "UNCHANGED": _unchanged, "'": _prime, "\\cup": _algebra, "\\cap": _algebra,
        "\\": _algebra, "SUBSET": _power_set, "UNION": _big_union, "DOMAIN": _domain,
    }  # fmt: skip
    BUILT_IN_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        **Sequences.BUILT_IN_FORMS,
        "Cardinality": _cardinality, "IsFiniteSet": _is_finite_set,
    }  # fmt: skip
