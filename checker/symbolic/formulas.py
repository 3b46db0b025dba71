"""Expresses a model as formulas: initial states, steps, properties, enabled actions and deadlocks.

The paths to search and the solver are defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from fencepost.checker.request import required_by
from fencepost.checker.symbolic import order, terms, unknowns, values
from fencepost.checker.symbolic.domain import Answer, Bits, Odometer, SymbolicDomain, predicate
from fencepost.checker.symbolic.expressions import Failure
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree, V
from fencepost.spec.core.ir import Expr, Model, Statement
from fencepost.spec.core.properties import SearchedProperties
from fencepost.spec.core.traverse import first_picks
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.fold import execute
from fencepost.spec.semantics.stepper import Choice


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of an action in a state: the condition under which the action completes, the next
    state, and the failures of the action.
    """

    path: Truth
    store: tuple[Tree, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A step of any action. Each failure is given with the number of its action."""

    path: Truth
    store: tuple[Tree, ...]
    failures: tuple[tuple[int, Failure], ...]


Asked: TypeAlias = tuple[int, tuple[object, ...]]
"""An action and its first choices, if these are known values."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The values of the variables after a number of steps. ``enabled`` caches which actions are
    enabled in the level, because this is costly to compute and several properties may need it.
    """

    store: tuple[Tree, ...]
    enabled: dict[Asked, Truth] = field(default_factory=dict["Asked", Truth])


@dataclass(frozen=True, slots=True)
class Bounds:
    """The constraints in a state. ``inside`` is the condition that the state satisfies all of them.
    ``failures`` are those of undefined constraints, each with the number of the constraint.
    """

    inside: Truth
    failures: tuple[tuple[int, Failure], ...]


@dataclass(frozen=True, slots=True)
class End:
    """Describes a state without successors. ``dead`` is the condition that the state is a deadlock.
    ``failures`` are those of undefined terminal conditions, each with the number of the condition.
    """

    dead: Truth
    failures: tuple[tuple[int, Failure], ...]


class Formulas:
    """The formulas of a model. ``symbols`` are the symbolic constants as unknowns, ``facts`` are
    constraints on these constants, and ``failures`` are those of undefined constraints.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds = [variable.type for variable in model.variables]
        symbols = [unknowns.fresh(symbol.type, symbol.path) for symbol in model.symbols]
        self.symbols = tuple(tree for tree, _ in symbols)
        self.facts = [fact for _, fact in symbols]
        self.failures: list[Failure] = []
        for symbol in model.symbols:
            if symbol.condition is not None:
                domain = SymbolicDomain((), (), symbols=self.symbols)
                answer = predicate(domain, symbol.condition)
                self.facts.append(answer.holds)
                self.failures += answer.failures

    # ------------------------------------------------------------ steps

    def initial(self) -> Step:
        """Returns the step that chooses an initial state."""
        return self.ran(
            self.model.initial, [values.least_tree(kind) for kind in self.kinds], Bits()
        )

    def ran(self, body: Statement, store: Sequence[Tree], choices: Bits) -> Step:
        """Returns the effect of a statement in a state."""
        domain = SymbolicDomain(self.kinds, store, choices=choices, symbols=self.symbols)
        execute(domain, {}, body)
        return Step(domain.path, tuple(domain.store), tuple(domain.failures))

    def move(self, level: Level) -> Move:
        """Returns a step of any action from a state."""
        before = level.store
        bits = Bits()
        steps: list[Step] = []
        for action in self.model.actions:
            with required_by(action.span):
                steps.append(self.ran(action.body, before, bits.again()))
        failures = [(n, failure) for n, step in enumerate(steps) for failure in step.failures]
        possible = [step for step in steps if step.path is not False]
        if not possible:
            return Move(False, before, tuple(failures))
        selectors = [terms.fresh_truth("action") for _ in possible[1:]]
        selectors.append(True if not selectors else terms.fresh_truth("action"))
        store = [
            values.exclusive(kind, selectors, [step.store[index] for step in possible], old)
            for index, (kind, old) in enumerate(zip(self.kinds, before, strict=True))
        ]
        implied = [
            terms.either(terms.negation(selected), step.path)
            for selected, step in zip(selectors, possible, strict=True)
        ]
        path = terms.both(terms.either(*selectors), terms.at_most_one(selectors), *implied)
        return Move(path, tuple(store), tuple(failures))

    # ------------------------------------------------------------ properties

    def property(self, number: int, level: Level, after: Level | None = None) -> Answer:
        """Evaluates a property in a state, or on a step to the state ``after``."""
        domain = SymbolicDomain(
            self.kinds,
            level.store,
            None if after is None else after.store,
            lambda action, choices: self.enabled(level, action, choices),
            symbols=self.symbols,
        )
        with required_by(self.model.properties[number].span):
            return predicate(domain, self.model.properties[number].body)

    def truth(self, condition: Expr, level: Level) -> Truth:
        """Evaluates a condition on states that is always defined."""
        domain = SymbolicDomain(self.kinds, level.store, symbols=self.symbols)
        answer = predicate(domain, condition)
        assert not answer.failures, "the condition may have no value"
        return answer.holds

    def relation(self, condition: Expr, level: Level, after: Sequence[Tree]) -> Truth:
        """Evaluates a condition on a step to a state with the values ``after``. The condition must
        always be defined.
        """
        domain = SymbolicDomain(self.kinds, level.store, after, symbols=self.symbols)
        answer = predicate(domain, condition)
        assert not answer.failures, "the condition may have no value"
        return answer.holds

    def bounds(self, level: Level, constraints: Sequence[int]) -> Bounds:
        """Evaluates the constraints. Each constraint is only evaluated if the constraints before it
        do not exclude the state.
        """
        inside: Truth = True
        failures: list[tuple[int, Failure]] = []
        for number in constraints:
            answer = self.property(number, level)
            failures += [(number, failure) for failure in answer.under(inside)]
            inside = terms.both(inside, terms.negation(answer.violated))
        return Bounds(inside, tuple(failures))

    def end(self, level: Level, searched: SearchedProperties, deadlock: bool) -> End:
        """Describes whether a state without successors is dead. With ``deadlock``, the state is
        dead if it is inside the constraints and satisfies no terminal condition. Each terminal
        condition is only evaluated if those before it are false.
        """
        ends = searched.terminals
        answers = [self.property(number, level) for number in ends]
        inside: Truth = True
        if deadlock or any(answer.failures for answer in answers):
            inside = self.bounds(level, searched.constraints).inside
        failures: list[tuple[int, Failure]] = []
        if any(answer.failures for answer in answers):
            open_ = terms.both(inside, self.stuck(level))
            for number, answer in zip(ends, answers, strict=True):
                failures += [(number, failure) for failure in answer.under(open_)]
                open_ = terms.both(open_, answer.violated)
        last = terms.both(inside, *(answer.violated for answer in answers))
        if not deadlock or last is False:
            return End(False, tuple(failures))
        moves = [self.enabled(level, number, ()) for number in range(len(self.model.actions))]
        return End(terms.both(last, terms.negation(terms.either(*moves))), tuple(failures))

    def stuck(self, level: Level) -> Truth:
        """Returns the condition that no action fails and none leads to another state. Losses and
        duplications may lead to other states.
        """
        moves: list[Truth] = []
        for number, action in enumerate(self.model.actions):
            for step in self.tried(level, number, ()):
                moves += [failure.condition for failure in step.failures]
                if action.kind in ("ordinary", "environment"):
                    columns = zip(level.store, step.store, self.kinds, strict=True)
                    same = [order.equal(a, b, kind) for a, b, kind in columns if a is not b]
                    moves.append(terms.both(step.path, terms.negation(terms.both(*same))))
        return terms.negation(terms.either(*moves))

    def enabled(self, level: Level, action: int, choices: Sequence[V]) -> Truth:
        """Returns the condition that some vector of choices that begins with ``choices`` runs to
        its end or fails.
        """
        values_given = tuple(values.known(choice.tree) for choice in choices)
        key = None if None in values_given else (action, values_given)
        if key in level.enabled:
            return level.enabled[key]
        conditions: list[Truth] = []
        for step in self.tried(level, action, choices):
            conditions += [step.path, *(failure.condition for failure in step.failures)]
        result = terms.either(*conditions)
        if key is not None:
            level.enabled[key] = result
        return result

    def tried(self, level: Level, action: int, choices: Sequence[V]) -> Iterator[Step]:
        """Yields the effect of an action for every vector of choices that begins with
        ``choices``.
        """
        body = self.model.actions[action].body
        picks = first_picks(body, len(choices))
        choice_values = {pick.slot: choice for pick, choice in zip(picks, choices, strict=True)}
        odometer = Odometer()
        while True:
            domain = SymbolicDomain(
                self.kinds, level.store, choices=odometer, given=choice_values, symbols=self.symbols
            )
            execute(domain, {}, body)
            yield Step(domain.path, tuple(domain.store), tuple(domain.failures))
            if not odometer.advance():
                return

    # ------------------------------------------------------------ what a model of the solver says

    def constants_in(self, model: Any) -> tuple[Choice, ...]:
        """Returns the values of the symbolic constants in a solver model."""
        pairs = zip(self.model.symbols, self.symbols, strict=True)
        return tuple(
            Choice(symbol.path, symbol.type, values.value_in(model, tree, symbol.type))
            for symbol, tree in pairs
        )

    def state_in(self, model: Any, level: Level) -> State:
        """Returns the state that a level has in a solver model."""
        pairs = zip(level.store, self.kinds, strict=True)
        return tuple(values.value_in(model, tree, kind) for tree, kind in pairs)
