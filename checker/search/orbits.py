"""Computes the orbits of states when values of symmetric types are exchanged.

States of one orbit differ only by a permutation of the values of a symmetric type. A search
therefore visits only the least state of each orbit and counts the states that it represents. This
module tries all permutations in the simplest way; faster engines must give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, prod

from fencepost.checker.outcome import Fact
from fencepost.checker.request import Request
from fencepost.spec.core.exchange import Exchanging, symmetric_types
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Enum, State, Type
from fencepost.spec.semantics.concrete import ConcreteDomain
from fencepost.spec.semantics.fold import execute
from fencepost.spec.semantics.python_codegen import Frame

MAX_EXCHANGES = 5_040
"""Maximum number of permutations, which is that of seven values. Models with more permutations are
searched in full.
"""

MIN_NOTED_PERMUTATIONS = 720
"""Minimum number of permutations for a note that all of them are tried; this is the number for six
values.
"""


class Orbits:
    """The orbits of a model's states, which are tuples of values of the types ``kinds``."""

    def __init__(self, kinds: Sequence[Type]) -> None:
        enums = symmetric_types(kinds)
        self.permutations = prod(factorial(len(enum.members)) for enum in enums)
        """The number of permutations tried for each state."""
        self._exchanges = [
            [_exchange(kinds, enum, position, last) for position in range(last)]
            for enum in enums
            for last in range(1, len(enum.members))
        ]

    def images(self, state: State) -> Sequence[State]:
        """Returns the images of a state under all permutations, in the same order for every
        state.
        """
        images = [state]
        # A permutation of the values up to `last` is a permutation of the values before it,
        # optionally followed by an exchange of `last` with one of these values.
        for exchanges in self._exchanges:
            images += [exchange(image) for exchange in exchanges for image in images]
        return images

    def least(self, state: State) -> State:
        """Returns the least state of the orbit that contains ``state``."""
        return min(self.images(state))

    def size(self, state: State) -> int:
        """Returns the number of states in the orbit that contains ``state``."""
        return self.permutations // self.images(state).count(state)

    def least_step(self, before: State, after: State) -> tuple[State, State]:
        """Returns the image of a step that has the least state after the step. If several images
        have that state, returns the one with the least state before the step. The state before
        comes first in the result.
        """
        pairs = zip(self.images(after), self.images(before), strict=True)
        second, first = min(pairs)
        return first, second

    def before(self, leads: Sequence[tuple[State, State]], target: State) -> State:
        """Returns the least state from which an image of one of ``leads`` leads to ``target``. Each
        lead is a state and its successor. At least one image must lead to ``target``.
        """
        return min(
            first
            for before, after in leads
            for first, second in zip(self.images(before), self.images(after), strict=True)
            if second == target
        )


def _exchange(kinds: Sequence[Type], enum: Enum, low: int, high: int) -> Callable[[State], State]:
    """Returns a function that exchanges two values of a symmetric type in a state."""
    domain = ConcreteDomain(kinds)
    run = execute(domain, {}, Exchanging(kinds, 0, enum, low, high).statement())
    slots = [None] * (domain.width - len(kinds))

    def exchanged(state: State) -> State:
        frame: Frame = [*state, *slots]
        run(frame)
        return tuple(frame[: len(kinds)])

    return exchanged


def searched_in_orbits(request: Request) -> bool:
    """Checks whether a search may visit one state per orbit and benefits from doing so."""
    return request.symmetry and bool(_symmetric(request.model)) and why_in_full(request) is None


def why_in_full(request: Request) -> str | None:
    """Returns the reason why a search for these properties must visit all states, as half a
    sentence, or None if there is no such reason.
    """
    model = request.model
    searched = model.searched(request.properties)
    refined = (model.properties[number].abstract for number in searched.step_invariants)
    exchanges = prod(factorial(len(enum.members)) for enum in _symmetric(model))
    if searched.behaviours:
        return "a temporal property is checked"
    if any(abstract_model is not None for abstract_model in refined):
        return "a refinement is checked"
    if request.profile:
        return "a profile is requested"
    if request.observer is not None or model.symbols:
        return "a constant is symbolic"
    if exchanges > MAX_EXCHANGES:
        return f"more than {MAX_EXCHANGES:,} exchanges would be tried for each state"
    return None


def orbits(request: Request) -> Orbits | None:
    """Returns the orbits to search, or None if all states are visited."""
    if not searched_in_orbits(request):
        return None
    return Orbits([variable.type for variable in request.model.variables])


def note_permutations(searched: Orbits | None) -> str | None:
    """Returns a note for a search that is slow because it tries all permutations of each state.
    Returns None if the search is not slowed down.
    """
    if searched is None or searched.permutations < MIN_NOTED_PERMUTATIONS:
        return None
    return Fact(
        f"The interpreter tries {searched.permutations:,} permutations per state; "
        "--engine local canonicalises faster, --no-symmetry visits all states."
    )


def note_in_full(request: Request, capable: bool) -> str | None:
    """Returns a note for a search that ignores symmetric types although the user did not ask for
    that, or None if no note is needed. ``capable`` says whether the engine can search orbits.
    """
    if not request.symmetry or not _symmetric(request.model):
        return None
    reason = why_in_full(request) if capable else "this engine visits all states"
    return None if reason is None else Fact(f"Symmetry was not used: {reason}.")


def _symmetric(model: Model) -> tuple[Enum, ...]:
    return symmetric_types(variable.type for variable in model.variables)
