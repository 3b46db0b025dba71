"""Random integers: arithmetic that keeps track of ranges, so that results can be made to fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from tests.strategies.collecting import domain
from tests.strategies.folding import total
from tests.strategies.kinds import BOOL, WIDE
from tests.strategies.reading import (
    conditional,
    converted,
    integer,
    literal,
    read,
    reading,
)
from tests.strategies.scope import (
    PRODUCT,
    SUM,
    UNARY,
    Path,
    Scope,
    Text,
    either,
    form,
    infix,
    prefix,
)

from fencepost.spec.core.size_limits import most
from fencepost.spec.core.type_relations import element_of
from fencepost.spec.core.types import Bag, Int, Machine, Seq, as_collection


def number(scope: Scope, depth: int) -> Text:
    """Draws an integer; the type of the text is its range."""
    draw = scope.world.drawing
    if depth <= 0:
        return draw.weighted(
            [
                (2, lambda: integer(draw.number(0, 3) - draw.pick([0, 0, 0, 2]))),
                (3, lambda: _readable_number(scope)),
            ]
        )
    return draw.weighted(
        [
            (2, lambda: integer(draw.number(0, 3) - draw.pick([0, 0, 0, 2]))),
            (6, lambda: _readable_number(scope)),
            (3, lambda: _sum(scope, depth)),
            (1, lambda: _product(scope, depth)),
            (3, lambda: quotient(scope, depth)),
            (1, lambda: _minus(scope, depth)),
            (2, lambda: _size(scope, depth)),
            (1, lambda: _occurrences(scope, depth)),
            (1, lambda: _added_up(scope, depth)),
            (1, lambda: total(scope, depth)),
            (1, lambda: _of_two(scope, depth)),
            (2, lambda: extreme(scope)),
            (1, lambda: _either(scope, depth)),
            (1, lambda: _converted(scope)),
        ]
    )


def fitted(scope: Scope, value: Text, target: Int) -> Text:
    """Changes a number so that it fits into a range."""
    draw = scope.world.drawing
    kind = value.kind
    assert isinstance(kind, Int)
    if target.low <= kind.low and kind.high <= target.high:
        return value
    if not value.fixed and scope.world.risky():
        return value
    if value.fixed and kind.low == kind.high:
        return integer(draw.number(target.low, target.high))
    width = target.high - target.low + 1
    if width > 1 << 62:
        return integer(draw.number(target.low, target.high))
    # The other two forms have the range of the number itself.
    lot = draw.number(0, 2) if _bounded(value) else 0
    if lot == 0:
        wrapped = infix(value, "%", integer(width), PRODUCT, Int(0, width - 1))
        if target.low == 0:
            return wrapped
        return infix(wrapped, "+", integer(target.low), SUM, target)
    if lot == 1:
        low, high = draw.pick([("max", "min"), ("min", "max")])
        ends = (target.low, target.high) if low == "max" else (target.high, target.low)
        return Text(f"{high}({low}({value.text}, {ends[0]}), {ends[1]})", target)
    test = Text(f"{value.at(SUM)} in {target.low}..{target.high}", BOOL, fixed=value.fixed)
    return either(test, value, integer(draw.number(target.low, target.high)), target)


# ---------------------------------------------------------------- ranges


def _read(scope: Scope, path: Path | None) -> Text | None:
    return None if path is None else reading(scope, path).text


def _readable_number(scope: Scope) -> Text | None:
    """Returns a number that can be read."""
    risky = scope.world.risky()
    return _read(scope, scope.some(lambda p: isinstance(p.kind, Int) and (risky or p.total)))


def _bounded(text: Text) -> Text | None:
    low, high = _range(text)
    return text if low >= -WIDE and high <= WIDE else None


def _range(text: Text) -> tuple[int, int]:
    assert isinstance(text.kind, Int)
    return text.kind.low, text.kind.high


def _two(scope: Scope, depth: int) -> tuple[Text, Text]:
    return number(scope, depth - 1), number(scope, depth - 1)


def _sum(scope: Scope, depth: int) -> Text | None:
    left, right = _two(scope, depth)
    (a, b), (c, d) = _range(left), _range(right)
    if scope.world.drawing.chance(60):
        return _bounded(infix(left, "+", right, SUM, Int(a + c, b + d)))
    return _bounded(infix(left, "-", right, SUM, Int(a - d, b - c)))


def _product(scope: Scope, depth: int) -> Text | None:
    left, right = _two(scope, depth)
    corners = [a * b for a, b in product(_range(left), _range(right))]
    return _bounded(infix(left, "*", right, PRODUCT, Int(min(corners), max(corners))))


def quotient(scope: Scope, depth: int) -> Text | None:
    """Returns a quotient or remainder; at some risk, its divisor may be zero."""
    draw = scope.world.drawing
    left = number(scope, depth - 1)
    sign = draw.pick(["//", "%"])
    right = integer(draw.pick([2, 3, 1, 4, -1, -2, -3]))
    if scope.world.risk and draw.chance(max(30, scope.world.risk)):
        right = number(scope, depth - 1)
    kind = quotient_range(sign, *_range(left), *_range(right))
    return _bounded(infix(left, sign, right, PRODUCT, kind))


def quotient_range(sign: str, a: int, b: int, c: int, d: int) -> Int:
    """Returns a range that holds all results of floor division of a..b by c..d."""
    divisors = [x for x in {c, d, -1, 1} if c <= x <= d and x]
    if sign == "//":
        corners = [x // y for x, y in product((a, b), divisors)] or [0]
    else:
        corners = [0, *(x - 1 if x > 0 else x + 1 for x in divisors)]
    return Int(min(corners), max(corners))


def _minus(scope: Scope, depth: int) -> Text | None:
    inner = number(scope, depth - 1)
    low, high = _range(inner)
    return _bounded(prefix("-", inner, UNARY, Int(-high, -low)))


def _size(scope: Scope, depth: int) -> Text | None:
    bold = depth > 1 and scope.world.risk > 0
    path = scope.some(lambda p: element_of(p.kind) is not None and (p.total or bold))
    if path is None:
        return None
    word = scope.world.drawing.pick(["len", "len", "count"])
    kind = Int(0, most(as_collection(path.kind)))
    return form(kind, f"{word}({{}})", reading(scope, path).text)


def _occurrences(scope: Scope, depth: int) -> Text | None:
    path = scope.some(
        lambda p: isinstance(p.kind, Seq | Bag) and p.total and scope.comparable(p.kind.element)
    )
    if path is None:
        return None
    kind = as_collection(path.kind)
    element = scope.expression(kind.element, depth - 1)
    items = reading(scope, path).text
    return replace(form(Int(0, most(kind)), "count({}, {})", items, element), fixed=items.fixed)


def _added_up(scope: Scope, depth: int) -> Text | None:
    """Returns a sum over a collection, or over a comprehension with any domain."""
    draw = scope.world.drawing
    paths = [p for p in scope.paths() if isinstance(element_of(p.kind), Int) and p.total]
    if paths and draw.chance(50):
        path = draw.pick(paths)
        kind = as_collection(path.kind)
        assert isinstance(kind.element, Int)
        range = _times(most(kind), kind.element.low, kind.element.high)
        return _bounded(form(range, "sum({})", reading(scope, path).text))
    over = domain(scope, depth - 1, ordered=True)
    name, locals_ = over.bound(draw, "e")
    body = number(scope.add(*locals_), depth - 1)
    text = f"sum([{body.text} for {name} in {over.text}])"
    return _bounded(Text(text, _times(over.most, *_range(body)), fixed=over.fixed))


def _times(count: int, low: int, high: int) -> Int:
    """Returns the range of a sum of at most ``count`` numbers."""
    return Int(min(0, count * low), max(0, count * high))


def _of_two(scope: Scope, depth: int) -> Text | None:
    left, right = _two(scope, depth)
    if not (_bounded(left) and _bounded(right)):
        return None
    (a, b), (c, d) = _range(left), _range(right)
    if scope.world.drawing.chance(50):
        return form(Int(max(a, c), max(b, d)), "max({}, {})", left, right)
    return form(Int(min(a, c), min(b, d)), "min({}, {})", left, right)


def extreme(scope: Scope) -> Text | None:
    """Returns the minimum or maximum of a collection, guarded by a test that it is not empty."""
    draw = scope.world.drawing
    path = scope.some(lambda p: isinstance(element_of(p.kind), Int) and p.total)
    if path is None:
        return None
    element = element_of(path.kind)
    assert isinstance(element, Int)
    items = reading(scope, path).text
    result = form(element, f"{draw.pick(['min', 'max'])}({{}})", items)
    if scope.world.risky():
        return result
    other = integer(draw.number(element.low, element.high))
    return either(form(BOOL, "len({}) > 0", items), result, other, element)


def _either(scope: Scope, depth: int) -> Text:
    test = scope.expression(BOOL, depth - 1)
    left, right = _two(scope, depth)
    (a, b), (c, d) = _range(left), _range(right)
    return either(test, left, right, Int(min(a, c), max(b, d)))


def _converted(scope: Scope) -> Text | None:
    """Converts a machine integer to a mathematical one."""
    operand = _read(scope, scope.total(Machine))
    if operand is None:
        return None
    assert isinstance(operand.kind, Machine)
    if operand.kind.bits > 16:
        return form(Int(0, 3), "int({}) % 4", operand, level=PRODUCT)
    return form(Int(operand.kind.low, operand.kind.high), "int({})", operand)


# ---------------------------------------------------------------- machine integers


def machine(scope: Scope, kind: Machine, depth: int, typed: bool) -> Text:
    """Draws a machine integer of the given width."""
    draw = scope.world.drawing
    if depth <= 0:
        return draw.weighted(
            [(1, lambda: literal(scope, kind, typed)), (2, lambda: read(scope, kind, 0, typed))]
        )
    return draw.weighted(
        [
            (2, lambda: literal(scope, kind, typed)),
            (4, lambda: read(scope, kind, depth, typed)),
            (4, lambda: _wrapping(scope, kind, depth, typed)),
            (1, lambda: _machine_quotient(scope, kind, depth, typed)),
            (1, lambda: _machine_minus(scope, kind, depth, typed)),
            (2, lambda: _to_machine(scope, kind, depth)),
            (1, lambda: conditional(scope, kind, depth, typed)),
        ]
    )


def _wrapping(scope: Scope, kind: Machine, depth: int, typed: bool) -> Text:
    left = machine(scope, kind, depth - 1, typed)
    right = machine(scope, kind, depth - 1, True)
    sign, level = scope.world.drawing.pick([("+", SUM), ("-", SUM), ("*", PRODUCT)])
    return infix(left, sign, right, level, kind)


def _machine_quotient(scope: Scope, kind: Machine, depth: int, typed: bool) -> Text:
    draw = scope.world.drawing
    left = machine(scope, kind, depth - 1, typed)
    right = replace(integer(draw.pick([1, -1, kind.high, kind.low, -2])), kind=kind)
    if scope.world.risk and draw.chance(30):
        right = machine(scope, kind, depth - 1, True)
    return infix(left, draw.pick(["//", "%"]), right, PRODUCT, kind)


def _machine_minus(scope: Scope, kind: Machine, depth: int, typed: bool) -> Text:
    inner = machine(scope, kind, depth - 1, typed)
    # The least value is a literal, and its opposite does not exist.
    return inner if inner.last(UNARY)[0].isdigit() else prefix("-", inner, UNARY, kind)


def _to_machine(scope: Scope, kind: Machine, depth: int) -> Text:
    inner = number(scope, depth - 1)
    return converted(scope, kind, fitted(scope, inner, Int(kind.low, kind.high)))
