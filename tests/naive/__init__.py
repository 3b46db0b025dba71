"""A second opinion on what a model means: the core read aloud, one value and one step at a time.

It is written from the language reference and the docstrings of `ir`, on purpose without a look at
the engines, and without any cleverness: recursion over the tree, generators over choices, and the
textbook search, level by level. Values are written as `types` says. Every value that comes up is
compared with the type that the core claims for it.
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
    """What a search of the model finds; ``most_steps`` is the limit of ``--depth``, and
    ``most_states`` that of ``--max-states``.
    """
    return Search(model, set(properties), deadlock, most_steps, keep_going, most_states).run()
