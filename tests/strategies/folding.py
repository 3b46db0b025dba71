"""Random folds and recursive defs."""

from __future__ import annotations

from dataclasses import dataclass

from tests.strategies.collecting import domain, established, variant_fields
from tests.strategies.kinds import BOOL, WIDE, LargeKinds
from tests.strategies.scope import POSTFIX, Function, Readable, Scope, Text, either

from fencepost.spec.core.types import Int, Set, Type, has_ghost

MAX_ROUNDS = 6


def fold(scope: Scope, kind: Type, depth: int) -> Text | None:
    """Returns ``fold(r: T, e in S if p from a: b)``, whose accumulator has the given type."""
    draw = scope.world.drawing
    if (isinstance(kind, Set) and has_ghost(kind)) or (isinstance(kind, Int) and draw.chance(50)):
        return None
    over = domain(scope, depth - 1, ordered=True, most=MAX_ROUNDS)
    name, result = draw.name("e"), draw.name("f")
    inside = scope.add(*over.element(name))
    binders, last = f"{name} in {over.text}", over
    if draw.chance(25):
        last = domain(inside, depth - 1, ordered=True, most=2)
        name = draw.name("e")
        inside = inside.add(*last.element(name))
        binders += f", {name} in {last.text}"
    inside = inside.add(Readable(result, kind))
    test = ""
    if establishing := established(inside, name, last.kind):
        test = f" if {establishing[0]}"
        inside = inside.add(*variant_fields(last.kind, establishing[1], name))
    elif draw.chance(30):
        test = f" if {inside.expression(BOOL, depth - 1).text}"
    start = scope.expression(kind, depth - 1)
    body = inside.expression(kind, depth - 1)
    typed = f"{result}: {scope.world.kinds.text(kind)}"
    text = f"fold({typed}, {binders}{test} from {start.text}: {body.text})"
    return Text(text, kind, POSTFIX, fixed=False)


def total(scope: Scope, depth: int) -> Text | None:
    """Returns a fold that adds numbers. The range of its accumulator is inferred."""
    draw = scope.world.drawing
    if isinstance(scope.world.kinds, LargeKinds):
        # The range might exceed 64 bits.
        return None
    over = domain(scope, depth - 1, ordered=True, most=MAX_ROUNDS)
    name, result = draw.name("e"), draw.name("f")
    start = scope.expression(Int(-1, 2), 0)
    amount = scope.add(*over.element(name)).expression(Int(-2, 3), depth - 1)
    sign = draw.pick(["+", "+", "-"])
    low, high = (-2, 3) if sign == "+" else (-3, 2)
    kind = Int(min(-1, -1 + over.most * low), max(2, 2 + over.most * high))
    if kind.low < -WIDE or kind.high > WIDE:
        return None
    binders = f"{name} in {over.text}"
    text = f"fold({result}, {binders} from {start.text}: {result} {sign} ({amount.text}))"
    return Text(text, kind, POSTFIX, fixed=False)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Defs that call one another in a cycle, and their lines."""

    functions: list[Function]
    lines: list[str]


def recursive(scope: Scope, names: tuple[str, ...], kind: Type) -> Cycle:
    """Returns a cycle of defs. The first parameter of each is a number that decreases to 0."""
    draw, text = scope.world.drawing, scope.world.kinds.text(kind)
    most, cycle = draw.number(1, 4), Cycle([], [])
    for name, callee in zip(names, (*names[1:], names[0]), strict=True):
        left, other = draw.name("q"), draw.name("q")
        inside = scope.add(Readable(left, Int(0, most)), Readable(other, kind))
        again = Readable(f"{callee}({left} - 1, {inside.expression(kind, 1).text})", kind)
        otherwise, then = inside.expression(kind, 1), inside.add(again).expression(kind, 2)
        if draw.chance(60):
            test = inside.add(again).expression(BOOL, 1)
            then = either(test, Text(again.text, kind, fixed=False), then, kind)
        bound = most if most > 1 and scope.world.risky() else most + 1
        head = f"def {name}({left}: 0..{most}, {other}: {text}): {text} at most {bound}"
        cycle.lines.append(f"{head} = if {left} > 0 then {then.text} else {otherwise.text}")
        cycle.functions.append(Function(name, (Int(0, most), kind), kind))
    return cycle
