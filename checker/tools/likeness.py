"""Whether two models with the same variables are alike but for a part of the state: a bisimulation,
in which that part is out of sight.

States that are alike have the same values in everything else, the same properties are true in them,
and to each step of the one there is a step of the same action of the other, of which the same
properties are true, and which leads to a state that is alike. It does not know why the models
differ, nor what is searched for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from fencepost.checker.search.state_graph import StateGraph, distinct_steps
from fencepost.spec.core.analysis import variables_read
from fencepost.spec.core.ir import Enabled, Model, Property
from fencepost.spec.core.traverse import walk
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
)
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError
from fencepost.spec.semantics.stepper import Runner

Part: TypeAlias = tuple[str, ...]
"""The name of a variable, and of the fields that lead to the part; of a variant its name stands
before that of its field.
"""

_View: TypeAlias = Callable[[Any], Any]

STILL = "steps that change nothing"
"""What graphs may be alike but for, beside parts of the state."""

ROUNDS = 12
"""How often something more may be put out of sight."""

_Step: TypeAlias = "tuple[int, int | None]"
"""The number of an action, and that of the target; None if the step fails."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """The reachable states of a model by number, each with its distinct steps."""

    model: Model
    initial: Sequence[int]
    states: Sequence[State]
    rows: Sequence[Sequence[_Step]]


def alike_but_for(
    left: Model, right: Model, most: int, asked: Collection[int] | None = None
) -> tuple[str, ...] | None:
    """The parts of the state, as ``variable.field``, but for which two models are alike; `STILL`
    stands for steps that change nothing. None where they are not alike, or where that takes more
    than ``most`` steps of a model to see. It is about the properties ``asked`` for (None: all), and
    those of single states and steps beside them; of behaviours it knows nothing.

    What differs first between a state of the one and that of the other which is reached in the same
    way is put out of sight, until nothing does. The answer may be None where other parts would do.
    """
    numbers = range(len(left.properties)) if asked is None else asked
    if any(_of_behaviours(left.properties[number]) for number in numbers):
        # What is owed to an action asks whether a step changes anything, be it out of sight.
        return None
    one = _graph(left, most)
    other = None if one is None else _graph(right, most)
    if one is None or other is None:
        return None
    parts = _parts(one, other)
    if parts is None:
        parts = _parts(_without_loops(one), _without_loops(other))
        return None if parts is None else (*parts, STILL)
    return parts


def _of_behaviours(one: Property) -> bool:
    return one.kind.of_behaviours or one.abstract is not None


def _parts(one: _Graph, other: _Graph) -> tuple[str, ...] | None:
    """The parts of the state but for which two graphs are alike, if they are."""
    hidden: frozenset[Part] = frozenset()
    for _ in range(ROUNDS):
        sight = _Sight(one.model, hidden)
        more = _first_difference(one, other, sight)
        if more is None:
            return None
        if not more:
            alike = _bisimilar(one, other, sight)
            return tuple(sorted(".".join(part) for part in hidden)) if alike else None
        hidden |= more
    return None


def _graph(model: Model, most: int) -> _Graph | None:
    """The graph of a model; None where it has more than ``most`` steps, or fails at once."""
    runner = Runner(model)
    initial = [step.state for step in runner.initial()]
    if None in initial:
        return None
    graph = StateGraph[int](state for state in initial if state is not None)
    for state in graph.states:
        steps = distinct_steps(runner, state)
        most -= len(steps)
        if most < 0:
            return None
        graph.expand(steps)
    return _Graph(model, range(graph.levels.count(0)), graph.states, graph.rows)


def _without_loops(graph: _Graph) -> _Graph:
    """Without the steps that change nothing. Whether an action can be taken stays known where a
    property asks for it.
    """
    rows = [[step for step in row if step[1] != source] for source, row in enumerate(graph.rows)]
    return replace(graph, rows=rows)


class _Sight:
    """What is seen of a state: everything but the ``hidden`` parts."""

    def __init__(self, model: Model, hidden: frozenset[Part]) -> None:
        names = {part[0] for part in hidden}
        variables = [*enumerate(model.variables)]
        self.hidden = frozenset(number for number, one in variables if one.name in names)
        """The variables of which a part is not seen."""
        self.model = model
        self._views = [
            (number, view(one.type, (one.name,), hidden))
            for number, one in variables
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
        """The parts in which two states differ, of those that are seen."""
        return frozenset(
            part
            for variable, a, b in zip(self.model.variables, self(state), self(other), strict=True)
            if a != b
            for part in differing(a, b, variable.type, (variable.name,))
        )


def _first_difference(one: _Graph, other: _Graph, sight: _Sight) -> frozenset[Part] | None:
    """The parts in which steps of the same action differ first, where the two graphs are gone
    through side by side; none: no steps do. None: there is a step without a step of that action.
    """
    first, second = ([(0, number) for number in graph.initial] for graph in (one, other))
    level = _matched(one, other, first, second, sight)
    if not isinstance(level, list):
        return level
    seen = {*level}
    while level:
        below: list[tuple[int, int]] = []
        for left, right in level:
            pairs = _matched(one, other, one.rows[left], other.rows[right], sight)
            if not isinstance(pairs, list):
                return pairs
            below += (pair for pair in pairs if pair not in seen)
            seen.update(pairs)
        level = below
    return frozenset()


def _matched(
    one: _Graph, other: _Graph, steps: Iterable[_Step], others: Iterable[_Step], sight: _Sight
) -> list[tuple[int, int]] | frozenset[Part] | None:
    """The states to which steps of the same actions lead that look alike, side by side; or, of the
    first action with others, the parts in which these differ; None: there are none beside them.
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
    found: dict[tuple[int, State | None], list[int | None]] = {}
    for action, after in steps:
        key = action, None if after is None else sight(graph.states[after])
        found.setdefault(key, []).append(after)
    return found


def _bisimilar(one: _Graph, other: _Graph, sight: _Sight) -> bool:
    """Whether to each initial state of the one graph there is one of the other that is alike.

    States are taken apart, those of both graphs together, until all that are left in one class have
    steps with the same labels into the same classes.
    """
    classes: list[int] = []
    known: dict[object, int] = {}
    targets: list[list[tuple[object, int]]] = []
    judges = _judges(one.model, other.model, sight)
    offsets = 0, len(one.states)
    for graph, (of_state, of_step), offset in zip((one, other), judges, offsets, strict=True):
        for state, row in zip(graph.states, graph.rows, strict=True):
            key = sight(state), of_state(state)
            classes.append(known.setdefault(key, len(known)))
            targets.append(
                [
                    ((action, None), -1)
                    if after is None
                    else ((action, of_step(state, graph.states[after])), offset + after)
                    for action, after in row
                ]
            )
    count = len(known)
    while True:
        finer: dict[object, int] = {}
        into = [*classes, -1]  # a step that fails leads nowhere
        classes = [
            finer.setdefault(
                (into[number], frozenset((label, into[t]) for label, t in made)), len(finer)
            )
            for number, made in enumerate(targets)
        ]
        if len(finer) == count:
            break
        count = len(finer)
    first, second = (
        {classes[offset + number] for number in graph.initial}
        for graph, offset in zip((one, other), offsets, strict=True)
    )
    return first == second


_Judges: TypeAlias = tuple[Callable[[State], object], Callable[[State, State], object]]


def _judges(left: Model, right: Model, sight: _Sight) -> tuple[_Judges, _Judges]:
    """What is true in a state, and what of a step, in each of the models: of the properties that
    may be true in the one and false in the other although the states look alike.
    """
    open_ = [
        number
        for number, (one, other) in enumerate(zip(left.properties, right.properties, strict=True))
        if not _of_behaviours(one) and (one.body != other.body or _reads(one.body, sight.hidden))
    ]
    return _judge(left, open_), _judge(right, open_)


def _reads(body: object, hidden: frozenset[int]) -> bool:
    # Whether an action can be taken depends on whatever its guard reads.
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
    """What is left of a value of this type, which is the part ``part``, without the hidden ones. It
    has the form of the value: in place of what is hidden it has the same value everywhere.
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
    return lambda value: tuple(one(inner) for one, inner in zip(views, value, strict=True))


def _nothing(value: Any) -> Any:
    return ()


def _everything(value: Any) -> Any:
    return value


def differing(one: Any, other: Any, kind: Type, part: Part) -> Iterator[Part]:
    """The smallest parts in which two different values of a type differ; of two collections that
    keep no order, and are as large, those of the elements that only one of them has, one by one.
    What is hidden has the same value in both.
    """
    if one == other:
        return
    match kind:
        case Record(fields=fields):
            yield from _of_pairs(one, other, fields, part)
        case Union(variants=variants) if one[0] == other[0]:
            tag: int = one[0]
            variant = variants[tag]
            yield from _of_pairs(one[1:], other[1:], variant.fields, (*part, variant.name))
        case Option(element) | Seq(element) | Map(_, element) if len(one) == len(other):
            for a, b in zip(one, other, strict=True):
                yield from differing(a, b, element, part)
        case Set(element) | Bag(element) if len(one) == len(other):
            here: Counter[Any] = Counter(one)
            there: Counter[Any] = Counter(other)
            gone, new = (here - there).elements(), (there - here).elements()
            for a, b in zip(gone, new, strict=True):
                yield from differing(a, b, element, part)
        case _:
            yield part


def _of_pairs(one: Any, other: Any, fields: tuple[Field, ...], part: Part) -> Iterator[Part]:
    for a, b, field in zip(one, other, fields, strict=True):
        yield from differing(a, b, field.type, (*part, field.name))
