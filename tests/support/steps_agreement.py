"""Generated code against the interpreter, state by state, in everything that a search can notice.

Besides the states that can be reached it looks at random ones: every state of the right types has
a meaning, and full collections and greatest numbers are rare among those that can be reached.
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
"""Intervals are compared in types with at most this many values."""
MAX_UNIVERSE = 256
"""Sets of all values of a type have at most this many elements."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is compared: states that can be reached, random ones, successors in all."""

    reached: int = 60
    random: int = 30
    steps: int = 20_000


class Says(Protocol):
    """What the interpreter says of a model, in the terms of `NativeSteps`."""

    def initial(self) -> Steps: ...
    def expand(self, state: State, most: int) -> Steps | None:
        """None where there are more than ``most`` steps and failures; then nothing is counted."""
        ...

    def examine(self, state: State) -> Examined: ...
    def terminal(self, state: State) -> tuple[bool, list[Place]]: ...
    def check_step(self, state: State, after: State) -> list[Place]: ...

    def counted(self) -> tuple[frozenset[int], dict[int, int]]:
        """Coverage marks and refusals, all those so far."""
        ...


def agree(
    model: ir.Model,
    extent: Extent,
    seed: int = 0,
    guarded: bool = False,
    interpreter: Says | None = None,
) -> int:
    """Compares the two; the number of states looked at.

    ``model`` is best one of `probing`. Raises `AssertionError` where they differ, or the code does
    what it may not (with ``guarded``), and `Unsupported`.
    """
    return _Comparison(model, extent, seed, guarded, interpreter or Interpreter(model)).run()


def probing(model: ir.Model) -> ir.Model:
    """The model with a property for some actions, with some first choices too: whether it is
    enabled."""
    tests: list[ir.Expr] = []
    for number, action in enumerate(model.actions):
        tests.append(ir.Enabled(number))
        given: list[list[ir.Expr]] = [[]]
        for pick in _leading(action.body):
            kind = as_collection(pick.domain.type).element
            if cardinality(kind) > MAX_GIVEN:
                break
            each: list[ir.Expr] = [ir.Literal(kind, value) for value in values(kind)]
            given = [[*before, value] for before in given for value in each]
            tests += [ir.Enabled(number, tuple(choices)) for choices in given]
    chosen = Random(len(tests)).sample(tests, min(len(tests), MAX_PROBES))
    more = [ir.Property("", PropertyKind.REACHABLE, test, model.actions[0].span) for test in chosen]
    return replace(model, properties=(*model.properties, *more))


def comparing(model: ir.Model, seed: int) -> ir.Model:
    """The model with properties that compare each variable with a value, with its next value, and
    with a type of other ranges; and integers with an interval. The language orders only integers,
    the core all values. Membership in an interval is two comparisons in a spec, and membership in
    a type is known. Unless actions receive messages, failures of all guards count like those of
    capacities.
    """
    random, place = Random(seed), model.actions[0].span
    more: list[ir.Property] = []

    def ask(kind: PropertyKind, test: ir.Expr) -> None:
        more.append(ir.Property("", kind, test, place))

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
        # Generated code does not try actions without a message.
        guards = tuple(replace(guard, kind="capacity") for guard in guards)
    return replace(model, properties=(*model.properties, *more), guards=guards)


def _leading(statement: ir.Statement) -> Iterator[ir.Pick]:
    """The choices with which an action begins."""
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
        self, model: ir.Model, extent: Extent, seed: int, guarded: bool, interpreter: Says
    ) -> None:
        self.model = model
        self.extent = extent
        self.random = Random(seed)
        self.guarded = guarded
        self.interpreter = interpreter
        # Guarded code is slow, and must not be changed by what LLVM concludes from its mistakes.
        everything = frozenset(range(len(model.properties)))
        self.native = NativeSteps(model, everything, 0 if guarded else 2, guarded)
        self.seen: list[State] = []
        self.steps = 0

    def run(self) -> int:
        expected, failed = self.interpreter.initial()
        found, told = self.native.initial()
        same_list("initial states", None, [state for _, state in expected], found)
        same_list("failures of the initial choice", None, failed, told)
        self.check_counters(None)
        waiting = deque(dict.fromkeys(found))
        known = set(waiting)
        while waiting and self.goes_on(self.extent.reached):
            for after in self.look_at(waiting.popleft()):
                if after not in known:
                    known.add(after)
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
        """Compares all that there is to know of a state; its successors."""
        said, native = self.interpreter, self.native
        self.seen.append(state)
        told_of = said.expand(state, native.most_notes)
        if told_of is None:
            return []
        expected, failed = told_of
        found, told = native.expand(state)
        same_list("steps", state, expected, found)
        same_list("failures", state, failed, told)
        same("states looked at", state, said.examine(state), native.examine(state))
        same("terminal states", state, said.terminal(state), native.terminal(state))
        self.steps += len(found)
        after = [successor for _, successor in found]
        for other in [*after[:3], *self.random.choices(after, k=2 if after else 0)]:
            step = state, other
            same("steps looked at", step, said.check_step(*step), native.check_step(*step))
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
    """The interpreter itself (see `Says`)."""

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
        self.runner.expand(state)  # Only this counts.
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
            # What properties of behaviours ask of a state: here only its marks and failures count.
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
    """What the interpreter said in one comparison, to be said again in others of the same model."""

    def __init__(self, source: Says) -> None:
        self._source: Says | None = source
        self._said: list[Any] = []
        self._place = 0

    def rewind(self) -> None:
        """From now on, only what was said is said again."""
        self._source = None
        self._place = 0

    def _next(self, say: Callable[[Says], T]) -> T:
        if self._source is not None:
            self._said.append(say(self._source))
        self._place += 1
        said: T = self._said[self._place - 1]
        return said

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


def same(what: str, state: object, expected: object, found: object) -> None:
    """Both are equal, or the message shows what is different."""
    if expected != found:
        raise AssertionError(f"{what} in {state}: expected {expected}, found {found}")


def same_list(
    what: str, state: object, expected: Sequence[object], found: Sequence[object]
) -> None:
    """Both are equal, or the message shows where they begin to differ."""
    if expected != found:
        pairs = zip(expected, found, strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        what = f"{what} ({len(expected)} and {len(found)}), behind the first {alike},"
        same(what, state, expected[alike : alike + 2], found[alike : alike + 2])
