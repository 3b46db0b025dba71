"""Compares generated code with the interpreter, state by state, in everything that a search uses.

It examines random states besides the reachable ones: every state of the right types has a meaning,
and full collections and greatest numbers are rare among the reachable states.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from random import Random
from typing import Any, Protocol, TypeAlias, TypeVar

from tests.support import random_values
from tests.support.native_steps import NativeSteps, Place

from fencepost.checker.native.codegen.context_words import Slots
from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.types import Int, Set, State, as_collection, cardinality, values
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner, Successor

T = TypeVar("T")
Steps: TypeAlias = tuple[list[tuple[int, State]], list[Place]]
"""Steps (action, successor) in order, and failures."""
Examined: TypeAlias = tuple[bool, list[Place], frozenset[int]]

MAX_GIVEN = 3
MAX_PROBES = 8
MAX_INTERVAL = 1 << 20
"""Intervals are compared only in types with at most this many values."""
MAX_UNIVERSE = 256
"""The set of all values of a type is compared only if it has at most this many elements."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a comparison: how many reachable states, random states and successors it
    covers.
    """

    reached: int = 60
    random: int = 30
    steps: int = 20_000


class Oracle(Protocol):
    """The interpreter's answers about a model, in the form that `NativeSteps` uses."""

    def initial(self) -> Steps: ...
    def expand(self, state: State, most: int) -> Steps | None:
        """Returns None, and counts nothing, if there are more than ``most`` steps and failures."""
        ...

    def examine(self, state: State) -> Examined: ...
    def terminal(self, state: State) -> tuple[bool, list[Place]]: ...
    def check_step(self, state: State, after: State) -> list[Place]: ...

    def counted(self) -> tuple[frozenset[int], dict[int, int]]:
        """Returns the coverage marks and the refusals so far."""
        ...


def agree(
    model: ir.Model,
    extent: Extent,
    seed: int = 0,
    guarded: bool = False,
    interpreter: Oracle | None = None,
) -> int:
    """Compares generated code with the interpreter, and returns the number of examined states.

    ``model`` should come from `probing`. Raises `AssertionError` if the two differ or if the code
    makes a forbidden access (with ``guarded``). Also raises `Unsupported`.
    """
    return _Comparison(model, extent, seed, guarded, interpreter or Interpreter(model)).run()


def probing(model: ir.Model) -> ir.Model:
    """Adds properties that ask whether an action is enabled, some of them with given first choices.

    At most `MAX_PROBES` of these questions are chosen.
    """
    tests: list[ir.Expr] = []
    for number, action in enumerate(model.actions):
        tests.append(ir.Enabled(number))
        choices_so_far: list[list[ir.Expr]] = [[]]
        for pick in _leading(action.body):
            kind = as_collection(pick.domain.type).element
            if cardinality(kind) > MAX_GIVEN:
                break
            each: list[ir.Expr] = [ir.Literal(kind, value) for value in values(kind)]
            choices_so_far = [[*before, value] for before in choices_so_far for value in each]
            tests += [ir.Enabled(number, tuple(choices)) for choices in choices_so_far]
    chosen = Random(len(tests)).sample(tests, min(len(tests), MAX_PROBES))
    more = [ir.Property("", PropertyKind.REACHABLE, test, model.actions[0].span) for test in chosen]
    return replace(model, properties=(*model.properties, *more))


def comparing(model: ir.Model, seed: int) -> ir.Model:
    """Adds properties to a model that exercise comparisons which specs do not contain.

    They compare each variable with a value, with its next value and with a type of other ranges,
    and integers also with an interval. The language orders only integers, but the core orders all
    values. In a spec, membership in an interval becomes two comparisons, and membership in a type
    is known. Unless actions receive messages, failures of all guards count like those of
    capacities.
    """
    random, origin = Random(seed), model.actions[0].span
    more: list[ir.Property] = []

    def ask(kind: PropertyKind, test: ir.Expr) -> None:
        more.append(ir.Property("", kind, test, origin))

    for index, variable in enumerate(model.variables):
        kind = variable.type
        before, after = ir.Variable(kind, index), ir.Variable(kind, index, True)
        value = ir.Literal(kind, random_values.value(random, kind))
        ask(PropertyKind.REACHABLE, ir.Less(before, value, random.random() < 0.5))
        ask(PropertyKind.REACHABLE, ir.Fits(before, random_values.narrowed(random, kind)))
        ask(PropertyKind.STEP_INVARIANT, ir.Less(after, before, random.random() < 0.5))
        if isinstance(kind, Int) and cardinality(kind) <= MAX_INTERVAL:
            span = ir.Interval(Set(kind), value, before)
            size = ir.Size(Int(0, cardinality(kind)), span)
            other = ir.Literal(kind, random_values.value(random, kind))
            ask(PropertyKind.REACHABLE, ir.Equal(size, ir.Literal(Int(1, 1), 1)))
            ask(PropertyKind.REACHABLE, ir.Contains(span, other))
            if countable(kind, MAX_UNIVERSE):
                single = ir.Interval(Set(kind), value, value)
                ask(PropertyKind.REACHABLE, ir.Equal(span, single))
        for element in (kind, random_values.narrowed(random, kind)):
            if countable(element, MAX_UNIVERSE):
                universe = ir.Universe(Set(element))
                ask(PropertyKind.REACHABLE, ir.Contains(universe, before))
    guards = model.guards
    if all(guard.kind != "message" for guard in guards):
        # Generated code does not try actions that have no message to receive.
        guards = tuple(replace(guard, kind="capacity") for guard in guards)
    return replace(model, properties=(*model.properties, *more), guards=guards)


def _leading(statement: ir.Statement) -> Iterator[ir.Pick]:
    """Yields the choices at the beginning of an action."""
    match statement:
        case ir.Pick(body=body):
            yield statement
            yield from _leading(body)
        case ir.Sequence(statements=(first, *_)):
            yield from _leading(first)
        case _:
            return


class _Comparison:
    def __init__(
        self, model: ir.Model, extent: Extent, seed: int, guarded: bool, interpreter: Oracle
    ) -> None:
        self.model = model
        self.extent = extent
        self.random = Random(seed)
        self.guarded = guarded
        self.interpreter = interpreter
        # Guarded code is slow, and LLVM must not optimize it on the basis of undefined behaviour.
        everything = frozenset(range(len(model.properties)))
        self.native = NativeSteps(model, everything, 0 if guarded else 2, guarded)
        self.seen: list[State] = []
        self.steps = 0

    def run(self) -> int:
        expected, failed = self.interpreter.initial()
        native_states, native_failures = self.native.initial()
        same_list("initial states", None, [state for _, state in expected], native_states)
        same_list("failures of the initial choice", None, failed, native_failures)
        self.check_counters(None)
        waiting = deque(dict.fromkeys(native_states))
        queued = set(waiting)
        while waiting and self.goes_on(self.extent.reached):
            for after in self.look_at(waiting.popleft()):
                if after not in queued:
                    queued.add(after)
                    waiting.append(after)
        most = len(self.seen) + self.extent.random
        while self.goes_on(most):
            self.look_at(
                tuple(
                    random_values.value(self.random, variable.type)
                    for variable in self.model.variables
                )
            )
        if len(self.seen) > 1:
            for _ in range(2 * len(self.seen)):
                self.check_order(*self.random.choices(self.seen, k=2))
        self.check_guard(None)
        return len(self.seen)

    def goes_on(self, most: int) -> bool:
        return len(self.seen) < most and self.steps < self.extent.steps

    def look_at(self, state: State) -> list[State]:
        """Compares everything about a state, and returns its successors."""
        interpreter, native = self.interpreter, self.native
        self.seen.append(state)
        answer = interpreter.expand(state, native.most_notes)
        if answer is None:
            return []
        expected, failed = answer
        native_steps, native_failures = native.expand(state)
        same_list("steps", state, expected, native_steps)
        same_list("failures", state, failed, native_failures)
        same("states looked at", state, interpreter.examine(state), native.examine(state))
        same("terminal states", state, interpreter.terminal(state), native.terminal(state))
        self.steps += len(native_steps)
        after = [successor for _, successor in native_steps]
        for other in [*after[:3], *self.random.choices(after, k=2 if after else 0)]:
            step = state, other
            same("steps looked at", step, interpreter.check_step(*step), native.check_step(*step))
            self.check_order(state, other)
        self.check_counters(state)
        self.check_guard(state)
        return after

    def check_order(self, left: State, right: State) -> None:
        same("order", (left, right), left < right, self.native.less(left, right))

    def check_counters(self, state: State | None) -> None:
        marked, refused = self.interpreter.counted()
        same("marks", state, marked, self.native.marked)
        same("refusals", state, refused, self.native.refused)

    def check_guard(self, state: State | None) -> None:
        if self.guarded:
            same("faults", state, None, self.native.fault)


class Interpreter:
    """Answers by means of the interpreter itself (see `Oracle`)."""

    def __init__(self, model: ir.Model) -> None:
        self.model = model
        self.runner = Runner(model)
        self.slots = Slots(len(model.actions), len(model.properties), 0)

    def initial(self) -> Steps:
        return self._split(self.runner.initial())

    def expand(self, state: State, most: int) -> Steps | None:
        successors = list(islice(self.runner.successors(state), most + 1))
        if len(successors) > most:
            return None
        self.runner.expand(state)  # Only this call counts.
        return self._split(successors)

    def _split(self, successors: Iterable[Successor]) -> Steps:
        steps: list[tuple[int, State]] = []
        failed: list[Place] = []
        for successor in successors:
            action = -1 if successor.action is None else successor.action
            if successor.state is not None:
                steps.append((action, successor.state))
            else:
                failure = successor.failure
                assert failure is not None
                slots = self.slots
                slot = slots.assertion(action) if failure.assertion else slots.error(action)
                failed.append((slot, failure.site))
        return steps, failed

    def examine(self, state: State) -> Examined:
        problems: list[Place] = []
        inside = True
        for number in self._numbers("constraint"):
            if self._truth(number, state, problems) is False:
                inside = False
                break
        for number in self._numbers("invariant", "lemma"):
            if self._truth(number, state, problems) is False:
                problems.append((self.slots.violation(number), 0))
        reached = [n for n in self._numbers("reachable") if self._truth(n, state, problems)]
        for number in self._numbers("predicate"):
            # Here only the marks and failures of the predicates in temporal properties count.
            self._truth(number, state, problems)
        return inside, problems, frozenset(reached)

    def terminal(self, state: State) -> tuple[bool, list[Place]]:
        problems: list[Place] = []
        for number in self._numbers("terminal"):
            if self._truth(number, state, problems) is not False:
                return True, problems
        return False, problems

    def check_step(self, state: State, after: State) -> list[Place]:
        problems: list[Place] = []
        for number in self._numbers("step invariant"):
            try:
                if not self.runner.holds(number, state, after):
                    problems.append((self.slots.violation(number), 0))
            except EvaluationError as error:
                problems.append((self.slots.property_error(number), error.site))
        return problems

    def counted(self) -> tuple[frozenset[int], dict[int, int]]:
        return frozenset(self.runner.marked), dict(self.runner.refused)

    def _numbers(self, *kinds: str) -> Iterator[int]:
        return (n for n, item in enumerate(self.model.properties) if str(item.kind) in kinds)

    def _truth(self, number: int, state: State, problems: list[Place]) -> bool | None:
        try:
            return self.runner.holds(number, state)
        except EvaluationError as error:
            problems.append((self.slots.property_error(number), error.site))
            return None


class Tape:
    """Records the interpreter's answers in one comparison and replays them in others of the same
    model.
    """

    def __init__(self, source: Oracle) -> None:
        self._source: Oracle | None = source
        self._said: list[Any] = []
        self._place = 0

    def rewind(self) -> None:
        """Starts to replay the recorded answers; the interpreter is not asked again."""
        self._source = None
        self._place = 0

    def _next(self, say: Callable[[Oracle], T]) -> T:
        if self._source is not None:
            self._said.append(say(self._source))
        self._place += 1
        answer: T = self._said[self._place - 1]
        return answer

    def initial(self) -> Steps:
        return self._next(lambda source: source.initial())

    def expand(self, state: State, most: int) -> Steps | None:
        return self._next(lambda source: source.expand(state, most))

    def examine(self, state: State) -> Examined:
        return self._next(lambda source: source.examine(state))

    def terminal(self, state: State) -> tuple[bool, list[Place]]:
        return self._next(lambda source: source.terminal(state))

    def check_step(self, state: State, after: State) -> list[Place]:
        return self._next(lambda source: source.check_step(state, after))

    def counted(self) -> tuple[frozenset[int], dict[int, int]]:
        return self._next(lambda source: source.counted())


def same(subject: str, state: object, expected: object, actual: object) -> None:
    """Requires equality; the message shows the difference."""
    if expected != actual:
        raise AssertionError(f"{subject} in {state}: expected {expected}, found {actual}")


def same_list(
    subject: str, state: object, expected: Sequence[object], actual: Sequence[object]
) -> None:
    """Requires equality; the message shows the first difference."""
    if expected != actual:
        pairs = zip(expected, actual, strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        subject = f"{subject} ({len(expected)} and {len(actual)}), behind the first {alike},"
        same(subject, state, expected[alike : alike + 2], actual[alike : alike + 2])
