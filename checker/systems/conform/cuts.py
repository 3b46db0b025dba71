"""Describes why a path ends although the real system might continue: because of bounds of the model
or of the search.
"""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.recording import Binding
from fencepost.spec.core.types import cardinality, describe
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """A reason why a path ends although the real system might continue."""

    what: str


def lacking_room(guard: ir.Guard) -> Cut:
    """Returns the cut for a step that had no room."""
    reason = "is full" if guard.kind == "capacity" else "has no budget left"
    return Cut(f"a channel {reason} ({guard.span})")


def no_room(guard: ir.Guard) -> Cut:
    """Returns the cut for an input whose messages had no room."""
    return Cut(f"a channel is full ({guard.span})")


def lacking_values(declared: Binding, names: int) -> Cut:
    """Returns the cut for a binding that has fewer values than names."""
    binding = f"{declared.name}: {names} names, and {describe(declared.type)}"
    return Cut(f"{binding} has {cardinality(declared.type)} values")


def unkept(kept: int) -> Cut:
    """Returns the cut for events of a source that were not kept."""
    return Cut(f"at most {kept:,} events of a source are read (--max-states)")


def too_many_meanings(event: str, most: int) -> Cut:
    """Returns the cut for an event whose names have more possible meanings than are tried."""
    return Cut(f"{event}: its names can be bound to values in more than {most:,} ways")


def too_many_states(most: int) -> Cut:
    """Returns the cut for a search that ended because it visited too many states."""
    return Cut(f"{most:,} product states were visited (--max-states)")


def too_few_ahead(most: int) -> Cut:
    """Returns the cut for a search that sent no more messages ahead of their events."""
    return Cut(f"more than {most} messages under way were not tried (--ahead)")
