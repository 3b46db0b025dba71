"""Why a path goes no further although the real system might: bounds of a model, or of a search."""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.recording import Binding
from fencepost.spec.core.types import cardinality, describe
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """Why a path goes no further although the real system might."""

    what: str


def lacking_room(guard: ir.Guard) -> Cut:
    """What it means that there was no room for a step."""
    what = "is full" if guard.kind == "capacity" else "has no budget left"
    return Cut(f"a channel {what} ({guard.span})")


def no_room(guard: ir.Guard) -> Cut:
    """What it means that there was no room for what an event brings in."""
    return Cut(f"a channel is full ({guard.span})")


def lacking_values(declared: Binding, names: int) -> Cut:
    """What it means that a binding has fewer values than names."""
    what = f"{declared.name}: {names} names, and {describe(declared.type)}"
    return Cut(f"{what} has {cardinality(declared.type)} values")


def unkept(kept: int) -> Cut:
    """What it means that no more events of a source are kept."""
    return Cut(f"of a source no more than {kept:,} events are read (--max-states)")


def too_many_meanings(event: str, most: int) -> Cut:
    """What it means that names of an event may stand for values in more ways than are tried."""
    return Cut(f"{event}: its names may stand for values in more than {most:,} ways")


def too_many_states(most: int) -> Cut:
    """What it means that a search ended because of the number of its states."""
    return Cut(f"{most:,} product states were visited (--max-states)")


def too_few_ahead(most: int) -> Cut:
    """What it means that no more messages were put in ahead of their events."""
    return Cut(f"more than {most} messages under way were not tried (--ahead)")
