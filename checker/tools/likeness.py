"""Checks whether two models with the same variables are equivalent if a part of the state is
hidden, that is, whether there is a bisimulation that ignores this part.

Related states agree in all other parts and in the properties. Each step from one state has a
matching step from the other, with the same action and the same properties, to a related state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from fencepost.checker.search.state_graph import StateGraph, distinct_steps
from fencepost.spec.core.ir import Enabled, Model, Property
from fencepost.spec.core.traverse import variables_read, walk
from fencepost.spec.core.types import (
    Bag,
    Field,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    State,
    Type,
    Union,
    opened,
)
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError
from fencepost.spec.semantics.stepper import Runner

Part: TypeAlias = tuple[str, ...]
"""The name of a variable, followed by the fields that lead to a part of it. The name of a variant
precedes its field.
"""

_View: TypeAlias = Callable[[Any], Any]

STILL = "steps that change nothing"
"""A difference between equivalent models that is not a part of the state."""

ROUNDS = 12
"""The maximum number of rounds. Each round hides further parts."""

_Step: TypeAlias = "tuple[int, int | None]"
"""The number of an action and the number of its target state. The target is None if the step
fails.
"""


@dataclass(frozen=True, slots=True)
class _Graph:
    """The reachable states of a model, by number, and the distinct steps from each."""

    model: Model
    initial: Sequence[int]
    states: Sequence[State]
    rows: Sequence[Sequence[_Step]]


def alike_but_for(
    left: Model, right: Model, limit: int, asked: Collection[int] | None = None
) -> tuple[str, ...] | None:
    """Finds the parts of the state that may differ between two equivalent models, and returns them
    as ``variable.field``. `STILL` among them means steps that change nothing. Returns None if the
    models are not equivalent, or if a model has more than ``limit`` steps.

    Properties on single states and steps are compared, too. If a property in ``asked`` (or any
    property, if that is None) is temporal or a refinement, the result is None.

    The search hides the first difference between states that are reached in the same way, until
    there is no difference. It may return None although hiding other parts would work.
    """
    numbers = range(len(left.properties)) if asked is None else asked
    if any(_of_behaviours(left.properties[number]) for number in numbers):
        # Fairness depends on whether a step changes anything, even if the change is in a hidden
        # part.
        return None
    left_graph = _graph(left, limit)
    right_graph = None if left_graph is None else _graph(right, limit)
    if left_graph is None or right_graph is None:
        return None
    parts = _parts(left_graph, right_graph)
    if parts is None:
        parts = _parts(_without_loops(left_graph), _without_loops(right_graph))
        return None if parts is None else (*parts, STILL)
    return parts


def _of_behaviours(prop: Property) -> bool:
    return prop.kind.of_behaviours or prop.abstract is not None


def _parts(left: _Graph, right: _Graph) -> tuple[str, ...] | None:
    """Returns the parts of the state that must be hidden to make two graphs equivalent, or None if
    this was not found possible.
    """
    hidden: frozenset[Part] = frozenset()
    for _ in range(ROUNDS):
        sight = _Sight(left.model, hidden)
        more = _first_difference(left, right, sight)
        if more is None:
            return None
        if not more:
            alike = _bisimilar(left, right, sight)
            return tuple(sorted(".".join(part) for part in hidden)) if alike else None
        hidden |= more
    return None


def _graph(model: Model, limit: int) -> _Graph | None:
    """Builds the graph of a model. Returns None if it has more than ``limit`` steps, or if an
    initial state fails.
    """
    runner = Runner(model)
    initial = [step.state for step in runner.initial()]
    if None in initial:
        return None
    graph = StateGraph[int](state for state in initial if state is not None)
    for state in graph.states:
        steps = distinct_steps(runner, state)
        limit -= len(steps)
        if limit < 0:
            return None
        graph.expand(steps)
    return _Graph(model, range(graph.levels.count(0)), graph.states, graph.rows)


def _without_loops(graph: _Graph) -> _Graph:
    """Removes the steps that change nothing from the graph. The values of properties that ask
    whether an action is enabled stay the same.
    """
    rows = [[step for step in row if step[1] != source] for source, row in enumerate(graph.rows)]
    return replace(graph, rows=rows)


class _Sight:
    """Maps a state to its visible part: everything except the ``hidden`` parts."""

    def __init__(self, model: Model, hidden: frozenset[Part]) -> None:
        names = {part[0] for part in hidden}
        variables = [*enumerate(model.variables)]
        self.hidden = frozenset(number for number, variable in variables if variable.name in names)
        """The numbers of the variables that have a hidden part."""
        self.model = model
        self._views = [
            (number, view(variable.type, (variable.name,), hidden))
            for number, variable in variables
            if number in self.hidden
        ]
        self._seen: dict[State, State] = {}

    def __call__(self, state: State) -> State:
        if state not in self._seen:
            seen: list[Any] = [*state]
            for number, of_value in self._views:
                seen[number] = of_value(seen[number])
            self._seen[state] = tuple(seen)
        return self._seen[state]

    def apart(self, state: State, other: State) -> frozenset[Part]:
        """Returns the visible parts that differ between two states."""
        return frozenset(
            part
            for variable, a, b in zip(self.model.variables, self(state), self(other), strict=True)
            if a != b
            for part in differing(a, b, variable.type, (variable.name,))
        )


def _first_difference(left: _Graph, right: _Graph, sight: _Sight) -> frozenset[Part] | None:
    """Traverses two graphs in parallel up to the first steps that do not match.

    Returns the parts of the state that differ between two of these steps with the same action, or
    None if there are no such steps. Returns an empty set if all steps match.
    """
    first, second = ([(0, number) for number in graph.initial] for graph in (left, right))
    level = _matched(left, right, first, second, sight)
    if not isinstance(level, list):
        return level
    seen = {*level}
    while level:
        below: list[tuple[int, int]] = []
        for left_state, right_state in level:
            pairs = _matched(left, right, left.rows[left_state], right.rows[right_state], sight)
            if not isinstance(pairs, list):
                return pairs
            below += (pair for pair in pairs if pair not in seen)
            seen.update(pairs)
        level = below
    return frozenset()


def _matched(
    one: _Graph, other: _Graph, steps: Iterable[_Step], others: Iterable[_Step], sight: _Sight
) -> list[tuple[int, int]] | frozenset[Part] | None:
    """Matches the steps of two graphs that have the same action and lead to states with equal
    visible parts.

    If every step has a match, returns the pairs of states that matching steps lead to. Otherwise
    returns the visible parts that differ between two unmatched steps of the same action, or None if
    there are no such steps.
    """
    left, right = _by_sight(one, steps, sight), _by_sight(other, others, sight)
    if left.keys() == right.keys():
        return [
            (a, b)
            for key in left
            for a, b in zip(left[key], right[key], strict=False)
            if a is not None and b is not None
        ]
    gone = [key for key in left if key not in right]
    new = [key for key in right if key not in left]
    for key in gone:
        for twin in new:
            a, b = left[key][0], right[twin][0]
            if key[0] == twin[0] and a is not None and b is not None:
                return sight.apart(one.states[a], other.states[b])
    return None


def _by_sight(
    graph: _Graph, steps: Iterable[_Step], sight: _Sight
) -> dict[tuple[int, State | None], list[int | None]]:
    by_key: dict[tuple[int, State | None], list[int | None]] = {}
    for action, after in steps:
        key = action, None if after is None else sight(graph.states[after])
        by_key.setdefault(key, []).append(after)
    return by_key


def _bisimilar(left: _Graph, right: _Graph, sight: _Sight) -> bool:
    """Returns whether each initial state of one graph is bisimilar to one of the other, and vice
    versa.

    The states of both graphs are partitioned together. The partition is refined until all states of
    a class have steps with the same labels to the same classes.
    """
    classes: list[int] = []
    numbers: dict[object, int] = {}
    targets: list[list[tuple[object, int]]] = []
    judges = _judges(left.model, right.model, sight)
    offsets = 0, len(left.states)
    for graph, (of_state, of_step), offset in zip((left, right), judges, offsets, strict=True):
        for state, row in zip(graph.states, graph.rows, strict=True):
            key = sight(state), of_state(state)
            classes.append(numbers.setdefault(key, len(numbers)))
            targets.append(
                [
                    ((action, None), -1)
                    if after is None
                    else ((action, of_step(state, graph.states[after])), offset + after)
                    for action, after in row
                ]
            )
    count = len(numbers)
    while True:
        finer: dict[object, int] = {}
        into = [*classes, -1]  # A failed step leads nowhere.
        classes = [
            finer.setdefault(
                (into[number], frozenset((label, into[t]) for label, t in edges)), len(finer)
            )
            for number, edges in enumerate(targets)
        ]
        if len(finer) == count:
            break
        count = len(finer)
    first, second = (
        {classes[offset + number] for number in graph.initial}
        for graph, offset in zip((left, right), offsets, strict=True)
    )
    return first == second


_Judges: TypeAlias = tuple[Callable[[State], object], Callable[[State, State], object]]


def _judges(left: Model, right: Model, sight: _Sight) -> tuple[_Judges, _Judges]:
    """Returns functions that evaluate the properties of each model in a state and on a step. They
    only evaluate properties that may differ although the visible parts of the states are equal.
    """
    open_ = [
        number
        for number, (left_property, right_property) in enumerate(
            zip(left.properties, right.properties, strict=True)
        )
        if not _of_behaviours(left_property)
        and (left_property.body != right_property.body or _reads(left_property.body, sight.hidden))
    ]
    return _judge(left, open_), _judge(right, open_)


def _reads(body: object, hidden: frozenset[int]) -> bool:
    # Whether an action is enabled depends on everything that its guard reads.
    return bool(variables_read(body) & hidden) or any(isinstance(n, Enabled) for n in walk(body))


def _judge(model: Model, open_: list[int]) -> _Judges:
    runner = Runner(model)
    of_states = [number for number in open_ if model.properties[number].kind.of_states]
    of_steps = [number for number in open_ if model.properties[number].kind.of_steps]

    def holds(number: int, state: State, after: State | None = None) -> bool | None:
        try:
            return runner.holds(number, state, after)
        except (EvaluationError, AssertionFailed):
            return None

    def state_judge(state: State) -> object:
        return tuple(holds(number, state) for number in of_states)

    def step_judge(state: State, after: State) -> object:
        return tuple(holds(number, state, after) for number in of_steps)

    return state_judge, step_judge


def view(kind: Type, part: Part, hidden: frozenset[Part]) -> _View:
    """Returns a projection of values of the type ``kind`` at ``part``. It replaces every hidden
    part by the same constant, and keeps the structure of the value.
    """
    if part in hidden:
        return _nothing
    if not any(other[: len(part)] == part for other in hidden):
        return _everything
    match kind:
        case Record(fields=fields):
            return _of_fields(fields, part, hidden)
        case Union(variants=variants):
            views = [_of_fields(one.fields, (*part, one.name), hidden) for one in variants]
            return lambda value: (value[0], *views[value[0]](value[1:]))
        case Option(element) | Seq(element) | Map(_, element):
            of_element = view(element, part, hidden)
            return lambda value: tuple(map(of_element, value))
        case Set(element) | Bag(element):
            of_element = view(element, part, hidden)
            return lambda value: tuple(sorted(map(of_element, value)))
        case Scalar():
            return _everything
        case _:
            assert_never(kind)


def _of_fields(fields: tuple[Field, ...], part: Part, hidden: frozenset[Part]) -> _View:
    views = [view(field.type, (*part, field.name), hidden) for field in fields]
    return lambda value: tuple(
        projection(inner) for projection, inner in zip(views, value, strict=True)
    )


def _nothing(value: Any) -> Any:
    return ()


def _everything(value: Any) -> Any:
    return value


def differing(left: Any, right: Any, kind: Type, part: Part) -> Iterator[Part]:
    """Yields the smallest parts that differ between two values of a type. For unordered collections
    of equal size, the elements that only one of them contains are paired in order, and the
    differences within the pairs are yielded. Hidden parts are equal in both values.
    """
    if left == right:
        return
    (case, mine), (other_case, others) = opened(kind, left), opened(kind, right)
    if case != other_case or len(mine) != len(others) or isinstance(kind, Scalar):
        yield part
    elif isinstance(kind, Set | Bag):
        here: Counter[Any] = Counter(left)
        there: Counter[Any] = Counter(right)
        gone, new = (here - there).elements(), (there - here).elements()
        for a, b in zip(gone, new, strict=True):
            yield from differing(a, b, kind.element, part)
    else:
        if isinstance(kind, Union):
            part = (*part, kind.variants[case].name)
        for (field, a), (_, b) in zip(mine, others, strict=True):
            yield from differing(a, b, field.type, (*part, field.name) if field.name else part)
