"""Random expressions of a given type, built from the readable values of a scope.

An expression of a type fits it: its value has this type in every state, unless the spec takes
risks. ``typed`` says whether the type is determined by the context (the type of a variable or a
parameter). Otherwise the expression itself must determine it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.strategies import collecting, numbers, truth
from tests.strategies.folding import fold
from tests.strategies.kinds import size, telling
from tests.strategies.matching import match_value
from tests.strategies.reading import call, conditional, literal, read
from tests.strategies.scope import POSTFIX, UNARY, Readable, Scope, Text, taken_apart

from fencepost.spec.core.spelling import show
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
    values,
)


def expression(scope: Scope, kind: Type, depth: int, typed: bool) -> Text:
    """Draws an expression of a type."""
    if depth > 0 and scope.world.drawing.chance(4):
        return _let_in(scope, kind, depth, typed)
    if depth > 0 and scope.world.drawing.chance(5):
        written = match_value(scope, kind, depth, typed)
        if written is not None:
            return written
    if depth > 0 and scope.world.drawing.chance(3):
        written = fold(scope, kind, depth)
        if written is not None:
            return written
    match kind:
        case Bool():
            return truth.condition(scope, depth)
        case Int():
            return numbers.fitted(scope, numbers.number(scope, depth), kind)
        case Machine():
            return numbers.machine(scope, kind, depth, typed)
        case Set() | Seq() | Bag():
            return collecting.collection(scope, kind, depth, typed)
        case _:
            return _structure(scope, kind, depth, typed)


def _let_in(scope: Scope, kind: Type, depth: int, typed: bool) -> Text:
    """Returns ``let x = e: body``."""
    draw = scope.world.drawing
    readable = [path.kind for path in scope.paths() if path.total and telling(path.kind)]
    bound = draw.pick([Int(0, 3), *readable])
    name, value = draw.name("l"), scope.expression(bound, depth - 1, typed=False)
    locals_ = [Readable(name, bound, ghost=scope.ghosts, fixed=value.fixed)]
    if isinstance(bound, Record) and bound.is_tuple and draw.chance(70):
        name, locals_ = taken_apart(draw, bound, "l", scope.ghosts)
    body = scope.add(*locals_).expression(kind, depth - 1, typed)
    return replace(body, text=f"let {name} = {value.text}: {body.text}", level=UNARY, reaching=True)


def _structure(
    scope: Scope, kind: Nominal | Record | Union | Option | Map, depth: int, typed: bool
) -> Text:
    draw = scope.world.drawing
    options: list[tuple[int, Callable[[], Text | None]]] = [
        (2, lambda: literal(scope, kind, typed)),
        (5, lambda: read(scope, kind, depth, typed)),
    ]
    if depth > 0:
        options += [
            (6, lambda: _built(scope, kind, depth, typed)),
            (1, lambda: conditional(scope, kind, depth, typed)),
            (1, lambda: call(scope, kind, depth)),
            (4, lambda: _with(scope, kind, depth)),
            (1, lambda: _chosen(scope, kind, depth)),
        ]
    return draw.weighted(options)


def _built(scope: Scope, kind: Type, depth: int, typed: bool) -> Text | None:
    """Returns a value built from parts that are expressions."""
    draw = scope.world.drawing
    match kind:
        case Record(fields=fields) if kind.is_tuple:
            parts = [scope.expression(item.type, depth - 1, typed) for item in fields]
            fixed = all(part.fixed for part in parts)
            return Text(f"({', '.join(part.text for part in parts)})", kind, fixed=fixed)
        case Record(name, fields):
            return Text(name + _arguments(scope, fields, depth, named=True), kind)
        case Union(name, variants):
            variant = draw.pick(variants)
            prefix = f"{name}." if draw.chance(10) else ""
            inner = _arguments(scope, variant.fields, depth, named=draw.chance(60))
            return Text(prefix + variant.name + (inner if variant.fields else ""), kind)
        case Option(element) if typed:
            return replace(scope.expression(element, depth - 1), kind=kind)
        case Map(key, value) if (
            typed or not isinstance(key, Machine | Set | Seq | Record)
        ) and draw.chance(40):
            keys = list(values(key))
            if draw.chance(30):
                keys.reverse()
            parts = [scope.expression(value, depth - 1, typed) for _ in keys]
            listed = [f"{show(k, key)}: {part.text}" for k, part in zip(keys, parts, strict=True)]
            return Text(f"[{', '.join(listed)}]", kind, fixed=all(part.fixed for part in parts))
        case Map(key, value):
            name = draw.name("k")
            body = scope.add(Readable(name, key)).expression(value, depth - 1, typed)
            return Text(f"[{body.text} for {name} in {scope.world.kinds.text(key)}]", kind)
        case _:
            return None


def _arguments(scope: Scope, fields: tuple[Field, ...], depth: int, named: bool) -> str:
    parts: list[str] = []
    for item in fields:
        inner = replace(scope, ghosts=True) if item.ghost else scope
        value = inner.expression(item.type, depth - 1)
        parts.append(f"{item.name}: {value.text}" if named else value.text)
    return f"({', '.join(parts)})"


def _with(scope: Scope, kind: Type, depth: int) -> Text | None:
    """Returns ``r with f: e, g: d``."""
    if not isinstance(kind, Record) or kind.is_tuple:
        return None
    record = read(scope, kind, 0)
    if record is None or record.level < POSTFIX:
        return None
    draw = scope.world.drawing
    changed = [item for item in kind.fields if draw.chance(40)] or [draw.pick(kind.fields)]
    parts: list[str] = []
    for item in changed:
        inner = replace(scope, ghosts=True) if item.ghost else scope
        parts.append(f"{item.name}: {inner.expression(item.type, depth - 1).text}")
    text = f"{record.text} with {', '.join(parts)}"
    if len(parts) > 1:
        # A comma after the expression would be ambiguous here.
        return Text(f"({text})", kind)
    return Text(text, kind, UNARY, reaching=True)


def _chosen(scope: Scope, kind: Type, depth: int) -> Text | None:
    if not isinstance(kind, Nominal | Record | Union) or not scope.comparable(kind):
        return None
    return collecting.chosen(scope, kind, depth) if 1 < size(kind) <= 16 else None
