"""The first difference between two traces of a spec.

Values are compared in the form of trace files, so traces of different tools can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal as OneOf

from fencepost.checker.printing.json_values import Json
from fencepost.checker.tools.replay import canonical
from fencepost.checker.trace.document import ShownStep, TraceDocument
from fencepost.checker.trace.value_tree import Atom, Change, changes, text
from fencepost.spec.records import dataclass

Kind = OneOf["action", "arguments", "failure", "state", "length", "loop", "outcome"]
"""The kind of the first difference: the action, its choices, whether the step fails, the state
after it; the length, the cycle, or only the outcome.
"""


UNTOLD = Atom("?")
"""The value of a variable that a state does not list."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The first difference: the step at ``position``, which one of the traces may lack.

    ``fields`` are the parts of the state that differ after the step, with the first trace's value
    as ``before``.
    """

    kind: Kind
    position: int
    fields: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """Two traces and their first difference, or None.

    ``unshared`` holds the variables that only the first and only the second trace has, which are
    not compared. ``constants`` lists those with different values.
    """

    left: TraceDocument
    right: TraceDocument
    parting: Parting | None
    unshared: tuple[tuple[str, ...], tuple[str, ...]]
    constants: tuple[tuple[str, str, str], ...] = ()

    @property
    def sides(self) -> tuple[TraceDocument, TraceDocument]:
        return self.left, self.right


def variables(document: TraceDocument) -> tuple[str, ...]:
    """The variables of a trace, in order of appearance."""
    return tuple(dict.fromkeys(name for step in document.steps for name in step.data or ()))


def difference(left: TraceDocument, right: TraceDocument) -> TraceDifference:
    """Compares two traces that share at least one variable."""
    ours, theirs = variables(left), variables(right)
    shared = frozenset(ours) & frozenset(theirs)
    unshared = (
        tuple(name for name in ours if name not in shared),
        tuple(name for name in theirs if name not in shared),
    )
    constants = tuple(
        (name, text(value.tree), text(right.constants[name].tree))
        for name, value in left.constants.items()
        if name in right.constants and value.tree != right.constants[name].tree
    )
    return TraceDifference(left, right, _parting(left, right, shared), unshared, constants)


def _parting(left: TraceDocument, right: TraceDocument, shared: frozenset[str]) -> Parting | None:
    for position, (ours, theirs) in enumerate(zip(left.steps, right.steps, strict=False)):
        kind = _kind(ours, theirs)
        fields = tuple(_fields(left, ours, theirs, shared))
        if kind is not None or fields:
            return Parting(kind or "state", position, fields)
    count = min(len(left.steps), len(right.steps))
    if len(left.steps) != len(right.steps):
        return Parting("length", count)
    if left.loop != right.loop:
        return Parting("loop", count - 1)
    if _outcome(left) != _outcome(right):
        return Parting("outcome", count - 1)
    return None


def _kind(ours: ShownStep, theirs: ShownStep) -> Kind | None:
    """The kind of difference between two steps, apart from their states, or None."""
    our_action, their_action = ours.act.action, theirs.act.action
    # Traces of other tools do not name actions.
    if our_action and their_action and our_action != their_action:
        return "action"
    choices = ours.arguments, theirs.arguments
    if (
        our_action == their_action
        and None not in choices
        and _told(choices[0]) != _told(choices[1])
    ):
        return "arguments"
    if (ours.data is None) != (theirs.data is None):
        return "failure"
    return None


def _told(arguments: Mapping[str, Json] | None) -> dict[str, str]:
    return {name: canonical(value) for name, value in (arguments or {}).items()}


def _fields(
    left: TraceDocument, ours: ShownStep, theirs: ShownStep, shared: frozenset[str]
) -> Iterator[Change]:
    if ours.state is None or theirs.state is None or ours.data is None or theirs.data is None:
        return
    for name in dict.fromkeys((*ours.state, *theirs.state)):
        if name not in shared or _value(ours.data, name) == _value(theirs.data, name):
            continue
        value, other = ours.state.get(name, UNTOLD), theirs.state.get(name, UNTOLD)
        # Sets written in different orders have different trees, and different values may look
        # alike.
        all_changes = tuple(changes(name, value, other, family=name in left.families))
        yield from all_changes or (Change(name, value, other),)


def _value(data: Mapping[str, Json], name: str) -> str | None:
    return canonical(data[name]) if name in data else None


def _outcome(document: TraceDocument) -> tuple[str, str, str]:
    return document.status, document.verdict, document.property_name
