"""The part of the state of a run that is not a value: choices, marks and failures.

An odometer enumerates the vectors of choices of an action in lexicographic order. `Run` holds the
index chosen at each `Pick`. The code is run once for each vector, and `advance` increments the last
index that can be incremented.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from fencepost.spec.core import ir, types
from fencepost.spec.core.types import State, Type, Value


class Stopped(Exception):
    """A run ended at the site with the number ``site``."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


class EvaluationError(Stopped):
    """An evaluation had no defined result."""


class AssertionFailed(Stopped):
    """An assertion failed."""


class Offer:
    """The values of a choice, computed one at a time.

    Only the last value that was read and its successor are kept. The values must be read in order.
    Reading a value computes its successor, so the frame must then be as it was before the choice.
    """

    def __init__(self, values: Iterable[Value]) -> None:
        self._rest = iter(values)
        self._before = 0
        self._held = [*islice(self._rest, 1)]

    def __len__(self) -> int:
        """Returns the number of values known so far. This is more than the index of the last value
        that was read, unless that value is the last of all.
        """
        return self._before + len(self._held)

    def __getitem__(self, index: int) -> Value:
        if index + 1 == len(self):
            del self._held[:-1]
            self._before = index
            self._held += islice(self._rest, 1)
        return self._held[index - self._before]


class Run:
    """The state of a run of generated code. It is stored as the last element of a frame.

    ``indices`` is the current vector of choices, with one index into each of ``offers``. The first
    ``position`` choices have been made in this run. ``marks`` are coverage marks that count only if
    the step completes, and ``seen`` are coverage marks that count in any case. ``guard`` is the
    false guard of a disabled action.

    The first choices are restricted to the values in ``wanted`` or, with ``visible``, the first
    visible choices are. With a ``target``, the choices of an initial state are restricted to those
    that lead to this state.
    """

    __slots__ = (
        "guard", "indices", "marks", "offers", "picks", "position", "seen", "target", "visible",
        "wanted",
    )  # fmt: skip

    def __init__(self) -> None:
        self.position = 0
        self.indices: list[int] = []
        self.offers: list[Sequence[Value] | Offer] = []
        self.picks: list[ir.Pick] = []
        self.marks: list[int] = []
        self.seen: list[int] = []
        self.guard = -1
        self.wanted: tuple[Value, ...] = ()
        self.visible = False
        self.target: State | None = None

    def restart(self) -> None:
        """Restarts the enumeration with the first vector."""
        self.position = 0
        self.indices.clear()
        self.offers.clear()
        self.picks.clear()
        self.marks.clear()
        self.seen.clear()

    def offer(self, values: Iterable[Value], pick: ir.Pick) -> bool:
        """Appends a choice to the current vector. Returns False if there are no values to choose
        from.
        """
        index = self.position
        if self.visible:
            index = sum(earlier.label is not None for earlier in self.picks)
        if index < len(self.wanted) and not (self.visible and pick.label is None):
            wanted = self.wanted[index]
            values = [wanted] if wanted in values else []
        offer = values if isinstance(values, list | tuple) else Offer(values)
        if not offer:
            self.guard = pick.guard
            return False
        self.indices.append(0)
        self.offers.append(offer)
        self.picks.append(pick)
        return True

    def among(self, values: Collection[Value], variable: int) -> Collection[Value]:
        """Returns the values to choose from for the initial value of a variable."""
        if self.target is None:
            return values
        wanted = self.target[variable]
        return [wanted] if wanted in values else []

    def advance(self) -> bool:
        """Advances to the next vector. Returns False after the last vector; the next run starts
        again with the first one.
        """
        self.position = 0
        indices, offers = self.indices, self.offers
        while indices:
            if indices[-1] + 1 < len(offers[-1]):
                indices[-1] += 1
                return True
            indices.pop()
            offers.pop()
            self.picks.pop()
        return False

    def choices(self) -> tuple[tuple[str, Type, Value], ...]:
        """Returns the label, type and value of each visible choice made."""
        result: list[tuple[str, Type, Value]] = []
        for pick, offer, index in zip(self.picks, self.offers, self.indices, strict=True):
            if pick.label is not None:
                kind = types.as_collection(pick.domain.type)
                result.append((pick.label, kind.element, offer[index]))
        return tuple(result)
