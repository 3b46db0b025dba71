"""Random sets, sequences and bags, and the domains of quantifiers and loops."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.strategies.drawing import Drawing
from tests.strategies.kinds import BOOL, WIDE, size, telling
from tests.strategies.reading import call, conditional, integer, listed, literal, read, reading
from tests.strategies.scope import (
    POSTFIX,
    PRODUCT,
    RANGE,
    SUM,
    UNARY,
    Path,
    Readable,
    Scope,
    Text,
    infix,
    taken_apart,
)

from fencepost.spec.core.size_limits import most
from fencepost.spec.core.types import (
    Bag,
    Enum,
    Int,
    Machine,
    Record,
    Seq,
    Set,
    Type,
    Union,
    as_collection,
    has_ghost,
)

MAX_TRAVERSED = 16
"""Types with more values are not used as domains."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain: its text after a binder, and the type and maximal number of its elements.

    With ``typed``, the text is the name of a type, so that a comprehension over it in brackets is a
    map. ``tag`` is the variant of all elements, if it is established.
    """

    text: str
    kind: Type
    most: int
    typed: bool = False
    ghost: bool = False
    fixed: bool = True
    tag: int | None = None

    def element(self, name: str) -> list[Readable]:
        """Returns the local for an element, and its fields if its variant is established."""
        fields = [] if self.tag is None else variant_fields(self.kind, self.tag, name)
        return [Readable(name, self.kind, self.ghost), *fields]

    def bound(self, draw: Drawing, stem: str) -> tuple[str, list[Readable]]:
        """Draws a name for an element, or a pattern for a tuple, and returns it with its locals."""
        if isinstance(self.kind, Record) and self.kind.is_tuple and draw.chance(70):
            return taken_apart(draw, self.kind, stem, self.ghost)
        name = draw.name(stem)
        return name, self.element(name)


def variant_fields(kind: Type, tag: int, name: str) -> list[Readable]:
    """Returns the fields of the local ``name``, whose variant is established."""
    assert isinstance(kind, Union)
    fields = kind.variants[tag].fields
    return [Readable(f"{name}.{field.name}", field.type, field.ghost) for field in fields]


def established(scope: Scope, name: str, kind: Type) -> tuple[str, int] | None:
    """Returns a condition that establishes the variant of a local, and the tag of the variant."""
    draw = scope.world.drawing
    if not isinstance(kind, Union) or has_ghost(kind) or draw.chance(40):
        return None
    tag = draw.number(0, len(kind.variants) - 1)
    return f"{name} is {kind.variants[tag].name}", tag


def domain(scope: Scope, depth: int, ordered: bool, most: int = MAX_TRAVERSED) -> Domain:
    """Draws a domain.

    With ``ordered``, the order of its elements may matter, so bags with ghosts are excluded.
    """
    draw = scope.world.drawing
    over = draw.weighted(
        [
            (2, lambda: _named(scope, most)),
            (scope.world.kinds.readable_domains, lambda: _readable(scope, ordered, most)),
            (2, lambda: _interval(scope, depth, most)),
            (2, lambda: _indices(scope, most)),
            (1, lambda: _subsets(scope, most)),
            (1, lambda: _made(scope, depth, most) if depth > 0 else None),
            (0, lambda: Domain("bool", BOOL, 2, typed=True)),
        ]
    )
    if not isinstance(over.kind, Union):
        return over
    name = draw.name("v")
    test = established(scope, name, over.kind)
    if test is None or over.ghost:
        return over
    text = f"{{{name} for {name} in {over.text} if {test[0]}}}"
    return replace(over, text=text, typed=False, tag=test[1])


def _named(scope: Scope, most: int) -> Domain | None:
    kinds = scope.world.kinds
    options = [
        kind
        for kind in [BOOL, Machine(2), *kinds.named]
        if size(kind) <= most and not has_ghost(kind)
    ]
    if not options:
        return None
    kind = scope.world.drawing.pick(options)
    return Domain(kinds.text(kind), kind, size(kind), typed=True)


def _readable(scope: Scope, ordered: bool, limit: int) -> Domain | None:
    path = scope.some(
        lambda path: (
            isinstance(path.kind, Set | Seq | Bag)
            and (path.total or scope.world.risk > 0)
            and most(path.kind) <= limit
            and not (ordered and isinstance(path.kind, Bag) and has_ghost(path.kind.element))
        )
    )
    if path is None:
        return None
    kind = as_collection(path.kind)
    return _of(scope, path, "{}", kind.element, most(kind))


def _of(scope: Scope, path: Path, template: str, kind: Type, most: int) -> Domain:
    operand = reading(scope, path).text
    return Domain(template.format(operand.text), kind, most, fixed=operand.fixed)


def _interval(scope: Scope, depth: int, most: int) -> Domain | None:
    draw = scope.world.drawing
    low = draw.number(0, 3) - 2
    high = low + draw.number(1, 4) - 1
    if high - low >= most:
        return None
    if depth <= 0 or draw.chance(60):
        # A range of literals is a type.
        return Domain(f"{low}..{high}", Int(low, high), high - low + 1, typed=True)
    # The end may precede the beginning; then the domain is empty.
    first, last = integer(low), scope.expression(Int(low - 1, high), depth - 1)
    if isinstance(last.kind, Int) and (last.kind.low < -WIDE or last.kind.high > WIDE):
        return None
    text = infix(first, "..", last, RANGE, Set(Int(low, high)))
    return Domain(text.at(RANGE), Int(low, high), high - low + 1, typed=last.fixed)


def _indices(scope: Scope, most: int) -> Domain | None:
    path = scope.total(Seq)
    if path is None:
        return None
    assert isinstance(path.kind, Seq)
    capacity = path.kind.capacity
    if capacity > most or not capacity:
        return None
    return _of(scope, path, "indices({})", Int(0, capacity - 1), capacity)


def _subsets(scope: Scope, limit: int) -> Domain | None:
    path = scope.some(
        lambda path: (
            isinstance(path.kind, Set)
            and size(path.kind) <= limit
            and (path.total or scope.world.risk > 0)
            and scope.comparable(path.kind)
        )
    )
    return None if path is None else _of(scope, path, "subsets({})", path.kind, size(path.kind))


def _made(scope: Scope, depth: int, limit: int) -> Domain | None:
    kind = scope.world.kinds.small(6)
    if has_ghost(kind) or not telling(kind):
        return None
    whole = Set(kind)
    text = collection(scope, whole, depth - 1, typed=False)
    return Domain(text.at(RANGE), kind, size(kind)) if size(kind) <= limit else None


# ---------------------------------------------------------------- collections of a type


def collection(scope: Scope, kind: Set | Seq | Bag, depth: int, typed: bool) -> Text:
    """Draws a set, sequence or bag that fits a type."""
    draw = scope.world.drawing
    if depth <= 0:
        return draw.weighted(
            [
                (2, lambda: literal(scope, kind, typed)),
                (3, lambda: read(scope, kind, 0, typed)),
                (0, lambda: _spelt(scope, kind, 1, typed)),
                (0, lambda: _whole(scope, kind)),
            ]
        )
    return draw.weighted(
        [
            (3, lambda: _spelt(scope, kind, depth, typed)),
            (5, lambda: read(scope, kind, depth, typed)),
            (3, lambda: _algebra(scope, kind, depth, typed)),
            (2, lambda: _part(scope, kind, depth, typed)),
            (2, lambda: _joined(scope, kind, depth, typed)),
            (3, lambda: _comprehension(scope, kind, depth, typed)),
            (1, lambda: _whole(scope, kind)),
            (1, lambda: conditional(scope, kind, depth, typed)),
            (1, lambda: call(scope, kind, depth)),
            (0, lambda: _spelt(scope, kind, 1, typed)),
        ]
    )


def _spelt(scope: Scope, kind: Set | Seq | Bag, depth: int, typed: bool) -> Text | None:
    if isinstance(kind, Bag) and not typed:
        return None
    draw = scope.world.drawing
    room = 3 if kind.capacity is None else min(3, kind.capacity)
    if scope.world.risky():
        room = 3
    items = draw.several(
        lambda: scope.expression(kind.element, depth - 1, typed), 0 if typed else 1, room, 60
    )
    fixed = all(item.fixed for item in items)
    if fixed and kind.capacity is not None:
        items = items[: kind.capacity]
    return replace(listed(kind, [item.text for item in items]), fixed=fixed)


def _whole(scope: Scope, kind: Set | Seq | Bag) -> Text | None:
    """Returns the name of a type, which denotes the set of its values."""
    if not isinstance(kind, Set) or size(kind.element) > MAX_TRAVERSED:
        return None
    if kind.capacity is not None and kind.capacity < size(kind.element):
        return None
    element = kind.element
    if not isinstance(element, Int | Machine | Enum | Record | Union) and element != BOOL:
        return None
    text = scope.world.kinds.text(element)
    return Text(text, kind, RANGE if ".." in text else RANGE + 4)


def _algebra(scope: Scope, kind: Set | Seq | Bag, depth: int, typed: bool) -> Text | None:
    if not isinstance(kind, Set):
        return None
    draw = scope.world.drawing
    sign, level = draw.pick([("|", SUM), ("&", PRODUCT), ("-", SUM)])
    if kind.capacity is not None and kind.capacity > 3 and sign == "|":
        half = replace(kind, capacity=kind.capacity // 2)
        left = collection(scope, half, depth - 1, typed)
        return infix(left, sign, collection(scope, half, depth - 1, True), level, kind)
    if kind.capacity is not None and sign == "|" and not scope.world.risky():
        sign = "-"
    left = collection(scope, kind, depth - 1, typed)
    right = collection(scope, kind, depth - 1, True)
    if kind.capacity is not None and left.fixed and right.fixed:
        sign, level = "-", SUM
    return infix(left, sign, right, level, kind)


def _part(scope: Scope, kind: Set | Seq | Bag, depth: int, typed: bool) -> Text | None:
    """Returns ``q[i..j]`` and the like, usually within bounds."""
    if not isinstance(kind, Seq):
        return None
    draw = scope.world.drawing
    base = read(scope, kind, 0, typed)
    if base is None or base.level < POSTFIX:
        return None
    ends = Int(0, kind.capacity)
    low = f"{scope.expression(ends, depth - 1).at(SUM)}.."
    high = f"..len({base.text}) - {draw.number(1, 2)}"
    part = draw.pick([low, high, f"{low}len({base.text}) - 1"])
    if scope.world.risky():
        part = low + scope.expression(ends, depth - 1).at(SUM)
    return Text(f"{base.text}[{part}]", kind, fixed=False)


def _joined(scope: Scope, kind: Set | Seq | Bag, depth: int, typed: bool) -> Text | None:
    """Returns ``q + r``."""
    if not isinstance(kind, Seq) or kind.capacity < 2:
        return None
    left = collection(scope, Seq(kind.element, 1), depth - 1, typed)
    right = collection(scope, Seq(kind.element, kind.capacity - 1), depth - 1, typed)
    return infix(left, "+", right, SUM, kind)


def _comprehension(scope: Scope, kind: Set | Seq | Bag, depth: int, typed: bool) -> Text | None:
    if isinstance(kind, Bag) and not typed:
        return None
    draw = scope.world.drawing
    limit = MAX_TRAVERSED
    if kind.capacity is not None and not scope.world.risky():
        limit = kind.capacity
    if limit < 2:
        return None
    over = domain(scope, depth - 1, ordered=True, most=limit)
    if over.fixed and kind.capacity is not None and over.most > kind.capacity:
        return None
    name, locals_ = over.bound(draw, "e")
    inside = scope.add(*locals_)
    binders = f"{name} in {over.text}"
    fixed = over.fixed
    last = over
    often = kind.capacity is not None and kind.capacity > 3
    if limit // max(over.most, 1) > 1 and draw.chance(70 if often else 30):
        # The second domain may depend on the first element.
        again = domain(inside, depth - 1, ordered=True, most=limit // max(over.most, 1))
        name, locals_ = again.bound(draw, "e")
        inside = inside.add(*locals_)
        last = again
        binders += f", {name} in {again.text}"
        fixed = fixed and again.fixed
    elif over.typed and not typed and not isinstance(kind, Set):
        return None
    test = ""
    if establishing := established(inside, name, last.kind):
        test = f" if {establishing[0]}"
        inside = inside.add(*variant_fields(last.kind, establishing[1], name))
    body = inside.expression(kind.element, depth - 1, typed)
    if not test and draw.chance(40):
        test = f" if {inside.expression(BOOL, depth - 1).text}"
    return replace(listed(kind, [f"{body.text} for {binders}{test}"]), fixed=fixed)


def chosen(scope: Scope, kind: Type, depth: int) -> Text | None:
    """Returns ``choose x in S`` for a whole type ``S``; at some risk, ``where p`` is added."""
    name = scope.world.drawing.name("c")
    text = f"choose {name} in {scope.world.kinds.text(kind)}"
    if scope.world.risky():
        test = scope.add(Readable(name, kind)).expression(BOOL, depth - 1)
        text = f"{text} where {test.text}"
    return Text(text, kind, UNARY, reaching=True)
