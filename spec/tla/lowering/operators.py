"""Lowers names and operators: those of the language, of standard modules, and definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.operators import Operator as Arithmetic
from fencepost.spec.core.operators import result_range
from fencepost.spec.core.traverse import walk
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.inference.forms import Misfit
from fencepost.spec.tla.inference.kinds import (
    NEVER,
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
    as_partial,
    as_sequence,
    comparable,
    core,
    element_of,
    head,
    items_of,
    join,
    length,
    set_of,
)
from fencepost.spec.tla.lowering.expressions import Expressions
from fencepost.spec.tla.lowering.places import Argument, Definition, LocalInstance, Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Term,
    conjunction,
    disjunction,
    is_total,
    literal,
    members,
    negation,
)
from fencepost.spec.tla.modules.scopes import BuiltIn, Given, Operator, Part, Substituted, Variable
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply
from fencepost.spec.tla.values import lazy_sets
from fencepost.spec.tla.values.kinds import EvaluationError, LazySet, Value


class Operators(Expressions):
    """Lowers names and operators. ``kinds`` are those of the variables.

    ``after`` has the terms of the variables in the next state: those that are assigned so far in an
    action, or all of them on a step.
    """

    def __init__(self, specification: Specification, kinds: list[Kind]) -> None:
        super().__init__(specification)
        self.kinds = kinds
        self.after: Mapping[int, Callable[[], Term]] = {}

    def reads_next(self, expr: Expr) -> bool:
        return any(isinstance(node, ir.Variable) and node.next for node in walk(expr))

    # ------------------------------------------------------------ names

    def named(self, node: Any, env: Place) -> Term:
        if not node.path:
            form = self._LANGUAGE.get(node.name)
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
                return self.expr(entity.expr, env.outside(entity.outer))
            case BuiltIn():
                built_in = self._BUILT_IN.get(entity.name)
                if built_in is None:
                    raise NotLowered(f'the operator "{entity.name}" is applied to a state')
                return built_in(self, node, env)
            case Operator():
                return self.expr(entity.body, self.called(entity, node, env, instance))
            case _:
                raise NotLowered(f'"{node.name}" is used')

    def variable(self, index: int, span: Span, primed: bool) -> Term:
        """Returns the value of a variable in the current state or in the next first."""
        if not primed:
            return Term(self.kinds[index], ir.Variable(core(self.kinds[index]), index))
        term = self.after.get(index)
        if term is None:
            name = self.specification.variables[index].name
            return self.failing(span, f"{name}' is read here before it has a value")
        return term()

    def _local(self, local: Any, node: Any, env: Place) -> Term:
        if isinstance(local, Definition):
            return self.expr(local.body, self.entered(local, node, env))
        assert not isinstance(local, LocalInstance)
        return self.bound_value(local, env.primed)

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

    # ------------------------------------------------------------ operators of the language

    def _equality(self, node: Any, env: Place) -> Term:
        left, right = (self.expr(arg, env) for arg in node.args)
        same = self.equal(left, right, node.span)
        return self.condition(same if node.name == "=" else negation(same))

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
            case Apply() if values.path or values.name not in self._LANGUAGE:
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
            return self._member_of_lazy(term, values.value, span)
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
        before, after = self.expr(node.args[0], env), self.expr(node.args[0], env.prime())
        return self.condition(self.equal(before, after, node.span))

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
        if term.kind.capacity > 12:
            raise NotLowered("the subsets of a large set are enumerated")
        kind = set_of(term.kind, 1 << term.kind.capacity)
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

    # ------------------------------------------------------------ numbers

    def _number(self, node: tree.Expr, env: Place) -> Term:
        term = self.written(self.expr(node, env))
        return self.only(term, Number, node.span, "a number is expected here")

    def _numbers(self, node: Any, env: Place) -> list[Term]:
        return [self._number(arg, env) for arg in node.args]

    def _arithmetic(self, node: Any, env: Place) -> Term:
        terms = self._numbers(node, env)
        for term in terms:
            if isinstance(term.kind, Never):
                return term
        operator = {
            "+": Arithmetic.ADD, "-": Arithmetic.SUBTRACT, "*": Arithmetic.MULTIPLY,
            "\\div": Arithmetic.DIVIDE, "%": Arithmetic.REMAINDER,
        }[node.name]  # fmt: skip
        left, right = terms
        if operator.row.divides:
            kind = right.kind
            assert isinstance(kind, Number)
            least = 1 if operator is Arithmetic.REMAINDER else None
            unknown = not right.is_constant or least is not None or right.value == 0
            if kind.low <= 0 and unknown:
                raise NotLowered("the divisor may be zero or negative")
        ranges = [(t.kind.low, t.kind.high) for t in terms if isinstance(t.kind, Number)]
        low, high = result_range(operator, *ranges)
        kind = Number(low, high)
        expr = ir.Arithmetic(core(kind), operator, self.own(left), self.own(right))
        return Term(kind, expr)

    def _minus(self, node: Any, env: Place) -> Term:
        (term,) = self._numbers(node, env)
        if not isinstance(term.kind, Number):
            return term
        kind = Number(-term.kind.high, -term.kind.low)
        return Term(kind, ir.Negate(core(kind), self.own(term)))

    def _comparison(self, node: Any, env: Place) -> Term:
        left, right = self._numbers(node, env)
        for term in (left, right):
            if isinstance(term.kind, Never):
                return term
        if node.name in (">", ">="):
            # The operands are evaluated from left to right all the same.
            if not (is_total(self.own(left)) and is_total(self.own(right))):
                return self.shared(
                    left,
                    lambda a: self.shared(
                        right, lambda b: self.condition(self.less(b, a, node.name == ">="))
                    ),
                )
            left, right = right, left
        return self.condition(self.less(left, right, node.name in ("<=", ">=")))

    def less(self, left: Term, right: Term, or_equal: bool) -> Expr:
        """Compares two numbers."""
        assert isinstance(left.kind, Number)
        assert isinstance(right.kind, Number)
        first, second = self.own(left), self.own(right)
        if is_total(first) and is_total(second):
            a, b = left.kind, right.kind
            if a.high < b.low or (or_equal and a.high <= b.low):
                return TRUE
            if a.low > b.high or (not or_equal and a.low >= b.high):
                return FALSE
        return ir.Less(first, second, or_equal)

    def _interval(self, node: Any, env: Place) -> Term:
        low, high = self._numbers(node, env)
        for term in (low, high):
            if isinstance(term.kind, Never):
                return term
        assert isinstance(low.kind, Number)
        assert isinstance(high.kind, Number)
        number = Number(low.kind.low, high.kind.high)
        if number.low > number.high:
            return self.constant(frozenset())
        kind = set_of(number, number.high - number.low + 1)
        return Term(kind, ir.Interval(types.Set(core(number)), self.own(low), self.own(high)))

    # ------------------------------------------------------------ sets and sequences

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

    def _sequence(self, node: tree.Expr, env: Place) -> Term:
        """Lowers an expression to a sequence of any length, or to an error."""
        term = self.written(self.expr(node, env))
        if isinstance(term.kind, Never):
            return term
        term = self.only(term, (Seq, Tup, Fun, Partial), node.span, "a sequence is expected here")
        if isinstance(term.kind, Never):
            return term
        kind = as_sequence(term.kind)
        if kind is None:
            raise NotLowered("a function that may be no sequence is used as one")
        return Term(kind, self.into(term, kind))

    def _len(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        if not isinstance(term.kind, Seq):
            return term
        kind = Number(0, term.kind.capacity)
        return Term(kind, ir.Size(core(kind), term.code))

    def _head(self, node: Any, env: Place) -> Term:
        return self._nonempty(
            node, env, lambda e, k: Term(k.element, ir.At(core(k.element), e, literal(0)))
        )

    def _tail(self, node: Any, env: Place) -> Term:
        return self._nonempty(node, env, lambda e, k: Term(k, ir.RemoveAt(core(k), e, literal(0))))

    def _nonempty(self, node: Any, env: Place, make: Callable[[Expr, Seq], Term]) -> Term:
        term = self._sequence(node.args[0], env)
        if not isinstance(term.kind, Seq):
            return term
        message = f"{node.name} is applied to the empty sequence"
        kind = term.kind
        if not kind.capacity:
            return self.failing(node.span, message)

        def build(whole: Term) -> Term:
            size = ir.Size(types.Int(0, kind.capacity), whole.code)
            test = ir.Less(literal(0), size)
            return self.demand(test, node.span, message, make(whole.code, kind))

        return self.shared(term, build)

    def _append(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        item = self.written(self.expr(node.args[1], env))
        if not isinstance(term.kind, Seq):
            return term
        kind = Seq(join(term.kind.element, item.kind), term.kind.capacity + 1)
        whole = self.convert(term.code, term.kind, Seq(kind.element, term.kind.capacity))
        return Term(
            kind, ir.Add(core(kind), self.widened(whole, kind), self.into(item, kind.element))
        )

    def widened(self, expr: Expr, kind: Kind) -> Expr:
        """Returns a collection with room for more elements."""
        type = core(kind)
        return expr if expr.type == type else ir.Convert(type, expr)

    def _concatenation(self, node: Any, env: Place) -> Term:
        left, right = (self._sequence(arg, env) for arg in node.args)
        for term in (left, right):
            if not isinstance(term.kind, Seq):
                return term
        assert isinstance(left.kind, Seq)
        assert isinstance(right.kind, Seq)
        element = join(left.kind.element, right.kind.element)
        kind = Seq(element, left.kind.capacity + right.kind.capacity)
        slot, whole = self.slot(), self.slot()
        type, inner = core(kind), core(right.kind.element)
        item = self.convert(ir.Local(inner, slot), right.kind.element, element)
        added = ir.Add(type, ir.Local(type, whole), item)
        start = self.convert(left.code, left.kind, kind)
        return Term(kind, ir.Fold(type, slot, whole, right.code, start, added))

    def _sub_sequence(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        low, high = (self._number(arg, env) for arg in node.args[1:])
        for part in (term, low, high):
            if isinstance(part.kind, Never):
                return part
        kind = term.kind
        assert isinstance(kind, Seq)
        assert isinstance(low.kind, Number)
        assert isinstance(high.kind, Number)
        if not kind.capacity:
            raise NotLowered("SubSeq is about sequences that are always empty")

        def cut(whole: Term, first: Term, last: Term) -> Term:
            size = ir.Size(types.Int(0, kind.capacity), whole.code)
            empty = ir.Less(last.code, first.code)
            fits = conjunction(
                [ir.Less(literal(1), first.code, True), ir.Less(last.code, size, True)]
            )
            # Outside of these bounds, the interval is not evaluated.
            positions = Number(1, kind.capacity)
            slot = self.slot()
            position = ir.Local(core(positions), slot)
            index = ir.Arithmetic(
                types.Int(0, kind.capacity - 1), Arithmetic.SUBTRACT, position, literal(1)
            )
            part = ir.Collect(
                core(kind), slot,
                ir.Interval(types.Set(core(positions)), first.code, last.code), None,
                ir.At(core(kind.element), whole.code, index),
            )  # fmt: skip
            nothing = ir.Literal(core(kind), ())
            message = "SubSeq is outside of the sequence"
            some = self.demand(fits, node.span, message, Term(kind, part))
            return Term(kind, ir.Conditional(core(kind), empty, nothing, some.code))

        return self.shared(
            term,
            lambda t: self.shared(
                Term(low.kind, self.own(low)),
                lambda a: self.shared(Term(high.kind, self.own(high)), lambda b: cut(t, a, b)),
            ),
        )

    def _select(self, node: Any, env: Place) -> Term:
        term = self._sequence(node.args[0], env)
        if not isinstance(term.kind, Seq):
            return term
        kind, slot = term.kind, self.slot()
        element = Term(kind.element, ir.Local(core(kind.element), slot))
        if isinstance(kind.element, Never):
            return term
        condition = self.truth(self.apply(node.args[1], [element], env), node.span)
        return Term(kind, ir.Collect(core(kind), slot, term.code, condition, element.code))

    def _single(self, node: Any, env: Place) -> Term:
        key = self.written(self.expr(node.args[0], env))
        value = self.written(self.expr(node.args[1], env))
        if isinstance(key.kind, Never) or isinstance(value.kind, Never):
            raise NotLowered("an operand of :> has no value")
        kind = Partial(key.kind, value.kind)
        option = types.Option(core(value.kind))
        slot = self.slot()
        each = ir.Local(core(key.kind), slot)

        def build(fixed: Expr, held: Expr) -> Expr:
            body = ir.Conditional(
                option, ir.Equal(each, fixed), ir.Some(option, held), ir.Literal(option, ())
            )
            return ir.BuildMap(core(kind), slot, body)

        code = self.let(
            self.own(key), NEVER, lambda k: self.let(self.own(value), NEVER, lambda v: build(k, v))
        )
        return Term(kind, code)

    def _merge(self, node: Any, env: Place) -> Term:
        terms = [self.written(self.expr(arg, env)) for arg in node.args]
        for term in terms:
            if isinstance(term.kind, Never):
                return term
            if not isinstance(term.kind, Fun | Partial | Tup | Seq):
                raise NotLowered("an operand of @@ may be no function, or is a record")
        kind = join(as_partial(terms[0].kind), as_partial(terms[1].kind))
        assert isinstance(kind, Partial)
        option = types.Option(core(kind.element))
        slot = self.slot()
        each = ir.Local(core(kind.keys), slot)

        def build(first: Expr, second: Expr) -> Expr:
            mine = ir.Get(option, first, each)
            body = ir.Conditional(option, ir.IsSome(mine), mine, ir.Get(option, second, each))
            return ir.BuildMap(core(kind), slot, body)

        code = self.let(
            self.into(terms[0], kind),
            NEVER,
            lambda a: self.let(self.into(terms[1], kind), NEVER, lambda b: build(a, b)),
        )
        return Term(kind, code)

    _LANGUAGE: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        "=": _equality, "#": _equality, "\\in": _membership, "\\notin": _membership,
        "\\subseteq": _subset, "~": _negation, "=>": _implication, "<=>": _equivalence,
        **dict.fromkeys(("ENABLED", "[]", "<>", "~>", "-+->", "\\cdot"), _refused_operator),
        "UNCHANGED": _unchanged, "'": _prime, "\\cup": _algebra, "\\cap": _algebra,
        "\\": _algebra, "SUBSET": _power_set, "UNION": _big_union, "DOMAIN": _domain,
    }  # fmt: skip
    _BUILT_IN: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        **dict.fromkeys(("+", "-", "*", "\\div", "%"), _arithmetic), "-.": _minus,
        **dict.fromkeys(("<", "<=", ">", ">="), _comparison), "..": _interval,
        "Cardinality": _cardinality, "IsFiniteSet": _is_finite_set, "Len": _len, "Head": _head,
        "Tail": _tail, "Append": _append, "\\o": _concatenation, "SubSeq": _sub_sequence,
        "SelectSeq": _select, ":>": _single, "@@": _merge,
    }  # fmt: skip


__all__ = ["Operators", "element_of"]
