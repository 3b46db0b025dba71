"""The complete state graph of a small model: every reachable state, by level, and every step
between them. Also compares two such graphs.

Level n contains the states that can be reached in n steps but not in fewer. Drawing graphs is the
duty of other modules.
"""

from __future__ import annotations

from dataclasses import field

from fencepost.checker.outcome import Step
from fencepost.checker.search.state_graph import StateGraph, distinct_steps
from fencepost.checker.tools.property_values import Judgement, judge, judge_step
from fencepost.checker.trace.steps import title
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner


@dataclass(slots=True)
class Vertex:
    """A state. ``judgement`` judges the properties in this state. If the state is outside a
    constraint, the graph contains no steps from it. ``failures`` lists the steps from it that fail
    and the terminals that are undefined, each with a message.
    """

    state: State
    level: int
    judgement: Judgement
    failures: tuple[tuple[str, str], ...] = ()
    deadlock: bool = False

    @property
    def outside(self) -> bool:
        """Whether the state violates a constraint."""
        return self.judgement.outside

    @property
    def bad(self) -> bool:
        """Whether there is a problem in this state."""
        return self.judgement.bad or bool(self.failures) or self.deadlock


@dataclass(slots=True)
class Edge:
    """All steps from one vertex to another. The vertices are given by their positions, and
    ``judgement`` judges the step invariants.
    """

    source: int
    target: int
    labels: list[str]
    judgement: Judgement


@dataclass(slots=True)
class JudgedGraph:
    """The vertices in the order of a search, initial states first, and the edges by source.
    ``failures`` holds the sites of evaluation errors in initial states.
    """

    model: Model
    vertices: list[Vertex] = field(default_factory=list[Vertex])
    edges: list[Edge] = field(default_factory=list[Edge])
    failures: list[Site] = field(default_factory=list[Site])

    @property
    def levels(self) -> list[list[int]]:
        """The positions of the vertices in each level."""
        levels: list[list[int]] = []
        for number, vertex in enumerate(self.vertices):
            if vertex.level == len(levels):
                levels.append([])
            levels[vertex.level].append(number)
        return levels


def state_graph(model: Model, most: int) -> JudgedGraph:
    """Builds the graph of a model. Raises `TooLarge` if it has more than ``most`` states."""
    runner = Runner(model)
    initial = [*runner.initial()]
    failures = [
        model.sites[successor.failure.site]
        for successor in initial
        if successor.failure is not None
    ]
    graph = JudgedGraph(model, failures=failures)
    explored = StateGraph[str](
        (successor.state for successor in initial if successor.state is not None), most=most
    )
    for source, state in enumerate(explored.states):
        vertex = Vertex(state, explored.levels[source], judge(runner, None, state))
        graph.vertices.append(vertex)
        if failures or vertex.outside:
            explored.expand(())
            continue
        steps: list[tuple[str, State]] = []
        wrong: list[tuple[str, str]] = []
        for successor in runner.successors(state):
            label = title(model, Step(successor.action, successor.choices, successor.state))
            if successor.failure is not None:
                wrong.append((label, model.sites[successor.failure.site].message))
            elif successor.state is not None:
                steps.append((label, successor.state))
        explored.expand(steps)
        edges: dict[State, Edge] = {}
        for (label, after), (_, target) in zip(steps, explored.rows[source], strict=True):
            assert target is not None
            if after not in edges:
                edges[after] = Edge(source, target, [], judge_step(runner, state, after))
            edges[after].labels.append(label)
        graph.edges += edges.values()
        vertex.deadlock = not steps and not wrong and not _ends(runner, state, wrong)
        vertex.failures = tuple(wrong)
    return graph


def _ends(runner: Runner, state: State, failures: list[tuple[str, str]]) -> bool:
    """Returns whether a state may have no successor. If a `terminal` is undefined, adds it to
    ``failures`` and returns True, so that the state is not reported as a deadlock, too.
    """
    model = runner.model
    for number in model.searched(()).terminals:
        try:
            if runner.holds(number, state):
                return True
        except EvaluationError as error:
            failures.append((model.properties[number].title, model.sites[error.site].message))
            return True
    return False


COMPARED = 200_000
"""The maximum number of steps of graphs that are compared."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A first state, on a shortest path, whose steps differ between the two models.

    ``way`` names the actions on the path. ``gone`` and ``new`` name the actions with a step that
    only one of the models has, including steps that fail. ``changed`` names the variables that
    differ between steps of the same action.
    """

    way: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[str, ...]


def same_graph(left: Model, right: Model, most: int = COMPARED) -> bool:
    """Returns whether the graphs are equal. Returns False if more than ``most`` steps are needed to
    find out.
    """
    return compared(left, right, most) == (None, True)


def compared(left: Model, right: Model, most: int) -> tuple[Parting | None, bool]:
    """Returns the first difference or None, and whether the graphs were compared completely.

    Returns (None, False) if more than ``most`` steps are needed.
    """
    left_runner, right_runner = Runner(left), Runner(right)
    first = {step.state: None for step in left_runner.initial()}
    if first.keys() != {step.state for step in right_runner.initial()}:
        return Parting((), ("init",), ("init",), ()), False
    if None in first:
        return None, False
    graph = StateGraph[int](state for state in first if state is not None)
    for number, state in enumerate(graph.states):
        steps, others = distinct_steps(left_runner, state), distinct_steps(right_runner, state)
        if set(steps) != set(others):
            way = tuple(left.actions[action].name for action in graph.path(number))
            return _apart(left, way, steps, others), False
        most -= len(steps)
        if most < 0:
            return None, False
        graph.expand(steps)
    return None, True


def _apart(
    model: Model,
    way: tuple[str, ...],
    steps: list[tuple[int, State | None]],
    others: list[tuple[int, State | None]],
) -> Parting:
    gone = [step for step in steps if step not in set(others)]
    new = [step for step in others if step not in set(steps)]
    changed = {
        variable.name
        for action, left in gone
        for action_of_right, right in new
        if action == action_of_right and left is not None and right is not None
        for variable, a, b in zip(model.variables, left, right, strict=True)
        if a != b
    }
    return Parting(
        way,
        tuple(dict.fromkeys(model.actions[action].name for action, _ in gone)),
        tuple(dict.fromkeys(model.actions[action].name for action, _ in new)),
        tuple(variable.name for variable in model.variables if variable.name in changed),
    )
