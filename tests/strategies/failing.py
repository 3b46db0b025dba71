"""Random conditions that have no value in some states, for places where a spec dares to fail.

The other strategies guard partial operations by tests. This one does not, so that specs fail in
every kind of place: some at once, some late, some never.
"""

from __future__ import annotations

from dataclasses import replace

from tests.strategies.collecting import domain
from tests.strategies.drawing import Drawing
from tests.strategies.kinds import BOOL
from tests.strategies.numbers import extreme, number, quotient
from tests.strategies.reading import call, converted, integer, literal, reading
from tests.strategies.scope import (
    AND,
    COMPARISON,
    IMPLIES,
    NOT,
    OR,
    PRODUCT,
    UNARY,
    Scope,
    Text,
    either,
    infix,
)
from tests.strategies.truth import ORDERS, condition, conjoined, with_literal

from fencepost.spec.core.types import Machine

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
    "initially",
    "where of an initial value",
    "where of an initial value",
    "terminal",
    "assume",
)
"""The places for conditions that may have no value."""


def dared(draw: Drawing) -> frozenset[str]:
    """Draws the places where a spec dares to fail: usually none or one."""
    if not draw.chance(50):
        return frozenset()
    return frozenset(draw.several(lambda: draw.pick(PLACES), 1, 4, 60))


def daring(scope: Scope) -> Text:
    """Draws a condition that may have no value.

    Some conditions are decided before the failing part is evaluated.
    """
    draw = scope.world.drawing
    inner = failing(scope)
    if inner is None:
        return condition(scope, 1)
    # The test is rarely true, so that most failures occur late.
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
    """Draws a condition with an unguarded partial operation.

    Returns None if no readable value can be its operand. Conditions on constants are decided before
    the run. Elsewhere only conditions that depend on the state are drawn.
    """
    if scope.where != "constant":
        scope = replace(scope, values=tuple(v for v in scope.values if not v.fixed))
    bold = replace(scope, world=replace(scope.world, risk=100))
    test = scope.world.drawing.weighted(
        [
            (8, lambda: with_literal(bold, lambda path: not path.total)),
            (5, lambda: _small(bold, quotient(bold, 1), 2)),
            (3, lambda: _small(bold, _machine(bold), 1)),
            (3, lambda: _small(bold, extreme(bold), 2)),
            (4, lambda: _chosen(bold)),
            (4, lambda: with_literal(bold, lambda path: "key" in path.steps)),
            (8, lambda: call(bold, BOOL, 1)),
            (0, lambda: Text("", BOOL)),
        ]
    )
    return test if test.text else None


def _small(scope: Scope, left: Text | None, most: int) -> Text | None:
    """Returns a comparison with a small number."""
    draw = scope.world.drawing
    return left and infix(left, draw.pick(ORDERS), integer(draw.number(0, most)), COMPARISON, BOOL)


def _machine(scope: Scope) -> Text | None:
    """Returns a quotient by a machine integer, or a number that may not fit into a narrow one."""
    draw, path = scope.world.drawing, scope.total(Machine)
    if path is not None and draw.chance(50):
        by = reading(scope, path).text
        return infix(by, draw.pick(["//", "%"]), by, PRODUCT, by.kind)
    wide = number(scope, 1)
    return None if wide.fixed else converted(scope, Machine(draw.pick([2, 3])), wide)


def _chosen(scope: Scope) -> Text | None:
    """Returns a condition on an element that is chosen but may not exist."""
    over, name = domain(scope, 0, ordered=True), scope.world.drawing.name("e")
    inside = replace(scope, values=tuple(over.element(name)))
    test = with_literal(inside, lambda _: True)
    if test is None or not scope.comparable(over.kind):
        return None
    value = literal(scope, over.kind)
    choice = Text(f"(choose {name} in {over.text} where {test.text})", over.kind)
    return value and infix(choice, "==", value, COMPARISON, BOOL)
