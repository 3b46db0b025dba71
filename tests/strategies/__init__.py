"""Hypothesis strategies that generate specs in the whole language as text."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.strategies.drawing import Drawing
from tests.strategies.expressions import expression
from tests.strategies.kinds import Kinds, LargeKinds
from tests.strategies.models import Model
from tests.strategies.scope import World

__all__ = ["grown", "grown_large", "specs"]


@st.composite
def specs(draw: st.DrawFn, modules: bool = True) -> str:
    """Draws the text of a well-typed spec, which usually has a few to a few thousand states.

    With ``modules``, some specs have two files: see `tests.strategies.modules.files`.
    """
    return _text(Drawing.by_hypothesis(draw), modules)


def grown(seed: int, modules: bool = True) -> str:
    """Generates such a text without Hypothesis, for thousands of runs."""
    return _text(Drawing.by_chance(seed), modules)


def grown_large(seed: int) -> str:
    """Generates such a text with types of any size and nesting; its states may have thousands of
    bits.
    """
    drawing = Drawing.by_chance(seed)
    risk = drawing.pick([0, 12, 30])
    return Model(World(drawing, LargeKinds(drawing), expression, risk)).write_large()


def _text(drawing: Drawing, modules: bool) -> str:
    # Some specs take risks: their indices, divisors and stored values may be invalid.
    risk = drawing.pick([0, 2, 6, 12])
    return Model(World(drawing, Kinds(drawing), expression, risk)).write(modules)
