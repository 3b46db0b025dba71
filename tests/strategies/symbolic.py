"""Random specs with a symbolic constant, for searches of all its values at once.

A number in any position can depend on the constant. Each run takes only a few steps, since each
value of the constant is searched separately as well.
"""

from __future__ import annotations

from hypothesis import strategies as st
from tests.strategies.drawing import Drawing
from tests.strategies.templates import Templates, rules

__all__ = ["grown_symbolic", "symbolic_specs"]

DEPTH = 6


@st.composite
def symbolic_specs(draw: st.DrawFn) -> str:
    """Draws the text of a spec with a symbolic constant that has a few values."""
    return _text(Drawing.by_hypothesis(draw))


def grown_symbolic(seed: int) -> str:
    """Generates such a text without Hypothesis."""
    return _text(Drawing.by_chance(seed))


def _text(drawing: Drawing) -> str:
    templates = Templates(drawing, rules("symbolic"))
    # Leaving a range is an error, whereas a machine integer wraps around.
    if drawing.chance(25):
        return templates.text("range", DEPTH, int="", wide="5")
    return templates.text("machine", DEPTH, int="int", wide="int[8](x)")
