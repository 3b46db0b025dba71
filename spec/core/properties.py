"""The kinds of properties: what each is a predicate of, what it is for, and how it is reported.

No other module compares a kind with another.
It asks the kind (`PropertyKind.of_steps`), or a model for the properties that a search looks at
(`ir.Model.searched`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum, IntEnum
from typing import Self, assert_never

from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass


class Rank(IntEnum):
    """Which of two problems at the same depth is reported (docs/language.md section 10)."""

    ERROR = 0
    ASSERTION = 1
    STEP_INVARIANT = 2
    INVARIANT = 3
    DEADLOCK = 4
    BEHAVIOUR = 5


class Subject(Enum):
    """What a property is a predicate of; the value is the word for one of them."""

    STATE = "state"
    STEP = "step"
    BEHAVIOUR = "behaviour"


class Purpose(Enum):
    """What a property is for."""

    HOLD = "It is true of every subject; a subject for which it is false is a problem."
    BE_REACHED = "It is true of some subject."
    BOUND = "A state in which it is false is not expanded."
    END = "A state in which it is true may have no successor."
    FORM = "Formulas are made of it; it has a value in every state, and may have either."


class PropertyKind(Enum):
    """A kind of property. The value is the word, or the words, that declare it in a spec;
    predicates are declared by the formulas that are made of them.

    ``subject``: what it is a predicate of. ``purpose``: what it is for. ``supports_proofs``:
    induction may rest on it, where it is inductive, also in a run that does not search for it.
    """

    _value_: str
    subject: Subject
    purpose: Purpose
    supports_proofs: bool

    INVARIANT = "invariant", Subject.STATE, Purpose.HOLD
    STEP_INVARIANT = "step invariant", Subject.STEP, Purpose.HOLD
    LEMMA = "lemma", Subject.STATE, Purpose.HOLD, True
    REACHABLE = "reachable", Subject.STATE, Purpose.BE_REACHED
    TERMINAL = "terminal", Subject.STATE, Purpose.END
    CONSTRAINT = "constraint", Subject.STATE, Purpose.BOUND
    BEHAVIOUR = "property", Subject.BEHAVIOUR, Purpose.HOLD
    REFINEMENT = "refinement", Subject.STEP, Purpose.HOLD
    PREDICATE = "predicate", Subject.STATE, Purpose.FORM

    def __new__(
        cls, word: str, subject: Subject, purpose: Purpose, supports_proofs: bool = False
    ) -> Self:
        kind = object.__new__(cls)
        kind._value_ = word
        kind.subject = subject
        kind.purpose = purpose
        kind.supports_proofs = supports_proofs
        return kind

    def __str__(self) -> str:
        return self._value_

    @classmethod
    def declared_by(cls, word: str) -> Self:
        """The kind that a word, or words, of the grammar declare."""
        return next(kind for kind in cls if str(kind) == word)

    @property
    def of_states(self) -> bool:
        """Whether it is a predicate of one state."""
        return self.subject is Subject.STATE

    @property
    def of_steps(self) -> bool:
        """Whether it is a predicate of a step, so that its value needs the state after it, too."""
        return self.subject is Subject.STEP

    def place(self, before: State | None, state: State) -> tuple[State, State | None]:
        """Where it is evaluated at the end of a path whose last states are given: a state, and of a
        step the state after it, too. There must be a step for one of steps; one of behaviours is
        evaluated at no place. A refinement says something of an initial state, too.
        """
        match self.subject:
            case Subject.STATE:
                return state, None
            case Subject.STEP:
                assert before is not None or self.of_initial_states, "no step leads there"
                return (state, None) if before is None else (before, state)
            case Subject.BEHAVIOUR:
                raise AssertionError("a behaviour has no end")
            case _:
                assert_never(self.subject)

    @property
    def of_initial_states(self) -> bool:
        """Whether it is one of steps that is a predicate of the initial states, too."""
        return self is PropertyKind.REFINEMENT

    @property
    def is_predicate(self) -> bool:
        """Whether it is a predicate of states inside a formula of behaviours."""
        return self is PropertyKind.PREDICATE

    @property
    def of_behaviours(self) -> bool:
        """Whether it is a formula, so that it is decided when all states have been visited."""
        return self.subject is Subject.BEHAVIOUR

    @property
    def must_hold(self) -> bool:
        """Whether it is violated where it is false; this is also what induction proves."""
        return self.purpose is Purpose.HOLD

    @property
    def must_be_reached(self) -> bool:
        """Whether some reachable state must make it true."""
        return self.purpose is Purpose.BE_REACHED

    @property
    def bounds_search(self) -> bool:
        """Whether states in which it is false lie outside the search."""
        return self.purpose is Purpose.BOUND

    @property
    def allows_end(self) -> bool:
        """Whether a state in which it is true is no deadlock. It is evaluated when a state turns
        out to have no successor; the other predicates of states, when a state is found.
        """
        return self.purpose is Purpose.END

    @property
    def is_part(self) -> bool:
        """Whether it stands in the formula of a property only, and is none to users."""
        return self.purpose is Purpose.FORM

    @property
    def selectable(self) -> bool:
        """Whether a run may be asked to search for it, or not to."""
        return self.must_hold or self.must_be_reached

    @property
    def shapes_search(self) -> bool:
        """Whether every run looks at it, whatever it searches for."""
        return self.bounds_search or self.allows_end

    @property
    def broken(self) -> str:
        """What reports say of a selectable property that is not as it must be, after its name."""
        return "is violated" if self.must_hold else "holds in no reachable state"

    @property
    def rank(self) -> Rank:
        """That of a violation, of a kind that must hold."""
        assert self.must_hold, f"a {self} is never violated"
        match self.subject:
            case Subject.STATE:
                return Rank.INVARIANT
            case Subject.STEP:
                return Rank.STEP_INVARIANT
            case Subject.BEHAVIOUR:
                return Rank.BEHAVIOUR
            case _:
                assert_never(self.subject)


@dataclass(frozen=True, slots=True)
class SearchedProperties:
    """The properties that one search looks at: their numbers, in declaration order.

    ``invariants`` and ``step_invariants`` must hold in every state and on every step (a lemma is
    among the invariants), and some state must make each of the ``reachables`` true.
    ``constraints`` and ``terminals`` are all those of the model. ``behaviours`` must hold of every
    fair behaviour, and ``predicates`` are what these are made of.
    """

    invariants: tuple[int, ...]
    step_invariants: tuple[int, ...]
    reachables: tuple[int, ...]
    constraints: tuple[int, ...]
    terminals: tuple[int, ...]
    behaviours: tuple[int, ...] = ()
    predicates: tuple[int, ...] = ()

    @classmethod
    def of(cls, kinds: Sequence[PropertyKind], chosen: Collection[int]) -> Self:
        """Those of a model with properties of these ``kinds``, in a search for the ``chosen``,
        which name the predicates of formulas, too.
        """

        def numbers(purpose: Purpose, subject: Subject = Subject.STATE) -> tuple[int, ...]:
            return tuple(
                number
                for number, kind in enumerate(kinds)
                if kind.purpose is purpose
                and kind.subject is subject
                and (kind.shapes_search or number in chosen)
            )

        return cls(
            numbers(Purpose.HOLD),
            numbers(Purpose.HOLD, Subject.STEP),
            numbers(Purpose.BE_REACHED),
            numbers(Purpose.BOUND),
            numbers(Purpose.END),
            numbers(Purpose.HOLD, Subject.BEHAVIOUR),
            numbers(Purpose.FORM),
        )

    @property
    def must_hold(self) -> tuple[int, ...]:
        """The invariants of states and of steps."""
        return tuple(sorted((*self.invariants, *self.step_invariants)))

    @property
    def chosen(self) -> frozenset[int]:
        """Those that are searched for."""
        searched = *self.invariants, *self.step_invariants, *self.reachables
        return frozenset((*searched, *self.behaviours))

    @property
    def every(self) -> tuple[int, ...]:
        """All that are evaluated in states and on steps, role by role."""
        searched = *self.invariants, *self.step_invariants, *self.reachables
        return *searched, *self.predicates, *self.constraints, *self.terminals
