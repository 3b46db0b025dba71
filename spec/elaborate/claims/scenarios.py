"""``scenario S: ...``: its steps as conditions on the choices of actions, and what holds then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.spec.core import ir
from fencepost.spec.core.scenario import Scenario, ScenarioStep
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import (
    Field,
    Option,
    Record,
    Type,
    Union,
    as_collection,
    describe,
)
from fencepost.spec.elaborate.base.context import Context, Elaboration
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    ChannelEntity,
    Instance,
    ModuleEntity,
    RoleEntity,
)
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.members import member_names, member_of
from fencepost.spec.elaborate.types.partiality import coerced
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.enabled import action_of, instance_named
from fencepost.spec.elaborate.values.roles import denoted
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, listing, suggestion

MOST_STEPS = 1000
"""The most steps that a scenario may name."""
VERDICTS = ("ok", "met", "violated", "deadlock", "assertion", "error", "unreached")
"""Words that may be meant to say what a run comes to."""
_FAULTS = {"lose": "lossy", "duplicate": "duplicating"}


def scenario(
    work: Elaboration, root: Instance, actions: Sequence[ir.Action], node: syntax.ScenarioDecl
) -> Scenario | None:
    """A scenario of the root, of a model with these ``actions``; None where it is wrong, which is
    reported.
    """
    reported = len(work.problems)
    # Values of symmetric types may be named here: for a scenario the search is one of all states.
    context = Context(work, root, "property", apart=True)
    made = _Steps(context, actions)
    steps: list[ScenarioStep] = []
    gaps: set[int] = set()
    expected: syntax.ScenarioExpect | None = None
    for item in node.items:
        if expected is not None:
            what = "the expectation stands at the end of a scenario, once, and holds there"
            context.report("F847", item.span, what, (expected.span, "nothing comes behind this"))
            break
        match item:
            case syntax.CheckConst():
                if steps or gaps:
                    what = "constants of a scenario are given in front of its steps"
                    context.report("F847", item.span, what)
            case syntax.ScenarioStep(action=action):
                step = made.step(action)
                if step is not None:
                    steps.append(step)
            case syntax.ScenarioGap():
                gaps.add(len(steps))
            case syntax.ScenarioExpect():
                expected = item
    if expected is None:
        what = "a scenario ends with what must hold behind its steps: expect E"
        context.report("F847", node.name.span, what)
        return None
    if len(steps) > MOST_STEPS:
        what = f"a scenario has at most {MOST_STEPS} steps, and this one has {len(steps)}"
        context.report("F847", node.name.span, what)
    verdict = expected.condition
    word = verdict.text if isinstance(verdict, syntax.Name) else ""
    if word in VERDICTS and context.find(word) is None:
        what = "a scenario expects a condition of the state behind its steps, as in x == 1"
        context.report("F847", verdict.span, what)
        return None
    condition = truth(context, expected.condition)
    if condition is None or any(not one.warning for one in work.problems[reported:]):
        return None
    name = node.name
    return Scenario(name.text, tuple(steps), frozenset(gaps), condition.expr, name.span)


class _Steps:
    """The steps of a scenario, one after the other."""

    def __init__(self, context: Context, actions: Sequence[ir.Action]) -> None:
        self.context = context
        self.actions = actions

    def step(self, node: syntax.Expr) -> ScenarioStep | None:
        """One step; None where it is wrong, which is reported."""
        call = node if isinstance(node, syntax.Call) else None
        written = node if call is None else call.function
        if isinstance(written, syntax.Attribute) and _for_all(written.base):
            # Which process acts, or which channel, is left open.
            written = replace(written, base=_behind_brackets(written.base))
        if not self._known(written):
            return None
        channel = self._channel(written)
        if channel is not None:
            return self._fault(channel, written, call, node)
        entity = action_of(self.context, written)
        if entity is None or entity.index is None:
            return None
        good, process = instance_named(self.context, entity, written)
        decl = entity.decl
        binders = () if decl.choices is None else decl.choices.binders
        names = [one.name.text for one in binders]
        names += [] if decl.receive is None else ["the message"]
        picks = self._head(entity.index)
        if picks is None or not good:
            return None
        tests: list[ir.Expr] = []
        if process is not None:
            local = ir.Local(process.type, picks[0].slot, span=written.span)
            tests.append(ir.Equal(local, process.expr, span=written.span))
        note: Note = (entity.span, f'"{entity.name}" is declared here')
        inner = self._arguments(picks[len(picks) - len(names) :], names, call, note)
        if inner is None or (call is not None and not self._received(entity, call)):
            return None
        return self._step(entity.index, picks, [*tests, *inner], node)

    def _received(self, entity: ActionEntity, call: syntax.Call) -> bool:
        """Whether the message that is named, if there is one, is one that the action receives; it
        is reported otherwise.
        """
        receive = entity.decl.receive
        message = call.arguments[-1].value if call.arguments else None
        if receive is None or receive.pattern.member is None or message is None:
            return True
        written = message.function if isinstance(message, syntax.Call) else message
        wanted, name = _last_name(receive.pattern.member), _last_name(written)
        entity_of = self._message(entity)
        if name == wanted or name not in member_names(entity_of) or not wanted:
            return True
        what = f"{entity.name} receives {wanted}, and this is {name}"
        note: Note = (receive.pattern.span, "received here")
        self.context.report("F848", message.span, what, note)
        return False

    def _message(self, entity: ActionEntity) -> Type | None:
        """The type of the messages that an action receives."""
        picks = self._head(entity.index or 0)
        return as_collection(picks[-1].domain.type).element if picks else None

    def _head(self, action: int) -> list[ir.Pick] | None:
        """The choices that the head of an action names; None: the action is wrong."""
        one = self.actions[action]
        picks = [p for p in walk(one.body) if isinstance(p, ir.Pick) and p.label is not None]
        return picks[: one.head] if len(picks) >= one.head else None

    # ------------------------------------------------------------ losses and duplications

    def _known(self, written: syntax.Expr) -> bool:
        """Whether the name in front of all dots means something, which is reported otherwise."""
        first = written
        while isinstance(first, syntax.Attribute):
            first = _behind_brackets(first.base)
        known = not isinstance(first, syntax.Name) or self.context.find(first.text) is not None
        if not known and first is not written and isinstance(first, syntax.Name):
            kinds = (RoleEntity, ChannelEntity, ModuleEntity)
            self.context.unknown(first, "role, channel or module", kinds=kinds)
            return False
        return True

    def _channel(self, written: syntax.Expr) -> ChannelEntity | None:
        """The channel in front of the last dot, if there is one."""
        if not isinstance(written, syntax.Attribute):
            return None
        entity = denoted(self.context, _behind_brackets(written.base))
        return entity if isinstance(entity, ChannelEntity) else None

    def _fault(
        self,
        entity: ChannelEntity,
        written: syntax.Expr,
        call: syntax.Call | None,
        node: syntax.Expr,
    ) -> ScenarioStep | None:
        assert isinstance(written, syntax.Attribute)
        numbers = {
            action.name.rpartition(".")[2]: number
            for number, action in enumerate(self.actions)
            if action.kind in _FAULTS and action.channel == entity.index
        }
        name = written.name.text
        note: Note = (entity.span, f'"{entity.name}" is declared here')
        if name not in numbers:
            hint = suggestion(name, numbers) or f"; there is {listing(list(numbers), 'and')}"
            if not numbers or name in _FAULTS:
                hint = f"; it is not {_FAULTS.get(name, 'lossy')}"
            what = f'nothing called "{name}" happens to channel {entity.name} by itself{hint}'
            self.context.report("F848", written.name.span, what, note)
            return None
        picks = self._head(numbers[name])
        if picks is None:
            return None
        tests: list[ir.Expr] = []
        if isinstance(written.base, syntax.Index):
            given = written.base.arguments
            if len(given) != len(entity.indices):
                wrong_number(
                    self.context, entity.name, len(entity.indices), len(given), written.span, note
                )
                return None
            for pick, value, kind in zip(picks, given, entity.indices, strict=False):
                tested = self._tests(value, ir.Local(kind, pick.slot), kind, entity.name)
                if tested is None:
                    return None
                tests += tested
        inner = self._arguments(picks[-1:], ["the message"], call, note)
        return None if inner is None else self._step(numbers[name], picks, [*tests, *inner], node)

    def _step(
        self, action: int, picks: Sequence[ir.Pick], tests: Sequence[ir.Expr], node: syntax.Expr
    ) -> ScenarioStep | None:
        asked = next((one for one in walk(tuple(tests)) if isinstance(one, ir.Enabled)), None)
        if asked is not None:
            # Which actions are enabled would be asked of the model beside the scenario.
            what = "what a step is given does not depend on which actions are enabled"
            self.context.report("F848", asked.span or node.span, what)
            return None
        condition = None
        if tests:
            condition = tests[0] if len(tests) == 1 else ir.And(tuple(tests), span=node.span)
        return ScenarioStep(action, picks[-1].slot if picks else None, condition, node.span)

    # ------------------------------------------------------------ arguments

    def _arguments(
        self, picks: Sequence[ir.Pick], names: Sequence[str], call: syntax.Call | None, note: Note
    ) -> list[ir.Expr] | None:
        """What the arguments ask of the choices ``picks``; None where they are wrong."""
        if call is None:
            return []
        kinds = [as_collection(pick.domain.type).element for pick in picks]
        fields = [Field(name, kind) for name, kind in zip(names, kinds, strict=True)]
        locals_ = [ir.Local(kind, one.slot) for kind, one in zip(kinds, picks, strict=True)]
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
        """What arguments ask of ``parts``, by position or by the names of fields."""
        given = self._given(call, name, [field.name for field in fields], notes)
        if given is None:
            return None
        tests: list[ir.Expr] = []
        for place, value in sorted(given.items()):
            made = self._tests(value, parts[place], fields[place].type, fields[place].name)
            if made is None:
                return None
            tests += made
        return tests

    def _given(
        self, call: syntax.Call, name: str, fields: Sequence[str], notes: Sequence[Note]
    ) -> dict[int, syntax.Expr] | None:
        """The arguments by the numbers of the fields that they are for; what stands behind `...` is
        counted from the end. None where they are wrong.
        """
        every = call.arguments
        rests = [n for n, one in enumerate(every) if isinstance(one.value, syntax.Anything)]
        if len(rests) > 1:
            what = "`...` stands once among arguments; `_` stands for one value"
            self.context.report("F848", every[rests[1]].span, what)
            return None
        given: dict[int, syntax.Expr] = {}
        for number, argument in enumerate(every):
            if number in rests:
                continue
            place = number
            if argument.name is not None:
                if argument.name.text not in fields:
                    hint = suggestion(argument.name.text, fields)
                    what = f'{name} has no field "{argument.name.text}"{hint}'
                    self.context.report("F314", argument.name.span, what, *notes)
                    return None
                place = list(fields).index(argument.name.text)
            elif rests and number > rests[0]:
                place = number - len(every) + len(fields)
            given[place] = argument.value
        written = len(every) - len(rests)
        fewer = len(given) < len(fields) and not rests
        if len(given) < written or not given.keys() <= set(range(len(fields))) or fewer:
            wrong_number(self.context, name, len(fields), written, call.span, *notes)
            return None
        return given

    def _tests(
        self, node: syntax.Expr, value: ir.Expr, kind: Type, name: str
    ) -> list[ir.Expr] | None:
        """What an argument asks of ``value``; None where it is wrong."""
        context = self.context
        if isinstance(node, syntax.Name) and node.text == "_":
            return []
        variant = _bare_variant(node, kind)
        if not _is_open(node) and variant is None:
            operand = coerced(context, context.expression(node, kind), kind, node.span, name)
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
                ir.Payload(field.type, value, tag, place) for place, field in enumerate(fields)
            ]
        elif isinstance(kind, Record) and _last_name(written) == kind.name:
            tests, fields = [], kind.fields
            parts = [ir.GetField(field.type, value, place) for place, field in enumerate(fields)]
        else:
            what = f"{name} is of {describe(kind)}, and this is no value of it"
            context.report("F848", node.span, what, *declaration(context, kind))
            return None
        if call is None:
            return tests
        inner = self._each(call, written.span.text, fields, parts, *declaration(context, kind))
        return None if inner is None else [*tests, *inner]


def _for_all(node: syntax.Expr) -> bool:
    """Whether `...` stands in brackets."""
    return isinstance(node, syntax.Index) and isinstance(node.arguments[0], syntax.Anything)


def _behind_brackets(node: syntax.Expr) -> syntax.Expr:
    """What stands in front of brackets, if there are some."""
    return node.base if isinstance(node, syntax.Index) else node


def _is_open(node: syntax.Expr) -> bool:
    """Whether an argument leaves open some of the values inside it."""
    if not isinstance(node, syntax.Call):
        return False
    values = [one.value for one in node.arguments]
    return any(
        isinstance(one, syntax.Anything)
        or (isinstance(one, syntax.Name) and one.text == "_")
        or _is_open(one)
        for one in values
    )


def _bare_variant(node: syntax.Expr, kind: Type) -> str | None:
    """The variant with fields that a name without brackets names."""
    kind = kind.element if isinstance(kind, Option) else kind
    name = _last_name(node)
    variants = kind.variants if isinstance(kind, Union) else ()
    return next((one.name for one in variants if one.fields and one.name == name), None)


def _last_name(node: syntax.Expr) -> str:
    name = node.name if isinstance(node, syntax.Attribute) else node
    return name.text if isinstance(name, syntax.Name) else ""
