"""Random expressions of the core, of any type: every operation on values of every size.

They are total in their places, as the core wants it: what may be undefined stands behind a demand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, assert_never

from tests.support import random_values
from tests.support.random_core_scope import POSITION, Scope

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator, result_range
from fencepost.spec.core.size_limits import countable, most
from fencepost.spec.core.type_relations import element_of, within
from fencepost.spec.core.types import (
    INT64_HIGH,
    INT64_LOW,
    SMALL_SET,
    Bag,
    Bool,
    Int,
    Machine,
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    as_collection,
    cardinality,
)

Collection: TypeAlias = Set | Seq | Bag

MARKS = 70
"""More than a word has bits."""
MAX_LOOPED = 300
"""Loops go through collections of at most so many elements."""


class Cores(Scope):
    """Draws expressions."""

    def expression(self, kind: Type, depth: int) -> ir.Expr:
        """An expression of exactly this type."""
        random = self.random
        if depth <= 0 or random.random() < 0.15:
            return self.leaf(kind)
        lot = random.random()
        if lot < 0.12:
            return self.leaf(kind)
        if lot < 0.26:
            return self.part(kind) or self.leaf(kind)
        if lot < 0.34:
            arms = [self.expression(kind, depth - 1) for _ in range(2)]
            return ir.Conditional(kind, self.truth(depth - 1), *arms)
        if lot < 0.38:
            return self.let(self.expression(kind, depth - 1), lambda _: self.expression(kind, 1))
        if lot < 0.42:
            safe = ir.Or((ir.Literal(Bool(), random.random() < 0.8), self.truth(depth - 1)))
            return ir.Demand(kind, safe, self.site(), self.expression(kind, depth - 1))
        return self._made(kind, depth)

    # ------------------------------------------------------------ by type

    def _made(self, kind: Type, depth: int) -> ir.Expr:
        random, less = self.random, depth - 1
        match kind:
            case Bool():
                return self.truth(depth)
            case Int() | Machine():
                return self.number(kind, depth)
            case Nominal():
                return self.leaf(kind)
            case Record(fields=fields):
                if random.random() < 0.5:
                    index = random.randrange(len(fields))
                    new = self.expression(fields[index].type, less)
                    return ir.WithField(kind, self.expression(kind, less), index, new)
                return ir.MakeRecord(
                    kind, tuple(self.expression(item.type, less) for item in fields)
                )
            case Union(variants=variants):
                tag = random.randrange(len(variants))
                parts = (self.expression(item.type, less) for item in variants[tag].fields)
                return ir.MakeVariant(kind, tag, tuple(parts))
            case Option(element):
                return self._option(kind, element, depth)
            case Map(key, value):
                slot, body = self.under(key, lambda: self.expression(value, less))
                return ir.BuildMap(kind, slot, body)
            case Set() | Seq() | Bag():
                return self._collection(kind, depth)
            case _:
                assert_never(kind)

    def _option(self, kind: Option, element: Type, depth: int) -> ir.Expr:
        domain = self._domain(element, depth)
        if self.random.random() < 0.3:
            return ir.Some(kind, self.expression(element, depth - 1))
        if self.random.random() < 0.4:
            return ir.Extreme(kind, self.random.random() < 0.5, domain)
        if self.random.random() < 0.3:
            return ir.Find(kind, self.fresh(element).slot, domain, None)
        slot, test = self.under(element, lambda: self.truth(1))
        return ir.Find(kind, slot, domain, test)

    def truth(self, depth: int) -> ir.Expr:
        """A condition."""
        random, less = self.random, depth - 1
        if depth <= 0:
            return random.choice([self.leaf(Bool()), self._comparison(0)])
        match random.randrange(9):
            case 0:
                return ir.Not(self.truth(less))
            case 1:
                parts = tuple(self.truth(less) for _ in range(random.randint(1, 3)))
                return ir.And(parts) if random.random() < 0.5 else ir.Or(parts)
            case 2:
                return self._quantified(depth) or self._comparison(less)
            case 3:
                return self._membership(depth) or self._comparison(less)
            case 4:
                inner = self.any(less)
                if isinstance(inner.type, Option):
                    return ir.IsSome(inner)
                if isinstance(inner.type, Union):
                    return ir.HasTag(inner, random.randrange(len(inner.type.variants)))
                return ir.Equal(inner, self.expression(inner.type, less))
            case 5:
                return ir.Witness(random.randrange(MARKS), self.truth(less))
            case 6 if self.property and self.actions:
                return ir.Enabled(random.randrange(self.actions))
            case 7:
                inner = self.any(less)
                return ir.Fits(inner, self.narrowed(inner.type))
            case _:
                return self._comparison(less)

    def _comparison(self, depth: int) -> ir.Expr:
        left = self.any(depth)
        right = self.expression(left.type, depth)
        if self.random.random() < 0.4:
            return ir.Equal(left, right)
        return ir.Less(left, right, self.random.random() < 0.5)

    def _quantified(self, depth: int) -> ir.Expr | None:
        domain = self._some_domain(depth)
        if domain is None:
            return None
        element = element_of(domain.type)
        assert element is not None
        slot, body = self.under(element, lambda: self.truth(depth - 1))
        return ir.Quantified(self.random.random() < 0.5, slot, domain, body)

    def _membership(self, depth: int) -> ir.Expr | None:
        domain = self._some_domain(depth)
        if domain is None:
            return None
        element = element_of(domain.type)
        assert element is not None
        kind = self.narrowed(element) if self.random.random() < 0.3 else element
        return ir.Contains(domain, self.expression(kind, depth - 1))

    # ------------------------------------------------------------ numbers

    def number(self, kind: Int | Machine, depth: int) -> ir.Expr:
        """An integer."""
        random, less = self.random, depth - 1
        if isinstance(kind, Machine):
            if random.random() < 0.15:
                return ir.Negate(kind, self.expression(kind, less))
            operator = random.choice(list(Operator))
            return self._divided(
                kind, operator, self.expression(kind, less), self.expression(kind, less)
            )
        lot = random.random()
        if lot < 0.25:
            counted = self._counted(depth)
            if counted is not None:
                return self._stored(counted, kind)
        if lot < 0.4:
            return self._stored(self.leaf(random.choice(self._integers(kind))), kind)
        left = self.leaf(random.choice(self._integers(kind)))
        right = self.leaf(random.choice(self._integers(kind)))
        assert isinstance(left.type, Int)
        assert isinstance(right.type, Int)
        operator = random.choice(list(Operator))
        one, other = ((side.low, side.high) for side in (left.type, right.type))
        result = Int(*result_range(operator, one, other))
        if not within(result, Int(INT64_LOW, INT64_HIGH)) or cardinality(right.type) == 0:
            return self.leaf(kind)
        return self._stored(self._divided(result, operator, left, right), kind)

    def _integers(self, kind: Int) -> list[Int]:
        """Ranges of numbers that are around."""
        around = [kind, POSITION, Int(-9, -1), Int(-3, 3), Int(1, 5)]
        for known in [*self.variables, *(local.type for local in self.locals)]:
            if isinstance(known, Int):
                around.append(known)
        return around

    def _divided(
        self, kind: Int | Machine, operator: Operator, left: ir.Expr, right: ir.Expr
    ) -> ir.Expr:
        if not operator.row.divides:
            return ir.Arithmetic(kind, operator, left, right)
        zero = ir.Literal(right.type if isinstance(right.type, Machine) else Int(0, 0), 0)
        return self.let(
            left,
            lambda a: self.let(
                right,
                lambda b: ir.Demand(
                    kind,
                    ir.Not(ir.Equal(b, zero)),
                    self.site(),
                    ir.Arithmetic(kind, operator, a, b),
                ),
            ),
        )

    def _counted(self, depth: int) -> ir.Expr | None:
        """A number of elements, or their sum."""
        domain = self._some_domain(depth)
        if domain is None:
            return None
        kind = as_collection(domain.type)
        lot = self.random.random()
        element = kind.element
        if isinstance(element, Int) and lot < 0.5:
            count = most(kind)
            total = Int(min(0, element.low * count), max(0, element.high * count))
            if total.low >= INT64_LOW and total.high <= INT64_HIGH:
                return ir.Sum(total, domain)
        if lot < 0.75 and isinstance(kind, Seq | Bag):
            return ir.Occurrences(Int(0, most(kind)), domain, self.expression(element, depth - 1))
        return self.size_of(domain)

    def _stored(self, value: ir.Expr, kind: Int | Machine) -> ir.Expr:
        """A number where one of another range is wanted: an error if it does not fit."""
        if value.type == kind:
            return value
        if self.random.random() < 0.5:
            return self.let(
                value,
                lambda number: ir.Conditional(
                    kind,
                    ir.Fits(number, kind),
                    ir.Convert(kind, number),
                    ir.Literal(kind, random_values.value(self.random, kind)),
                ),
            )
        return self.let(
            value,
            lambda number: ir.Demand(
                kind, ir.Fits(number, kind), self.site(), ir.Convert(kind, number)
            ),
        )

    # ------------------------------------------------------------ collections

    def _some_domain(self, depth: int) -> ir.Expr | None:
        """A collection of something."""
        random = self.random
        kinds = [*self.variables, *(local.type for local in self.locals)]
        inner = [kind for kind in kinds if isinstance(kind, Set | Seq | Bag)]
        if inner and random.random() < 0.75:
            kind = random.choice(inner)
            return self.expression(kind, depth - 1) if most(kind) <= MAX_LOOPED else None
        return self._domain(random.choice(kinds), depth)

    def _domain(self, element: Type, depth: int) -> ir.Expr:
        """A collection of this element type, for loops."""
        random = self.random
        choices: list[Callable[[], ir.Expr]] = [
            lambda: self.expression(Seq(element, random.randint(0, 4)), depth - 1),
            lambda: self.expression(Bag(element, random.randint(0, 4)), depth - 1),
        ]
        if isinstance(element, Int) and element.low > INT64_LOW and element.high < INT64_HIGH:
            choices.append(lambda: self._interval(element))
        if countable(element, SMALL_SET):
            choices.append(lambda: ir.Universe(Set(element)))
            choices.append(lambda: self.expression(Set(element), depth - 1))
        else:
            choices.append(lambda: self.expression(Set(element, random.randint(0, 4)), depth - 1))
        return random.choice(choices)()

    def _interval(self, element: Int) -> ir.Expr:
        """A few numbers in a row."""
        low = ir.Literal(element, random_values.value(self.random, element))
        assert isinstance(low.value, int)
        end = max(element.low, min(low.value + self.random.randint(-1, 6), element.high))
        return ir.Interval(Set(element), low, ir.Literal(element, end))

    def narrowed(self, kind: Type) -> Type:
        """A type of the same shape with other ranges and capacities, not too far off."""
        random = self.random
        match kind:
            case Int(low, high):
                lower = max(INT64_LOW, low + random.randint(-2, 2))
                upper = min(INT64_HIGH, high + random.randint(-2, 2))
                return Int(lower, upper) if lower <= upper else kind
            case Option(element):
                return Option(self.narrowed(element))
            case Set(element, None):
                other = self.narrowed(element)
                return Set(other, random.choice([None, 2])) if countable(other, 256) else kind
            case Set(element, int(capacity)):
                return Set(self.narrowed(element), max(0, capacity + random.randint(-2, 2)))
            case Seq(element, capacity):
                return Seq(self.narrowed(element), max(0, capacity + random.randint(-2, 2)))
            case Bag(element, capacity):
                return Bag(self.narrowed(element), max(0, capacity + random.randint(-2, 2)))
            case Map(key, value):
                return Map(key, self.narrowed(value))
            case _:
                return kind

    def _collection(self, kind: Collection, depth: int) -> ir.Expr:
        random, less = self.random, depth - 1
        capacity = most(kind)
        match random.randrange(8):
            case 0:
                count = random.randint(0, min(capacity, 4))
                items = tuple(self.expression(kind.element, less) for _ in range(count))
                return ir.Build(kind, items)
            case 1 | 2:
                return self._grown(kind, depth)
            case 3:
                return self._shrunk(kind, depth)
            case 4:
                domain = self._some_domain(depth)
                if domain is not None and random.random() < 0.25:
                    return self._gathered(kind, domain, depth)
                if domain is not None:
                    return self._collected(kind, domain, depth)
            case 5:
                other = self.narrowed(kind)
                inner = self.expression(other, less)
                return self.let(
                    inner,
                    lambda value: ir.Demand(
                        kind, ir.Fits(value, kind), self.site(), ir.Convert(kind, value)
                    ),
                )
            case 6 if isinstance(kind, Set):
                return self._algebra(kind, depth)
            case 7 if isinstance(kind, Set) and kind.capacity is None:
                domain = self._domain(kind.element, depth)
                if domain.type == kind:
                    return domain
            case _:
                pass
        return self.expression(kind, less)

    def _grown(self, kind: Collection, depth: int) -> ir.Expr:
        new = self.expression(kind.element, depth - 1)
        if isinstance(kind, Set) and kind.capacity is None:
            return ir.Add(kind, self.expression(kind, depth - 1), new)

        def added(whole: ir.Local, element: ir.Local) -> ir.Expr:
            room: ir.Expr = ir.Less(self.size_of(whole), ir.Literal(Int(0, most(kind)), most(kind)))
            if isinstance(kind, Set):
                room = ir.Or((room, ir.Contains(whole, element)))
            if isinstance(kind, Seq) and self.random.random() < 0.5:
                return self.let(
                    self.position(),
                    lambda index: ir.Demand(
                        kind,
                        ir.And((room, self.is_position(index, whole, True))),
                        self.site(),
                        ir.InsertAt(kind, whole, index, element),
                    ),
                )
            return ir.Demand(kind, room, self.site(), ir.Add(kind, whole, element))

        return self.let(
            self.expression(kind, depth - 1),
            lambda whole: self.let(new, lambda element: added(whole, element)),
        )

    def _shrunk(self, kind: Collection, depth: int) -> ir.Expr:
        whole = self.expression(kind, depth - 1)
        if not isinstance(kind, Seq):
            return ir.Remove(kind, whole, self.expression(kind.element, depth - 1))
        return self.let(
            whole,
            lambda sequence: self.let(
                self.position(),
                lambda index: ir.Demand(
                    kind,
                    self.is_position(index, sequence),
                    self.site(),
                    ir.RemoveAt(kind, sequence, index),
                ),
            ),
        )

    def _collected(self, kind: Collection, domain: ir.Expr, depth: int) -> ir.Expr:
        """What is made of the elements of another collection."""
        over = as_collection(domain.type)
        slot = self.fresh(over.element)
        self.locals.append(slot)
        test = self.truth(1) if self.random.random() < 0.6 else None
        element = self.expression(kind.element, depth - 1)
        self.locals.remove(slot)
        count = most(over)
        made: Collection
        match kind:
            case Seq():
                made = Seq(kind.element, count)
            case Bag():
                made = Bag(kind.element, count)
            case Set(_, None):
                made = kind
            case Set():
                made = Set(kind.element, count)
        return self._resized(ir.Collect(made, slot.slot, domain, test, element), kind)

    def _gathered(self, kind: Collection, domain: ir.Expr, depth: int) -> ir.Expr:
        """What the collections for the elements of another one hold together."""
        over = as_collection(domain.type)
        slot = self.fresh(over.element)
        part = kind if kind.capacity is None else replace(kind, capacity=min(kind.capacity, 2))
        self.locals.append(slot)
        parts = self.expression(part, depth - 1)
        self.locals.remove(slot)
        made = kind
        if part.capacity is not None:
            made = replace(kind, capacity=most(over) * part.capacity)
        return self._resized(ir.Gather(made, slot.slot, domain, parts), kind)

    def _algebra(self, kind: Set, depth: int) -> ir.Expr:
        left = self.expression(kind, depth - 1)
        right = self.expression(kind, depth - 1)
        if kind.capacity is not None and self.random.random() < 0.5:
            other = self.narrowed(kind)
            if isinstance(other, Set) and other.element == kind.element:
                right = self.expression(other, depth - 1)
        operator = self.random.choice(list(ir.SetOperator))
        made = kind
        if kind.capacity is not None and isinstance(right.type, Set):
            made = Set(kind.element, kind.capacity + most(right.type))
        return self._resized(ir.SetAlgebra(made, operator, left, right), kind)

    def _resized(self, value: ir.Expr, kind: Collection) -> ir.Expr:
        if value.type == kind:
            return value
        return self.let(
            value,
            lambda whole: ir.Demand(
                kind, ir.Fits(whole, kind), self.site(), ir.Convert(kind, whole)
            ),
        )
