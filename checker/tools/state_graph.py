"""The whole state graph of a small model: every reachable state by level, every step between them.

Level n holds the states that n steps reach and fewer do not. It does not know how a graph is
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.checker.outcome import Step
from fencepost.checker.tools.property_values import Judgement, judge, judge_step
from fencepost.checker.trace.steps import title
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner


@dataclass(slots=True)
class Vertex:
    """A state. ``judgement`` is what the properties say of it; outside a constraint no step from it
    is in the graph. ``failures`` are the steps that fail there, and what else has no value, each
    with what is wrong.
    """

    state: State
    level: int
    judgement: Judgement
    failures: tuple[tuple[str, str], ...] = ()
    deadlock: bool = False

    @property
    def outside(self) -> bool:
        """Whether it does not meet a constraint."""
        return self.judgement.outside

    @property
    def bad(self) -> bool:
        """Whether there is something wrong in this state."""
        return self.judgement.bad or bool(self.failures) or self.deadlock


@dataclass(slots=True)
class Edge:
    """Steps from one vertex to another, by position. ``judgement`` is what the step invariants say
    of them.
    """

    source: int
    target: int
    labels: list[str]
    judgement: Judgement


@dataclass(slots=True)
class StateGraph:
    """Vertices in the order of a search, initial ones first; edges by source. ``failures`` are the
    evaluation errors of initial states.
    """

    model: Model
    vertices: list[Vertex] = field(default_factory=list[Vertex])
    edges: list[Edge] = field(default_factory=list[Edge])
    failures: list[Site] = field(default_factory=list[Site])

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
        self.terminals = model.searched(()).terminals
        self.graph = StateGraph(model)
        self.numbers: dict[State, int] = {}

    def run(self) -> StateGraph:
        for successor in self.runner.initial():
            if successor.failure is not None:
                self.graph.failures.append(self.model.sites[successor.failure.site])
            if successor.state is not None:
                self.number(successor.state, 0)
        if self.graph.failures:
            return self.graph
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
        vertex = Vertex(state, level, judge(self.runner, None, state))
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
            step = judge_step(self.runner, vertex.state, successor.state)
            edges[target] = Edge(source, target, [label], step)
        if not edges and not failures:
            vertex.deadlock = not self.ends(vertex.state, failures)
        vertex.failures = tuple(failures)
        self.graph.edges += edges.values()

    def ends(self, state: State, failures: list[tuple[str, str]]) -> bool:
        """Whether a state may have no successor; of a `terminal` without a value that is told, and
        nothing else.
        """
        for number in self.terminals:
            try:
                if self.runner.holds(number, state):
                    return True
            except EvaluationError as error:
                title = self.model.properties[number].title
                failures.append((title, self.model.sites[error.site].message))
                return True
        return False
