"""Random types: how they are declared, and which of them are small enough for a random model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.strategies.drawing import Drawing

from fencepost.spec.core.types import (
    Bag,
    Bool,
    Enum,
    Field,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Variant,
    cardinality,
    describe,
    has_ghost,
)

BOOL = Bool()
COUNTED = 1 << 16
"""Sizes of types are told apart up to here."""


def size(kind: Type) -> int:
    """How many values a type has; never more than `COUNTED`, and cheap for any type."""
    match kind:
        case Set(element, None):
            return COUNTED if size(element) > 16 else cardinality(kind)
        case Set(element, int(capacity)) | Seq(element, capacity) | Bag(element, capacity):
            return COUNTED if size(element) ** capacity > COUNTED else cardinality(kind)
        case Map(key, value):
            return COUNTED if size(value) ** size(key) > COUNTED else cardinality(kind)
        case Record(fields=fields):
            return _product(fields)
        case Union(variants=variants):
            return min(COUNTED, sum(_product(variant.fields) for variant in variants))
        case Option(element):
            return min(COUNTED, 1 + size(element))
        case _:
            return min(COUNTED, cardinality(kind))


def _product(fields: Sequence[Field]) -> int:
    count = 1
    for item in fields:
        count = min(COUNTED, count * size(item.type))
    return count


def within(inner: Type, outer: Type) -> bool:
    """Whether every value of ``inner`` is one of ``outer``, which is of the same shape."""
    match inner, outer:
        case Int(a, b), Int(c, d):
            return c <= a and b <= d
        case Option(a), Option(b):
            return within(a, b)
        case (Set(a), Set(b)) | (Seq(a), Seq(b)) | (Bag(a), Bag(b)):
            return within(a, b) and _roomy(inner, outer)
        case Map(k, a), Map(j, b):
            return k == j and within(a, b)
        case _:
            return inner == outer


def _roomy(inner: Type, outer: Type) -> bool:
    assert isinstance(inner, Set | Seq | Bag)
    assert isinstance(outer, Set | Seq | Bag)
    return outer.capacity is None or most(inner) <= outer.capacity


def alike(left: Type, right: Type) -> bool:
    """Whether two types differ in ranges and capacities only."""
    match left, right:
        case Int(), Int():
            return True
        case (Option(a), Option(b)) | (Set(a), Set(b)) | (Seq(a), Seq(b)) | (Bag(a), Bag(b)):
            return alike(a, b)
        case Map(k, a), Map(j, b):
            return k == j and alike(a, b)
        case _:
            return left == right


def most(kind: Set | Seq | Bag) -> int:
    """The most elements that a collection can have."""
    return size(kind.element) if kind.capacity is None else kind.capacity


def telling(kind: Type) -> bool:
    """Whether an expression of a type can say by itself what it is.

    A list is a bag, and an element an option, only where the place says so.
    """
    match kind:
        case Bag() | Option():
            return False
        case Set(element) | Seq(element):
            return telling(element)
        case Map(_, value):
            return telling(value)
        case _:
            return True


@dataclass(slots=True)
class Kinds:
    """The types of one spec: what it declares, and types made of that."""

    drawing: Drawing
    enums: list[Enum] = field(default_factory=list[Enum])
    records: list[Record] = field(default_factory=list[Record])
    unions: list[Union] = field(default_factory=list[Union])
    ranges: dict[str, Int] = field(default_factory=dict[str, Int])
    lines: list[str] = field(default_factory=list[str])

    def declare(self) -> None:
        """Declares some types."""
        draw = self.drawing
        for _ in range(draw.number(0, 2)):
            name = draw.name("T")
            self.ranges[name] = self.range()
            self.lines.append(f"type {name} = {describe(self.ranges[name])}")
        for _ in range(draw.number(0, 2)):
            stem = draw.name("E")
            members = draw.several(lambda: draw.name("M"), 2, 4)
            self.enums.append(Enum(stem, tuple(members)))
            self.lines.append(f"enum {stem}: {', '.join(members)}")
        for _ in range(draw.pick([0, 1, 1, 2])):
            self._record()
        for _ in range(draw.pick([0, 1, 1, 2])):
            self._union()

    def _record(self) -> None:
        name = self.drawing.name("Rec")
        fields = tuple(self.drawing.several(self._field, 1, 3))
        self.records.append(Record(name, fields))
        self._declaration("record", name, [self._field_text(item) for item in fields])

    def _union(self) -> None:
        name = self.drawing.name("U")
        variants = tuple(self.drawing.several(self._variant, 2, 4, 40))
        self.unions.append(Union(name, variants))
        parts: list[str] = []
        for variant in variants:
            fields = ", ".join(self._field_text(item) for item in variant.fields)
            parts.append(variant.name + (f"({fields})" if fields else ""))
        self._declaration("union", name, parts)

    def _declaration(self, word: str, name: str, parts: list[str]) -> None:
        if self.drawing.chance(40):
            self.lines += [f"{word} {name}:", *(f"    {part}" for part in parts)]
        else:
            self.lines.append(f"{word} {name}: {', '.join(parts)}")

    def _variant(self) -> Variant:
        fields = self.drawing.several(self._field, 0, 2)
        return Variant(self.drawing.name("V"), tuple(fields))

    def _field(self) -> Field:
        name, ghost = self.drawing.name("f"), self.drawing.chance(12)
        kind = self.scalar()
        if self.drawing.chance(20):
            kind = Option(kind)
        elif self.drawing.chance(10):
            kind = Seq(kind, self.drawing.number(1, 2))
        return Field(name, kind, ghost)

    def _field_text(self, item: Field) -> str:
        return f"{'ghost ' if item.ghost else ''}{item.name}: {self.text(item.type)}"

    def text(self, kind: Type) -> str:
        """A type as it may be written."""
        names = [name for name, range in self.ranges.items() if range == kind]
        if names and self.drawing.chance(80):
            return names[0]
        match kind:
            case Option(element):
                return f"{self.text(element)}?"
            case Set(element, None):
                return f"set[{self.text(element)}]"
            case Set(element, capacity):
                return f"set[{self.text(element)}, {capacity}]"
            case Seq(element, capacity):
                return f"seq[{self.text(element)}, {capacity}]"
            case Bag(element, capacity):
                return f"bag[{self.text(element)}, {capacity}]"
            case Map(key, value):
                return f"map[{self.text(key)}, {self.text(value)}]"
            case _:
                return describe(kind)

    # ------------------------------------------------------------ made of them

    @property
    def structures(self) -> list[Type]:
        """The declared records and unions."""
        return [*self.records, *self.unions]

    @property
    def named(self) -> list[Type]:
        """All declared types."""
        return [*self.ranges.values(), *self.enums, *self.structures]

    def range(self) -> Int:
        """A range of a few integers."""
        low = self.drawing.pick([0, 0, 0, 1, -1, -2, -3])
        return Int(low, low + self.drawing.number(1, 4))

    def scalar(self) -> Type:
        """A type without parts."""
        draw = self.drawing
        options: list[Type] = [BOOL, *self.enums, *self.enums, *self.ranges.values()]
        lot = draw.number(0, 99)
        if lot < 40:
            return draw.pick(options)
        if lot < 85:
            return self.range()
        if lot < 97:
            return Machine(draw.pick([2, 2, 3, 3, 4, 8]))
        return Machine(64)

    def key(self) -> Type:
        """A type with two to four values, whose name can stand for the set of them."""
        options = [kind for kind in self.named if 1 < size(kind) <= 4 and not has_ghost(kind)]
        return self.drawing.pick([Int(0, 1), Int(0, 2), BOOL, Int(-1, 1), Machine(2), *options])

    def small(self, most: int = 40) -> Type:
        """A scalar, record, union or option of at most so many values."""
        draw = self.drawing
        lot = draw.number(0, 99)
        kind: Type = BOOL
        if lot < 45:
            kind = self.scalar()
        elif lot < 80 and (self.records or self.unions):
            kind = draw.pick(self.structures)
        else:
            kind = Option(draw.pick([self.scalar(), *self.structures]))
        return kind if size(kind) <= most else Int(0, draw.number(1, 3))

    def any(self, depth: int = 2) -> Type:
        """A type that a variable may have."""
        draw = self.drawing
        lot = draw.number(0, 99)
        if lot < 45 or depth == 0:
            return self.small(COUNTED - 1)
        if lot < 60:
            return self._set()
        if lot < 75:
            return Seq(self._element(depth), draw.number(1, 3))
        if lot < 85:
            return Bag(self._element(depth), draw.number(1, 3))
        return Map(self.key(), self._element(depth))

    def _set(self) -> Type:
        draw = self.drawing
        element = self.small(6)
        if has_ghost(element):
            element = BOOL
        if draw.chance(10):
            return Set(Machine(64), draw.number(1, 2))
        if draw.chance(25):
            capacity = draw.number(1, 3)
            return Set(element, capacity if capacity < size(element) else None)
        return Set(element)

    def _element(self, depth: int) -> Type:
        if self.drawing.chance(15):
            return self.any(depth - 1)
        return self.small()
