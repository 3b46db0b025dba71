"""TLA+ modules in the form that searches and reports use.

A module has no types, so its model is a shell: the variables, actions and properties have names and
places, but no bodies. A state consists of numbers in a table of values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast, overload

from fencepost.checker.evaluator.surroundings import runtime
from fencepost.spec.core import ir
from fencepost.spec.core.foreign import Foreign, ForeignValue
from fencepost.spec.core.ir import BOOL, Fairness, Literal, Model, Property, Site, StateVariable
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Choice
from fencepost.spec.tla.evaluate.machine import EFFECT, Located
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.evaluate.temporal import Condition, Fair
from fencepost.spec.tla.values.kinds import EvaluationError as NoValue
from fencepost.spec.tla.values.kinds import NotAllowed, Value

EVALUATION = "F911"
"""The code of an evaluation error in a module."""
_CODES: Mapping[type[NoValue], str] = {NotAllowed: "F912"}
"""The codes of errors that have their own."""


def read(path: Path, config: Path, search: Sequence[Path], readable: Sequence[Path]) -> TlaModel:
    """Reads a module with its configuration. The module may read files in the folders ``readable``.
    Raises `Rejected` with all mistakes.
    """
    return TlaModel.of(Specification(path, config, search, runtime(readable)))


def site_of(error: Located) -> Site:
    """Returns the site of an evaluation error."""
    return Site(_CODES.get(error.cause, EVALUATION), error.span, str(error))


class ValueTable(Sequence[str]):
    """The values of a search, by their numbers. As a sequence, it holds their texts."""

    def __init__(self, specification: Specification) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}
        self._universe = specification.universe

    def number(self, value: Value) -> int:
        """Returns the number of a value; a new value is added."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [*map(self._universe.show, self.values[index])]
        return self._universe.show(self.values[index])

    def __len__(self) -> int:
        return len(self.values)

    def taken_apart(self, index: int) -> ForeignValue:
        """Returns the value with a number, with its parts."""
        return self._universe.taken_apart(self.values[index])


def _type(table: ValueTable) -> Foreign:
    return Foreign("TLA+ value", cast("tuple[str, ...]", table), value=table.taken_apart)


@dataclass(frozen=True, slots=True)
class TlaModel(Model):
    """The model of a module. ``conditions`` are those of the properties, by number. A formula has
    none.
    """

    specification: Any = None
    table: Any = None
    conditions: tuple[Condition | None, ...] = ()
    fair: tuple[Fair, ...] = ()
    """The conditions of the fairness constraints."""
    avoided: tuple[frozenset[int], ...] = ()
    """Sets of actions. No run takes every action of one of them."""

    @property
    def is_opaque(self) -> bool:
        return True

    @property
    def checks_deadlock(self) -> bool:
        deadlock: bool = self.specification.config.deadlock
        return deadlock

    @property
    def value_type(self) -> Foreign:
        """The type of every variable."""
        return _type(self.table)

    @classmethod
    def of(cls, specification: Specification) -> TlaModel:
        """Returns the model of a module."""
        table = ValueTable(specification)
        kind = _type(table)
        top = specification.config.source_span
        properties, conditions = _properties(specification)
        fair = tuple(specification.fairness)
        sites: list[Site] = []
        return cls(
            name=specification.path.stem,
            variables=tuple(
                StateVariable(variable.name, kind, "variable", "", False, variable.span or top)
                for variable in specification.variables
            ),
            initial=ir.Sequence((), span=top),
            actions=tuple(
                ir.Action(operator.name, "", "ordinary", ir.Sequence((), span=top), operator.place)
                for operator in specification.actions
            ),
            properties=properties,
            assumptions=(),
            constants=(),
            sites=cast("tuple[Site, ...]", sites),
            guards=(),
            marks=(),
            slots=0,
            labels=0,
            specification=specification,
            table=table,
            conditions=conditions,
            fair=fair,
            fairness=tuple(
                Fairness("", constraint.label, constraint.strong, (), constraint.span, group=True)
                for constraint in fair
            ),
        )

    def avoiding(self, sets: Sequence[frozenset[int]]) -> TlaModel:
        """Returns a model that has the runs of this one that do not take every action of any of the
        sets.
        """
        return replace(self, avoided=tuple(sets))

    def is_of_steps(self, number: int) -> bool:
        """Returns whether a property is a condition on steps inside a formula."""
        atoms = self.specification.temporal.atoms
        return number < len(atoms) and bool(atoms[number][1])

    def site(self, error: Located) -> int:
        """Returns the number of the site of an evaluation error."""
        sites = cast("list[Site]", self.sites)
        site = site_of(error)
        if site not in sites:
            sites.append(site)
        return sites.index(site)

    def values(self, state: State) -> list[Value]:
        """Returns the values of the variables in a state."""
        values = self.table.values
        return [values[number] for number in state[: len(self.variables)]]

    def choices(self, named: Sequence[tuple[str, Value]]) -> tuple[Choice, ...]:
        """Returns values with names in the form of reports."""
        normalise, number = self.specification.universe.normalise, self.table.number
        kind = self.value_type
        return tuple(Choice(name, kind, number(normalise(value))) for name, value in named)

    def condition(self, text: str) -> Callable[[State], bool]:
        """Returns a function that evaluates a condition on states, and raises `EvaluationError`.
        Raises `Rejected` if the text is not one.
        """
        condition = self.specification.parsed(text, condition=True)

        def holds(state: State) -> bool:
            try:
                result: bool = self.specification.holds(condition, self.values(state))
            except Located as error:
                raise EvaluationError(self.site(error)) from None
            return result

        return holds

    def value_text(self, text: str) -> Callable[[State], str]:
        """Returns a function that evaluates an expression to text, which gives the reason if it has
        no value. Raises `Rejected` if the text is not an expression.
        """
        expression = self.specification.parsed(text, condition=False)

        def value(state: State) -> str:
            try:
                value = self.specification.value(expression, self.values(state))
            except NoValue as error:
                return f"it has no value here: {error}"
            shown: str = self.specification.universe.show(value)
            return shown

        return value

    @property
    def has_levels(self) -> bool:
        """Whether the view depends on more than the variables, for example on TLCGet("level"). A
        state ends with its level then: the view may tell it from itself at another level.
        """
        view = self.specification.view
        return view is not None and not EFFECT.isdisjoint(view.code.free)


def _properties(
    specification: Specification,
) -> tuple[tuple[Property, ...], tuple[Condition | None, ...]]:
    """Returns the properties and their conditions. Names are made distinct, since a check selects
    properties by name. The atoms of formulas come first, so that formulas refer to them by number.
    """
    true = partial(Literal, BOOL, True)
    within = bool(specification.constraints or specification.action_constraints)
    every: list[tuple[Property, Condition | None]] = [
        *(
            (Property("", PropertyKind.PREDICATE, true(span=c.span), c.span), c)
            for c, _ in specification.temporal.atoms
        ),
        *(
            (Property(c.name, PropertyKind.INVARIANT, true(span=c.span), c.span), c)
            for c in specification.invariants
        ),
        *(
            (Property(c.name, PropertyKind.STEP_INVARIANT, true(span=c.span), c.span), c)
            for c in specification.step_conditions
        ),
        *(
            (Property(c.name, PropertyKind.REFINEMENT, true(span=c.span), c.span), c)
            for c in specification.initial_conditions
        ),
        *(
            (Property(c.name, PropertyKind.CONSTRAINT, true(span=c.span), c.span), c)
            for c in specification.constraints
        ),
        *(
            (Property(name, PropertyKind.BEHAVIOUR, true(span=span), span, f, within=within), None)
            for name, span, f in specification.formulas
        ),
    ]
    properties: list[Property] = []
    taken = Counter[str]()
    for item, _ in every:
        taken[item.name] += 1
        repeated = item.name and taken[item.name] > 1
        name = f"{item.name} ({taken[item.name]})" if repeated else item.name
        properties.append(replace(item, name=name))
    return tuple(properties), tuple(condition for _, condition in every)
