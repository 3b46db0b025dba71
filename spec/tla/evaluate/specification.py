"""A module with its configuration, ready to be evaluated: its initial states, its steps, and what
is checked of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fencepost.spec.core.formulas import And, Formula, Implies
from fencepost.spec.text import library
from fencepost.spec.text.problem import Problem, Rejected, suggestion
from fencepost.spec.text.source import Source, Span
from fencepost.spec.tla.evaluate.actions import Actions
from fencepost.spec.tla.evaluate.blame import Reason, reason
from fencepost.spec.tla.evaluate.expressions import not_supported
from fencepost.spec.tla.evaluate.machine import (
    Act,
    Code,
    Env,
    Frame,
    Layout,
    Located,
    Machine,
    located,
    mistake,
)
from fencepost.spec.tla.evaluate.temporal import Condition, Fair, Part, Temporal
from fencepost.spec.tla.modules.loader import Loader
from fencepost.spec.tla.modules.scopes import (
    BuiltIn,
    Constant,
    Entity,
    Given,
    Operator,
    Scope,
    Variable,
)
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.config import (
    Config,
    ConfigValue,
    ModelName,
    Replaced,
    Word,
    parse_config,
)
from fencepost.spec.tla.syntax.tree import Apply, Expr
from fencepost.spec.tla.syntax.units import parse_expression
from fencepost.spec.tla.values.kinds import FALSE, TRUE, EvaluationError, Value
from fencepost.spec.tla.values.runtime import Runtime
from fencepost.spec.tla.values.symmetry import Permutation, group
from fencepost.spec.tla.values.universe import Universe


class Specification:
    """Reads a module and its configuration, and compiles what a search needs.

    Raises `Rejected` with all mistakes that are found.
    """

    def __init__(
        self,
        path: Path,
        config: Path,
        search: Sequence[Path] = (),
        runtime: Runtime | None = None,
    ) -> None:
        self.path = path
        self.config: Config = parse_config(library.read(config))
        loader = Loader(path, search)
        self.root = loader.load()
        self.sources: tuple[Source, ...] = (*loader.sources.values(), self.config.source)
        self.loader = loader
        self.variables: list[Variable] = [
            variable
            for variable in loader.variables
            if self.root.names.get(variable.name) is variable
        ]
        for index, variable in enumerate(self.variables):
            variable.index = index
        self.universe = Universe(runtime)
        self.notes: list[str] = []
        """Remarks about the configuration, for the report."""
        self._rank_names()
        self.machine = Machine(self.universe, [variable.name for variable in self.variables])
        self.compiler = Actions(self.machine)
        self.compiler.instantiated = loader.instantiated
        problems: list[Problem] = []
        for work in (self._configure, self._check_definitions, self._check_names):
            try:
                work()
            except Rejected as rejected:
                problems += rejected.problems
        if problems:
            raise Rejected(problems)
        self.assumptions = [*self._assumptions()]
        self.initial: Act | None = None
        self.next: Act | None = None
        self.initial_parts: list[Part] = []
        """The initial condition, and where it is written."""
        self.next_part: Part | None = None
        """The next-state relation, and where it is written."""
        self.temporal = Temporal(self.compiler)
        self.fairness: list[Fair] = []
        self.step_conditions: list[Condition] = []
        self.initial_conditions: list[Condition] = []
        self.invariants: list[Condition] = []
        self.formulas: list[tuple[str, Span, Formula]] = []
        """The properties of behaviours, with their names."""
        self._lively: list[Part] = []
        self.layout = Layout()
        self._behaviour()
        self.invariants += [*self._conditions("INVARIANT", 1)]
        self.constraints = [*self._conditions("CONSTRAINT", 1)]
        self.action_constraints = [*self._conditions("ACTION_CONSTRAINT", 2)]
        self.view = self._expression("VIEW", 1)
        self.alias = self._expression("ALIAS", 2)
        self.postcondition = self._expression("POSTCONDITION", 1)
        self.permutations = self._symmetry()
        for word in self.config.words("PROPERTY"):
            operator = self._operator(word)
            part = Part(operator.body, Env(operator.scope, Layout()))
            conjuncts = [*self.temporal.conjuncts(part)]
            for number, conjunct in enumerate(conjuncts, 1):
                name = f"{word.text}!{number}" if len(conjuncts) > 1 else word.text
                self._property(name, conjunct)
        self._assume_fairness()

    # ------------------------------------------------------------ configuration

    def _rank_names(self) -> None:
        """Gives names their order as TLC does: by their first appearance in the configuration, then
        as identifiers in the modules, and then as strings. For these, TLC reads the modules again,
        each after those that it needs.
        """
        for value in (assigned.value for assigned in self.config.assigned):
            for name in _names(value):
                self.universe.rank(name)
        trees = self.loader.trees
        for module in trees:
            for name in module.words:
                self.universe.rank(name)
        for module in in_order_of_need(trees):
            for name in module.strings:
                self.universe.rank(name)

    def _refuse(self, span: Span, message: str, code: str = "F657") -> NoReturn:
        raise Rejected([Problem(code, span, message)])

    def _configure(self) -> None:
        """Applies the values and replacements of the configuration."""
        problems: list[Problem] = []
        stray: list[str] = []
        for assigned in self.config.assigned:
            try:
                for entity in self._replaceable(assigned.name, assigned.module, assigned.span):
                    value = self._value(assigned.value)
                    entity.override = Given(assigned.name, value, assigned.span)
            except Rejected as rejected:
                if assigned.name in self.root.names or assigned.module:
                    problems += rejected.problems
                else:
                    # TLC takes no notice of such a line.
                    stray.append(assigned.name)
                    self.notes += [problem.message for problem in rejected.problems]
        for replaced in self.config.replaced:
            try:
                by = self.root.names.get(replaced.by)
                if by is None:
                    hint = suggestion(replaced.by, self.root.names)
                    message = f'the module defines no "{replaced.by}"{hint}'
                    self._refuse(replaced.span, message, "F656")
                for entity in self._replaceable(replaced.name, replaced.module, replaced.span):
                    self._check_replacement(entity, by, replaced)
                    entity.override = by
            except Rejected as rejected:
                problems += rejected.problems
        for entity in self.root.names.values():
            if isinstance(entity, Constant) and entity.override is None:
                message = f'the configuration gives the constant "{entity.name}" no value'
                note = (
                    None,
                    f"CONSTANT {entity.name} = ... in {self.config.source.name} gives it one",
                )
                strays = ", ".join(stray)
                other = (None, f"it has values for {strays}, which the module does not declare")
                notes = (note, other) if stray else (note,)
                problems.append(Problem("F658", entity.span, message, notes))
        if problems:
            raise Rejected(problems)

    def _replaceable(self, name: str, module: str, span: Span) -> list[Entity]:
        """Returns the meanings of a name in the configuration."""
        if module:
            scopes = self.loader.scopes(module)
            if not scopes:
                self._refuse(span, f'there is no module "{module}"', "F656")
        else:
            scopes = [self.root]
        entities = [scope.names[name] for scope in scopes if name in scope.names]
        if not entities:
            hint = suggestion(name, scopes[0].names)
            where = f"module {module}" if module else "the module"
            self._refuse(span, f'{where} has no constant or definition "{name}"{hint}', "F656")
        for entity in entities:
            if isinstance(entity, Variable):
                self._refuse(span, f'"{name}" is a variable', "F656")
        return entities

    def _check_replacement(self, entity: Entity, by: Entity, replaced: Replaced) -> None:
        wanted, actual = _arity(entity), _arity(by)
        if wanted != actual:
            message = f'"{replaced.name}" has {wanted} arguments, but "{replaced.by}" has {actual}'
            self._refuse(replaced.span, message, "F656")

    def _value(self, value: ConfigValue) -> Value:
        if isinstance(value, bool):
            return TRUE if value else FALSE
        if isinstance(value, ModelName):
            return self.universe.model_value(value.name)
        if isinstance(value, tuple):
            return self.universe.normalise(self.universe.set_of(map(self._value, value)))
        return value

    # ------------------------------------------------------------ checks

    def _check_definitions(self) -> None:
        """Compiles every definition of the modules, to find all mistakes."""
        problems = self.compiler.mistakes = list[Problem]()
        for scope in self.loader.instances:
            for entity in [*scope.names.values()]:
                if not isinstance(entity, Operator) or entity.scope is not scope:
                    continue
                if entity.name not in scope.theorems:
                    try:
                        self._compiled(entity)
                    except Rejected as rejected:
                        problems += rejected.problems
        self.compiler.mistakes = None
        if problems:
            raise Rejected(problems)

    def _check_names(self) -> None:
        """Finds every name in the configuration that the module does not define."""
        problems: list[Problem] = []
        for words in self.config.sections.values():
            for word in words:
                try:
                    self._operator(word)
                except Rejected as rejected:
                    problems += rejected.problems
        if problems:
            raise Rejected(problems)

    def _compiled(self, operator: Operator) -> Code:
        body = self.compiler.body(
            operator, False, "value", lambda env: self.compiler.expr(operator.body, env)
        )
        assert body.code is not None
        return body.code

    def _assumptions(self) -> Iterator[Condition]:
        """Compiles the assumptions of the module and of those that it extends."""
        seen: set[int] = set()
        scopes = [self.root]
        for scope in scopes:
            if id(scope) not in seen:
                seen.add(id(scope))
                scopes += scope.extended
                for unit in scope.assumptions:
                    layout = Layout()
                    code = self.compiler.cond(unit.body, Env(scope, layout))
                    if code.level:
                        self._refuse(unit.span, "an assumption is about constants only", "F655")
                    part = Part(unit.body, Env(scope, layout))
                    yield Condition(unit.name, unit.span, code, layout, part=part)

    def _conditions(self, section: str, level: int) -> Iterator[Condition]:
        for word in self.config.words(section):
            code, span, layout = self._named(word)
            if code.level > level:
                kind = "states" if level == 1 else "steps"
                self._refuse(word.span, f'"{word.text}" is not a condition on {kind}', "F655")
            part = Part(Apply(word.text, (), word.span), Env(self.root, layout))
            yield Condition(word.text, span, code, layout, part=part)

    def _expression(self, section: str, level: int) -> Condition | None:
        """Compiles the expression that a section names, if there is one."""
        word = self.config.word(section)
        if word is None:
            return None
        operator, layout = self._operator(word), Layout()
        node = Apply(operator.name, (), operator.place)
        code = self.compiler.expr(node, Env(self.root, layout))
        if code.level > level:
            kind = "the next state" if code.level == 2 else "time"
            self._refuse(word.span, f'{section} "{word.text}" is about {kind}', "F655")
        return Condition(word.text, operator.place, code, layout)

    def parsed(self, text: str, *, condition: bool) -> Condition:
        """Compiles the text of an expression about one state. Raises `Rejected`."""
        expr = parse_expression(Source("the expression", text))
        make = self.compiler.cond if condition else self.compiler.expr
        layout, scope = Layout(), Scope(self.root.name)
        # The text may use the model values of the configuration.
        models = self.universe.model_values.items()
        scope.hidden = {name: Given(name, value, None) for name, value in models}
        scope.names = {**self.root.hidden, **self.root.names}
        code = make(expr, Env(scope, layout))
        if code.level > 1:
            self._refuse(expr.span, "an expression about one state has no primes", "F655")
        return Condition(text, expr.span, code, layout)

    def _symmetry(self) -> list[Permutation]:
        """Returns the permutations that the configuration names, and those that they generate."""
        named, word = self._expression("SYMMETRY", 0), self.config.word("SYMMETRY")
        if named is None or word is None:
            return []
        try:
            value = self._evaluated(named)
            return group(self.universe, self.universe.elements(value))
        except EvaluationError as error:
            self._refuse(word.span, f'SYMMETRY "{word.text}": {error}', "F656")

    def _named(self, word: Word) -> tuple[Code, Span, Layout]:
        operator = self._operator(word)
        layout = Layout()
        node = Apply(operator.name, (), operator.place)
        return self.compiler.cond(node, Env(self.root, layout)), operator.place, layout

    def _operator(self, word: Word) -> Operator:
        """Returns the definition that the configuration names."""
        entity = self.root.names.get(word.text)
        entity = None if entity is None else entity.meaning
        if entity is None:
            hint = suggestion(word.text, self.root.names)
            message = f'the module defines no "{word.text}"{hint}'
            notes: tuple[tuple[None, str], ...] = ()
            if self.loader.untranslated:
                notes = ((None, "its PlusCal algorithm is not translated: run the translator"),)
            raise Rejected([Problem("F656", word.span, message, notes)])
        if not isinstance(entity, Operator) or entity.parameters:
            self._refuse(word.span, f'"{word.text}" is not a definition without parameters', "F656")
        return entity

    # ------------------------------------------------------------ behaviours

    def _behaviour(self) -> None:
        """Finds the initial condition and the next-state relation."""
        spec, init, next_ = (self.config.word(s) for s in ("SPECIFICATION", "INIT", "NEXT"))
        if spec is not None:
            if init is not None or next_ is not None:
                self._refuse(spec.span, "SPECIFICATION and INIT or NEXT exclude each other", "F656")
            initial: list[Part] = []
            steps: list[Part] = []
            operator = self._operator(spec)
            self._take_apart(operator.body, Env(self.root, self.layout), initial, steps, spec.span)
            if len(steps) != 1:
                count = "no" if not steps else "more than one"
                message = f'"{spec.text}" has {count} next-state relation, as in [][Next]_vars'
                self._refuse(spec.span, message, "F656")
            self.initial = self._initial(initial)
            self.next_part = steps[0]
            self.next = self.compiler.steps(steps[0].node, steps[0].env, False)
            return
        if init is None and next_ is None:
            sections = ("INVARIANT", "PROPERTY", "CONSTRAINT")
            words = [word.span for section in sections for word in self.config.words(section)]
            # TLC refuses variables without a behaviour, too: an "ok" would say nothing about them.
            spans = words + [variable.span for variable in self.variables if variable.span]
            if spans:
                self._refuse(spans[0], "there is no SPECIFICATION, and no INIT and NEXT", "F656")
            return
        if init is None or next_ is None:
            alone = init or next_
            assert alone is not None
            self._refuse(alone.span, "INIT and NEXT belong together", "F656")
        env = Env(self.root, self.layout)
        self.initial = self._initial([Part(Apply(self._operator(init).name, (), init.span), env)])
        node = Apply(self._operator(next_).name, (), next_.span)
        self.next_part = Part(node, env)
        self.next = self.compiler.steps(node, env, False)

    def _initial(self, parts: Sequence[Part]) -> Act:
        self.initial_parts = [*parts]
        acts = [self.compiler.act(part.node, part.env, True) for part in parts]

        def run(frame: Frame, then: Any) -> None:
            def take(position: int) -> None:
                if position == len(acts):
                    then()
                else:
                    acts[position](frame, lambda: take(position + 1))

            take(0)

        return run

    def _take_apart(
        self, node: Expr, env: Env, initial: list[Part], steps: list[Part], span: Span
    ) -> None:
        """Sorts the conjuncts of a specification."""
        if isinstance(node, tree.Junction) and node.sign == "/\\":
            for item in node.items:
                self._take_apart(item, env, initial, steps, span)
            return
        level = self.compiler.cond(node, env).level
        if level <= 1:
            initial.append(Part(node, env))
        elif isinstance(node, Apply) and node.name == "[]" and not node.path:
            inside = node.args[0]
            if not (isinstance(inside, tree.Boxed) and not inside.angle):
                self._refuse(
                    node.span, "a specification has the form Init /\\ [][Next]_vars /\\ fairness"
                )
            # TLC takes the steps of Next; those that change nothing add no state.
            steps.append(Part(inside.action, env))
        elif isinstance(node, Apply) and not node.args and level == 3:
            entity, makers, _ = self.compiler.meaning(node, env)
            if not isinstance(entity, Operator) or makers:
                self._refuse(
                    node.span, "specifications of instances with parameters are not supported"
                )
            self._take_apart(entity.body, Env(entity.scope, env.layout), initial, steps, span)
        elif level == 3:
            self._lively.append(Part(node, env))
        else:
            self._refuse(
                node.span, "a specification has the form Init /\\ [][Next]_vars /\\ fairness"
            )

    def _property(self, name: str, part: Part) -> None:
        """Compiles a conjunct of a property. Conditions on initial states, on states and on steps
        are checked during the search, and formulas are decided after it.
        """
        temporal, node = self.temporal, part.node
        if temporal.level(part) <= 1:
            self.initial_conditions.append(temporal.condition(name, part))
            return
        if isinstance(node, Apply) and node.name == "[]" and not node.path:
            inside = part.of(node.args[0])
            condition = temporal.condition(name, inside)
            if condition.code.level <= 1:
                self.invariants.append(condition)
                return
            if isinstance(inside.node, tree.Boxed) and not inside.node.angle:
                self.step_conditions.append(condition)
                return
        self.formulas.append((name, part.span, temporal.formula(part)))

    def _assume_fairness(self) -> None:
        """Compiles what the specification says about fairness, for the properties of behaviours."""
        if not self.formulas:
            return
        assumed: list[Formula] = []
        for part in self._lively:
            for conjunct in self.temporal.conjuncts(part):
                fair = self.temporal.fairness(conjunct)
                if fair is None:
                    assumed.append(self.temporal.formula(conjunct))
                else:
                    self.fairness.append(fair)
        if assumed:
            self.formulas = [
                (name, span, Implies(And(tuple(assumed)), formula, span=span))
                for name, span, formula in self.formulas
            ]

    # ------------------------------------------------------------ evaluation

    def holds(
        self, condition: Condition, state: Sequence[Any], after: Sequence[Any] | None = None
    ) -> bool:
        """Evaluates a condition in a state, or on a step. Raises `Located`."""
        machine = self.machine
        machine.current[: len(state)] = state
        machine.following[: len(state)] = [None] * len(state) if after is None else after
        return bool(self._evaluated(condition))

    def reason(
        self, condition: Condition, state: Sequence[Any], after: Sequence[Any] | None = None
    ) -> Reason:
        """Explains why a condition is false in a state, or on a step."""
        if self.holds(condition, state, after):
            return Reason(condition.span)
        return reason(self.temporal, condition, self.variables)

    def value(
        self, expression: Condition, state: Sequence[Any], after: Sequence[Any] | None = None
    ) -> Value:
        """Evaluates an expression in a state, or on a step. Raises `Located`."""
        machine = self.machine
        machine.current[: len(state)] = state
        machine.following[: len(state)] = [None] * len(state) if after is None else after
        try:
            return self.universe.normalise(self._evaluated(expression))
        except EvaluationError as error:
            raise located(error, expression.span) from None

    def _evaluated(self, expression: Condition) -> Any:
        try:
            return expression.code.run(expression.frame())
        except EvaluationError as error:
            raise located(error, expression.span) from None
        except RecursionError:
            raise Located("the evaluation is nested too deep", expression.span) from None

    def is_initial(self, state: Sequence[Any]) -> bool:
        """Returns whether a state satisfies the initial condition."""
        machine, count = self.machine, len(self.variables)
        machine.current[:count] = state
        machine.following[:count] = [None] * count
        machine.missing, machine.settled = 0, False
        assert self.initial is not None

        def complete() -> None:
            raise _Enough

        try:
            self.initial([None] * self.layout.size, complete)
        except _Enough:
            return True
        except (EvaluationError, RecursionError):
            return False
        finally:
            machine.settled = True
        return False

    def states_after(
        self, state: Sequence[Any] | None, most: int | None = None
    ) -> tuple[list[tuple[int, Any, tuple[Any, ...]]], Located | None]:
        """Returns the successors of a state, each with the number of its action and the frame of
        the action, and the error that ended the work. Without a state, returns the initial states.
        There are no more than ``most``.
        """
        machine, count = self.machine, len(self.variables)
        initial = state is None
        steps: list[tuple[int, Any, tuple[Any, ...]]] = []
        target = machine.current if initial else machine.following
        machine.current[:count] = [None] * count if state is None else state
        machine.following[:count] = [None] * count
        machine.missing, machine.settled, machine.action = count, not initial, (-1, [])
        act = self.initial if initial else self.next
        assert act is not None

        def complete() -> None:
            if machine.missing:
                names = [
                    v.name
                    for v, value in zip(self.variables, target, strict=False)
                    if value is None
                ]
                primed = ", ".join(name if initial else f"{name}'" for name in names)
                verb = "has" if len(names) == 1 else "have"
                where = "in an initial state" if initial else "at the end of this action"
                raise Located(f"{primed} {verb} no value {where}", self._where(machine.action[0]))
            steps.append((machine.action[0], machine.action[1], tuple(target[:count])))
            if len(steps) == most:
                raise _Enough

        try:
            act([None] * self.layout.size, complete)
        except _Enough:
            pass
        except EvaluationError as error:
            return steps, located(error, self._where(machine.action[0]))
        except RecursionError:
            message = "the evaluation is nested too deep"
            return steps, Located(message, self._where(machine.action[0]))
        finally:
            machine.settled = True
        return steps, None

    def _where(self, action: int) -> Span:
        labels = self.compiler.labels
        if action >= 0:
            return labels[action].place
        return self.config.source_span

    @property
    def actions(self) -> list[Operator]:
        """The definitions that name the steps."""
        return self.compiler.labels


class _Enough(Exception):
    """Ends an enumeration of states."""


def in_order_of_need(trees: Sequence[tree.Module]) -> list[tree.Module]:
    """Returns modules such that each follows those that it extends or instantiates."""
    by_name = {module.name: module for module in trees}
    order: dict[str, tree.Module] = {}

    def visit(module: tree.Module) -> None:
        if by_name.pop(module.name, None) is None:
            return
        instances = [unit.module for unit in module.units if isinstance(unit, tree.Instance)]
        for name in (*(name for name, _ in module.extends), *instances):
            if name in by_name:
                visit(by_name[name])
        order[module.name] = module

    for module in trees:
        visit(module)
    return [*order.values()]


def _names(value: ConfigValue) -> Iterator[str]:
    if isinstance(value, ModelName):
        yield value.name
    elif isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _names(item)


def _arity(entity: Entity) -> int:
    match entity:
        case Operator(parameters=parameters):
            return len(parameters)
        case Constant(arity=arity) | BuiltIn(arity=arity):
            return arity
        case _:
            return 0


__all__ = ["Condition", "Scope", "Specification", "mistake", "not_supported"]
