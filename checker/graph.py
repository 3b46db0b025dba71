"""The whole state graph of a small model: every reachable state by level, every step between them.

A level holds the states that so many steps reach and no fewer do. It does not know how a graph is
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.checker.reference.runner import Runner
from fencepost.checker.report.steps import title
from fencepost.checker.result import Step
from fencepost.spec.choices import EvaluationError
from fencepost.spec.ir import Model
from fencepost.spec.types import State


@dataclass(slots=True)
class Vertex:
    """A state. ``violated`` are the invariants that are false there, by number; ``failures`` are
    the steps that fail there, with what is wrong. ``outside``: it does not meet a constraint, and
    no step from it is in the graph.
    """

    state: State
    level: int
    violated: tuple[int, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    deadlock: bool = False
    outside: bool = False

    @property
    def bad(self) -> bool:
        """Whether there is something wrong in this state."""
        return bool(self.violated or self.failures or self.deadlock)


@dataclass(slots=True)
class Edge:
    """Steps from one vertex to another, by position. ``violated`` are the step invariants that
    they violate, by number.
    """

    source: int
    target: int
    labels: list[str]
    violated: tuple[int, ...] = ()


@dataclass(slots=True)
class StateGraph:
    """Vertices in the order of a search, initial ones first; edges by source."""

    model: Model
    vertices: list[Vertex] = field(default_factory=list[Vertex])
    edges: list[Edge] = field(default_factory=list[Edge])

    @property
    def levels(self) -> list[list[int]]:
        """The vertices of each level."""
        found: list[list[int]] = []
        for number, vertex in enumerate(self.vertices):
            if vertex.level == len(found):
                found.append([])
            found[vertex.level].append(number)
        return found


class TooLarge(Exception):
    """There are more states than were asked for."""


def state_graph(model: Model, most: int) -> StateGraph:
    """The graph; raises `TooLarge` where it has more than ``most`` states."""
    return _Building(model, most).run()


class _Building:
    """The search, and what is known of the model's properties."""

    def __init__(self, model: Model, most: int) -> None:
        self.model = model
        self.most = most
        self.runner = Runner(model)
        self.graph = StateGraph(model)
        self.numbers: dict[State, int] = {}

    def run(self) -> StateGraph:
        for successor in self.runner.initial():
            if successor.state is not None:
                self.number(successor.state, 0)
        # The list grows while it is gone through.
        for source, vertex in enumerate(self.graph.vertices):
            if not vertex.outside:
                self.expand(source, vertex)
        return self.graph

    def number(self, state: State, level: int) -> int:
        known = self.numbers.get(state)
        if known is not None:
            return known
        if len(self.numbers) >= self.most:
            raise TooLarge
        vertex = Vertex(
            state,
            level,
            violated=tuple(self.false(("invariant", "lemma"), state)),
            outside=any(True for _ in self.false(("constraint",), state)),
        )
        self.numbers[state] = len(self.graph.vertices)
        self.graph.vertices.append(vertex)
        return self.numbers[state]

    def expand(self, source: int, vertex: Vertex) -> None:
        edges: dict[int, Edge] = {}
        failures: list[tuple[str, str]] = []
        for successor in self.runner.successors(vertex.state):
            label = title(self.model, Step(successor.action, successor.choices, successor.state))
            if successor.failure is not None:
                failures.append((label, self.model.sites[successor.failure.site].message))
                continue
            assert successor.state is not None
            target = self.number(successor.state, vertex.level + 1)
            if target in edges:
                edges[target].labels.append(label)
                continue
            violated = tuple(self.violating(vertex.state, successor.state))
            edges[target] = Edge(source, target, [label], violated)
        vertex.failures = tuple(failures)
        if not edges and not failures:
            terminal = [n for n, p in enumerate(self.model.properties) if p.kind == "terminal"]
            vertex.deadlock = not any(self.holds(n, vertex.state) for n in terminal)
        self.graph.edges += edges.values()

    def false(self, kinds: tuple[str, ...], state: State) -> list[int]:
        """The properties of these kinds that are false in a state, or have no value."""
        numbers = [n for n, p in enumerate(self.model.properties) if p.kind in kinds]
        return [n for n in numbers if not self.holds(n, state)]

    def holds(self, number: int, state: State) -> bool:
        try:
            return self.runner.holds(number, state)
        except EvaluationError:
            return False

    def violating(self, state: State, after: State) -> list[int]:
        """The step invariants that a step violates."""
        found: list[int] = []
        for number, prop in enumerate(self.model.properties):
            if prop.kind != "step invariant":
                continue
            try:
                held = self.runner.holds_of_step(number, state, after)
            except EvaluationError:
                held = False
            if not held:
                found.append(number)
        return found
