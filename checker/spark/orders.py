"""What the driver asks of all tasks of a level, and what a task says that did not get it.

It does not know how the work is done.
"""

from __future__ import annotations

from fencepost.checker.native.visited.plan import Plan
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of all tasks of a level: to make level ``level``.

    ``frontier`` says how many states each owner has to expand, ``seen`` how many it has seen.
    ``rebuild``: the visited set is among the records, and no table is looked for. ``attempt`` tells
    the jobs of a search apart, also where they make the same level. ``observer`` looks on.
    ``plan``: how tables keep states, None: whole.
    """

    level: int
    deadlock: bool
    properties: frozenset[int]
    frontier: tuple[int, ...]
    seen: tuple[int, ...]
    rebuild: bool
    attempt: int
    observer: Observer | None = None
    plan: Plan | None = None


class Incomplete(Exception):
    """A task did not get what it was to get."""
