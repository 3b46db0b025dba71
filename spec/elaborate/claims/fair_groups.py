"""Elaborates the declarations of fairness for groups of actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.size_limits import MAX_EFFORT, MAX_INSTANCES
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import visible_picks
from fencepost.spec.core.types import Value, as_collection, cardinality, values
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position, role_locals
from fencepost.spec.elaborate.base.symbols import (
    ChannelEntity,
    FairnessEntity,
    Instance,
    RoleEntity,
)
from fencepost.spec.elaborate.claims.scenarios import (
    before_index,
    channel_of,
    fault_of,
    is_for_all,
    is_known,
)
from fencepost.spec.elaborate.types.arguments import wrong_number
from fencepost.spec.elaborate.types.constants import effort
from fencepost.spec.elaborate.types.partiality import converted_value
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.enabled import action_of, instance_named
from fencepost.spec.elaborate.values.formulas import Values, given
from fencepost.spec.records import dataclass, replace
from fencepost.spec.semantics.concrete import EvaluationError, evaluate_constant
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

MAX_LABEL = 72
"""Maximum length of the label of a constraint without a name. A longer label is cut."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The steps of an action whose first choices have these values."""

    action: int
    choices: tuple[ir.Expr, ...]


@dataclass(slots=True)
class FairGroups:
    """Collects the fairness constraints of groups in the order of their declarations. Their
    conditions become predicates, which are appended to ``properties``. ``shown`` returns the name
    of an entity in reports.
    """

    work: Elaboration
    actions: Sequence[ir.Action]
    properties: list[ir.Property]
    constraints: list[ir.Fairness]
    shown: Callable[[FairnessEntity], str]

    def of(self, instance: Instance) -> None:
        """Adds the constraints that this module instance declares."""
        for node in instance.file.declarations:
            if isinstance(node, syntax.FairDecl):
                self._group(instance, None, node)
            elif isinstance(node, syntax.RoleDecl):
                role = instance.names.get(node.name.text)
                if not isinstance(role, RoleEntity) or role.decl is not node:
                    continue
                for member in node.members:
                    if isinstance(member, syntax.FairDecl):
                        self._group(instance, role, member)

    def _group(self, instance: Instance, role: RoleEntity | None, node: syntax.FairDecl) -> None:
        position = Position("property", owner=len(self.properties))
        context = Context(self.work, instance, position, role=role)
        slot, kind = -1, None if role is None else role.index_type
        if role is not None and kind is not None:
            if cardinality(kind) > MAX_INSTANCES:
                message = f"there is one constraint for each process, at most {MAX_INSTANCES}"
                context.report("F832", node.span, message)
                return
            slot = self.work.slot()
            local = ir.Local(kind, slot, span=node.span)
            context = replace(context, instance=local, locals=role_locals(role, local))
        parts = [self._part(context, member) for member in node.members]
        condition = None if node.condition is None else truth(context, node.condition)
        good = [part for part in parts if part is not None]
        if len(good) < len(parts) or (condition is None and node.condition is not None):
            return
        written_for: dict[_Part, syntax.Expr] = {}
        for part, written in zip(good, node.members, strict=True):
            first = written_for.setdefault(part, written)
            if first is not written:
                message = f"{written.span.text} is in this group already"
                context.report("F802", written.span, message, (first.span, "it is named here"))
        self.work.quantified += [] if condition is None else [condition.expr]
        self.work.quantified += [choice for part in good for choice in part.choices]
        for value in (None,) if kind is None else values(kind):
            index = {} if value is None or kind is None else {slot: ir.Literal(kind, value)}
            members = [self._members(context, part, index, node.span) for part in good]
            if None in members:
                return
            number: int | None = None
            if condition is not None:
                number, body = len(self.properties), given(condition.expr, index)
                span = condition.expr.span or node.span
                self.properties.append(ir.Property("", PropertyKind.PREDICATE, body, span))
            covered = tuple(dict.fromkeys(member for member in members if member is not None))
            name = self._name(instance, role, node)
            process = "" if value is None or kind is None else f"[{show(value, kind)}]"
            label = self._label(node, name, covered, process)
            strong, span = node.fairness == "strongly fair", (node.name or node).span
            self.constraints.append(
                ir.Fairness(name, label, strong, covered, span, group=True, condition=number)
            )

    # ------------------------------------------------------------ names

    def _name(self, instance: Instance, role: RoleEntity | None, node: syntax.FairDecl) -> str:
        names = instance.names if role is None else role.names
        entity = None if node.name is None else names.get(node.name.text)
        return self.shown(entity) if isinstance(entity, FairnessEntity) else ""

    def _label(
        self, node: syntax.FairDecl, name: str, members: Sequence[ir.StepSet], process: str
    ) -> str:
        """Returns the name in reports, with the process that the constraint belongs to."""
        if name:
            role, dot, last = name.rpartition(".")
            return f"{role}{process}{dot}{last}"
        label = f"{{{', '.join(self._shown(member) for member in members)}}}"
        if node.condition is not None:
            label += f" where {' '.join(node.condition.span.text.split())}"
        return label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 3]}..."

    def _shown(self, member: ir.StepSet) -> str:
        action = self.actions[member.action]
        owner, dot, last = action.name.rpartition(".")
        picks = visible_picks(action.body, len(member.choices))
        kinds = [as_collection(pick.domain.type).element for pick in picks]
        pairs = zip(member.choices, kinds, strict=True)
        return f"{owner}{''.join(f'[{show(value, kind)}]' for value, kind in pairs)}{dot}{last}"

    # ------------------------------------------------------------ members

    def _part(self, context: Context, written: syntax.Expr) -> _Part | None:
        """Elaborates a member. If it is wrong, reports a problem and returns None."""
        if isinstance(written, syntax.Call):
            message = "a group covers whole actions: name the action without arguments"
            return context.report("F802", written.span, message)
        # The process or the index of a channel is known before the run.
        context = replace(context, position=Position("constant"))
        if isinstance(written, syntax.Attribute) and is_for_all(written.base):
            written = replace(written, base=before_index(written.base))
        if not is_known(context, written):
            return None
        channel = channel_of(context, written)
        if channel is not None and isinstance(written, syntax.Attribute):
            return self._fault(context, channel, written)
        entity = action_of(context, written)
        if entity is None or entity.index is None:
            return None
        good, process = instance_named(context, entity, written)
        if not good:
            return None
        return _Part(entity.index, () if process is None else (process.expr,))

    def _fault(
        self, context: Context, entity: ChannelEntity, written: syntax.Attribute
    ) -> _Part | None:
        number = fault_of(context, self.actions, entity, written.name)
        if number is None:
            return None
        indices = written.base.arguments if isinstance(written.base, syntax.Index) else ()
        if indices and len(indices) != len(entity.indices):
            count = len(entity.indices), len(indices)
            return wrong_number(context, entity.name, *count, written.span, entity.note)
        choices: list[ir.Expr] = []
        for index, kind in zip(indices, entity.indices, strict=False):
            holder = f"an index of {entity.name}"
            operand = converted_value(context, index, kind, holder, entity.note)
            if operand is None:
                return None
            choices.append(operand.expr)
        return _Part(number, tuple(choices))

    def _members(
        self, context: Context, part: _Part, index: Values, span: Span
    ) -> ir.StepSet | None:
        """Evaluates the choices of a part. They are constant for each value of the role's index."""
        choices: list[Value] = []
        for choice in given(part.choices, index):
            if effort(choice) > MAX_EFFORT:
                message = "evaluating this would take too long"
                return context.report("F712", choice.span or span, message)
            try:
                choices.append(evaluate_constant(choice))
            except EvaluationError as error:
                site = self.work.sites[error.site]
                return context.report(site.code, site.span, site.message)
        return ir.StepSet(part.action, tuple(choices))
