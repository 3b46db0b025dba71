"""Scenarios: the steps that some run of a model must take, and the condition after them.

Any state search can decide whether such a run exists. `product` returns a model that takes the
steps of another model and counts in its state how many steps of the scenario it has taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.traverse import rebuilt, walk
from fencepost.spec.core.types import Int, Set
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.source import Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """A step of action number ``action`` whose first choices satisfy ``condition``.

    The condition is an expression over the state before the step. The slots of the action's choices
    are free in it. If ``condition`` is None, any choices match. ``slot`` is the slot of the last of
    these choices, or None if there are none.
    """

    action: int
    slot: int | None
    condition: ir.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Scenario:
    """The ``steps`` must occur in this order, and then ``expectation`` must hold.

    For each i in ``gaps``, any other steps may precede step i; ``len(steps)`` in ``gaps`` allows
    other steps after the last.
    """

    name: str
    steps: tuple[ScenarioStep, ...]
    gaps: frozenset[int]
    expectation: ir.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Product:
    """A model combined with a scenario. Its last variable is the position in the scenario, which is
    the number of scenario steps taken.

    The other attributes are the numbers of added properties. Invariant ``unmet`` is false where the
    scenario is completed and its expectation holds. Reachable ``reached[i]`` is true at position i,
    and invariant ``avoided[i]`` is false there. Invariant ``expected`` is the expectation.
    """

    model: ir.Model
    unmet: int
    reached: tuple[int, ...]
    avoided: tuple[int, ...]
    expected: int


def product(model: ir.Model, scenario: Scenario) -> Product:
    """Returns the model combined with the scenario.

    The result has the actions of the model, with the same numbers and choices. Its states are those
    of the model, followed by the position.
    """
    builder = _Product(model, scenario)
    actions = tuple(map(builder.action, range(len(model.actions))))
    start: ir.Statement = ir.Assign(builder.number, (), builder.literal(0))
    properties = [*model.properties]
    span, positions = scenario.span, range(builder.end + 1)
    if builder.beyond:
        inside = ir.Less(builder.position, builder.literal(builder.end + 1))
        properties.append(ir.Property("", PropertyKind.CONSTRAINT, inside, span))

    def added(*several: ir.Property) -> tuple[int, ...]:
        properties.extend(several)
        return tuple(range(len(properties) - len(several), len(properties)))

    def invariant(body: ir.Expr) -> ir.Property:
        return ir.Property("", PropertyKind.INVARIANT, body, span)

    def reachable(body: ir.Expr) -> ir.Property:
        return ir.Property("", PropertyKind.REACHABLE, body, span)

    met = ir.And((builder.at(builder.end), scenario.expectation))
    unmet, expected = added(invariant(ir.Not(met)), invariant(scenario.expectation))
    reached = added(*(reachable(builder.at(position)) for position in positions))
    avoided = added(*(invariant(ir.Not(builder.at(position))) for position in positions))
    combined = replace(
        model,
        variables=(*model.variables, builder.variable),
        initial=ir.Sequence((start, model.initial)),
        actions=actions,
        properties=tuple(properties),
        guards=(*model.guards, *builder.guards),
        slots=builder.slots,
    )
    return Product(combined, unmet, reached, avoided, expected)


class _Product:
    """Builds the parts of a product.

    If ``beyond`` is set, a step that does not match is not disabled, but leads to a position past
    the end. This is necessary if some expression tests which actions are enabled.
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
        bounds = (prop.body for prop in model.properties if prop.kind.bounds_search)
        evaluated = walk((scenario.expectation, *bounds))
        self.beyond = any(isinstance(node, ir.Enabled) for node in evaluated)

    def literal(self, position: int) -> ir.Expr:
        return ir.Literal(self.kind, position)

    def at(self, *positions: int) -> ir.Expr:
        """Returns an expression for whether the position is one of ``positions``."""
        return _any(*(ir.Equal(self.position, self.literal(position)) for position in positions))

    def action(self, number: int) -> ir.Action:
        """Returns action ``number``, changed so that it is enabled only where it matches the
        scenario, and advances the position.
        """
        action, steps = self.model.actions[number], self.scenario.steps
        positions = [position for position, step in enumerate(steps) if step.action == number]
        guard = len(self.model.guards) + len(self.guards)
        self.guards.append(ir.Guard("choice", self.scenario.span, number))
        body = action.body
        if positions:
            body = self._moved(body, steps[positions[0]].slot, positions, guard)
        elif self.beyond:
            # This must not be a choice: a test of whether the action is enabled supplies values for
            # its first choices.
            stays, out = self.at(*sorted(self.scenario.gaps)), self.literal(self.end + 1)
            move = ir.Conditional(self.kind, stays, self.position, out)
            body = ir.Sequence((ir.Assign(self.number, (), move), body))
        if not self.beyond:
            allowed = ir.Require(self.at(*sorted({*positions, *self.scenario.gaps})), guard)
            body = ir.Sequence((allowed, body))
        return replace(action, body=body)

    def _moved(
        self, body: ir.Statement, slot: int | None, positions: list[int], guard: int
    ) -> ir.Statement:
        """Returns ``body`` with an additional choice of the next position. It follows the choice of
        ``slot``, or comes first if ``slot`` is None.
        """
        after = ir.Local(self.kind, self.slots)
        self.slots += 1
        gaps = sorted(self.scenario.gaps)
        ways: list[ir.Expr] = []
        if gaps:
            ways.append(ir.And((self.at(*gaps), ir.Equal(after, self.position))))
        fits: list[ir.Statement] = []
        for position in positions:
            advances = ir.And((self.at(position), ir.Equal(after, self.literal(position + 1))))
            ways.append(advances)
            condition = self.scenario.steps[position].condition
            if condition is not None:
                # The condition is tested after the choice. If it is undefined, only this
                # alternative is disabled.
                fits.append(ir.Require(ir.Or((ir.Not(advances), condition)), guard))
        if self.beyond:
            out = ir.Equal(after, self.literal(self.end + 1))
            ways.append(ir.And((ir.Not(self.at(*gaps)), out)))

        def choose_position(rest: ir.Statement) -> ir.Statement:
            move = ir.Assign(self.number, (), after)
            domain = ir.Universe(Set(self.kind))
            body = ir.Sequence((*fits, move, rest))
            return ir.Pick(after.slot, domain, _any(*ways), guard, None, body)

        return choose_position(body) if slot is None else _inside(body, slot, choose_position)


def _inside(value: T, slot: int, change: Callable[[ir.Statement], ir.Statement]) -> T:
    """Returns ``value`` with ``change`` applied to the body of the choice of ``slot``."""
    if isinstance(value, ir.Pick) and value.slot == slot:
        return cast("T", replace(value, body=change(value.body)))
    return rebuilt(value, lambda part: _inside(part, slot, change))


def _any(*conditions: ir.Expr) -> ir.Expr:
    if not conditions:
        return ir.Literal(ir.BOOL, False)
    return conditions[0] if len(conditions) == 1 else ir.Or(conditions)
