"""Random conditions: comparisons, tests of variants, quantifiers and connectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.strategies.collecting import domain, established, variant_fields
from tests.strategies.kinds import BOOL, telling
from tests.strategies.large import large_quantifier
from tests.strategies.numbers import number
from tests.strategies.reading import (
    Reading,
    call,
    conditional,
    guardable,
    guarded,
    key,
    literal,
    reading,
)
from tests.strategies.scope import (
    AND,
    COMPARISON,
    IMPLIES,
    NOT,
    OR,
    UNARY,
    Path,
    Readable,
    Scope,
    Text,
    either,
    form,
    infix,
    prefix,
)

from fencepost.spec.core.types import (
    Bag,
    Int,
    Machine,
    Option,
    Scalar,
    Seq,
    Set,
    Union,
    as_collection,
)

ORDERS = ("==", "!=", "<", "<=", ">", ">=")


def condition(scope: Scope, depth: int) -> Text:
    """Draws an expression of type bool."""
    draw = scope.world.drawing
    if depth <= 0:
        return draw.weighted(
            [
                (4, lambda: _readable_condition(scope)),
                (6, lambda: _compared(scope, 0)),
                (1, lambda: literal(scope, BOOL)),
            ]
        )
    return draw.weighted(
        [
            (12, lambda: _compared(scope, depth)),
            (2, lambda: _readable_condition(scope)),
            (3, lambda: _opposite(scope, depth)),
            (4, lambda: _connected(scope, depth, "and", AND)),
            (4, lambda: _connected(scope, depth, "or", OR)),
            (2, lambda: _connected(scope, depth, draw.pick(["implies", "iff"]), IMPLIES)),
            (4, lambda: _quantified(scope, depth)),
            (4, lambda: _variant(scope, depth)),
            (1, lambda: conditional(scope, BOOL, depth, True)),
            (2, lambda: call(scope, BOOL, depth)),
            (3, lambda: _enabled(scope)),
            (0, lambda: literal(scope, BOOL)),
        ]
    )


def conjoined(scope: Scope, depth: int) -> Text:
    """Draws a conjunction of several tests, which is rarely true, so that its negation is rarely
    false.
    """
    draw = scope.world.drawing
    parts = draw.several(
        lambda: (draw.chance(12) and call(scope, BOOL, depth)) or _compared(scope, depth), 1, 3
    )
    test = next((part for part in parts if part), None) or condition(scope, depth)
    for part in parts:
        if part is not None and part is not test:
            test = infix(test, "and", part, AND, BOOL)
    return test


def probable(scope: Scope, rare: bool) -> str:
    """Draws a condition that usually holds or, with ``rare``, rarely holds."""
    draw = scope.world.drawing
    if draw.chance(15):
        return condition(scope, 3).text
    test = conjoined(scope, 2)
    if rare:
        return test.text
    if draw.chance(50):
        return f"not {test.at(NOT + 1)}"
    return infix(test, "implies", condition(scope, 2), IMPLIES, BOOL).text


# ---------------------------------------------------------------- comparisons


def _compared(scope: Scope, depth: int) -> Text | None:
    draw = scope.world.drawing
    return draw.weighted(
        [
            (4, lambda: with_literal(scope, lambda path: path.total or depth > 0)),
            (3, lambda: _numbers(scope, depth)),
            (2, lambda: _member(scope, depth)),
            (2, lambda: _equal(scope, depth)),
            (0, lambda: literal(scope, BOOL)),
        ]
    )


def _exists(scope: Scope, path: Path) -> bool:
    """Checks whether the value at a path can be compared here, even though it may not exist.

    A value that may not exist must be guarded by a test, unless the spec takes risks.
    """
    return scope.comparable(path.kind) and (
        path.total or scope.world.risk > 0 or all(guardable(scope, path))
    )


def _held(scope: Scope, operand: Reading, test: Text) -> Text:
    """Guards a test of a part by the conditions for its existence, or leaves them out at some
    risk.
    """
    if scope.world.risky():
        return test
    return guarded(operand.guards, test)


def _readable_condition(scope: Scope) -> Text | None:
    paths = [path for path in scope.paths() if path.kind == BOOL and path.total]
    return reading(scope, scope.world.drawing.pick(paths)).text if paths else None


def with_literal(scope: Scope, wanted: Callable[[Path], bool]) -> Text | None:
    """Compares a readable value with a literal of its type."""
    draw = scope.world.drawing
    path = scope.some(lambda path: wanted(path) and _exists(scope, path))
    if path is None:
        return None
    operand, kind = reading(scope, path), path.kind
    signs = ORDERS if isinstance(kind, Int | Machine | Set) else ORDERS[:2]
    value = literal(scope, kind)
    assert value is not None
    return _held(scope, operand, infix(operand.text, draw.pick(signs), value, COMPARISON, BOOL))


def _numbers(scope: Scope, depth: int) -> Text:
    left, right = number(scope, depth - 1), number(scope, depth - 1)
    return infix(left, scope.world.drawing.pick(ORDERS), right, COMPARISON, BOOL)


def _equal(scope: Scope, depth: int) -> Text | None:
    """Compares a readable value with an expression of its type."""
    path = scope.some(lambda path: (path.total or depth > 0) and _exists(scope, path))
    if path is None:
        return None
    operand = reading(scope, path)
    other = scope.expression(path.kind, depth - 1)
    signs = ORDERS if isinstance(path.kind, Int | Machine) else ORDERS[:2]
    sign = scope.world.drawing.pick(signs)
    return _held(scope, operand, infix(operand.text, sign, other, COMPARISON, BOOL))


def _member(scope: Scope, depth: int) -> Text | None:
    """Returns ``e in S`` with at least one readable side."""
    draw = scope.world.drawing
    word = draw.pick(["in", "in", "not in"])
    readable = [p for p in scope.paths() if (p.total or depth > 0) and _exists(scope, p)]
    paths = [path for path in readable if isinstance(path.kind, Set | Seq | Bag)]
    if paths and draw.chance(50):
        operand = reading(scope, draw.pick(paths))
        left = scope.expression(as_collection(operand.text.kind).element, depth - 1)
        return _held(scope, operand, infix(left, word, operand.text, COMPARISON, BOOL))
    paths = [p for p in readable if isinstance(p.kind, Scalar | Union | Option)]
    if not paths:
        return None
    operand = reading(scope, draw.pick(paths))
    kind = operand.text.kind
    if isinstance(kind, Machine) and kind.bits > 8:
        return None
    # The other side determines the type of a set only if the set is listed.
    among = literal(scope, Set(kind))
    if telling(kind) and not draw.chance(40):
        among = scope.expression(Set(kind), depth - 1, typed=False)
    assert among is not None
    return _held(scope, operand, infix(operand.text, word, among, COMPARISON, BOOL))


# ---------------------------------------------------------------- connectives and quantifiers


def _opposite(scope: Scope, depth: int) -> Text:
    return prefix("not ", condition(scope, depth - 1), NOT, BOOL)


def _connected(scope: Scope, depth: int, sign: str, level: int) -> Text:
    left, right = condition(scope, depth - 1), condition(scope, depth - 1)
    return infix(left, sign, right, level, BOOL)


def _quantified(scope: Scope, depth: int) -> Text:
    draw = scope.world.drawing
    if draw.chance(4):
        return large_quantifier(scope)
    word = draw.pick(["exists", "forall"])
    binders: list[str] = []
    inside = scope
    test = ""
    fields: list[Readable] = []
    tested: list[Readable] = []
    for most in draw.pick([(16,), (16,), (16,), (16, 4)]):
        over = domain(inside, depth - 1, ordered=False, most=most)
        name, readable = over.bound(draw, "e")
        if not name.startswith("("):
            inside = inside.add(readable.pop(0))
        binders.append(f"{name} in {over.text}")
        if not test and (establishing := established(inside, name, over.kind)):
            test = f" if {establishing[0]}"
            tested = variant_fields(over.kind, establishing[1], name)
        inside = inside.add(*readable)
        fields += readable
    # The condition establishes a variant only after all domains.
    inside = inside.add(*tested)
    fields += tested
    if not test and draw.chance(25):
        test = f" if {condition(inside, depth - 1).text}"
    within = replace(inside, values=tuple(fields)) if fields and draw.chance(60) else inside
    body = condition(within, depth - 1)
    return Text(f"{word} {', '.join(binders)}{test}: {body.text}", BOOL, UNARY, reaching=True)


# ---------------------------------------------------------------- unions


def flowing(scope: Scope) -> list[Path]:
    """Returns the paths to the unions whose variant a test can establish."""
    return [
        path
        for path in scope.paths()
        if isinstance(path.kind, Union)
        and not path.base.suffix
        and all(isinstance(step, int) for step in path.steps)
    ]


def fields_of(path: Path, text: str, tag: int, ghosts: bool) -> list[Readable]:
    """Returns the readable fields of a union whose variant is established."""
    assert isinstance(path.kind, Union)
    return [
        Readable(f"{text}.{item.name}", item.type, item.ghost, path.base.root, flow=True)
        for item in path.kind.variants[tag].fields
        if ghosts or not item.ghost
    ]


def _variant(scope: Scope, depth: int) -> Text | None:
    """Returns ``u is V``, usually combined with a condition on the union's fields."""
    draw = scope.world.drawing
    paths = flowing(scope)
    if not paths:
        return None
    path = draw.pick(paths)
    kind = path.kind
    assert isinstance(kind, Union)
    text = reading(scope, path).text
    tag = draw.number(0, len(kind.variants) - 1)
    name = kind.variants[tag].name
    if draw.chance(10):
        name = f"{kind.name}.{name}"
    inside = scope.add(*fields_of(path, text.text, tag, scope.ghosts))
    is_it = form(BOOL, f"{{}} is {name}", text, level=COMPARISON)
    is_not = form(BOOL, f"{{}} is not {name}", text, level=COMPARISON)
    if not kind.variants[tag].fields or draw.chance(25):
        return draw.pick([is_it, is_not])
    body = condition(inside, depth - 1)
    match draw.number(0, 3):
        case 0:
            return infix(is_it, "and", body, AND, BOOL)
        case 1:
            return infix(is_not, "or", body, OR, BOOL)
        case 2:
            return infix(is_it, "implies", body, IMPLIES, BOOL)
        case _:
            return either(is_it, body, condition(scope, depth - 1), BOOL)


# ---------------------------------------------------------------- enabled actions


def _enabled(scope: Scope) -> Text | None:
    draw = scope.world.drawing
    if scope.where not in ("property", "step"):
        return None
    if draw.chance(40):
        return Text("quiescent", BOOL)
    if not scope.world.actions:
        return None
    return Text(asking(scope), BOOL)


def asking(scope: Scope) -> str:
    """Returns a condition that some action can be taken.

    It may name one process of the role and give the parameters, or leave them open.
    """
    draw = scope.world.drawing
    action = draw.pick(scope.world.actions)
    text = action.name
    if action.index is not None and draw.chance(60):
        text = f"{action.role}[{key(scope, action.index)}].{text}"
    elif action.role:
        text = f"{action.role}.{text}"
    if draw.chance(60 if action.parameters else 5):
        # Values outside a parameter's type are never chosen.
        kinds = (
            Int(kind.low - 1, kind.high + 1) if isinstance(kind, Int) and draw.chance(20) else kind
            for kind in action.parameters
        )
        text += f"({', '.join(scope.expression(kind, 1).text for kind in kinds)})"
    return f"enabled({text})"
