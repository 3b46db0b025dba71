"""Determines which integers of a model may derive from its symbolic constant, by a flow analysis on
types that uses no values.

A *shape* mirrors a type and has a `Leaf` for each integer in the type. Two collections that may be
assigned to or compared with each other share their leaves, while a single integer flows from leaf
to leaf in one direction. The leaves of the state are therefore its *fields*: a declared variable, a
field of a declared record or union, or all elements of a collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias, assert_never

from fencepost.spec.core.ir import BOOL
from fencepost.spec.core.types import (
    Bag,
    Field,
    Int,
    Integer,
    Map,
    Number,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Value,
    cardinality,
    opened,
)
from fencepost.spec.records import dataclass, replace


@dataclass(slots=True, eq=False)
class Leaf:
    """An integer in a shape.

    ``type`` is a type that contains all values of the integer. ``symbolic`` says that some values
    may be non-constant terms, and ``ordered`` that the language exposes the order of the values in
    this field. ``flows`` contains the leaves that the values flow to. ``same`` is the leaf that
    this one was merged into, if any.
    """

    type: Number
    symbolic: bool = False
    ordered: bool = False
    flows: list[Leaf] = field(default_factory=list["Leaf"])
    same: Leaf | None = None
    number: int | None = None

    @property
    def root(self) -> Leaf:
        """The leaf that represents all leaves merged with this one."""
        leaf = self
        while leaf.same is not None:
            leaf = leaf.same
        return leaf


@dataclass(frozen=True, slots=True)
class Plain:
    """A shape that contains no integer: a truth value or an enum member."""


@dataclass(frozen=True, slots=True)
class NamedShape:
    """A declared record or union. Its fields have the same shapes in all places where the type
    occurs.
    """

    type: Record | Union


@dataclass(frozen=True, slots=True)
class Holder:
    """An option, set, sequence or bag with elements of shape ``element``."""

    element: Shape


@dataclass(frozen=True, slots=True)
class MapShape:
    """A map with keys of shape ``key`` and values of shape ``value``."""

    key: Shape
    value: Shape


@dataclass(frozen=True, slots=True)
class TupleShape:
    """A tuple with components of these shapes."""

    parts: tuple[Shape, ...]


Shape: TypeAlias = Plain | Leaf | NamedShape | Holder | MapShape | TupleShape
PLAIN = Plain()


def wider(left: Number, right: Number) -> Number:
    """Returns a type that contains the values of both types, which must be of one kind."""
    if isinstance(left, Int) and isinstance(right, Int):
        return Int(min(left.low, right.low), max(left.high, right.high))
    assert left == right, f"{left} joins {right}"
    return left


def term(kind: Number) -> Record:
    """Returns the type of a term as a core value: a record of its value in this run and whether it
    moves with the symbolic constant. Its home is not a module, so the type is different from all
    records in specs.
    """
    return Record("term", (Field("value", kind), Field("symbolic", BOOL)), "checker.regions")


class Shapes:
    """The shapes of one model. `solve` completes the flow analysis. The lifted types and values are
    available after that.
    """

    def __init__(self) -> None:
        self._fields: dict[Record | Union, tuple[tuple[Shape, ...], ...]] = {}
        self._leaves: list[Leaf] = []
        self._types: dict[Record | Union, Record | Union] = {}

    # ------------------------------------------------------------ before solving

    def leaf(self, kind: Number, symbolic: bool = False) -> Leaf:
        """Creates a new leaf."""
        leaf = Leaf(kind, symbolic)
        self._leaves.append(leaf)
        return leaf

    def fresh(self, kind: Type) -> Shape:
        """Creates a new shape for a type."""
        match kind:
            case Integer():
                return self.leaf(kind)
            case Record(fields=fields) if kind.is_tuple:
                return TupleShape(tuple(self.fresh(field.type) for field in fields))
            case Record() | Union():
                return NamedShape(kind)
            case Option(element) | Set(element) | Seq(element) | Bag(element):
                return Holder(self.fresh(element))
            case Map(key, value):
                return MapShape(self.fresh(key), self.fresh(value))
            case Scalar():
                return PLAIN
            case _:
                assert_never(kind)

    def parts(self, shape: Shape, tag: int = 0) -> tuple[Shape, ...]:
        """Returns the shapes of the fields in a record, a tuple or a union's variant."""
        if isinstance(shape, TupleShape):
            return shape.parts
        assert isinstance(shape, NamedShape), shape
        return self.fields(shape.type, tag)

    def fields(self, kind: Record | Union, tag: int = 0) -> tuple[Shape, ...]:
        """Returns the shapes of the fields in a declared record or in a union's variant."""
        if kind not in self._fields:
            rows = [kind.fields] if isinstance(kind, Record) else [v.fields for v in kind.variants]
            self._fields[kind] = tuple(tuple(self.fresh(f.type) for f in row) for row in rows)
        return self._fields[kind][tag]

    def join(self, left: Shape, right: Shape) -> None:
        """Merges two shapes, because values of either shape may occur in the other."""
        match left, right:
            case Leaf(), Leaf():
                a, b = left.root, right.root
                if a is not b:
                    a.type = wider(a.type, b.type)
                    a.symbolic |= b.symbolic
                    a.ordered |= b.ordered
                    a.flows += b.flows
                    b.same = a
            case Holder(a), Holder(b):
                self.join(a, b)
            case MapShape(key, a), MapShape(other_key, b):
                self.join(key, other_key)
                self.join(a, b)
            case TupleShape(parts), TupleShape(others):
                for part, other in zip(parts, others, strict=True):
                    self.join(part, other)
            case _:
                assert left == right, f"{left} joins {right}"

    def flow(self, source: Leaf, target: Leaf) -> None:
        """Records that values of one leaf flow to another leaf."""
        source.root.flows.append(target)

    def widen(self, shape: Shape, kind: Type) -> None:
        """Records that values of this shape are also used where the type ``kind`` is expected."""
        match shape, kind:
            case Leaf(), Integer():
                root = shape.root
                root.type = wider(root.type, kind)
            case Holder(inner), Option(element) | Set(element) | Seq(element) | Bag(element):
                self.widen(inner, element)
            case MapShape(_, inner), Map(_, value):
                self.widen(inner, value)
            case TupleShape(parts), Record(fields=fields):
                for part, field in zip(parts, fields, strict=True):
                    self.widen(part, field.type)
            case _:
                pass

    def order(self, shape: Shape) -> None:
        """Records that the language exposes the order of values of this shape."""
        for leaf in self.leaves(shape):
            leaf.ordered = True

    def leaves(self, shape: Shape) -> Iterator[Leaf]:
        """Yields the leaves of a shape, including those of declared types, once each."""
        yield from {id(leaf): leaf for leaf in self._below(shape, set())}.values()

    def _below(self, shape: Shape, seen: set[Record | Union]) -> Iterator[Leaf]:
        match shape:
            case Leaf():
                yield shape.root
            case NamedShape(kind):
                if kind not in seen:
                    seen.add(kind)
                    for tag in range(1 if isinstance(kind, Record) else len(kind.variants)):
                        for part in self.fields(kind, tag):
                            yield from self._below(part, seen)
            case Holder(element):
                yield from self._below(element, seen)
            case MapShape(key, value):
                yield from self._below(key, seen)
                yield from self._below(value, seen)
            case TupleShape(parts):
                for part in parts:
                    yield from self._below(part, seen)
            case Plain():
                pass

    def solve(self) -> None:
        """Marks all leaves that symbolic values flow to, directly or through other leaves."""
        todo = [leaf for leaf in self._leaves if leaf.root.symbolic]
        while todo:
            for target in todo.pop().root.flows:
                if not target.root.symbolic:
                    target.root.symbolic = True
                    todo.append(target)

    # ------------------------------------------------------------ parts of a value

    def symbolic(self, shape: Shape) -> bool:
        """Checks whether a value of this shape may contain a non-constant term."""
        return any(leaf.symbolic for leaf in self.leaves(shape))

    def type_of(self, kind: Type, shape: Shape) -> Type:
        """Returns the lifted form of ``kind``: the type has terms where they may occur."""
        match kind, shape:
            case Integer(), Leaf():
                return term(shape.root.type) if shape.root.symbolic else kind
            case Record(fields=fields), TupleShape(parts):
                return replace(kind, fields=self._retyped(fields, parts))
            case ((Record() | Union()), _):
                return self._named(kind)
            case Option(element), Holder(inner):
                return Option(self.type_of(element, inner))
            case Set(element, capacity), Holder(inner):
                new = self.type_of(element, inner)
                if new != element and capacity is None:
                    # One bit for each element would mean one bit for each term. Different terms
                    # have different values, so there are at most as many terms as numbers.
                    capacity = cardinality(element)
                return Set(new, capacity)
            case Seq(element, capacity), Holder(inner):
                return Seq(self.type_of(element, inner), capacity)
            case Bag(element, capacity), Holder(inner):
                return Bag(self.type_of(element, inner), capacity)
            case Map(key, value), MapShape(_, inner):
                return Map(key, self.type_of(value, inner))
            case _:
                return kind

    def _named(self, kind: Record | Union) -> Record | Union:
        if kind not in self._types:
            if not self.symbolic(NamedShape(kind)):
                self._types[kind] = kind
            elif isinstance(kind, Record):
                self._types[kind] = Record(
                    kind.name, self._retyped(kind.fields, self.fields(kind)), kind.home
                )
            else:
                variants = tuple(
                    type(variant)(
                        variant.name, self._retyped(variant.fields, self.fields(kind, tag))
                    )
                    for tag, variant in enumerate(kind.variants)
                )
                self._types[kind] = Union(kind.name, variants, kind.home)
        return self._types[kind]

    def _retyped(self, fields: tuple[Field, ...], shapes: tuple[Shape, ...]) -> tuple[Field, ...]:
        return tuple(
            Field(field.name, self.type_of(field.type, shape), field.ghost)
            for field, shape in zip(fields, shapes, strict=True)
        )

    def constants(self, value: Value, kind: Type, shape: Shape) -> Iterator[tuple[Leaf, int]]:
        """Yields the integers of a constant value that are stored in fields which may hold terms,
        each with the leaf of the field.
        """
        if isinstance(shape, Leaf) and isinstance(value, int):
            if shape.root.symbolic:
                yield shape.root, value
            return
        for part in self._parts(value, kind, shape):
            yield from self.constants(*part)

    def value_of(self, value: Value, kind: Type, shape: Shape) -> Value:
        """Converts a value of type ``kind`` to the lifted type (see `type_of`). Each integer in a
        field that may hold terms becomes a constant term.
        """
        if isinstance(shape, Leaf):
            return (value, False) if shape.root.symbolic else value
        if not isinstance(value, tuple):
            return value
        tag = value[:1] if isinstance(kind, Union) else ()
        return (*tag, *(self.value_of(*part) for part in self._parts(value, kind, shape)))

    def _parts(self, value: Value, kind: Type, shape: Shape) -> list[tuple[Value, Type, Shape]]:
        """Returns the direct parts of a value, each with its type and its shape."""
        tag, parts = opened(kind, value)
        match shape:
            case NamedShape() | TupleShape():
                shapes = self.parts(shape, tag)
            case Holder(inner) | MapShape(value=inner):
                shapes = (inner,) * len(parts)
            case _:
                return []
        return [(item, part.type, shape) for (part, item), shape in zip(parts, shapes, strict=True)]
