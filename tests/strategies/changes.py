"""Random statements with effects: assignments, methods and sends."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.strategies.bodies import Body, Written, ghostly, ordinary
from tests.strategies.kinds import is_moderate
from tests.strategies.reading import key

from fencepost.spec.core.types import (
    Bag,
    Bool,
    Int,
    Machine,
    Map,
    Record,
    Seq,
    Set,
    Type,
    has_ghost,
)


@dataclass(frozen=True, slots=True)
class Target:
    """An assignment target, with the conditions for its existence."""

    text: str
    kind: Type
    ghost: bool
    root: str
    guards: tuple[str, ...] = ()


def _target(body: Body) -> Target | None:
    draw = body.scope.world.drawing
    if not body.targets:
        return None
    base = draw.pick(body.targets)
    target = Target(base.text, base.kind, base.ghost, base.text)
    scope = ordinary(body)
    for _ in range(2):
        if not draw.chance(75):
            break
        match target.kind:
            case Record(fields=fields):
                item = draw.pick(fields)
                ghost = target.ghost or item.ghost
                target = replace(
                    target, text=f"{target.text}.{item.name}", kind=item.type, ghost=ghost
                )
            case Map(keys, value):
                target = replace(target, text=f"{target.text}[{key(scope, keys)}]", kind=value)
            case Seq(element, capacity) if not target.ghost and not has_ghost(target.kind):
                position = draw.number(0, capacity - 1)
                guard = f"len({target.text}) > {position}"
                text = f"{target.text}[{position}]"
                target = replace(target, text=text, kind=element, guards=(*target.guards, guard))
            case _:
                break
    return target


def _checked(body: Body, guards: tuple[str, ...], lines: list[str], root: str) -> Written:
    """Prepends the conditions that prevent the statement from failing, or leaves them out at some
    risk.
    """
    draw = body.scope.world.drawing
    assigned = frozenset([root])
    if not guards or body.scope.world.risky():
        return Written(lines, assigned)
    test = " and ".join(guards)
    if draw.chance(50):
        return Written([f"require {test}", *lines], assigned)
    return Written([f"if {test}:", *(f"    {line}" for line in lines)], assigned, simple=False)


def moving(body: Body) -> Written | None:
    """Returns a statement that changes the state each time it is repeated, so that runs are
    long.
    """
    draw = body.scope.world.drawing
    targets = [target for target in body.targets if not target.ghost]
    base = draw.pick(targets) if targets else None
    if base is None or base.root is None:
        return None
    scope, text, kind = ordinary(body), base.text, base.kind
    guards: tuple[str, ...] = ()
    if isinstance(kind, Map):
        text, kind = f"{text}[{key(scope, kind.key)}]", kind.value
    match kind:
        case Bool():
            line = f"{text} = not {text}"
        case Int() if not is_moderate(kind):
            line = f"{text} = {scope.expression(kind, 1).text}"
        case Int(low, high) if draw.chance(50):
            line = f"{text} = if {text} < {high} then {text} + 1 else {low}"
        case Int(high=high):
            line, guards = f"{text} += 1", (f"{text} < {high}",)
        case Machine():
            line = f"{text} += 1"
        case Set(element, None):
            line = f"{text}.{draw.pick(['add', 'remove'])}({scope.expression(element, 0).text})"
        case Seq(element, capacity) if not has_ghost(element):
            put, taken = draw.pick(["append", "prepend"]), draw.pick(["pop_first", "pop_last"])
            line = f"{text}.{put}({scope.expression(element, 1).text})"
            guards = (f"len({text}) < {capacity}",)
            if draw.chance(40):
                line, guards = f"{text}.{taken}()", (f"len({text}) > 0",)
        case _:
            line = f"{text} = {scope.expression(kind, 1).text}"
    return _checked(body, guards, [line], base.root)


def assign(body: Body, depth: int) -> Written | None:
    """Returns an assignment, such as ``x = e``, to any target that may be assigned here."""
    draw = body.scope.world.drawing
    target = _target(body)
    if target is None:
        return None
    scope = ghostly(body, target.ghost)
    kind = target.kind
    if isinstance(kind, Int) and not target.ghost and is_moderate(kind) and draw.chance(45):
        return _counted(body, target)
    sign = "="
    if isinstance(target.kind, Machine) and draw.chance(50):
        sign = draw.pick(["+=", "-="])
    elif isinstance(target.kind, Set) and draw.chance(60):
        # A union may exceed the capacity of its parts.
        signs = ["-=", "&="] if target.kind.capacity is not None else ["-=", "&=", "|="]
        sign = draw.pick(["|="] if body.scope.world.risky() else signs)
    value = scope.expression(target.kind, depth)
    return _checked(body, target.guards, [f"{target.text} {sign} {value.text}"], target.root)


def _counted(body: Body, target: Target) -> Written:
    """Returns a statement such as ``x += 1`` that stays within the range."""
    draw = body.scope.world.drawing
    kind = target.kind
    assert isinstance(kind, Int)
    step = draw.number(1, 2)
    if draw.chance(65):
        guard, line = f"{target.text} <= {kind.high - step}", f"{target.text} += {step}"
    else:
        guard, line = f"{target.text} >= {kind.low + step}", f"{target.text} -= {step}"
    return _checked(body, (*target.guards, guard), [line], target.root)


def method(body: Body, depth: int) -> Written | None:
    """Returns a call of a method, such as ``s.add(e)``."""
    draw = body.scope.world.drawing
    for _ in range(3):
        target = _target(body)
        if target is not None and isinstance(target.kind, Set | Seq | Bag):
            return _changed(body, target, depth, draw.number(0, 9))
    return None


def _changed(body: Body, target: Target, depth: int, lot: int) -> Written | None:
    kind, text = target.kind, target.text
    assert isinstance(kind, Set | Seq | Bag)
    if lot == 9:
        return _checked(body, target.guards, [f"{text}.clear()"], target.root)
    guards: tuple[str, ...] = ()
    if isinstance(kind, Seq):
        adds = lot < 6
        guards = (f"len({text}) < {kind.capacity}",) if adds else (f"len({text}) > 0",)
    else:
        adds = lot < 6
        if adds and kind.capacity is not None:
            guards = (f"len({text}) < {kind.capacity}",)
    if guards and target.ghost and not body.scope.world.risk:
        return None
    if isinstance(kind, Seq) and not adds:
        line = f"{text}.pop_first()"
    else:
        element = ghostly(body, target.ghost).expression(kind.element, depth)
        word = ("append" if isinstance(kind, Seq) else "add") if adds else "remove"
        if word == "remove" and has_ghost(kind.element) and not target.ghost:
            return None
        line = f"{text}.{word}({element.text})"
    if target.ghost:
        return Written([line], frozenset([target.root]))
    return _checked(body, (*target.guards, *guards), [line], target.root)


def send(body: Body, depth: int) -> Written | None:
    """Returns a statement ``send e to c``."""
    if not body.channels:
        return None
    draw = body.scope.world.drawing
    channel = draw.pick(body.channels)
    scope = ordinary(body)
    line = channel.line(scope)
    message = scope.expression(channel.message, min(depth, 1))
    guards = () if channel.full is None else (f"len({line}) < {channel.full}",)
    return _checked(body, guards, [f"send {message.text} to {line}"], channel.name)
