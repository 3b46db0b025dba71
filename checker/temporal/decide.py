"""Reference implementation of liveness checking: decides whether every fair behaviour satisfies a
formula.

The state graph is built again from Python values, and multiplied with each automaton of the negated
formula. A *pair* is a state and a node of the automaton. A violation is a fair cycle of pairs that
postpones no promise forever and meets the conditions of the automaton. Such a cycle lies in a
strongly connected set of pairs that provides all of this. The set is found by refining components
repeatedly (Emerson and Lei, 1987).

A fixed rule, shared by all engines, selects one of the lassos. The cycle begins at the least pair
on any such cycle, ordered by the number of steps to the pair, its state, the automaton, and the
node. From this pair, the cycle repeatedly takes the shortest path to the nearest outstanding
obligation, and finally returns. Stuttering steps are neither counted nor shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fencepost.checker.request import Phase
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.state_graph import StateGraph
from fencepost.checker.temporal.automaton import Automaton, violating
from fencepost.checker.temporal.lasso import BOOLEANS, Lasso, holds
from fencepost.checker.temporal.paths import Edge, Moves, Pair, Round, Tree, Walk, path_to
from fencepost.checker.temporal.units import Outgoing, Unit, outgoing, without_ghosts
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner


@dataclass(frozen=True, slots=True)
class Graph:
    """The expanded states of a model, and the steps between them.

    ``reached`` labels each step with the units that the step serves; the steps of a state are
    sorted by target. Stuttering steps are excluded. ``possible`` contains for each state the units
    that some step counts for, including steps to targets that do not enter the graph.
    """

    runner: Runner
    reached: StateGraph[frozenset[Unit]]
    possible: dict[State, frozenset[Unit]]
    may_stay: Callable[[State], bool] = lambda state: True
    """Whether a behaviour may stay in a state."""

    @property
    def model(self) -> Model:
        return self.runner.model

    @property
    def initial(self) -> list[State]:
        """The initial states, in ascending order."""
        return sorted(self.reached.states[: self.reached.levels.count(0)])

    def steps(self, state: State) -> Iterator[tuple[State, frozenset[Unit]]]:
        """Yields, for each step from a state, the target and the units that the step serves.
        Targets are in ascending order.
        """
        number = self.reached.numbers[state]
        assert number is not None
        for units, target in self.reached.rows[number]:
            if target is not None:
                yield self.reached.states[target], units


SHARES: Mapping[Phase, float] = {"graph": 0.65, "product": 0.2, "components": 0.15}
"""Approximate shares of the phases in the time for a property."""


def graph(
    runner: Runner,
    levels: int | None = None,
    decision: Decision | None = None,
    among: Mapping[State, Outgoing] | None = None,
    total: int = 0,
    may_stay: Callable[[State], bool] = lambda state: True,
) -> Graph:
    """Builds the graph of the states in the first ``levels`` levels, or in all levels if it is
    None. ``total`` is the expected number of states, or 0 if unknown. Steps must not fail. With
    ``among``, the graph contains only the states in that mapping, which also provides their results
    of `outgoing`. For ``may_stay`` see `Graph`.
    """
    decision = decision or Decision(runner.model)
    decision.enter("graph", total)
    seen = without_ghosts(runner.model)
    constraints = runner.model.searched(()).constraints

    def enters(state: State, level: int) -> bool:
        expanded = (levels is None or level < levels) and (among is None or state in among)
        return expanded and all(runner.holds(number, state) for number in constraints)

    initial = {successor.state for successor in runner.initial() if successor.state is not None}
    result = Graph(runner, StateGraph(sorted(initial), enters), {}, may_stay)
    for state in result.reached.states:
        decision.look()
        targets, possible = outgoing(runner, seen, state) if among is None else among[state]
        result.possible[state] = possible
        result.reached.expand((units, after) for after, units in targets.items())
        decision.edges += len(targets)
        decision.advance(1)
    return result


def violation(graph: Graph, formula: Formula, decision: Decision | None = None) -> Lasso | None:
    """Returns the lasso that violates a formula and is selected by the rule of this module, or None
    if every behaviour in the graph satisfies the formula. Raises `TooLarge`.
    """
    decision = decision or Decision(graph.model)
    decision.enter("automaton")
    best: tuple[tuple[int, State], _Search, Pair, frozenset[Pair]] | None = None
    for automaton in violating(formula, decision.look):
        search = _Search(graph, automaton, decision)
        cycle = search.least()
        if cycle is not None and (best is None or cycle[0] < best[0]):
            best = cycle[0], search, *cycle[1:]
    return None if best is None else best[1].lasso(*best[2:])


class _Search:
    """The search with one automaton.

    For each state, ``allowed`` contains the nodes that are compatible with the state, ``asks`` the
    conditions that a cycle through the state must meet, and ``meets`` the conditions that the state
    meets.
    """

    def __init__(self, graph: Graph, automaton: Automaton, decision: Decision) -> None:
        self.graph = graph
        self.decision = decision
        self.automaton = automaton
        self.allowed: dict[State, frozenset[int]] = {}
        self.asks: dict[State, frozenset[int]] = {}
        self.meets: dict[State, frozenset[int]] = {}
        predicates = automaton.predicates
        decision.enter("product")
        for state in graph.reached.states:
            decision.look()
            truth = {number: graph.runner.holds(number, state) for number in predicates}
            fitting = (n for n, node in enumerate(automaton.nodes) if node.allows(truth))
            self.allowed[state] = frozenset(fitting)
            self.asks[state], self.meets[state] = conditions_at(automaton, truth)

    @property
    def _first(self) -> list[Pair]:
        nodes = self.automaton.initial
        return [(s, n) for s in self.graph.initial for n in nodes if n in self.allowed[s]]

    def least(self) -> tuple[tuple[int, State], Pair, frozenset[Pair]] | None:
        """Returns the least pair on a fair cycle, preceded by its number of steps and its state,
        and followed by the component of the cycle. Returns None if no fair cycle exists.
        """
        moves = _Moves(self)
        levels = distances(moves, self._first)
        self.decision.enter("components", len(levels))
        parts = components(moves, levels)
        fair = [fair_part for part in parts for fair_part in self.fair(part)]
        if not fair:
            return None
        self.decision.enter("lasso")
        start, part = min(
            ((pair, part) for part in fair for pair in part),
            key=lambda candidate: (levels[candidate[0]], candidate[0]),
        )
        return (levels[start], start[0]), start, part

    def lasso(self, start: Pair, part: frozenset[Pair]) -> Lasso:
        """Builds the lasso whose cycle begins at ``start`` and lies in the component ``part``."""
        stem = path_to(_Moves(self), self._first, start)
        walk = Walk(_Moves(self, part), self.automaton, self)
        cycle = Round(walk, self.automaton, self.strong).cycle(start)
        return Lasso(unrepeated(stem), tuple(cycle))

    def possible(self, state: State) -> frozenset[Unit]:
        return self.graph.possible[state]

    def strong(self, unit: Unit) -> bool:
        return self.graph.model.fairness[unit.constraint].strong

    def fair(self, part: frozenset[Pair]) -> Iterator[frozenset[Pair]]:
        """Yields the largest sets of pairs within a component in which a behaviour can cycle
        forever, fairly and without postponing a promise forever.
        """
        self.decision.components += 1
        self.decision.advance(len(part))
        nodes = self.automaton.nodes
        for promise in range(self.automaton.promises):
            if all(promise in nodes[node].puts_off for _, node in part):
                return
        states = {state for state, _ in part}
        met = frozenset[int]().union(*(self.meets[state] for state in states))
        if any(self.asks[state] - met for state in states):
            yield from self._fair_among(pair for pair in part if not self.asks[pair[0]] - met)
            return
        inside = _Moves(self, part)
        taken = {unit for pair in part for edge in inside.edges(pair) for unit in edge.units}
        possible = [self.graph.possible[state] for state in states]
        always = possible[0].intersection(*possible)
        if any(unit not in taken for unit in always if not self.strong(unit)):
            return
        ever = possible[0].union(*possible)
        owed = {unit for unit in ever if self.strong(unit) and unit not in taken}
        if not owed:
            yield part
            return
        yield from self._fair_among(
            pair for pair in part if not owed & self.graph.possible[pair[0]]
        )

    def _fair_among(self, pairs: Iterable[Pair]) -> Iterator[frozenset[Pair]]:
        rest = frozenset(pairs)
        for smaller in components(_Moves(self, rest), rest):
            yield from self.fair(smaller)


def conditions_at(
    automaton: Automaton, truth: Mapping[int, bool]
) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the numbers of the acceptance conditions that a cycle through a state must meet, and
    of those that the state itself meets.
    """
    values = {number: [value] for number, value in truth.items()}

    def true(formula: Formula) -> bool:
        return holds(formula, values, 1, 0, BOOLEANS)[0]

    numbered = list(enumerate(automaton.conditions))
    return (
        frozenset(number for number, condition in numbered if not true(condition.stays)),
        frozenset(number for number, condition in numbered if true(condition.meets)),
    )


class _Moves:
    """The moves of pairs, restricted to those in ``part`` unless it is None; see `paths.Moves`."""

    def __init__(self, search: _Search, part: frozenset[Pair] | None = None) -> None:
        self._graph = search.graph
        self._allowed = search.allowed
        self._nodes = search.automaton.nodes
        self._part = part
        self._look = search.decision.look

    def _has(self, pair: Pair) -> bool:
        state, node = pair
        return node in self._allowed[state] and (self._part is None or pair in self._part)

    def stays(self, pair: Pair) -> list[Pair]:
        state, node = pair
        if not self._graph.may_stay(state):
            return []
        candidates = ((state, after) for after in self._nodes[node].successors)
        return [candidate for candidate in candidates if self._has(candidate)]

    def edges(self, pair: Pair) -> list[Edge]:
        self._look()
        state, node = pair
        return [
            Edge((after, following), units)
            for after, units in self._graph.steps(state)
            for following in self._nodes[node].successors
            if self._has((after, following))
        ]


def distances(moves: Moves, first: Sequence[Pair]) -> dict[Pair, int]:
    """Returns the pairs that can be reached from ``first``, with their distances in steps."""
    tree = Tree(moves, first)
    distance_of = dict.fromkeys(tree.last, 0)
    level = 0
    while tree.grow():
        level += 1
        distance_of.update(dict.fromkeys(tree.last, level))
    return distance_of


def components(moves: Moves, pairs: Iterable[Pair]) -> Iterator[frozenset[Pair]]:
    """Yields the strongly connected components of ``pairs`` that contain a cycle (Tarjan, 1972,
    without recursion). The pairs must be closed under ``moves``.
    """

    def following(pair: Pair) -> Iterator[Pair]:
        yield from moves.stays(pair)
        yield from (edge.to for edge in moves.edges(pair))

    numbers: dict[Pair, int] = {}
    low: dict[Pair, int] = {}
    stack: list[Pair] = []
    waiting: set[Pair] = set()
    calls: list[tuple[Pair, Iterator[Pair]]] = []

    def enter(pair: Pair) -> None:
        numbers[pair] = low[pair] = len(numbers)
        stack.append(pair)
        waiting.add(pair)
        calls.append((pair, following(pair)))

    for root in pairs:
        if root not in numbers:
            enter(root)
        while calls:
            pair, rest = calls[-1]
            for after in rest:
                if after not in numbers:
                    enter(after)
                    break
                if after in waiting:
                    low[pair] = min(low[pair], numbers[after])
            else:
                calls.pop()
                if calls:
                    before = calls[-1][0]
                    low[before] = min(low[before], low[pair])
                if low[pair] == numbers[pair]:
                    part = [stack.pop()]
                    while part[-1] != pair:
                        part.append(stack.pop())
                    waiting.difference_update(part)
                    if len(part) > 1 or pair in moves.stays(pair):
                        yield frozenset(part)


def unrepeated(path: Iterable[Pair]) -> tuple[State, ...]:
    """Returns the states along a path, without consecutive repetitions."""
    states: list[State] = []
    for state, _ in path:
        if not states or state != states[-1]:
            states.append(state)
    return tuple(states)
