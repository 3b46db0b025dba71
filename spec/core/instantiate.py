"""Instantiation of symbolic constants: a model with a concrete value for each of them.

The result equals the model that is built from the spec with those values, except for bounds. In
that model, a constant has the range of its value alone; here it keeps the range of its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import rebuilt
from fencepost.spec.core.types import Value
from fencepost.spec.records import replace

T = TypeVar("T")


def instance(model: ir.Model, values: Sequence[Value]) -> ir.Model:
    """Returns ``model`` with its symbolic constants replaced by ``values``, in order.

    Each value must be of the constant's type. The conditions of the constants become assumptions.
    """
    assert len(values) == len(model.symbols)
    if not model.symbols:
        return model
    pairs = list(zip(model.symbols, values, strict=True))
    constants = tuple(ir.Constant(s.path, s.type, value, s.span) for s, value in pairs)
    conditions = tuple(
        ir.Assumption(_given(s.condition, values), s.condition.span or s.span)
        for s in model.symbols
        if s.condition is not None
    )
    return replace(
        model,
        initial=_given(model.initial, values),
        actions=tuple(replace(a, body=_given(a.body, values)) for a in model.actions),
        properties=tuple(replace(p, body=_given(p.body, values)) for p in model.properties),
        assumptions=(*model.assumptions, *conditions),
        constants=(*model.constants, *constants),
        symbols=(),
    )


def _given(part: T, values: Sequence[Value]) -> T:
    """Returns ``part`` with values in place of symbols, or ``part`` itself if it contains no
    symbols.
    """
    if isinstance(part, ir.Symbol):
        return cast("T", ir.Literal(part.type, values[part.index], span=part.span))
    return rebuilt(part, lambda inner: _given(inner, values))
