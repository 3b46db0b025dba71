"""Random choices and quantifiers over types with hundreds of values."""

from __future__ import annotations

from dataclasses import dataclass

from tests.strategies.kinds import BOOL
from tests.strategies.scope import COMPARISON, UNARY, Readable, Scope, Text, infix

from fencepost.spec.core.types import Bag, Int, Machine, Map, Option, Seq, Set, Type, tuple_type

KINDS: tuple[Type, ...] = (
    Map(Int(0, 3), Option(Int(0, 3))),
    Seq(Int(0, 2), 5),
    Set(Int(0, 8)),
    tuple_type((Int(0, 8), Int(-1, 7), Int(0, 4))),
    Bag(Int(0, 5), 5),
    Set(tuple_type((Int(0, 2), Int(0, 2)))),
    Int(-9, 300),
    Machine(9),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice from a type, with a condition that few values satisfy."""

    binder: str
    condition: str
    local: Readable


def large_choice(scope: Scope, stem: str = "p") -> Choice:
    """Draws a choice of a value of a large type."""
    draw = scope.world.drawing
    name = draw.name(stem)
    kind = draw.pick([*KINDS, *(v.kind for v in scope.readable() if v.kind in KINDS)])
    local = Readable(name, kind)
    wanted = [scope.expression(kind, 1) for _ in range(draw.number(1, 2))]
    tests = [infix(Text(name, kind), "==", value, COMPARISON, BOOL) for value in wanted]
    condition = " or ".join(test.at(COMPARISON) for test in tests)
    if draw.chance(40):
        condition = f"({condition}) and ({scope.add(local).expression(BOOL, 1).text})"
    return Choice(f"{name} in {scope.world.kinds.text(kind)}", condition, local)


def large_quantifier(scope: Scope) -> Text:
    """Draws a quantifier over a large type."""
    draw = scope.world.drawing
    word = draw.pick(["exists", "forall"])
    choice = large_choice(scope, "e")
    body = scope.add(choice.local).expression(BOOL, 1)
    return Text(f"{word} {choice.binder} if {choice.condition}: {body.text}", BOOL, UNARY, True)
