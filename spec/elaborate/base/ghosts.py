"""Rules that prevent ghosts from influencing ordinary code."""

from __future__ import annotations

from fencepost.spec.core.types import Bag, Option, Set, Type, describe, has_ghost
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.text.source import Span


def ordinary(context: Context, operand: Operand, subject: str, span: Span | None = None) -> None:
    """Reports (F501) an operand that depends on a ghost. The message says that ``subject``, which
    is ordinary, must not depend on a ghost.
    """
    if operand.ghost is None:
        return
    context.report(
        "F501",
        span or operand.expr.span or operand.ghost.span,
        f"{subject} must not depend on a ghost",
        (operand.ghost.span, operand.ghost.reason),
    )


def field_ghost(is_ghost: bool, name: str, span: Span) -> Ghost | None:
    """Returns the reason why reading a field reads a ghost, or None if the field is not a ghost."""
    return Ghost(span, f'"{name}" is a ghost field') if is_ghost else None


def comparing(kind: Type, span: Span) -> Ghost | None:
    """Returns the reason why comparing or sorting values of ``kind`` reads ghosts, or None if it
    does not.
    """
    if isinstance(kind, Option):
        kind = kind.element
    if has_ghost(kind):
        return Ghost(span, f"this compares values of {describe(kind)}, which has ghost fields")
    return None


def going_through(kind: Type, span: Span) -> Ghost | None:
    """Returns the reason why iterating over a collection of this type reads ghosts, or None if it
    does not. The elements of a bag or set are visited in an order that depends on their ghost
    fields.
    """
    if isinstance(kind, Bag | Set) and has_ghost(kind.element):
        return Ghost(
            span,
            f"the order of these values of {describe(kind.element)} depends on its ghost fields",
        )
    return None
