"""Lowers functions, records and tuples, and their updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.type_relations import least
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.kinds import (
    NEVER,
    Fun,
    Kind,
    Name,
    Never,
    NotLowered,
    Number,
    Partial,
    Rec,
    Seq,
    SetOf,
    Truth,
    Tup,
    Union,
    cases,
    components,
    core,
    element_of,
    function,
    has_keys,
    head,
    items_of,
    join,
    joined,
    length,
    record,
    sequence,
)
from fencepost.spec.tla.lowering.choose import Choose
from fencepost.spec.tla.lowering.expressions import MAX_UNROLLED
from fencepost.spec.tla.lowering.places import Binding, Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Term,
    chosen,
    conjunction,
    literal,
    members,
)
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.values.kinds import Value
from fencepost.spec.tla.values.lazy_sets import Product

OUTSIDE = "the function is applied outside of its domain"


class Functions(Choose):
    """Lowers functions."""

    def _function(self, node: Any, env: Place) -> Term:
        if node.name and node.name in self.words(node.body):
            raise NotLowered("a recursive function depends on the state")
        domains = [bound.domain for bound in node.bounds]
        if not all(self.is_constant(domain, env) for domain in domains):
            return self._function_of_any_domain(node, env)
        names = [name for bound in node.bounds for name in bound.names]
        sets: list[Any] = []
        for bound in node.bounds:
            term = self.written(self.evaluated(bound.domain, env))
            value: Any = term.value
            if not isinstance(value, frozenset):
                return self.failing(bound.span, "a set is expected here")
            sets += [value] if bound.pattern else [value] * len(bound.names)
        pattern = len(sets) != len(names)
        if len(sets) > 1 and pattern:
            raise NotLowered("a function has several tuples as arguments")
        domain = sets[0]
        if len(sets) > 1:
            domain = self.universe.finite(values_product(sets))
        order = self.universe.domain_of(domain)
        if not domain:
            return self.constant(())
        if order.is_record or not has_keys(self.universe, domain):
            terms = {
                key: self.written(self.expr(node.body, env.having(self._arguments(names, key))))
                for key in order.elements
            }
            return self.record(terms)
        keys = function(self.universe, domain, NEVER)
        slot = self.slot()
        key = Term(keys.keys, ir.Local(core(keys.keys), slot))
        if len(names) == 1:
            inner = env.having({names[0]: key})
        else:
            parts = zip(self.parts(key.code, key.kind), items_of(key.kind), strict=True)
            inner = env.having(
                {name: Term(kind, expr) for name, (expr, kind) in zip(names, parts, strict=True)}
            )
        try:
            element = self.written(self.expr(node.body, inner))
        except NotLowered:
            if len(domain) > MAX_UNROLLED:
                raise
            # The body may have a form for each argument, for example if it is recursive.
            scopes = [env.having(self._arguments(names, key)) for key in order.elements]
            values = [self.written(self.expr(node.body, scope)) for scope in scopes]
            return self.function_of(order, values)
        kind = Fun(domain, keys.keys, element.kind)
        body = self.inside(key.code, kind, self.into(element, element.kind))
        return Term(kind, ir.BuildMap(core(kind), slot, body))

    def function_of(self, order: Any, terms: Sequence[Term]) -> Term:
        """Returns a function with a constant domain from its values in order."""
        if order.is_record or not has_keys(self.universe, order.values):
            return self.record(dict(zip(order.elements, terms, strict=True)))
        if order.values == frozenset(range(1, len(terms) + 1)):
            return self.tuple_of(terms)
        keys = function(self.universe, order.values, NEVER)
        kind = Fun(order.values, keys.keys, joined(term.kind for term in terms))
        slot, stored = self.slot(), core(kind.element)
        each = ir.Local(core(kind.keys), slot)
        body: Expr = ir.Literal(stored, least(stored))
        for key, term in zip(order.elements, terms, strict=True):
            test = ir.Equal(each, self.into(self.constant(key), kind.keys))
            body = ir.Conditional(stored, test, self.into(term, kind.element), body)
        return Term(kind, ir.BuildMap(core(kind), slot, body))

    def _function_of_any_domain(self, node: Any, env: Place) -> Term:
        if len(node.bounds) != 1 or len(node.bounds[0].names) != 1:
            raise NotLowered("a function of several arguments has a domain that changes")
        (bound,) = node.bounds
        domain, keys = self.members(bound.domain, env)
        if isinstance(domain, ir.Interval) and domain.low == literal(1):
            return self._sequence_of(domain, node.body, bound, env)
        domain = self.materialized(domain)
        slot = self.slot()
        key = Term(keys, ir.Local(core(keys), slot))
        element = self.written(self.expr(node.body, env.having({bound.names[0]: key})))
        kind = Partial(keys, element.kind)
        option = types.Option(core(element.kind))
        some = ir.Some(option, self.into(element, element.kind))

        def build(held: Expr) -> Expr:
            test = ir.Contains(held, key.code)
            body = ir.Conditional(option, test, some, ir.Literal(option, ()))
            return ir.BuildMap(core(kind), slot, body)

        return Term(kind, self.let(domain, NEVER, build))

    def _sequence_of(self, domain: ir.Interval, body: Any, bound: Any, env: Place) -> Term:
        """Returns a function on 1..n as the sequence of its values."""
        assert isinstance(domain.type, types.Set)
        keys = domain.type.element
        assert isinstance(keys, types.Int)
        slot = self.slot()
        key = Term(Number(keys.low, keys.high), ir.Local(keys, slot))
        element = self.written(self.expr(body, env.having({bound.names[0]: key})))
        kind = Seq(element.kind, max(keys.high, 0))
        inner = self.into(element, element.kind)
        return Term(kind, ir.Collect(core(kind), slot, domain, None, inner))

    def _index(self, node: Any, env: Place) -> Term:
        function_, argument = self.expr(node.function, env), self.expr(node.argument, env)
        return self.applied(function_, argument, node.span)

    def applied(self, function_: Term, argument: Term, span: Span) -> Term:
        """Returns the value of a function for an argument."""
        if isinstance(function_.kind, Never):
            if not function_.is_constant:
                return function_
            raise NotLowered("a function that is not written out has an argument that changes")
        argument = self.written(argument)
        if isinstance(argument.kind, Never):
            return argument
        return self.shared(
            self.written(function_),
            lambda whole: self.shared(
                argument, lambda key: self._applied(whole, whole.kind, key, span)
            ),
        )

    def _applied(self, function_: Term, kind: Kind, key: Term, span: Span) -> Term:
        result = self.failing(span, OUTSIDE)
        match kind:
            case Union(parts):
                for number, case in reversed([*enumerate(parts)]):
                    inner = Term(case, ir.Payload(core(case), function_.code, number, 0))
                    test: Expr = ir.HasTag(function_.code, number)
                    result = self.either(test, self._applied(inner, case, key, span), result)
                return result
            case Rec(fields):
                names: list[Value] = [name for name, _ in fields]
                return self._one_of(self.own(function_), kind, names, key, span)
            case Tup(items):
                numbers: list[Value] = [*range(1, len(items) + 1)]
                return self._one_of(self.own(function_), kind, numbers, key, span)
            case Seq():
                return self._at_position(self.own(function_), kind, key, span)
            case Fun() | Partial():
                return self._looked_up(self.own(function_), kind, key, span)
            case _:
                return self.failing(span, "the value is not a function")

    def _one_of(
        self, expr: Expr, kind: Rec | Tup, names: Sequence[Value], key: Term, span: Span
    ) -> Term:
        """Returns the field or component that a key names."""
        result = self.failing(span, OUTSIDE)
        for name, inner, part in zip(names, self.parts(expr, kind), members(kind), strict=True):
            if key.is_constant:
                if key.value == name:
                    return Term(part, inner)
                continue
            test = self._names(key, name, span)
            if test != FALSE:
                result = self.either(test, Term(part, inner), result)
        return result

    def _names(self, key: Term, name: Value, span: Span) -> Expr:
        """Returns whether a key is the name of a field or the number of a component."""
        field = self.constant(name)
        if all(head(case) != head(field.kind) for case in cases(key.kind)):
            return FALSE
        return self.equal(key, field, span)

    def _at_position(self, expr: Expr, kind: Seq, key: Term, span: Span) -> Term:
        position = self.only(key, Number, span, "a sequence is applied to this argument")
        if isinstance(position.kind, Never) or not kind.capacity:
            return self.failing(span, OUTSIDE)

        def at(position: Term) -> Term:
            size = ir.Size(types.Int(0, kind.capacity), expr)
            code = self.own(position)
            test = conjunction([ir.Less(literal(1), code, True), ir.Less(code, size, True)])
            element = ir.At(core(kind.element), expr, self.minus_one(position))
            return self.demand(test, span, OUTSIDE, Term(kind.element, element))

        return self.shared(position, at)

    def minus_one(self, term: Term) -> Expr:
        """Returns a position as the core counts it."""
        assert isinstance(term.kind, Number)
        kind = types.Int(term.kind.low - 1, term.kind.high - 1)
        return ir.Arithmetic(kind, Operator.SUBTRACT, self.own(term), literal(1))

    def _looked_up(self, expr: Expr, kind: Fun | Partial, key: Term, span: Span) -> Term:
        held, test, converted = self.key_in(kind, key)
        if test == FALSE:
            return self.failing(span, OUTSIDE)
        if isinstance(kind, Fun):
            value = Term(kind.element, ir.Get(core(kind.element), expr, converted))
            return self.holding(held, self.demand(test, span, OUTSIDE, value))
        option = ir.Get(types.Option(core(kind.element)), expr, converted)
        value = Term(kind.element, ir.Content(core(kind.element), option))
        present = conjunction([test, ir.IsSome(option)])
        return self.holding(held, self.demand(present, span, OUTSIDE, value))

    def key_in(self, kind: Fun | Partial, key: Term) -> tuple[list[tuple[int, Expr]], Expr, Expr]:
        """Returns values to bind, whether a key is in the domain of a function, and the key as the
        core has it. A key of another kind is not in the domain.
        """
        keys = kind.keys
        if key.is_constant and isinstance(kind, Fun):
            inside = self.universe.contains(kind.domain, key.value)
            return ([], TRUE, self.into(key, keys)) if inside else ([], FALSE, TRUE)
        if isinstance(keys, Never) or isinstance(key.kind, Never):
            return [], FALSE, TRUE
        if isinstance(key.kind, Union):
            fitting = [n for n, part in enumerate(key.kind.cases) if head(part) == head(keys)]
            if not fitting:
                return [], FALSE, TRUE
            tag = fitting[0]
            case = key.kind.cases[tag]
            inner = Term(case, ir.Payload(core(case), key.code, tag, 0))
            bound, test, converted = self.key_in(kind, inner)
            return bound, conjunction([ir.HasTag(key.code, tag), test]), converted
        if head(key.kind) != head(keys):
            return [], FALSE, TRUE
        held: list[tuple[int, Expr]] = []
        if not _same_structure(key.kind, keys):
            # The key may be converted, or it may be in the domain only if it has some structure.
            source = join(key.kind, keys)
            if _same_structure(source, keys):
                key = Term(source, self.into(key, source))
        own = self.repeatable(self.own(key), held)
        fits, key = self._narrowed(own, key.kind, keys)
        source, own = key.kind, self.repeatable(key.code, held)
        test = conjunction([fits, self.within(own, source, keys)])
        # A conversion of a key that is not within the bounds has some value, which is not used.
        converted = self.repeatable(self.convert(own, source, keys), held)
        if isinstance(kind, Fun) and not self._covers(kind, key.kind):
            test = conjunction([test, self.in_domain(converted, kind)])
        return held, test, converted

    def _narrowed(self, expr: Expr, source: Kind, target: Kind) -> tuple[Expr, Term]:
        """Returns whether a value has the structure of ``target``, and if so, the value with this
        structure. Raises `NotLowered`.
        """
        if _same_structure(source, target):
            return TRUE, Term(source, expr)
        if isinstance(source, Union) and not isinstance(target, Union):
            for number, case in enumerate(source.cases):
                if head(case) == head(target):
                    inner = ir.Payload(core(case), expr, number, 0)
                    test, term = self._narrowed(inner, case, target)
                    return conjunction([ir.HasTag(expr, number), test]), term
        if isinstance(source, Rec) and isinstance(target, Rec) and head(source) == head(target):
            pairs = zip(self.parts(expr, source), members(source), members(target), strict=True)
            narrowed = [self._narrowed(*pair) for pair in pairs]
            terms = dict(zip([n for n, _ in source.fields], [t for _, t in narrowed], strict=True))
            return conjunction([test for test, _ in narrowed]), self.record(terms)
        if length(source) == length(target) is not None:
            pairs = zip(self.parts(expr, source), items_of(source), items_of(target), strict=True)
            narrowed = [self._narrowed(*pair) for pair in pairs]
            kind = Tup(tuple(term.kind for _, term in narrowed))
            parts = tuple(self.own(term) for _, term in narrowed)
            return conjunction([test for test, _ in narrowed]), self.as_kind(
                Term(kind, ir.MakeRecord(core(kind), parts)), target
            )
        raise NotLowered("a function is applied to an argument of another structure")

    def as_kind(self, term: Term, target: Kind) -> Term:
        """Returns a tuple as a function on numbers if ``target`` is one."""
        if isinstance(target, Fun) and isinstance(term.kind, Tup):
            kind = Fun(target.domain, target.keys, element_of(term.kind))
            return Term(kind, self.convert(term.code, term.kind, kind))
        return term

    def _covers(self, kind: Fun, keys: Kind) -> bool:
        """Returns whether the domain of a function includes all values of a kind that are inside
        the bounds of its keys.
        """
        return types.cardinality(core(kind.keys)) == len(kind.domain)

    def _field(self, node: Any, env: Place) -> Term:
        return self.applied(self.expr(node.record, env), self.constant(node.field), node.span)

    def _record(self, node: Any, env: Place) -> Term:
        return self.record(
            {name: self.written(self.expr(value, env)) for name, value in node.fields}
        )

    def _arguments(self, names: Sequence[str], key: Any) -> dict[str, Binding]:
        """Returns the values of the bound names of a function for an argument."""
        if len(names) == 1:
            return {names[0]: self.constant(key)}
        return {name: self.constant(part) for name, part in zip(names, key, strict=True)}

    def record(self, terms: Mapping[Value, Term]) -> Term:
        """Returns a record."""
        kind = record(self.universe, {name: term.kind for name, term in terms.items()})
        fields = tuple(self.into(terms[name], part) for name, part in kind.fields)
        return Term(kind, ir.MakeRecord(core(kind), fields))

    def _tuple(self, node: Any, env: Place) -> Term:
        return self.tuple_of([self.written(self.expr(item, env)) for item in node.items])

    def tuple_of(self, terms: Sequence[Term]) -> Term:
        """Returns a tuple of at least one component."""
        kind = sequence([term.kind for term in terms])
        tup = Tup(tuple(term.kind for term in terms))
        build = ir.MakeRecord(core(tup), tuple(self.into(term, term.kind) for term in terms))
        if isinstance(kind, Tup):
            return Term(tup, build)
        return Term(kind, self.convert(build, tup, kind))

    # ------------------------------------------------------------ EXCEPT

    def _except(self, node: Any, env: Place) -> Term:
        term = self.written(self.expr(node.function, env))
        for update in node.updates:
            term = self._updated_by(term, update, env)
        return term

    def _updated_by(self, term: Term, update: tree.Update, env: Place) -> Term:
        keys = [self.written(self.expr(key, env)) for key in update.path]

        def value(old: Term) -> Term:
            return self.written(self.expr(update.value, env.having({"@": old})))

        return self.updated(term, keys, value, update.span)

    def updated(
        self, function_: Term, keys: list[Term], value: Callable[[Term], Term], span: Span
    ) -> Term:
        """Returns a function with another value for an argument. A function that is applied outside
        of its domain stays as it is.
        """
        if isinstance(function_.kind, Never):
            return function_
        if isinstance(function_.kind, Union):
            return self.shared(
                function_, lambda whole: self._updated_case(whole, keys, value, span)
            )
        key, *rest = keys

        def new(old: Term) -> Term:
            return self.updated(old, rest, value, span) if rest else value(old)

        def changed(whole: Term) -> Term:
            return self.shared(key, lambda key: self._changed(whole, key, new, span, bool(rest)))

        return self.shared(Term(function_.kind, self.own(function_)), changed)

    def _updated_case(
        self, whole: Term, keys: list[Term], value: Callable[[Term], Term], span: Span
    ) -> Term:
        """Returns the update of a value of several kinds; only functions can be updated."""
        result = self.failing(span, "an EXCEPT is about a value that is not a function")
        for number, case in reversed([*enumerate(cases(whole.kind))]):
            if isinstance(case, Rec | Tup | Seq | Fun | Partial):
                inner = Term(case, ir.Payload(core(case), whole.code, number, 0))
                updated = self.updated(inner, keys, value, span)
                result = self.either(ir.HasTag(whole.code, number), updated, result)
        return result

    def _changed(
        self, whole: Term, key: Term, new: Callable[[Term], Term], span: Span, deeper: bool
    ) -> Term:
        kind, expr = whole.kind, whole.code
        match kind:
            case Rec(fields):
                return self._changed_part(whole, [name for name, _ in fields], key, new, span)
            case Tup(items):
                return self._changed_part(whole, [*range(1, len(items) + 1)], key, new, span)
            case Fun() | Partial():
                held_keys, test, converted = self.key_in(kind, key)
                if test == FALSE:
                    return whole
                option = types.Option(core(kind.element))
                if isinstance(kind, Fun):
                    old: Expr = ir.Get(core(kind.element), expr, converted)
                else:
                    got = ir.Get(option, expr, converted)
                    test = conjunction([test, ir.IsSome(got)])
                    old = ir.Content(core(kind.element), got)
                value = new(Term(kind.element, old))
                element = join(kind.element, value.kind)
                result: Kind = (
                    Fun(kind.domain, kind.keys, element)
                    if isinstance(kind, Fun)
                    else Partial(kind.keys, element)
                )
                slot = self.slot()
                each = ir.Local(core(kind.keys), slot)
                inner = self.into(value, element)
                held = core(element) if isinstance(kind, Fun) else types.Option(core(element))
                if isinstance(kind, Partial):
                    inner = ir.Some(held, inner)

                def changed(fresh: Expr, base: Expr) -> Expr:
                    body = ir.Conditional(
                        held, ir.Equal(each, converted), fresh, ir.Get(held, base, each)
                    )
                    return ir.BuildMap(core(result), slot, body)

                # The value is computed only if the key is in the domain.
                code = self.let(
                    self.convert(expr, kind, result),
                    result,
                    lambda base: chosen(
                        test,
                        self.let(inner, NEVER, lambda fresh: changed(fresh, base)),
                        base,
                        core(result),
                    ),
                )
                return self.holding(held_keys, Term(result, code))
            case Seq(element, capacity) if capacity:
                number = self.only(key, Number, span, "a sequence is updated at this argument")
                if not isinstance(number.kind, Number):
                    return number
                code = self.own(number)
                size = ir.Size(types.Int(0, capacity), expr)
                test = conjunction([ir.Less(literal(1), code, True), ir.Less(code, size, True)])
                index = self.minus_one(number)
                value = new(Term(element, ir.At(core(element), expr, index)))
                longer = Seq(join(element, value.kind), capacity)
                stored = core(longer)
                inserted = ir.InsertAt(
                    stored,
                    ir.RemoveAt(stored, self.convert(expr, kind, longer), index),
                    index,
                    self.into(value, longer.element),
                )
                base = self.convert(expr, kind, longer)
                return Term(longer, chosen(test, inserted, base, stored))
            case _:
                raise NotLowered("an EXCEPT is about a value that may be no function")

    def _changed_part(
        self,
        whole: Term,
        names: Sequence[Value],
        key: Term,
        new: Callable[[Term], Term],
        span: Span,
    ) -> Term:
        """Returns a record or tuple with another value for the field or component ``key``."""
        terms: list[Term] = []
        kind = whole.kind
        for name, part, inner in zip(
            names, members(kind), self.parts(whole.code, kind), strict=True
        ):
            old = Term(part, inner)
            test = self._names(key, name, span)
            if test in (TRUE, FALSE):
                terms.append(self.written(new(old)) if test == TRUE else old)
            else:
                terms.append(self.either(test, new(old), old))
        if isinstance(kind, Rec):
            return self.record(dict(zip(names, terms, strict=True)))
        result = Tup(tuple(term.kind for term in terms))
        parts = tuple(self.into(term, term.kind) for term in terms)
        return Term(result, ir.MakeRecord(core(result), parts))

    def _at(self, node: Any, env: Place) -> Term:
        local = env.names["@"]
        assert isinstance(local, Term)
        return local

    FORMS: ClassVar[dict[type, Callable[[Any, Any, Place], Term]]] = {
        **Choose.FORMS,
        tree.Function: _function, tree.Index: _index, tree.FieldOf: _field, tree.Record: _record,
        tree.Except: _except, tree.At: _at, tree.Tuple: _tuple,
    }  # fmt: skip


def values_product(sets: Sequence[Value]) -> Value:
    """Returns the product of sets."""
    return Product(sets)


def _same_structure(source: Kind, target: Kind) -> bool:
    """Returns whether two kinds differ in bounds only."""
    match source, target:
        case (Number(), Number()) | (Truth(), Truth()):
            return True
        case Name(), Name():
            return source.model == target.model
        case (Rec(), Rec()) | (Tup(), Tup()):
            return all(map(_same_structure, components(source), components(target)))
        case Fun(), Fun():
            return source.domain == target.domain and _same_structure(
                source.element, target.element
            )
        case SetOf(element), SetOf(other):
            return _same_structure(element, other)
        case Seq(element), Seq(other):
            return _same_structure(element, other)
        case _:
            return False
