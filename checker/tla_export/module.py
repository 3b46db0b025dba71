"""Exports a check as a TLA+ module, with the configuration that TLC needs to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from fencepost.checker.run.job import Job
from fencepost.checker.run.range_search import without_ranges
from fencepost.checker.run.words import expected
from fencepost.checker.temporal.seen import seen
from fencepost.checker.tla_export import behaviours, helpers, values
from fencepost.checker.tla_export.collections import elements
from fencepost.checker.tla_export.definitions import Definitions, above
from fencepost.checker.tla_export.expressions import expression
from fencepost.checker.tla_export.initial import initial, members
from fencepost.checker.tla_export.lawful import without_failures
from fencepost.checker.tla_export.names import Names
from fencepost.checker.tla_export.printing import module as printed
from fencepost.checker.tla_export.scope import Scope, Work
from fencepost.checker.tla_export.simplify import (
    call,
    changed,
    conjoined,
    either,
    equal,
    implied,
    opposite,
)
from fencepost.checker.tla_export.statements import action, tidied, with_given
from fencepost.checker.tla_export.stuttering import holds_still
from fencepost.checker.tla_export.tree import (
    FALSE,
    TRUE,
    Always,
    Assume,
    Definition,
    Expr,
    Infix,
    Instance,
    Junction,
    Module,
    Name,
    Prefix,
    Prime,
    Quantified,
    Tuple,
    Unchanged,
    bodies,
)
from fencepost.checker.tla_export.values import NotExported
from fencepost.spec.core import ir, types
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import first_picks, variables_read, walk
from fencepost.spec.elaborate.base import symbols
from fencepost.spec.records import dataclass

OUTSIDE = "\\* INVARIANT"
"""The prefix of the line for a property that TLC should find to be violated. Removing the comment
sign enables the check of this property.
"""
EXTENDED = ("Integers", "Sequences", "FiniteSets", "Bags", "TLC")


@dataclass(frozen=True, slots=True)
class Export:
    """A module and its configuration: the name of both files, and their texts.

    ``properties`` contains the names of the definitions of properties, by property number. For a
    reachability property, the definition is the invariant that TLC should find to be violated.
    ``deadlock`` is the invariant that a deadlock violates, or None if no such invariant is needed,
    for instance because TLC checks deadlock itself. ``refined`` contains the texts of refined
    modules, by the names of their modules.
    """

    name: str
    module: str
    configuration: str
    properties: Mapping[int, str] = field(default_factory=dict[int, str])
    deadlock: str | None = None
    refined: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def files(self) -> dict[str, str]:
        """The texts of all files, by file name."""
        modules = {self.name: self.module, **self.refined}
        texts = {f"{name}.tla": text for name, text in modules.items()}
        return {**texts, f"{self.name}.cfg": self.configuration}


def exported(job: Job, name: str, taken: Names | None = None) -> Export:
    """Exports a check to TLA+. ``taken`` contains the names of existing modules. Raises
    `NotExported` if the check would have another meaning in TLA+.
    """
    if job.limits.depth is not None:
        raise NotExported("a search to a limited depth, which TLC does not have", job.check.span)
    job = without_ranges(job)
    if not job.model.variables:
        raise NotExported("a model without variables", job.check.span)
    writer = _Writer(job, name, taken or Names(taken={name}))
    module = printed(writer.module())
    return Export(
        name,
        module,
        writer.configuration(),
        writer.chosen(),
        writer.deadlock_invariant(),
        {name: printed(refined) for name, refined in writer.refined.items()},
    )


class _Writer:
    """Writes one module, and provides the operators that expressions use."""

    def __init__(self, job: Job, name: str, modules: Names) -> None:
        self.job = job
        self.model = model = job.model
        self.searched = model.searched(job.properties)
        self.name = name
        self.modules = modules
        self.refined: dict[str, Module] = {}
        self.names = names = Names()
        self.work = Work(model)
        self.variables = [names.fresh(variable.name) for variable in model.variables]
        self.work.whole |= set(self.variables)
        self.actions = [names.fresh(item.name) for item in model.actions]
        self.properties = {
            number: names.fresh(f"Not{prop.name}" if prop.kind.must_be_reached else _title(prop))
            for number, prop in enumerate(model.properties)
            if not prop.kind.is_part
        }
        plain: dict[int, Expr] = {n: Name(text) for n, text in enumerate(self.variables)}
        after: dict[int, Expr] = {n: Prime(text) for n, text in enumerate(self.variables)}
        files = tuple(job.program.files.files.values())
        self.definitions = Definitions(names, plain, self.work.locals, symbols.definitions(files))
        self.scope = Scope(self.work, self, names, plain, after)
        self.families = {
            number: pick
            for number, item in enumerate(model.actions)
            if (pick := _instances(item.body)) is not None
        }
        # The actions that are used with explicit parameters, each with the number of these
        # parameters.
        parameter_counts = {
            (node.action, len(node.choices)): None
            for node in walk(tuple(prop.body for prop in model.properties))
            if isinstance(node, ir.Enabled)
        }
        if self.searched.behaviours:
            parameter_counts |= {
                (part.action, item.choices or len(part.choices)): None
                for item in model.fairness
                for part in item.members
            }
        self.asked = {
            (number, count): names.fresh(f"{model.actions[number].name}_with")
            for number, count in parameter_counts
            if count > (number in self.families)
        }
        # Facts about nodes are stored by the identity of the nodes, so the nodes must stay alive.
        self.bodies: dict[tuple[int, int], ir.Statement] = {}
        indices = symbols.role_indices(files)
        for number, pick in self.families.items():
            role = model.actions[number].role.split(".")[-1]
            self.work.locals[pick.slot] = indices.get(role, "self")
        self.units: list[Definition | Assume | Instance] = []
        self.groups: dict[str, frozenset[str]] = {}
        for role in dict.fromkeys(item.role for item in model.variables if item.role):
            pairs = zip(self.variables, model.variables, strict=True)
            inside = [name for name, item in pairs if item.role == role]
            if 1 < len(inside) < len(self.variables):
                self.groups[names.fresh(f"{role}_vars")] = frozenset(inside)
        self.rests = False
        self.still = self._stepped()
        self.fair = bool(model.fairness and self.searched.behaviours)
        if self.searched.behaviours:
            behaviours.refuse_foreign(model, self.searched.behaviours, job.check.span, self.still)
        # Steps that only change ghosts do not count.
        self.ghosts = any(item.ghost or types.has_ghost(item.type) for item in model.variables)
        self.terminal = self._terminal()
        bodies = [model.properties[number].body for number in self.searched.terminals]
        fails = self.terminal not in (TRUE, FALSE) and any(map(self.work.fails, bodies))
        self.terminal_has_value = names.fresh("TerminalHasValue") if fails else None

    # ------------------------------------------------------------ what expressions ask for

    def enabled(self, action: int, choices: Sequence[Expr]) -> Expr:
        name = self.actions[action]
        if choices:
            return Prefix("ENABLED", self._step(action, choices))
        if action in self.families:
            scope = self.scope.inner()
            bound = scope.names.fresh("i")
            domain = elements(scope, self.families[action].domain)
            return Quantified("\\E", bound, domain, Prefix("ENABLED", call(name, Name(bound))))
        return Prefix("ENABLED", Name(name))

    def quiescent(self) -> Expr:
        self.rests = True
        return Name("Quiescent")

    def value(self, scope: Scope, expr: ir.Expr) -> Expr:
        return expression(scope, expr)

    def called(self, scope: Scope, expr: ir.Expr) -> Expr | None:
        return self.definitions.called(scope, expr)

    # ------------------------------------------------------------ the module

    def module(self, about: str = "") -> Module:
        """Returns the module. ``about`` replaces the comment about the check."""
        self._define("TypeOK", self._types())
        self._define("Init", self._initial())
        for number in range(len(self.actions)):
            self._action(number)
        self._next()
        self._properties()
        own = [*self._vars(), *self.units]
        helping = helpers.wanted([body for unit in own for body in bodies(unit)])
        comment, variables = about or self._about(), tuple(self._variables())
        return Module(self.name, comment, EXTENDED, variables, (*helping, *own))

    def _define(
        self, name: str, body: Expr, parameters: tuple[str, ...] = (), comment: str = ""
    ) -> None:
        """Appends a definition. The definitions of the spec that it uses are placed before it."""
        self.units += self.definitions.made
        self.definitions.made.clear()
        self.units.append(Definition(name, parameters, self._grouped(tidied(body)), comment))

    def _grouped(self, node: Expr) -> Expr:
        """Replaces the variables of a role by the name of their group where all of them are
        unchanged.
        """
        if not isinstance(node, Unchanged):
            return changed(node, self._grouped)
        rows: list[str] = []
        left = set(node.names)
        for name in [*self.variables, "clock"]:
            group = next((g for g, inside in self.groups.items() if name in inside), None)
            if group is not None and self.groups[group] <= set(node.names):
                if group not in rows:
                    rows.append(group)
            elif name in left:
                rows.append(name)
        return Unchanged(tuple(rows))

    def _about(self) -> str:
        job = self.job
        rows = [job.program.docstring or "", ""]
        rows.append(f"{job.program.name}, check {job.title}: expect {expected(job.check)}.")
        rows += [f"{c.path} = {show(c.value, c.type)}" for c in self.model.constants]
        return "\n".join(rows)

    def _variables(self) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        for name, variable in zip(self.variables, self.model.variables, strict=True):
            about = above(variable.span)
            if name not in (variable.name, variable.name.replace(".", "_")):
                about = f"{variable.name} in the spec.\n{about}"
            if variable.ghost:
                about = f"A ghost.\n{about}"
            rows.append((name, about.strip()))
        if self.still:
            rows.append(("clock", "Changes with every step, so that TLC checks every step."))
        return rows

    def _vars(self) -> list[Definition]:
        names = [Name(text) for text in self.variables]
        rows = [
            Definition(group, (), Tuple(tuple(n for n in names if n.text in inside)))
            for group, inside in self.groups.items()
        ]
        if not self.still:
            rows.append(Definition("vars", (), Tuple(tuple(names))))
            if self.fair and self.ghosts:
                scope = self.scope.inner()
                watched = tuple(expression(scope, expr) for expr in seen(self.model))
                rows.append(
                    Definition(
                        "counting", (), Tuple(watched), "The parts that fairness depends on."
                    )
                )
            return rows
        return [
            *rows,
            Definition("view", (), Tuple(tuple(names)), "The parts that distinguish states."),
            Definition("vars", (), Tuple((*names, Name("clock")))),
        ]

    def _types(self) -> Expr:
        scope = self.scope.inner()
        return conjoined([
            values.member(Name(name), variable.type, scope.names)
            for name, variable in zip(self.variables, self.model.variables, strict=True)
        ])  # fmt: skip

    def _initial(self) -> Expr:
        whole = initial(self.scope.inner(), self.model.initial)
        clock = equal(Name("clock"), FALSE) if self.still else TRUE
        return conjoined([members(whole, set(self.variables)), clock])

    def _action(self, number: int) -> None:
        declared = self.model.actions[number]

        def end(now: Scope) -> Expr:
            parts: list[Expr] = [
                Infix("=", Prime(name), now.variables[index])
                for index, name in enumerate(self.variables)
            ]
            if self.still:
                parts.append(Infix("=", Prime("clock"), Prefix("~", Name("clock"))))
            return conjoined(parts)

        def define(name: str, count: int, about: str) -> None:
            """Defines the step with its first choices as parameters."""
            scope = self.scope.inner()
            parameters: list[str] = []
            for pick in first_picks(declared.body, count):
                parameters.append(scope.local(pick.slot))
                scope = scope.bound(pick.slot, Name(parameters[-1]))
            body = self.bodies.setdefault((number, count), with_given(declared.body, count))
            try:
                formula = action(scope, body, end)
            except NotExported as refused:
                raise NotExported(refused.reason, refused.span or declared.span) from None
            self._define(name, formula, tuple(parameters), about)

        define(self.actions[number], int(number in self.families), above(declared.span))
        for (asked, count), name in self.asked.items():
            if asked == number:
                define(name, count, "")

    def _some(self, number: int) -> Expr:
        """Returns a step of an action by any instance of its role."""
        name, pick = self.actions[number], self.families.get(number)
        if pick is None:
            return Name(name)
        scope = self.scope.inner()
        bound = scope.local(pick.slot)
        return Quantified("\\E", bound, elements(scope, pick.domain), call(name, Name(bound)))

    def _progress(self) -> Expr:
        """Returns the condition that an action of the spec can change the state. Losses and
        duplications do not count as progress.
        """
        steps = [
            self._some(number)
            for number, declared in enumerate(self.model.actions)
            if declared.kind in ("ordinary", "environment")
        ]
        whole = "view" if self.still else "vars"
        moved = Infix("/=", Prime(whole), Name(whole))
        return Prefix("ENABLED", conjoined([either(steps), moved])) if steps else FALSE

    def _next(self) -> None:
        rows = [self._some(number) for number in range(len(self.actions))]
        if not rows:
            still: list[Expr] = [Infix("=", Prime(name), Name(name)) for name in self.variables]
            rows.append(Junction("/\\", (FALSE, conjoined(still))))
        self._define("Next", either(rows))
        fairness = self._fairness()
        self._define_quiescent()
        self.units += self.definitions.made
        self.definitions.made.clear()
        spec = conjoined([Name("Init"), Always(Name("Next"), "vars"), *fairness])
        self.units.append(Definition("Spec", (), spec))

    def _fairness(self) -> list[Expr]:
        """Returns the fairness constraints if temporal properties are checked."""
        counting = "counting" if self.ghosts else "vars"
        return [
            behaviours.owed(self.scope, self.model, fairness, self._step, counting)
            for fairness in (self.model.fairness if self.fair else ())
        ]

    def _step(self, number: int, choices: Sequence[Expr]) -> Expr:
        """Returns a step of an action with these first choices, if there are any."""
        if not choices:
            return self._some(number)
        several = len(choices) > (number in self.families)
        name = self.asked[number, len(choices)] if several else self.actions[number]
        return call(name, *choices)

    # ------------------------------------------------------------ properties

    def chosen(self) -> dict[int, str]:
        """Returns the names of the definitions of the properties to check."""
        return {number: self.properties[number] for number in sorted(self.job.properties)}

    def deadlock_invariant(self) -> str | None:
        """Returns the name of the invariant that a deadlock violates, or None."""
        defined = self.job.deadlock and self.terminal not in (TRUE, FALSE)
        return "NoDeadlock" if defined else None

    def _terminal(self) -> Expr:
        bodies = [self.model.properties[number].body for number in self.searched.terminals]
        parts = [expression(self.scope.inner(), body) for body in bodies]
        return either(parts)

    def _stepped(self) -> bool:
        """Checks whether a step that changes nothing may violate a step invariant. TLA+ ignores
        such steps.
        """
        return any(
            not holds_still(self._body(number))
            for number in self.searched.step_invariants
            if self.model.properties[number].abstract is None
        )

    def _body(self, number: int) -> Expr:
        prop = self.model.properties[number]
        if prop.formula is not None:
            return behaviours.defined(prop.formula, self._body)
        if prop.abstract is not None:
            return self._refinement(prop, prop.abstract)
        try:
            return expression(self.scope.inner(), prop.body)
        except NotExported as refused:
            raise NotExported(refused.reason, refused.span or prop.span) from None

    def _refinement(self, prop: ir.Property, abstract: ir.Model) -> Expr:
        """Returns the formula which says that the image of a behaviour is a behaviour of the
        refined module.
        """
        there = replace(self.job, model=without_failures(abstract), properties=frozenset())
        module = self.modules.fresh(f"{self.name}_{prop.name}")
        writer = _Writer(there, module, self.modules)
        name = self.names.fresh(f"{prop.name}_{abstract.name}")
        self.refined[module] = writer.module(f"{abstract.name}, which {self.name} refines.")
        assert isinstance(prop.body, ir.MakeRecord)
        images = [expression(self.scope.inner(), image) for image in prop.body.fields]
        about = f"The state of {abstract.name} as it is seen here."
        values = tuple(zip(writer.variables, images, strict=True))
        self.units += self.definitions.made
        self.definitions.made.clear()
        self.units.append(Instance(name, module, values, about))
        refines = Name(f"{name}!Spec")
        if not self.work.fails(prop.body):
            return refines
        # TLC stops at an image without a value even if the verdict is already certain.
        parts = Name(f"{name}!vars"), Prime(f"{name}!vars")
        first, after = (call("Defined", part) for part in parts)
        return conjoined([first, Always(after, "vars"), refines])

    def _properties(self) -> None:
        definitions: list[tuple[str, Expr, str]] = []
        constraints = self.searched.constraints
        inside = conjoined([Name(self.properties[number]) for number in constraints])
        numbers = sorted(self.searched.chosen.union(constraints))
        if any(self.model.properties[number].within for number in numbers):
            numbers.sort(key=lambda number: number not in constraints)
        for number in numbers:
            prop = self.model.properties[number]
            name, body, about = self.properties[number], self._body(number), above(prop.span)
            if prop.kind.of_steps and prop.abstract is None:
                body = Always(body, "vars")
            elif prop.kind.must_be_reached:
                body = opposite(body)
                about = f"Can be reached: TLC finds this violated.\n{about}"
            elif prop.within and constraints:
                # TLC checks a property such as []I in every state, also outside the constraints.
                body = implied(Prefix("[]", inside), body)
            elif number in constraints and not variables_read(prop.body):
                # TLC does not accept a constraint that is FALSE in every state.
                body = conjoined([Infix("=", Name("vars"), Name("vars")), body])
            definitions.append((name, body, about))
        self._define_quiescent()
        for name, body, about in definitions:
            self._define(name, body, (), about)
        # TLC also evaluates invariants outside the constraints, where nothing is searched.
        if self.deadlock_invariant() is not None or self.terminal_has_value is not None:
            self._define("Terminal", self.terminal)
        if self.terminal_has_value is not None:
            about = (
                "Checked wherever messages can only be lost or copied, and no other step changes"
                " the state."
            )
            asked = either([self._progress(), call("Defined", Name("Terminal"))])
            self._define(self.terminal_has_value, implied(inside, asked), (), about)
        if self.deadlock_invariant() is not None:
            somewhere = either([Prefix("ENABLED", Name("Next")), Name("Terminal")])
            self._define("NoDeadlock", implied(inside, somewhere))
        for assumption in self.model.assumptions:
            condition = expression(self.scope.inner(), assumption.condition)
            if condition != TRUE:
                self.units.append(Assume(condition))

    def _define_quiescent(self) -> None:
        """Defines `Quiescent`, once, if an expression uses it."""
        names = {unit.name for unit in self.units if isinstance(unit, Definition)}
        if self.rests and "Quiescent" not in names:
            self._define("Quiescent", self._quiescent())

    def _quiescent(self) -> Expr:
        return conjoined([
            opposite(self.enabled(number, ()))
            for number, declared in enumerate(self.model.actions)
            if declared.kind == "ordinary"
        ])  # fmt: skip

    # ------------------------------------------------------------ the configuration

    def configuration(self) -> str:
        """Returns the configuration for TLC: the properties of the check, and deadlock as defined
        by the language.
        """
        rows = ["SPECIFICATION Spec", "INVARIANT TypeOK"]
        words = {
            **dict.fromkeys(self.searched.invariants, "INVARIANT"),
            **dict.fromkeys(self.searched.step_invariants, "PROPERTY"),
            **dict.fromkeys(self.searched.behaviours, "PROPERTY"),
            **dict.fromkeys(self.searched.reachables, OUTSIDE),
        }
        rows += [f"{words[number]} {name}" for number, name in self.chosen().items()]
        rows += [f"CONSTRAINT {self.properties[number]}" for number in self.searched.constraints]
        if self.still:
            rows.append("VIEW view")
        if self.terminal_has_value is not None:
            rows.append(f"INVARIANT {self.terminal_has_value}")
        if self.deadlock_invariant() is not None:
            rows.append("INVARIANT NoDeadlock")
        itself = self.job.deadlock and self.terminal == FALSE
        return "\n".join([*rows, f"CHECK_DEADLOCK {'TRUE' if itself else 'FALSE'}", ""])


def _title(prop: ir.Property) -> str:
    return prop.name or f"{str(prop.kind).capitalize()}_{prop.span.line}"


def _instances(body: ir.Statement) -> ir.Pick | None:
    """Returns the choice of an instance at the beginning of an action, or None."""
    match body:
        case ir.Pick(label="", condition=None):
            return body
        case ir.Sequence(statements=(only,)):
            return _instances(only)
        case _:
            return None
