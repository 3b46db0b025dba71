"""Elaborates connectives and conditional expressions. Each part of a condition may assume facts
that follow from the parts before it.

Conditions with constant values are decided here: a literal true is dropped from a conjunction, and
the code after a literal false is checked but not run. Only the outermost implication of a property
keeps a constant antecedent, because coverage reports whether the antecedent was ever true.
"""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Bool, Type
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.bidirectional import alternatives
from fencepost.spec.elaborate.types.narrowing import when
from fencepost.spec.elaborate.types.partiality import settled, unified
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

BOOL = Bool()


def truth(context: Context, node: syntax.Expr) -> Operand | None:
    """Elaborates a condition: an expression of type bool."""
    operand = context.expression(node, BOOL)
    if operand is None:
        return None
    if operand.type != BOOL:
        while isinstance(node, syntax.LetIn):
            node = node.body
        return context.mismatch("F301", node.span, "a condition is required here", operand.type)
    return operand


def known(expr: ir.Expr) -> bool | None:
    """Returns the truth value of a constant condition, or None if the value depends on the
    state.
    """
    return bool(expr.value) if isinstance(expr, ir.Literal) else None


def negation(context: Context, node: syntax.Unary) -> Operand | None:
    """Elaborates ``not e``."""
    operand = truth(context.inner(), node.operand)
    if operand is None:
        return None
    return Operand(settled(ir.Not(operand.expr, span=node.span), operand.expr), operand.ghost)


def chain(node: syntax.Binary) -> tuple[syntax.Expr, ...]:
    """Returns the operands of a chain of the same operator, from left to right."""
    parts: list[syntax.Expr] = []
    rest: syntax.Expr = node
    while isinstance(rest, syntax.Binary) and rest.operator == node.operator:
        parts.append(rest.right)
        rest = rest.left
    return (rest, *reversed(parts))


def conjunction(context: Context, parts: tuple[syntax.Expr, ...], span: Span) -> Operand | None:
    """Elaborates a conjunction. Each part may assume that the parts before it are true."""
    return _connected(context, parts, span, True)


def disjunction(context: Context, parts: tuple[syntax.Expr, ...], span: Span) -> Operand | None:
    """Elaborates a disjunction. Each part may assume that the parts before it are false."""
    return _connected(context, parts, span, False)


def _connected(
    context: Context, parts: tuple[syntax.Expr, ...], span: Span, every: bool
) -> Operand | None:
    """Connects the parts with "and" (``every``) or "or"."""
    kept: list[ir.Expr] = []
    operands: list[Operand] = []
    good = True
    decided = False
    for part in parts:
        operand = truth(context, part)
        if operand is None:
            # After a part that decides the result, size problems are not reported, so None does not
            # imply that a mistake was reported.
            good = good and decided
            continue
        operands.append(operand)
        if decided:
            continue
        if known(operand.expr) is not every:
            kept.append(operand.expr)
        if known(operand.expr) is (not every):
            decided = True
            context = context.unreached()
        context = context.learn(when(operand.expr, every))
    if not good:
        return None
    ghost = first_ghost(*operands)
    if not kept:
        return Operand(ir.Literal(BOOL, every, span=span), ghost)
    if len(kept) == 1:
        return Operand(kept[0], ghost)
    expr = ir.And(tuple(kept), span=span) if every else ir.Or(tuple(kept), span=span)
    return Operand(expr, ghost)


def implication(context: Context, node: syntax.Binary) -> Operand | None:
    """Elaborates ``a implies b``. If this is the outermost implication of a property, coverage
    records whether its antecedent was ever true.
    """
    inner = context.inner()
    left = truth(inner, node.left)
    never = left is not None and known(left.expr) is False
    consequent = inner.unreached() if never else inner
    right = truth(
        consequent if left is None else consequent.learn(when(left.expr, True)), node.right
    )
    if left is None or (right is None and not never):
        return None
    ghost = first_ghost(left, right)
    if context.position.outermost:
        text = " ".join(node.left.span.text.split())
        mark = context.mark("antecedent", node.left.span, context.position.owner, text)
        witness = ir.Witness(mark, left.expr, span=node.left.span)
        unmet = ir.Not(witness, span=node.left.span)
        if never or right is None:
            return Operand(unmet, ghost)
        return Operand(ir.Or((unmet, right.expr), span=node.span), ghost)
    if never or right is None:
        return Operand(ir.Literal(BOOL, True, span=node.span), ghost)
    if known(left.expr):
        return Operand(right.expr, ghost)
    unmet = ir.Not(left.expr, span=node.left.span)
    return Operand(ir.Or((unmet, right.expr), span=node.span), ghost)


def equivalence(context: Context, node: syntax.Binary) -> Operand | None:
    """Elaborates ``a iff b``."""
    left, right = truth(context, node.left), truth(context, node.right)
    if left is None or right is None:
        return None
    expr = ir.Equal(left.expr, right.expr, span=node.span)
    return Operand(settled(expr, left.expr, right.expr), first_ghost(left, right))


def conditional(
    context: Context, node: syntax.Conditional, expected: Type | None
) -> Operand | None:
    """Elaborates ``if c then a else b``."""
    inner = context.inner()
    condition = truth(inner, node.condition)
    yes = no = inner
    decided: bool | None = None
    if condition is not None:
        decided = known(condition.expr)
        yes = yes.unreached() if decided is False else yes.learn(when(condition.expr, True))
        no = no.unreached() if decided is True else no.learn(when(condition.expr, False))
    then, otherwise = alternatives([(yes, node.then), (no, node.otherwise)], expected)
    if condition is None:
        return None
    if then is None or otherwise is None:
        # The arm that is not taken may have failed only because of a size limit, which does not
        # matter.
        taken = {True: then, False: otherwise, None: None}[decided]
        return taken and Operand(taken.expr, first_ghost(condition, taken))
    both = unified(context, then, otherwise, node.span, "the arms are")
    if both is None:
        return None
    ghost = first_ghost(condition, then, otherwise)
    if decided is not None:
        return Operand((both[0] if decided else both[1]).expr, ghost)
    expr = ir.Conditional(both[2], condition.expr, both[0].expr, both[1].expr, span=node.span)
    return Operand(expr, ghost)
