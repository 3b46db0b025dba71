"""The one entry to the checking of expressions: each form of the language goes to its module."""

from __future__ import annotations

from typing import assert_never

from fencepost.spec import calls, expressions, ir, names, resolve, syntax
from fencepost.spec.elaboration import Context
from fencepost.spec.entities import Operand
from fencepost.spec.types import Option, Type


class Checker:
    """See `Typer`."""

    def resolve(self, context: Context, node: syntax.Expr) -> Type | None:
        """The type that ``node`` denotes, or None when it is wrong (and has been reported)."""
        return resolve.resolve(context, node)

    def expression(
        self, context: Context, node: syntax.Expr, expected: Type | None
    ) -> Operand | None:
        """The checked expression, or None when it is wrong (and has been reported)."""
        match node:
            case syntax.Name():
                return names.name(context, node, expected)
            case syntax.Integer(value):
                return expressions.integer(context, value, node.span, expected)
            case syntax.Boolean(value):
                return Operand(ir.Literal(expressions.BOOL, value, span=node.span))
            case syntax.Nothing():
                if isinstance(expected, Option):
                    return Operand(ir.Literal(expected, (), span=node.span))
                context.report(
                    "F307",
                    node.span,
                    "none is a value of options only, and none is wanted here"
                    if expected is not None
                    else "the type of this none cannot be told from its place",
                )
                return None
            case syntax.Unary():
                return expressions.unary(context, node, expected)
            case syntax.Binary():
                return expressions.binary(context, node, expected)
            case syntax.Is():
                return expressions.is_test(context.inner(), node)
            case syntax.Conditional():
                return expressions.conditional(context, node, expected)
            case syntax.Quantifier():
                return expressions.quantifier(context, node)
            case syntax.Conjunction():
                return expressions.lines(context, node)
            case syntax.Choose():
                return expressions.choice(context, node)
            case syntax.Collection():
                return expressions.literal_collection(context, node, expected)
            case syntax.Comprehension():
                return expressions.comprehension(context, node, expected)
            case syntax.Call():
                return calls.call(context, node, expected)
            case syntax.Index():
                return names.index(context, node, expected)
            case syntax.Attribute():
                return names.attribute(context, node)
            case syntax.Unwrap():
                return expressions.unwrapped(context, node)
            case syntax.With():
                return expressions.with_field(context, node)
            case syntax.Range():
                return expressions.interval(context, node)
            case syntax.Optional():
                kind = resolve.resolve(context, node)
                return expressions.universe(context, kind, node.span)
            case _:
                assert_never(node)
