"""Lifts the nodes of collections and maps: terms take the place of integers that may be symbolic.

Two values of one shape are equal if they consist of the same terms, and the content of a field is
observed when it is stored. Membership, equality and merging therefore need no observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from fencepost.checker.regions.parts import Bench, Make, Part, Scope, truth
from fencepost.checker.regions.shapes import PLAIN, Holder, Leaf, MapShape, NamedShape, Shape
from fencepost.spec.core import ir
from fencepost.spec.core.signatures import bound, operands
from fencepost.spec.core.traverse import walk, with_children
from fencepost.spec.core.types import (
    Integer,
    Seq,
    Set,
    Type,
    as_collection,
    components,
)
from fencepost.spec.text.source import Span


class Collecting:
    """Builds the parts for the nodes of collections and maps."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.shapes = bench.shapes

    def expr(self, expr: ir.Expr, scope: Scope) -> Part:
        """Builds the part for an expression. `Expressions` implements this for all kinds of
        expressions.
        """
        raise NotImplementedError

    def merged(self, part: Part, shape: Shape) -> Make:
        """Builds a part whose value becomes one of several values of a shape."""
        raise NotImplementedError

    # ------------------------------------------------------------ parts

    def part(self, expr: ir.Expr, shape: Shape, make: Callable[[Type], ir.Expr]) -> Part:
        """Builds a part that has the type of ``expr``. ``make`` receives the lifted type."""
        kind = expr.type
        self.shapes.widen(shape, kind)

        return Part(kind, shape, lambda: make(self.shapes.type_of(kind, shape)), expr.span)

    def again(self, expr: ir.Expr, shape: Shape, *makes: Make) -> Part:
        """Builds the part for the same node with lifted operands."""

        def make(new: Type) -> ir.Expr:
            kind = None if isinstance(expr, ir.Test) else new
            return with_children(expr, [operand() for operand in makes], kind)

        return self.part(expr, shape, make)

    def constants(self, part: Part, shape: Shape, use: str) -> Part:
        """Returns the part, with an added check that values of ``shape`` contain no terms."""

        def make() -> ir.Expr:
            self.bench.known(shape, use, part.span)
            return part.make()

        return replace(part, make=make)

    def element(self, part: Part) -> Shape:
        """Returns the shape of the elements of a collection."""
        assert isinstance(part.shape, Holder), part.shape
        return part.shape.element

    def usual(
        self, expr: ir.Expr, scope: Scope, shape: Shape | None = None, integer: str = "an index"
    ) -> Part:
        """Builds the part for a node according to the roles of its operands. The result has
        ``shape`` if given. Otherwise it has the shape of an operand that may be the result or, if
        the node has no such operand, a new shape. ``integer`` describes how operands that must be
        known integers are used.
        """
        within = scope
        before: Part | None = None
        makes: list[Make] = []
        for operand, role, inside in operands(expr):
            part = self.expr(operand, within if inside else scope)
            make = part.make
            match role:
                case "Integer":
                    make = self.bench.forbid(part, integer, expr.span)
                case "Body" | "Alike":
                    if shape is not None:
                        self.shapes.join(shape, part.shape)
                    shape = shape or part.shape
                case "Element":
                    shape = shape or self.shapes.fresh(expr.type)
                    assert isinstance(shape, Holder)
                    make = self.bench.stored(part, shape.element)
                case "Collection":
                    if shows_order(expr, part.type):
                        self.shapes.order(part.shape)
                    if isinstance(expr, ir.Extreme | ir.Find):
                        shape = part.shape
                    within = {**scope, **dict.fromkeys(bound(expr), self.element(part))}
                case "Member":
                    assert before is not None
                    make = self.bench.stored(part, self.element(before))
                case "Condition" | "Expr":
                    pass
                case _:
                    assert_never(role)
            before = part
            makes.append(make)
        if shape is None:
            shape = PLAIN if isinstance(expr, ir.Test) else self.shapes.fresh(expr.type)
        return self.again(expr, shape, *makes)

    # ------------------------------------------------------------ the nodes

    def collection(self, expr: ir.Collecting, scope: Scope) -> Part:
        def see(inner: ir.Expr) -> Part:
            return self.expr(inner, scope)

        match expr:
            case ir.Universe() | ir.Interval():
                whole = self.usual(expr, scope, integer="the end of a range")
                all_values = "together with all values of a type or range in a set"
                return self.constants(whole, whole.shape, all_values)
            case ir.Subsets(_, collection):
                base = self.bench.forbid(see(collection), "an element of a subset", expr.span)
                subsets = self.again(expr, self.shapes.fresh(expr.type), base)
                return self.constants(subsets, subsets.shape, "in one of all subsets of a set")
            case ir.Contains(collection, element):
                return truth(self.contains(expr, collection, element, scope), expr.span)
            case ir.At(_, sequence, position):
                whole = see(sequence)
                index_part = self.bench.forbid(see(position), "an index", expr.span)
                return self.again(expr, self.element(whole), whole.make, index_part)
            case ir.Get(_, map, key):
                whole = see(map)
                assert isinstance(whole.shape, MapShape)
                at = self.key(see(key), whole.shape, expr.span)
                return self.again(expr, whole.shape.value, whole.make, at)
            case ir.BuildMap(kind, slot, body):
                table = self.shapes.fresh(kind)
                assert isinstance(table, MapShape)
                item = self.bench.stored(self.expr(body, {**scope, slot: table.key}), table.value)
                return self.constants(self.again(expr, table, item), table.key, "a key")
            case ir.Sum(kind, collection):
                whole = see(collection)
                return self.again(
                    expr, self.shapes.fresh(kind), lambda: self.summed(whole, expr.span)
                )
            case ir.Fold(kind, slot, accumulator, domain, start, body):
                whole, result = see(domain), self.shapes.fresh(kind)
                if not isinstance(whole.type, Seq):
                    self.shapes.order(whole.shape)
                inner = {**scope, slot: self.element(whole), accumulator: result}
                values = see(start), self.expr(body, inner)
                makes = [self.merged(part, result) for part in values]
                return self.again(expr, result, whole.make, *makes)
            case (
                ir.Build() | ir.Add() | ir.Remove() | ir.InsertAt() | ir.RemoveAt() | ir.Size()
                | ir.SetAlgebra() | ir.Quantified() | ir.Collect() | ir.Gather() | ir.Extreme()
                | ir.Find() | ir.Occurrences()
            ):  # fmt: skip
                return self.usual(expr, scope)
            case _:
                assert_never(expr)

    # ------------------------------------------------------------ their makers

    def summed(self, whole: Part, span: Span | None) -> ir.Expr:
        if self.shapes.symbolic(whole.shape):
            self.bench.refuse("F812", span, self.bench.no_arithmetic("this adds them up"))
        return whole.make()

    def key(self, part: Part, table: MapShape, span: Span | None) -> Make:
        """Builds a key, which must be constant."""
        if not isinstance(part.shape, Leaf | NamedShape):
            self.shapes.join(table.key, part.shape)
        return self.bench.forbid(part, "a key", span)

    def contains(
        self, expr: ir.Contains, collection: ir.Expr, element: ir.Expr, scope: Scope
    ) -> Make:
        """Builds a membership test. A single integer is compared with the elements if these are
        literals.
        """
        bench = self.bench
        if isinstance(collection, ir.Build) and isinstance(element.type, Integer):
            return self.among(
                expr, [self.expr(e, scope) for e in collection.elements], element, scope
            )
        whole, item = self.expr(collection, scope), self.expr(element, scope)
        inner = self.element(whole)
        if not isinstance(inner, Leaf):
            self.shapes.join(inner, item.shape)
            return self.again(expr, PLAIN, whole.make, item.make).make

        def make() -> ir.Expr:
            if not item.leaf.symbolic and not inner.root.symbolic:
                return with_children(expr, (whole.make(), item.make()))
            slot = bench.slot()
            element_type = as_collection(whole.type).element
            kind = self.shapes.type_of(element_type, inner)
            each = Part(element_type, inner, lambda: ir.Local(kind, slot))
            return bench.bound(
                whole.make(),
                lambda all: bench.bound(
                    item.make(),
                    lambda x: ir.Quantified(
                        False,
                        slot,
                        all,
                        bench.observed("==", each, each.make(), item, x, expr.span),
                        span=expr.span,
                    ),
                ),
            )

        return make

    def among(
        self, expr: ir.Contains, parts: Sequence[Part], element: ir.Expr, scope: Scope
    ) -> Make:
        """Builds the test that an integer is equal to one of several others."""
        bench, target = self.bench, self.expr(element, scope)

        def from_here(number: int, values: Sequence[ir.Expr]) -> ir.Expr:
            if number < len(parts):
                return bench.bound(
                    parts[number].make(), lambda x: from_here(number + 1, [*values, x])
                )
            return bench.bound(
                target.make(),
                lambda x: ir.Or(
                    tuple(
                        bench.observed("==", part, item, target, x, expr.span)
                        for part, item in zip(parts, values, strict=True)
                    ),
                    span=expr.span,
                ),
            )

        def make() -> ir.Expr:
            if not any(part.leaf.symbolic for part in [*parts, target]):
                assert isinstance(expr.collection, ir.Build)
                whole = with_children(expr.collection, [part.make() for part in parts])
                return with_children(expr, (whole, target.make()))
            return from_here(0, [])

        return make


def shows_order(expr: ir.Expr, domain: Type) -> bool:
    """Checks whether the value of a node depends on the order of the elements in its collection.
    ``domain`` is the type of this collection.

    If the evaluation of the body can fail, the value depends on which element decides the result.
    """
    match expr:
        case ir.Extreme() | ir.Find():
            return True
        case ir.Quantified(body=body):
            risky = any(isinstance(node, ir.Demand | ir.Enabled) for node in walk(body))
            return risky and not isinstance(domain, Seq)
        case ir.Collect(kind) | ir.Gather(kind):
            return isinstance(kind, Seq) and not isinstance(domain, Seq)
        case _:
            return False


def given(part: ir.Expr | None) -> tuple[ir.Expr, ...]:
    """Converts an optional part to a tuple with no or one element."""
    return () if part is None else (part,)


def has_bit_set(kind: Type, new: Type) -> bool:
    """Checks whether a type contains a set without a capacity whose elements have become terms."""
    match kind, new:
        case Set(element, None), Set(other) if element != other:
            return True
        case _:
            return any(map(has_bit_set, components(kind), components(new)))
