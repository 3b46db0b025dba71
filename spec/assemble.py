"""From the instances of a program's modules to one model: what is declared where becomes tables.

Variables, actions and properties come in declaration order, those of imported modules first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fencepost.spec import channels, ir, syntax
from fencepost.spec.calls import checked_alone
from fencepost.spec.channels import Opening
from fencepost.spec.defined import coerced, least
from fencepost.spec.elaboration import Context, Elaboration, role_locals
from fencepost.spec.entities import (
    ActionEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Instance,
    LocalName,
    Operand,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    VariableEntity,
)
from fencepost.spec.expressions import elements, truth, universe
from fencepost.spec.modules import joined
from fencepost.spec.places import ordinary
from fencepost.spec.resolve import WIDEST_STATE, countable, value_of
from fencepost.spec.source import Span
from fencepost.spec.statements import assembled, blocked, pick, suite
from fencepost.spec.types import Bool, Int, Map, Set, Type, Union, bits, describe


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of a channel, and the variable that counts it."""

    entity: ChannelEntity
    fault: channels.Fault
    counter: int | None
    name: str


_Acting = ActionEntity | _Fault


@dataclass(slots=True)
class Assembly:
    """One model being put together."""

    work: Elaboration
    root: Instance
    name: str
    instances: list[Instance] = field(default_factory=list[Instance])
    variables: list[ir.StateVariable] = field(default_factory=list[ir.StateVariable])
    declared: list[VariableEntity | ChannelEntity | int] = field(
        default_factory=list["VariableEntity | ChannelEntity | int"]
    )
    acting: list[_Acting] = field(default_factory=list["_Acting"])
    actions: list[ir.Action] = field(default_factory=list[ir.Action])
    properties: list[ir.Property] = field(default_factory=list[ir.Property])

    def model(self) -> ir.Model:
        """The model; sensible only when no error was recorded on the way."""
        self.instances = joined(self.root)
        for instance in self.instances:
            self._declare(instance)
        self._width()
        self.work.action_kinds = [self._kind(item) for item in self.acting]
        initial = self._initial()
        for number, item in enumerate(self.acting):
            self._action(number, item)
        for instance in self.instances:
            self._properties(instance)
        assumptions = tuple(self._assumptions(self.root, set()))
        self._unused()
        self._unheard()
        return ir.Model(
            name=self.name,
            variables=tuple(self.variables),
            initial=initial,
            actions=tuple(self.actions),
            properties=tuple(self.properties),
            assumptions=assumptions,
            constants=tuple(self._constants(self.root, "", set())),
            sites=tuple(self.work.sites),
            guards=tuple(self.work.guards),
            marks=tuple(self.work.marks),
            slots=self.work.slots,
            labels=self.work.labels,
            warnings=tuple(problem for problem in self.work.problems if problem.warning),
        )

    # ------------------------------------------------------------ declarations

    def _shown(self, instance: Instance, name: str, taken: Iterator[str]) -> str:
        """``name``, with the module's in front where another instance has the same."""
        return f"{instance.alias}.{name}" if name in set(taken) else name

    def _declare(self, instance: Instance) -> None:
        context = Context(self.work, instance, "constant")
        for node in instance.file.declarations:
            match node:
                case syntax.VarDecl(name=name):
                    entity = instance.names.get(name.text)
                    if isinstance(entity, VariableEntity) and entity.decl is node:
                        self._variable(context, entity, name.text)
                case syntax.ChannelDecl(name=name):
                    entity = instance.names.get(name.text)
                    if isinstance(entity, ChannelEntity) and entity.decl is node:
                        self._channel(context, entity)
                case syntax.RoleDecl(name=name):
                    entity = instance.names.get(name.text)
                    if isinstance(entity, RoleEntity) and entity.decl is node:
                        self._role(context, entity)
                case syntax.ActionDecl(name=name):
                    entity = instance.names.get(name.text)
                    if isinstance(entity, ActionEntity) and entity.decl is node:
                        self._number(entity)
                case _:
                    pass

    def _number(self, entity: ActionEntity) -> None:
        entity.index = len(self.acting)
        self.acting.append(entity)

    def _role(self, context: Context, role: RoleEntity) -> None:
        if role.decl.index is not None:
            role.index_type = context.resolve(role.decl.index.type)
            if role.index_type is None:
                role.index_type = Bool()
            elif not countable(role.index_type, 4096):
                self.work.report(
                    "F706",
                    role.decl.index.type.span,
                    f"a role has at most 4096 processes, and {describe(role.index_type)} has more"
                    " values",
                )
                role.index_type = Bool()
        for node in role.decl.members:
            if isinstance(node, syntax.VarDecl):
                entity = role.names.get(node.name.text)
                if isinstance(entity, VariableEntity) and entity.decl is node:
                    self._variable(context, entity, f"{role.name}.{entity.name}")
            elif isinstance(node, syntax.ActionDecl):
                entity = role.names.get(node.name.text)
                if isinstance(entity, ActionEntity) and entity.decl is node:
                    self._number(entity)

    def _variable(self, context: Context, entity: VariableEntity, name: str) -> None:
        kind = context.resolve(entity.decl.type)
        if kind is None:
            return
        entity.type = kind
        entity.index = len(self.variables)
        role = entity.role
        if role is not None and role.index_type is not None:
            kind = Map(role.index_type, kind)
        shown = self._shown(entity.module, name, (v.name for v in self.variables))
        self.variables.append(
            ir.StateVariable(
                shown,
                kind,
                "variable",
                role.name if role else "",
                entity.decl.ghost,
                entity.span,
            )
        )
        self.declared.append(entity)

    def _channel(self, context: Context, entity: ChannelEntity) -> None:
        faults = channels.declare(context, entity)
        if entity.type is None:
            return
        entity.index = len(self.variables)
        shown = self._shown(entity.module, entity.name, (v.name for v in self.variables))
        self.variables.append(
            ir.StateVariable(shown, entity.type, "channel", "", False, entity.span)
        )
        self.declared.append(entity)
        seen: dict[str, int] = {}
        for fault in faults:
            seen[fault.kind] = seen.get(fault.kind, 0) + 1
            number = str(seen[fault.kind]) if seen[fault.kind] > 1 else ""
            counter: int | None = None
            if fault.budget is not None:
                counter = len(self.variables)
                word = "lost" if fault.kind == "lossy" else "duplicated"
                kind = Int(0, fault.budget)
                self.variables.append(
                    ir.StateVariable(
                        f"{shown}.{word}{number}", kind, "budget", "", False, fault.span
                    )
                )
                self.declared.append(counter)
            verb = "lose" if fault.kind == "lossy" else "duplicate"
            self.acting.append(_Fault(entity, fault, counter, f"{shown}.{verb}{number}"))

    def _width(self) -> None:
        total = 0
        for variable in self.variables:
            total += bits(variable.type)
            if total > WIDEST_STATE:
                self.work.report(
                    "F708",
                    variable.span,
                    f"with this variable a state takes {total} bits, and it has at most"
                    f" {WIDEST_STATE}",
                )
                return

    # ------------------------------------------------------------ initial states

    def _initial(self) -> ir.Statement:
        parts: list[ir.Statement | Opening] = []
        for index, item in enumerate(self.declared):
            if isinstance(item, VariableEntity):
                statement = self._first_value(item, index)
                if statement is not None:
                    parts.append(statement)
            else:
                kind = self.variables[index].type
                value = ir.Literal(kind, least(kind))
                parts.append(ir.Assign(index, (), value, span=self.variables[index].span))
        for instance in self.instances:
            context = Context(self.work, instance, "initial")
            for node in instance.file.declarations:
                if isinstance(node, syntax.Initially):
                    condition = truth(context, node.condition)
                    if condition is not None:
                        ordinary(context, condition, node.span, "the choice of initial states")
                        guard = context.guard("require", node.span)
                        parts.append(ir.Require(condition.expr, guard, span=node.span))
        return assembled(parts)

    def _first_value(self, entity: VariableEntity, index: int) -> ir.Statement | None:
        kind = entity.type
        assert kind is not None
        context = Context(self.work, entity.module, "initial", role=entity.role, declared=index)
        role = entity.role
        if role is None or role.index_type is None:
            return self._stored(context, entity, kind, index, ())
        slot = self.work.slot()
        instance = ir.Local(role.index_type, slot, span=entity.span)
        context = replace(context, instance=instance, locals=role_locals(role, instance))
        whole = Map(role.index_type, kind)
        if entity.decl.kind == "value":
            value = self._value(context, entity, kind)
            built = value and ir.BuildMap(whole, slot, value, span=entity.decl.span)
            return built and ir.Assign(index, (), built, span=entity.decl.span)
        each = self._stored(context, entity, kind, index, (ir.KeyStep(instance),))
        if each is None:
            return None
        empty = ir.Assign(index, (), ir.Literal(whole, least(whole)), span=entity.decl.span)
        processes = ir.Universe(Set(role.index_type))
        return ir.Sequence((empty, ir.ForEach(slot, processes, each, span=entity.decl.span)))

    def _value(self, context: Context, entity: VariableEntity, kind: Type) -> ir.Expr | None:
        decl = entity.decl
        assert decl.value is not None
        value = coerced(
            context,
            context.expression(decl.value, kind),
            kind,
            decl.value.span,
            entity.name,
            (decl.type.span, f"{entity.name} is declared here"),
        )
        if value is None:
            return None
        if not decl.ghost:
            ordinary(context, value, decl.value.span, f"{entity.name}, which is no ghost,")
        return value.expr

    def _stored(
        self,
        context: Context,
        entity: VariableEntity,
        kind: Type,
        index: int,
        path: tuple[ir.Step, ...],
    ) -> ir.Statement | None:
        decl = entity.decl
        if decl.kind == "value":
            value = self._value(context, entity, kind)
            return value and ir.Assign(index, path, value, span=decl.span)
        if decl.value is None:
            domain = universe(context, kind, decl.type.span)
            if domain is not None and not countable(kind, 1 << 20):
                context.report(
                    "F710",
                    decl.type.span,
                    f"{describe(kind)} has too many values to start from each of them",
                )
        else:
            domain = elements(context, decl.value, expected=Set(kind))
        if domain is None:
            return None
        if not decl.ghost:
            ordinary(context, domain, decl.span, f"{entity.name}, which is no ghost,")
        assert not isinstance(domain.type, Map)
        element = getattr(domain.type, "element", kind)
        slot = self.work.slot()
        chosen = Operand(ir.Local(element, slot, span=decl.name.span))
        test: Operand | None = None
        if decl.condition is not None:
            # The variable's own name stands for the value that is being chosen.
            own = LocalName(chosen, decl.name.span)
            inner = replace(context, locals={**context.locals, entity.name: own})
            test = truth(inner, decl.condition)
            if test is None:
                return None
            ordinary(context, test, decl.condition.span, "the choice of initial states")
        value_operand = coerced(context, chosen, kind, decl.span, entity.name)
        if value_operand is None:
            return None
        assign = ir.Assign(index, path, value_operand.expr, span=decl.span)
        guard = context.guard("choice", decl.span)
        condition = test.expr if test else None
        return ir.Pick(slot, domain.expr, condition, guard, None, assign, span=decl.span)

    # ------------------------------------------------------------ actions

    def _kind(self, item: _Acting) -> str:
        if isinstance(item, _Fault):
            return "lose" if item.fault.kind == "lossy" else "duplicate"
        return "environment" if item.decl.environment else "ordinary"

    def _action(self, number: int, item: _Acting) -> None:
        if isinstance(item, _Fault):
            context = Context(self.work, item.entity.module, "action", action=number)
            action = channels.fault_action(
                context, item.entity, item.fault, item.counter, item.name
            )
            self.actions.append(action)
            return
        decl = item.decl
        if decl.fairness:
            self.work.report(
                "F802",
                decl.name.span,
                f"`{decl.fairness}` matters to liveness only, which no engine checks yet",
            )
        context = Context(self.work, item.module, "action", role=item.role, action=number)
        parts: list[ir.Statement | Opening] = []
        context = self._process(context, item, parts)
        for binder in decl.parameters:
            part, context = pick(context, binder, None, binder.span)
            if part is not None:
                parts.append(part)
        source: int | None = None
        if decl.receive is not None:
            received = channels.receive(context, decl.receive)
            if received is not None:
                context, opening = received
                parts.append(opening)
                target = channels.line(context, decl.receive.channel)
                source = target.entity.index if target else None
        label = self.work.label()
        context = replace(context, returns=label)
        parts.append(blocked(label, suite(context, decl.body)))
        role = item.role.name if item.role else ""
        name = f"{role}.{item.name}" if role else item.name
        self.actions.append(
            ir.Action(
                self._shown(item.module, name, (action.name for action in self.actions)),
                role,
                "environment" if decl.environment else "ordinary",
                assembled(parts),
                decl.name.span,
                source,
            )
        )

    def _process(
        self, context: Context, item: ActionEntity, parts: list[ir.Statement | Opening]
    ) -> Context:
        """In a role family, the choice of the process comes first."""
        role = item.role
        if role is None or role.index_type is None:
            return context
        slot = self.work.slot()
        assert role.decl.index is not None
        span = role.decl.index.span
        local = ir.Local(role.index_type, slot, span=span)
        guard = context.guard("choice", span)
        domain = ir.Universe(Set(role.index_type), span=span)
        parts.append(lambda rest: ir.Pick(slot, domain, None, guard, "", rest, span=span))
        return replace(context, instance=local, locals=role_locals(role, local))

    # ------------------------------------------------------------ properties

    def _properties(self, instance: Instance) -> None:
        for node in instance.file.declarations:
            if isinstance(node, syntax.PropertyDecl | syntax.LivenessDecl):
                self._property(instance, None, node)
            elif isinstance(node, syntax.RoleDecl):
                role = instance.names.get(node.name.text)
                if not isinstance(role, RoleEntity) or role.decl is not node:
                    continue
                for member in node.members:
                    if isinstance(member, syntax.PropertyDecl | syntax.LivenessDecl):
                        self._property(instance, role, member)

    def _property(
        self,
        instance: Instance,
        role: RoleEntity | None,
        node: syntax.PropertyDecl | syntax.LivenessDecl,
    ) -> None:
        if isinstance(node, syntax.LivenessDecl):
            self.work.report(
                "F801",
                node.name.span,
                "liveness (`property`) is checked by no engine yet; state what it means at rest as"
                " `invariant ...: quiescent implies ...`",
            )
            return
        name = self._property_name(instance, node.name)
        if name and any(other.name == name for other in self.properties):
            # Within a file or role the declarations themselves have been compared.
            assert node.name is not None
            other = next(other for other in self.properties if other.name == name)
            self.work.report(
                "F202",
                node.name.span,
                f'"{name}" is declared twice; checks name properties without their role',
                (other.span, "first declared here"),
            )
        place = "step" if node.kind == "step invariant" else "property"
        context = Context(
            self.work,
            instance,
            place,
            role=role,
            outermost=True,
            owner=len(self.properties),
        )
        slot: int | None = None
        if role is not None and role.index_type is not None:
            slot = self.work.slot()
            local = ir.Local(role.index_type, slot, span=node.span)
            context = replace(context, instance=local, locals=role_locals(role, local))
        body = truth(context, node.body)
        if body is None:
            return
        expr = body.expr
        if slot is not None and role is not None and role.index_type is not None:
            assert role.decl.index is not None
            expr = ir.Quantified(
                node.kind != "reachable",
                slot,
                ir.Universe(Set(role.index_type)),
                expr,
                name=role.decl.index.name.text,
                span=node.body.span,
            )
        span = node.name.span if node.name else node.body.span
        self.properties.append(ir.Property(name, node.kind, expr, span))

    def _property_name(self, instance: Instance, name: syntax.Name | None) -> str:
        if name is None:
            return ""
        if instance is self.root:
            return name.text
        imported = self.root.imports.get(name.text)
        if isinstance(imported, PropertyEntity) and imported.module is instance:
            return name.text
        return f"{instance.alias}.{name.text}"

    # ------------------------------------------------------------ the rest

    def _assumptions(self, instance: Instance, seen: set[int]) -> Iterator[ir.Assumption]:
        if id(instance) in seen:
            return
        seen.add(id(instance))
        for module in instance.modules:
            yield from self._assumptions(module, seen)
        context = Context(self.work, instance, "constant")
        for node in instance.file.declarations:
            if isinstance(node, syntax.Assume):
                condition = truth(context, node.condition)
                if condition is not None:
                    yield ir.Assumption(condition.expr, node.condition.span)

    def _constants(self, instance: Instance, prefix: str, seen: set[int]) -> Iterator[ir.Constant]:
        if id(instance) in seen:
            return
        seen.add(id(instance))
        for entity in instance.names.values():
            if isinstance(entity, ConstEntity):
                value_of(self.work, entity)
                if entity.type is not None and entity.value is not None:
                    yield ir.Constant(prefix + entity.name, entity.type, entity.value, entity.span)
        for name, entity in instance.imports.items():
            if isinstance(entity, ConstEntity) and not prefix and entity.value is not None:
                assert entity.type is not None
                yield ir.Constant(name, entity.type, entity.value, entity.span)
        for module in instance.modules:
            yield from self._constants(module, f"{prefix}{module.alias}.", seen)

    def _unused(self) -> None:
        """Defs and procedures of the root that nothing calls are checked all the same."""
        roles = [role for role in self.root.names.values() if isinstance(role, RoleEntity)]
        scopes = [self.root.names, *(role.names for role in roles)]
        for entity in [entity for names in scopes for entity in names.values()]:
            if isinstance(entity, DefEntity) and not entity.used:
                checked_alone(self._alone(entity.role, "property"), entity)
            elif isinstance(entity, ProcedureEntity) and not entity.used:
                self._procedure_alone(entity)

    def _alone(self, role: RoleEntity | None, place: str) -> Context:
        # Tables that the real model needs must not grow, so a scratch copy takes the rest.
        work = replace(
            self.work,
            sites=list(self.work.sites),
            guards=list(self.work.guards),
            marks=list(self.work.marks),
        )
        context = Context(work, self.root, "action" if place == "action" else "property", role=role)
        if role is not None and role.index_type is not None:
            local = ir.Local(role.index_type, work.slot())
            context = replace(context, instance=local, locals=role_locals(role, local))
        return context

    def _procedure_alone(self, entity: ProcedureEntity) -> None:
        context = self._alone(entity.role, "action")
        for parameter in entity.decl.parameters:
            kind = context.resolve(parameter.type)
            local = kind and Operand(ir.Local(kind, context.work.slot()))
            context = context.bind(parameter.name, local)
        context = replace(context, returns=context.work.label(), expanding=(entity,))
        suite(context, entity.decl.body)

    def _unheard(self) -> None:
        """Messages that are sent and that no action receives are probably a mistake (F420)."""
        if any(not problem.warning for problem in self.work.problems):
            return
        for entity in self.declared:
            if not isinstance(entity, ChannelEntity) or not isinstance(entity.message, Union):
                continue
            for tag, span in entity.sent.items():
                if tag not in entity.received:
                    name = entity.message.variants[tag].name
                    self._warn(entity, name, span)

    def _warn(self, entity: ChannelEntity, name: str, span: Span) -> None:
        self.work.report(
            "F420",
            span,
            f"{name} is sent to {entity.name}, and no action receives it",
            (entity.span, f"{entity.name} is declared here"),
            warning=True,
        )
