"""Enumerates sets of functions, records and tuples by the parts of their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.size_limits import countable
from fencepost.spec.tla.inference.kinds import (
    NotLowered,
    Number,
    Partial,
    SetOf,
    core,
)
from fencepost.spec.tla.lowering.expressions import Source
from fencepost.spec.tla.lowering.functions import Functions
from fencepost.spec.tla.lowering.places import Place
from fencepost.spec.tla.lowering.terms import (
    Term,
)
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.values import lazy_sets
from fencepost.spec.tla.values.kinds import LazySet, Value

MAX_PARTS = 64
"""The maximum number of sets whose elements are the parts of the values of an enumerated set."""


class FunctionSets(Functions):
    """Lowers enumerations."""

    def source(self, node: tree.Expr, env: Place) -> Source:
        """Sets of functions, records and tuples are enumerated by their parts."""
        if self.is_constant(node, env):
            value = self.evaluated(node, env).value
            source = self._source_of(value) if isinstance(value, LazySet) else None
            return source or super().source(node, env)
        match node:
            case tree.FunctionSet(domain, range):
                if self.is_constant(domain, env):
                    keys: Any = self.written(self.evaluated(domain, env)).value
                    if not keys:
                        return Source((), lambda _: self.constant(()))
                    return self._functions(keys, self.source(range, env))
                return self._functions_of_any_domain(node, env)
            case tree.RecordSet(fields):
                names = [name for name, _ in fields]
                parts = [self.source(part, env) for _, part in fields]
                return self._combined(
                    parts, lambda terms: self.record(dict(zip(names, terms, strict=True)))
                )
            case tree.Product(items):
                return self._combined([self.source(item, env) for item in items], self.tuple_of)
            case _:
                return super().source(node, env)

    def _source_of(self, values: Value) -> Source | None:
        """Returns what to enumerate for a constant set, or None if it must be written out."""
        if not isinstance(values, LazySet):
            term = self.written(self.constant(values))
            if not isinstance(term.kind, SetOf):
                return None
            kind = term.kind.element
            return Source((self.own(term),), lambda elements: Term(kind, elements[0]))
        match values:
            case lazy_sets.FunctionSet():
                keys = self.universe.normalise(values.domain)
                part = self._source_of(values.range)
                return part and self._functions(keys, part) if keys else None
            case lazy_sets.RecordSet():
                names = [*values.fields]
                parts = [self._source_of(part) for part in values.fields.values()]
                return self._combined(
                    parts, lambda terms: self.record(dict(zip(names, terms, strict=True)))
                )
            case lazy_sets.Product():
                return self._combined([*map(self._source_of, values.factors)], self.tuple_of)
            case lazy_sets.PowerSet():
                base = self.written(self.constant(values.base))
                if isinstance(base.kind, SetOf):
                    kind = base.kind
                    subsets = ir.Subsets(types.Set(core(kind)), self.own(base))
                    return Source((subsets,), lambda elements: Term(kind, elements[0]))
            case lazy_sets.Interval():
                number = Number(values.low, values.high)
                every = ir.Universe(types.Set(core(number)))
                return Source((every,), lambda elements: Term(number, elements[0]))
            case _:
                pass
        return None

    def _combined(
        self, parts: Sequence[Source | None], build: Callable[[list[Term]], Term]
    ) -> Source:
        """Returns what to enumerate for values whose parts come from several sets."""
        sources = [part for part in parts if part is not None]
        if len(sources) < len(parts) or sum(len(s.domains) for s in sources) > MAX_PARTS:
            raise NotLowered("the values of a large set are enumerated")

        def whole(elements: Sequence[Expr]) -> Term:
            terms: list[Term] = []
            position = 0
            for source in sources:
                end = position + len(source.domains)
                terms.append(source.build(elements[position:end]))
                position = end
            return build(terms)

        domains = tuple(domain for source in sources for domain in source.domains)
        held = dict.fromkeys(pair for source in sources for pair in source.held)
        return Source(domains, whole, tuple(held))

    def _functions(self, domain: frozenset[Value], range: Source) -> Source:
        """Returns what to enumerate for functions with a constant domain."""
        order = self.universe.domain_of(domain)
        held = [*range.held]
        domains = [self.repeatable(self.materialized(part), held) for part in range.domains]
        part = Source(tuple(domains), range.build, tuple(held))
        every = [part] * len(order.elements)
        return self._combined(every, lambda terms: self.function_of(order, terms))

    def _functions_of_any_domain(self, node: tree.FunctionSet, env: Place) -> Source:
        """Returns what to enumerate for functions whose domain changes: each possible key has a
        value if it is in the domain.
        """
        keys, kind = self.members(node.domain, env)
        values, element = self.members(node.range, env)
        keys, values = self.materialized(keys), self.materialized(values)
        stored = core(kind)
        if not countable(stored, MAX_PARTS):
            raise NotLowered("the domain of a set of functions is among too many values")
        held = [(self.slot(), keys), (self.slot(), values)]
        inside, range_ = (ir.Local(value.type, slot) for slot, value in held)
        option = types.Option(core(element))
        forms = [ir.Literal(stored, form) for form in types.values(stored)]
        result = Partial(kind, element)
        options = types.Set(option, self._most(values) + 1)

        def choices(key: Expr) -> Expr:
            slot = self.slot()
            some = ir.Some(option, ir.Local(core(element), slot))
            return ir.Conditional(
                options,
                ir.Contains(inside, key),
                ir.Collect(options, slot, range_, None, some),
                ir.Literal(options, ((),)),
            )

        def build(elements: Sequence[Expr]) -> Term:
            slot = self.slot()
            each = ir.Local(stored, slot)
            body: Expr = ir.Literal(option, ())
            for key, value in zip(forms, elements, strict=True):
                body = ir.Conditional(option, ir.Equal(each, key), value, body)
            return Term(result, ir.BuildMap(core(result), slot, body))

        return Source(tuple(map(choices, forms)), build, tuple(held))
