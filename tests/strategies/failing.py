"""Random conditions that have no value in some states, for places that a spec dares.

The rest of the strategies keep what is partial behind tests; what is made here is not, so that
specs fail in every kind of place, some of them at once, some late, some never.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.strategies.drawing import Drawing
from tests.strategies.kinds import BOOL, is_moderate
from tests.strategies.numbers import quotient_range
from tests.strategies.reading import converted, integer, literal, reading
from tests.strategies.scope import (
    AND,
    COMPARISON,
    IMPLIES,
    NOT,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    Path,
    Scope,
    Text,
    either,
    infix,
)
from tests.strategies.truth import condition, conjoined

from fencepost.spec.core.type_relations import element_of
from fencepost.spec.core.types import Bag, Int, Machine, Map, Option, Seq, Set, Type

PLACES = (
    "invariant",
    "step invariant",
    "reachable",
    "lemma",
    "terminal",
    "constraint",
    "enabled",
    "quiescent",
    "guard",
    "choice",
    "send",
    "ghost change",
    "initially",
    "where of an initial value",
    "where of an initial value",
    "terminal",
    "assume",
)
"""Where a spec may dare a condition that may have no value."""


def dared(draw: Drawing) -> frozenset[str]:
    """The places that a spec dares: most often none, or one."""
    if not draw.chance(50):
        return frozenset()
    return frozenset(draw.several(lambda: draw.pick(PLACES), 1, 3, 30))


def daring(scope: Scope) -> Text:
    """A condition that may have no value; some are decided before that is noticed."""
    draw = scope.world.drawing
    inner = failing(scope)
    if inner is None:
        return condition(scope, 1)
    # Rarely true, so that most of what fails does so late.
    test = conjoined(scope, 1)
    match draw.number(0, 8):
        case 0:
            return inner
        case 1:
            return infix(Text(f"not ({test.text})", BOOL), "or", inner, OR, BOOL)
        case 2:
            return infix(test, "and", inner, AND, BOOL)
        case 3:
            return infix(test, "or", inner, OR, BOOL)
        case 4:
            return infix(test, "implies", inner, IMPLIES, BOOL)
        case 5:
            sign, level = draw.pick([("and", AND), ("or", OR)])
            return infix(inner, sign, Text(f"({test.text})", BOOL), level, BOOL)
        case 6:
            return Text(f"not {inner.at(NOT + 1)}", BOOL, NOT)
        case 7:
            return either(test, inner, condition(scope, 0), BOOL)
        case _:
            name = draw.name("e")
            return Text(
                f"{draw.pick(['forall', 'exists'])} {name} in 0..1: "
                f"{name} == {draw.number(0, 1)} implies {inner.last(IMPLIES)}",
                BOOL,
                UNARY,
                reaching=True,
            )


def failing(scope: Scope) -> Text | None:
    """A condition with a partial operation; None: there is nothing to be read that it could be of.

    Among constants everything is known before the run; elsewhere only what a state decides counts.
    """
    paths = [p for p in scope.paths() if scope.where == "constant" or not p.base.fixed]

    def of(*kinds: type[Type]) -> list[Path]:
        return [path for path in paths if isinstance(path.kind, kinds)]

    numbers, machines = of(Int), of(Machine)
    made: list[tuple[int, Callable[[], Text | None]]] = [
        (5, lambda: _divided(scope, numbers)),
        # A constant that does not fit is refused before the run.
        (2, lambda: None if scope.where == "constant" else _narrowed(scope, numbers + machines)),
        (3, lambda: _machine_divided(scope, machines)),
        (4, lambda: _unwrapped(scope, of(Option))),
        (5, lambda: _at(scope, of(Seq))),
        (4, lambda: _chosen(scope, of(Set, Seq, Bag))),
        (3, lambda: _extreme(scope, of(Set, Seq, Bag))),
        (4, lambda: _looked_up(scope, of(Map), numbers)),
        (4, lambda: _given(scope, numbers)),
        (4, lambda: _stored(scope, numbers, of(Set, Seq, Bag))),
        (0, lambda: Text("", BOOL)),
    ]
    found = scope.world.drawing.weighted(made)
    return found if found.text else None


# ---------------------------------------------------------------- one for each kind of failure


def _read(scope: Scope, paths: list[Path]) -> Text | None:
    return reading(scope, scope.world.drawing.pick(paths)).text if paths else None


def _divided(scope: Scope, numbers: list[Path]) -> Text | None:
    """``2 // (x - 1) < 1``."""
    draw, by = scope.world.drawing, _read(scope, numbers)
    if by is None:
        return None
    assert isinstance(by.kind, Int)
    low, high = by.kind.low, by.kind.high
    if low < -99 or high > 99:
        return None
    zero = draw.number(low, high)
    divisor = by if zero == 0 else infix(by, "-", integer(zero), SUM, Int(low - zero, high - zero))
    sign, left = draw.pick(["//", "%"]), integer(draw.number(0, 3))
    kind = quotient_range(sign, 0, 3, low - zero, high - zero)
    whole = infix(left, sign, divisor, PRODUCT, kind)
    return infix(whole, draw.pick(["<", "<=", "!="]), integer(draw.number(0, 2)), COMPARISON, BOOL)


def _machine_divided(scope: Scope, machines: list[Path]) -> Text | None:
    draw, by = scope.world.drawing, _read(scope, machines)
    if by is None:
        return None
    whole = infix(by, draw.pick(["//", "%"]), by, PRODUCT, by.kind)
    return infix(whole, draw.pick(["<", "<=", "!="]), integer(draw.number(0, 1)), COMPARISON, BOOL)


def _narrowed(scope: Scope, numbers: list[Path]) -> Text | None:
    """``int[2](x) >= 0``: the number may not fit."""
    draw, number = scope.world.drawing, _read(scope, numbers)
    if number is None or (isinstance(number.kind, Int) and not is_moderate(number.kind)):
        return None
    if isinstance(number.kind, Int):
        low, high = 3 * number.kind.low, 3 * number.kind.high
        number = infix(number, "*", integer(3), PRODUCT, Int(low, high))
    else:
        number = Text(f"int({number.text})", number.kind, fixed=number.fixed)
    small = converted(scope, Machine(draw.pick([2, 3])), number)
    return infix(small, draw.pick(["<", ">=", "!="]), integer(draw.number(0, 1)), COMPARISON, BOOL)


def _compared(scope: Scope, left: Text, kind: Type) -> Text | None:
    value = literal(scope, kind)
    if value is None or not scope.comparable(kind):
        return None
    return infix(left, scope.world.drawing.pick(["==", "!="]), value, COMPARISON, BOOL)


def _unwrapped(scope: Scope, options: list[Path]) -> Text | None:
    found = _read(scope, options)
    if found is None:
        return None
    assert isinstance(found.kind, Option)
    inside = Text(f"{found.text}!", found.kind.element, fixed=False)
    return _compared(scope, inside, found.kind.element)


def _at(scope: Scope, sequences: list[Path]) -> Text | None:
    draw, found = scope.world.drawing, _read(scope, sequences)
    if found is None:
        return None
    assert isinstance(found.kind, Seq)
    last = max(0, found.kind.capacity - 1)
    text = draw.pick(
        [f"{found.text}[{draw.number(0, last)}]", f"first({found.text})", f"last({found.text})"]
    )
    return _compared(scope, Text(text, found.kind.element, fixed=False), found.kind.element)


def _chosen(scope: Scope, collections: list[Path]) -> Text | None:
    found = _read(scope, collections)
    kind = None if found is None else element_of(found.kind)
    if found is None or kind is None or not scope.comparable(kind):
        return None
    name = scope.world.drawing.name("e")
    test = _compared(scope, Text(name, kind, fixed=False), kind)
    if test is None:
        return None
    choice = Text(f"(choose {name} in {found.text} where {test.text})", kind, fixed=False)
    return _compared(scope, choice, kind)


def _extreme(scope: Scope, collections: list[Path]) -> Text | None:
    found = _read(scope, [p for p in collections if isinstance(element_of(p.kind), Int)])
    kind = None if found is None else element_of(found.kind)
    if found is None or kind is None:
        return None
    word = scope.world.drawing.pick(["min", "max"])
    return _compared(scope, Text(f"{word}({found.text})", kind, fixed=False), kind)


def _looked_up(scope: Scope, maps: list[Path], numbers: list[Path]) -> Text | None:
    """``m[x + 1] == v``: the key may lie outside."""
    keyed = [
        path
        for path in maps
        if isinstance(path.kind, Map)
        and isinstance(path.kind.key, Int)
        and not path.base.suffix
        and not path.base.channel
    ]
    found, number = _read(scope, keyed), _read(scope, numbers)
    if found is None or number is None:
        return None
    assert isinstance(found.kind, Map)
    key = _moved(scope, number)
    return _compared(
        scope, Text(f"{found.text}[{key}]", found.kind.value, fixed=False), found.kind.value
    )


def _moved(scope: Scope, number: Text) -> str:
    by, kind = scope.world.drawing.number(0, 2), number.kind
    assert isinstance(kind, Int)
    return f"{number.at(SUM)} + {by}" if by and is_moderate(kind) else number.text


def _given(scope: Scope, numbers: list[Path]) -> Text | None:
    """A call of a def with a number that may lie outside its parameter's range."""
    defs = [
        function
        for function in scope.defs
        if function.result == BOOL
        and len(function.parameters) == 1
        and isinstance(function.parameters[0], Int)
    ]
    number = _read(scope, numbers)
    if not defs or number is None:
        return None
    function = scope.world.drawing.pick(defs)
    return Text(f"{function.name}({_moved(scope, number)})", BOOL, fixed=False)


def _stored(scope: Scope, numbers: list[Path], collections: list[Path]) -> Text | None:
    """What passes the range or the capacity of a type that a comprehension's map has as its value:
    written by a def that says so.
    """
    draw = scope.world.drawing
    defs = [
        function
        for function in scope.defs
        if function.result == BOOL
        and len(function.parameters) == 1
        and isinstance(function.parameters[0], Set | Seq)
    ]
    if not defs:
        return None
    function = draw.pick(defs)
    parameter = function.parameters[0]
    assert isinstance(parameter, Set | Seq)
    alike = [path for path in collections if element_of(path.kind) == parameter.element]
    name = draw.name("e")
    found = _read(scope, alike)
    if found is not None:
        ends = "{}" if isinstance(parameter, Set) else "[]"
        return Text(
            f"{function.name}({ends[0]}{name} for {name} in {found.text}{ends[1]})",
            BOOL,
            fixed=False,
        )
    number = _read(scope, numbers)
    if number is None or not isinstance(parameter.element, Int):
        return None
    ends = "{}" if isinstance(parameter, Set) else "[]"
    return Text(f"{function.name}({ends[0]}{_moved(scope, number)}{ends[1]})", BOOL, fixed=False)
