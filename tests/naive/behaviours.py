"""Decides whether a fair behaviour violates a formula, by the definition in docs/language.md.

The second interpreter explores the graph of the model. The product of this graph with the tableau
of the formula has a node for each state and each guess of the ``until`` formulas that hold there.
Local rules determine which guesses fit a state and which pairs fit a step. A violation is a
reachable strongly connected set of nodes that fulfils all guesses and satisfies every unit of
fairness.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, assert_never

from tests.naive.expressions import Place
from tests.naive.statements import Course, courses, is_enabled

from fencepost.spec.core import formulas, ir
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.types import (
    Bag,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    State,
    Type,
    Union,
    Value,
)

Unit: TypeAlias = tuple[int, tuple[Value, ...]]
"""A fairness constraint, and in a family of constraints the first choices in its steps."""
MAX_NODES = 3_000


class TooLarge(Exception):
    """The graph or the product has more than `MAX_NODES` nodes."""


class Fails(Exception):
    """A step fails, so behaviours of the model are not defined."""


# ---------------------------------------------------------------- the graph


@dataclass(slots=True)
class Graph:
    """The states that are reachable from the initial ones and satisfy the constraints.

    For each state, `steps` has its successors, each with the units that take this step, and
    `possible` has the units with an enabled step. `cut` is set if a state violates a constraint.
    """

    initial: list[State] = field(default_factory=list[State])
    steps: dict[State, dict[State, frozenset[Unit]]] = field(
        default_factory=dict[State, "dict[State, frozenset[Unit]]"]
    )
    possible: dict[State, frozenset[Unit]] = field(default_factory=dict[State, "frozenset[Unit]"])
    cut: bool = False

    def units(self) -> frozenset[Unit]:
        return frozenset[Unit]().union(*self.possible.values())


def graph_of(model: ir.Model) -> Graph:
    """Explores a model and returns its graph. Raises `Fails`, `Undefined` and `TooLarge`."""
    constraints = [prop.body for prop in model.properties if str(prop.kind) == "constraint"]

    def inside(state: State) -> bool:
        return all(_context(model, state).truth(body) for body in constraints)

    graph = Graph()
    nothing: State = (False,) * len(model.variables)
    started = {course.at.state for course in _completed(model, nothing, model.initial)}
    graph.initial = sorted(filter(inside, started))
    graph.cut = len(graph.initial) < len(started)
    waiting = list(graph.initial)
    while waiting:
        state = waiting.pop()
        if state in graph.steps:
            continue
        counting: dict[State, set[Unit]] = {}
        for number, action in enumerate(model.actions):
            for course in _completed(model, state, action.body):
                after = course.at.state
                units = counting.setdefault(after, set())
                if _seen(model, state) != _seen(model, after):
                    units |= _units(model, state, number, course)
        graph.possible[state] = frozenset[Unit]().union(*counting.values())
        graph.steps[state] = {
            after: frozenset(units) for after, units in sorted(counting.items()) if inside(after)
        }
        graph.cut |= len(graph.steps[state]) < len(counting)
        waiting += graph.steps[state]
        if len(graph.steps) > MAX_NODES:
            raise TooLarge
    return graph


def _units(model: ir.Model, state: State, action: int, course: Course) -> set[Unit]:
    """Returns the units that cover a step, which may still change nothing but ghosts."""
    shown = [choice for choice in course.chosen if choice[0] is not None]
    choices = [plain(value, kind) for _, value, kind in shown]
    units: set[Unit] = set()
    for number, constraint in enumerate(model.fairness):
        if constraint.condition is not None:
            condition = model.properties[constraint.condition].body
            if not _context(model, state).truth(condition):
                continue
        for part in constraint.members:
            if part.action == action and [*part.choices] == choices[: len(part.choices)]:
                units.add((number, tuple(choices[: constraint.choices])))
    return units


def _context(model: ir.Model, state: State) -> Place:
    return Place(model, state, enabled=is_enabled)


def _completed(model: ir.Model, state: State, body: ir.Statement) -> Iterator[Course]:
    for course in courses(Course(Place(model, state)), body):
        if course.failed is not None:
            raise Fails
        if course.completed:
            yield course


def _seen(model: ir.Model, state: State) -> tuple[Value, ...]:
    """Returns the values of a state without its ghosts."""
    pairs = zip(model.variables, state, strict=True)
    return tuple(plain(value, variable.type) for variable, value in pairs if not variable.ghost)


def plain(value: Value, kind: Type) -> Value:
    """Returns a value without its ghost fields."""
    if isinstance(kind, Scalar):
        return value
    assert isinstance(value, tuple)
    match kind:
        case Record(fields=fields):
            pairs = zip(fields, value, strict=True)
            return tuple(plain(part, item.type) for item, part in pairs if not item.ghost)
        case Union(variants=variants):
            tag, *payload = value
            assert isinstance(tag, int)
            pairs = zip(variants[tag].fields, payload, strict=True)
            return tag, *(plain(part, item.type) for item, part in pairs if not item.ghost)
        case Option(element) | Seq(element):
            return tuple(plain(part, element) for part in value)
        case Bag(element):
            return tuple(sorted(plain(part, element) for part in value))
        case Set(element):
            return tuple(sorted({plain(part, element) for part in value}))
        case Map(value=element):
            return tuple(plain(part, element) for part in value)
        case _:
            assert_never(kind)


# ---------------------------------------------------------------- formulas


@dataclass(frozen=True, slots=True)
class Predicate:
    """A formula that holds if property number ``number`` of the model is true."""

    number: int


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Core


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A formula that holds if all its ``parts`` hold, and thus is true without parts."""

    parts: tuple[Core, ...]


@dataclass(frozen=True, slots=True)
class Until:
    left: Core
    right: Core


Core: TypeAlias = Predicate | Negation | Conjunction | Until
"""A formula that uses only the operators of the tableau."""
TRUE = Conjunction(())


def core(formula: Formula) -> Core:
    """Rewrites a formula by the definitions of the operators that `Core` lacks."""
    match formula:
        case formulas.Holds(number):
            return Predicate(number)
        case formulas.Chosen(body=body):
            return core(body)
        case formulas.Not(operand):
            return Negation(core(operand))
        case formulas.And(parts):
            return Conjunction(tuple(map(core, parts)))
        case formulas.Or(parts):
            return Negation(Conjunction(tuple(Negation(core(part)) for part in parts)))
        case formulas.Implies(left, right):
            return _implies(core(left), core(right))
        case formulas.Iff(left, right):
            first, second = core(left), core(right)
            return Conjunction((_implies(first, second), _implies(second, first)))
        case formulas.Always(operand):
            return Negation(Until(TRUE, Negation(core(operand))))
        case formulas.Eventually(operand):
            return Until(TRUE, core(operand))
        case formulas.Until(left, right):
            return Until(core(left), core(right))
        case formulas.LeadsTo(left, right):
            return core(formulas.Always(formulas.Implies(left, formulas.Eventually(right))))
        case _:
            assert_never(formula)


def _implies(left: Core, right: Core) -> Core:
    return Negation(Conjunction((left, Negation(right))))


def parts_of(formula: Core) -> Iterator[Core]:
    """Yields a formula and its subformulas, innermost first."""
    match formula:
        case Predicate():
            inner: tuple[Core, ...] = ()
        case Negation(operand):
            inner = (operand,)
        case Conjunction(parts):
            inner = parts
        case Until(left, right):
            inner = left, right
        case _:
            assert_never(formula)
    for part in inner:
        yield from parts_of(part)
    yield formula


def true(formula: Core, predicates: frozenset[int], guess: dict[Until, bool]) -> bool:
    """Checks whether a formula holds, given the true predicates and the guesses of ``until``
    formulas.
    """
    match formula:
        case Predicate(number):
            return number in predicates
        case Negation(operand):
            return not true(operand, predicates, guess)
        case Conjunction(parts):
            return all(true(part, predicates, guess) for part in parts)
        case Until():
            return guess[formula]
        case _:
            assert_never(formula)


# ---------------------------------------------------------------- the product


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A state with a guess. Its sets of ``until`` formulas are bit masks.

    Those in ``hold`` are guessed to be true, those in ``waiting`` still need their right side to
    become true, and the right side of those in ``done`` is true.
    """

    state: State
    hold: int
    waiting: int
    done: int


@dataclass(slots=True)
class Product:
    """The product of a graph with the tableau of a formula."""

    model: ir.Model
    graph: Graph
    formula: Core
    until: list[Until] = field(default_factory=list[Until])
    _predicates: set[int] = field(default_factory=set[int])
    _nodes: dict[State, list[Node]] = field(default_factory=dict[State, list[Node]])

    def __post_init__(self) -> None:
        parts = list(parts_of(self.formula))
        self.until = list(dict.fromkeys(part for part in parts if isinstance(part, Until)))
        self._predicates = {part.number for part in parts if isinstance(part, Predicate)}

    def true_in(self, state: State) -> frozenset[int]:
        """Returns the predicates of the formula that are true in a state."""
        context = _context(self.model, state)
        return frozenset(
            n for n in self._predicates if context.truth(self.model.properties[n].body)
        )

    def nodes(self, state: State) -> list[Node]:
        """Returns a node for each guess that fits the state."""
        nodes = self._nodes.get(state)
        if nodes is not None:
            return nodes
        predicates = self.true_in(state)
        guesses: list[dict[Until, bool]] = [{}]
        for until in self.until:
            grown: list[dict[Until, bool]] = []
            for guess in guesses:
                options: tuple[bool, ...] = (False, True)
                if true(until.right, predicates, guess):
                    options = (True,)
                elif not true(until.left, predicates, guess):
                    options = (False,)
                grown += [{**guess, until: option} for option in options]
            guesses = grown
            if len(guesses) > MAX_NODES:
                raise TooLarge
        self._nodes[state] = [self._node(state, predicates, guess) for guess in guesses]
        return self._nodes[state]

    def _node(self, state: State, predicates: frozenset[int], guess: dict[Until, bool]) -> Node:
        hold = waiting = done = 0
        for number, until in enumerate(self.until):
            hold |= guess[until] << number
            right = true(until.right, predicates, guess)
            done |= right << number
            waiting |= (not right and true(until.left, predicates, guess)) << number
        return Node(state, hold, waiting, done)

    def violating(self) -> list[Node]:
        """Returns the nodes of initial states that violate the formula."""
        return [
            node
            for state in self.graph.initial
            for node in self.nodes(state)
            if not true(
                self.formula,
                self.true_in(state),
                {until: bool(node.hold >> n & 1) for n, until in enumerate(self.until)},
            )
        ]

    def after(self, node: Node) -> Iterator[Node]:
        """Yields the successors of a node. An ``until`` that waits keeps its value."""
        for state in self.graph.steps[node.state]:
            for other in self.nodes(state):
                if not (other.hold ^ node.hold) & node.waiting:
                    yield other

    def reachable(self) -> dict[Node, list[Node]]:
        """Returns the nodes reachable from those that violate the formula, with their
        successors.
        """
        successors: dict[Node, list[Node]] = {}
        waiting = self.violating()
        while waiting:
            node = waiting.pop()
            if node not in successors:
                successors[node] = list(self.after(node))
                waiting += successors[node]
                if len(successors) > MAX_NODES:
                    raise TooLarge
        return successors

    def fair(self, nodes: set[Node], edges: dict[Node, list[Node]]) -> set[Node] | None:
        """Returns a strongly connected subset that a fair behaviour can visit forever, or None.

        A single node is such a set as well, since a behaviour may stutter.
        """
        left = [nodes]
        while left:
            for part in components(left.pop(), edges):
                taken = {
                    unit
                    for node in part
                    for other in edges[node]
                    if other in part
                    for unit in self.graph.steps[node.state][other.state]
                }
                possible = [self.graph.possible[node.state] for node in part]
                owed = frozenset[Unit]().union(*possible) - taken
                everywhere = {unit for unit in owed if all(unit in units for units in possible)}
                if not all(self._strong(unit) for unit in everywhere):
                    continue
                bad = {
                    node
                    for node in part
                    if any(self._strong(unit) for unit in self.graph.possible[node.state] & owed)
                }
                done = 0
                for node in part:
                    done |= node.done
                bad |= {node for node in part if node.hold & ~done}
                if not bad:
                    return part
                left.append(part - bad)
        return None

    def _strong(self, unit: Unit) -> bool:
        return self.model.fairness[unit[0]].strong


def components(nodes: Iterable[Node], edges: dict[Node, list[Node]]) -> list[set[Node]]:
    """Returns the strongly connected components of a part of the product (Kosaraju's algorithm)."""
    inside = set(nodes)
    order: list[Node] = []
    visited: set[Node] = set()
    for root in inside:
        stack = [(root, iter(edges[root]))] if root not in visited else []
        visited.add(root)
        while stack:
            node, others = stack[-1]
            other = next(
                (
                    successor
                    for successor in others
                    if successor in inside and successor not in visited
                ),
                None,
            )
            if other is None:
                order.append(node)
                stack.pop()
            else:
                visited.add(other)
                stack.append((other, iter(edges[other])))
    back: dict[Node, list[Node]] = {node: [] for node in inside}
    for node in inside:
        for other in edges[node]:
            if other in inside:
                back[other].append(node)
    parts: list[set[Node]] = []
    for root in reversed(order):
        if root not in visited:
            continue
        visited.remove(root)
        part, waiting = {root}, [root]
        while waiting:
            for other in back[waiting.pop()]:
                if other in visited:
                    visited.remove(other)
                    part.add(other)
                    waiting.append(other)
        parts.append(part)
    return parts


def violated(model: ir.Model, graph: Graph, formula: Formula) -> bool:
    """Checks whether a fair behaviour of the graph violates a formula."""
    product = Product(model, graph, core(formula))
    for state in graph.steps:
        product.true_in(state)
    edges = product.reachable()
    return product.fair(set(edges), edges) is not None


# ---------------------------------------------------------------- lassos


def wrong_lasso(
    model: ir.Model, graph: Graph, formula: Formula, states: Sequence[State], loop: int
) -> str | None:
    """Explains why a trace is not a fair behaviour that violates the formula; returns None if it is
    one.

    ``states`` are those of the trace, whose last state equals the one before position ``loop``.
    """
    stays = loop == len(states) - 1
    word = list(states) if stays else list(states[:-1])
    back = len(word) - 1 if stays else loop - 1
    if not stays and states[loop - 1] != states[-1]:
        return "the cycle does not end where it begins"
    if states[0] not in graph.initial:
        return "the first state is not initial"
    for before, after in pairwise(states):
        if after not in graph.steps[before]:
            return f"no step leads from {before} to {after}"
    if _along(Product(model, graph, core(formula)), word, back):
        return "the formula holds along the trace"
    cycle = [] if stays else [*states[loop - 1 :]]
    round_ = {unit for before, after in pairwise(cycle) for unit in graph.steps[before][after]}
    possible = [graph.possible[state] for state in word[back:]]
    for unit in graph.units() - round_:
        owed = any if model.fairness[unit[0]].strong else all
        if owed(unit in some for some in possible):
            return f"not fair to {model.fairness[unit[0]].label} {unit[1]}"
    return None


def _along(product: Product, word: Sequence[State], back: int) -> bool:
    """Checks whether the formula holds along a word whose last state is followed by the one at
    ``back``.
    """
    predicates = [product.true_in(state) for state in word]
    values: list[dict[Until, bool]] = [{} for _ in word]
    for until in product.until:
        for start in range(len(word)):
            position = start
            holds = False
            # A condition that stays false within the word and one cycle never becomes true.
            for _ in range(2 * len(word)):
                if true(until.right, predicates[position], values[position]):
                    holds = True
                    break
                if not true(until.left, predicates[position], values[position]):
                    break
                position = position + 1 if position + 1 < len(word) else back
            values[start][until] = holds
    return true(product.formula, predicates[0], values[0])
