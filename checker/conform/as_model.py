"""A mapping as a model, so that what makes machine code of models makes it of a mapping.

An action of it is one that the model takes by itself, with what is dropped left out behind it; or
what one input, one answer or one event that is passed over does. Behind the variables of the model
stand those of one step: what it has for the rules of events (variables before anything is dropped,
and choices), the event that comes in, and how many messages may be under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from fencepost.checker.conform.dependence import read_by_shown
from fencepost.checker.request import Unsupported
from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.recording import Input, Recording
from fencepost.spec.core.traverse import assigned, first_picks, rebuilt, statements, walk
from fencepost.spec.core.types import (
    Bag,
    Field,
    Int,
    Map,
    Seq,
    Set,
    Type,
    Union,
    Variant,
    as_collection,
    values,
)
from fencepost.spec.records import dataclass, replace

N = TypeVar("N")
MAX_AHEAD = 100
"""The most messages that a user may have under way; see ``--ahead``."""
MAX_KEYS = 64
"""In a family of more channels nobody counts messages."""


@dataclass(frozen=True, slots=True)
class Compared:
    """``model`` has the variables of the model that is compared in front; its first ``own`` actions
    are steps that this takes by itself. What stands behind them is called by number: of each input,
    of each answer (None: there is none), of each event that is passed over. ``actions`` are the
    numbers of all in the model that is compared, -1 for what is no step of it.

    ``kept`` are the variables that rules of events read behind a step, each with the one that has
    its value, and ``chosen`` the labels of choices that they read, by actions there, with the
    variables that have the values. Up to ``most_ahead`` messages are under way; ``late`` is the
    guard that is false where too many are.
    """

    model: ir.Model
    own: int
    actions: tuple[int, ...]
    inputs: tuple[int, ...]
    answers: tuple[int | None, ...]
    tolerated: tuple[int, ...]
    kept: tuple[tuple[int, int], ...]
    chosen: Mapping[tuple[int, str], int]
    event: int
    ahead: int
    most_ahead: int
    late: int


def compared(model: ir.Model, recording: Recording) -> Compared:
    """The model of a mapping. Raises `Unsupported`."""
    return _Made(model, recording).compared()


class _Made:
    def __init__(self, model: ir.Model, recording: Recording) -> None:
        self.model = model
        self.recording = recording
        self.slots = 1 + max(
            (slot for node in walk((model.initial, *self._trees())) for slot in _slots(node)),
            default=0,
        )
        variables = list(model.variables)
        self.kept: dict[int, int] = {}
        for number in sorted(self._read()):
            self.kept[number] = len(variables)
            variables.append(replace(variables[number], name=f"{variables[number].name} kept"))
        self.chosen: dict[tuple[int, str], int] = {}
        for action, label in sorted(self._labels()):
            self.chosen[action, label] = len(variables)
            variables.append(self._passing(f"{action} {label}", self._choice(action, label)))
        self.event = len(variables)
        self.ahead = self.event + 1
        self.most_ahead = max(MAX_AHEAD, recording.under_way or 0)
        of_events = Union("event", tuple(
            Variant(f"{number}", tuple(Field(one.local, one.type) for one in event.fields))
            for number, event in enumerate(recording.events)
        ))  # fmt: skip
        variables.append(self._passing("event", of_events))
        variables.append(self._passing("ahead", Int(0, self.most_ahead)))
        self.variables = tuple(variables)
        self.late = len(recording.guards)
        self.never = self.late + 1

    def _passing(self, name: str, kind: Type) -> ir.StateVariable:
        return ir.StateVariable(name, kind, "variable", "", False, self.recording.span)

    def _labels(self) -> set[tuple[int, str]]:
        """The choices that rules of events read."""
        return {
            (one.action, label)
            for one in self.recording.shows
            for label, _ in one.choices
            if one.action is not None
        }

    def _choice(self, action: int, label: str) -> Type:
        """The type of a choice, which is made once."""
        body = self.model.actions[action].body
        again = {id(pick) for each in _each(body) for pick in statements(each.body)}
        picks = [one for one in statements(body) if isinstance(one, ir.Pick) and one.label == label]
        if len(picks) != 1 or id(picks[0]) in again:
            raise Unsupported("it does not show what a choice was that is made again and again")
        return as_collection(picks[0].domain.type).element

    def _trees(self) -> list[object]:
        found: list[object] = [action.body for action in self.model.actions]
        for one in self.recording.inputs:
            found += [one.condition, one.body, one.answer and one.answer.body, one.choices]
        return [*found, *(one.condition for one in self.recording.tolerated)]

    def _read(self) -> set[int]:
        """The variables that rules of events read behind a step."""
        count, found = len(self.model.variables), set[int]()
        for one in self.recording.shows:
            read = read_by_shown([one], count)
            if read is None:
                raise Unsupported("it does not ask what is enabled", one.span)
            found |= {number - count for number in read if number >= count}
        return found

    def compared(self) -> Compared:
        model, recording = self.model, self.recording
        for one in model.properties:
            if one.kind.bounds_search:
                raise Unsupported("it does not compare within constraints", one.span)
        for node in walk(tuple(self._trees())):
            if isinstance(node, ir.Enabled):
                raise Unsupported("it does not ask what is enabled", node.span)
        own = tuple(
            number
            for number in range(len(model.actions))
            if all(one.action != number for one in recording.inputs)
        )
        actions = [
            replace(model.actions[number], body=self._step(number, model.actions[number].body))
            for number in own
        ]
        taken = [*own]

        def add(body: ir.Statement, action: int | None = None) -> int:
            named = f"{len(actions)}"
            actions.append(ir.Action(named, "", "environment", body, recording.span))
            taken.append(-1 if action is None else action)
            return len(actions) - 1

        inputs = tuple(add(self._input(one), one.action) for one in recording.inputs)
        answers = tuple(
            None if one.answer is None
            else add(self._of_event(one.event, one.fields, self._left(one.answer.body)))
            for one in recording.inputs
        )  # fmt: skip
        tolerated = tuple(
            add(self._of_event(one.event, one.fields, self._where(one.condition)))
            for one in recording.tolerated
        )
        guards = [*recording.guards]
        # In this order their numbers are `late` and `never`.
        guards.append(ir.Guard("budget", recording.span, 0))
        guards.append(ir.Guard("require", recording.span, 0))
        made = replace(
            model,
            variables=self.variables,
            actions=tuple(actions),
            properties=(),
            sites=recording.sites,
            marks=recording.marks,
            guards=tuple(guards),
            slots=self.slots,
        )
        return Compared(
            model=made,
            own=len(own),
            actions=tuple(taken),
            inputs=inputs,
            answers=answers,
            tolerated=tolerated,
            kept=tuple(self.kept.items()),
            chosen=self.chosen,
            event=self.event,
            ahead=self.ahead,
            most_ahead=self.most_ahead,
            late=self.late,
        )

    # ------------------------------------------------------------ statements

    def _step(self, action: int, body: ir.Statement) -> ir.Statement:
        """A step of the model: what rules of events read is kept, then messages are dropped."""
        for (number, label), variable in self.chosen.items():
            if number == action:
                body = _noted(body, label, variable)
        kept = (ir.Assign(copy, (), self._variable(number)) for number, copy in self.kept.items())
        return ir.Sequence((body, *kept, *self._drops(body)))

    def _left(self, body: ir.Statement) -> ir.Statement:
        return ir.Sequence((body, *self._drops(body)))

    def _drops(self, body: ir.Statement) -> list[ir.Statement]:
        """Nothing is dropped from where nothing was put."""
        changed = assigned(body)
        found: list[ir.Statement] = []
        for one in self.recording.drops:
            if one.variable in changed:
                kind = self.variables[one.variable].type
                slot = self._slot()
                message = ir.Local(as_collection(kind).element, slot)
                stays = tuple(ir.Not(ir.HasTag(message, tag)) for tag in sorted(one.tags))
                source = self._variable(one.variable)
                rest = ir.Collect(kind, slot, source, ir.And(stays), message)
                found.append(ir.Assign(one.variable, (), rest))
        return found

    def _input(self, one: Input) -> ir.Statement:
        parts = [self._where(one.condition)]
        if one.kind == "ahead":
            bound = self._variable(self.ahead)
            few = ir.Not(ir.Less(bound, self._under_way()))
            parts.append(ir.Require(few, self.late))
        if one.body is not None:
            parts.append(self._left(one.body))
        else:
            parts.append(self._taken(one))
        return self._of_event(one.event, one.fields, ir.Sequence(tuple(parts)))

    def _taken(self, one: Input) -> ir.Statement:
        """The step that an input is, with its first choices."""
        assert one.action is not None
        body = self.model.actions[one.action].body
        wanted = [(self._slot(), choice) for choice in one.choices]
        picks = first_picks(body, len(wanted))
        given = {id(pick): slot for pick, (slot, _) in zip(picks, wanted, strict=False)}
        body = self._step(one.action, _narrowed(body, given))
        for slot, choice in reversed(wanted):
            body = ir.Bind(slot, choice, body)
        return body

    def _where(self, condition: ir.Condition | None) -> ir.Statement:
        return ir.Sequence(()) if condition is None else ir.Require(condition, self.never)

    def _of_event(self, event: int, fields: Sequence[int], body: ir.Statement) -> ir.Statement:
        """The statement, of the event that comes in."""
        kinds = [one.type for one in self.recording.events[event].fields]
        source = self._variable(self.event)
        for index, (slot, kind) in reversed(list(enumerate(zip(fields, kinds, strict=True)))):
            body = ir.Bind(slot, ir.Payload(kind, source, event, index), body)
        return body

    def _under_way(self) -> ir.Expr:
        total: ir.Expr = ir.Literal(WIDE, 0)
        for number in self.recording.carriers:
            for size in self._sizes(self._variable(number)):
                total = ir.Arithmetic(WIDE, Operator.ADD, total, size)
        return total

    def _sizes(self, content: ir.Expr) -> list[ir.Expr]:
        match content.type:
            case Map(key, value):
                keys = list(zip(range(MAX_KEYS + 1), values(key), strict=False))
                if len(keys) > MAX_KEYS:
                    raise Unsupported("it does not count messages in so many channels")
                return [
                    size
                    for _, one in keys
                    for size in self._sizes(ir.Get(value, content, ir.Literal(key, one)))
                ]
            case Bag() | Seq() | Set():
                return [ir.Size(WIDE, content)]
            case kind:
                raise AssertionError(kind)

    def _variable(self, number: int) -> ir.Variable:
        return ir.Variable(self.variables[number].type, number)

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1


WIDE: Type = Int(0, 1 << 40)
"""Of numbers of messages."""


def _narrowed(node: N, given: Mapping[int, int]) -> N:
    """The same, where the picks (by identity) that are given a slot choose what that stands for."""

    def part(inner: object) -> object:
        return _narrowed(inner, given)

    made = rebuilt(node, part)
    if isinstance(node, ir.Pick) and id(node) in given:
        assert isinstance(made, ir.Pick)
        kind = as_collection(node.domain.type).element
        same = ir.Equal(ir.Local(kind, node.slot), ir.Local(kind, given[id(node)]))
        both = (same,) if made.condition is None else (made.condition, same)
        made = replace(made, condition=ir.And(both))
    return made


def _noted(node: N, label: str, variable: int) -> N:
    """The same, where the choice of a label is assigned to a variable."""

    def part(inner: object) -> object:
        return _noted(inner, label, variable)

    made = rebuilt(node, part)
    if isinstance(made, ir.Pick) and made.label == label:
        chosen = ir.Local(as_collection(made.domain.type).element, made.slot)
        body = ir.Sequence((ir.Assign(variable, (), chosen), made.body))
        made = replace(made, body=body)
    return made


def _each(body: ir.Statement) -> list[ir.ForEach]:
    return [one for one in statements(body) if isinstance(one, ir.ForEach)]


def _slots(node: object) -> tuple[int, ...]:
    slot = getattr(node, "slot", None)
    return () if slot is None else (slot,)
