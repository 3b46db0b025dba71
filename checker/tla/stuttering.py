"""Whether a relation of two states holds of a step that changes nothing, as far as its form says
so: the value of a variable after such a step is its value before it.
"""

from __future__ import annotations

from fencepost.checker.tla.simplify import changed, opposite
from fencepost.checker.tla.tree import (
    FALSE,
    TRUE,
    Expr,
    Infix,
    Let,
    Name,
    Prefix,
    Prime,
    Quantified,
)


def holds_still(relation: Expr) -> bool:
    """Whether the relation surely holds where nothing changes."""
    return _settled(_unprimed(relation)) == TRUE


def _unprimed(node: Expr) -> Expr:
    return Name(node.name) if isinstance(node, Prime) else changed(node, _unprimed)


def _settled(node: Expr) -> Expr:
    """A condition with those parts worked out that do not depend on values."""
    node = changed(node, _settled)
    match node:
        case Infix("=" | "<=" | ">=" | "\\subseteq" | "=>" | "<=>", left, right) if left == right:
            return TRUE
        case Infix("/=" | "<" | ">", left, right) if left == right:
            return FALSE
        case Infix("=>", left, right):
            return TRUE if left == FALSE or right == TRUE else node
        case Prefix("~", operand):
            return opposite(operand)
        case Quantified("\\A", _, _, body) if body == TRUE:
            return TRUE
        case Quantified("\\E", _, _, body) if body == FALSE:
            return FALSE
        case Let(_, body) if body in (TRUE, FALSE):
            return body
        case _:
            pass
    parts = getattr(node, "parts", ())
    sign = getattr(node, "sign", "")
    if sign == "\\/" and any(opposite(part) in parts for part in parts):
        return TRUE
    return node
