"""Compiles expressions to closures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.machine import (
    NOTHING,
    UNKNOWN,
    Code,
    Env,
    Frame,
    LetOperator,
    Local,
    Located,
    Machine,
    Run,
    located,
    mistake,
)
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply, Bound, Expr
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    EvaluationError,
    Function,
    LazyFunction,
    LazySet,
    NotInDomain,
    Value,
)
from fencepost.spec.tla.values.lazy_sets import (
    WRITTEN,
    Filter,
    FunctionSet,
    Product,
    RecordSet,
)
from fencepost.spec.tla.values.universe import FLAT

_TRIVIAL = (tree.Number, tree.String, tree.Truth)
_CONDITIONS = (tree.Junction, tree.Quantified, tree.Truth, tree.Boxed)


def not_supported(form: str, span: Span, level: int = 0) -> Code:
    """Returns the code of an expression that is refused when it is needed."""

    def run(frame: Frame) -> Any:
        raise mistake("F657", span, f"{form} not supported")

    return Code(run, level, UNKNOWN)


class Expressions:
    """Compiles expressions of every form but names and operators, which `Names` compiles."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.universe = machine.universe
        self.mistakes: list[Problem] | None = None
        """The mistakes so far, while all of them are wanted; None if the first one is raised."""

    # ------------------------------------------------------------ entry points

    def expr(self, node: Expr, env: Env) -> Code:
        """Compiles an expression to its value."""
        try:
            return self._expr(node, env)
        except Rejected as rejected:
            return self._wrong(rejected)

    def _wrong(self, rejected: Rejected) -> Code:
        """Collects the mistakes of an expression if all are wanted, else raises the error."""
        if self.mistakes is None:
            raise rejected
        self.mistakes += rejected.problems
        return Code(lambda frame: None)

    def _expr(self, node: Expr, env: Env) -> Code:
        if isinstance(node, _CONDITIONS):
            return self._as_value(self.cond(node, env))
        code = self._FORMS[type(node)](self, node, env)
        return code if isinstance(node, _TRIVIAL) else kept(code)

    def cond(self, node: Expr, env: Env) -> Code:
        """Compiles a condition to Python's True or False."""
        try:
            return self._cond(node, env)
        except Rejected as rejected:
            return self._wrong(rejected)

    def _cond(self, node: Expr, env: Env) -> Code:
        form = self._CONDITION_FORMS.get(type(node))
        if form is not None:
            code = form(self, node, env)
            if code is not None:
                return kept(code)
        code, truth, span = self.expr(node, env), self.machine.truth, node.span
        run = code.run

        def test(frame: Frame) -> bool:
            value = run(frame)
            return value is TRUE or (value is not FALSE and truth(value, span))

        return Code(test, code.level, code.free)

    def _as_value(self, code: Code) -> Code:
        run = code.run
        return Code(lambda frame: TRUE if run(frame) else FALSE, code.level, code.free)

    def named(self, node: Expr, env: Env) -> Code:
        raise NotImplementedError

    def named_condition(self, node: Expr, env: Env) -> Code | None:
        raise NotImplementedError

    def instance(self, unit: tree.Instance, env: Env) -> Any:
        raise NotImplementedError

    def computed(self, span: Span, codes: Sequence[Code], compute: Callable[..., Any]) -> Code:
        """Compiles an operation on the values of expressions. An error gets the place ``span``."""
        level, free = _joined(codes)
        if level > 2:
            raise mistake("F655", span, "a temporal formula cannot be an operand of this operator")
        runs = [code.run for code in codes]
        if len(runs) == 1:
            (only,) = runs

            def unary(frame: Frame) -> Any:
                try:
                    return compute(only(frame))
                except EvaluationError as error:
                    raise located(error, span) from None

            return Code(unary, level, free)
        if len(runs) == 2:
            first, second = runs

            def binary(frame: Frame) -> Any:
                try:
                    return compute(first(frame), second(frame))
                except EvaluationError as error:
                    raise located(error, span) from None

            return Code(binary, level, free)

        def run(frame: Frame) -> Any:
            try:
                return compute(*[part(frame) for part in runs])
            except EvaluationError as error:
                raise located(error, span) from None

        return Code(run, level, free)

    # ------------------------------------------------------------ literals and connectives

    def _literal(self, node: Any, env: Env) -> Code:
        value = node.text if isinstance(node, tree.String) else node.value
        return Code(lambda frame: value, literal=value)

    def _truth(self, node: Any, env: Env) -> Code:
        value = node.value
        return Code(lambda frame: value)

    def connected(self, codes: Sequence[Code], span: Span) -> tuple[int, frozenset[int]]:
        """Returns the level and the free slots of a formula that connects others."""
        levels = {code.level for code in codes}
        if levels >= {2, 3}:
            message = "an action and a temporal formula cannot be connected; write [A]_v for A"
            raise mistake("F655", span, message)
        return _joined(codes)

    def _junction(self, node: Any, env: Env) -> Code:
        codes = [self.cond(item, env) for item in node.items]
        level, free = self.connected(codes, node.span)
        runs = tuple(code.run for code in codes)
        if node.sign == "/\\":
            if len(runs) == 2:
                first, second = runs
                return Code(lambda frame: first(frame) and second(frame), level, free)

            def every(frame: Frame) -> bool:
                # Faster than `all`.
                for run in runs:  # noqa: SIM110
                    if not run(frame):
                        return False
                return True

            return Code(every, level, free)
        if len(runs) == 2:
            first, second = runs
            return Code(lambda frame: first(frame) or second(frame), level, free)

        def some(frame: Frame) -> bool:
            for run in runs:  # noqa: SIM110
                if run(frame):
                    return True
            return False

        return Code(some, level, free)

    def _if(self, node: Any, env: Env) -> Code:
        return self._branches(node, env, self.expr)

    def _if_condition(self, node: Any, env: Env) -> Code:
        return self._branches(node, env, self.cond)

    def _branches(self, node: Any, env: Env, compile_: Callable[[Expr, Env], Code]) -> Code:
        codes = [
            self.cond(node.condition, env), compile_(node.then, env), compile_(node.otherwise, env)
        ]  # fmt: skip
        test, then, otherwise = (code.run for code in codes)
        level, free = _joined(codes)
        return Code(lambda frame: then(frame) if test(frame) else otherwise(frame), level, free)

    def _case(self, node: Any, env: Env) -> Code:
        arms = [(self.cond(test, env), self.expr(value, env)) for test, value in node.arms]
        other = None if node.other is None else self.expr(node.other, env)
        codes = [code for arm in arms for code in arm] + ([] if other is None else [other])
        level, free = _joined(codes)
        runs = [(test.run, value.run) for test, value in arms]
        last, span = None if other is None else other.run, node.span

        def run(frame: Frame) -> Any:
            for test, value in runs:
                if test(frame):
                    return value(frame)
            if last is None:
                raise Located("no condition of this CASE is true, and it has no OTHER", span)
            return last(frame)

        return Code(run, level, free)

    # ------------------------------------------------------------ bound variables

    def bound(self, bounds: Sequence[Bound], env: Env) -> tuple[list[Binder], Env]:
        """Compiles bounds: what assigns the names in a frame, and the place where they are
        known.
        """
        binders: list[Binder] = []
        names: dict[str, Any] = {}
        for item in bounds:
            assert item.domain is not None
            domain = self.expr(item.domain, env)
            locals_ = [Local("value", env.layout.slot()) for _ in item.names]
            names |= dict(zip(item.names, locals_, strict=True))
            slots = [local.slot for local in locals_]
            if item.pattern:
                binders.append(Binder(self.universe, domain, slots, True, item.domain.span))
            else:
                binders += [
                    Binder(self.universe, domain, [slot], False, item.domain.span) for slot in slots
                ]
        return binders, env.having(names)

    def ranges(self, bounds: Sequence[Bound], env: Env) -> tuple[list[Binder], Env]:
        """Compiles the bounds of a quantifier. As in TLC, all sets are evaluated before the first
        element is bound.
        """
        binders, inner = self.bound(bounds, env)
        if len(binders) > 1:
            _hoist(self.universe, binders, [env.layout.slot() for _ in binders])
        return binders, inner

    def _quantified(self, node: Any, env: Env) -> Code:
        if node.sign in ("\\AA", "\\EE"):
            return not_supported("temporal quantifiers are", node.span, 3)
        if any(bound.domain is None for bound in node.bounds):
            return not_supported("quantifiers without a set are", node.span)
        binders, inner = self.ranges(node.bounds, env)
        code = self.cond(node.body, inner)
        level, free = _joined([code, *(binder.domain for binder in binders)])
        free = free.difference(*[binder.slots for binder in binders])
        run = code.run
        for binder in reversed(binders):
            run = binder.every(run) if node.sign == "\\A" else binder.some(run)
        return Code(run, level, free)

    def _choose(self, node: Any, env: Env) -> Code:
        if node.bound.domain is None:
            return not_supported("CHOOSE without a set is", node.span)
        (binder, *more), inner = self.bound([node.bound], env)
        if more:
            return not_supported("CHOOSE of several names is", node.span)
        code = self.cond(node.body, inner)
        level, free = _joined([code, binder.domain])
        free = free.difference(binder.slots)
        test, bind, values, span = code.run, binder.bind, binder.values, node.span

        def run(frame: Frame) -> Any:
            for value in values(frame):
                bind(frame, value)
                if test(frame):
                    return value
            raise Located("no element satisfies the condition of this CHOOSE", span)

        return Code(run, level, free)

    def _filter(self, node: Any, env: Env) -> Code:
        (binder, *_), inner = self.bound([node.bound], env)
        code = self.cond(node.condition, inner)
        level, free = _joined([code, binder.domain])
        free = free.difference(binder.slots)
        test, bind, universe = code.run, binder.bind, self.universe
        domain, span = binder.domain.run, node.bound.domain.span
        # A constant is computed once, so its elements are. As in TLC, others are tests if their
        # elements are chosen from a set such as SUBSET S.
        constant = not level and not free

        def run(frame: Frame) -> Any:
            values = domain(frame)
            if isinstance(values, LazySet) and (
                not values.is_finite(universe) or not (constant or isinstance(values, WRITTEN))
            ):
                kept_frame = frame.copy()

                def holds(value: Value) -> bool:
                    own = kept_frame.copy()
                    bind(own, value)
                    return bool(test(own))

                return Filter(values, holds)
            chosen: list[Value] = []
            try:
                for value in universe.elements(values):
                    bind(frame, value)
                    if test(frame):
                        chosen.append(value)
            except EvaluationError as error:
                raise located(error, span) from None
            return universe.set_of(chosen)

        return Code(run, level, free)

    def _image(self, node: Any, env: Env) -> Code:
        binders, inner = self.ranges(node.bounds, env)
        code = self.expr(node.element, inner)
        level, free = _joined([code, *(binder.domain for binder in binders)])
        free = free.difference(*[binder.slots for binder in binders])
        element, universe, span = code.run, self.universe, node.span

        def collected(frame: Frame, elements: list[Value], depth: int) -> None:
            binder = binders[depth]
            for value in binder.values(frame):
                binder.bind(frame, value)
                if depth + 1 < len(binders):
                    collected(frame, elements, depth + 1)
                else:
                    elements.append(element(frame))

        def run(frame: Frame) -> Any:
            elements: list[Value] = []
            collected(frame, elements, 0)
            try:
                return universe.set_of(elements)
            except EvaluationError as error:
                raise located(error, span) from None

        return Code(run, level, free)

    # ------------------------------------------------------------ functions

    def _function(self, node: Any, env: Env) -> Code:
        if node.name:
            env = env.having({node.name: Local("value", env.layout.slot())})
        own = env.locals[node.name].slot if node.name else -1
        binders, inner = self.bound(node.bounds, env)
        code = self.expr(node.body, inner)
        level, free = _joined([code, *(binder.domain for binder in binders)])
        free = free.difference([own], *[binder.slots for binder in binders])
        body, universe, span = code.run, self.universe, node.span
        domains = [binder.domain.run for binder in binders]
        single = len(binders) == 1

        def bind(frame: Frame, value: Any) -> None:
            if single:
                binders[0].bind(frame, value)
            else:
                for binder, part in zip(binders, value, strict=True):
                    binder.bind(frame, part)

        def lazy(frame: Frame, domain: Value) -> LazyFunction:
            kept_frame = frame.copy()

            def applied(value: Value) -> Value:
                inside = kept_frame.copy()
                bind(inside, value)
                return body(inside)

            function = LazyFunction(domain, applied)
            if own >= 0:
                kept_frame[own] = function
            return function

        def run(frame: Frame) -> Any:
            try:
                domain = domains[0](frame) if single else Product([d(frame) for d in domains])
                if own >= 0 or (isinstance(domain, LazySet) and not domain.is_finite(universe)):
                    return lazy(frame, domain)
                finite = universe.domain_of(domain)
                values: list[Value] = []
                for value in finite.elements:
                    bind(frame, value)
                    values.append(body(frame))
                return finite.function(values)
            except EvaluationError as error:
                raise located(error, span) from None

        return Code(run, level, free)

    def _function_set(self, node: Any, env: Env) -> Code:
        codes = [self.expr(node.domain, env), self.expr(node.range, env)]
        return self.computed(node.span, codes, FunctionSet)

    def _index(self, node: Any, env: Env) -> Code:
        codes = [self.expr(node.function, env), self.expr(node.argument, env)]
        function, argument = (code.run for code in codes)
        apply, span = self.universe.apply, node.span

        def run(frame: Frame) -> Any:
            value, key = function(frame), argument(frame)
            try:
                if value.__class__ is Function:
                    return value[value[0].position[key]]
                return apply(value, key)
            except (KeyError, TypeError):
                pass
            except EvaluationError as error:
                raise located(error, span) from None
            try:
                return apply(value, key)
            except EvaluationError as error:
                raise located(error, span) from None

        return Code(run, *_joined(codes))

    def _field(self, node: Any, env: Env) -> Code:
        code = self.expr(node.record, env)
        record, slot, field = code.run, code.slot, node.field
        apply, span = self.universe.apply, node.span

        def missing(value: Any) -> Any:
            try:
                return apply(value, field)
            except EvaluationError as error:
                raise located(error, span) from None

        def of_name(frame: Frame) -> Any:
            value = frame[slot]
            if value.__class__ is Function:
                position = value[0].position.get(field)
                if position is not None:
                    return value[position]
            return missing(value)

        def run(frame: Frame) -> Any:
            value = record(frame)
            if value.__class__ is Function:
                position = value[0].position.get(field)
                if position is not None:
                    return value[position]
            return missing(value)

        return Code(run if slot < 0 else of_name, code.level, code.free)

    def equality(self, node: Any, env: Env, holds: bool) -> Code:
        """Compiles ``=``, or ``#`` if not ``holds``."""
        codes = [self.expr(arg, env) for arg in node.args]
        if codes[0].literal is not None:
            codes.reverse()
        first, second = (code.run for code in codes)
        literal, flat = codes[1].literal, codes[1].literal.__class__
        compare, span, fails = self.universe.compare, node.span, not holds
        sets_differ = self.universe.differ

        def differ(left: Any, right: Any) -> bool:
            try:
                return (compare(left, right) == 0) is holds
            except EvaluationError as error:
                raise located(error, span) from None

        def to_literal(frame: Frame) -> bool:
            left = first(frame)
            if left == literal:
                return holds
            return fails if left.__class__ is flat else differ(left, literal)

        def run(frame: Frame) -> bool:
            left, right = first(frame), second(frame)
            if left is right or left == right:
                return holds
            kind = left.__class__
            if kind is right.__class__ and (
                kind in FLAT or (kind is frozenset and sets_differ(left, right))
            ):
                return fails
            return differ(left, right)

        return Code(run if literal is None else to_literal, *_joined(codes))

    def _record(self, node: Any, env: Env) -> Code:
        self._check_fields(node)
        fields = dict(node.fields)
        for name in fields:
            self.universe.rank(name)
        domain = self.universe.domain_of(frozenset(fields))
        codes = [self.expr(fields[str(name)], env) for name in domain.elements]
        make = domain.function
        return self.computed(node.span, codes, lambda *values: make(values))

    def _record_set(self, node: Any, env: Env) -> Code:
        self._check_fields(node)
        names = [name for name, _ in node.fields]
        codes = [self.expr(value, env) for _, value in node.fields]
        return self.computed(
            node.span, codes, lambda *sets: RecordSet(dict(zip(names, sets, strict=True)))
        )

    def _check_fields(self, node: Any) -> None:
        seen: set[str] = set()
        for name, value in node.fields:
            if name in seen:
                raise mistake("F652", value.span, f'this record has the field "{name}" twice')
            seen.add(name)

    def _except(self, node: Any, env: Env) -> Code:
        function = self.expr(node.function, env)
        codes, steps, olds = [function], list[tuple[list[Run], Run, int]](), list[int]()
        for update in node.updates:
            old = Local("value", env.layout.slot())
            path = [self.expr(part, env) for part in update.path]
            value = self.expr(update.value, env.having({"@": old}))
            codes += [*path, value]
            steps.append(([code.run for code in path], value.run, old.slot))
            olds.append(old.slot)
        level, free = _joined(codes)
        free = free.difference(olds)
        apply, updated, span = self.universe.apply, self.universe.updated, node.span

        def changed(frame: Frame, value: Any, keys: list[Any], new: Run, slot: int) -> Any:
            key, *rest = keys
            old = apply(value, key)
            if rest:
                return updated(value, key, changed(frame, old, rest, new, slot))
            frame[slot] = old
            return updated(value, key, new(frame))

        def run(frame: Frame) -> Any:
            try:
                value = function.run(frame)
                for path, new, slot in steps:
                    keys = [key(frame) for key in path]
                    try:
                        value = changed(frame, value, keys, new, slot)
                    except Located:
                        raise
                    except NotInDomain:
                        # TLC leaves the function as it is.
                        pass
                return value
            except EvaluationError as error:
                raise located(error, span) from None

        return Code(run, level, free)

    def _at(self, node: Any, env: Env) -> Code:
        local = env.locals.get("@")
        if local is None:
            raise mistake("F653", node.span, '"@" has a meaning only in an EXCEPT')
        slot = local.slot
        return Code(lambda frame: frame[slot], 0, frozenset({slot}))

    def _tuple(self, node: Any, env: Env) -> Code:
        codes = [self.expr(item, env) for item in node.items]
        return self.computed(node.span, codes, _together)

    def _product(self, node: Any, env: Env) -> Code:
        codes = [self.expr(item, env) for item in node.items]
        return self.computed(node.span, codes, lambda *sets: Product(sets))

    def _set(self, node: Any, env: Env) -> Code:
        codes = [self.expr(item, env) for item in node.items]
        make = self.universe.set_of
        return self.computed(node.span, codes, lambda *values: make(values))

    # ------------------------------------------------------------ definitions inside expressions

    def _let(self, node: Any, env: Env) -> Code:
        return self._let_as(node, env, self.expr)

    def _let_condition(self, node: Any, env: Env) -> Code:
        return self._let_as(node, env, self.cond)

    def _let_as(self, node: Any, env: Env, compile_: Callable[[Expr, Env], Code]) -> Code:
        inner, memos = self.let(node, env)
        code = compile_(node.body, inner)
        body = code.run

        def run(frame: Frame) -> Any:
            for slot in memos:
                frame[slot] = None
            return body(frame)

        return Code(run, code.level, code.free)

    def let(self, node: Any, env: Env) -> tuple[Env, tuple[int, ...]]:
        """Returns the place inside a LET, and the slots to clear where it begins."""
        names: dict[str, Any] = {}
        memos: list[int] = []
        inner = env
        recursive = {
            name.name
            for unit in node.units
            if isinstance(unit, tree.Recursive)
            for name in unit.names
        }
        for unit in node.units:
            if isinstance(unit, tree.Recursive):
                continue
            if isinstance(unit, tree.Instance):
                names[unit.name] = self.instance(unit, inner)
                inner = env.having(names)
                continue
            assert isinstance(unit, tree.Definition), unit
            parameters = {
                p.name: Local("operator" if p.arity else "lazy", env.layout.slot(), p.arity)
                for p in unit.parameters
            }
            memo = env.layout.slot()
            if not parameters:
                memos.append(memo)
            operator = LetOperator(list(parameters.values()), unit.body, memo)
            before = inner
            names[unit.name] = operator
            inner = env.having(names)
            home = inner if unit.name in recursive else before
            operator.env = home.having(parameters)
        return inner, tuple(memos)

    def _lambda(self, node: Any, env: Env) -> Code:
        raise mistake("F654", node.span, "a LAMBDA can only be an argument of an operator")

    def _boxed(self, node: Any, env: Env) -> Code:
        action = self.cond(node.action, env)
        before, after = self.expr(node.variables, env), self.expr(node.variables, env.prime())
        equal, angle = self.universe.equal, node.angle
        same = self.computed(node.span, [before, after], equal).run
        run = action.run
        if angle:
            return Code(lambda frame: run(frame) and not same(frame), 2, UNKNOWN)
        return Code(lambda frame: run(frame) or same(frame), 2, UNKNOWN)

    def _fair(self, node: Any, env: Env) -> Code:
        self.expr(node.variables, env)
        self.expr(node.action, env)
        return not_supported(
            "fairness is decided in temporal properties only; here it is", node.span, 3
        )

    _FORMS: dict[type, Callable[[Any, Any, Env], Code]] = {  # noqa: RUF012
        tree.Number: _literal, tree.String: _literal, tree.If: _if, tree.Case: _case,
        tree.Choose: _choose, tree.Filter: _filter, tree.Image: _image, tree.Function: _function,
        tree.FunctionSet: _function_set, tree.Index: _index, tree.FieldOf: _field,
        tree.Record: _record, tree.RecordSet: _record_set, tree.Except: _except, tree.At: _at,
        tree.Tuple: _tuple, tree.Product: _product, tree.SetOf: _set, tree.Let: _let,
        tree.Lambda: _lambda, tree.Fair: _fair,
        tree.Labelled: lambda self, node, env: self.expr(node.body, env),
        Apply: lambda self, node, env: self.named(node, env),
    }  # fmt: skip
    _CONDITION_FORMS: dict[type, Callable[[Any, Any, Env], Code | None]] = {  # noqa: RUF012
        tree.Truth: _truth, tree.Junction: _junction, tree.Quantified: _quantified,
        tree.If: _if_condition, tree.Let: _let_condition, tree.Boxed: _boxed,
        tree.Labelled: lambda self, node, env: self.cond(node.body, env),
        Apply: lambda self, node, env: self.named_condition(node, env),
    }  # fmt: skip


class Binder:
    """Assigns the elements of a set to names in a frame."""

    def __init__(
        self, universe: Any, domain: Code, slots: Sequence[int], pattern: bool, span: Span
    ) -> None:
        self.domain = domain
        self.span = span
        self.slots = tuple(slots)
        run, elements = domain.run, universe.elements
        (slot,) = self.slots if not pattern else (-1,)
        count = len(self.slots)

        def values(frame: Frame) -> Any:
            try:
                return elements(run(frame))
            except EvaluationError as error:
                raise located(error, span) from None

        def bind(frame: Frame, value: Any) -> None:
            frame[slot] = value

        def take_apart(frame: Frame, value: Any) -> None:
            if value.__class__ is not tuple or len(value) != count:
                shown = universe.show(value)
                raise Located(f"a tuple of {count} elements is expected here, not {shown}", span)
            for position, part in zip(self.slots, value, strict=True):
                frame[position] = part

        self.values: Run = values
        self.bind = take_apart if pattern else bind

    def some(self, test: Run) -> Run:
        """Returns the condition that some element satisfies another."""
        values, bind = self.values, self.bind

        def run(frame: Frame) -> bool:
            for value in values(frame):
                bind(frame, value)
                if test(frame):
                    return True
            return False

        return run

    def every(self, test: Run) -> Run:
        """Returns the condition that every element satisfies another."""
        values, bind = self.values, self.bind

        def run(frame: Frame) -> bool:
            for value in values(frame):
                bind(frame, value)
                if not test(frame):
                    return False
            return True

        return run


def _hoist(universe: Any, binders: Sequence[Binder], slots: Sequence[int]) -> None:
    """Makes the first of several binders evaluate the sets of all, which it keeps in slots."""
    first, rest = binders[0], list(zip(binders, slots, strict=True))[1:]
    before, elements = first.values, universe.elements

    def values(frame: Frame) -> Any:
        result = before(frame)
        for binder, slot in rest:
            held = frame[slot] = binder.domain.run(frame)
            if held.__class__ is not frozenset:
                try:
                    elements(held)
                except EvaluationError as error:
                    raise located(error, binder.span) from None
        return result

    first.values = values
    for binder, slot in rest:
        binder.values = _held(elements, slot)


def _held(elements: Callable[[Any], Any], slot: int) -> Run:
    return lambda frame: elements(frame[slot])


def kept(code: Code) -> Code:
    """Returns the code of an expression. A constant is computed once."""
    if code.level or code.free:
        return code
    run, value = code.run, None

    def once(frame: Frame) -> Any:
        nonlocal value
        if value is None:
            value = run(frame)
        return value

    return Code(once)


def deferred(env: Env, make: Callable[[], Run]) -> Run:
    """Returns code that is compiled when it is first needed. Its frames may be too short then."""
    compiled: Run | None = None
    layout = env.layout

    def run(frame: Frame) -> Any:
        nonlocal compiled
        if compiled is None:
            compiled = make()
        layout.widen(frame)
        return compiled(frame)

    return run


def _joined(codes: Sequence[Code]) -> tuple[int, frozenset[int]]:
    """Returns the level and the free slots of an expression with these parts."""
    level = max((code.level for code in codes), default=0)
    return level, NOTHING.union(*[code.free for code in codes])


def _together(*values: Any) -> tuple[Any, ...]:
    return values


__all__ = ["Expressions", "Rejected"]
