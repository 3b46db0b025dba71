"""Elaborates ``scenario S: ...``. Its steps become conditions on the choices of actions, and its
expectation becomes a condition on the state after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.spec.core import ir
from fencepost.spec.core.scenario import Scenario, ScenarioStep
from fencepost.spec.core.traverse import visible_picks, walk
from fencepost.spec.core.types import (
    Field,
    Option,
    Record,
    Type,
    Union,
    as_collection,
    describe,
)
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    ChannelEntity,
    Instance,
    ModuleEntity,
    RoleEntity,
)
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.members import member_names, member_of
from fencepost.spec.elaborate.types.partiality import converted_value
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.enabled import action_of, instance_named
from fencepost.spec.elaborate.values.roles import denoted
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, suggestion, suggestion_or_all

MAX_STEPS = 1000
"""Maximum number of steps in a scenario."""
VERDICTS = (
    "ok", "met", "violated", "deadlock", "assertion", "error", "unreached", "inconclusive"
)  # fmt: skip
"""Words that a user may write as the expected outcome by mistake."""
_FAULTS = {"lose": "lossy", "duplicate": "duplicating"}


def scenario(
    work: Elaboration, root: Instance, actions: Sequence[ir.Action], node: syntax.ScenarioDecl
) -> Scenario | None:
    """Returns a scenario of the root, whose model has these ``actions``. If the scenario is wrong,
    reports a problem and returns None.
    """
    reported = len(work.problems)
    # A scenario may name values of symmetric types, since the search for it does not reduce
    # symmetry.
    context = Context(work, root, Position("property", apart=True))
    builder = _Steps(context, actions)
    steps: list[ScenarioStep] = []
    gaps: set[int] = set()
    expected: syntax.ScenarioExpect | None = None
    for item in node.items:
        if expected is not None:
            message = "the expectation comes once, at the end of a scenario"
            context.report("F847", item.span, message, (expected.span, "nothing may follow this"))
            break
        match item:
            case syntax.CheckConst():
                if steps or gaps:
                    message = "constants of a scenario come before its steps"
                    context.report("F847", item.span, message)
            case syntax.ScenarioStep(action=action):
                step = builder.step(action)
                if step is not None:
                    steps.append(step)
            case syntax.ScenarioGap():
                gaps.add(len(steps))
            case syntax.ScenarioExpect():
                expected = item
    if expected is None:
        message = "a scenario ends with the condition that must hold after its steps: expect E"
        return context.report("F847", node.name.span, message)
    if len(steps) > MAX_STEPS:
        message = f"a scenario has at most {MAX_STEPS} steps, but this one has {len(steps)}"
        context.report("F847", node.name.span, message)
    verdict = expected.condition
    word = verdict.text if isinstance(verdict, syntax.Name) else ""
    if word in VERDICTS and context.find(word) is None:
        message = "a scenario expects a condition on the state after its steps, such as x == 1"
        return context.report("F847", verdict.span, message)
    condition = truth(context, expected.condition)
    if condition is None or any(not problem.warning for problem in work.problems[reported:]):
        return None
    name = node.name
    return Scenario(name.text, tuple(steps), frozenset(gaps), condition.expr, name.span)


class _Steps:
    """Builds the steps of a scenario, in order."""

    def __init__(self, context: Context, actions: Sequence[ir.Action]) -> None:
        self.context = context
        self.actions = actions

    def step(self, node: syntax.Expr) -> ScenarioStep | None:
        """Returns one step. If the step is wrong, returns None after a problem has been
        reported.
        """
        call = node if isinstance(node, syntax.Call) else None
        written = node if call is None else call.function
        if isinstance(written, syntax.Attribute) and is_for_all(written.base):
            # Any process of the role, or any channel of the family, may act.
            written = replace(written, base=before_index(written.base))
        if not is_known(self.context, written):
            return None
        channel = channel_of(self.context, written)
        if channel is not None:
            return self._fault(channel, written, call, node)
        entity = action_of(self.context, written)
        if entity is None or entity.index is None:
            return None
        good, process = instance_named(self.context, entity, written)
        decl = entity.decl
        binders = () if decl.choices is None else decl.choices.binders
        names = [binder.label for binder in binders]
        names += [] if decl.receive is None else ["the message"]
        picks = self._head(entity.index)
        if picks is None or not good:
            return None
        tests: list[ir.Expr] = []
        if process is not None:
            local = ir.Local(process.type, picks[0].slot, span=written.span)
            tests.append(ir.Equal(local, process.expr, span=written.span))
        inner = self._arguments(picks[len(picks) - len(names) :], names, call, entity.note)
        if inner is None or (call is not None and not self._received(entity, call)):
            return None
        return self._step(entity.index, picks, [*tests, *inner], node)

    def _received(self, entity: ActionEntity, call: syntax.Call) -> bool:
        """Returns whether the action can receive the message that the step names, if it names one.
        Reports a message that the action cannot receive.
        """
        receive = entity.decl.receive
        message = call.arguments[-1].value if call.arguments else None
        if receive is None or receive.pattern.member is None or message is None:
            return True
        written = message.function if isinstance(message, syntax.Call) else message
        expected, name = _last_name(receive.pattern.member), _last_name(written)
        message_type = self._message(entity)
        if name == expected or name not in member_names(message_type) or not expected:
            return True
        text = f"{entity.name} receives {expected}, but this is {name}"
        note: Note = (receive.pattern.span, "received here")
        self.context.report("F848", message.span, text, note)
        return False

    def _message(self, entity: ActionEntity) -> Type | None:
        """Returns the type of the messages that an action receives."""
        picks = self._head(entity.index or 0)
        return as_collection(picks[-1].domain.type).element if picks else None

    def _head(self, action: int) -> list[ir.Pick] | None:
        """Returns the choices that the head of an action names, or None if the action is wrong."""
        declared = self.actions[action]
        picks = visible_picks(declared.body, declared.head)
        return list(picks) if len(picks) == declared.head else None

    # ------------------------------------------------------------ losses and duplications

    def _fault(
        self,
        entity: ChannelEntity,
        written: syntax.Expr,
        call: syntax.Call | None,
        node: syntax.Expr,
    ) -> ScenarioStep | None:
        assert isinstance(written, syntax.Attribute)
        number = fault_of(self.context, self.actions, entity, written.name)
        if number is None:
            return None
        picks = self._head(number)
        if picks is None:
            return None
        tests: list[ir.Expr] = []
        if isinstance(written.base, syntax.Index):
            indices = written.base.arguments
            if len(indices) != len(entity.indices):
                count = len(entity.indices), len(indices)
                return wrong_number(self.context, entity.name, *count, written.span, entity.note)
            for pick, value, kind in zip(picks, indices, entity.indices, strict=False):
                tested = self._tests(value, ir.Local(kind, pick.slot), kind, entity.name)
                if tested is None:
                    return None
                tests += tested
        inner = self._arguments(picks[-1:], ["the message"], call, entity.note)
        return None if inner is None else self._step(number, picks, [*tests, *inner], node)

    def _step(
        self, action: int, picks: Sequence[ir.Pick], tests: Sequence[ir.Expr], node: syntax.Expr
    ) -> ScenarioStep | None:
        enabled_test = next(
            (part for part in walk(tuple(tests)) if isinstance(part, ir.Enabled)), None
        )
        if enabled_test is not None:
            # ``enabled`` would refer to the model combined with the scenario.
            message = "arguments of a step must not depend on which actions are enabled"
            return self.context.report("F848", enabled_test.span or node.span, message)
        condition = None
        if tests:
            condition = tests[0] if len(tests) == 1 else ir.And(tuple(tests), span=node.span)
        return ScenarioStep(action, picks[-1].slot if picks else None, condition, node.span)

    # ------------------------------------------------------------ arguments

    def _arguments(
        self, picks: Sequence[ir.Pick], names: Sequence[str], call: syntax.Call | None, note: Note
    ) -> list[ir.Expr] | None:
        """Returns the conditions that the arguments impose on the choices ``picks``, or None if the
        arguments are wrong.
        """
        if call is None:
            return []
        kinds = [as_collection(pick.domain.type).element for pick in picks]
        fields = [Field(name, kind) for name, kind in zip(names, kinds, strict=True)]
        locals_ = [ir.Local(kind, pick.slot) for kind, pick in zip(kinds, picks, strict=True)]
        if named(self.context, call.arguments):
            return None
        return self._each(call, call.function.span.text, fields, locals_, note)

    def _each(
        self,
        call: syntax.Call,
        name: str,
        fields: Sequence[Field],
        parts: Sequence[ir.Expr],
        *notes: Note,
    ) -> list[ir.Expr] | None:
        """Returns the conditions that arguments impose on ``parts``, or None if the arguments are
        wrong. Each argument belongs to a part by its position or by the name of a field.
        """
        values = self._given(call, name, [field.name for field in fields], notes)
        if values is None:
            return None
        tests: list[ir.Expr] = []
        for position, value in sorted(values.items()):
            conditions = self._tests(
                value, parts[position], fields[position].type, fields[position].name
            )
            if conditions is None:
                return None
            tests += conditions
        return tests

    def _given(
        self, call: syntax.Call, name: str, fields: Sequence[str], notes: Sequence[Note]
    ) -> dict[int, syntax.Expr] | None:
        """Maps the number of each given field to its argument. Positional arguments after `...` are
        counted from the end. Returns None if the arguments are wrong.
        """
        every = call.arguments
        rests = [
            n for n, argument in enumerate(every) if isinstance(argument.value, syntax.Anything)
        ]
        if len(rests) > 1:
            message = "`...` is allowed once among arguments; `_` matches one value"
            return self.context.report("F848", every[rests[1]].span, message)
        values: dict[int, syntax.Expr] = {}
        for number, argument in enumerate(every):
            if number in rests:
                continue
            position = number
            if argument.name is not None:
                if argument.name.text not in fields:
                    hint = suggestion(argument.name.text, fields)
                    message = f'{name} has no field "{argument.name.text}"{hint}'
                    return self.context.report("F314", argument.name.span, message, *notes)
                position = list(fields).index(argument.name.text)
            elif rests and number > rests[0]:
                position = number - len(every) + len(fields)
            values[position] = argument.value
        written = len(every) - len(rests)
        fewer = len(values) < len(fields) and not rests
        if len(values) < written or not values.keys() <= set(range(len(fields))) or fewer:
            return wrong_number(self.context, name, len(fields), written, call.span, *notes)
        return values

    def _tests(
        self, node: syntax.Expr, value: ir.Expr, kind: Type, name: str
    ) -> list[ir.Expr] | None:
        """Returns the conditions that an argument imposes on ``value``, or None if the argument is
        wrong.
        """
        context = self.context
        if isinstance(node, syntax.Name) and node.text == "_":
            return []
        variant = _bare_variant(node, kind)
        if not _is_open(node) and variant is None:
            operand = converted_value(context, node, kind, name)
            return None if operand is None else [ir.Equal(value, operand.expr, span=node.span)]
        if isinstance(kind, Option):
            content = ir.Content(kind.element, value, span=node.span)
            inner = self._tests(node, content, kind.element, name)
            return None if inner is None else [ir.IsSome(value, span=node.span), *inner]
        call = node if isinstance(node, syntax.Call) else None
        written = node if call is None else call.function
        parts: list[ir.Expr]
        if isinstance(kind, Union):
            tag = member_of(context, written, kind)
            if tag is None:
                return None
            tests: list[ir.Expr] = [ir.HasTag(value, tag, span=node.span)]
            fields = kind.variants[tag].fields
            parts = [
                ir.Payload(field.type, value, tag, index) for index, field in enumerate(fields)
            ]
        elif isinstance(kind, Record) and _last_name(written) == kind.name:
            tests, fields = [], kind.fields
            parts = [ir.GetField(field.type, value, index) for index, field in enumerate(fields)]
        else:
            message = f"{name} is of {describe(kind)}, but this is not a value of it"
            return context.report("F848", node.span, message, *declaration(context, kind))
        if call is None:
            return tests
        inner = self._each(call, written.span.text, fields, parts, *declaration(context, kind))
        return None if inner is None else [*tests, *inner]


def is_known(context: Context, written: syntax.Expr) -> bool:
    """Returns False and reports a problem if the first part of a dotted name is unknown."""
    first = written
    while isinstance(first, syntax.Attribute):
        first = before_index(first.base)
    resolved = not isinstance(first, syntax.Name) or context.find(first.text) is not None
    if not resolved and first is not written and isinstance(first, syntax.Name):
        context.unknown(
            first, "role, channel or module", kinds=(RoleEntity, ChannelEntity, ModuleEntity)
        )
        return False
    return True


def channel_of(context: Context, written: syntax.Expr) -> ChannelEntity | None:
    """Returns the channel that the text before the last dot denotes, or None if it denotes no
    channel.
    """
    if not isinstance(written, syntax.Attribute):
        return None
    entity = denoted(context, before_index(written.base))
    return entity if isinstance(entity, ChannelEntity) else None


def fault_of(
    context: Context, actions: Sequence[ir.Action], entity: ChannelEntity, name: syntax.Name
) -> int | None:
    """Returns the number of the loss or duplication with this name of a channel. Reports F848 and
    returns None if there is none.
    """
    if entity.index is None:
        # The declaration of the channel is wrong, which has already been reported.
        return None
    numbers = {
        action.name.rpartition(".")[2]: number
        for number, action in enumerate(actions)
        if action.kind in _FAULTS and action.channel == entity.index
    }
    if name.text in numbers:
        return numbers[name.text]
    hint = suggestion_or_all(name.text, list(numbers), "there is")
    if not numbers or name.text in _FAULTS:
        hint = f"; it is not {_FAULTS.get(name.text, 'lossy')}"
    message = f'nothing called "{name.text}" is a fault of channel {entity.name}{hint}'
    return context.report("F848", name.span, message, entity.note)


def is_for_all(node: syntax.Expr) -> bool:
    """Returns whether an expression has the index `...`."""
    return isinstance(node, syntax.Index) and isinstance(node.arguments[0], syntax.Anything)


def before_index(node: syntax.Expr) -> syntax.Expr:
    """Returns the expression before an index, or the expression itself if it has no index."""
    return node.base if isinstance(node, syntax.Index) else node


def _is_open(node: syntax.Expr) -> bool:
    """Returns whether an argument leaves some of the values inside it open by `...` or `_`."""
    if not isinstance(node, syntax.Call):
        return False
    values = [value.value for value in node.arguments]
    return any(
        isinstance(value, syntax.Anything)
        or (isinstance(value, syntax.Name) and value.text == "_")
        or _is_open(value)
        for value in values
    )


def _bare_variant(node: syntax.Expr, kind: Type) -> str | None:
    """Returns the variant with fields that a name without parentheses denotes, or None if there is
    no such variant.
    """
    kind = kind.element if isinstance(kind, Option) else kind
    name = _last_name(node)
    variants = kind.variants if isinstance(kind, Union) else ()
    return next(
        (variant.name for variant in variants if variant.fields and variant.name == name), None
    )


def _last_name(node: syntax.Node) -> str:
    name = node.name if isinstance(node, syntax.Attribute) else node
    return name.text if isinstance(name, syntax.Name) else ""
