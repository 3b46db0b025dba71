"""Scenarios: the steps that some run of a model must take, and what must hold behind them.

Whether there is such a run is a question to any search of states: `product` is a model that takes
the steps of another one, and whose state also says how many of the scenario's are behind it. It
does not know how a scenario is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.rebuild import rebuilt
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Int, Set
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.source import Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """A step of action number ``action`` whose first choices meet ``condition`` (None: any), an
    expression of the state before the step, in which slots of the action's choices are free. The
    last of these choices is that of ``slot``; None: there are none.
    """

    action: int
    slot: int | None
    condition: ir.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Scenario:
    """``steps`` in this order; any other steps may come before the one with number i, for i in
    ``gaps`` (``len(steps)``: behind the last). Then ``expectation`` holds.
    """

    name: str
    steps: tuple[ScenarioStep, ...]
    gaps: frozenset[int]
    expectation: ir.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Product:
    """A model beside a scenario: its last variable is the position, the number of steps behind.

    The numbers of properties: invariant ``unmet`` is false where the scenario is met; reachable
    ``reached[i]`` is true where i steps are behind, and there invariant ``avoided[i]`` is false.
    Invariant ``expected`` is the expectation.
    """

    model: ir.Model
    unmet: int
    reached: tuple[int, ...]
    avoided: tuple[int, ...]
    expected: int


def product(model: ir.Model, scenario: Scenario) -> Product:
    """The model beside the scenario. Its actions are those of the model, by number and choices, and
    its states are those of the model with the position behind them.
    """
    made = _Product(model, scenario)
    actions = tuple(map(made.action, range(len(model.actions))))
    start: ir.Statement = ir.Assign(made.number, (), made.literal(0))
    properties = [*model.properties]
    span, places = scenario.span, range(made.end + 1)
    if made.beyond:
        inside = ir.Less(made.position, made.literal(made.end + 1))
        properties.append(ir.Property("", PropertyKind.CONSTRAINT, inside, span))

    def added(*several: ir.Property) -> tuple[int, ...]:
        properties.extend(several)
        return tuple(range(len(properties) - len(several), len(properties)))

    def invariant(body: ir.Expr) -> ir.Property:
        return ir.Property("", PropertyKind.INVARIANT, body, span)

    def reachable(body: ir.Expr) -> ir.Property:
        return ir.Property("", PropertyKind.REACHABLE, body, span)

    met = ir.And((made.at(made.end), scenario.expectation))
    unmet, expected = added(invariant(ir.Not(met)), invariant(scenario.expectation))
    reached = added(*(reachable(made.at(place)) for place in places))
    avoided = added(*(invariant(ir.Not(made.at(place))) for place in places))
    beside = replace(
        model,
        variables=(*model.variables, made.variable),
        initial=ir.Sequence((start, model.initial)),
        actions=actions,
        properties=tuple(properties),
        guards=(*model.guards, *made.guards),
        slots=made.slots,
    )
    return Product(beside, unmet, reached, avoided, expected)


class _Product:
    """The parts of a product. ``beyond``: whether a step that does not fit leads to a position
    behind the end, instead of being impossible, because something asks which actions are enabled.
    """

    def __init__(self, model: ir.Model, scenario: Scenario) -> None:
        self.model = model
        self.scenario = scenario
        self.end = len(scenario.steps)
        self.kind = Int(0, self.end + 1)
        self.number = len(model.variables)
        self.variable = ir.StateVariable(
            "scenario", self.kind, "variable", "", False, scenario.span
        )
        self.position = ir.Variable(self.kind, self.number)
        self.guards: list[ir.Guard] = []
        self.slots = model.slots
        bounds = (one.body for one in model.properties if one.kind.bounds_search)
        asked = walk((scenario.expectation, *bounds))
        self.beyond = any(isinstance(node, ir.Enabled) for node in asked)

    def literal(self, place: int) -> ir.Expr:
        return ir.Literal(self.kind, place)

    def at(self, *places: int) -> ir.Expr:
        """Whether the position is one of these."""
        return _any(*(ir.Equal(self.position, self.literal(place)) for place in places))

    def action(self, number: int) -> ir.Action:
        """An action that is taken only where it fits, and moves the position."""
        action, steps = self.model.actions[number], self.scenario.steps
        mine = [place for place, step in enumerate(steps) if step.action == number]
        guard = len(self.model.guards) + len(self.guards)
        self.guards.append(ir.Guard("choice", self.scenario.span, number))
        body = action.body
        if mine:
            body = self._moved(body, steps[mine[0]].slot, mine, guard)
        elif self.beyond:
            # No choice: what asks whether the action is enabled names its first ones.
            stays, out = self.at(*sorted(self.scenario.gaps)), self.literal(self.end + 1)
            move = ir.Conditional(self.kind, stays, self.position, out)
            body = ir.Sequence((ir.Assign(self.number, (), move), body))
        if not self.beyond:
            allowed = ir.Require(self.at(*sorted({*mine, *self.scenario.gaps})), guard)
            body = ir.Sequence((allowed, body))
        return replace(action, body=body)

    def _moved(
        self, body: ir.Statement, slot: int | None, mine: list[int], guard: int
    ) -> ir.Statement:
        """``body`` with a choice of the next position behind that of ``slot`` (None: in front)."""
        after = ir.Local(self.kind, self.slots)
        self.slots += 1
        gaps = sorted(self.scenario.gaps)
        ways: list[ir.Expr] = []
        if gaps:
            ways.append(ir.And((self.at(*gaps), ir.Equal(after, self.position))))
        fits: list[ir.Statement] = []
        for place in mine:
            taken = ir.And((self.at(place), ir.Equal(after, self.literal(place + 1))))
            ways.append(taken)
            condition = self.scenario.steps[place].condition
            if condition is not None:
                # Behind the choice: where it has no value, only this way is none.
                fits.append(ir.Require(ir.Or((ir.Not(taken), condition)), guard))
        if self.beyond:
            out = ir.Equal(after, self.literal(self.end + 1))
            ways.append(ir.And((ir.Not(self.at(*gaps)), out)))

        def behind(rest: ir.Statement) -> ir.Statement:
            move = ir.Assign(self.number, (), after)
            domain = ir.Universe(Set(self.kind))
            body = ir.Sequence((*fits, move, rest))
            return ir.Pick(after.slot, domain, _any(*ways), guard, None, body)

        return behind(body) if slot is None else _inside(body, slot, behind)


def _inside(value: T, slot: int, change: Callable[[ir.Statement], ir.Statement]) -> T:
    """``value`` with the body changed of the choice of ``slot``."""
    if isinstance(value, ir.Pick) and value.slot == slot:
        return cast("T", replace(value, body=change(value.body)))
    return rebuilt(value, lambda part: _inside(part, slot, change))


def _any(*conditions: ir.Expr) -> ir.Expr:
    if not conditions:
        return ir.Literal(ir.BOOL, False)
    return conditions[0] if len(conditions) == 1 else ir.Or(conditions)
