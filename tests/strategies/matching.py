"""Random cases of ``match``, which are the same for statements and expressions."""

from __future__ import annotations

from dataclasses import replace

from tests.strategies.reading import reading
from tests.strategies.scope import UNARY, Path, Readable, Scope, Text
from tests.strategies.truth import fields_of, flowing

from fencepost.spec.core.types import Bool, Enum, Field, Option, Record, Type, Union, has_ghost

MATCHED = (Union, Enum, Option, Bool, Record)
"""The kinds of types that a match may examine."""


def match_value(scope: Scope, kind: Type, depth: int, typed: bool) -> Text | None:
    """Returns ``match e: case P: a; case Q: b``."""
    parts = value_cases(scope, kind, depth, typed)
    if parts is None:
        return None
    subject, listed = parts
    text = "; ".join(f"case {pattern}: {_closed(value)}" for pattern, value in listed)
    fixed = subject.fixed and any(value.fixed for _, value in listed)
    return Text(f"match {subject.text}: {text}", kind, UNARY, reaching=True, fixed=fixed)


def value_cases(
    scope: Scope, kind: Type, depth: int, typed: bool
) -> tuple[Text, list[tuple[str, Text]]] | None:
    """Returns the subject of a match, and its patterns with expressions that fit a type."""
    path = scope.total(*MATCHED)
    if path is None:
        return None
    subject = reading(scope, path).text
    listed = cases(scope, path, subject.text)
    return subject, [(text, inside.expression(kind, depth - 1, typed)) for text, inside in listed]


def _closed(value: Text) -> str:
    """Returns the value of a case. An inner match needs parentheses."""
    return f"({value.text})" if value.reaching and "match " in value.text else value.text


def cases(scope: Scope, path: Path, subject: str) -> list[tuple[str, Scope]]:
    """Returns the patterns of a match, which together cover every value, with the scopes of their
    bodies.
    """
    draw = scope.world.drawing
    match path.kind:
        case Enum(name, members):
            names = [f"{name}.{member}" if draw.chance(10) else member for member in members]
        case Union(variants=variants):
            return _variants(scope, path, subject, tuple(v.name for v in variants))
        case Record(name, fields):
            tried = _parts(scope, name, fields, compare=draw.chance(30))
            sure = [_parts(scope, name, fields, compare=False)]
            return [tried, *sure] if "==" in tried[0] else sure
        case Option():
            return [("none", scope), ("_", scope)] if draw.chance(60) else [("_", scope)]
        case _:
            names = ["false", "true"]
    count = draw.number(1, len(names))
    listed = [(text, scope) for text in names[:count]]
    return listed if count == len(names) else [*listed, ("_", scope)]


def _variants(
    outer: Scope, path: Path, subject: str, names: tuple[str, ...]
) -> list[tuple[str, Scope]]:
    draw = outer.world.drawing
    assert isinstance(path.kind, Union)
    count = draw.number(1, len(names))
    listed: list[tuple[str, Scope]] = []
    simple = path in flowing(outer)
    for tag in range(count):
        # The subject's variant is also established within the case, but not yet in its pattern.
        established = fields_of(path, subject, tag, True) if simple else []
        if draw.chance(35):
            text, scope = pattern(outer, path.kind, tag, compare=True)
            if "==" in text:
                listed.append((text, scope.add(*established)))
        text, scope = pattern(outer, path.kind, tag, compare=False)
        listed.append((text, scope.add(*established)))
    return listed if count == len(names) else [*listed, ("_", outer)]


def pattern(scope: Scope, kind: Union, tag: int, compare: bool) -> tuple[str, Scope]:
    """Draws a pattern for a variant, and returns it with the scope of its case.

    With ``compare``, it may test fields and thus not cover the variant.
    """
    draw = scope.world.drawing
    variant = kind.variants[tag]
    name = f"{kind.name}.{variant.name}" if draw.chance(10) else variant.name
    if not compare and draw.chance(30):
        alias = draw.name("m")
        path = Path(Readable(alias, kind), (), kind)
        inside = scope.add(Readable(alias, kind), *fields_of(path, alias, tag, True))
        return f"{name} as {alias}", inside
    if not variant.fields or (not compare and draw.chance(15)):
        return name, scope
    return _parts(scope, name, variant.fields, compare)


def _parts(scope: Scope, name: str, fields: tuple[Field, ...], compare: bool) -> tuple[str, Scope]:
    parts: list[str] = []
    for item in fields:
        text, scope = _argument(scope, item, compare)
        parts.append(text)
    return f"{name}({', '.join(parts)})", scope


def _argument(scope: Scope, item: Field, compare: bool) -> tuple[str, Scope]:
    draw = scope.world.drawing
    ordinary = replace(scope, ghosts=False)
    lot = draw.number(0, 9)
    if compare and lot < 6 and not item.ghost and not has_ghost(item.type):
        return f"=={ordinary.expression(item.type, 1).text}", scope
    if isinstance(item.type, Record) and item.type.is_tuple and not item.ghost and lot < 7:
        return _parts(scope, "", item.type.fields, compare)
    if lot < 8:
        name = draw.name("b")
        return name, scope.add(Readable(name, item.type, item.ghost))
    return "_", scope
