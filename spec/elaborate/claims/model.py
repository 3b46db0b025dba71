"""Builds one model from the instances of a program's modules. Their declarations become the tables
of the model.

Variables, actions and properties are in declaration order, with those of imported modules first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.recording import Recording
from fencepost.spec.core.scenario import Scenario
from fencepost.spec.core.size_limits import DEEPEST, MAX_KEYS, WIDEST_STATE, countable
from fencepost.spec.core.traverse import depth, first_picks
from fencepost.spec.core.types import (
    Bool,
    Int,
    Map,
    Nominal,
    Set,
    Union,
    as_collection,
    bits,
    describe,
)
from fencepost.spec.elaborate.actions.channel_faults import fault_action
from fencepost.spec.elaborate.actions.fairness import check_fairness, of_prefix
from fencepost.spec.elaborate.actions.initial_states import initial
from fencepost.spec.elaborate.actions.statements import assembled, blocked, pick, suite
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position, role_locals
from fencepost.spec.elaborate.base.size_checks import bounded, boundless
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    ChannelEntity,
    ConstEntity,
    Entity,
    FairnessEntity,
    Instance,
    Opening,
    RoleEntity,
    VariableEntity,
)
from fencepost.spec.elaborate.claims.declarations import check_unused
from fencepost.spec.elaborate.claims.fair_groups import FairGroups
from fencepost.spec.elaborate.claims.module_state import Written, every_instance, joined, paths
from fencepost.spec.elaborate.claims.open_range_names import named
from fencepost.spec.elaborate.claims.properties import Properties, symbolic_constants
from fencepost.spec.elaborate.claims.recordings import recording
from fencepost.spec.elaborate.claims.scenarios import scenario
from fencepost.spec.elaborate.claims.symmetry import of_all_elements, of_every, without_order
from fencepost.spec.elaborate.types.constants import value_of
from fencepost.spec.elaborate.types.members import member_names
from fencepost.spec.elaborate.values import channels
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of a channel, and the variable that counts its occurrences if there is a budget."""

    entity: ChannelEntity
    fault: channels.Fault
    counter: int | None
    name: str


_Acting = ActionEntity | _Fault
_Declared = VariableEntity | ChannelEntity | ActionEntity | FairnessEntity


@dataclass(slots=True)
class Assembly:
    """One model under construction.

    ``whole`` says whether every file could be read. ``written`` is shared between builds (see
    `joined`). ``asked`` is an expression to evaluate in states. It becomes the last property and
    must be a condition, unless ``of_any_type`` is set. ``again`` creates a new assembly of the same
    program; it is used for modules that are refined. ``paths`` holds the shortest path from the
    root to each module. ``entities`` correspond to ``variables``; an entity of None is a fault
    budget. ``recording`` is the root's mapping of recordings, and ``scenarios`` are the elaborated
    ``stated`` scenarios. Both are set once the model is built.
    """

    work: Elaboration
    root: Instance
    name: str
    whole: bool
    written: Written
    asked: syntax.Expr | None = None
    of_any_type: bool = False
    again: Callable[[], Assembly] | None = None
    instances: list[Instance] = field(default_factory=list[Instance])
    variables: list[ir.StateVariable] = field(default_factory=list[ir.StateVariable])
    paths: dict[Instance, str] = field(default_factory=dict[Instance, str])
    entities: list[VariableEntity | ChannelEntity | None] = field(
        default_factory=list["VariableEntity | ChannelEntity | None"]
    )
    acting: list[_Acting] = field(default_factory=list["_Acting"])
    actions: list[ir.Action] = field(default_factory=list[ir.Action])
    fairness: list[ir.Fairness] = field(default_factory=list[ir.Fairness])
    properties: list[ir.Property] = field(default_factory=list[ir.Property])
    recording: Recording | None = None
    stated: Sequence[syntax.ScenarioDecl] = ()
    scenarios: list[Scenario] = field(default_factory=list[Scenario])

    def abstract(self) -> ir.Model:
        """Builds only the transition system, without properties and other data for checks and
        reports.
        """
        start = self._machine()
        work = self.work
        model = ir.Model(
            self.name, tuple(self.variables), start, tuple(self.actions), (), (), (),
            tuple(work.sites), tuple(work.guards), tuple(work.marks), work.slots, work.labels,
        )  # fmt: skip
        return of_all_elements(model) if self._symmetric() else model

    def _refined(self, position: int) -> Assembly:
        """Returns a separate assembly whose root is the module at this position of
        `every_instance`.
        """
        assert self.again is not None
        other = self.again()
        other.root = every_instance(other.root)[position]
        return other

    def _symmetric(self) -> bool:
        """Returns whether any module declares a symmetric type."""
        return any(
            isinstance(node, syntax.SymmetricType)
            for instance in every_instance(self.root)
            for node in instance.file.declarations
        )

    def _machine(self) -> ir.Statement:
        """Creates the variables and actions. Returns the statement that chooses the initial
        state.
        """
        self.paths = paths(self.root)
        self.instances = joined(self.root, self.written)
        for instance in self.instances:
            context = Context(self.work, instance, Position("constant"))
            self._declare(context, instance.file.declarations, instance.names)
        self._width()
        self.work.action_kinds = [_kind(item) for item in self.acting]
        start = initial(self.work, self.variables, self.entities, self.instances)
        check_fairness(self.work, self.instances)
        for number, item in enumerate(self.acting):
            self._action(number, item)
        return start

    def model(self) -> ir.Model:
        """Builds the model. It is usable only if no error was recorded."""
        every = every_instance(self.root)
        start = self._machine()
        declared = Properties(self.work, self.root, self.paths, self._refined)
        for instance in self.instances:
            declared.of(instance)
        self.properties = declared.properties
        groups = FairGroups(self.work, self.actions, self.properties, self.fairness, self._shown)
        for instance in self.instances:
            groups.of(instance)
        if self.asked is not None:
            context = Context(self.work, self.root, Position("property"))
            elaborate = Context.expression if self.of_any_type else truth
            body = elaborate(context, self.asked)
            if body is not None:
                self.properties.append(
                    ir.Property("", PropertyKind.REACHABLE, body.expr, self.asked.span)
                )
        symbols, conditions = symbolic_constants(self.work, self.root, self.paths, every)
        assumptions = (*self._assumptions(every), *conditions)
        self.recording = recording(self.work, self.root, self.actions, self.entities)
        for item in self.stated:
            built = scenario(self.work, self.root, self.actions, item)
            self.scenarios += [] if built is None else [built]
        self._unheard()
        self._unbounded()
        check_unused(self.work, self.root)
        self._depth()
        self._something()
        model = ir.Model(
            name=self.name,
            variables=tuple(self.variables),
            initial=start,
            actions=tuple(self.actions),
            properties=tuple(self.properties),
            assumptions=assumptions,
            constants=tuple(self._constants(every)),
            sites=tuple(self.work.sites),
            guards=tuple(self.work.guards),
            marks=tuple(self.work.marks),
            slots=self.work.slots,
            labels=self.work.labels,
            warnings=tuple(problem for problem in self.work.problems if problem.warning),
            symbols=symbols,
            fairness=tuple(self.fairness),
            open_ranges=named(self.work.open_ranges.values(), every),
        )
        has_errors = any(not problem.warning for problem in self.work.problems)
        if has_errors or not self._symmetric():
            return model
        self.scenarios = [
            replace(item, expectation=of_every(item.expectation)) for item in self.scenarios
        ]
        return without_order(self.work, model)

    # ------------------------------------------------------------ declarations

    def _shown(self, entity: _Declared) -> str:
        """Returns the name of an entity in reports. If possible, this is the name that the root
        would write.
        """
        role = None if isinstance(entity, ChannelEntity) else entity.role
        name = f"{role.name}.{entity.name}" if role else entity.name
        top = role or entity
        if entity.module is self.root or self.root.imports.get(top.name) is top:
            return name
        return f"{self.paths[entity.module]}.{name}"

    def _declare(
        self,
        context: Context,
        nodes: Sequence[syntax.Declaration | syntax.RoleMember],
        names: Mapping[str, Entity],
    ) -> None:
        """Adds the variables and actions of a module or role, whose entities are in ``names``."""
        for node in nodes:
            name: syntax.Name | None = getattr(node, "name", None)
            entity = None if name is None else names.get(name.text)
            match entity:
                case VariableEntity() if entity.decl is node:
                    self._variable(context, entity)
                case ChannelEntity() if entity.decl is node:
                    self._channel(context, entity)
                case RoleEntity() if entity.decl is node:
                    self._role(context, entity)
                case ActionEntity() if entity.decl is node:
                    self._number(entity)
                case _:
                    # The node declares no state, or its name is declared twice, which has already
                    # been reported.
                    pass

    def _number(self, entity: ActionEntity) -> None:
        entity.index = len(self.acting)
        self.acting.append(entity)

    def _role(self, context: Context, role: RoleEntity) -> None:
        if role.decl.index is not None:
            role.index_type = context.resolve(role.decl.index.type)
            if role.index_type is None:
                # Any finite type allows checking to continue. The mistake has already been
                # reported.
                role.placeholder = True
            elif is_open(role.index_type):
                self.work.report(
                    "F303",
                    role.decl.index.type.span,
                    boundless(role.index_type, "a role has a process for every value"),
                )
                role.placeholder = True
            elif not countable(role.index_type, MAX_KEYS):
                self.work.report(
                    "F706",
                    role.decl.index.type.span,
                    f"a role has at most {MAX_KEYS} processes, but {describe(role.index_type)} has"
                    " more values",
                )
                role.placeholder = True
            if role.placeholder:
                role.index_type = Bool()
        self._declare(context, role.decl.members, role.names)

    def _variable(self, context: Context, entity: VariableEntity) -> None:
        kind = context.resolve(entity.decl.type)
        if kind is None:
            return
        entity.type = kind
        entity.index = len(self.variables)
        role = entity.role
        if role is not None and role.index_type is not None:
            whole = bounded(context, Map(role.index_type, kind), entity.decl.type.span)
            if whole is None:
                entity.index = None
                return
            kind = whole
        shown = self._shown(entity)
        owner = role.name if role else ""
        self.variables.append(
            ir.StateVariable(shown, kind, "variable", owner, entity.decl.ghost, entity.span)
        )
        self.entities.append(entity)

    def _channel(self, context: Context, entity: ChannelEntity) -> None:
        faults = channels.declare(context, entity)
        if entity.type is None:
            return
        entity.index = len(self.variables)
        shown = self._shown(entity)
        self.variables.append(
            ir.StateVariable(shown, entity.type, "channel", "", False, entity.span)
        )
        self.entities.append(entity)
        seen: dict[str, int] = {}
        for fault in faults:
            seen[fault.kind] = seen.get(fault.kind, 0) + 1
            if fault.budget == 0:
                # The fault cannot occur, so the model needs no action for it.
                continue
            number = str(seen[fault.kind]) if seen[fault.kind] > 1 else ""
            counter: int | None = None
            if fault.budget is not None:
                counter = len(self.variables)
                word = "lost" if fault.kind == "lossy" else "duplicated"
                name = f"{shown}.{word}{number}"
                kind = Int(0, fault.budget)
                self.variables.append(ir.StateVariable(name, kind, "budget", "", False, fault.span))
                self.entities.append(None)
            verb = "lose" if fault.kind == "lossy" else "duplicate"
            self.acting.append(_Fault(entity, fault, counter, f"{shown}.{verb}{number}"))

    def _something(self) -> None:
        """Reports (F825) a spec that declares nothing to check."""
        empty = not self.variables and not self.actions and not self.properties
        if empty and self.whole and not self.work.problems:
            self.work.report(
                "F825",
                Span(self.root.file.source, 0, 0),
                "there is nothing to check: no variable, no action and no property",
            )

    def _width(self) -> None:
        total = 0
        for variable in self.variables:
            total += bits(variable.type)
            if total > WIDEST_STATE:
                self.work.report(
                    "F708",
                    variable.span,
                    f"with this variable a state takes {total} bits, but a state has at most"
                    f" {WIDEST_STATE}",
                )
                return

    # ------------------------------------------------------------ actions

    def _action(self, number: int, item: _Acting) -> None:
        if isinstance(item, _Fault):
            context = Context(self.work, item.entity.module, Position("action"), action=number)
            action = fault_action(context, item.entity, item.fault, item.counter, item.name)
            self.actions.append(action)
            return
        decl = item.decl
        context = Context(self.work, item.module, Position("action"), role=item.role, action=number)
        parts: list[ir.Statement | Opening] = []
        context = self._process(context, item, parts)
        before = len(parts)
        if decl.choices is not None:
            context = self._choices(context, decl.choices, parts)
        choices = len(parts)
        source: int | None = None
        if decl.receive is not None:
            received = channels.receive(context, decl.receive)
            context, source = received.context, received.channel
            if received.opening is not None:
                parts.append(received.opening)
        label = self.work.label()
        context = replace(context, returns=label)
        parts.append(blocked(label, suite(context, decl.body)))
        body = assembled(parts)
        if decl.choices is None or choices - before == len(decl.choices.binders):
            picks = first_picks(body, choices)[before:]
            item.parameters = tuple(as_collection(pick.domain.type).element for pick in picks)
        name = self._shown(item)
        constraint = of_prefix(item, number, name)
        self.fairness += [] if constraint is None else [constraint]
        self.actions.append(
            ir.Action(
                name,
                item.role.name if item.role else "",
                "environment" if decl.environment else "ordinary",
                body,
                decl.name.span,
                source,
                choices + (decl.receive is not None),
            )
        )

    def _choices(
        self, context: Context, node: syntax.Choices, parts: list[ir.Statement | Opening]
    ) -> Context:
        """Adds the choices of an action's parameters, and returns the context with these parameters
        bound. The `where` of the action is a condition on the last parameter.
        """
        self.work.limit(len(node.binders), node.span)
        for binder in node.binders:
            last = node.condition is not None and binder is node.binders[-1]
            condition, span = (node.condition, node.span) if last else (None, binder.span)
            part, context = pick(context, binder, condition, span)
            if part is not None:
                parts.append(part)
        return context

    def _process(
        self, context: Context, item: ActionEntity, parts: list[ir.Statement | Opening]
    ) -> Context:
        """In a role family, adds the choice of the acting process, which is the first choice of the
        action. Returns the context of this process, or the unchanged context outside a role family.
        """
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

    # ------------------------------------------------------------ the rest

    def _assumptions(self, instances: Sequence[Instance]) -> Iterator[ir.Assumption]:
        for instance in instances:
            context = Context(self.work, instance, Position("constant"))
            for node in instance.file.declarations:
                if isinstance(node, syntax.Assume):
                    condition = truth(context, node.condition)
                    if condition is not None:
                        yield ir.Assumption(condition.expr, node.condition.span)

    def _constants(self, instances: Sequence[Instance]) -> Iterator[ir.Constant]:
        """Yields the constants, with those of the root first, under the paths that checks and
        options use.
        """
        for instance in (self.root, *instances[:-1]):
            prefix = f"{self.paths[instance]}." if self.paths[instance] else ""
            entities = {**instance.names, **(instance.imports if instance is self.root else {})}
            for name, entity in entities.items():
                if not isinstance(entity, ConstEntity):
                    continue
                value_of(self.work, entity)
                if entity.type is not None and entity.value is not None:
                    yield ir.Constant(prefix + name, entity.type, entity.value, entity.span)

    def _depth(self) -> None:
        """Reports (F711) each action or property whose body is nested too deeply for the
        engines.
        """
        parts: list[ir.Action | ir.Property] = [*self.actions, *self.properties]
        for part in parts:
            if depth(part.body) > DEEPEST:
                self.work.report(
                    "F711",
                    part.span,
                    f'"{part.name or part.span.text}" is nested more than {DEEPEST} levels deep,'
                    " with every call expanded, where every let, choice and branch is a level",
                )

    def _unbounded(self) -> None:
        """Warns (F424) about properties within constraints if the model has no constraint."""
        if any(prop.kind.bounds_search for prop in self.properties):
            return
        for prop in self.properties:
            if prop.within:
                message = f"{prop.title} is within constraint, and the spec has no constraint"
                self.work.report("F424", prop.span, message, warning=True)

    def _unheard(self) -> None:
        """Warns (F420) about messages that are sent but not received by any action.

        Messages of a persistent channel remain in the channel. An expression such as `Yes in c` may
        read them instead.
        """
        if any(not problem.warning for problem in self.work.problems):
            return
        for (entity, tag), span in self.work.sent.items():
            persistent = channels.discipline(entity.decl) == "persistent"
            if (entity, tag) in self.work.received or (persistent and entity.looked_at):
                continue
            assert isinstance(entity.message, Nominal | Union)
            name = member_names(entity.message)[tag]
            content = entity.decl.content
            first = content is not None and span == content.span
            put = "in {} at the start" if first else "sent to {}"
            self.work.report(
                "F420",
                span,
                f"{name} is {put.format(entity.name)}, and no action receives it"
                + (f", and nothing reads {entity.name}" if persistent else ""),
                (entity.span, f"{entity.name} is declared here"),
                warning=True,
            )


def _kind(item: _Acting) -> str:
    if isinstance(item, _Fault):
        return "lose" if item.fault.kind == "lossy" else "duplicate"
    return "environment" if item.decl.environment else "ordinary"
