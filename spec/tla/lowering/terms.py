"""Expressions of the core with the kinds of their values, and conversions between kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import BOOL, Expr
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.type_relations import least, same_shape
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span
from fencepost.spec.tla.inference.forms import Forms
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
    Tup,
    Union,
    cases,
    components,
    core,
    element_of,
    head,
    items_of,
    kind_of,
    length,
)
from fencepost.spec.tla.values.kinds import EvaluationError, LazyFunction, LazySet, Value

MAX_LISTED = 65_535
"""The maximum size of a constant set that is written out."""
NO_VALUE: Final = object()
"""The `Term.value` of what is not constant."""
BINDING = (
    ir.Let, ir.Recursion, ir.BuildMap, ir.Quantified, ir.Collect, ir.Gather, ir.Find, ir.Fold,
)  # fmt: skip
"""Expressions that bind slots. A slot is bound once in a model."""
TRUE, FALSE = ir.Literal(BOOL, True), ir.Literal(BOOL, False)
Bet: TypeAlias = tuple[str, bool, Expr]
"""The key of a bet, whether it is about the upper bound, and the condition that it is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """The value of an expression. A constant has a ``value``, and no ``expr`` until its kind is
    cached. A term of the kind `Never` has no value when it is evaluated: ``site`` is the error.
    """

    kind: Kind
    expr: Expr | None = None
    value: Value = NO_VALUE
    site: int = -1

    @property
    def is_constant(self) -> bool:
        return self.value is not NO_VALUE

    @property
    def code(self) -> Expr:
        """The expression of a term that is not constant."""
        assert self.expr is not None
        return self.expr


def literal(number: int) -> Expr:
    return ir.Literal(types.Int(number, number), number)


def conjunction(parts: Sequence[Expr]) -> Expr:
    """Returns the conjunction of conditions, simplified."""
    kept: list[Expr] = []
    for part in parts:
        if part == TRUE:
            continue
        kept += part.parts if isinstance(part, ir.And) else (part,)
        if part == FALSE:
            break
    return TRUE if not kept else kept[0] if len(kept) == 1 else ir.And(tuple(kept))


def disjunction(parts: Sequence[Expr]) -> Expr:
    """Returns the disjunction of conditions, simplified."""
    kept: list[Expr] = []
    for part in parts:
        if part == FALSE:
            continue
        kept += part.parts if isinstance(part, ir.Or) else (part,)
        if part == TRUE:
            break
    return FALSE if not kept else kept[0] if len(kept) == 1 else ir.Or(tuple(kept))


def negation(part: Expr) -> Expr:
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    return part.operand if isinstance(part, ir.Not) else ir.Not(part)


def chosen(condition: Expr, then: Expr, otherwise: Expr, type: types.Type) -> Expr:
    """Returns a conditional expression, simplified."""
    if condition in (TRUE, FALSE):
        return then if condition == TRUE else otherwise
    if type == BOOL and (then, otherwise) in ((TRUE, FALSE), (FALSE, TRUE)):
        return condition if then == TRUE else negation(condition)
    return ir.Conditional(type, condition, then, otherwise)


def is_simple(expr: Expr) -> bool:
    """Returns whether an expression costs nothing, cannot fail and binds no slots."""
    while isinstance(expr, ir.GetField | ir.Convert):
        expr = expr.record if isinstance(expr, ir.GetField) else expr.operand
    return isinstance(expr, ir.Local | ir.Variable | ir.Literal)


def is_fixed(expr: Expr) -> bool:
    """Returns whether an expression is simple, and keeps its value when variables are assigned."""
    return is_simple(expr) and not any(isinstance(node, ir.Variable) for node in walk(expr))


def is_total(expr: Expr) -> bool:
    """Returns whether the evaluation of an expression cannot fail."""
    return not any(isinstance(node, ir.Demand | ir.Recursion) for node in walk(expr))


class Terms:
    """Makes terms. ``slots`` is the number of slots, and ``sites`` are the errors."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.universe = forms.universe
        self.slots = 0
        self.sites: list[ir.Site] = []

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def site(self, span: Span, message: str) -> int:
        """Returns the number of an evaluation error."""
        site = ir.Site("F911", span, message)
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    def failing(self, span: Span, message: str) -> Term:
        """Returns the term of an expression without a value."""
        return Term(NEVER, site=self.site(span, message))

    def constant(self, value: Value) -> Term:
        """Returns the term of a constant. The kind of a set or function that is not written out is
        `Never`.
        """
        if isinstance(value, LazySet | LazyFunction):
            return Term(NEVER, value=value)
        return Term(kind_of(self.universe, value), value=value)

    def written(self, term: Term) -> Term:
        """Returns a term whose sets and functions are written out if it is constant."""
        if term.is_constant and isinstance(term.kind, Never):
            if isinstance(term.value, LazySet) and not self.is_listed(term.value):
                raise NotLowered(f"a set of more than {MAX_LISTED:,} elements is written out")
            try:
                value = self.universe.normalise(term.value)
            except EvaluationError as error:
                raise NotLowered(str(error)) from None
            return Term(kind_of(self.universe, value), value=value)
        return term

    def is_listed(self, values: LazySet) -> bool:
        """Returns whether a constant set is small enough to be written out."""
        try:
            return values.is_finite(self.universe) and values.size(self.universe) <= MAX_LISTED
        except EvaluationError:
            return True

    def let(self, value: Expr, kind: Kind, body: Callable[[Expr], Expr]) -> Expr:
        """Returns what ``body`` makes of a value that it may use several times."""
        if is_simple(value):
            return body(value)
        slot = self.slot()
        inner = body(ir.Local(value.type, slot))
        return ir.Let(inner.type, slot, value, inner)

    def shared(self, term: Term, body: Callable[[Term], Term]) -> Term:
        """Like `let`, for terms."""
        if term.expr is None or is_simple(term.expr):
            return body(term)
        slot = self.slot()
        inner = body(Term(term.kind, ir.Local(term.expr.type, slot)))
        if inner.expr is None:
            # The value is evaluated all the same, since that may fail.
            inner = Term(inner.kind, self.into(inner, inner.kind))
        return Term(inner.kind, ir.Let(inner.code.type, slot, term.expr, inner.code))

    def repeatable(self, expr: Expr, held: list[tuple[int, Expr]]) -> Expr:
        """Returns an expression that may be used several times. It is bound if it binds slots,
        since each slot is bound once.
        """
        if not any(isinstance(node, BINDING) for node in walk(expr)):
            return expr
        slot = self.slot()
        held.append((slot, expr))
        return ir.Local(expr.type, slot)

    def holding(self, held: Sequence[tuple[int, Expr]], term: Term) -> Term:
        """Returns a term with values bound around it."""
        if not held:
            return term
        result = self.own(term)
        for slot, value in reversed(held):
            result = ir.Let(result.type, slot, value, result)
        return Term(self.written(term).kind, result)

    # ------------------------------------------------------------ conversion

    def into(self, term: Term, kind: Kind) -> Expr:
        """Returns the expression of a term as one of a kind that includes its own kind."""
        if term.is_constant:
            value = self.written(term).value
            return ir.Literal(core(kind), self.forms.encode(value, kind))
        if term.expr is None:
            default = ir.Literal(core(kind), least(core(kind)))
            return ir.Demand(core(kind), FALSE, term.site, default)
        return self.convert(term.expr, term.kind, kind)

    def own(self, term: Term) -> Expr:
        """Returns the expression of a term, of its own kind."""
        term = self.written(term)
        return self.into(term, term.kind)

    def convert(self, expr: Expr, source: Kind, target: Kind) -> Expr:
        """Returns a value of ``source`` as one of ``target``, which has all of its structure. If
        the bounds are narrower, the value is cached to be inside.
        """
        type = core(target)
        if expr.type == type:
            return expr
        if isinstance(source, Never):
            return ir.Literal(type, least(type))
        if isinstance(target, Union) or isinstance(source, Union):
            return self.let(expr, source, lambda e: self._converted_union(e, source, target))
        match source, target:
            case (Number(), Number()) | (Name(), Name()):
                if isinstance(expr, ir.Literal):
                    return ir.Literal(type, expr.value)
                return ir.Convert(type, expr)
            case Seq(element), Seq(wider):
                return self._converted_elements(expr, element, wider, type)
            case SetOf(element), SetOf(wider):
                return self._converted_elements(expr, element, wider, type)
            case _, Seq(wider):
                return self.let(
                    expr,
                    source,
                    lambda e: ir.Build(
                        type,
                        tuple(
                            self.convert(part, kind, wider)
                            for part, kind in zip(
                                self.parts(e, source), items_of(source), strict=True
                            )
                        ),
                    ),
                )
            case (Rec(), Rec()) | (Tup() | Fun(), Tup()):
                wanted = items_of(target) if isinstance(target, Tup) else fields_of(target)
                own = items_of(source) if not isinstance(source, Rec) else fields_of(source)
                return self.let(
                    expr,
                    source,
                    lambda e: ir.MakeRecord(
                        type,
                        tuple(map(self.convert, self.parts(e, source), own, wanted)),
                    ),
                )
            case _, Fun():
                return self.let(expr, source, lambda e: self._converted_map(e, source, target))
            case _, Partial():
                return self.let(expr, source, lambda e: self._converted_partial(e, source, target))
            case _:
                raise AssertionError((source, target))

    def _converted_union(self, expr: Expr, source: Kind, target: Kind) -> Expr:
        type = core(target)
        if not isinstance(source, Union):
            return self._variant(expr, source, target)
        result: Expr | None = None
        for number, part in reversed([*enumerate(source.cases)]):
            inner = ir.Payload(core(part), expr, number, 0)
            if isinstance(target, Union):
                value = self._variant(inner, part, target)
            elif head(part) == head(target):
                value = self.convert(inner, part, target)
            else:
                continue
            test = ir.HasTag(expr, number)
            result = value if result is None else ir.Conditional(type, test, value, result)
        assert result is not None
        return result

    def _variant(self, expr: Expr, source: Kind, target: Kind) -> Expr:
        assert isinstance(target, Union)
        tag = tag_of(target, source)
        return ir.MakeVariant(core(target), tag, (self.convert(expr, source, target.cases[tag]),))

    def _converted_elements(self, expr: Expr, source: Kind, target: Kind, type: Any) -> Expr:
        if same_shape(core(source), core(target)) and not _has_holes(target):
            return ir.Convert(type, expr)
        slot = self.slot()
        element = self.convert(ir.Local(core(source), slot), source, target)
        return ir.Collect(type, slot, expr, None, element)

    def _converted_map(self, expr: Expr, source: Kind, target: Fun) -> Expr:
        slot, type = self.slot(), core(target)
        keys, element = core(target.keys), core(target.element)
        key = ir.Local(keys, slot)
        if isinstance(source, Fun):
            value = self.get(expr, source, key)
            body = self.convert(value, source.element, target.element)
        else:
            body = ir.Literal(element, least(element))
            parts = [*zip(self.parts(expr, source), items_of(source), strict=True)]
            for number, (part, kind) in reversed([*enumerate(parts, 1)]):
                test = ir.Equal(key, literal(number))
                body = ir.Conditional(element, test, self.convert(part, kind, target.element), body)
        return ir.BuildMap(type, slot, self.inside(key, target, body))

    def inside(self, key: Expr, kind: Fun, body: Expr) -> Expr:
        """Returns ``body`` for keys in the domain, and the least value for others."""
        if not _holes(kind):
            return body
        rest = ir.Literal(body.type, least(body.type))
        return ir.Conditional(body.type, self.in_domain(key, kind), body, rest)

    def in_domain(self, key: Expr, kind: Fun) -> Expr:
        """Returns whether a key, which is of the kind of the keys, is in the domain."""
        return ir.Contains(self.domain(kind), key)

    def domain(self, kind: Fun) -> Expr:
        """Returns the domain of a function as a set."""
        values = SetOf(kind.keys, len(kind.domain))
        return ir.Literal(core(values), self.forms.encode(kind.domain, values))

    def _converted_partial(self, expr: Expr, source: Kind, target: Partial) -> Expr:
        slot, type = self.slot(), core(target)
        inner = core(target.element)
        option = types.Option(inner)
        key, none = ir.Local(core(target.keys), slot), ir.Literal(option, ())
        body: Expr = none
        for present, value, kind in self._at_key(expr, source, key, target.keys):
            some = ir.Some(option, self.convert(value, kind, target.element))
            body = ir.Conditional(option, present, some, body)
        return ir.BuildMap(type, slot, body)

    def _at_key(
        self, expr: Expr, source: Kind, key: Expr, keys: Kind
    ) -> Iterator[tuple[Expr, Expr, Kind]]:
        """Yields conditions for a function to have a value at a key, with the value."""
        match source:
            case Fun(keys=Never()) | Partial(keys=Never()):
                # The domain is empty.
                return
            case Seq(element):
                size = ir.Size(types.Int(0, source.capacity), expr)
                inside = [ir.Less(literal(1), key, True), ir.Less(key, size, True)]
                index = ir.Arithmetic(
                    types.Int(-types.INT64_HIGH, types.INT64_HIGH - 1),
                    Operator.SUBTRACT, key, literal(1),
                )  # fmt: skip
                if source.capacity:
                    yield ir.And(tuple(inside)), ir.At(core(element), expr, index), element
            case Tup(items):
                for number, item in enumerate(items):
                    yield (
                        ir.Equal(key, literal(number + 1)),
                        ir.GetField(core(item), expr, number),
                        item,
                    )
            case Fun(_, own, element):
                narrowed = self.convert(key, keys, own)
                parts = [self.within(key, keys, own), self.in_domain(narrowed, source)]
                within = conjunction(parts)
                yield within, ir.Get(core(element), expr, narrowed), element
            case Partial(own, element):
                option = types.Option(core(element))
                held = ir.Get(option, expr, self.convert(key, keys, own))
                present = conjunction([self.within(key, keys, own), ir.IsSome(held)])
                yield present, ir.Content(core(element), held), element
            case _:
                raise AssertionError(source)

    def within(self, expr: Expr, source: Kind, target: Kind) -> Expr:
        """Returns whether a value is inside all bounds of ``target``."""
        return conjunction([condition for _, _, condition in self.misfits(expr, source, target)])

    def get(self, expr: Expr, kind: Fun, key: Expr) -> Expr:
        """Returns the value of a function at a key of the kind of the keys."""
        return ir.Get(core(kind.element), expr, key)

    def parts(self, expr: Expr, kind: Kind) -> list[Expr]:
        """Returns the fields of a record, or the components of a sequence of one length."""
        match kind:
            case Rec(fields):
                return [ir.GetField(core(p), expr, n) for n, (_, p) in enumerate(fields)]
            case Tup(items):
                return [ir.GetField(core(part), expr, n) for n, part in enumerate(items)]
            case Fun(_, keys, element):
                return [
                    ir.Get(core(element), expr, ir.Literal(core(keys), number))
                    for number in range(1, (length(kind) or 0) + 1)
                ]
            case _:
                raise AssertionError(kind)

    # ------------------------------------------------------------ bets

    def misfits(self, expr: Expr, source: Kind, target: Kind) -> list[Bet]:
        """Returns the bets of ``target`` that a value of ``source`` may lose. The expression must
        be simple.
        """
        if isinstance(source, Never):
            return []
        if isinstance(target, Union):
            if not isinstance(source, Union):
                return self.misfits(expr, source, target.cases[tag_of(target, source)])
            return [
                (key, above, disjunction([negation(ir.HasTag(expr, number)), condition]))
                for number, part in enumerate(source.cases)
                for key, above, condition in self.misfits(
                    ir.Payload(core(part), expr, number, 0),
                    part,
                    target.cases[tag_of(target, part)],
                )
            ]
        result: list[Bet] = []
        match source, target:
            case Number(), Number():
                if source.high > target.high:
                    result.append((target.key, True, ir.Less(expr, literal(target.high), True)))
                if source.low < target.low:
                    result.append((target.key, False, ir.Less(literal(target.low), expr, True)))
            case Name(), Name():
                if source.high > target.high:
                    result.append(("", True, ir.Less(expr, literal(target.high), True)))
                if source.low < target.low:
                    result.append(("", False, ir.Less(literal(target.low), expr, True)))
            case (Rec(), Rec()) | (Tup(), Tup()) | (Fun(), Tup()):
                for part, part_kind, wanted in zip(
                    self.parts(expr, source), members(source), members(target), strict=True
                ):
                    result += self.misfits(part, part_kind, wanted)
            case Seq(), Seq():
                result += self._misfits_in_size(expr, source, target)
                result += self._misfits_of_each(expr, source.element, target.element)
            case SetOf(), SetOf():
                stored = core(target)
                assert isinstance(stored, types.Set)
                if stored.capacity is not None:
                    result += self._misfits_in_size(expr, source, target)
                result += self._misfits_of_each(expr, source.element, target.element)
            case (Tup() | Fun(), Seq()):
                if (length(source) or 0) > target.capacity:
                    result.append((target.key, True, FALSE))
                for part, part_kind in zip(self.parts(expr, source), items_of(source), strict=True):
                    result += self.misfits(part, part_kind, target.element)
            case Tup(), Fun():
                for part, part_kind in zip(self.parts(expr, source), source.items, strict=True):
                    result += self.misfits(part, part_kind, target.element)
            case Fun(), Fun():
                result += self._misfits_of_each(
                    self.domain(source), source.keys, target.element,
                    lambda key: self.get(expr, source, key), source.element,
                )  # fmt: skip
            case _, Partial() as wider:
                result += self._misfits_of_partial(expr, source, wider)
            case _:
                assert not isinstance(source, Union), (source, target)
        return result

    def _misfits_in_size(self, expr: Expr, source: Seq | SetOf, target: Seq | SetOf) -> list[Bet]:
        if source.capacity <= target.capacity:
            return []
        size = ir.Size(types.Int(0, source.capacity), expr)
        return [(target.key, True, ir.Less(size, literal(target.capacity), True))]

    def _misfits_of_each(
        self,
        domain: Expr,
        element: Kind,
        target: Kind,
        value: Callable[[Expr], Expr] = lambda key: key,
        source: Kind | None = None,
    ) -> list[Bet]:
        """Returns the bets that hold if they hold for each element of a collection."""
        source = element if source is None else source
        result: list[Bet] = []
        number = 0
        while True:
            slot = self.slot()
            bets = self.misfits(value(ir.Local(core(element), slot)), source, target)
            if number >= len(bets):
                return result
            key, above, condition = bets[number]
            result.append((key, above, ir.Quantified(True, slot, domain, condition)))
            number += 1

    def _misfits_of_partial(self, expr: Expr, source: Kind, target: Partial) -> list[Bet]:
        result: list[Bet] = []
        match source:
            case Partial(keys, element):
                option = types.Option(core(element))
                number = 0
                while True:
                    slot = self.slot()
                    key = ir.Local(core(keys), slot)
                    value = ir.Get(option, expr, key)
                    bets = self.misfits(key, keys, target.keys)
                    bets += self.misfits(ir.Content(core(element), value), element, target.element)
                    if number >= len(bets):
                        return result
                    name, above, condition = bets[number]
                    body = disjunction([negation(ir.IsSome(value)), condition])
                    every = ir.Universe(types.Set(core(keys)))
                    result.append((name, above, ir.Quantified(True, slot, every, body)))
                    number += 1
            case Seq():
                if source.capacity:
                    size = ir.Size(types.Int(0, source.capacity), expr)
                    sizes = Number(0, source.capacity)
                    if isinstance(target.keys, Number) and target.keys.low > 1:
                        empty = ir.Equal(size, literal(0))
                        result.append((target.keys.key, False, empty))
                    bets = self.misfits(size, sizes, target.keys)
                    result += [bet for bet in bets if bet[1]]
                    result += self._misfits_of_each(expr, source.element, target.element)
            case _:
                domain = (
                    source.domain
                    if isinstance(source, Fun)
                    else range(1, len(items_of(source)) + 1)
                )
                keys = target.keys
                if isinstance(keys, Number):
                    if max(domain) > keys.high:
                        result.append((keys.key, True, FALSE))
                    if min(domain) < keys.low:
                        result.append((keys.key, False, FALSE))
                if isinstance(source, Fun):
                    result += self._misfits_of_each(
                        self.domain(source), source.keys, target.element,
                        lambda key: self.get(expr, source, key), source.element,
                    )  # fmt: skip
                else:
                    for part, part_kind in zip(
                        self.parts(expr, source), items_of(source), strict=True
                    ):
                        result += self.misfits(part, part_kind, target.element)
        return result


def tag_of(union: Union, kind: Kind) -> int:
    """Returns the number of the case of a union that includes a kind."""
    for number, part in enumerate(union.cases):
        if head(part) == head(kind):
            return number
    raise AssertionError((union, kind))


def fields_of(kind: Kind) -> tuple[Kind, ...]:
    assert isinstance(kind, Rec)
    return tuple(part for _, part in kind.fields)


def members(kind: Kind) -> tuple[Kind, ...]:
    """Returns the kinds of `Terms.parts`."""
    return fields_of(kind) if isinstance(kind, Rec) else items_of(kind)


def _holes(kind: Kind) -> bool:
    """Returns whether the core's type of a function has keys outside of its domain."""
    return isinstance(kind, Fun) and types.cardinality(core(kind.keys)) > len(kind.domain)


def _has_holes(kind: Kind) -> bool:
    """Returns whether a value contains functions whose types have keys outside of the domain."""
    return _holes(kind) or any(map(_has_holes, components(kind)))


__all__ = ["NO_VALUE", "NotLowered", "Term", "Terms", "cases", "element_of"]
