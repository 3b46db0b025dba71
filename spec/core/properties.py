"""The kinds of properties. Each kind defines its subject, its purpose and how it is reported.

Other modules do not compare kinds. They query the kind (`PropertyKind.of_steps`), or query a model
for the properties that a search evaluates (`ir.Model.searched`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum, IntEnum
from typing import Self, assert_never

from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass


class Rank(IntEnum):
    """The priority of a problem: of two problems at the same depth, the one with the lower rank is
    reported (docs/language.md section 10).
    """

    ERROR = 0
    ASSERTION = 1
    STEP_INVARIANT = 2
    INVARIANT = 3
    DEADLOCK = 4
    BEHAVIOUR = 5


class Subject(Enum):
    """The kind of object that a property is a predicate of. The value is the word for one such
    object.
    """

    STATE = "state"
    STEP = "step"
    BEHAVIOUR = "behaviour"


class Purpose(Enum):
    """The purpose of a property."""

    HOLD = "It is true of every subject; a subject that violates it is a problem."
    BE_REACHED = "It is true of some subject."
    BOUND = "A state that violates it is not expanded."
    END = "A state that satisfies it may have no successor."
    FORM = "Formulas are made of it; it has a value in every state, and may have either."


class PropertyKind(Enum):
    """A kind of property. The value is the keyword, or keywords, that declare it in a spec.
    Predicates have no keyword: the formulas that contain them declare them. Only modules of TLA+
    have those of steps; such a predicate is true in the state before the step, and false if the
    step changes nothing.

    ``subject`` is the kind of object that the property is a predicate of, and ``purpose`` the
    reason to evaluate it. If ``supports_proofs`` is set, induction may rely on an inductive
    property of this kind even in a run that does not search for it.
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
    STEP_PREDICATE = "step predicate", Subject.STEP, Purpose.FORM

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
        """Returns the kind that is declared by a keyword, or keywords, of the grammar."""
        return next(kind for kind in cls if str(kind) == word)

    @property
    def of_states(self) -> bool:
        """Whether a property of this kind is a predicate of one state."""
        return self.subject is Subject.STATE

    @property
    def of_steps(self) -> bool:
        """Whether a property of this kind is a predicate of a step, so that its value also depends
        on the next state.
        """
        return self.subject is Subject.STEP

    def place(self, before: State | None, state: State) -> tuple[State, State | None]:
        """Returns the arguments with which the property is evaluated at the end of a path, given
        the last two states of the path.

        The arguments are a state and, for a property of steps, the next state. A property of steps
        requires a step, except that a refinement also constrains initial states. A property of
        behaviours is never evaluated at the end of a path.
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
        """Whether this is a property of steps that also constrains the initial states."""
        return self is PropertyKind.REFINEMENT

    @property
    def of_behaviours(self) -> bool:
        """Whether this is a formula. Formulas are decided once all states have been visited."""
        return self.subject is Subject.BEHAVIOUR

    @property
    def must_hold(self) -> bool:
        """Whether it is a violation if the property is false. Induction proves properties of these
        kinds.
        """
        return self.purpose is Purpose.HOLD

    @property
    def must_be_reached(self) -> bool:
        """Whether some reachable state must make the property true."""
        return self.purpose is Purpose.BE_REACHED

    @property
    def bounds_search(self) -> bool:
        """Whether the search excludes the states that falsify the property."""
        return self.purpose is Purpose.BOUND

    @property
    def allows_end(self) -> bool:
        """Whether a state that satisfies the property is not a deadlock.

        Such a property is evaluated only if a state turns out to have no successor; the other state
        predicates are evaluated when a state is discovered.
        """
        return self.purpose is Purpose.END

    @property
    def is_part(self) -> bool:
        """Whether the property is only part of another property's formula, and not visible to
        users.
        """
        return self.purpose is Purpose.FORM

    @property
    def selectable(self) -> bool:
        """Whether the user may select the property for a run, or exclude it."""
        return self.must_hold or self.must_be_reached

    @property
    def shapes_search(self) -> bool:
        """Whether every run evaluates the property, regardless of the selection."""
        return self.bounds_search or self.allows_end

    @property
    def broken(self) -> str:
        """The phrase that follows the name of a failing property in reports. The property is
        selectable.
        """
        return "is violated" if self.must_hold else "holds in no reachable state"

    @property
    def rank(self) -> Rank:
        """The rank of a violation. Only a property that must hold has a rank."""
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
    """The numbers of the properties that one search evaluates, in declaration order.

    ``invariants`` and ``step_invariants`` must hold in every state and on every step (lemmas count
    as invariants). Some state must make each of the ``reachables`` true. ``constraints`` and
    ``terminals`` are all those of the model. ``behaviours`` must hold for every fair behaviour.
    ``predicates`` are the state predicates in their formulas and in fairness, and
    ``step_predicates`` those of steps.
    """

    invariants: tuple[int, ...]
    step_invariants: tuple[int, ...]
    reachables: tuple[int, ...]
    constraints: tuple[int, ...]
    terminals: tuple[int, ...]
    behaviours: tuple[int, ...] = ()
    predicates: tuple[int, ...] = ()
    step_predicates: tuple[int, ...] = ()

    @classmethod
    def of(cls, kinds: Sequence[PropertyKind], chosen: Collection[int]) -> Self:
        """Returns the properties to evaluate in a search for ``chosen``, in a model whose
        properties have these ``kinds``. ``chosen`` must include the predicates of formulas.
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
            numbers(Purpose.FORM, Subject.STEP),
        )

    @property
    def must_hold(self) -> tuple[int, ...]:
        """The invariants of states and of steps, in declaration order."""
        return tuple(sorted((*self.invariants, *self.step_invariants)))

    @property
    def chosen(self) -> frozenset[int]:
        """The properties that the search is for, without constraints, terminals and predicates."""
        searched = *self.invariants, *self.step_invariants, *self.reachables
        return frozenset((*searched, *self.behaviours))

    @property
    def every(self) -> tuple[int, ...]:
        """All properties that are evaluated in states and on steps, grouped by purpose."""
        searched = *self.invariants, *self.step_invariants, *self.reachables
        parts = *self.predicates, *self.step_predicates
        return *searched, *parts, *self.constraints, *self.terminals
