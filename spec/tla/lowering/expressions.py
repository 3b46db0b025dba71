"""Lowers expressions of every form except names and operators, which `Operators` lowers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import BOOL, Expr
from fencepost.spec.core.size_limits import MAX_CAPACITY, countable
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.kinds import (
    FLAGS,
    NEVER,
    TRUTH,
    Kind,
    Name,
    Never,
    NotLowered,
    Number,
    Rec,
    SetOf,
    Truth,
    Union,
    comparable,
    core,
    head,
    items_of,
    join,
    joined,
    length,
    set_of,
    settled,
)
from fencepost.spec.tla.lowering.constants import Constants
from fencepost.spec.tla.lowering.places import Argument, Binding, Definition, LocalInstance, Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Term,
    chosen,
    conjunction,
    disjunction,
    is_simple,
    is_total,
    negation,
)
from fencepost.spec.tla.modules.scopes import Named
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Bound
from fencepost.spec.tla.values import kinds as values
from fencepost.spec.tla.values.kinds import LazySet

MAX_UNROLLED = 64
"""An expression is lowered once per element if there are at most this many elements."""
MAX_WORK = 100_000
"""The maximum number of expressions of a module with all definitions expanded."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The enumeration of a set: each combination of elements of ``domains`` is
    one of its elements, which ``build`` returns, if it satisfies ``test``. ``held`` are values to
    bind around everything.
    """

    domains: tuple[Expr, ...]
    build: Callable[[Sequence[Expr]], Term]
    held: tuple[tuple[int, Expr], ...] = ()
    test: Callable[[Term], Expr] | None = None
    """The condition that the elements satisfy, or None if all do."""


class Expressions(Constants):
    """Lowers expressions. ``work`` is the number of expressions so far."""

    work = 0

    # ------------------------------------------------------------ entry points

    def expr(self, node: tree.Expr, env: Place) -> Term:
        """Lowers an expression. Raises `NotLowered`."""
        if self.is_constant(node, env):
            return self.evaluated(node, env)
        self.work += 1
        if self.work > MAX_WORK:
            raise NotLowered("its expressions are too large with all definitions expanded")
        return self.FORMS[type(node)](self, node, env)

    def cond(self, node: tree.Expr, env: Place) -> Expr:
        """Lowers a condition. Raises `NotLowered`."""
        return self.truth(self.expr(node, env), node.span)

    def truth(self, term: Term, span: Span) -> Expr:
        """Returns a term as a condition."""
        if term.is_constant:
            if term.value is values.TRUE or term.value is values.FALSE:
                return TRUE if term.value is values.TRUE else FALSE
            return self.into(self.failing(span, "TRUE or FALSE is expected here"), TRUTH)
        return self.into(self.only(term, Truth, span, "TRUE or FALSE is expected here"), TRUTH)

    def named(self, node: Any, env: Place) -> Term:
        """Lowers an expression that begins with a name; the subclass with the operators does."""
        raise NotImplementedError

    def condition(self, expr: Expr) -> Term:
        """Returns a condition as a term."""
        if expr in (TRUE, FALSE):
            return Term(TRUTH, value=values.TRUE if expr == TRUE else values.FALSE)
        return Term(TRUTH, expr)

    def only(self, term: Term, wanted: Any, span: Span, message: str) -> Term:
        """Returns a term of a union as one of the classes of kinds ``wanted``, since other values
        are an error.
        """
        if isinstance(term.kind, wanted) or (isinstance(term.kind, Never) and not term.is_constant):
            return term
        if not isinstance(term.kind, Union):
            return self._then_failing(term, span, message)
        fitting = [kind for kind in term.kind.cases if isinstance(kind, wanted)]
        if not fitting:
            return self._then_failing(term, span, message)
        if len(fitting) > 1:
            raise NotLowered("an operand has several kinds of functions")
        (kind,) = fitting
        tag, site = term.kind.cases.index(kind), self.site(span, message)

        def narrowed(whole: Term) -> Term:
            inner = ir.Payload(core(kind), whole.code, tag, 0)
            test = ir.HasTag(whole.code, tag)
            return Term(kind, ir.Demand(inner.type, test, site, inner))

        return self.shared(term, narrowed)

    def _then_failing(self, term: Term, span: Span, message: str) -> Term:
        """Returns the error of an operation on a value that is evaluated first."""
        failing = self.failing(span, message)
        if term.expr is None or is_total(term.expr):
            return failing
        return self.shared(term, lambda _: failing)

    def demand(self, condition: Expr, span: Span, message: str, term: Term) -> Term:
        """Returns a term that is an error unless a condition holds."""
        if condition == TRUE:
            return term
        expr = self.into(term, term.kind)
        return Term(term.kind, ir.Demand(expr.type, condition, self.site(span, message), expr))

    # ------------------------------------------------------------ connectives

    def _junction(self, node: Any, env: Place) -> Term:
        conditions: list[Expr] = []
        ends = FALSE if node.sign == "/\\" else TRUE
        for item in node.items:
            conditions.append(self.cond(item, env))
            if conditions[-1] == ends:
                break
        together = conjunction if node.sign == "/\\" else disjunction
        return self.condition(together(conditions))

    def _if(self, node: Any, env: Place) -> Term:
        condition = self.cond(node.condition, env)
        if condition in (TRUE, FALSE):
            return self.expr(node.then if condition == TRUE else node.otherwise, env)
        return self.either(condition, self.expr(node.then, env), self.expr(node.otherwise, env))

    def either(self, condition: Expr, then: Term, otherwise: Term) -> Term:
        """Returns one of two terms."""
        then, otherwise = self.written(then), self.written(otherwise)
        kind = join(then.kind, otherwise.kind)
        first, second = self.into(then, kind), self.into(otherwise, kind)
        return Term(kind, chosen(condition, first, second, core(kind)))

    def _case(self, node: Any, env: Place) -> Term:
        result = (
            self.failing(node.span, "no condition of this CASE is true, and it has no OTHER")
            if node.other is None
            else self.expr(node.other, env)
        )
        for test, value in reversed(node.arms):
            condition = self.cond(test, env)
            if condition in (TRUE, FALSE):
                result = self.expr(value, env) if condition == TRUE else result
            else:
                result = self.either(condition, self.expr(value, env), result)
        return result

    # ------------------------------------------------------------ bound names

    def members(self, node: tree.Expr, env: Place) -> tuple[Expr, Kind]:
        """Lowers a set whose elements are enumerated. Returns it with the kind of the elements."""
        term = self.only(
            self.written(self.expr(node, env)), SetOf, node.span, "a set is expected here"
        )
        kind = term.kind if isinstance(term.kind, SetOf) else SetOf(NEVER, 0)
        # Intervals and sets of subsets are enumerated without being built.
        return term.expr or self.into(term, kind), kind.element

    def materialized(self, domain: Expr) -> Expr:
        """Returns a set that is built, and may be bound. Raises `NotLowered` if it is too large."""
        if not isinstance(domain, ir.Interval | ir.Subsets | ir.Universe):
            return domain
        assert isinstance(domain.type, types.Set)
        element, size = domain.type.element, self._most(domain)
        if countable(element, FLAGS):
            return domain
        if size > MAX_CAPACITY:
            raise NotLowered(f"a set may have more than {MAX_CAPACITY:,} elements")
        return ir.Convert(types.Set(element, size), domain)

    def enumerated(
        self,
        bounds: Sequence[Bound],
        env: Place,
        body: Callable[[Place], Any],
        around: Callable[[int, Expr, Any], Any],
        let: Callable[[int, Expr, Any], Any],
        restrict: Callable[[Expr, Any], Any] | None = None,
    ) -> Any:
        """Lowers something with bound names. ``around`` adds an enumeration to what is inside, and
        ``let`` binds a value. All sets are evaluated before the first element is bound.
        ``restrict`` restricts what is inside to elements that satisfy a condition; without it, sets
        that have such a condition are built.
        """
        sets: list[tuple[Bound, str, Source]] = []
        for bound in bounds:
            assert bound.domain is not None
            for name in bound.names[:1] if bound.pattern else bound.names:
                source = None if restrict is None else self.filtered(bound.domain, env)
                sets.append((bound, name, source or self.source(bound.domain, env)))
        slots: list[tuple[Any, int, Expr]] = []
        domains: list[list[Expr]] = []
        for number, (_, _, source) in enumerate(sets):
            slots += [(let, slot, value) for slot, value in source.held]
            domains.append([])
            for domain in source.domains:
                if number and not is_total(domain):
                    built = self.materialized(domain)
                    slots.append((let, self.slot(), built))
                    domain = ir.Local(built.type, slots[-1][1])
                domains[-1].append(domain)
        inner = env
        conditions: list[Expr] = []
        for (bound, name, source), parts in zip(sets, domains, strict=True):
            elements: list[Expr] = []
            for domain in parts:
                slots.append((around, self.slot(), domain))
                assert isinstance(domain.type, types.Set)
                elements.append(ir.Local(domain.type.element, slots[-1][1]))
            term = source.build(elements)
            if term.expr is not None and not is_simple(term.expr):
                slots.append((let, self.slot(), term.expr))
                term = Term(term.kind, ir.Local(term.expr.type, slots[-1][1]))
            inner = inner.having(self.taken(bound, name, term))
            if source.test is not None:
                conditions.append(source.test(term))
        result = body(inner)
        if restrict is not None and conditions:
            result = restrict(conjunction(conditions), result)
        for enclose, slot, value in reversed(slots):
            result = enclose(slot, value, result)
        return result

    def filtered(self, node: tree.Expr, env: Place) -> Source | None:
        """Returns what to enumerate for a large constant set that has a condition, or None for
        another set.
        """
        outer, kept = self.definition(node, env)
        if not isinstance(kept, tree.Filter) or kept.bound.domain is None:
            return None
        if not self.is_constant(kept.bound.domain, outer):
            return None
        if not isinstance(self.evaluated(kept.bound.domain, outer).value, LazySet):
            return None
        source = self.source(kept.bound.domain, outer)

        def test(term: Term) -> Expr:
            names = self.taken(kept.bound, kept.bound.names[0], term)
            return self.cond(kept.condition, outer.having(names))

        return Source(source.domains, source.build, source.held, test)

    def definition(self, node: tree.Expr, env: Place) -> tuple[Place, tree.Expr]:
        """Returns the expression that defines a name without arguments, and its place."""
        raise NotImplementedError

    def source(self, node: tree.Expr, env: Place) -> Source:
        """Returns what to enumerate for the elements of a set."""
        domain, kind = self.members(node, env)
        return Source((domain,), lambda elements: Term(kind, elements[0]))

    def taken(self, bound: Bound, name: str, term: Term) -> dict[str, Binding]:
        """Returns the names of a bound for an element of its set."""
        if not bound.pattern:
            return {name: term}
        kind = term.kind
        if isinstance(kind, Never):
            return dict.fromkeys(bound.names, term)
        if length(kind) != len(bound.names):
            raise NotLowered("a set is not cached to contain tuples of one length")
        parts = zip(self.parts(term.code, kind), items_of(kind), strict=True)
        return {
            part_name: Term(part, expr)
            for part_name, (expr, part) in zip(bound.names, parts, strict=True)
        }

    def _quantified(self, node: Any, env: Place) -> Term:
        if any(bound.domain is None for bound in node.bounds):
            raise NotLowered("a quantifier has no set")
        every = node.sign == "\\A"

        def around(slot: int, domain: Expr, inner: Expr) -> Expr:
            return ir.Quantified(every, slot, domain, inner)

        def restrict(condition: Expr, inner: Expr) -> Expr:
            # An element that fails the condition must not make the evaluation end.
            if not is_total(condition):
                raise NotLowered("the condition of a large set may have no value")
            if every:
                return disjunction([negation(condition), inner])
            return conjunction([condition, inner])

        def body(inner: Place) -> Expr:
            return self.cond(node.body, inner)

        try:
            condition = self.enumerated(node.bounds, env, body, around, self._let_of, restrict)
        except NotLowered:
            # The body may have a form for each element, for example if it is recursive.
            places = self._unrolled(node.bounds, env)
            if places is None:
                raise
            together = conjunction if every else disjunction
            condition = together([body(inner) for inner in places])
        return self.condition(condition)

    def _unrolled(self, bounds: Sequence[Bound], env: Place) -> list[Place] | None:
        """Returns the place inside for each combination of elements of constant sets, or None if
        the sets are not constant or there are too many.
        """
        places = [env]
        for bound in bounds:
            if bound.domain is None or bound.pattern or not self.is_constant(bound.domain, env):
                return None
            term = self.written(self.evaluated(bound.domain, env))
            if not isinstance(term.kind, SetOf):
                return None
            values: Any = term.value
            if len(places) * len(values) ** len(bound.names) > MAX_UNROLLED:
                return None
            for name in bound.names:
                places = [
                    scope.having({name: self.constant(value)})
                    for scope in places
                    for value in self.universe.elements(values)
                ]
        return places

    def _let_of(self, slot: int, value: Expr, inner: Expr) -> Expr:
        return ir.Let(inner.type, slot, value, inner)

    def _filter(self, node: Any, env: Place) -> Term:
        domain, kind = self.members(node.bound.domain, env)
        slot = self.slot()
        bound = Term(kind, ir.Local(core(kind), slot))
        condition = self.cond(
            node.condition, env.having(self.taken(node.bound, node.bound.names[0], bound))
        )
        result = set_of(kind, self._most(domain))
        element = ir.Local(core(kind), slot)
        return Term(result, ir.Collect(core(result), slot, domain, condition, element))

    def _most(self, domain: Expr) -> int:
        """Returns the maximum size of a set."""
        assert isinstance(domain.type, types.Set)
        if domain.type.capacity is not None:
            return domain.type.capacity
        return types.count_values(domain.type.element, 1 << 20)

    def _image(self, node: Any, env: Place) -> Term:
        elements: list[Term] = []
        counts: list[int] = []

        def body(inner: Place) -> Expr:
            elements.append(self.written(self.expr(node.element, inner)))
            return self.into(elements[0], elements[0].kind)

        def around(slot: int, domain: Expr, inner: Expr) -> Expr:
            counts.append(self._most(domain))
            if len(counts) == 1:
                result = set_of(elements[0].kind, counts[0])
                return ir.Collect(core(result), slot, domain, None, inner)
            size = 1
            for count in counts:
                size *= count
            result = set_of(elements[0].kind, size)
            return ir.Gather(core(result), slot, domain, inner)

        expr = self.enumerated(node.bounds, env, body, around, self._let_of)
        size = 1
        for count in counts:
            size *= count
        return Term(set_of(elements[0].kind, size), expr)

    def _set(self, node: Any, env: Place) -> Term:
        terms = [self.written(self.expr(item, env)) for item in node.items]
        kind = set_of(joined(term.kind for term in terms), len(terms))
        elements = tuple(self.into(term, kind.element) for term in terms)
        return Term(kind, ir.Build(core(kind), elements))

    def _product(self, node: Any, env: Place) -> Term:
        bounds = tuple(
            tree.Bound((f"{number} of \\X",), item, False, node.span)
            for number, item in enumerate(node.items)
        )
        names = tuple(tree.Apply(bound.names[0], (), node.span) for bound in bounds)
        return self.expr(tree.Image(tree.Tuple(names, node.span), bounds, node.span), env)

    # ------------------------------------------------------------ definitions inside expressions

    def _let(self, node: Any, env: Place) -> Term:
        inner, held = self.let_place(node, env)
        return self.holding(held, self.expr(node.body, inner))

    def let_place(
        self, node: Any, env: Place, eager: bool = True
    ) -> tuple[Place, list[tuple[int, Expr]]]:
        """Returns the place inside a LET, and the values to bind around it: those of definitions
        that cannot fail.
        """
        names: dict[str, Binding] = {}
        held: list[tuple[int, Expr]] = []
        recursive = {
            name.name
            for unit in node.units
            if isinstance(unit, tree.Recursive)
            for name in unit.names
        }
        inner = env
        for unit in node.units:
            if isinstance(unit, tree.Recursive):
                continue
            if isinstance(unit, tree.Instance):
                names[unit.name] = self._local_instance(unit, inner)
            else:
                definition = Definition(unit.parameters, unit.body, inner)
                names[unit.name] = definition
                if unit.name in recursive:
                    definition.env = inner.having({unit.name: definition})
                elif eager and not unit.parameters and not env.primed:
                    bound = self.early(unit.body, inner)
                    if bound is not None:
                        names[unit.name], more = bound
                        held += more
            inner = env.having(names)
        return inner, held

    def early(self, body: tree.Expr, env: Place) -> tuple[Binding, list[tuple[int, Expr]]] | None:
        """Lowers an expression before it is needed, if it depends on the current state only and
        cannot fail. Returns its binding, and its value to bind.
        """
        if self.is_constant(body, env):
            return None
        slots, sites = self.slots, len(self.sites)
        try:
            term = self.written(self.expr(body, env))
        except NotLowered:
            term = Term(NEVER)
        if term.expr is None or not is_total(term.expr) or self.reads_next(term.expr):
            self.slots = slots
            del self.sites[sites:]
            return None
        if is_simple(term.expr):
            return Argument(body, env, term), []
        slot = self.slot()
        local = Term(term.kind, ir.Local(term.expr.type, slot))
        return Argument(body, env, local), [(slot, term.expr)]

    def reads_next(self, expr: Expr) -> bool:
        """Returns whether an expression depends on the next state."""
        raise NotImplementedError

    def _local_instance(self, unit: tree.Instance, env: Place) -> LocalInstance:
        if not unit.name:
            raise NotLowered("an INSTANCE in a LET has no name")
        parameters: list[tree.Parameter] = []
        for name, local in env.names.items():
            if name != "@" and name not in env.base and not isinstance(local, LocalInstance):
                arity = len(local.parameters) if isinstance(local, Definition) else 0
                parameters.append(tree.Parameter(name, arity, unit.span))
        args = tuple(tree.Apply(parameter.name, (), unit.span) for parameter in parameters)
        every = (*parameters, *unit.parameters)
        scope = self.compiler.instantiated(replace(unit, parameters=every), env.scope)
        return LocalInstance(Named(unit.name, env.scope.name, unit.span, every, scope), args)

    def unchanged(self, node: Any, env: Place, span: Span) -> Expr:
        """Returns whether an expression has the same value in the next state."""
        raise NotImplementedError

    def _boxed(self, node: Any, env: Place) -> Term:
        action = self.cond(node.action, env)
        same = self.unchanged(node.variables, env, node.span)
        if node.angle:
            return self.condition(conjunction([action, negation(same)]))
        return self.condition(disjunction([action, same]))

    def _refused(self, node: Any, env: Place) -> Term:
        raise NotLowered("a set of functions or records is used as a value")

    # ------------------------------------------------------------ comparison

    def equal(self, left: Term, right: Term, span: Span) -> Expr:
        """Returns whether two terms are equal."""
        if left.is_constant and right.is_constant:
            if isinstance(left.kind, Never) or isinstance(right.kind, Never):
                raise NotLowered("sets or functions that are not written out are compared")
            try:
                return TRUE if self.universe.equal(left.value, right.value) else FALSE
            except values.EvaluationError as error:
                return self.into(self.failing(span, str(error)), TRUTH)
        left, right = self.written(left), self.written(right)
        for term in (left, right):
            if isinstance(term.kind, Never):
                return self.into(term, TRUTH)
        if left.is_constant:
            left, right = right, left
        return self.let(
            left.code,
            left.kind,
            lambda e: (
                self._equal(Term(left.kind, e), right, span)
                if right.is_constant
                else self.let(
                    right.code,
                    right.kind,
                    lambda f: self._equal(Term(left.kind, e), Term(right.kind, f), span),
                )
            ),
        )

    def _equal(self, left: Term, right: Term, span: Span) -> Expr:
        if isinstance(left.kind, Union):
            result: Expr = FALSE
            last = len(left.kind.cases) - 1
            for number, part in reversed([*enumerate(left.kind.cases)]):
                inner = Term(part, ir.Payload(core(part), left.code, number, 0))
                test: Expr = TRUE if number == last else ir.HasTag(left.code, number)
                result = chosen(test, self._equal(inner, right, span), result, BOOL)
            return result
        if isinstance(right.kind, Union):
            return self._equal(right, left, span)
        if head(left.kind) != head(right.kind):
            if comparable(left.kind, right.kind):
                return FALSE
            if isinstance(left.kind, Rec) or isinstance(right.kind, Rec):
                raise NotLowered("a record is compared with a value of another kind")
            message = "values of different kinds are compared here"
            return self.into(self.failing(span, message), TRUTH)
        kind = join(left.kind, right.kind)
        if not settled(kind):
            raise NotLowered("values are compared whose parts are of different kinds")
        if isinstance(kind, Number) and not right.is_constant:
            return ir.Equal(left.code, right.code)
        if right.is_constant and isinstance(kind, Number | Name):
            return ir.Equal(left.code, self.own(right))
        return ir.Equal(self.into(left, kind), self.into(right, kind))

    FORMS: ClassVar[dict[type, Callable[[Any, Any, Place], Term]]] = {
        tree.If: _if, tree.Case: _case, tree.Filter: _filter,
        tree.Image: _image, tree.FunctionSet: _refused, tree.RecordSet: _refused,
        tree.Product: _product, tree.SetOf: _set, tree.Let: _let, tree.Junction: _junction,
        tree.Quantified: _quantified, tree.Boxed: _boxed,
        tree.Labelled: lambda self, node, env: self.expr(node.body, env),
        tree.Apply: lambda self, node, env: self.named(node, env),
    }  # fmt: skip
