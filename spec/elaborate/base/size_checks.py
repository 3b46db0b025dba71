"""Rejects types that are too large before anything of their size is allocated."""

from __future__ import annotations

from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.size_limits import (
    MAX_KEYS,
    MAX_NESTED,
    MAX_PARTS,
    WIDEST_STATE,
    countable,
    depth,
    parts,
)
from fencepost.spec.core.types import Int, Map, Type, bits, describe, has_ghost
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.text.source import Span


def map_type(context: Context, key: Type, value: Type, span: Span) -> Map | None:
    """Returns the type ``map[K, V]``. If the map is too large or its key type has ghost fields,
    reports a problem (F503, F706, F708) and returns None.
    """
    if has_ghost(key):
        return context.report(
            "F503", span, f"{describe(key)} has ghost fields, so it cannot be the key of a map"
        )
    if is_open(key):
        return context.report("F303", span, boundless(key, "a map holds a value for every key"))
    if not countable(key, MAX_KEYS):
        return context.report(
            "F706",
            span,
            f"a map holds a value for every key, at most {MAX_KEYS} of them, but"
            f" {describe(key)} has more values",
        )
    kind = Map(key, value)
    return kind if bounded(context, kind, span) else None


def without_bounds(kind: Type) -> str:
    """Returns the start of a message about a type that contains an ``int``."""
    return "int has no bounds" if isinstance(kind, Int) else f"{describe(kind)} contains an int"


def boundless(kind: Type, reason: str) -> str:
    """Returns the message about a type that contains an ``int``, but whose values are needed."""
    return f"{without_bounds(kind)}, and {reason}: give a range such as 0..10"


def bounded(context: Context, kind: Type, span: Span) -> Type | None:
    """Returns ``kind`` if it is neither nested too deeply nor too large for a state. Otherwise
    reports F708 and returns None.
    """
    if depth(kind) > MAX_NESTED:
        return context.report(
            "F708", span, f"this type is nested more than {MAX_NESTED} levels deep"
        )
    if parts(kind) > MAX_PARTS:
        return context.report(
            "F708",
            span,
            f"{describe(kind)} has more than {MAX_PARTS} parts, including nested types",
        )
    width = bits(kind)
    if width > WIDEST_STATE:
        return context.report(
            "F708",
            span,
            f"a value of {describe(kind)} takes {width} bits, but a whole state has at most"
            f" {WIDEST_STATE}",
        )
    return kind
