"""Two traces of one spec, and the first step at which they part.

Values are compared in the form of a trace file, so it makes no difference which tool wrote it. It
knows traces, and neither files nor how a difference is shown.
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
"""In what two traces first differ: in who acts, in the choices made, in whether the step fails, in
the state that it leads to; in their length, in what repeats for ever, or only in what is said of
their end.
"""


UNTOLD = Atom("?")
"""The value of a variable in a state that does not tell it."""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two traces part: in the step at ``position``, in which one of them may have ended.

    ``fields`` are the places of the state whose values differ behind that step, those of the first
    trace as ``before``.
    """

    kind: Kind
    position: int
    fields: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """Two traces, compared. ``parting`` is None where they are alike. ``unshared`` are the
    variables that only the first and only the second has: those are not compared. ``constants``
    are those with different values.
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
    """The variables whose values a trace tells, in the order in which it shows them."""
    return tuple(dict.fromkeys(name for step in document.steps for name in step.data or ()))


def difference(left: TraceDocument, right: TraceDocument) -> TraceDifference:
    """Compares two traces that have a variable in common."""
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
    """How a step differs from another, whatever state it leads to; None where it does not."""
    one, other = ours.act.action, theirs.act.action
    # A trace of another tool does not say which action was taken.
    if one and other and one != other:
        return "action"
    made = ours.arguments, theirs.arguments
    if one == other and None not in made and _told(made[0]) != _told(made[1]):
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
        # A set that two tools wrote in different orders has trees that differ elsewhere, too; and
        # what differs may look the same.
        found = tuple(changes(name, value, other, family=name in left.families))
        yield from found or (Change(name, value, other),)


def _value(data: Mapping[str, Json], name: str) -> str | None:
    return canonical(data[name]) if name in data else None


def _outcome(document: TraceDocument) -> tuple[str, str, str]:
    return document.status, document.verdict, document.property_name
