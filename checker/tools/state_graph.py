"""The whole state graph of a small model: every reachable state by level, every step between them;
and a comparison of two such graphs.

Level n holds the states that n steps reach and fewer do not.
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
class JudgedGraph:
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


def state_graph(model: Model, most: int) -> JudgedGraph:
    """The graph; raises `TooLarge` if it has more than ``most`` states."""
    runner = Runner(model)
    initial = [*runner.initial()]
    failures = [model.sites[one.failure.site] for one in initial if one.failure is not None]
    graph = JudgedGraph(model, failures=failures)
    found = StateGraph[str]((one.state for one in initial if one.state is not None), most=most)
    for source, state in enumerate(found.states):
        vertex = Vertex(state, found.levels[source], judge(runner, None, state))
        graph.vertices.append(vertex)
        if failures or vertex.outside:
            found.expand(())
            continue
        steps: list[tuple[str, State]] = []
        wrong: list[tuple[str, str]] = []
        for successor in runner.successors(state):
            label = title(model, Step(successor.action, successor.choices, successor.state))
            if successor.failure is not None:
                wrong.append((label, model.sites[successor.failure.site].message))
            elif successor.state is not None:
                steps.append((label, successor.state))
        found.expand(steps)
        edges: dict[State, Edge] = {}
        for (label, after), (_, target) in zip(steps, found.rows[source], strict=True):
            assert target is not None
            if after not in edges:
                edges[after] = Edge(source, target, [], judge_step(runner, state, after))
            edges[after].labels.append(label)
        graph.edges += edges.values()
        vertex.deadlock = not steps and not wrong and not _ends(runner, state, wrong)
        vertex.failures = tuple(wrong)
    return graph


def _ends(runner: Runner, state: State, failures: list[tuple[str, str]]) -> bool:
    """Whether a state may have no successor. A `terminal` without a value is added to ``failures``;
    then this is its only problem.
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
"""Maximum number of steps of graphs that are compared."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A first state, on a shortest path, with different steps in the two models.

    ``way`` names the actions on the path. ``gone`` and ``new`` name actions with a step in only one
    of the models; a failing step counts. ``changed`` are the variables that differ between steps of
    the same action.
    """

    way: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[str, ...]


def same_graph(left: Model, right: Model, most: int = COMPARED) -> bool:
    """Whether the graphs are equal; False if that takes more than ``most`` steps to determine."""
    return compared(left, right, most) == (None, True)


def compared(left: Model, right: Model, most: int) -> tuple[Parting | None, bool]:
    """Returns the first difference or None, and whether the graphs were compared completely.

    The result is (None, False) if that takes more than ``most`` steps.
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
