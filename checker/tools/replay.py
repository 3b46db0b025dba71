"""Replays a saved trace on a spec and explains where it stops fitting. Also compares two traces.

Values are compared in the form that files use, so that traces from different tools can be compared.
Variables that only one side has are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Literal as OneOf

from fencepost.checker.evaluator.program import runner_of
from fencepost.checker.outcome import Step
from fencepost.checker.printing.json_values import Json
from fencepost.checker.temporal.lasso import Lasso, Reason, concerns, reasons, violates
from fencepost.checker.temporal.units import Unit
from fencepost.checker.trace.document import ShownStep, TraceDocument
from fencepost.checker.trace.itf_values import encode
from fencepost.checker.trace.steps import arguments
from fencepost.checker.trace.value_tree import Atom, Change, changes, text
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Attempt, Choice
from fencepost.spec.text.problem import suggestion

MAX_STATES = 1000
"""The maximum number of candidate states for a step."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Explains why a step cannot be taken: a sentence and, for a disabled action, its false guards.
    ``differences`` lists variables, each with its value in the file and its value in the spec.
    """

    position: int
    reason: str
    guards: tuple[int, ...] = ()
    differences: tuple[tuple[str, Json, Json], ...] = ()
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay. The first ``steps`` steps of the trace fit.

    ``unknown`` names the variables that only the file has, and ``missing`` those that only the spec
    has. ``violated`` says whether the given property is false at the end, or for the infinite
    behaviour; it is None if that is unknown. ``owed`` names the fairness constraints that the
    infinite behaviour does not satisfy. ``states`` holds the possible final states. There are
    several if the trace does not determine all variables.
    """

    steps: int
    misfit: Misfit | None
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    violated: bool | None = None
    owed: tuple[str, ...] = ()
    states: tuple[State, ...] = ()


def replay(
    model: Model, steps: Sequence[ShownStep], prop: str = "", loop: int | None = None
) -> ReplayResult:
    """Replays ``steps``. ``prop`` is the property that the trace violates. ``loop`` is the position
    of the first step of the trace's cycle, or None if it has no cycle.
    """
    return _Replay(model, steps).run(prop, loop)


def canonical(value: Json) -> str:
    """Converts a value to text, so that equal values give equal text. The order of sets and maps
    and the notation of numbers make no difference.
    """
    return json.dumps(_ordered(value), sort_keys=True)


def _ordered(value: Json) -> Json:
    match value:
        case bool() | str() | None:
            return value
        case int():
            return {"#bigint": str(value)}
        case {"#set": list(items)}:
            return {"#set": sorted((_ordered(item) for item in items), key=json.dumps)}
        case {"#map": list(pairs)}:
            return {"#map": sorted((_ordered(pair) for pair in pairs), key=json.dumps)}
        case {"#tup": list(items)}:
            return [_ordered(item) for item in items]
        case list():
            return [_ordered(item) for item in value]
        case dict():
            return {key: _ordered(item) for key, item in value.items()}
        case float():
            return value


class _Replay:
    """A replay in progress. ``shared`` holds the variables that both sides have."""

    def __init__(self, model: Model, steps: Sequence[ShownStep]) -> None:
        self.model = model
        self.steps = steps
        self.runner = runner_of(model)
        recorded = {name for step in steps for name in step.data or ()}
        names = [variable.name for variable in model.variables]
        self.shared = [(n, v) for n, v in enumerate(model.variables) if v.name in recorded]
        self.unknown = tuple(sorted(recorded - set(names)))
        self.missing = tuple(name for name in names if name not in recorded)

    def run(self, prop: str, loop: int | None) -> ReplayResult:
        levels: list[list[State]] = []
        for position, step in enumerate(self.steps):
            result = self.next(position, step, levels[-1] if levels else [])
            if isinstance(result, Misfit):
                return ReplayResult(position, result, self.unknown, self.missing)
            levels.append(result)
        violated = self.violated(prop, levels, loop) if prop else None
        owed = self.owed(prop, levels, loop) if violated is False and loop is not None else ()
        last = tuple(levels[-1]) if levels else ()
        return ReplayResult(len(self.steps), None, self.unknown, self.missing, violated, owed, last)

    def next(self, position: int, step: ShownStep, states: list[State]) -> list[State] | Misfit:
        """Returns the states that a step can lead to, or the reason why it cannot be taken."""
        if position == 0 and not self.shared:
            return Misfit(position, "the spec has none of the variables of the trace")
        if position == 0:
            initial = [s.state for s in self.runner.initial() if s.state is not None]
            return self.agreeing(position, step, initial, "no initial state matches the first one")
        actions = [*range(len(self.model.actions))]
        action = step.act.action
        if action:
            actions = [n for n in actions if self.model.actions[n].name == action]
            if not actions:
                hint = suggestion(action, [action.name for action in self.model.actions])
                return Misfit(position, f'the spec has no action "{action}"{hint}')
        tried = [(n, a) for s in states for n in actions for a in self.runner.attempts(n, s)]
        chosen = [(n, a) for n, a in tried if self.agrees(n, a, step)]
        done = [attempt.state for _, attempt in chosen if attempt.state is not None]
        failed = [attempt for _, attempt in chosen if attempt.failure is not None]
        if step.data is None:
            if failed:
                return []
            if done:
                return Misfit(position, "it failed when it was saved, but completes here")
        if done:
            return self.agreeing(position, step, done, "it leads to another state")
        if failed and failed[0].failure is not None:
            site = self.model.sites[failed[0].failure.site]
            return Misfit(position, f"it fails here: {site.message}", site=site)
        guards = {a.guard for _, a in chosen if a.guard is not None}
        if not action:
            return Misfit(position, "no action leads there")
        # The guards of a module are not known.
        reason = (
            "it cannot be taken"
            if guards or self.model.is_opaque
            else "none of its choices matches the trace"
        )
        return Misfit(position, reason, tuple(sorted(guards)))

    def agrees(self, action: int, attempt: Attempt, step: ShownStep) -> bool:
        """Returns whether the choices that the attempt has made agree with the file."""
        if step.arguments is None:
            return True
        own_choices = dict(arguments(self.model, Step(action, attempt.choices, None)))
        if attempt.guard is None and set(own_choices) != set(step.arguments):
            return False
        return all(
            name in step.arguments and self.same(choice, step.arguments[name])
            for name, choice in own_choices.items()
        )

    def same(self, choice: Choice, recorded: Json) -> bool:
        return canonical(encode(choice.value, choice.type)) == canonical(recorded)

    def agreeing(
        self, position: int, step: ShownStep, states: Sequence[State], reason: str
    ) -> list[State] | Misfit:
        """Returns the states that match the file's state, or a misfit if there are none."""
        assert step.data is not None
        wanted = [canonical(step.data[v.name]) for _, v in self.shared if v.name in step.data]
        numbers = [(n, v) for n, v in self.shared if v.name in step.data]
        matching = [
            state
            for state in dict.fromkeys(states)
            if [canonical(encode(state[n], v.type)) for n, v in numbers] == wanted
        ]
        if matching:
            return matching[:MAX_STATES]
        if not states:
            return Misfit(position, "there is no initial state")
        nearest = min(
            (tuple(self.differences(state, step.data)) for state in dict.fromkeys(states)), key=len
        )
        return Misfit(position, reason, differences=nearest)

    def differences(
        self, state: State, recorded: Mapping[str, Json]
    ) -> Iterator[tuple[str, Json, Json]]:
        for number, variable in self.shared:
            if variable.name in recorded:
                own = encode(state[number], variable.type)
                if canonical(own) != canonical(recorded[variable.name]):
                    yield variable.name, recorded[variable.name], own

    def violated(self, prop: str, levels: list[list[State]], loop: int | None) -> bool | None:
        """Returns whether the property is false at the end, in any of the possible states. Returns
        None if that is unknown.
        """
        number = next((n for n, p in enumerate(self.model.properties) if p.name == prop), None)
        if number is None or not levels:
            return None
        kind, formula = self.model.properties[number].kind, self.model.properties[number].formula
        try:
            if formula is not None:
                if loop is None:
                    return False
                about = (w for w in self.lassos(levels, loop) if concerns(self.runner, number, w))
                judged = (self.judged(formula, lasso) for lasso in about)
                return any(wrong and None not in fair.values() for wrong, fair in judged)
            earlier: Sequence[State | None] = [None]
            if kind.of_steps and not (kind.of_initial_states and len(levels) == 1):
                earlier = levels[-2] if len(levels) > 1 else []
            places = (kind.place(old, new) for old in earlier for new in levels[-1])
            return any(not self.runner.holds(number, *place) for place in places)
        except EvaluationError:
            return True

    def judged(self, formula: Formula, lasso: Lasso) -> tuple[bool, dict[Unit, Reason | None]]:
        """Returns whether a lasso violates a formula, and why it is fair to each unit, or None if
        it is not.
        """
        if self.model.is_opaque:
            home = import_module("fencepost.checker.evaluator.liveness")
            judged: tuple[bool, dict[Unit, Reason | None]]
            judged = home.judged_lasso(self.runner, formula, lasso)
            return judged
        return violates(self.runner, formula, lasso), reasons(self.runner, lasso)

    def owed(self, prop: str, levels: Sequence[Sequence[State]], loop: int) -> tuple[str, ...]:
        """Returns the names of the fairness constraints that the first lasso violates."""
        formula = next((p.formula for p in self.model.properties if p.name == prop), None)
        first = next(self.lassos(levels, loop), None)
        kept = {} if first is None or formula is None else self.judged(formula, first)[1]
        late = dict.fromkeys(unit.constraint for unit, reason in kept.items() if reason is None)
        return tuple(self.model.fairness[number].label for number in late)

    def lassos(self, levels: Sequence[Sequence[State]], loop: int) -> Iterator[Lasso]:
        """Yields the behaviours that pass through a state of each level and have a cycle from
        position ``loop`` onward.

        A behaviour that stays in its last state has an empty cycle. Files from other tools may not
        repeat the first state of the cycle at its end.
        """
        ways: list[tuple[State, ...]] = [(state,) for state in levels[0]]
        for states in levels[1:]:
            longer = ((*way, state) for way in ways for state in states if self.leads(way, state))
            ways = list(islice(longer, MAX_STATES))
        last = len(levels) - 1
        for way in ways:
            if loop == last:
                yield Lasso(way, ())
            elif loop > 0 and way[loop - 1] == way[last]:
                yield Lasso(way[:loop], way[loop:])
            elif self.leads(way, way[loop]):
                yield Lasso(way[: loop + 1], (*way[loop + 1 :], way[loop]))

    def leads(self, way: tuple[State, ...], state: State) -> bool:
        """Returns whether a step leads from the end of a path to a state."""
        return any(step.state == state for step in self.runner.successors(way[-1]))


# ---------------------------------------------------------------- differences of two traces


Kind = OneOf["action", "arguments", "failure", "state", "length", "loop", "outcome"]
"""The kind of the first difference. It is a difference in the action, in its choices, in whether
the step fails, in the state after it, in the length, in the cycle, or only in the outcome.
"""


UNTOLD = Atom("?")
"""The value shown for a variable that a state does not list."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The first difference. It is at the step with number ``position``, which one of the traces may
    lack.

    ``fields`` holds the parts of the state that differ after the step. In each, ``before`` is the
    value in the first trace.
    """

    kind: Kind
    position: int
    fields: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """Two traces and the first difference between them, or None if they do not differ.

    ``unshared`` holds the variables that only the first trace has and those that only the second
    trace has, which are not compared. ``constants`` lists the constants with different values.
    """

    left: TraceDocument
    right: TraceDocument
    parting: Parting | None
    unshared: tuple[tuple[str, ...], tuple[str, ...]]
    constants: tuple[tuple[str, str, str], ...] = ()

    @property
    def sides(self) -> tuple[TraceDocument, TraceDocument]:
        return self.left, self.right


def variables(document: TraceDocument) -> tuple[str, ...]:
    """Returns the variables of a trace in order of appearance."""
    return tuple(dict.fromkeys(name for step in document.steps for name in step.data or ()))


def difference(left: TraceDocument, right: TraceDocument) -> TraceDifference:
    """Compares two traces that share at least one variable."""
    ours, theirs = variables(left), variables(right)
    shared = frozenset(ours) & frozenset(theirs)
    unshared = (
        tuple(name for name in ours if name not in shared),
        tuple(name for name in theirs if name not in shared),
    )
    constants = tuple(
        (name, text(value.tree), text(right.constants[name].tree))
        for name, value in left.constants.items()
        if name in right.constants and value.tree != right.constants[name].tree
    )
    return TraceDifference(left, right, _parting(left, right, shared), unshared, constants)


def _parting(left: TraceDocument, right: TraceDocument, shared: frozenset[str]) -> Parting | None:
    for position, (ours, theirs) in enumerate(zip(left.steps, right.steps, strict=False)):
        kind = _kind(ours, theirs)
        fields = tuple(_fields(left, ours, theirs, shared))
        if kind is not None or fields:
            return Parting(kind or "state", position, fields)
    count = min(len(left.steps), len(right.steps))
    if len(left.steps) != len(right.steps):
        return Parting("length", count)
    if left.loop != right.loop:
        return Parting("loop", count - 1)
    if _outcome(left) != _outcome(right):
        return Parting("outcome", count - 1)
    return None


def _kind(ours: ShownStep, theirs: ShownStep) -> Kind | None:
    """Returns the kind of difference between two steps, apart from their states. Returns None if
    they do not differ.
    """
    our_action, their_action = ours.act.action, theirs.act.action
    # Traces of other tools do not name actions.
    if our_action and their_action and our_action != their_action:
        return "action"
    choices = ours.arguments, theirs.arguments
    if (
        our_action == their_action
        and None not in choices
        and _told(choices[0]) != _told(choices[1])
    ):
        return "arguments"
    if (ours.data is None) != (theirs.data is None):
        return "failure"
    return None


def _told(arguments: Mapping[str, Json] | None) -> dict[str, str]:
    return {name: canonical(value) for name, value in (arguments or {}).items()}


def _fields(
    left: TraceDocument, ours: ShownStep, theirs: ShownStep, shared: frozenset[str]
) -> Iterator[Change]:
    if ours.state is None or theirs.state is None or ours.data is None or theirs.data is None:
        return
    for name in dict.fromkeys((*ours.state, *theirs.state)):
        if name not in shared or _value(ours.data, name) == _value(theirs.data, name):
            continue
        value, other = ours.state.get(name, UNTOLD), theirs.state.get(name, UNTOLD)
        # Sets that are written in different orders have different trees, and different values may
        # be displayed alike.
        all_changes = tuple(changes(name, value, other, family=name in left.families))
        yield from all_changes or (Change(name, value, other),)


def _value(data: Mapping[str, Json], name: str) -> str | None:
    return canonical(data[name]) if name in data else None


def _outcome(document: TraceDocument) -> tuple[str, str, str]:
    return document.status, document.verdict, document.property_name
