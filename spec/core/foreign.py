"""Values of another language. Reports show them as that language writes them, with their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal

from fencepost.spec.core.types import Enum
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class ForeignValue:
    """A value as ``text`` and in parts. ``atom`` is the number, truth value or string that it is,
    or None for a name and for a value with parts. The parts of a record or function have labels.
    """

    text: str
    kind: Literal["atom", "name", "record", "tuple", "function", "set"] = "atom"
    atom: bool | int | str | None = None
    parts: tuple[tuple[ForeignValue | None, ForeignValue], ...] = ()


@dataclass(frozen=True, slots=True)
class Foreign(Enum):
    """The values of another language in a search, in the order of their discovery. ``members`` are
    their texts, and ``value`` returns the value with a number.
    """

    value: Callable[[int], ForeignValue] | None = field(default=None, compare=False)

    def taken_apart(self, number: int) -> ForeignValue:
        """Returns the value with a number."""
        assert self.value is not None
        return self.value(number)
