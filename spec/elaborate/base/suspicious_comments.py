"""Warns about comments that were probably meant as part of the spec.

In TLA+, `#` means "not equal". Here it begins a comment, so `done # true` is just `done`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencepost.spec.core.traverse import walk
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Source, Span

_TEXTS_AND_COMMENTS = re.compile(r'"""[\s\S]*?"""|"[^"\r\n]*"|(?P<comment>#[^\n]*)')
_OPERAND = re.compile(r"#+[ \t]*(?P<operand>-?[0-9][0-9_]*|[A-Za-z_]\w*(?:\.\w+)*)\s*", re.ASCII)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
_CONNECTIVES = ("or", "and", "implies", "iff")


def swallowed(file: syntax.File) -> Iterator[Problem]:
    """Warns (F126) about each comment that consists of a single operand and comes right after a
    condition that is not a comparison.
    """
    source = file.source
    ends: dict[int, bool] = {}
    for condition in _conditions(file):
        for end, compared in _ends(condition):
            ends[end] = ends.get(end, True) and compared
    # A comment after an assigned value may give another value, such as a number. Only the operands
    # true and false are unambiguous there.
    assigned = {node.value.span.end: False for node in _assignments(file)}
    if not ends and not assigned:
        return
    for match in _TEXTS_AND_COMMENTS.finditer(source.text):
        if match["comment"] is None:
            continue
        operand = _OPERAND.fullmatch(match["comment"])
        if operand is None:
            continue
        candidates = {**assigned, **ends} if operand["operand"] in ("true", "false") else ends
        if _follows(source, match.start(), candidates):
            yield _warning(source, match.start(), operand["operand"])


def _warning(source: Source, start: int, operand: str) -> Problem:
    return Problem(
        "F126",
        Span(source, start, start + 1),
        f'"#" begins a comment, so this does not compare with {operand}',
        (
            (
                None,
                f'write "!= {operand}"; a comment of several words does not look like an operand',
            ),
        ),
        warning=True,
    )


def _follows(source: Source, start: int, ends: dict[int, bool]) -> bool:
    """Returns whether the comment at ``start`` directly follows a condition, or the closing
    parentheses after one. After a comparison, only a comment after parentheses counts.
    """
    end, closed = start, False
    while end not in ends:
        end -= 1
        char = source.text[end : end + 1]
        if end < 0 or char not in " \t)":
            return False
        closed = closed or char == ")"
    return closed or not ends[end]


def _assignments(file: syntax.File) -> Iterator[syntax.Assign | syntax.Let]:
    for node in walk(file.declarations):
        if isinstance(node, syntax.Assign | syntax.Let) and not isinstance(
            node.value, syntax.Boolean
        ):
            yield node


def _conditions(file: syntax.File) -> Iterator[syntax.Expr]:
    """Yields each expression of a file whose position makes it a condition."""
    for node in walk(file.declarations):
        condition: syntax.Expr | None = getattr(node, "condition", None)
        if condition is not None:
            yield condition
        match node:
            case (
                syntax.PropertyDecl(body=condition)
                | syntax.DefDecl(result=syntax.Name(text="bool"), body=condition)
                | syntax.Unary(operator="not", operand=condition)
                | syntax.Quantifier(body=condition)
                | syntax.UnaryTemporal(operand=condition)
            ):
                yield condition
            case (
                syntax.Const(type=syntax.Name(text="bool"), value=value)
                | syntax.VarDecl(type=syntax.Name(text="bool"), value=value)
            ) if value is not None:
                yield value
            case syntax.BinaryTemporal(left=left, right=right):
                yield from (left, right)
            case syntax.Binary(operator=operator) if operator in _CONNECTIVES:
                yield from (node.left, node.right)
            case syntax.Conjunction(lines=lines):
                yield from lines
            case _:
                pass


def _ends(condition: syntax.Expr) -> Iterator[tuple[int, bool]]:
    """Yields the end offset of a condition, and whether a comparison ends there. Yields nothing for
    a condition that ends with another one that `_conditions` yields itself.
    """
    match condition:
        case syntax.Binary(operator=operator) if operator in _CONNECTIVES:
            return
        case syntax.Binary(operator=operator):
            yield condition.span.end, operator in _COMPARISONS
        case syntax.Is():
            yield condition.span.end, True
        case syntax.Unary(operator="not") | syntax.Quantifier() | syntax.Conjunction():
            return
        case syntax.Conditional(otherwise=last) | syntax.LetIn(body=last):
            yield from _ends(last)
        case syntax.Boolean():
            # In `const Verify: bool = true  # false`, the comment gives the other possible value.
            return
        case _:
            yield condition.span.end, False
