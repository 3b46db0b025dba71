"""Translates statements of the core to TLA+ actions.

The language runs statements in sequence, but TLA+ relates the values before a step to those after
it. A statement is therefore translated together with its continuation, given the values of the
variables at this point. The continuation of a branch or loop becomes a definition, with the changed
variables as parameters, if it would otherwise be duplicated. A loop becomes a recursive definition
with the rest of the collection as a parameter. This keeps the module about as long as the spec.

TLC evaluates the same expressions as the language, in the same order. If the step could end before
an expression that may be undefined, a conjunct that requires its value (`Defined`) is placed
before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

from fencepost.checker.tla_export.collections import elements, ordered
from fencepost.checker.tla_export.expressions import expression
from fencepost.checker.tla_export.scope import Scope, shared, simple
from fencepost.checker.tla_export.simplify import (
    call,
    changed,
    chosen,
    conjoined,
    defining,
    demands,
    equal,
    inlined,
    let,
    plus,
    size,
    substituted,
    uses,
)
from fencepost.checker.tla_export.tree import (
    FALSE,
    NOTHING,
    TRUE,
    Apply,
    At,
    Definition,
    Except,
    Expr,
    Function,
    If,
    Junction,
    Let,
    Name,
    Prefix,
    Quantified,
    SetLiteral,
)
from fencepost.checker.tla_export.values import NotExported, field_step
from fencepost.spec.core import ir, types
from fencepost.spec.core.traverse import assigned, walk
from fencepost.spec.records import dataclass

MAX_DUPLICATED = 60
"""Maximum number of nodes that may be added by duplicating the continuation of a branch in both
arms.
"""

MAX_ASSIGNMENTS = 4
"""Maximum number of assignments in branches that become conditional values. Such branches contain
nothing else.
"""

_LOOP, _REST = "Loop", "Rest"
"""The names of definitions for loops and for continuations of branches."""

Rest: TypeAlias = Callable[[Scope], Expr]
"""A continuation. Its argument contains the values of the variables at its start."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The continuation of a statement, and the continuations of the enclosing blocks that it may
    leave.

    ``said`` contains the variables that the initialization assigns exactly once, as a conjunct.
    """

    rest: Rest
    ends: Mapping[int, Rest]
    said: frozenset[int] = frozenset()

    def then(self, rest: Rest) -> Flow:
        """Returns this flow with another continuation."""
        return replace(self, rest=rest)


def action(scope: Scope, statement: ir.Statement, end: Rest) -> Expr:
    """Translates a statement that is followed by ``end``. Raises `NotExported`."""
    return formula(scope, statement, Flow(end, {}))


def with_given(statement: ir.Statement, count: int) -> ir.Statement:
    """Returns an action whose first ``count`` choices are parameters. The action is possible if the
    chosen values are among those offered.
    """
    match statement:
        case ir.Pick(slot, domain, condition, guard, body=body) if count:
            rest = with_given(body, count - 1)
            tests: list[ir.Expr] = []
            if not isinstance(domain, ir.Universe):
                element = types.as_collection(domain.type).element
                tests.append(ir.Contains(domain, ir.Local(element, slot)))
            if condition is not None:
                tests.append(condition)
            required = [ir.Require(test, guard, span=statement.span) for test in tests]
            return ir.Sequence((*required, rest)) if required else rest
        case ir.Sequence(statements=(first, *rest)) if count:
            return ir.Sequence((with_given(first, count), *rest))
        case _:
            return statement


def formula(scope: Scope, statement: ir.Statement, flow: Flow) -> Expr:
    """Translates a statement and its continuation. Raises `NotExported` with the span."""
    try:
        return _formula(scope, statement, flow)
    except NotExported as refused:
        if refused.span is None and statement.span is not None:
            raise NotExported(refused.reason, statement.span) from None
        raise


def _formula(scope: Scope, statement: ir.Statement, flow: Flow) -> Expr:
    match statement:
        case ir.Sequence(statements=()):
            return flow.rest(scope)
        case ir.Sequence(statements=statements):
            left = ir.Sequence(statements[1:])
            if not left.statements:
                return formula(scope, statements[0], flow)
            return formula(scope, statements[0], flow.then(lambda now: formula(now, left, flow)))
        case ir.Assign():
            return _assign(scope, statement, flow)
        case ir.Bind(slot=slot, value=value, body=body):
            translated = expression(scope, value)
            fails = scope.work.fails(value)
            if simple(translated) and not fails:
                return formula(scope.bound(slot, translated), body, flow)
            name = scope.local(slot, "" if slot in scope.work.locals else "v")
            inside = formula(scope.bound(slot, Name(name)), body, flow)
            return held(name, translated, inside, fails)
        case ir.Pick():
            return _pick(scope, statement, flow)
        case ir.Require(condition=condition):
            asked = single(scope, expression(scope, condition))
            return conjoined([asked, flow.rest(scope)])
        case ir.Assert(condition=condition, site=site):
            return _affirmed(scope, condition, scope.work.assertion(site), flow)
        case ir.Ensure(condition=condition, site=site):
            return _affirmed(scope, condition, scope.work.fault(site), flow)
        case ir.Mark():
            return flow.rest(scope)
        case ir.If():
            return _branch(scope, statement, flow)
        case ir.ForEach():
            return _loop(scope, statement, flow)
        case ir.Block(label=label, body=body):
            return _block(scope, label, body, flow)
        case ir.Leave(label=label):
            return flow.ends[label](scope)
        case _:
            assert_never(statement)


# ---------------------------------------------------------------- conditions


def _affirmed(scope: Scope, condition: ir.Expr, message: Expr, flow: Flow) -> Expr:
    asked = expression(scope, condition)
    rest = flow.rest(scope)
    if asked == TRUE:
        return rest
    return conjoined([call("Assert", asked, message), rest])


def single(scope: Scope, condition: Expr) -> Expr:
    """Returns a condition in a form that TLC does not split. For a disjunction or `exists`, TLC
    would otherwise make one step for each way to make it true.
    """
    if isinstance(condition, Junction) and condition.sign == "/\\":
        return conjoined([single(scope, part) for part in condition.parts])
    return equal(condition, TRUE) if parts_ways(scope, condition) else condition


def parts_ways(scope: Scope, condition: Expr) -> bool:
    """Checks whether TLC would split a condition in an action."""

    def parting(part: Expr) -> bool:
        return parts_ways(scope, part)

    match condition:
        case Junction("/\\", parts):
            return any(map(parting, parts))
        case Junction() | Quantified("\\E"):
            return True
        case Quantified(_, _, _, body):
            return parting(body)
        case Let(definitions, body):
            return parting(body) or any(parting(local.body) for local in definitions)
        case If(_, then, otherwise):
            return parting(then) or parting(otherwise)
        case Apply(operator, _) | Name(operator):
            return condition != TRUE and operator not in scope.work.whole
        case _:
            return False


# ---------------------------------------------------------------- values


def held(name: str, value: Expr, body: Expr, fails: bool) -> Expr:
    """Returns ``body`` with a named value, if the value is used more than once. A value that may
    fail is evaluated before the body, unless nothing else can happen first.
    """
    if fails and not demands(body, name):
        return let(name, value, conjoined([call("Defined", Name(name)), body]))
    used = uses(body, name)
    if used == 0:
        return body
    if used == 1 or (used <= 3 and simple(value)):
        return substituted(body, {name: value})
    return let(name, value, body)


def _assign(scope: Scope, statement: ir.Assign, flow: Flow) -> Expr:
    variable = statement.variable
    assigned_value, parts = _assigned(scope, statement)
    fails = any(map(scope.work.fails, parts))
    if variable in flow.said:
        plain = scope.variables[variable]
        return conjoined([equal(plain, assigned_value), flow.rest(scope)])
    if simple(assigned_value) and not fails:
        return flow.rest(scope.assigned(variable, assigned_value))
    wanted = scope.work.model.variables[variable].name
    name = scope.names.fresh(wanted)
    body = flow.rest(scope.assigned(variable, Name(name)))
    return held(name, assigned_value, body, fails)


def _assigned(scope: Scope, statement: ir.Assign) -> tuple[Expr, tuple[ir.Expr, ...]]:
    """Returns the new value of a variable, and the expressions that occur in this value."""
    value = expression(scope, statement.value)
    if not statement.path:
        return value, (statement.value,)
    kind = scope.work.model.variables[statement.variable].type
    path: list[Expr | str] = []
    parts: list[ir.Expr] = []
    for step in statement.path:
        match step:
            case ir.FieldStep(index=index):
                assert isinstance(kind, types.Record)
                path.append(field_step(kind, index))
                kind = kind.fields[index].type
            case ir.KeyStep(key=key):
                assert isinstance(kind, types.Map)
                path.append(expression(scope, key))
                parts.append(key)
                kind = kind.value
            case ir.IndexStep(index=index):
                assert isinstance(kind, types.Seq)
                path.append(plus(expression(scope, index), 1))
                parts.append(index)
                kind = kind.element
            case _:
                assert_never(step)
    base = scope.variables[statement.variable]
    return Except(base, tuple(path), value), (*parts, statement.value)


# ---------------------------------------------------------------- choices


def _pick(scope: Scope, statement: ir.Pick, flow: Flow) -> Expr:
    slot, domain, condition = statement.slot, statement.domain, statement.condition
    wanted = "message" if statement.label == "on" else statement.label or "self"

    def chosen_element(element: Expr) -> Expr:
        inner = scope.bound(slot, element)
        body = formula(inner, statement.body, flow)
        if condition is None:
            return body
        return conjoined([single(scope, expression(inner, condition)), body])

    match domain:
        case ir.Conditional(
            condition=asked, then=ir.Build(elements=(only,)), otherwise=ir.Literal(value=())
        ):
            # This is the first message of an ordered channel, if the channel contains any.
            inside = shared(scope, expression(scope, only), chosen_element, wanted)
            return conjoined([single(scope, expression(scope, asked)), inside])
        case _:
            pass
    if isinstance(domain.type, types.Seq):
        # Equal elements of a sequence are separate choices.
        def by_position(q: Expr) -> Expr:
            name = scope.names.fresh("i")
            inside = shared(scope, At(q, Name(name)), chosen_element, wanted)
            return Quantified("\\E", name, Prefix("DOMAIN", q), inside)

        return shared(scope, expression(scope, domain), by_position, "q")
    name = scope.local(slot, wanted)
    inside = elements(scope, domain)
    # TLC rejects a model if it finds that no action has a choice.
    if inside == SetLiteral(()):
        return FALSE
    return Quantified("\\E", name, inside, chosen_element(Name(name)))


# ---------------------------------------------------------------- branches and loops


def assigns_only(statement: object) -> bool:
    """Checks whether a statement always completes in exactly one way, cannot fail, and assigns few
    variables, so that its values can be inlined.
    """
    deciding = (
        ir.Pick, ir.Require, ir.Assert, ir.Ensure, ir.Block, ir.Leave, ir.ForEach, ir.Demand,
    )  # fmt: skip
    nodes = list(walk(statement))
    assigned = sum(1 for node in nodes if isinstance(node, ir.Assign))
    return assigned <= MAX_ASSIGNMENTS and not any(isinstance(node, deciding) for node in nodes)


def _branch(scope: Scope, statement: ir.If, flow: Flow) -> Expr:
    then, otherwise = statement.then, statement.otherwise
    asked = expression(scope, statement.condition)
    fails = scope.work.fails(statement.condition)
    if asked in (TRUE, Name("FALSE")):
        return formula(scope, then if asked == TRUE else otherwise, flow)
    if assigns_only((then, otherwise)):
        changed = sorted(assigned((then, otherwise)))
        if len(changed) == 1 or (simple(asked) and len(changed) <= 3):
            return _merged(scope, statement, asked, changed, flow)
        if not changed and not fails:
            return flow.rest(scope)
    changed = sorted(assigned((then, otherwise)))

    def both(point: Rest) -> Expr:
        after = flow.then(point)
        return chosen(asked, formula(scope, then, after), formula(scope, otherwise, after))

    return _joined(scope, changed, flow, both)


def _merged(
    scope: Scope, statement: ir.If, asked: Expr, changed: Sequence[int], flow: Flow
) -> Expr:
    """Translates a branch that only assigns to conditional values. Its continuation is translated
    only once.
    """
    then_scope, else_scope = _after(scope, statement.then), _after(scope, statement.otherwise)
    names: list[tuple[str, Expr]] = []
    now = scope
    for index in changed:
        name = scope.names.fresh(scope.work.model.variables[index].name)
        names.append(
            (name, chosen(asked, then_scope.variables[index], else_scope.variables[index]))
        )
        now = now.assigned(index, Name(name))
    body = flow.rest(now)
    for name, merged in reversed(names):
        body = held(name, merged, body, scope.work.fails(statement.condition))
    return body


def _after(scope: Scope, statement: ir.Statement) -> Scope:
    """Returns the scope with the values of the variables after a statement that only assigns."""
    match statement:
        case ir.Sequence(statements=statements):
            for part in statements:
                scope = _after(scope, part)
            return scope
        case ir.Assign(variable=variable):
            return scope.assigned(variable, _assigned(scope, statement)[0])
        case ir.Bind(slot=slot, value=value, body=body):
            inner = _after(scope.bound(slot, expression(scope, value)), body)
            return replace(inner, slots=scope.slots)
        case ir.If(condition=condition, then=then, otherwise=otherwise):
            asked = expression(scope, condition)
            first, second = _after(scope, then), _after(scope, otherwise)
            for index in sorted(assigned(statement)):
                pair = first.variables[index], second.variables[index]
                scope = scope.assigned(index, chosen(asked, *pair))
            return scope
        case ir.Mark():
            return scope
        case _:
            raise AssertionError(statement)


def _joined(
    scope: Scope, changed: Sequence[int], flow: Flow, inside: Callable[[Rest], Expr]
) -> Expr:
    """Passes the continuation to ``inside``. The continuation becomes a definition if it is used
    more than once and is not short.

    ``changed`` are the variables whose values may differ between the uses. They become the
    parameters of the definition.
    """
    model = scope.work.model
    name = scope.names.fresh(_REST)
    parameters = {n: scope.names.fresh(model.variables[n].name) for n in changed}
    now = scope
    for index, parameter in parameters.items():
        now = now.assigned(index, Name(parameter))
    body = flow.rest(now)
    # A variable that the continuation does not read needs no parameter.
    changed = tuple(n for n in changed if uses(body, parameters[n]))

    def point(at: Scope) -> Expr:
        return call(name, *(at.variables[index] for index in changed))

    whole = inside(point)
    used = uses(whole, name)
    continuation = Definition(name, tuple(parameters[n] for n in changed), body)
    if used <= 1 or used * size(body) <= MAX_DUPLICATED:
        return inlined(whole, continuation)
    return defining(continuation, whole)


def _block(scope: Scope, label: int, body: ir.Statement, flow: Flow) -> Expr:
    changed = sorted(assigned(body))

    def inside(point: Rest) -> Expr:
        return formula(scope, body, replace(flow, rest=point, ends={**flow.ends, label: point}))

    return _joined(scope, changed, flow, inside)


def _loop(scope: Scope, loop: ir.ForEach, flow: Flow) -> Expr:
    """Translates a loop: one iteration, or the continuation if the rest of the collection is
    empty.
    """
    model = scope.work.model
    changed = sorted(assigned(loop.body))
    name, left = scope.names.fresh(_LOOP), scope.names.fresh("rest")
    parameters = {n: scope.names.fresh(model.variables[n].name) for n in changed}
    now = scope
    for index, parameter in parameters.items():
        now = now.assigned(index, Name(parameter))

    def again(at: Scope) -> Expr:
        values = [at.variables[index] for index in changed]
        return call(name, call("Tail", Name(left)), *values)

    element = call("Head", Name(left))
    round_ = formula(now.bound(loop.slot, element), loop.body, flow.then(again))
    body = If(equal(Name(left), NOTHING), flow.rest(now), round_)
    whole = Definition(name, (left, *parameters.values()), body, recursive=True)
    start = [scope.variables[index] for index in changed]
    return defining(whole, call(name, ordered(scope, loop.domain), *start))


def whole(value: Expr) -> Expr:
    """Returns a value as an argument of a definition. Without the call of TLCEval, TLC would keep a
    function as an unevaluated expression and lose the meaning of its names.
    """
    return call("TLCEval", value) if isinstance(value, Except | Function) else value


def tidied(node: Expr) -> Expr:
    """Simplifies a finished body: removes `Defined` for a value that the step needs anyway, and
    inlines values that are used once.
    """
    match changed(node, tidied):
        case Apply(operator, arguments) if operator.partition("_")[0] in (_LOOP, _REST):
            return call(operator, *map(whole, arguments))
        case Let((*others, Definition(name, (), value)), body):
            pass
        case rewritten:
            return rewritten
    inside = body
    match body:
        case Junction("/\\", (Apply("Defined", (Name(asked),)), *rest)) if asked == name:
            if demands(conjoined(rest), name):
                inside = conjoined(rest)
        case _:
            pass
    if uses(inside, name) == 1 and inside is not body:
        inside = substituted(inside, {name: value})
    else:
        inside = let(name, value, inside)
    for definition in reversed(others):
        inside = defining(definition, inside)
    return inside
