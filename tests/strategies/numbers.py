"""Random integers: arithmetic whose range is followed, so that results can be made to fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from tests.strategies.collecting import domain
from tests.strategies.kinds import BOOL, WIDE, most
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
    infix,
)

from fencepost.spec.core.type_relations import element_of
from fencepost.spec.core.types import Bag, Int, Machine, Seq, Set, as_collection


def number(scope: Scope, depth: int) -> Text:
    """An integer of some range, which is the text's kind."""
    draw = scope.world.drawing
    if depth <= 0:
        return draw.weighted(
            [
                (2, lambda: integer(draw.number(0, 3) - draw.pick([0, 0, 0, 2]))),
                (3, lambda: _known(scope)),
            ]
        )
    return draw.weighted(
        [
            (2, lambda: integer(draw.number(0, 3) - draw.pick([0, 0, 0, 2]))),
            (6, lambda: _known(scope)),
            (3, lambda: _sum(scope, depth)),
            (1, lambda: _product(scope, depth)),
            (3, lambda: _quotient(scope, depth)),
            (1, lambda: _minus(scope, depth)),
            (2, lambda: _size(scope, depth)),
            (1, lambda: _occurrences(scope, depth)),
            (1, lambda: _added_up(scope, depth)),
            (1, lambda: _of_two(scope, depth)),
            (2, lambda: _extreme(scope)),
            (1, lambda: _either(scope, depth)),
            (1, lambda: _converted(scope, depth)),
        ]
    )


def fitted(scope: Scope, made: Text, target: Int) -> Text:
    """The number, made to fit a range."""
    draw = scope.world.drawing
    kind = made.kind
    assert isinstance(kind, Int)
    if target.low <= kind.low and kind.high <= target.high:
        return made
    if not made.fixed and scope.world.risky():
        return made
    if made.fixed and kind.low == kind.high:
        return integer(draw.number(target.low, target.high))
    width = target.high - target.low + 1
    if width > 1 << 62:
        return integer(draw.number(target.low, target.high))
    # The range of the other two forms is that of the number.
    lot = draw.number(0, 2) if _bounded(made) else 0
    if lot == 0:
        wrapped = infix(made, "%", integer(width), PRODUCT, Int(0, width - 1))
        if target.low == 0:
            return wrapped
        return infix(wrapped, "+", integer(target.low), SUM, target)
    if lot == 1:
        low, high = draw.pick([("max", "min"), ("min", "max")])
        ends = (target.low, target.high) if low == "max" else (target.high, target.low)
        return Text(f"{high}({low}({made.text}, {ends[0]}), {ends[1]})", target)
    test = Text(f"{made.at(SUM)} in {target.low}..{target.high}", BOOL, fixed=made.fixed)
    return either(test, made, integer(draw.number(target.low, target.high)), target)


# ---------------------------------------------------------------- ranges


def _known(scope: Scope) -> Text | None:
    """A number that can be read."""
    draw = scope.world.drawing
    paths = [path for path in scope.paths() if isinstance(path.kind, Int)]
    if not scope.world.risky():
        paths = [path for path in paths if path.total]
    return _read(scope, draw.pick(paths)) if paths else None


def _read(scope: Scope, path: Path) -> Text:
    return reading(scope, path).text


def _bounded(text: Text) -> Text | None:
    kind = text.kind
    assert isinstance(kind, Int)
    return text if kind.low >= -WIDE and kind.high <= WIDE else None


def _range(text: Text) -> tuple[int, int]:
    assert isinstance(text.kind, Int)
    return text.kind.low, text.kind.high


def _sum(scope: Scope, depth: int) -> Text | None:
    left, right = number(scope, depth - 1), number(scope, depth - 1)
    (a, b), (c, d) = _range(left), _range(right)
    plus = scope.world.drawing.chance(60)
    kind = Int(a + c, b + d) if plus else Int(a - d, b - c)
    made = infix(left, "+" if plus else "-", right, SUM, kind)
    return _bounded(made)


def _product(scope: Scope, depth: int) -> Text | None:
    left, right = number(scope, depth - 1), number(scope, depth - 1)
    corners = [a * b for a, b in product(_range(left), _range(right))]
    made = infix(left, "*", right, PRODUCT, Int(min(corners), max(corners)))
    return _bounded(made)


def _quotient(scope: Scope, depth: int) -> Text | None:
    draw = scope.world.drawing
    left = number(scope, depth - 1)
    sign = draw.pick(["//", "%"])
    right = integer(draw.pick([2, 3, 1, 4, -1, -2, -3]))
    if scope.world.risk and draw.chance(30):
        right = number(scope, depth - 1)
    kind = quotient_range(sign, *_range(left), *_range(right))
    return _bounded(infix(left, sign, right, PRODUCT, kind))


def quotient_range(sign: str, a: int, b: int, c: int, d: int) -> Int:
    """A range that holds all results of floor division of a..b by c..d."""
    divisors = [x for x in {c, d, -1, 1} if c <= x <= d and x]
    if sign == "//":
        corners = [x // y for x, y in product((a, b), divisors)] or [0]
    else:
        corners = [0, *(x - 1 if x > 0 else x + 1 for x in divisors)]
    return Int(min(corners), max(corners))


def _minus(scope: Scope, depth: int) -> Text | None:
    inner = number(scope, depth - 1)
    low, high = _range(inner)
    text = inner.last(UNARY)
    reaching = inner.reaching and text == inner.text
    return _bounded(Text(f"-{text}", Int(-high, -low), UNARY, reaching, inner.fixed))


def collections_of(scope: Scope, depth: int) -> list[Path]:
    """What can be read of collections; ordinary code does not go through bags with ghosts."""
    return [
        path
        for path in scope.paths()
        if element_of(path.kind) is not None and (path.total or depth > 1)
    ]


def _size(scope: Scope, depth: int) -> Text | None:
    draw = scope.world.drawing
    paths = [path for path in collections_of(scope, depth) if path.total or scope.world.risk]
    if not paths:
        return None
    path = draw.pick(paths)
    kind = as_collection(path.kind)
    word = draw.pick(["len", "len", "count"])
    found = _read(scope, path)
    return Text(f"{word}({found.text})", Int(0, most(kind)), fixed=found.fixed)


def _occurrences(scope: Scope, depth: int) -> Text | None:
    paths = [
        path
        for path in scope.paths()
        if isinstance(path.kind, Seq | Bag) and path.total and scope.comparable(path.kind.element)
    ]
    if not paths:
        return None
    path = scope.world.drawing.pick(paths)
    kind = path.kind
    assert isinstance(kind, Seq | Bag)
    element = scope.expression(kind.element, depth - 1)
    found = _read(scope, path)
    text = f"count({found.text}, {element.text})"
    return Text(text, Int(0, kind.capacity), fixed=found.fixed)


def _added_up(scope: Scope, depth: int) -> Text | None:
    """A sum of a collection, or of a comprehension over anything."""
    draw = scope.world.drawing
    paths = [
        path
        for path in scope.paths()
        if isinstance(path.kind, Set | Seq | Bag)
        and isinstance(path.kind.element, Int)
        and path.total
    ]
    if paths and draw.chance(50):
        path = draw.pick(paths)
        kind = as_collection(path.kind)
        assert isinstance(kind.element, Int)
        count = most(kind)
        range = Int(min(0, count * kind.element.low), max(0, count * kind.element.high))
        read = _read(scope, path)
        return _bounded(Text(f"sum({read.text})", range, fixed=read.fixed))
    found = domain(scope, depth - 1, ordered=True)
    name = draw.name("e")
    body = number(scope.add(found.element(name)), depth - 1)
    low, high = _range(body)
    range = Int(min(0, found.most * low), max(0, found.most * high))
    text = f"sum([{body.text} for {name} in {found.text}])"
    return _bounded(Text(text, range, fixed=found.fixed))


def _of_two(scope: Scope, depth: int) -> Text | None:
    left, right = number(scope, depth - 1), number(scope, depth - 1)
    if not (_bounded(left) and _bounded(right)):
        return None
    (a, b), (c, d) = _range(left), _range(right)
    fixed = left.fixed and right.fixed
    if scope.world.drawing.chance(50):
        kind = Int(max(a, c), max(b, d))
        return Text(f"max({left.text}, {right.text})", kind, fixed=fixed)
    return Text(f"min({left.text}, {right.text})", Int(min(a, c), min(b, d)), fixed=fixed)


def _extreme(scope: Scope) -> Text | None:
    """The least or greatest of a collection, behind a test that it has one."""
    draw = scope.world.drawing
    paths = [
        path for path in scope.paths() if isinstance(element_of(path.kind), Int) and path.total
    ]
    if not paths:
        return None
    path = draw.pick(paths)
    element = element_of(path.kind)
    assert isinstance(element, Int)
    found = _read(scope, path)
    made = Text(f"{draw.pick(['min', 'max'])}({found.text})", element, fixed=found.fixed)
    if scope.world.risky():
        return made
    test = Text(f"len({found.text}) > 0", BOOL, fixed=found.fixed)
    return either(test, made, integer(draw.number(element.low, element.high)), element)


def _either(scope: Scope, depth: int) -> Text:
    test = scope.expression(BOOL, depth - 1)
    left, right = number(scope, depth - 1), number(scope, depth - 1)
    (a, b), (c, d) = _range(left), _range(right)
    return either(test, left, right, Int(min(a, c), max(b, d)))


def _converted(scope: Scope, depth: int) -> Text | None:
    """A machine integer as a mathematical one."""
    draw = scope.world.drawing
    paths = [p for p in scope.paths() if isinstance(p.kind, Machine) and p.total]
    if not paths:
        return None
    path = draw.pick(paths)
    kind = path.kind
    assert isinstance(kind, Machine)
    found = _read(scope, path)
    text = f"int({found.text})"
    if kind.bits > 16:
        return Text(f"{text} % 4", Int(0, 3), PRODUCT, fixed=found.fixed)
    return Text(text, Int(kind.low, kind.high), fixed=found.fixed)


# ---------------------------------------------------------------- machine integers


def machine(scope: Scope, kind: Machine, depth: int, told: bool) -> Text:
    """A machine integer of a width."""
    draw = scope.world.drawing
    if depth <= 0:
        return draw.weighted(
            [(1, lambda: literal(scope, kind, told)), (2, lambda: read(scope, kind, 0, told))]
        )
    return draw.weighted(
        [
            (2, lambda: literal(scope, kind, told)),
            (4, lambda: read(scope, kind, depth, told)),
            (4, lambda: _wrapping(scope, kind, depth, told)),
            (1, lambda: _machine_quotient(scope, kind, depth, told)),
            (1, lambda: _machine_minus(scope, kind, depth, told)),
            (2, lambda: _to_machine(scope, kind, depth)),
            (1, lambda: conditional(scope, kind, depth, told)),
        ]
    )


def _wrapping(scope: Scope, kind: Machine, depth: int, told: bool) -> Text:
    left = machine(scope, kind, depth - 1, told)
    right = machine(scope, kind, depth - 1, True)
    sign, level = scope.world.drawing.pick([("+", SUM), ("-", SUM), ("*", PRODUCT)])
    return infix(left, sign, right, level, kind)


def _machine_quotient(scope: Scope, kind: Machine, depth: int, told: bool) -> Text:
    draw = scope.world.drawing
    left = machine(scope, kind, depth - 1, told)
    right = replace(integer(draw.pick([1, -1, kind.high, kind.low, -2])), kind=kind)
    if scope.world.risk and draw.chance(30):
        right = machine(scope, kind, depth - 1, True)
    return infix(left, draw.pick(["//", "%"]), right, PRODUCT, kind)


def _machine_minus(scope: Scope, kind: Machine, depth: int, told: bool) -> Text:
    inner = machine(scope, kind, depth - 1, told)
    text = inner.last(UNARY)
    if text[0].isdigit():
        # The least value is written as it is, and has no opposite that could be.
        return inner
    return Text(f"-{text}", kind, UNARY, inner.reaching and text == inner.text, inner.fixed)


def _to_machine(scope: Scope, kind: Machine, depth: int) -> Text:
    inner = number(scope, depth - 1)
    return converted(scope, kind, fitted(scope, inner, Int(kind.low, kind.high)))
