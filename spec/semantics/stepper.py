"""Runs a model: computes initial states and steps, evaluates properties, and explains why actions
are disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import repeat
from typing import Any
from weakref import proxy

from fencepost.spec.core.ir import BOOL, Expr, Model
from fencepost.spec.core.types import State, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError, Run, Stopped
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain, Observer
from fencepost.spec.semantics.fold import evaluate, execute
from fencepost.spec.semantics.python_codegen import Code, Frame
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Failure:
    """The site of an evaluation error or, if ``assertion`` is set, of a failed assertion."""

    site: int
    assertion: bool


@dataclass(frozen=True, slots=True)
class Successor:
    """One vector of choices and its result. ``action`` is None for an initial state.

    Either ``state`` or ``failure`` is None.
    """

    action: int | None
    choices: tuple[Choice, ...]
    state: State | None
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A vector of choices of an action, with its result or with the guard that was false. If a
    guard was false, ``choices`` are the choices made before it.
    """

    choices: tuple[Choice, ...]
    state: State | None = None
    failure: Failure | None = None
    guard: int | None = None


class Runner:
    """Runs a model from arbitrary states.

    ``marked`` lists the coverage marks that were set, each once. ``refused`` counts how many times
    each guard was false, for guards of the kinds ``counted``; each time, ``weight`` is added.
    ``observer`` receives the values of `ir.Observe`. Code is generated on demand, since a trace
    needs only a part of it. With ``apart``, `steps` and `calls` store in ``marked`` only the marks
    of the last step.
    """

    def __init__(
        self,
        model: Model,
        observer: Observer | None = None,
        counted: Collection[str] = ("capacity",),
        apart: bool = False,
    ) -> None:
        kinds = [variable.type for variable in model.variables]
        self.model = model
        self.marked: list[int] = []
        self.refused: dict[int, int] = {}
        self.weight = 1
        self._apart = apart
        self._count = len(kinds)
        self._covered = bytearray(len(model.marks))
        self._counted = frozenset(
            number for number, guard in enumerate(model.guards) if guard.kind in counted
        )
        # The code must not hold a strong reference to the runner, which holds the code. Otherwise
        # both would stay in memory until Python collects cycles.
        enabled_in = partial(Runner.enabled_in, proxy(self))
        marks = model.marks, self._covered, enabled_in, observer
        self._states = ConcreteDomain(kinds, False, *marks)
        self._steps = ConcreteDomain(kinds, True, *marks)
        self._made: dict[int, Code] = {}
        self._properties: dict[int, Code] = {}
        self._refined: dict[int, RefinedModel] = {}
        self._run = self._fresh()
        # The frame for all actions of a search. It grows as code is generated.
        self._frame: Frame = [*[None] * self._count, self._run]
        self._view_run = Run()
        self._view: Frame = []

    @cached_property
    def _initial(self) -> Code:
        return execute(self._states, {}, self.model.initial)

    def _action(self, number: int) -> Code:
        if number not in self._made:
            body = self.model.actions[number].body
            self._made[number] = execute(self._states, {}, body)
            self._frame[-1:-1] = [None] * (self._states.width + 1 - len(self._frame))
        return self._made[number]

    def _property(self, number: int) -> Code:
        if number not in self._properties:
            prop = self.model.properties[number]
            of_steps = prop.kind.of_steps and prop.abstract is None
            code = evaluate(self._steps if of_steps else self._states, {}, prop.body)
            self._properties[number] = code
            self._view = self._wide([None] * self._count, self._view_run)
        return self._properties[number]

    def _wide(self, state: Iterable[object], run: Run) -> Frame:
        """Returns a frame that is wide enough for all code generated so far."""
        width = max(self._states.width, self._steps.width)
        return [*state, *[None] * (width - self._count), run]

    # ------------------------------------------------------------ for a search

    def steps(self, state: State) -> Iterator[tuple[int, State | Failure]]:
        """Yields the steps from a state, in the order of actions and choices. A step consists of
        the number of its action, and the next state or the failure. Starting a new iterator
        invalidates earlier ones.
        """
        return self.calls(zip(range(len(self.model.actions)), repeat(state)))

    def calls(self, calls: Iterable[tuple[int, State]]) -> Iterator[tuple[int, State | Failure]]:
        """Like `steps`, but takes pairs of an action and the state before its step.

        Yields the index of the pair instead of the number of the action.
        """
        frame, run, count, apart = self._frame, self._run, self._count, self._apart
        bodies = self._made
        run.restart()
        for index, (action, state) in enumerate(calls):
            body = bodies.get(action) or self._action(action)
            while True:
                if apart:
                    self.marked.clear()
                frame[:count] = state
                step: State | Failure | None = None
                try:
                    if body(frame) == DISABLED:
                        if run.guard in self._counted:
                            self.refused[run.guard] = self.refused.get(run.guard, 0) + self.weight
                    else:
                        step = tuple(frame[:count])
                        if run.marks:
                            self._set(run.marks)
                except Stopped as failed:
                    step = _failure(failed)
                if run.marks:
                    run.marks.clear()
                if run.seen:
                    self._set(run.seen)
                if step is not None:
                    yield index, step
                if not (run.indices and run.advance()):
                    break

    def expand(self, state: State) -> tuple[list[tuple[int, State]], list[tuple[int, Failure]]]:
        """Returns the completed steps from a state, in order, and the steps that failed. Each has
        the number of its action.
        """
        steps: list[tuple[int, State]] = []
        failures: list[tuple[int, Failure]] = []
        for action, step in self.steps(state):
            if isinstance(step, Failure):
                failures.append((action, step))
            else:
                steps.append((action, step))
        return steps, failures

    def made(self) -> tuple[Choice, ...]:
        """Returns the choices of the step that `steps` has just yielded."""
        return _choices(self._run)

    def reason(self, property: int, state: State, after: State | None) -> Reason:
        """Explains why a property of a model without bodies is false."""
        raise NotImplementedError

    def holds(self, property: int, state: State, after: State | None = None) -> bool:
        """Returns whether a property is true. Raises `EvaluationError`.

        A property of states is evaluated in ``state``, and a property of steps on the step from
        ``state`` to ``after``. A refinement without ``after`` is evaluated in the initial state
        ``state``.
        """
        if self.model.properties[property].abstract is not None:
            images = self.image(property, state), after and self.image(property, after)
            return self.refined(property).holds(*images)
        result: bool = self._evaluated(property, state, after)
        return result

    def image(self, property: int, state: State) -> State:
        """Returns the image of ``state`` in the abstract model of a refinement. Raises
        `EvaluationError`.
        """
        result: State = self._evaluated(property, state, None)
        return result

    def refined(self, property: int) -> RefinedModel:
        """Returns the abstract model of a refinement."""
        if property not in self._refined:
            abstract = self.model.properties[property].abstract
            assert abstract is not None
            self._refined[property] = RefinedModel(abstract)
        return self._refined[property]

    def _evaluated(self, property: int, state: State, after: State | None) -> Any:
        code = self._property(property)
        view, count = self._view, self._count
        view[:count] = state
        if after is not None:
            view[count : 2 * count] = after
        try:
            return code(view)
        finally:
            if self._view_run.seen:
                self._set(self._view_run.seen)

    def _set(self, marks: list[int]) -> None:
        if self._apart:
            self.marked += marks
        for mark in () if self._apart else marks:
            if not self._covered[mark]:
                self._covered[mark] = 1
                self.marked.append(mark)
        marks.clear()

    # ------------------------------------------------------------ for traces and reports

    def initial(self, target: State | None = None) -> Iterator[Successor]:
        """Yields the initial states, one for each vector of choices. Equal states may occur
        repeatedly. With a ``target``, other states may be missing.
        """
        run = self._fresh()
        run.target = target
        return self._vectors(None, self._initial, (None,) * self._count, run)

    def successors(self, state: State) -> Iterator[Successor]:
        """Yields the same results as `expand`, in the order of actions and choices, together with
        the choices.
        """
        for action in range(len(self.model.actions)):
            yield from self._vectors(action, self._action(action), state)

    def between(self, before: State, after: State) -> Successor:
        """Returns the first step from one state to another."""
        return next(step for step in self.successors(before) if step.state == after)

    def again(self, action: int, state: State, choices: Sequence[Choice]) -> Iterator[Successor]:
        """Yields the results of an action for the vectors whose visible choices are ``choices``."""
        run = self._fresh()
        run.wanted, run.visible = tuple(choice.value for choice in choices), True
        return self._vectors(action, self._action(action), state, run)

    def value(
        self, expr: Expr, bindings: Mapping[int, Value], state: State, after: State | None
    ) -> Value:
        """Returns the value of a part of a property. ``bindings`` contains the values of its free
        slots.
        """
        kinds = [variable.type for variable in self.model.variables]
        marks = self.model.marks
        domain = ConcreteDomain(
            kinds, after is not None, marks, bytearray(b"1") * len(marks), self.enabled_in
        )
        # The concrete domain ignores the types of constants.
        scope = {slot: domain.constant(value, BOOL) for slot, value in bindings.items()}
        code = evaluate(domain, scope, expr)
        frame = [*state, *(after or ())]
        result: Value = code([*frame, *[None] * (domain.width - len(frame)), Run()])
        return result

    def blocked(self, state: State) -> tuple[BlockedAction, ...]:
        """Returns, for each action, the guards that were false in ``state`` for some vector of
        choices.
        """
        blocked: list[BlockedAction] = []
        for action in range(len(self.model.actions)):
            tries = self._tries(self._action(action), state)
            guards = {run.guard for run, step in tries if step is None}
            blocked.append(BlockedAction(action, tuple(sorted(guards))))
        return tuple(blocked)

    def attempts(self, action: int, state: State) -> Iterator[Attempt]:
        """Yields an attempt for each vector of choices of one action, in order, including disabled
        ones.
        """
        for run, step in self._tries(self._action(action), state):
            if step is None:
                yield Attempt(_choices(run), guard=run.guard)
            elif isinstance(step, Failure):
                yield Attempt(_choices(run), failure=step)
            else:
                yield Attempt(_choices(run), step)

    def taken(
        self, action: int, state: State, wanted: Callable[[State], bool]
    ) -> tuple[Choice, ...] | None:
        """Returns the first choices of an action that lead to a state that satisfies ``wanted``,
        and sets the marks of this step. Returns None if no choices do.
        """
        for run, step in self._tries(self._action(action), state):
            if isinstance(step, tuple) and wanted(step):
                self._set(run.marks)
                self._set(run.seen)
                return _choices(run)
        return None

    def _vectors(
        self, action: int | None, body: Code, state: tuple[object, ...], start: Run | None = None
    ) -> Iterator[Successor]:
        for run, step in self._tries(body, state, start):
            if isinstance(step, Failure):
                yield Successor(action, _choices(run), None, step)
            elif step is not None:
                yield Successor(action, _choices(run), step, None)

    def enabled_in(self, action: int, choices: Sequence[Code]) -> Code:
        body, count = self._action(action), self._count

        def code(view: Frame) -> bool:
            run = self._fresh()
            run.wanted = tuple(choice(view) for choice in choices)
            for _, step in self._tries(body, view[:count], run):
                if isinstance(step, Failure) and self.model.sites[step.site].leaves is not None:
                    # It is unknown whether the step would complete with a wider range.
                    raise EvaluationError(step.site)
                if step is not None:
                    return True
            return False

        return code

    def _fresh(self) -> Run:
        return Run()

    def _tries(
        self, body: Code, state: Sequence[object], run: Run | None = None
    ) -> Iterator[tuple[Run, State | Failure | None]]:
        """Runs the code of an action once for each vector of choices that a new ``run`` allows.
        Yields the run, which the next iteration changes, and its result: the next state, a failure,
        or None if a guard was false.
        """
        run, count = run or self._fresh(), self._count
        frame = self._wide(state, run)
        while True:
            frame[:count] = state
            step: State | Failure | None = None
            try:
                if body(frame) != DISABLED:
                    step = tuple(frame[:count])
            except Stopped as failed:
                step = _failure(failed)
            yield run, step
            run.marks.clear()
            run.seen.clear()
            if not run.advance():
                return


class RefinedModel:
    """A model that other models refine. Provides its initial states and steps."""

    def __init__(self, model: Model) -> None:
        self.runner = Runner(model)
        self._initial: frozenset[State] | None = None
        self._next: dict[State, frozenset[State]] = {}

    def holds(self, before: State, after: State | None) -> bool:
        """Returns whether a step is a step of the model or changes nothing. Without ``after``,
        returns whether ``before`` is an initial state. Steps that fail do not count.
        """
        if after is None:
            if self._initial is None:
                states = (successor.state for successor in self.runner.initial())
                self._initial = frozenset(state for state in states if state is not None)
            return before in self._initial
        if before == after:
            return True
        if before not in self._next:
            self._next[before] = frozenset(state for _, state in self.runner.expand(before)[0])
        return after in self._next[before]


def _failure(failed: Stopped) -> Failure:
    return Failure(failed.site, isinstance(failed, AssertionFailed))


def _choices(run: Run) -> tuple[Choice, ...]:
    return tuple(Choice(label, kind, value) for label, kind, value in run.choices())


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a step. ``label`` is "" for the index of the role, and "on" for the message."""

    label: str
    type: Type
    value: Value


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a property is false: the values of the quantified variables, outermost first, and the
    innermost part that is false. ``read`` is what this part reads of the state, if it is known.
    """

    instance: tuple[Choice, ...]
    failing: Span | None
    read: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockedAction:
    """A disabled action, with the numbers of the guards that were false."""

    action: int
    guards: tuple[int, ...]
