"""Determines from the form of a relation between two states whether it holds for a step that
changes nothing. After such a step, the value of a variable is its value before the step.
"""

from __future__ import annotations

from fencepost.checker.tla_export.simplify import changed, opposite
from fencepost.checker.tla_export.tree import (
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
    """Checks whether the relation certainly holds if nothing changes."""
    return _settled(_unprimed(relation)) == TRUE


def _unprimed(node: Expr) -> Expr:
    return Name(node.name) if isinstance(node, Prime) else changed(node, _unprimed)


def _settled(node: Expr) -> Expr:
    """Evaluates the parts of a condition that do not depend on values."""
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
