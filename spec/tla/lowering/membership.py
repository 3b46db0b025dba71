"""Decides membership in sets, which are not built if their form allows that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.forms import Misfit
from fencepost.spec.tla.inference.kinds import (
    TRUTH,
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
    Union,
    comparable,
    core,
    head,
    items_of,
    join,
    length,
    set_of,
)
from fencepost.spec.tla.lowering.numbers import Numbers
from fencepost.spec.tla.lowering.places import Argument, Definition, Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Term,
    conjunction,
    disjunction,
    literal,
    members,
    negation,
)
from fencepost.spec.tla.modules.scopes import BuiltIn, Operator, Part, Substituted
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply
from fencepost.spec.tla.values import lazy_sets
from fencepost.spec.tla.values.kinds import EvaluationError, LazySet, Value


class Membership(Numbers):
    """Lowers tests of membership."""

    def _membership(self, node: Any, env: Place) -> Term:
        element, values = node.args
        term = self.written(self.expr(element, env))
        if isinstance(term.kind, Never):
            return term
        inside = self.shared(
            Term(term.kind, self.own(term)) if not term.is_constant else term,
            lambda t: self.condition(self.member(t, values, env, node.span)),
        )
        test = self.truth(inside, node.span)
        return self.condition(test if node.name == "\\in" else negation(test))

    def member(self, term: Term, values: tree.Expr, env: Place, span: Span) -> Expr:
        """Returns whether a value is in a set, which is not built if its form allows that. The term
        is simple or constant.
        """
        if self.is_constant(values, env):
            constant = self.evaluated(values, env)
            return self.member_of(term, constant, span)
        match values:
            case Apply(name="\\cup", args=(left, right), path=()):
                parts = [self.member(term, part, env, span) for part in (left, right)]
                return disjunction(parts)
            case Apply(name="\\cap", args=(left, right), path=()):
                return conjunction([self.member(term, part, env, span) for part in (left, right)])
            case Apply(name="\\", args=(left, right), path=()):
                first = self.member(term, left, env, span)
                return conjunction([first, negation(self.member(term, right, env, span))])
            case Apply(name="SUBSET", args=(base,), path=()):
                return self._subset_of(term, base, env, span)
            case tree.FunctionSet(domain, range):
                return self._member_of_functions(term, domain, range, env, span)
            case tree.RecordSet(fields):
                return self._member_of_records(
                    term, {name: self._tester(inner, env, span) for name, inner in fields}
                )
            case tree.Product(items):
                return self._member_of_product(
                    term, [self._tester(item, env, span) for item in items]
                )
            case tree.Filter(bound, condition) if bound.domain is not None and not bound.pattern:
                inner = env.having({bound.names[0]: term})
                first = self.member(term, bound.domain, env, span)
                return conjunction([first, self.cond(condition, inner)])
            case Apply(name="..", args=(low, high), path=()):
                return self._member_of_interval(term, low, high, env, span)
            case Apply() if not values.path and values.name in env.names:
                local = env.names[values.name]
                if isinstance(local, Argument) and local.term is None:
                    return self.member(term, local.node, self.inside_of(local, env.primed), span)
                if isinstance(local, Definition):
                    inner = self.entered(local, values, env)
                    return self.member(term, local.body, inner, span)
            case Apply() if values.path or values.name not in self.LANGUAGE_FORMS:
                entity, instance = self.meaning(values, env)
                if isinstance(entity, Substituted):
                    return self.member(term, entity.expr, env.outside(entity.outer), span)
                if isinstance(entity, Operator) and not isinstance(entity, Part):
                    inner = self.called(entity, values, env, instance)
                    return self.member(term, entity.body, inner, span)
                if isinstance(entity, BuiltIn) and entity.name == "Seq":
                    (base,) = values.args
                    return self._member_of_sequences(
                        term, lambda t: self.member(t, base, env, span), span
                    )
            case _:
                pass
        return self.member_of(term, self.expr(values, env), span)

    def _tester(self, values: tree.Expr, env: Place, span: Span) -> Callable[[Term], Expr]:
        return lambda term: self.member(term, values, env, span)

    def member_of(self, term: Term, values: Term, span: Span) -> Expr:
        """Returns whether a value is in a set that is a term."""
        if values.is_constant and term.is_constant:
            inside = self.universe.contains(values.value, term.value)
            return TRUE if inside else FALSE
        if values.is_constant and isinstance(values.value, LazySet):
            try:
                return self._member_of_lazy(term, values.value, span)
            except NotLowered:
                if not self.is_listed(values.value):
                    raise
                values = self.written(values)
        if isinstance(values.kind, Never):
            return self.into(values, TRUTH)
        wanted = self.only(values, SetOf, span, "a set is expected here")
        if not isinstance(wanted.kind, SetOf):
            return self.into(wanted, TRUTH)
        element = wanted.kind.element
        if isinstance(element, Never):
            return FALSE
        return self.let(
            self.own(wanted), wanted.kind, lambda s: self._contains(term, s, element, span)
        )

    def _contains(self, term: Term, values: Expr, element: Kind, span: Span) -> Expr:
        if isinstance(term.kind, Union) and not isinstance(element, Union):
            result: Expr = FALSE
            for number, part in enumerate(term.kind.cases):
                inner = Term(part, ir.Payload(core(part), term.code, number, 0))
                test = self._contains(inner, values, element, span)
                result = disjunction([result, conjunction([ir.HasTag(term.code, number), test])])
            return result
        if head(term.kind) != head(element) and not isinstance(element, Union):
            if comparable(term.kind, element):
                return FALSE
            raise NotLowered("a value is searched in a set of values of another kind")
        kind = join(term.kind, element)
        joint = set_of(kind, self._most_of(values))
        same = core(kind) == core(element)
        inside = values if same else self.convert(values, set_of(element, joint.capacity), joint)
        return ir.Contains(inside, self.into(term, kind))

    def _most_of(self, values: Expr) -> int:
        return self._most(values)

    def _each_member(self, term: Term, test: Callable[[Term], Expr], span: Span) -> Expr:
        """Returns whether all elements of a set satisfy a test."""
        only = self.only(self.written(term), SetOf, span, "a set is expected here")
        if not isinstance(only.kind, SetOf):
            return self.into(only, TRUTH)
        if isinstance(only.kind.element, Never):
            return TRUE
        slot = self.slot()
        element = Term(only.kind.element, ir.Local(core(only.kind.element), slot))
        body = test(element)
        return TRUE if body == TRUE else ir.Quantified(True, slot, self.own(only), body)

    def _subset_of(self, term: Term, base: tree.Expr, env: Place, span: Span) -> Expr:
        return self._each_member(term, lambda t: self.member(t, base, env, span), span)

    def _member_of_interval(
        self, term: Term, low: tree.Expr, high: tree.Expr, env: Place, span: Span
    ) -> Expr:
        number = self.only(term, Number, span, "a value is searched in an interval")
        first, last = (self._number(arg, env) for arg in (low, high))
        for part in (number, first, last):
            if isinstance(part.kind, Never):
                return self.into(part, TRUTH)
        return self.let(
            self.own(number),
            number.kind,
            lambda e: conjunction(
                [
                    self.less(first, Term(number.kind, e), True),
                    self.less(Term(number.kind, e), last, True),
                ]
            ),
        )

    def _member_of_functions(
        self, term: Term, domain: Any, range: Any, env: Place, span: Span
    ) -> Expr:
        if not self.is_constant(domain, env):
            raise NotLowered("the domain of a set of functions changes")
        wanted = self.written(self.evaluated(domain, env)).value
        return self._function_in(term, wanted, lambda t: self.member(t, range, env, span))

    def _function_in(self, term: Term, wanted: Value, test: Callable[[Term], Expr]) -> Expr:
        """Returns whether a value is a function with a domain whose values satisfy a test."""
        if isinstance(term.kind, Union):
            return self._by_case(term, lambda t: self._function_in(t, wanted, test))
        kind = term.kind
        match kind:
            case Rec(fields):
                if wanted != frozenset(name for name, _ in fields):
                    return FALSE
                return conjunction(self._each_part(term, test))
            case Fun(own, keys, element):
                if wanted != own:
                    return FALSE
                slot = self.slot()
                value = self.get(self.own(term), kind, ir.Local(core(keys), slot))
                body = test(Term(element, value))
                if body == TRUE:
                    return TRUE
                return ir.Quantified(True, slot, self.domain(kind), body)
            case Tup(items):
                if wanted != frozenset(range(1, len(items) + 1)):
                    return FALSE
                return conjunction(self._each_part(term, test))
            case Seq(element, capacity):
                if wanted != frozenset(range(1, len(wanted) + 1)):
                    return FALSE
                size = ir.Size(types.Int(0, capacity), self.own(term))
                slot = self.slot()
                body = test(Term(element, ir.Local(core(element), slot)))
                every = ir.Quantified(True, slot, self.own(term), body)
                return conjunction([ir.Equal(size, literal(len(wanted))), every])
            case Partial(keys, element):
                slot = self.slot()
                key = Term(keys, ir.Local(core(keys), slot))
                option = ir.Get(types.Option(core(element)), self.own(term), key.code)
                inside = self.member_of(
                    key, self.constant(wanted), self.specification.config.source_span
                )
                body = test(Term(element, ir.Content(core(element), option)))
                both = ir.Conditional(
                    ir.BOOL, ir.IsSome(option), conjunction([inside, body]), negation(inside)
                )
                every = ir.Quantified(True, slot, ir.Universe(types.Set(core(keys))), both)
                return conjunction(
                    [self._has_keys(wanted, keys), every, *self._present(term, wanted)]
                )
            case _:
                raise NotLowered("a value other than a function is searched in a set of functions")

    def _present(self, term: Term, wanted: Value) -> list[Expr]:
        """Returns conditions for a function to have values at all elements of a set."""
        kind = term.kind
        assert isinstance(kind, Partial)
        option = types.Option(core(kind.element))
        if self._has_keys(wanted, kind.keys) == FALSE:
            return []
        return [
            ir.IsSome(ir.Get(option, self.own(term), self.into(self.constant(key), kind.keys)))
            for key in self.universe.domain_of(wanted).elements
        ]

    def _has_keys(self, wanted: Value, keys: Kind) -> Expr:
        """Returns whether all values of a set are among the possible keys of functions."""
        try:
            self.forms.encode(wanted, SetOf(keys, len(wanted)))
        except Misfit:
            return FALSE
        return TRUE

    def _each_part(self, term: Term, test: Callable[[Term], Expr]) -> list[Expr]:
        parts = zip(self.parts(self.own(term), term.kind), members(term.kind), strict=True)
        return [test(Term(kind, expr)) for expr, kind in parts]

    def _by_case(self, term: Term, test: Callable[[Term], Expr]) -> Expr:
        assert isinstance(term.kind, Union)
        parts: list[Expr] = []
        for number, part in enumerate(term.kind.cases):
            inner = Term(part, ir.Payload(core(part), term.code, number, 0))
            parts.append(conjunction([ir.HasTag(term.code, number), test(inner)]))
        return disjunction(parts)

    def _member_of_records(self, term: Term, tests: Mapping[str, Callable[[Term], Expr]]) -> Expr:
        if isinstance(term.kind, Union):
            return self._by_case(term, lambda t: self._member_of_records(t, tests))
        kind = term.kind
        if not isinstance(kind, Rec):
            raise NotLowered("a value other than a record is searched in a set of records")
        if {name for name, _ in kind.fields} != set(tests):
            return FALSE
        parts = self.parts(self.own(term), kind)
        return conjunction(
            [
                tests[name](Term(part, expr))
                for (name, part), expr in zip(kind.fields, parts, strict=True)
            ]
        )

    def _member_of_product(self, term: Term, tests: list[Callable[[Term], Expr]]) -> Expr:
        if length(term.kind) is None:
            raise NotLowered("a value that may be no tuple is searched in a product")
        if length(term.kind) != len(tests):
            return FALSE
        parts = self.parts(self.own(term), term.kind)
        return conjunction(
            [
                test(Term(kind, expr))
                for test, expr, kind in zip(tests, parts, items_of(term.kind), strict=True)
            ]
        )

    def _member_of_sequences(self, term: Term, test: Callable[[Term], Expr], span: Span) -> Expr:
        kind = term.kind
        if isinstance(kind, Seq):
            if isinstance(kind.element, Never):
                return TRUE
            slot = self.slot()
            body = test(Term(kind.element, ir.Local(core(kind.element), slot)))
            return TRUE if body == TRUE else ir.Quantified(True, slot, self.own(term), body)
        if length(kind) is not None:
            return conjunction(self._each_part(term, test))
        raise NotLowered("a value that may be no sequence is searched in a set of sequences")

    def _member_of_lazy(self, term: Term, values: LazySet, span: Span) -> Expr:
        """Returns whether a value is in a constant set that is not written out."""

        def inside(part: Value) -> Callable[[Term], Expr]:
            return lambda t: self.member_of(t, self.constant(part), span)

        match values:
            case lazy_sets.PowerSet():
                return self._each_member(term, inside(values.base), span)
            case lazy_sets.FunctionSet():
                domain = self.universe.finite(values.domain)
                return self._function_in(term, domain, inside(values.range))
            case lazy_sets.RecordSet():
                tests = {name: inside(part) for name, part in values.fields.items()}
                return self._member_of_records(term, tests)
            case lazy_sets.Product():
                return self._member_of_product(term, [inside(part) for part in values.factors])
            case lazy_sets.SequenceSet():
                return self._member_of_sequences(term, inside(values.base), span)
            case lazy_sets.Interval():
                return self._member_of_numbers(term, values, values.low, values.high, span)
            case lazy_sets.Combination() if values.sign == "\\cup":
                return disjunction([inside(values.left)(term), inside(values.right)(term)])
            case lazy_sets.Combination() if values.sign == "\\cap":
                return conjunction([inside(values.left)(term), inside(values.right)(term)])
            case lazy_sets.Combination():
                return conjunction(
                    [inside(values.left)(term), negation(inside(values.right)(term))]
                )
            case lazy_sets.BigUnion():
                return disjunction([inside(part)(term) for part in values.sets])
            case lazy_sets.Infinite() if values.name in ("Nat", "Int"):
                least = 0 if values.name == "Nat" else None
                return self._member_of_numbers(term, values, least, None, span)
            case lazy_sets.Infinite() if values.name == "STRING":
                if self._is_string(term.kind):
                    return TRUE
            case _:
                pass
        raise NotLowered("a value is searched in a set of this form")

    def _is_string(self, kind: Kind) -> bool:
        return head(kind) == "name False"

    def _member_of_numbers(
        self, term: Term, values: LazySet, low: int | None, high: int | None, span: Span
    ) -> Expr:
        """Returns whether a value is in a constant set of numbers."""
        if isinstance(term.kind, Union):
            return self._by_case(
                term, lambda t: self._member_of_numbers(t, values, low, high, span)
            )
        if not isinstance(term.kind, Number):
            # All values of this kind have the same answer.
            form = types.first(core(term.kind))
            assert form is not None
            try:
                inside = values.contains(self.universe, self.forms.decode(form, term.kind))
            except EvaluationError as error:
                return self.into(self.failing(span, str(error)), TRUTH)
            return TRUE if inside else FALSE
        parts: list[Expr] = []
        if low is not None and term.kind.low < low:
            parts.append(ir.Less(literal(low), self.own(term), True))
        if high is not None and term.kind.high > high:
            parts.append(ir.Less(self.own(term), literal(high), True))
        return conjunction(parts)

    def _subset(self, node: Any, env: Place) -> Term:
        left, right = node.args
        term = self.written(self.expr(left, env))
        if isinstance(term.kind, Never):
            return term
        if not self.is_constant(right, env) and isinstance(right, Apply) and not right.path:
            sets = self.expr(right, env) if right.name in env.names else None
            if sets is not None:
                return self.condition(
                    self._each_member(term, lambda t: self.member_of(t, sets, node.span), node.span)
                )
        return self.condition(self._subset_of(term, right, env, node.span))

    LANGUAGE_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        "\\in": _membership, "\\notin": _membership, "\\subseteq": _subset,
    }  # fmt: skip
