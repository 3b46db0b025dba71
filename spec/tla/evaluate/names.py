"""Compiles names and operators: those of the language, of modules, and local ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fencepost.spec.records import replace
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.expressions import Expressions, deferred, kept, not_supported
from fencepost.spec.tla.evaluate.machine import (
    EFFECT,
    NOTHING,
    UNKNOWN,
    Act,
    Argument,
    Code,
    Env,
    Frame,
    Layout,
    Lazy,
    LetInstance,
    LetOperator,
    Local,
    OperatorValue,
    Run,
    forced,
    forced_next,
    located,
    mistake,
)
from fencepost.spec.tla.modules.scopes import (
    BuiltIn,
    Constant,
    Entity,
    Given,
    Named,
    Operator,
    Part,
    Scope,
    Substituted,
    Variable,
)
from fencepost.spec.tla.standard.tlc import CHANGING
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply, Expr, operands
from fencepost.spec.tla.values.kinds import EvaluationError
from fencepost.spec.tla.values.lazy_sets import BOOLEAN, STRING, PowerSet

Maker = Callable[[Frame], Any]
"""Makes what a slot of a parameter holds."""


Target = Callable[[Frame], int | None]
"""Returns the variable that the left side of an equation assigns, or None."""


class Body:
    """A compiled definition. ``run`` and ``code`` are set when it is complete."""

    __slots__ = ("code", "layout")

    def __init__(self) -> None:
        self.layout = Layout()
        self.code: Code | None = None


class Names(Expressions):
    """Compiles names and operators."""

    _hidden: dict[Substituted, int | None]

    def act(self, node: Expr, env: Env, initial: bool) -> Act:
        raise NotImplementedError

    def enabled(self, node: Expr, env: Env) -> Code:
        raise NotImplementedError

    instantiated: Callable[[tree.Instance, Scope], Scope]
    """Returns the scope of an instance."""

    # ------------------------------------------------------------ operators of the language

    def named_condition(self, node: Any, env: Env) -> Code | None:
        """Compiles an operator whose value is a Boolean, or returns None for another one."""
        if node.path:
            return None
        universe, args, span = self.universe, node.args, node.span
        match node.name, len(args):
            case (("=" | "#"), 2):
                return self.equality(node, env, node.name == "=")
            case "\\in", 2:
                return self._membership(node, env)
            case "\\notin", 2:
                code = self._membership(node, env)
                member = code.run
                return Code(lambda frame: not member(frame), code.level, code.free)
            case "\\subseteq", 2:
                return self._binary(node, env, universe.subset)
            case "~", 1:
                code = self.cond(args[0], env)
                run = code.run
                return Code(lambda frame: not run(frame), code.level, code.free)
            case "=>", 2:
                return self._connected(node, env, lambda a, b: lambda f: not a(f) or b(f))
            case "<=>", 2:
                return self._connected(node, env, lambda a, b: lambda f: a(f) is b(f))
            case "ENABLED", 1:
                return self.enabled(args[0], env)
            case "UNCHANGED", 1:
                before, after = self.expr(args[0], env), self.expr(args[0], env.prime())
                code = self.computed(span, [before, after], universe.equal)
                return Code(code.run, 2, code.free)
            case (("[]" | "<>" | "~>" | "-+->"), _):
                for arg in args:
                    self.cond(arg, env)
                return not_supported(f'"{node.name}" in this place is', span, 3)
            case "\\cdot", 2:
                return not_supported('"\\cdot" is', span, 2)
            case _:
                return None

    def _binary(self, node: Any, env: Env, compute: Callable[[Any, Any], Any]) -> Code:
        codes = [self.expr(arg, env) for arg in node.args]
        return self.computed(node.span, codes, compute)

    def _connected(self, node: Any, env: Env, make: Callable[[Run, Run], Run]) -> Code:
        left, right = codes = [self.cond(arg, env) for arg in node.args]
        return Code(make(left.run, right.run), *self.connected(codes, node.span))

    def _membership(self, node: Any, env: Env) -> Code:
        """Compiles ``x \\in S``. The members of a filtered set are tested without making it."""
        element, values = node.args
        contains = self.universe.contains
        if isinstance(values, tree.Filter) and not values.bound.pattern:
            code = self.expr(element, env)
            assert values.bound.domain is not None
            domain = self.expr(values.bound.domain, env)
            local = Local("value", env.layout.slot())
            test = self.cond(values.condition, env.having({values.bound.names[0]: local}))
            inside = self.computed(node.span, [domain, code], contains).run
            value, holds, slot = code.run, test.run, local.slot

            def run(frame: Frame) -> bool:
                if not inside(frame):
                    return False
                frame[slot] = value(frame)
                return bool(holds(frame))

            free = (code.free | domain.free | test.free) - {slot}
            return Code(run, max(code.level, domain.level, test.level), free)
        left, right = self.expr(element, env), self.expr(values, env)
        member, within, span = left.run, right.run, node.span

        def among(frame: Frame) -> bool:
            value, members = member(frame), within(frame)
            try:
                if members.__class__ is frozenset and value in members:
                    return True
            except TypeError:
                pass
            try:
                return contains(members, value)
            except EvaluationError as error:
                raise located(error, span) from None

        return Code(among, max(left.level, right.level), left.free | right.free)

    def named(self, node: Any, env: Env) -> Code:
        if not node.path:
            condition = self.named_condition(node, env)
            if condition is not None:
                return self._as_value(condition)
            code = self.set_operator(node, env)
            if code is not None:
                return code
        return self._resolved(node, env)

    def set_operator(self, node: Any, env: Env) -> Code | None:
        universe, args = self.universe, node.args
        match node.name, len(args):
            case "\\cup", 2:
                return self._binary(node, env, universe.union)
            case "\\cap", 2:
                return self._binary(node, env, universe.intersection)
            case "\\", 2:
                return self._binary(node, env, universe.difference)
            case "SUBSET", 1:
                return self.computed(node.span, [self.expr(args[0], env)], PowerSet)
            case "UNION", 1:
                return self.computed(node.span, [self.expr(args[0], env)], universe.big_union)
            case "DOMAIN", 1:
                return self.computed(node.span, [self.expr(args[0], env)], universe.domain)
            case "BOOLEAN", 0:
                return Code(lambda frame: BOOLEAN)
            case "STRING", 0:
                return Code(lambda frame: STRING)
            case "'", 1:
                if env.primed:
                    raise mistake("F655", node.span, "a primed expression is primed again")
                code = self.expr(args[0], env.prime())
                if code.level > 1:
                    raise mistake("F655", node.span, "only an expression of a state can be primed")
                return Code(code.run, 2 if code.level else 0, code.free)
            case _:
                return None

    # ------------------------------------------------------------ names with a meaning

    def _resolved(self, node: Any, env: Env) -> Code:
        local = None if node.path else env.locals.get(node.name)
        if local is not None:
            return self._local(local, node, env)
        entity, makers, codes = self.meaning(node, env)
        match entity:
            case Variable(index=index):
                self.check_count(node, 0)
                return self._variable(index, node.span, env)
            case Given(value=value):
                self.check_count(node, 0)
                return Code(lambda frame: value)
            case Substituted(expr=Apply(name=name)) if node.args:
                return self._local(env.outside(entity.outer).locals[name], node, env)
            case Substituted() if (
                env.enabled and env.primed and self.hidden(entity, env) is not None
            ):
                return self._variable(self.hidden(entity, env) or 0, node.span, env)
            case Substituted():
                return self.expr(self.substituted(entity, node), env.outside(entity.outer))
            case Operator():
                return self._operator(entity, node, env, makers, codes)
            case BuiltIn():
                return self._built_in(entity, node, env)
            case Named():
                raise mistake("F654", node.span, f'"{node.name}" is an instance of a module')
            case Constant():
                return self._no_value(entity, node.span)
            case _:
                raise AssertionError(entity)

    def hidden(self, entity: Substituted, env: Env) -> int | None:
        """Returns the position of a variable of an instance in an ENABLED expression, or None if it
        is a constant or a variable of the module.
        """
        if entity not in self._hidden:
            self._hidden[entity] = None
            outside = Env(entity.outer, Layout())
            if not entity.outer.parameters and not self.variables_of(entity.expr, outside)([]):
                code = self.expr(entity.expr, outside)
                if code.level:
                    self._hidden[entity] = index = len(self.machine.following)
                    self.machine.names = [*self.machine.names, entity.name]
                    self.machine.current.append(None)
                    self.machine.following.append(None)
                    run = code.run
                    frame = [None] * outside.layout.size
                    self.machine.hidden.append((index, lambda _: run([*frame])))
        return self._hidden[entity]

    def _no_value(self, entity: Entity, span: Span) -> Code:
        def run(frame: Frame) -> Any:
            raise mistake("F658", span, f'the constant "{entity.name}" has no value')

        return Code(run, 0, UNKNOWN)

    def meaning(self, node: Any, env: Env) -> tuple[Entity, list[Maker], list[Code]]:
        """Returns the meaning of a name, and the arguments of the instances on the path to it."""
        scope: Scope = env.scope
        makers, codes = _base(env)
        for number, call in enumerate(node.path):
            local, args = env.locals.get(call.name) if not number else None, call.args
            if isinstance(local, LetInstance):
                named: Entity = local.named
                args = (*local.args, *args)
            else:
                named = scope.find(call.name, node.span)
            if isinstance(named, Operator):
                selectors = (*node.path[number + 1 :], tree.Call(node.name, node.args))
                return part(named, call.args, selectors, node.span), makers, codes
            if not isinstance(named, Named):
                raise mistake("F653", node.span, f'"{call.name}" is not an instance of a module')
            if len(args) != len(named.parameters):
                raise self._wrong_count(call.name, len(named.parameters), len(args), node.span)
            del makers[len(named.scope.parameters) - len(named.parameters) :]
            del codes[len(named.scope.parameters) - len(named.parameters) :]
            for parameter, arg in zip(named.parameters, args, strict=True):
                maker, code = self.argument(arg, parameter.arity, env)
                makers.append(maker)
                codes.append(code)
            scope = named.scope
        entity = scope.find(node.name, node.span)
        if isinstance(entity, Substituted) and node.args:
            return self._substituted_operator(entity, node, env)
        return entity, makers, codes

    def _substituted_operator(
        self, entity: Substituted, node: Any, env: Env
    ) -> tuple[Entity, list[Maker], list[Code]]:
        """Returns the meaning of a constant of an instance that is an operator."""
        outside = env.outside(entity.outer)
        if entity.operator is not None:
            return entity.operator, *_base(outside)
        if not isinstance(entity.expr, Apply) or entity.expr.args:
            raise mistake("F654", node.span, f'"{entity.name}" has no arguments')
        if not entity.expr.path and entity.expr.name in outside.locals:
            return entity, *_base(outside)
        named, makers, codes = self.meaning(entity.expr, outside)
        if isinstance(named, Substituted):
            return self._substituted_operator(named, node, outside)
        return named, makers, codes

    def instance(self, unit: tree.Instance, env: Env) -> LetInstance:
        """Compiles an instance in a LET."""
        if not unit.name:
            raise mistake("F657", unit.span, "an INSTANCE without a name in a LET is not supported")
        parameters: list[tree.Parameter] = []
        for name, local in env.locals.items():
            if name != "@" and name not in env.base and not isinstance(local, LetInstance):
                arity = local.arity if isinstance(local, Local) else len(local.parameters)
                parameters.append(tree.Parameter(name, arity, unit.span))
        args = [Apply(parameter.name, (), unit.span) for parameter in parameters]
        every = (*parameters, *unit.parameters)
        scope = self.instantiated(replace(unit, parameters=every), env.scope)
        return LetInstance(Named(unit.name, env.scope.name, unit.span, every, scope), args)

    def substituted(self, entity: Substituted, node: Any) -> Expr:
        """Returns the expression for a substituted name without arguments."""
        if isinstance(entity.expr, tree.Lambda):
            raise mistake("F654", node.span, f'"{entity.name}" is an operator')
        return entity.expr

    def check_count(self, node: Any, expected: int) -> None:
        """Checks the number of arguments."""
        if len(node.args) != expected:
            raise self._wrong_count(node.name, expected, len(node.args), node.span)

    def _wrong_count(self, name: str, expected: int, actual: int, span: Span) -> Exception:
        count = f"{expected} argument{'' if expected == 1 else 's'}" if expected else "no arguments"
        written = f"{actual or 'none'} {'is' if actual == 1 else 'are'} given here"
        return mistake("F654", span, f'"{name}" has {count}, but {written}')

    def _variable(self, index: int, span: Span, env: Env) -> Code:
        machine = self.machine
        primed = env.primed
        state = machine.following if primed else machine.current

        def read(frame: Frame) -> Any:
            value = state[index]
            if value is None:
                machine.no_value(index, primed, span)
            return value

        return Code(read, 1)

    def _local(self, local: Any, node: Any, env: Env) -> Code:
        if isinstance(local, LetOperator):
            return self._let_operator(local, node, env)
        slot = local.slot
        free = frozenset({slot})
        if local.kind == "operator":
            self.check_count(node, local.arity)
            codes = [
                self.expr(arg, Env(env.scope, env.layout, env.locals, env.base))
                for arg in node.args
            ]
            if env.primed:
                codes = [self.expr(arg, env) for arg in node.args]
            runs = [code.run for code in codes]
            which = "primed" if env.primed else "call"

            def call(frame: Frame) -> Any:
                return getattr(frame[slot], which)(*[run(frame) for run in runs])

            level = max((code.level for code in codes), default=0)
            return Code(call, level, free.union(*[code.free for code in codes]))
        self.check_count(node, 0)
        if local.kind == "value":
            return Code(lambda frame: frame[slot], 0, free, slot)
        if env.primed:
            return Code(lambda frame: forced_next(frame[slot]), 0, free)
        return Code(lambda frame: forced(frame[slot]), 0, free)

    # ------------------------------------------------------------ calls

    def argument(self, node: Expr, arity: int, env: Env) -> tuple[Maker, Code]:
        """Compiles an argument for a parameter with ``arity`` arguments of its own."""
        if arity or isinstance(node, tree.Lambda):
            if not arity:
                raise mistake("F654", node.span, "an operator is given where a value is expected")
            return self.operator_argument(node, arity, env)
        if isinstance(node, Apply) and not node.args and not node.path:
            local = env.locals.get(node.name)
            if isinstance(local, Local) and local.kind in ("value", "lazy") and not env.primed:
                code = self._local(local, node, env)
                return _reader(local.slot), code
        code = self.expr(node, env)
        if isinstance(node, tree.Number | tree.String | tree.Truth):
            return code.run, code
        primed = (
            code.run
            if env.primed or code.level > 1 or (not code.level and not code.free)
            else deferred(env, lambda: self.expr(node, env.prime()).run)
        )
        variables, target = self.variables_of(node, env), self.target(node, env, False)
        acts: dict[bool, Act] = {}

        def act(frame: Frame, then: Callable[[], None]) -> None:
            initial = not self.machine.settled
            if initial not in acts:
                acts[initial] = self.act(node, env, initial)
            env.layout.widen(frame)
            acts[initial](frame, then)

        keeps: dict[bool, Run] = {}

        def keep(frame: Frame, initial: bool) -> Any:
            if initial not in keeps:
                keeps[initial] = self.keep(node, env, initial) or code.run
            env.layout.widen(frame)
            return keeps[initial](frame)

        source = Argument(self.machine, code.run, code.level, primed, variables, target, act, keep)
        return lambda frame: Lazy(source, frame), code

    def keep(self, node: Expr, env: Env, initial: bool) -> Run | None:
        raise NotImplementedError

    def variables_of(self, node: Expr, env: Env) -> Callable[[Frame], tuple[int, ...] | None]:
        raise NotImplementedError

    def target(self, node: Expr, env: Env, initial: bool) -> Target | None:
        raise NotImplementedError

    def operator_argument(self, node: Expr, arity: int, env: Env) -> tuple[Maker, Code]:
        """Compiles an argument that is an operator."""
        if isinstance(node, tree.Lambda):
            names, body = [p.name for p in node.parameters], node.body
        elif isinstance(node, Apply) and not node.args:
            local = None if node.path else env.locals.get(node.name)
            if isinstance(local, Local) and local.kind == "operator" and not env.primed:
                if local.arity != arity:
                    raise self._wrong_count(node.name, local.arity, arity, node.span)
                code = Code(_reader(local.slot), 0, frozenset({local.slot}))
                return _reader(local.slot), code
            names = [f"{number} of {node.name}" for number in range(arity)]
            args = tuple(Apply(name, (), node.span) for name in names)
            body = _applied(node, args)
        else:
            raise mistake("F654", node.span, "an operator is expected here")
        if len(names) != arity:
            raise self._wrong_count("LAMBDA", len(names), arity, node.span)
        locals_ = {name: Local("value", env.layout.slot()) for name in names}
        slots = [local.slot for local in locals_.values()]
        inner = env.having(locals_)
        code = self.expr(body, inner)
        primed = deferred(inner, lambda: self.expr(body, inner.prime()).run)
        if env.primed or code.level > 1:
            primed = code.run

        def caller(run: Run, frame: Frame) -> Callable[..., Any]:
            def call(*values: Any) -> Any:
                own = frame.copy()
                for slot, value in zip(slots, values, strict=True):
                    own[slot] = value
                return run(own)

            return call

        def maker(frame: Frame) -> OperatorValue:
            return OperatorValue(caller(code.run, frame), caller(primed, frame))

        return maker, Code(maker, code.level, code.free.difference(slots))

    def body(
        self,
        operator: Operator,
        primed: bool,
        mode: object,
        make: Callable[[Env], Code],
        enabled: bool = False,
    ) -> Body:
        """Compiles a definition, once for each use."""
        key = (primed, mode, enabled)
        body: Body | None = operator.compiled.get(key)
        if body is None:
            body = operator.compiled[key] = Body()
            try:
                body.code = make(self.inside(operator, body.layout, primed, enabled))
            except Rejected:
                del operator.compiled[key]
                raise
        return body

    def inside(
        self, operator: Operator, layout: Layout, primed: bool, enabled: bool = False
    ) -> Env:
        """Returns the place inside a definition."""
        base = {p.name: self._parameter(p, layout) for p in operator.scope.parameters}
        own = {p.name: self._parameter(p, layout) for p in operator.parameters}
        return Env(operator.scope, layout, {**base, **own}, base, primed, enabled)

    def _parameter(self, parameter: tree.Parameter, layout: Layout) -> Local:
        kind = "operator" if parameter.arity else "lazy"
        return Local(kind, layout.slot(), parameter.arity)

    def call(
        self, operator: Operator, node: Any, env: Env, makers: list[Maker], codes: list[Code]
    ) -> tuple[list[Maker], list[Code]]:
        """Compiles the arguments of a call of a definition."""
        if len(node.args) != len(operator.parameters):
            raise self._wrong_count(node.name, len(operator.parameters), len(node.args), node.span)
        count = len(operator.scope.parameters)
        every, parts = makers[:count], codes[:count]
        for parameter, arg in zip(operator.parameters, node.args, strict=True):
            maker, code = self.argument(arg, parameter.arity, env)
            every.append(maker)
            parts.append(code)
        return every, parts

    def _operator(
        self, operator: Operator, node: Any, env: Env, makers: list[Maker], codes: list[Code]
    ) -> Code:
        if isinstance(operator, Part):
            node = Apply(operator.name, operator.args, node.span)
        makers, codes = self.call(operator, node, env, makers, codes)
        body = self.body(
            operator,
            env.primed,
            "value",
            lambda inner: self.expr(operator.body, inner),
            env.enabled,
        )
        level = max((code.level for code in codes), default=0)
        free = NOTHING.union(*[code.free for code in codes])
        if body.code is None:
            # The definition is recursive, and is being compiled.
            free = free | UNKNOWN
        else:
            level = max(level, body.code.level)
            free = free | (body.code.free & EFFECT)
        if env.primed and body.code is not None and body.code.level > 1:
            raise mistake("F655", node.span, f'"{node.name}" has primes, and is primed again')
        layout = body.layout
        if not makers and body.code is not None:
            inner = body.code.run
            return Code(lambda frame: inner([None] * layout.size), level, free)
        if len(makers) == 1:
            (make,) = makers

            def unary(frame: Frame) -> Any:
                own = [None] * layout.size
                own[0] = make(frame)
                return body.code.run(own)  # type: ignore[union-attr]

            return Code(unary, level, free)

        def run(frame: Frame) -> Any:
            own = [make(frame) for make in makers]
            layout.widen(own)
            return body.code.run(own)  # type: ignore[union-attr]

        return Code(run, level, free)

    def _built_in(self, entity: BuiltIn, node: Any, env: Env) -> Code:
        self.check_count(node, entity.arity)
        codes: list[Code] = []
        for arg in node.args:
            arity = self._arity(arg, env)
            if arity:
                maker, code = self.operator_argument(arg, arity, env)
                which = "primed" if env.primed else "call"
                codes.append(Code(_member(maker, which), code.level, code.free))
            else:
                codes.append(self.expr(arg, env))
        call, universe = entity.call, self.universe
        code = self.computed(node.span, codes, lambda *values: call(universe, *values))
        if len(codes) == 2:
            first, second = codes[0].run, codes[1].run
            span = node.span

            def binary(frame: Frame) -> Any:
                try:
                    return call(universe, first(frame), second(frame))
                except EvaluationError as error:
                    raise located(error, span) from None

            code = Code(binary, code.level, code.free)
        if entity.name in CHANGING:
            return Code(code.run, code.level, code.free | EFFECT)
        return code

    def _arity(self, node: Expr, env: Env) -> int:
        """Returns the number of arguments of an argument that is an operator, else 0."""
        if isinstance(node, tree.Lambda):
            return len(node.parameters)
        if not isinstance(node, Apply) or node.args:
            return 0
        local = None if node.path else env.locals.get(node.name)
        if isinstance(local, LetOperator):
            return len(local.parameters)
        if isinstance(local, Local):
            return local.arity
        if not node.path and node.name in ("BOOLEAN", "STRING"):
            return 0
        match self.meaning(node, env)[0]:
            case Operator(parameters=parameters):
                return len(parameters)
            case BuiltIn(arity=arity) | Constant(arity=arity):
                return arity
            case Substituted(expr=expr, outer=outer):
                return self._arity(expr, env.outside(outer))
            case _:
                return 0

    def _let_operator(self, operator: LetOperator, node: Any, env: Env) -> Code:
        if len(node.args) != len(operator.parameters):
            count = len(operator.parameters)
            raise self._wrong_count(node.name, count, len(node.args), node.span)
        code = self._let_body(operator, env)
        level, free = (0, UNKNOWN) if code is None else (code.level, code.free)
        if env.primed and level > 1:
            raise mistake("F655", node.span, f'"{node.name}" has primes, and is primed again')
        inner = operator.env
        assert inner is not None
        body = (
            deferred(inner, lambda: _run_of(self._let_body(operator, env)))
            if code is None
            else code.run
        )
        if not operator.parameters:
            memo, machine = operator.memo, self.machine
            if env.primed or level > 1 or code is None:
                return Code(body, level, free)

            def read(frame: Frame) -> Any:
                value = frame[memo]
                if value is None:
                    value = body(frame)
                    if not level or machine.settled:
                        frame[memo] = value
                return value

            return Code(read, level, free)
        pairs: list[tuple[int, Maker]] = []
        for local, arg in zip(operator.parameters, node.args, strict=True):
            maker, part = self.argument(arg, local.arity, env)
            pairs.append((local.slot, maker))
            level, free = max(level, part.level), free | part.free
        free = free.difference([local.slot for local in operator.parameters])

        def call(frame: Frame) -> Any:
            own = frame.copy()
            for slot, make in pairs:
                own[slot] = make(frame)
            return body(own)

        return Code(call, level, free)

    def _let_body(self, operator: LetOperator, env: Env) -> Code | None:
        """Compiles the body of a definition in a LET, or returns None while that is going on."""
        if env.primed in operator.compiled:
            code: Code | None = operator.compiled[env.primed]
            return code
        operator.compiled[env.primed] = None
        assert operator.env is not None
        inner = operator.env.prime() if env.primed else operator.env
        code = operator.compiled[env.primed] = self.expr(operator.body, inner)
        return code


def _base(env: Env) -> tuple[list[Maker], list[Code]]:
    """Returns the arguments of the instances that lead to a module."""
    slots = [local.slot for local in env.base.values()]
    readers: list[Maker] = [_reader(slot) for slot in slots]
    return readers, [Code(_reader(slot), 0, frozenset({slot})) for slot in slots]


def part(whole: Operator, args: Sequence[Expr], selectors: Sequence[tree.Call], span: Span) -> Part:
    """Returns a part of a definition, as in ``Inv!2!(x)``."""
    parameters, values, lets = [*whole.parameters], [*args], list[tree.Let]()
    if len(args) != len(parameters):
        raise mistake("F654", span, f'"{whole.name}" has {len(parameters)} arguments here')
    body = whole.body
    for call in selectors:
        while isinstance(body, tree.Let | tree.Labelled):
            if isinstance(body, tree.Let):
                lets.append(body)
            body = body.body
        if call.name == "()":
            bounds: tuple[tree.Bound, ...] = getattr(body, "bounds", ())
            names = [name for bound in bounds for name in bound.names]
            if len(names) != len(call.args):
                raise mistake("F653", span, f"{len(names)} names are bound in this part")
            parameters += [tree.Parameter(name, 0, span) for name in names]
            values += call.args
            body = _inside(body)
        elif call.name != ":":
            operand = _selected(body, call.name, lets)
            if operand is None:
                raise mistake("F653", span, f'"{whole.name}" has no part "{call.name}" here')
            body = operand
    for let in reversed(lets):
        body = replace(let, body=body)
    return Part(whole, parameters, body, values)


def _inside(binder: Any) -> Expr:
    """Returns the expression that the names of a quantifier or function are bound in."""
    body: Expr = binder.element if isinstance(binder, tree.Image) else binder.body
    return body


def _selected(body: Expr, name: str, lets: list[tree.Let]) -> Expr | None:
    """Returns the operand with a number, or the formula with a label."""
    items = operands(body)
    if name.isdigit() or name in ("<<", ">>"):
        index = (
            {"<<": 0, ">>": len(items) - 1}.get(name, -1) if not name.isdigit() else int(name) - 1
        )
        return items[index] if 0 <= index < len(items) else None
    for item in items:
        if isinstance(item, tree.Labelled):
            if item.label == name:
                return item.body
            continue
        before = len(lets)
        if isinstance(item, tree.Let):
            lets.append(item)
            item = item.body
        labelled = _selected(item, name, lets)
        if labelled is not None:
            return labelled
        del lets[before:]
    return None


def _run_of(code: Code | None) -> Run:
    assert code is not None
    return code.run


def _reader(slot: int) -> Maker:
    return lambda frame: frame[slot]


def _member(maker: Maker, which: str) -> Run:
    return lambda frame: getattr(maker(frame), which)


def _applied(node: Apply, args: Sequence[Expr]) -> Expr:
    """Returns an operator applied to arguments."""
    if node.name in ("/\\", "\\/"):
        return tree.Junction(node.name, tuple(args), node.span)
    return Apply(node.name, tuple(args), node.span, node.path)


__all__ = ["Names", "kept"]
