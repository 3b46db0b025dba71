"""What the steps of actions, what they show, and conditions depend on, as far as their text tells.

So what is known of one state is known of others, and what cannot be is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from fencepost.spec.core import ir
from fencepost.spec.core.recording import Shows
from fencepost.spec.core.traverse import assigned, may_fail, variables_read, walk
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Dependence:
    """Without a message of a tag in a variable (``received``) an action does nothing; None: it may.
    Then ``touched`` gives all variables that it reads or assigns (None: there is more), and those
    that it may assign are ``assigned``.
    """

    received: tuple[int, int] | None
    touched: Callable[[State], Any] | None
    assigned: tuple[int, ...]


def read_by_shown(rules: Sequence[Shows], count: int) -> set[int] | None:
    """The variables on which what is shown depends beside choices, those of the next state numbered
    behind the ``count`` of a state; None: there is more.
    """
    found: set[int] = set()
    for node in (node for one in rules for node in walk(one.body)):
        if isinstance(node, ir.Enabled):
            return None
        if isinstance(node, ir.Variable):
            found.add(node.index + (count if node.next else 0))
    return found


def shown_by(rules: Sequence[Shows], count: int) -> Callable[[State], Any] | None:
    """Gives all that what is shown depends on, out of a state with the next one behind it; None:
    there is more.
    """
    found = read_by_shown(rules, count)
    return itemgetter(*sorted(found)) if found and not any(one.choices for one in rules) else None


def early_parts(condition: ir.Condition | None) -> list[ir.Condition]:
    """The parts of a condition without which it is false in every state: they read none, and
    nothing before them can fail.
    """
    if condition is None:
        return []
    found: list[ir.Condition] = []
    for part in condition.parts if isinstance(condition, ir.And) else (condition,):
        if not any(isinstance(node, ir.Variable | ir.Enabled) for node in walk(part)):
            found.append(part)
        if may_fail(part):
            break
    return found


def dependence(body: ir.Statement) -> Dependence:
    """What an action depends on."""
    received = _received(body)
    written = tuple(sorted(assigned(body)))
    touched = sorted({*written, *variables_read(body)})
    # What takes a message has hardly ever been in a state that differs in nothing that it touches.
    plain = received is None and not any(isinstance(node, ir.Enabled) for node in walk(body))
    return Dependence(received, itemgetter(*touched) if plain and touched else None, written)


def _received(body: ir.Statement) -> tuple[int, int] | None:
    """The variable and the tag of which an action takes a message out, where it does nothing
    without one; None: it may do something.
    """
    while isinstance(body, ir.Pick):
        match body.domain, body.condition:
            case ir.Variable(index=index, next=False), condition:
                first = condition.parts[0] if isinstance(condition, ir.And) else condition
                match first:
                    case ir.HasTag(union=ir.Local(slot=slot), tag=tag) if slot == body.slot:
                        return index, tag
                    case _:
                        return None
            case ir.Universe(), None:
                body = body.body
            case _:
                return None
    return None
