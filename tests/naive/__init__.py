"""An independent interpreter of models, which evaluates one value and one step at a time.

It follows the language reference and the docstrings of `ir`, deliberately without knowledge of the
engines and without optimization: it recurses over the tree, uses generators for choices, and
searches breadth-first as in a textbook. Values have the form that `types` describes. Every computed
value is checked against its type in the core.
"""

from __future__ import annotations

from tests.naive.search import Search
from tests.support.agreement import Observed

from fencepost.spec.core import ir


def observed(
    model: ir.Model,
    properties: frozenset[int],
    deadlock: bool,
    most_steps: int | None = None,
    keep_going: bool = False,
    most_states: int | None = None,
) -> Observed:
    """Searches a model and returns the observation.

    ``most_steps`` is the limit of ``--depth``, and ``most_states`` is that of ``--max-states``.
    """
    return Search(model, set(properties), deadlock, most_steps, keep_going, most_states).run()
