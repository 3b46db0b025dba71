"""Takes actions apart as TLC does, so that each way through them is one step.

While some variable has no value in the next state, a formula in the place of an action splits:
disjunctions, the witnesses of \\E, the branches of IF and CASE, the consequents of =>, the
definitions that it calls, and the bodies of functions that it applies. The first `x' = e` or
`x' \\in S` assigns, and later ones test. Once all variables have values, what remains is a
condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fencepost.spec.tla.evaluate.applications import Applications
from fencepost.spec.tla.evaluate.expressions import deferred
from fencepost.spec.tla.evaluate.machine import (
    UNKNOWN,
    Act,
    Code,
    Env,
    Frame,
    Lazy,
    LetOperator,
    Local,
    Machine,
    Undone,
    located,
)
from fencepost.spec.tla.evaluate.names import Target
from fencepost.spec.tla.modules.scopes import Operator, Part, Substituted, Variable
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply, Expr
from fencepost.spec.tla.values.kinds import EvaluationError, Value


class Actions(Applications):
    """Compiles actions. ``labels`` are the definitions that name the steps, in the order of use."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.labels: list[Operator] = []
        self.parts: dict[Operator, set[Operator]] = {}
        """The definitions whose steps are also steps of a definition that calls them."""
        self._calling: list[Operator] = []
        self._hidden: dict[Substituted, int | None] = {}
        self._trail: list[str] = []

    # ------------------------------------------------------------ entry points

    def steps(self, node: Expr, env: Env, initial: bool) -> Act:
        """Compiles the whole of an initial condition or of a next-state relation. The steps of a
        relation that is not a definition are named Next, unless they belong to a definition.
        """
        if initial or self._is_definition(node, env):
            return self._act(node, env, initial, True)
        whole = Operator("Next", env.scope, node.span, (), node)
        self._calling.append(whole)
        act = self._act(node, env, initial, True)
        self._calling.pop()
        number, machine = self._label(whole), self.machine

        def run(frame: Frame, then: Callable[[], None]) -> None:
            machine.action = (number, frame)
            act(frame, then)

        return run

    def _is_definition(self, node: Expr, env: Env) -> bool:
        if not isinstance(node, Apply) or not (node.path or node.name in env.scope.names):
            return False
        return isinstance(self.meaning(node, env)[0], Operator)

    def act(self, node: Expr, env: Env, initial: bool) -> Act:
        return self._act(node, env, initial, False)

    def _act(self, node: Expr, env: Env, initial: bool, outer: bool) -> Act:
        """Compiles an action. ``outer`` says that it may name the step."""
        machine = self.machine
        inner = self._split(node, env, initial, outer)
        test = deferred(env, lambda: self.cond(node, env).run)
        if inner is None:
            code = self.cond(node, env).run

            def guard(frame: Frame, then: Callable[[], None]) -> None:
                if code(frame):
                    then()

            self.conditions.add(guard)
            return guard
        split = inner

        def run(frame: Frame, then: Callable[[], None]) -> None:
            if machine.missing:
                split(frame, then)
            elif test(frame):
                then()

        return run

    def _split(self, node: Expr, env: Env, initial: bool, outer: bool) -> Act | None:
        """Compiles a form that splits or assigns; returns None for a condition."""
        match node:
            case tree.Junction(sign="/\\", items=items):
                only = outer and len(items) == 1
                return _chain([self._act(item, env, initial, only) for item in items])
            case tree.Junction(items=items):
                return _either([self._act(item, env, initial, outer) for item in items])
            case tree.Quantified(sign=("\\E" | "\\A"), bounds=bounds) if all(
                bound.domain is not None for bound in bounds
            ):
                return self._quantified_act(node, env, initial, outer)
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                test = self.cond(condition, env).run
                first = self._act(then, env, initial, outer)
                second = self._act(otherwise, env, initial, outer)

                def branch(frame: Frame, k: Callable[[], None]) -> None:
                    (first if test(frame) else second)(frame, k)

                return branch
            case tree.Case():
                return self._case_act(node, env, initial, outer)
            case tree.Let(body=body):
                inner, memos = self.let(node, env)
                act = self._act(body, inner, initial, outer)

                def let(frame: Frame, k: Callable[[], None]) -> None:
                    for slot in memos:
                        frame[slot] = None
                    act(frame, k)

                return let
            case tree.Boxed(action=action, variables=variables, angle=angle):
                same = Apply("UNCHANGED", (variables,), node.span)
                if angle:
                    differs = Apply("~", (same,), node.span)
                    parts = [self._act(part, env, initial, False) for part in (action, differs)]
                    return _chain(parts)
                return _either([self._act(part, env, initial, outer) for part in (action, same)])
            case tree.Labelled(body=body):
                return self._split(body, env, initial, outer)
            case tree.Index():
                return self.applied(node, env, initial)
            case Apply():
                return self._apply_act(node, env, initial, outer)
            case _:
                return None

    # ------------------------------------------------------------ forms

    def _quantified_act(self, node: Any, env: Env, initial: bool, outer: bool) -> Act:
        binders, inner = self.ranges(node.bounds, env)
        act = self._act(node.body, inner, initial, outer and node.sign == "\\E")
        for binder in reversed(binders):
            act = _for_some(binder, act) if node.sign == "\\E" else _for_all(binder, act)
        return act

    def _case_act(self, node: Any, env: Env, initial: bool, outer: bool) -> Act:
        arms = [
            (self.cond(test, env).run, self._act(value, env, initial, outer))
            for test, value in node.arms
        ]
        other = None if node.other is None else self._act(node.other, env, initial, outer)
        fails = self.expr(tree.Case(node.arms, None, node.span), env).run

        def run(frame: Frame, then: Callable[[], None]) -> None:
            for test, act in arms:
                if test(frame):
                    act(frame, then)
                    return
            if other is None:
                fails(frame)
            else:
                other(frame, then)

        return run

    def _apply_act(self, node: Any, env: Env, initial: bool, outer: bool) -> Act | None:
        args = node.args
        match node.name, len(args):
            case (("=" | "\\in"), 2) if not node.path:
                target = self.target(args[0], env, initial)
                if target is None:
                    return None
                if node.name == "=":
                    return self._equation(target, args[1], node, env, initial)
                return self._element(target, args[1], node, env, initial)
            case "=>", 2:
                test = self.cond(args[0], env).run
                act = self._act(args[1], env, initial, False)

                def implied(frame: Frame, then: Callable[[], None]) -> None:
                    if test(frame):
                        act(frame, then)
                    else:
                        then()

                return implied
            case "UNCHANGED", 1:
                return self._unchanged(args[0], node, env) if not initial else None
            case _:
                return self._call_act(node, env, initial, outer)

    def _call_act(self, node: Any, env: Env, initial: bool, outer: bool) -> Act | None:
        local = None if node.path else env.locals.get(node.name)
        if isinstance(local, LetOperator):
            return self._let_act(local, node, env, initial, outer)
        if isinstance(local, Local):
            if local.kind != "lazy" or env.primed:
                return None
            slot = local.slot
            test = self.cond(node, env).run

            def passed(frame: Frame, then: Callable[[], None]) -> None:
                value = frame[slot]
                if type(value) is Lazy:
                    value.source.act(value.frame, then)
                elif test(frame):
                    then()

            return passed
        if not node.path and (self.named_condition(node, env) or self.set_operator(node, env)):
            return None
        entity, makers, codes = self.meaning(node, env)
        if isinstance(entity, Substituted) and not node.args:
            return self._act(entity.expr, env.outside(entity.outer), initial, outer)
        if not isinstance(entity, Operator):
            return None
        if isinstance(entity, Part):
            node = Apply(entity.name, entity.args, node.span)
        makers, codes = self.call(entity, node, env, makers, codes)
        machine, operator = self.machine, entity
        mode = "initial" if initial else "steps" if outer else "action"

        def make(inner: Env) -> Code:
            act: Any = self._act(operator.body, inner, initial, outer)
            return Code(act, 2, UNKNOWN)

        names_steps = outer and not initial
        if names_steps:
            for calling in self._calling:
                self.parts.setdefault(calling, set()).add(operator)
            self._calling.append(operator)
        body = self.body(operator, env.primed, mode, make, env.enabled)
        layout = body.layout
        number = -1
        if names_steps:
            self._calling.pop()
            number = self._label(operator)

        def call(frame: Frame, then: Callable[[], None]) -> None:
            own = [make(frame) for make in makers]
            layout.widen(own)
            act: Any = body.code.run  # type: ignore[union-attr]
            if number < 0:
                act(own, then)
                return
            before, machine.action = machine.action, (number, own)
            act(own, then)
            machine.action = before

        return call

    def _label(self, operator: Operator) -> int:
        if operator not in self.labels:
            self.labels.append(operator)
        return self.labels.index(operator)

    def _let_act(
        self, operator: LetOperator, node: Any, env: Env, initial: bool, outer: bool
    ) -> Act:
        assert operator.env is not None
        inner = operator.env
        key = ("act", initial, outer)
        compiled = operator.compiled

        def act(frame: Frame, then: Callable[[], None]) -> None:
            if key not in compiled:
                compiled[key] = self._act(operator.body, inner, initial, outer)
            inner.layout.widen(frame)
            compiled[key](frame, then)

        if not operator.parameters:
            return act
        pairs = [
            (local.slot, self.argument(arg, local.arity, env)[0])
            for local, arg in zip(operator.parameters, node.args, strict=True)
        ]

        def call(frame: Frame, then: Callable[[], None]) -> None:
            own = frame.copy()
            for slot, make in pairs:
                own[slot] = make(frame)
            act(own, then)

        return call

    # ------------------------------------------------------------ assignments

    def target(self, node: Expr, env: Env, initial: bool) -> Target | None:
        """Returns how to find the variable that an equation assigns: ``x``, ``x'`` in a step, or a
        name of one of these.
        """
        if not isinstance(node, Apply):
            return None
        if node.args:
            is_prime = node.name == "'" and not node.path and not initial
            return self.target(node.args[0], env, True) if is_prime else None
        local = None if node.path else env.locals.get(node.name)
        if isinstance(local, Local):
            slot = local.slot

            def passed(frame: Frame) -> int | None:
                value = frame[slot]
                if type(value) is not Lazy:
                    return None
                if not initial:
                    target = value.source.target
                    return None if target is None else target(value.frame)
                variables = value.source.variables(value.frame)
                return variables[0] if variables is not None and len(variables) == 1 else None

            return passed if local.kind == "lazy" else None
        if isinstance(local, LetOperator) and not local.parameters and local.env is not None:
            return self.target(local.body, local.env, initial)
        if local is not None or node.name in ("BOOLEAN", "STRING"):
            return None
        entity = self.meaning(node, env)[0]
        match entity:
            case Variable(index=index) if initial:
                return lambda frame: index
            case Substituted() if env.enabled and self.hidden(entity, env) is not None:
                hidden = self.hidden(entity, env)
                return (lambda frame: hidden) if initial else None
            case Substituted():
                return self.target(entity.expr, env.outside(entity.outer), initial)
            case Operator(parameters=()) if isinstance(entity.body, Apply):
                target: Target | None = self._within(
                    entity, env, lambda inner: self.target(entity.body, inner, initial)
                )
                return target
            case _:
                return None

    def _within(self, operator: Operator, env: Env, make: Callable[[Env], Any]) -> Any:
        """Returns what ``make`` finds inside a definition, or None in a recursive one."""
        if operator.scope.parameters or operator.name in self._trail:
            return None
        self._trail.append(operator.name)
        result = make(Env(operator.scope, env.layout, enabled=env.enabled))
        self._trail.pop()
        return result

    def variables_of(self, node: Expr, env: Env) -> Callable[[Frame], tuple[int, ...] | None]:
        """Returns how to find the variables in a tuple of variables, or in a name of one."""
        if isinstance(node, tree.Tuple):
            parts = [self.variables_of(item, env) for item in node.items]

            def together(frame: Frame) -> tuple[int, ...] | None:
                indexes: list[int] = []
                for part in parts:
                    variables = part(frame)
                    if variables is None:
                        return None
                    indexes += variables
                return tuple(indexes)

            return together
        if not isinstance(node, Apply) or node.args:
            return lambda frame: None
        local = None if node.path else env.locals.get(node.name)
        if isinstance(local, Local) and local.kind == "lazy":
            slot = local.slot

            def passed(frame: Frame) -> tuple[int, ...] | None:
                value = frame[slot]
                return value.source.variables(value.frame) if type(value) is Lazy else None

            return passed
        if isinstance(local, LetOperator) and not local.parameters and local.env is not None:
            return self.variables_of(local.body, local.env)
        if local is not None or node.name in ("BOOLEAN", "STRING"):
            return lambda frame: None
        entity = self.meaning(node, env)[0]
        match entity:
            case Variable(index=index):
                return lambda frame: (index,)
            case Substituted() if env.enabled and self.hidden(entity, env) is not None:
                position = self.hidden(entity, env) or 0
                return lambda frame: (position,)
            case Substituted():
                return self.variables_of(entity.expr, env.outside(entity.outer))
            case Operator(parameters=()) if isinstance(entity.body, Apply | tree.Tuple):
                variables: Callable[[Frame], tuple[int, ...] | None] | None = self._within(
                    entity, env, lambda inner: self.variables_of(entity.body, inner)
                )
                return variables or (lambda frame: None)
            case _:
                return lambda frame: None

    def _equation(self, target: Target, value: Expr, node: Any, env: Env, initial: bool) -> Act:
        machine, normal, span = self.machine, self.universe.normalise, node.span
        run, test = self.expr(value, env).run, self.cond(node, env).run
        state = machine.current if initial else machine.following

        def assign(frame: Frame, then: Callable[[], None]) -> None:
            index = target(frame)
            if index is None or state[index] is not None:
                if test(frame):
                    then()
                return
            try:
                state[index] = normal(run(frame))
            except EvaluationError as error:
                raise located(error, span) from None
            machine.missing -= 1
            then()
            machine.missing += 1
            state[index] = None

        return assign

    def _element(self, target: Target, values: Expr, node: Any, env: Env, initial: bool) -> Act:
        machine, normal, span = self.machine, self.universe.normalise, values.span
        run, test, elements = (
            self.expr(values, env).run,
            self.cond(node, env).run,
            self.universe.elements,
        )
        state = machine.current if initial else machine.following

        def chosen(frame: Frame) -> Sequence[Value]:
            try:
                return [normal(value) for value in elements(run(frame))]
            except EvaluationError as error:
                raise located(error, span) from None

        def assign(frame: Frame, then: Callable[[], None]) -> None:
            index = target(frame)
            if index is None or state[index] is not None:
                if test(frame):
                    then()
                return
            machine.missing -= 1
            for value in chosen(frame):
                state[index] = value
                then()
            machine.missing += 1
            state[index] = None

        return assign

    def _unchanged(self, node: Expr, whole: Any, env: Env) -> Act:
        machine = self.machine
        find, test = self.variables_of(node, env), self.cond(whole, env).run
        before, after = machine.current, machine.following
        equal = self.universe.equal

        def run(frame: Frame, then: Callable[[], None]) -> None:
            variables = find(frame)
            if variables is None:
                if test(frame):
                    then()
                return
            assigned: list[int] = []
            same = True
            for index in variables:
                if after[index] is None:
                    after[index] = before[index]
                    assigned.append(index)
                elif not equal(after[index], before[index]):
                    same = False
                    break
            machine.missing -= len(assigned)
            if same:
                then()
            machine.missing += len(assigned)
            for index in assigned:
                after[index] = None

        return run

    # ------------------------------------------------------------ ENABLED

    def enabled(self, node: Expr, env: Env) -> Code:
        machine, env = self.machine, env.within_enabled()
        acts: list[Act] = []

        def set_found() -> None:
            raise Undone

        def run(frame: Frame) -> bool:
            if not acts:
                acts.append(self.act(node, env, False))
            env.layout.widen(frame)
            following, missing, action = [*machine.following], machine.missing, machine.action
            for index, value in machine.hidden:
                try:
                    machine.current[index] = self.universe.normalise(value(frame))
                except EvaluationError:
                    machine.current[index] = None
            machine.following[:] = [None] * len(following)
            machine.missing = len(following)
            try:
                acts[0](frame, set_found)
            except Undone:
                return True
            finally:
                machine.following[: len(following)] = following
                machine.missing, machine.action = missing, action
            return False

        # The part is compiled where it is needed, but its mistakes are found at once.
        self.cond(node, env)
        return Code(run, 1, UNKNOWN)


def _chain(acts: Sequence[Act]) -> Act:
    """Takes one action after the other, within one step."""
    first, *more = acts
    if not more:
        return first
    rest = _chain(more)

    def run(frame: Frame, then: Callable[[], None]) -> None:
        first(frame, lambda: rest(frame, then))

    return run


def _either(acts: Sequence[Act]) -> Act:
    def run(frame: Frame, then: Callable[[], None]) -> None:
        for act in acts:
            act(frame, then)

    return run


def _for_some(binder: Any, act: Act) -> Act:
    values, bind = binder.values, binder.bind

    def run(frame: Frame, then: Callable[[], None]) -> None:
        for value in values(frame):
            bind(frame, value)
            act(frame, then)

    return run


def _for_all(binder: Any, act: Act) -> Act:
    """Takes an action for every element, within one step. Each has a frame of its own, since the
    ways through them alternate.
    """
    values, bind = binder.values, binder.bind

    def run(frame: Frame, then: Callable[[], None]) -> None:
        elements = tuple(values(frame))

        def take(position: int) -> None:
            if position == len(elements):
                then()
                return
            own = frame.copy()
            bind(own, elements[position])
            act(own, lambda: take(position + 1))

        take(0)

    return run
