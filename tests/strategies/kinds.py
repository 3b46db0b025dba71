"""Random types: their declarations, and which of them are small enough for a random model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from tests.strategies.drawing import Drawing
from tests.support import random_values

from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.type_relations import same_shape, within
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
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Variant,
    bits,
    cardinality,
    describe,
    has_ghost,
    tuple_type,
)

BOOL = Bool()
COUNTED = 1 << 16
"""The sizes of types are exact up to this limit."""
WIDE = 1 << 20
"""The limit of ranges in arithmetic; wider ranges might exceed 64 bits."""


def size(kind: Type) -> int:
    """Returns the number of values of a type, but at most `COUNTED`; this is cheap for any type."""
    return cardinality(kind) if countable(kind, COUNTED) else COUNTED


def fits(inner: Type, outer: Type) -> bool:
    """Checks whether two types have the same shape and every value of ``inner`` is one of
    ``outer``.
    """
    return same_shape(inner, outer) and within(inner, outer)


def telling(kind: Type) -> bool:
    """Checks whether an expression can determine this type by itself.

    A list is a bag only if the context says so; the same is true of an element and an option.
    """
    match kind:
        case Bag() | Option() | Set(_, 0) | Seq(_, 0):
            return False
        case Set(element) | Seq(element):
            return telling(element)
        case Map(_, value):
            return telling(value)
        case Record(fields=fields) if kind.is_tuple:
            return all(telling(item.type) for item in fields)
        case _:
            return True


@dataclass(slots=True)
class Kinds:
    """The types of one spec: the declared ones, and types built from them."""

    min_size: ClassVar[int] = 2
    """The minimal number of values of a variable's type."""
    readable_domains: ClassVar[int] = 4
    """The weight of readable collections among the domains of binders."""

    drawing: Drawing
    enums: list[Enum] = field(default_factory=list[Enum])
    records: list[Record] = field(default_factory=list[Record])
    unions: list[Union] = field(default_factory=list[Union])
    tuples: list[Record] = field(default_factory=list[Record])
    aliases: dict[str, Type] = field(default_factory=dict[str, Type])
    lines: list[str] = field(default_factory=list[str])

    def declare(self) -> None:
        """Declares some types."""
        draw = self.drawing
        for _ in range(draw.number(0, 2)):
            name = draw.name("T")
            self.aliases[name] = self.range()
            self.lines.append(f"type {name} = {describe(self.aliases[name])}")
        for _ in range(draw.number(0, 2)):
            stem = draw.name("E")
            members = draw.several(lambda: draw.name("M"), 2, 4)
            self.enums.append(Enum(stem, tuple(members)))
            self.lines.append(f"enum {stem}: {', '.join(members)}")
        for _ in range(draw.pick([0, 1, 1, 2])):
            self._record()
        for _ in range(draw.pick([0, 1, 1, 2])):
            self._union()
        for _ in range(draw.pick([0, 0, 1, 2])):
            self._tuple()

    def _tuple(self) -> None:
        """Draws a type of tuples, which sometimes has a name."""
        draw = self.drawing
        parts = draw.several(lambda: self.small(6), 2, 3, 25)
        kind = tuple_type(parts)
        if draw.chance(30):
            name = draw.name("T")
            self.lines.append(f"type {name} = {self.text(kind)}")
            self.aliases[name] = kind
        self.tuples.append(kind)

    def _record(self) -> None:
        name = self.drawing.name("Rec")
        fields = tuple(self.drawing.several(self._field, 1, 3))
        self.records.append(Record(name, fields))
        self._declaration("record", name, [self._field_text(item) for item in fields])

    def _union(self) -> None:
        name = self.drawing.name("U")
        variants = tuple(self.drawing.several(self._variant, 2, 4, 40))
        self.unions.append(Union(name, variants))
        self._declaration("union", name, [self._variant_text(variant) for variant in variants])

    def _variant_text(self, variant: Variant) -> str:
        fields = ", ".join(self._field_text(item) for item in variant.fields)
        return variant.name + (f"({fields})" if fields else "")

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
        """Returns the text of a type."""
        names = [name for name, alias in self.aliases.items() if alias == kind]
        if names and (not isinstance(kind, Int) or self.drawing.chance(80)):
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
            case Record(fields=fields) if kind.is_tuple:
                return f"({', '.join(self.text(item.type) for item in fields)})"
            case _:
                return describe(kind)

    # ------------------------------------------------------------ types built from declarations

    @property
    def structures(self) -> list[Type]:
        """The declared records and unions, and the types of tuples."""
        return [*self.records, *self.unions, *self.tuples]

    @property
    def named(self) -> list[Type]:
        """All declared types."""
        return [*self.aliases.values(), *self.enums, *self.structures]

    def range(self) -> Int:
        """Draws a range of a few integers."""
        low = self.drawing.pick([0, 0, 0, 1, -1, -2, -3])
        return Int(low, low + self.drawing.number(1, 4))

    def scalar(self) -> Type:
        """Draws a type without parts."""
        draw = self.drawing
        scalars = [kind for kind in self.aliases.values() if isinstance(kind, Scalar)]
        options: list[Type] = [BOOL, *self.enums, *self.enums, *scalars]
        lot = draw.number(0, 99)
        if lot < 40:
            return draw.pick(options)
        if lot < 85:
            return self.range()
        if lot < 97:
            return Machine(draw.pick([2, 2, 3, 3, 4, 8]))
        return Machine(64)

    def key(self) -> Type:
        """Draws a type with two to four values whose name can denote the set of them."""
        options = [kind for kind in self.named if 1 < size(kind) <= 4 and not has_ghost(kind)]
        return self.drawing.pick([Int(0, 1), Int(0, 2), BOOL, Int(-1, 1), Machine(2), *options])

    def small(self, most: int = 40) -> Type:
        """Draws a scalar, record, union or option with at most ``most`` values."""
        draw = self.drawing
        lot = draw.number(0, 99)
        kind: Type = BOOL
        if lot < 45:
            kind = self.scalar()
        elif lot < 80 and self.structures:
            kind = draw.pick(self.structures)
        else:
            kind = Option(draw.pick([self.scalar(), *self.structures]))
        return kind if size(kind) <= most else Int(0, draw.number(1, 3))

    def any(self, depth: int = 2) -> Type:
        """Draws a type for a variable."""
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


@dataclass(slots=True)
class LargeKinds(Kinds):
    """Declares a few random types of any size and nesting, and the types inside them."""

    min_size: ClassVar[int] = 1
    readable_domains: ClassVar[int] = 24
    pool: list[Type] = field(default_factory=list[Type])
    outermost: list[Type] = field(default_factory=list[Type])

    def declare(self) -> None:
        """Draws the types, and declares those that have a name."""
        draw = self.drawing
        random = Random(draw.number(0, 99) * 100 + draw.number(0, 99))
        types = random_values.Types(random, draw.name)
        wanted = draw.number(2, 4)
        while wanted:
            kind = types.any()
            if draw.chance(40):
                kind = draw.pick([Set, Seq, Bag])(kind, types.capacity())
            if (
                bits(kind) <= random_values.MAX_BITS
                and _is_writable(kind)
                and (wanted == 1 or not isinstance(kind, Scalar))
            ):
                self.outermost.append(kind)
                self._declare(kind)
                wanted -= 1
        self._declare(types.scalar())

    def _declare(self, kind: Type) -> None:
        """Adds a type to the pool, after the types inside it."""
        if kind in self.pool:
            return
        match kind:
            case Record(name, fields):
                self._declare_fields(fields)
                if not kind.is_tuple:
                    self.records.append(kind)
                    self._declaration("record", name, [self._field_text(item) for item in fields])
            case Union(name, variants):
                for variant in variants:
                    self._declare_fields(variant.fields)
                self.unions.append(kind)
                self._declaration("union", name, [self._variant_text(v) for v in variants])
            case Enum(name, members):
                self.enums.append(kind)
                self.lines.append(f"enum {name}: {', '.join(members)}")
            case Option(element) | Set(element) | Seq(element) | Bag(element):
                self._declare(element)
            case Map(key, value):
                self._declare(key)
                self._declare(value)
                if not isinstance(key, Scalar | Record | Union):
                    self._name(key)
            case Int():
                self._name(kind)
            case _:
                pass
        self.pool.append(kind)

    def _name(self, kind: Type) -> None:
        """Gives a type a name, so that the type can be a domain."""
        if kind not in self.aliases.values():
            name, text = self.drawing.name("T"), self.text(kind)
            self.lines.append(f"type {name} = {text}")
            self.aliases[name] = kind

    def _declare_fields(self, fields: Sequence[Field]) -> None:
        for item in fields:
            self._declare(item.type)

    def scalar(self) -> Type:
        """Draws a type without parts from the pool."""
        scalars = [kind for kind in self.pool if isinstance(kind, Scalar)]
        return self.drawing.pick([BOOL, *scalars, *scalars])

    def any(self, depth: int = 2) -> Type:
        """Draws a type from the pool, usually an outermost one."""
        return self.drawing.pick(self.outermost if self.drawing.chance(80) else self.pool)


def _is_writable(kind: Type) -> bool:
    """Checks whether the language can express a type.

    It has no option of an option, and no keys without a literal.
    """
    match kind:
        case Option(element):
            return not isinstance(element, Option) and _is_writable(element)
        case Set(element) | Seq(element) | Bag(element):
            return _is_writable(element)
        case Map(key, value):
            return telling(key) and _is_writable(key) and _is_writable(value)
        case Record(fields=fields):
            return all(_is_writable(item.type) for item in fields)
        case Union(variants=variants):
            return all(_is_writable(item.type) for v in variants for item in v.fields)
        case _:
            return True


def is_moderate(kind: Int) -> bool:
    """Checks whether a sum of a few numbers in a range stays within 64 bits."""
    return kind.low >= -(1 << 60) and kind.high <= 1 << 60
