"""Expressions of any type: literals, readable values, conditionals and calls of defs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.strategies.kinds import BOOL, fits
from tests.strategies.scope import (
    AND,
    POSTFIX,
    UNARY,
    Path,
    Readable,
    Scope,
    Step,
    Text,
    either,
    infix,
)

from fencepost.spec.core.type_relations import same_shape, within
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Int,
    Machine,
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a part of a readable value, and the conditions for the part's existence."""

    text: Text
    guards: tuple[str, ...] = ()


# ---------------------------------------------------------------- literals


def literal(scope: Scope, kind: Type, typed: bool = True) -> Text | None:
    """Returns a literal of a type, or None if the literal would not determine its type."""
    draw = scope.world.drawing
    match kind:
        case Bool():
            return Text(draw.pick(["false", "true"]), kind)
        case Int(low, high):
            return integer(draw.number(low, high))
        case Machine():
            near = min(3, kind.high)
            value = draw.pick([*range(near + 1), *range(-near, 0), kind.low, kind.high])
            number = replace(integer(value), kind=kind)
            return number if typed else converted(scope, kind, number)
        case Nominal(name=name, members=members):
            member = draw.pick(members)
            return Text(f"{name}.{member}" if draw.chance(10) else member, kind)
        case Record(fields=fields) if kind.is_tuple:
            parts = [literal(scope, item.type, typed) for item in fields]
            texts = [part.text for part in parts if part is not None]
            return Text(f"({', '.join(texts)})", kind) if len(texts) == len(parts) else None
        case Record(name, fields):
            return Text(name + _fields(scope, fields), kind)
        case Union(variants=variants):
            variant = draw.pick(variants)
            tail = _fields(scope, variant.fields) if variant.fields else ""
            return Text(variant.name + tail, kind)
        case Option(element):
            if not typed:
                return None
            if draw.chance(50):
                inner = literal(scope, element)
                return inner and replace(inner, kind=kind)
            return Text("none", kind)
        case Map(key, value):
            name = draw.name("k")
            body = literal(scope, value, typed)
            return body and Text(f"[{body.text} for {name} in {scope.world.kinds.text(key)}]", kind)
        case Set() | Seq() | Bag():
            return _items(scope, kind, typed)


def _fields(scope: Scope, fields: tuple[Field, ...]) -> str:
    parts: list[str] = []
    for item in fields:
        value = literal(scope, item.type)
        assert value is not None
        parts.append(f"{item.name}: {value.text}")
    return f"({', '.join(parts)})"


def _items(scope: Scope, kind: Set | Seq | Bag, typed: bool) -> Text | None:
    if not typed and isinstance(kind, Bag):
        return None
    draw = scope.world.drawing
    room = 3 if kind.capacity is None else min(3, kind.capacity)
    least = 0 if typed else 1
    if room < least:
        return None
    items: list[str] = []
    for _ in range(draw.number(least, room)):
        item = literal(scope, kind.element, typed)
        if item is None:
            return None
        items.append(item.text)
    return listed(kind, items)


def listed(kind: Set | Seq | Bag, items: list[str]) -> Text:
    """Returns a set, or a list that denotes a sequence or bag, of these elements."""
    text = ", ".join(items)
    return Text(f"{{{text}}}" if isinstance(kind, Set) else f"[{text}]", kind)


def integer(value: int) -> Text:
    """Returns an integer literal."""
    level = POSTFIX if value >= 0 else UNARY
    return Text(str(value), Int(value, value), level)


def converted(scope: Scope, kind: Machine, number: Text) -> Text:
    """Returns ``int8(e)`` and the like, which determines its own type."""
    name = scope.world.kinds.text(kind)
    return Text(f"{name}({number.text})", kind, fixed=number.fixed)


# ---------------------------------------------------------------- readable values


def pick_path(scope: Scope, kind: Type, partial: bool) -> Path | None:
    """Draws a path to a value that fits a type (or may fit, in a spec that takes risks)."""
    draw = scope.world.drawing
    paths = [p for p in scope.paths() if same_shape(p.kind, kind) and (partial or p.total)]
    fitting = [p for p in paths if within(p.kind, kind)]
    daring = [p for p in paths if not p.base.fixed]
    if daring and scope.world.risky():
        return draw.pick(daring)
    return draw.pick(fitting) if fitting else None


def reading(scope: Scope, path: Path) -> Reading:
    """Returns the text of a path; its keys and positions are drawn now."""
    base = path.base
    text, kind = base.text, base.kind
    guards: list[str] = []
    if base.suffix:
        assert isinstance(kind, Map)
        text, kind = f"{text}[{key(scope, kind.key)}]{base.suffix}", kind.value
    steps = path.steps[1:] if base.suffix else path.steps
    for number, step in enumerate(steps):
        joined = base.channel and number > 0
        text, kind = _into(scope, text, kind, step, guards, joined)
    return Reading(Text(text, path.kind, fixed=base.fixed), tuple(guards))


def _into(
    scope: Scope, text: str, kind: Type, step: Step, guards: list[str], joined: bool
) -> tuple[str, Type]:
    draw = scope.world.drawing
    match step, kind:
        case int(index), Record(fields=fields):
            return f"{text}.{fields[index].name}", fields[index].type
        case "key", Map(keys, value):
            if joined:
                # The indices of a channel share one pair of brackets.
                return f"{text[:-1]}, {key(scope, keys)}]", value
            return f"{text}[{key(scope, keys)}]", value
        case "content", Option(element):
            guards.append(f"{text} != none")
            return f"{text}!", element
        case "position", Seq(element, capacity):
            lot = draw.number(0, 2)
            if lot < 2:
                guards.append(f"len({text}) > 0")
                return (f"first({text})" if lot else f"last({text})"), element
            position = draw.number(0, capacity)
            guards.append(f"len({text}) > {position}")
            return f"{text}[{position}]", element
        case _:
            raise AssertionError(f"{step} leads into {kind}")


def key(scope: Scope, kind: Type) -> str:
    """Returns a simple expression for a key of a map or an index of a family."""
    draw = scope.world.drawing
    simple = [
        value.text
        for value in scope.readable()
        if not value.suffix
        and not value.channel
        and "(" not in value.text
        and same_shape(value.kind, kind)
        and (within(value.kind, kind) or (scope.world.risk and not value.fixed))
    ]
    safe = [v.text for v in scope.readable() if within(v.kind, kind) and v.text in simple]
    if simple and scope.world.risky():
        return draw.pick(simple)
    if safe and draw.chance(60):
        return draw.pick(safe)
    text = literal(scope, kind)
    assert text is not None
    return text.text


def read(scope: Scope, kind: Type, depth: int, typed: bool = True) -> Text | None:
    """Returns a readable value, guarded by a test if it may not exist; at some risk, the test is
    left out.
    """
    path = pick_path(scope, kind, depth > 0)
    if path is None:
        return None
    part = reading(scope, path)
    if not part.guards or scope.world.risky():
        return part.text
    other = literal(scope, kind, typed)
    if other is None:
        return None
    if not all(guardable(scope, path)):
        return None
    test = Text(" and ".join(part.guards), BOOL, AND, fixed=part.text.fixed)
    return either(test, part.text, other, kind)


def guardable(scope: Scope, path: Path) -> list[bool]:
    """Returns for each option on the path whether it may be compared with none here."""
    kinds: list[bool] = []
    kind = path.base.kind
    for step in path.steps:
        match step, kind:
            case int(index), Record(fields=fields):
                kind = fields[index].type
            case _, Map(value=value):
                kind = value
            case _, Seq(element=element):
                kind = element
            case _, Option(element):
                kinds.append(scope.comparable(kind))
                kind = element
            case _:
                raise AssertionError(f"{step} leads into {kind}")
    return kinds


# ---------------------------------------------------------------- conditionals and calls


def conditional(scope: Scope, kind: Type, depth: int, typed: bool) -> Text:
    """Returns ``if c then a else b``."""
    test = scope.expression(BOOL, depth - 1)
    then = scope.expression(kind, depth - 1, typed)
    otherwise = scope.expression(kind, depth - 1, typed)
    return either(test, then, otherwise, kind)


def call(scope: Scope, kind: Type, depth: int) -> Text | None:
    """Returns a call of a def whose result fits the type."""
    functions = [f for f in scope.defs if f.result is not None and fits(f.result, kind)]
    if not functions:
        return None
    function = scope.world.drawing.pick(functions)
    assert function.result is not None
    if not function.parameters:
        return Text(function.name, function.result)
    arguments = [scope.expression(parameter, depth - 1).text for parameter in function.parameters]
    return Text(f"{function.name}({', '.join(arguments)})", function.result)


def guarded(guards: tuple[str, ...], test: Text) -> Text:
    """Returns ``guards and test``."""
    for guard in reversed(guards):
        test = infix(Text(guard, BOOL, AND + 2), "and", test, AND, BOOL)
    return test


def local(name: str, kind: Type) -> Readable:
    """Returns a local that can be read."""
    return Readable(name, kind)
