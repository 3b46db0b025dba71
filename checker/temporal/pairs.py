"""The graph for formulas and fairness constraints with conditions on steps.

A condition on steps is true in the state before a step, so the states of this graph are *pairs*: a
state, and a bit set of the conditions that the next step meets. A behaviour can only stay forever
in a state whose next step meets none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, cast

from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.decide import Graph, graph
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.units import Outgoing, Unit
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner, Successor

Step: TypeAlias = tuple[frozenset[Unit], int]
"""The fairness units that a step counts for, and the bits of the conditions that it meets."""


class Record(Protocol):
    """The steps of a module, as a search has recorded them."""

    @property
    def runner(self) -> Runner: ...

    @property
    def bits(self) -> Mapping[int, int]:
        """The bits of the conditions on steps, by the numbers of their properties."""
        ...

    def initial(self) -> Iterator[State]: ...

    def has(self, state: State) -> bool:
        """Returns whether a state is expanded."""
        ...

    def steps(self, state: State) -> Mapping[State, Step]:
        """Returns the steps from a state to other states."""
        ...

    def enabled(self, state: State) -> frozenset[Unit]: ...

    def holds(self, number: int, state: State) -> bool:
        """Returns whether a condition on states holds."""
        ...


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record of a finished search."""

    runner: Runner
    bits: Mapping[int, int]
    first: Sequence[State]
    to: Mapping[State, Mapping[State, Step]]
    possible: Mapping[State, frozenset[Unit]]

    def initial(self) -> Iterator[State]:
        return iter(self.first)

    def has(self, state: State) -> bool:
        return state in self.to

    def steps(self, state: State) -> Mapping[State, Step]:
        return self.to.get(state, {})

    def enabled(self, state: State) -> frozenset[Unit]:
        return self.possible[state]

    def holds(self, number: int, state: State) -> bool:
        return self.runner.holds(number, state)


class Pairs(Runner, Mapping[State, Outgoing]):
    """A recorded module as a graph of pairs: its initial pairs, and those that follow each one."""

    def __init__(self, record: Record) -> None:
        self.model = record.runner.model
        self._record = record

    def graph(self, levels: int | None, decision: Decision, total: int) -> Graph:
        """Returns the graph for `decide.violation`; see `decide.graph` for the arguments."""
        return graph(self, levels, decision, self, total, _may_stay)

    def of(self, state: State) -> Iterator[State]:
        """Yields the pairs of a state with the conditions that one of its next steps meets."""
        met = {bits for _, bits in self._record.steps(state).values()}
        for bits in sorted(met | {0}):
            yield (*state, bits)

    def initial(self, target: State | None = None) -> Iterator[Successor]:
        for state in self._record.initial():
            for pair in self.of(state):
                yield Successor(None, (), pair, None)

    def holds(self, property: int, state: State, after: State | None = None) -> bool:
        bit, met = self._record.bits.get(property), state[-1]
        if bit is None:
            return self._record.holds(property, state[:-1])
        assert isinstance(met, int)
        return bool(met & bit)

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and self._record.has(cast("State", pair)[:-1])

    def __getitem__(self, pair: State) -> Outgoing:
        state, met, record = pair[:-1], pair[-1], self._record
        targets = {
            following: units
            for after, (units, bits) in record.steps(state).items()
            if bits == met
            for following in self.of(after)
        }
        return {after: targets[after] for after in sorted(targets)}, record.enabled(state)

    # The search looks pairs up, and never asks for all of them.
    def __iter__(self) -> Iterator[State]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


def without_bits(lasso: Lasso) -> Lasso:
    """Returns the lasso of states for a lasso of pairs."""
    return Lasso(tuple(pair[:-1] for pair in lasso.stem), tuple(pair[:-1] for pair in lasso.cycle))


def _may_stay(pair: State) -> bool:
    return not pair[-1]
