"""What a model says, as formulas: initial states, steps, properties, enabledness, deadlock.

It knows neither the paths that are searched nor the solver that is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.checker.symbolic import terms, unknowns, values
from fencepost.checker.symbolic.choices import Bits, Odometer
from fencepost.checker.symbolic.domain import Failure, SymbolicDomain
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree, V
from fencepost.spec.ir import Expr, Model, Statement
from fencepost.spec.semantics import evaluate, execute


@dataclass(frozen=True, slots=True)
class Step:
    """What an action does from a state: when it is completed, where it leads, how it fails."""

    path: Truth
    store: tuple[Tree, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A step of any action; each failure stands with the number of the action."""

    path: Truth
    store: tuple[Tree, ...]
    failures: tuple[tuple[int, Failure], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A property of a state: its truth, where it has one (``defined``), and where it fails."""

    truth: Truth
    defined: Truth
    failures: tuple[Failure, ...]

    @property
    def holds(self) -> Truth:
        """Whether it has a value, and is true."""
        return terms.both(self.defined, self.truth)


class Formulas:
    """The formulas of a model. ``symbols`` are its symbolic constants, as unknowns; ``facts`` hold
    of them, and ``failures`` are where one of their conditions has no value.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds = [variable.type for variable in model.variables]
        made = [unknowns.fresh(symbol.type, symbol.path) for symbol in model.symbols]
        self.symbols = tuple(tree for tree, _ in made)
        self.facts = [fact for _, fact in made]
        self.failures: list[Failure] = []
        for symbol in model.symbols:
            if symbol.condition is not None:
                domain = SymbolicDomain((), (), symbols=self.symbols)
                condition = evaluate(domain, {}, symbol.condition)
                self.facts.append(terms.both(domain.path, condition.tree))
                self.failures += domain.failures

    def numbers(self, chosen: frozenset[int] | set[int], *kinds: str) -> list[int]:
        """The properties of these kinds among the chosen, in declaration order."""
        return [n for n in sorted(chosen) if self.model.properties[n].kind in kinds]

    # ------------------------------------------------------------ steps

    def initial(self) -> Step:
        """The choice of an initial state."""
        return self.ran(
            self.model.initial, [values.least_tree(kind) for kind in self.kinds], Bits()
        )

    def ran(self, body: Statement, store: Sequence[Tree], choices: Bits) -> Step:
        """A statement that begins in a state."""
        domain = SymbolicDomain(self.kinds, store, choices=choices, symbols=self.symbols)
        execute(domain, {}, body)
        return Step(domain.path, tuple(domain.store), tuple(domain.failures))

    def move(self, before: Sequence[Tree]) -> Move:
        """A step of some action from a state."""
        bits = Bits()
        steps = [self.ran(action.body, before, bits.again()) for action in self.model.actions]
        failures = [(n, failure) for n, step in enumerate(steps) for failure in step.failures]
        possible = [step for step in steps if step.path is not False]
        if not possible:
            return Move(False, tuple(before), tuple(failures))
        which = [terms.fresh_truth("action") for _ in possible[1:]]
        which.append(True if not which else terms.fresh_truth("action"))
        store = [
            values.exclusive(kind, which, [step.store[place] for step in possible], old)
            for place, (kind, old) in enumerate(zip(self.kinds, before, strict=True))
        ]
        taken = [
            terms.either(terms.negation(here), step.path)
            for here, step in zip(which, possible, strict=True)
        ]
        path = terms.both(terms.either(*which), terms.at_most_one(which), *taken)
        return Move(path, tuple(store), tuple(failures))

    # ------------------------------------------------------------ properties

    def property(
        self, number: int, store: Sequence[Tree], after: Sequence[Tree] | None = None
    ) -> Answer:
        """A property of a state, or of a step (``after``: the state behind it)."""
        domain = SymbolicDomain(
            self.kinds,
            store,
            after,
            lambda action, who: self.enabled(store, action, who),
            symbols=self.symbols,
        )
        value = evaluate(domain, {}, self.model.properties[number].body)
        return Answer(value.tree, domain.path, tuple(domain.failures))

    def truth(self, condition: Expr, store: Sequence[Tree]) -> Truth:
        """A condition on states that has a value in each."""
        domain = SymbolicDomain(self.kinds, store, symbols=self.symbols)
        return evaluate(domain, {}, condition).tree

    def enabled(self, store: Sequence[Tree], action: int, instance: V | None) -> Truth:
        """Whether some vector of choices runs to its end, or fails."""
        odometer = Odometer()
        found: list[Truth] = []
        while True:
            domain = SymbolicDomain(
                self.kinds, store, choices=odometer, instance=instance, symbols=self.symbols
            )
            execute(domain, {}, self.model.actions[action].body)
            found += [domain.path, *(failure.condition for failure in domain.failures)]
            if not odometer.advance():
                return terms.either(*found)

    def dead(self, store: Sequence[Tree], constraints: Sequence[int], ends: Sequence[int]) -> Truth:
        """No action can be taken, none of the ``ends`` holds, and the constraints do."""
        terminal = terms.either(*(self.property(number, store).truth for number in ends))
        inside = terms.both(*(self.property(number, store).truth for number in constraints))
        if terminal is True or inside is False:
            return False
        moves = [self.enabled(store, number, None) for number in range(len(self.model.actions))]
        return terms.both(inside, terms.negation(terms.either(*moves, terminal)))
