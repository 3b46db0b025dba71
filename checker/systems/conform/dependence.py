"""Determines static dependences of actions, rules of events and conditions.

With them, actions and inputs that cannot be enabled are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import assigned, may_fail, variables_read, walk
from fencepost.spec.core.types import State


class Tags(dict[int, frozenset[int]]):
    """Maps the number of a variable to the tags of the messages in that variable."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __missing__(self, variable: int) -> frozenset[int]:
        messages = cast("tuple[tuple[int, ...] | int, ...]", self._state[variable])
        tags = frozenset(
            message[0] if isinstance(message, tuple) else message for message in messages
        )
        self[variable] = tags
        return tags


def read_by_shown(bodies: Sequence[ir.Expr], model: ir.Model) -> set[int]:
    """Returns the variables of the combined model that the bodies of rules of events need,
    including the variables that actions under `enabled` assign. Variables of the state after a step
    are numbered after those of the state before it.
    """
    variables: set[int] = set()
    for node in walk(tuple(bodies)):
        if isinstance(node, ir.Enabled):
            body = model.actions[node.action].body
            variables |= variables_read(body) | assigned(body)
        elif isinstance(node, ir.Variable):
            variables.add(node.index + (len(model.variables) if node.next else 0))
    return variables


def early_parts(condition: ir.Condition | None) -> list[ir.Condition]:
    """Returns parts of a condition that can be evaluated early. If one of them is false, the
    condition is false in every state. These parts read no state, and no part before them can fail.
    """
    if condition is None:
        return []
    parts: list[ir.Condition] = []
    for part in condition.parts if isinstance(condition, ir.And) else (condition,):
        if not any(isinstance(node, ir.Variable | ir.Enabled) for node in walk(part)):
            parts.append(part)
        if may_fail(part):
            break
    return parts


def received(body: ir.Statement) -> tuple[int, int] | None:
    """Returns the variable and the tag of a message that an action must receive to be enabled.
    Returns None if the action may be enabled without such a message.
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
