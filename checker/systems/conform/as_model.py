"""Combines a model and its mapping into one model, which the interpreter and `local` run.

The actions of the combined model are the steps that the model takes by itself, each followed by the
drops, and one action for each input, each answer and each event that may be passed over. The
variables of the model are followed by variables that are only used within a single step: the values
that rules of events read of the step (variables before the drops, and choices), the incoming event,
and the limit on messages under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from fencepost.checker.systems.conform.cuts import Cut, lacking_room, no_room
from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.recording import DroppedMessages, Input, Recording, Shows
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
    cardinality,
)
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.source import Span

N = TypeVar("N")
MAX_AHEAD = 100
"""Maximum number of messages that a user may allow to be under way; see ``--ahead``."""


@dataclass(frozen=True, slots=True)
class CombinedModel:
    """A model combined with its mapping.

    The variables of ``model`` begin with those of the original model. Its first ``own`` actions are
    the steps that the original model takes by itself. The other actions are called by number:
    ``inputs`` contains the number for each input, ``answers`` the number for the answer to each
    input (None if it has none), and ``tolerated`` the number for each event that may be passed
    over. ``actions`` maps each action to its number in the original model, or to -1 if it is not an
    action of that model.

    ``shows`` contains the bodies of the rules of events, expressed on the variables of ``model``
    before and after a step. After the step, they only read variables of a single step. At most
    ``most_ahead`` messages may be under way, and ``under_way`` counts them. ``late`` is the guard
    that is false if there are more messages than the variable ``ahead`` allows. ``constraints``
    maps each guard that is false outside a constraint to the place of the constraint.
    """

    model: ir.Model
    own: int
    actions: tuple[int, ...]
    inputs: tuple[int, ...]
    answers: tuple[int | None, ...]
    tolerated: tuple[int, ...]
    shows: tuple[ir.Expr, ...]
    event: int
    ahead: int
    most_ahead: int
    under_way: ir.Expr
    late: int
    constraints: Mapping[int, Span]

    def cut(self, guard: int, *, own: bool) -> Cut:
        """Returns the reason why a path ends at a false guard: a constraint, or a lack of room. The
        room is lacking for a step that the model takes by itself (``own``) or for the messages that
        an event brings in.
        """
        if guard in self.constraints:
            return Cut(f"a constraint ends here ({self.constraints[guard]})")
        declared = self.model.guards[guard]
        return lacking_room(declared) if own else no_room(declared)


def combine(model: ir.Model, recording: Recording) -> CombinedModel:
    """Combines a model with its mapping."""
    return _Builder(model, recording).combined()


class _Builder:
    def __init__(self, model: ir.Model, recording: Recording) -> None:
        self.model = model
        self.recording = recording
        nodes = [*walk((model.initial, *self._trees()))]
        self.slots = 1 + max((slot for node in nodes for slot in _slots(node)), default=0)
        self.asked = sorted({node.action for node in nodes if isinstance(node, ir.Enabled)})
        variables = list(model.variables)
        self.kept: dict[int, int] = {}
        for number in sorted(self._read()):
            self.kept[number] = len(variables)
            variables.append(replace(variables[number], name=f"{variables[number].name} kept"))
        self.chosen: dict[tuple[int, str], int] = {}
        for action, label in sorted(self._labels()):
            self.chosen[action, label] = len(variables)
            pick = _choice(model.actions[action].body, label)
            kind = as_collection(pick.domain.type).element
            variables.append(self._passing(f"{action} {label}", kind))
        self.event = len(variables)
        self.ahead = self.event + 1
        self.most_ahead = max(MAX_AHEAD, recording.under_way or 0)
        of_events = Union("event", tuple(
            Variant(f"{number}", tuple(Field(f.local, f.type) for f in event.fields))
            for number, event in enumerate(recording.events)
        ))  # fmt: skip
        variables.append(self._passing("event", of_events))
        variables.append(self._passing("ahead", Int(0, self.most_ahead)))
        self.variables = tuple(variables)
        self.late = len(recording.guards)
        self.never = self.late + 1
        self.under_way = self._under_way()
        self.constraints = [
            declared for declared in model.properties if declared.kind.bounds_search
        ]
        self.actions: list[ir.Action] = []
        self.taken: list[int] = []

    def _passing(self, name: str, kind: Type) -> ir.StateVariable:
        return ir.StateVariable(name, kind, "variable", "", False, self.recording.span)

    def _read(self) -> set[int]:
        """Returns the variables that rules of events read after a step."""
        nodes = walk(tuple(rule.body for rule in self.recording.shows))
        return {node.index for node in nodes if isinstance(node, ir.Variable) and node.next}

    def _labels(self) -> set[tuple[int, str]]:
        """Returns the choices that rules of events read."""
        return {
            (rule.action, label)
            for rule in self.recording.shows
            for label, _ in rule.choices
            if rule.action is not None
        }

    def _trees(self) -> list[object]:
        trees: list[object] = [action.body for action in self.model.actions]
        trees += [
            declared.body for declared in self.model.properties if declared.kind.bounds_search
        ]
        for declared in self.recording.inputs:
            trees += [
                declared.condition,
                declared.body,
                declared.answer and declared.answer.body,
                declared.choices,
            ]
        trees += [declared.body for declared in self.recording.shows]
        return [*trees, *(declared.condition for declared in self.recording.tolerated)]

    def combined(self) -> CombinedModel:
        model, recording = self.model, self.recording
        entered = {declared.action for declared in recording.inputs}
        if self.constraints:
            # A single action reports the false constraint. The other actions are not enabled in
            # this case.
            named = range(self.never + 1, self.never + 1 + len(self.constraints))
            never = ir.Require(ir.Literal(ir.BOOL, False), self.never)
            self._add(ir.Sequence((*self._within(named), never)))
        within = self._within([self.never] * len(self.constraints))
        for number, action in enumerate(model.actions):
            if number not in entered:
                self._add(ir.Sequence((*within, self._step(number, action.body))), number)
        own = len(self.actions)
        inputs = tuple(
            self._add(self._input(declared), declared.action) for declared in recording.inputs
        )
        answers = tuple(
            None if declared.answer is None
            else self._add(
                self._of_event(declared.event, declared.fields, self._left(declared.answer.body))
            )
            for declared in recording.inputs
        )  # fmt: skip
        tolerated = tuple(
            self._add(self._where(declared.event, declared.fields, declared.condition))
            for declared in recording.tolerated
        )
        shows = self._with_copies(tuple(self._shown(rule) for rule in recording.shows))
        guards = [*recording.guards]
        # In this order, the guards have the numbers `late`, `never`, and those of the constraints.
        guards.append(ir.Guard("budget", recording.span, 0))
        guards.append(ir.Guard("require", recording.span, 0))
        guards += [ir.Guard("budget", declared.span, 0) for declared in self.constraints]
        combined = replace(
            model,
            variables=self.variables,
            initial=self._left(model.initial),
            actions=tuple(self.actions),
            properties=(),
            fairness=(),
            sites=recording.sites,
            marks=recording.marks,
            guards=tuple(guards),
            slots=self.slots,
        )
        return CombinedModel(
            model=combined,
            own=own,
            actions=tuple(self.taken),
            inputs=inputs,
            answers=answers,
            tolerated=tolerated,
            shows=shows,
            event=self.event,
            ahead=self.ahead,
            most_ahead=self.most_ahead,
            under_way=self.under_way,
            late=self.late,
            constraints={
                number: declared.span
                for number, declared in enumerate(self.constraints, self.never + 1)
            },
        )

    def _add(self, body: ir.Statement, action: int | None = None) -> int:
        """Adds an action and returns its number. ``action`` is the original action that it runs, if
        any.
        """
        number = len(self.actions)
        self.actions.append(ir.Action(f"{number}", "", "environment", body, self.recording.span))
        self.taken.append(-1 if action is None else action)
        return number

    def _with_copies(self, shows: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """Copies the original actions that occur in an `enabled` of a condition or a rule of an
        event. Makes all actions, and ``shows``, refer to the copies.
        """
        copies = {number: len(self.actions) + n for n, number in enumerate(self.asked)}
        if not copies:
            return shows
        self.actions = [
            replace(action, body=_redirected(action.body, copies)) for action in self.actions
        ]
        for number in copies:
            self._add(self.model.actions[number].body)
        return _redirected(shows, copies)

    # ------------------------------------------------------------ statements

    def _within(self, guards: Sequence[int]) -> list[ir.Statement]:
        """Returns statements that require the constraints, each with its guard. They set no
        coverage marks.
        """
        return [
            ir.Require(_unmarked(prop.body), guard)
            for prop, guard in zip(self.constraints, guards, strict=True)
        ]

    def _step(self, action: int, body: ir.Statement) -> ir.Statement:
        """Returns a step of the model that first keeps the values that rules of events read, and
        then drops messages.
        """
        for (number, label), variable in self.chosen.items():
            if number == action:
                body = _noted(body, _choice(body, label), variable)
        kept = (ir.Assign(copy, (), self._variable(number)) for number, copy in self.kept.items())
        return ir.Sequence((body, *kept, *self._drops(body)))

    def _left(self, body: ir.Statement) -> ir.Statement:
        return ir.Sequence((body, *self._drops(body)))

    def _drops(self, body: ir.Statement) -> list[ir.Statement]:
        """Returns the statements that drop messages. They only cover variables to which ``body``
        assigns.
        """
        changed = assigned(body)
        return [
            self._drop(dropped) for dropped in self.recording.drops if dropped.variable in changed
        ]

    def _drop(self, dropped: DroppedMessages) -> ir.Statement:
        content = self._variable(dropped.variable)
        slot = self._slot()
        message = ir.Local(as_collection(content.type).element, slot)
        tested = tuple(ir.HasTag(message, tag) for tag in sorted(dropped.tags))
        if isinstance(content.type, Seq):
            stays = ir.Not(ir.Or(tested))
            rest = ir.Collect(content.type, slot, content, stays, message)
            return ir.Assign(dropped.variable, (), rest)
        # Only few messages are dropped, and collecting all others would take longer.
        without = ir.Assign(dropped.variable, (), ir.Remove(content.type, content, message))
        return ir.ForEach(slot, content, ir.If(ir.Or(tested), without, ir.Sequence(())))

    def _input(self, declared: Input) -> ir.Statement:
        parts = [self._where(declared.event, declared.fields, declared.condition)]
        if declared.kind == "ahead":
            bound = self._variable(self.ahead)
            few = ir.Not(ir.Less(bound, self.under_way))
            parts.append(ir.Require(few, self.late))
        body = self._taken(declared) if declared.body is None else self._left(declared.body)
        return ir.Sequence((*parts, self._of_event(declared.event, declared.fields, body)))

    def _taken(self, declared: Input) -> ir.Statement:
        """Returns the step that an input performs, with its first choices."""
        assert declared.action is not None
        body = self.model.actions[declared.action].body
        wanted = [(self._slot(), choice) for choice in declared.choices]
        picks = first_picks(body, len(wanted))
        slots = {id(pick): slot for pick, (slot, _) in zip(picks, wanted, strict=False)}
        body = self._step(declared.action, _narrowed(body, slots))
        for slot, choice in reversed(wanted):
            body = ir.Bind(slot, choice, body)
        return body

    def _of_event(self, event: int, fields: Sequence[int], body: ir.Statement) -> ir.Statement:
        """Returns the statement for an incoming event. ``fields`` are the slots of its fields."""
        values_in = self._given(event, fields)
        used = {node.slot for node in walk(body) if isinstance(node, ir.Local)}
        for slot, value in values_in.items():
            if slot in used:
                body = ir.Bind(slot, value, body)
        return body

    def _where(
        self, event: int, fields: Sequence[int], condition: ir.Condition | None
    ) -> ir.Statement:
        """Returns a statement that requires the condition of a rule for an incoming event."""
        if condition is None:
            return ir.Sequence(())
        # The condition is usually false, so only the fields that it names are read before.
        return ir.Require(_replaced(condition, self._given(event, fields), {}), self.never)

    def _given(self, event: int, fields: Sequence[int]) -> dict[int, ir.Expr]:
        """Returns expressions for the fields of the incoming event, by their slots."""
        kinds = [declared.type for declared in self.recording.events[event].fields]
        source = self._variable(self.event)
        return {
            slot: ir.Payload(kind, source, event, index)
            for index, (slot, kind) in enumerate(zip(fields, kinds, strict=True))
        }

    def _shown(self, rule: Shows) -> ir.Expr:
        """Returns the body of a rule of events, expressed on the variables of this model."""
        chosen: dict[int, ir.Expr] = {}
        for label, slot in rule.choices:
            assert rule.action is not None
            number = self.chosen[rule.action, label]
            chosen[slot] = ir.Variable(self.variables[number].type, number, True)
        return _replaced(rule.body, chosen, self.kept)

    def _under_way(self) -> ir.Expr:
        total: ir.Expr = ir.Literal(WIDE, 0)
        for number in self.recording.carriers:
            size = self._size(self._variable(number))
            total = ir.Arithmetic(WIDE, Operator.ADD, total, size)
        return total

    def _size(self, content: ir.Expr) -> ir.Expr:
        """Returns the number of messages in a channel, or in a family of channels."""
        match content.type:
            case Map(key, value):
                slot = self._slot()
                each = self._size(ir.Get(value, content, ir.Local(key, slot)))
                sizes = Seq(each.type, cardinality(key))
                return ir.Sum(WIDE, ir.Collect(sizes, slot, ir.Universe(Set(key)), None, each))
            case Bag(capacity=capacity) | Seq(capacity=capacity) | Set(capacity=capacity):
                return ir.Size(WIDE if capacity is None else Int(0, capacity), content)
            case kind:
                raise AssertionError(kind)

    def _variable(self, number: int) -> ir.Variable:
        return ir.Variable(self.variables[number].type, number)

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1


MAX_MESSAGES = 1 << 40
WIDE: Type = Int(0, MAX_MESSAGES)
"""The type for numbers of messages."""


def _narrowed(node: N, slots: Mapping[int, int]) -> N:
    """Returns a copy of the node where each pick in ``slots`` (by identity) can only choose the
    value of its slot.
    """

    def part(inner: object) -> object:
        return _narrowed(inner, slots)

    copy = rebuilt(node, part)
    if isinstance(node, ir.Pick) and id(node) in slots:
        assert isinstance(copy, ir.Pick)
        kind = as_collection(node.domain.type).element
        same = ir.Equal(ir.Local(kind, node.slot), ir.Local(kind, slots[id(node)]))
        both = (same,) if copy.condition is None else (copy.condition, same)
        copy = replace(copy, condition=ir.And(both))
    return copy


def _choice(body: ir.Statement, label: str) -> ir.Pick:
    """Returns the choice of an action's head. Other choices with the same label are made later."""
    picks = (pick for pick in statements(body) if isinstance(pick, ir.Pick))
    return next(pick for pick in picks if pick.label == label)


def _noted(node: N, pick: ir.Pick, variable: int) -> N:
    """Returns a copy of the node that also assigns the value chosen by ``pick`` to a variable."""

    def part(inner: object) -> object:
        return _noted(inner, pick, variable)

    if node is not pick:
        return rebuilt(node, part)
    chosen = ir.Local(as_collection(pick.domain.type).element, pick.slot)
    assign = ir.Assign(variable, (), chosen)
    return cast("N", replace(pick, body=ir.Sequence((assign, pick.body))))


def _replaced(node: N, slots: Mapping[int, ir.Expr], kept: Mapping[int, int]) -> N:
    """Returns a copy of the node with some slots replaced by expressions, and with other variables
    in place of the next values of the variables in ``kept``.
    """

    def part(inner: object) -> object:
        return _replaced(inner, slots, kept)

    match node:
        case ir.Variable(kind, index, True) if index in kept:
            return cast("N", ir.Variable(kind, kept[index], True))
        case ir.Local(_, slot) if slot in slots:
            return cast("N", slots[slot])
        case _:
            return rebuilt(node, part)


def _redirected(node: N, copies: Mapping[int, int]) -> N:
    """Returns a copy of the node that reads the enabledness of the copied actions instead of the
    originals.
    """

    def part(inner: object) -> object:
        return _redirected(inner, copies)

    copy = rebuilt(node, part)
    return replace(copy, action=copies[copy.action]) if isinstance(copy, ir.Enabled) else copy


def _unmarked(node: N) -> N:
    """Returns a copy of the node without coverage marks."""

    def part(inner: object) -> object:
        return _unmarked(inner)

    return cast("N", _unmarked(node.body)) if isinstance(node, ir.Witness) else rebuilt(node, part)


def _slots(node: object) -> tuple[int, ...]:
    slot = getattr(node, "slot", None)
    return () if slot is None else (slot,)
