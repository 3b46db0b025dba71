"""Runs a TLA+ module with the interface that searches and reports use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from fencepost.checker.evaluator.model import TlaModel
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import (
    Attempt,
    BlockedAction,
    Choice,
    Failure,
    Reason,
    Runner,
    Successor,
)
from fencepost.spec.tla.evaluate.machine import Lazy, Located, forced
from fencepost.spec.tla.evaluate.temporal import Condition
from fencepost.spec.tla.values.kinds import AssertionFailed, Value
from fencepost.spec.tla.values.kinds import EvaluationError as NoValue


class TlaRunner(Runner):
    """Runs a module. Only the methods that a search and its traces need are defined."""

    def __init__(self, model: TlaModel) -> None:
        self.model = model
        self.tla = model
        self.specification = model.specification
        self.marked = []
        self.refused = {}
        self.weight = 1
        self.has_levels = model.has_levels
        self._avoided = [sum(1 << action for action in actions) for actions in model.avoided]
        """The sets of actions to avoid, as bit sets. A state has one of the taken actions then."""
        self.level_of: Callable[[State], int] = lambda state: 1
        """Returns the level of a state of a trace, for TLCGet."""
        self.level: int | None = None
        """The level of the state whose successors a trace needs."""
        self.most_initial: int | None = None
        """The maximum number of initial states that are computed, or None for all."""
        self.recorder: Any = None
        """The `liveness.Recorder` of a search for properties of behaviours."""

    def initial(self, target: State | None = None) -> Iterator[Successor]:
        return self._successors(None)

    def steps(self, state: State) -> Iterator[tuple[int, State | Failure]]:
        for step in self._successors(state):
            yield step.action or 0, step.failure or step.state or ()

    def expand(self, state: State) -> tuple[list[tuple[int, State]], list[tuple[int, Failure]]]:
        steps: list[tuple[int, State]] = []
        failures: list[tuple[int, Failure]] = []
        for action, step in self.steps(state):
            if isinstance(step, Failure):
                failures.append((action, step))
            elif self.is_taken(state, step):
                steps.append((action, step))
        return steps, failures

    def successors(self, state: State) -> Iterator[Successor]:
        self.level = self.level_of(state)
        try:
            yield from self._successors(state, True)
        finally:
            self.level = None

    def between(self, before: State, after: State) -> Successor:
        for step in self.successors(before):
            if step.state == after:
                return step
        # The step depends on more than the state, for example on random values.
        return Successor(len(self.model.actions) - 1, (), after, None)

    def again(self, action: int, state: State, choices: Sequence[Choice]) -> Iterator[Successor]:
        for step in self.successors(state):
            if (step.action, step.choices) == (action, choices):
                yield step

    def attempts(self, action: int, state: State) -> Iterator[Attempt]:
        for step in self.successors(state):
            if step.action == action:
                yield Attempt(step.choices, step.state, step.failure)

    def _successors(self, state: State | None, named: bool = False) -> Iterator[Successor]:
        before = None if state is None else self.tla.values(state)
        most = self.most_initial if before is None else None
        steps, error = self.specification.states_after(before, most)
        number: Callable[[Value], int] = self.tla.table.number
        machine = self.specification.machine
        level = (0 if state is None else cast("int", state[-1]) + 1,) if self.has_levels else ()
        count = len(self.tla.variables)
        for action, frame, values in steps:
            after: State = (*map(number, values), *level)
            if self._avoided:
                before_step = 0 if state is None else cast("int", state[count])
                taken = before_step | (1 << action if action >= 0 else 0)
                if state is not None and any(taken & s == s for s in self._avoided):
                    continue
                after = (*after[:count], taken, *level)
            if before is None:
                yield Successor(None, (), after, None)
                continue
            try:
                self._satisfied(before, values)
            except Located as wrong:
                yield Successor(0, (), None, self._failure(wrong))
                return
            choices: tuple[Choice, ...] = ()
            if named:
                machine.current[: len(before)] = before
                choices = self._choices(action, frame)
            yield Successor(action, choices, after, None)
        if error is not None:
            yield Successor(None if state is None else 0, (), None, self._failure(error))

    def _choices(self, action: int, frame: Sequence[object]) -> tuple[Choice, ...]:
        """Returns the arguments of the definition that a step is named after."""
        if action < 0:
            return ()
        operator = self.specification.actions[action]
        first = len(operator.scope.parameters)
        choices: list[Choice] = []
        for slot, parameter in enumerate(operator.parameters, first):
            value = frame[slot]
            if parameter.arity or (type(value) is Lazy and value.source.level > 1):
                continue
            try:
                number = self.tla.table.number(self.specification.universe.normalise(forced(value)))
            except NoValue:
                continue
            choices.append(Choice(parameter.name, self.tla.value_type, number))
        return tuple(choices)

    def holds(self, property: int, state: State, after: State | None = None) -> bool:
        condition = self.tla.conditions[property]
        assert condition is not None, "a formula has no value in a state"
        kind = self.tla.properties[property].kind
        if (after is None) if self.tla.is_of_steps(property) else kind.of_initial_states and after:
            # A condition on steps in a formula has no value in a state, and a condition on initial
            # states has none on steps.
            return True
        return self._satisfies(condition, state, after)

    def _satisfies(self, condition: Condition, state: State, after: State | None) -> bool:
        following = None if after is None else self.tla.values(after)
        try:
            result: bool = self.specification.holds(condition, self.tla.values(state), following)
        except Located as error:
            raise EvaluationError(self.tla.site(error)) from None
        return result

    def reason(self, property: int, state: State, after: State | None) -> Reason:
        condition = self.tla.conditions[property]
        assert condition is not None, "a formula is not explained in a state"
        following = None if after is None else self.tla.values(after)
        try:
            why = self.specification.reason(condition, self.tla.values(state), following)
        except Located:
            # The value depends on more than the state, for example on random values.
            return Reason((), condition.span)
        # The values before a step are not those at the end of the trace.
        read = why.read if after is None else ()
        return Reason(self.tla.choices(why.values), why.span, self.tla.choices(read))

    def is_enabled(self, constraint: int, state: State) -> bool:
        """Returns whether a step of a fairness constraint is possible."""
        return self._satisfies(self.tla.fair[constraint].enabled, state, None)

    def is_fair_step(self, constraint: int, state: State, after: State) -> bool:
        """Returns whether a step belongs to a fairness constraint."""
        return self._satisfies(self.tla.fair[constraint].taken, state, after)

    def is_taken(self, state: State, after: State) -> bool:
        """Returns whether a step satisfies the action constraints. An undefined one is taken for
        true here, and its error is reported by `steps`.
        """
        constraints = self.specification.action_constraints
        return not constraints or self._satisfied(self.tla.values(state), self.tla.values(after))

    def _satisfied(self, before: list[Value], after: Sequence[Value]) -> bool:
        constraints = self.specification.action_constraints
        return all(self.specification.holds(part, before, after) for part in constraints)

    def blocked(self, state: State) -> tuple[BlockedAction, ...]:
        return ()

    def _failure(self, error: Located) -> Failure:
        return Failure(self.tla.site(error), error.cause is AssertionFailed)
