"""Translates expressions of the core to TLA+.

If an operation is undefined in the language, TLC must stop at it. TLC already does so for some
operations (an index outside a sequence, an empty CHOOSE), so their conditions are left out. Other
conditions are written. TLC evaluates a definition in LET only if it needs the value, whereas the
language always evaluates it. If the evaluation may fail and nothing needs the value, it is
therefore requested explicitly (`Defined`, `After`).
"""

from __future__ import annotations

from fencepost.checker.tla_export import values
from fencepost.checker.tla_export.collections import found_in, of_collections
from fencepost.checker.tla_export.scope import Scope, shared, simple
from fencepost.checker.tla_export.simplify import (
    call,
    children,
    chosen,
    conjoined,
    defining,
    demands,
    either,
    equal,
    implied,
    let,
    opposite,
    plus,
    substituted,
    uses,
)
from fencepost.checker.tla_export.tree import (
    FALSE,
    NOTHING,
    At,
    Definition,
    Dot,
    Except,
    Expr,
    Filter,
    Function,
    Image,
    Infix,
    Lambda,
    Name,
    Number,
    Prefix,
    Quantified,
    Tuple,
)
from fencepost.checker.tla_export.values import NotExported, literal
from fencepost.spec.core import ir, types
from fencepost.spec.core.operators import Operator, result_range
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.type_relations import within
from fencepost.spec.core.types import Type
from fencepost.spec.records import replace


def expression(scope: Scope, expr: ir.Expr) -> Expr:
    """Translates an expression to TLA+. Raises `NotExported` with the location."""
    invocation = scope.operators.called(scope, expr)
    if invocation is not None:
        return invocation
    try:
        return _expression(scope, expr)
    except NotExported as refused:
        if refused.span is None and expr.span is not None:
            raise NotExported(refused.reason, expr.span) from None
        raise


def _expression(scope: Scope, expr: ir.Expr) -> Expr:
    def translated(part: ir.Expr) -> Expr:
        return expression(scope, part)

    match expr:
        case ir.Literal(kind, value=value):
            return literal(value, kind, scope.names)
        case ir.Variable(index=index, next=after):
            return scope.after[index] if after else scope.variables[index]
        case ir.Local(slot=slot):
            return scope.slots[slot]
        case ir.Let():
            return _let(scope, expr)
        case ir.Demand(condition=condition, site=site, body=body):
            if _stops(body):
                return translated(body)
            target = _range_of(expr)
            if target is not None:
                return call("Within", translated(body), values.interval(target.low, target.high))
            failing = call("Assert", FALSE, scope.work.fault(site))
            return chosen(translated(condition), translated(body), failing)
        case ir.Recursion():
            return _recursion(scope, expr)
        case ir.Recall(slots=slots, arguments=arguments):
            return call(scope.work.functions[slots], *map(translated, arguments))
        case ir.Witness(body=body) | ir.Observe(body=body):
            return translated(body)
        case ir.Not(operand=operand):
            return opposite(translated(operand))
        case ir.And(parts=parts):
            if is_rest(scope.work.model, expr):
                return scope.operators.quiescent()
            return conjoined([translated(part) for part in parts])
        case ir.Or(parts=(ir.Not(operand=premise), conclusion)):
            return implied(translated(premise), translated(conclusion))
        case ir.Or(parts=parts):
            return either([translated(part) for part in parts])
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            return chosen(translated(condition), translated(then), translated(otherwise))
        case ir.Arithmetic():
            return _arithmetic(scope, expr)
        case ir.Negate(kind, operand=operand):
            _wraps_unseen(kind)
            inner = translated(operand)
            negative = Number(-inner.value) if isinstance(inner, Number) else Prefix("-", inner)
            return _wrapped(negative, kind)
        case ir.Equal(
            ir.SetAlgebra(operator=ir.SetOperator.DIFFERENCE, left=left, right=right),
            ir.Literal(value=()),
        ):
            return Infix("\\subseteq", translated(left), translated(right))
        case ir.Equal(left=left, right=right):
            return equal(translated(left), translated(right))
        case ir.Less(left=left, right=right, or_equal=or_equal):
            return _less(scope, left, right, or_equal)
        case ir.Fits(operand=operand, target=target):
            whole = translated(operand)
            if within(operand.type, target) and not scope.work.fails(operand):
                return Name("TRUE")
            return shared(scope, whole, lambda v: values.member(v, target, scope.names))
        case ir.Convert(operand=operand):
            return translated(operand)
        case ir.MakeRecord(kind, fields=parts):
            assert isinstance(kind, types.Record)
            return values.record(kind, [translated(part) for part in parts])
        case ir.GetField(record=record, index=index):
            assert isinstance(record.type, types.Record)
            return values.field(translated(record), record.type, index)
        case ir.WithField(kind, record=record, index=index, value=value):
            assert isinstance(kind, types.Record)
            return Except(translated(record), (values.field_step(kind, index),), translated(value))
        case ir.MakeVariant(kind, tag=tag, fields=parts):
            assert isinstance(kind, types.Union)
            return values.variant(kind, tag, [translated(part) for part in parts])
        case ir.HasTag(union=union, tag=tag):
            assert isinstance(union.type, types.Union)
            return values.has_tag(translated(union), union.type, tag)
        case ir.Payload(union=union, tag=tag, index=index):
            assert isinstance(union.type, types.Union)
            return Dot(translated(union), values.variant_fields(union.type)[tag][index])
        case ir.Some(value=value):
            return Tuple((translated(value),))
        case ir.IsSome(option=option):
            return Infix("/=", translated(option), NOTHING)
        case ir.Content(option=option):
            return At(translated(option), Number(1))
        case ir.Enabled(action=action, choices=choices):
            return scope.operators.enabled(action, [translated(choice) for choice in choices])
        case ir.Symbol():
            raise NotExported("a symbolic constant", expr.span)
        case _:
            return of_collections(scope, expr)


# ---------------------------------------------------------------- names for values


def _let(scope: Scope, expr: ir.Let) -> Expr:
    value, body = expr.value, expr.body
    find = _surely_found(expr)
    if find is not None:
        return found_in(scope, find)[1]
    made = expression(scope, value)
    fails = scope.work.fails(value)
    if simple(made) and not fails:
        return expression(scope.bound(expr.slot, made), body)
    name = scope.local(expr.slot, "" if expr.slot in scope.work.locals else "v")
    inside = expression(scope.bound(expr.slot, Name(name)), body)
    return named(name, made, inside, fails, isinstance(expr.type, types.Bool))


def _recursion(scope: Scope, expr: ir.Recursion) -> Expr:
    """Returns a call of a recursive operator that is defined around the call."""
    text = "" if expr.span is None else expr.span.text.partition("(")[0].rpartition(".")[2]
    name = scope.names.fresh(text if text.isidentifier() else "Recursive")
    scope.work.functions[expr.slots] = name
    level, *others = expr.slots
    parameters = (scope.local(level, "level"), *map(scope.local, others))
    inner = replace(scope, slots=dict(zip(expr.slots, map(Name, parameters), strict=True)))
    body = inner.value(expr.body)
    calls = (node for node in walk(expr.body) if isinstance(node, ir.Recall))
    same = [part.arguments for part in calls if part.slots == expr.slots]
    for parameter, *arguments in zip(parameters, expr.arguments, *same, strict=True):
        if any(map(scope.work.fails, arguments)):
            # TLC evaluates an argument only if it needs the value.
            body = call("After", Name(parameter), body)
    definition = Definition(name, parameters, body, recursive=True)
    invocation = call(name, *(expression(scope, part) for part in expr.arguments))
    return defining(definition, invocation)


def named(name: str, value: Expr, body: Expr, fails: bool, truth: bool) -> Expr:
    """Returns ``body`` with a named value, or with the value in place of the name if it is used
    only once. A value that may fail is evaluated in any case.
    """
    used = uses(body, name)
    if fails and not demands(body, name):
        if truth:
            return let(name, value, conjoined([call("Defined", Name(name)), body]))
        return let(name, value, call("After", Name(name), body))
    if used == 0:
        return body
    if used == 1 and not _repeated(body, name):
        return substituted(body, {name: value})
    return let(name, value, body)


def _repeated(body: Expr, name: str) -> bool:
    """Checks whether a name occurs where TLC would evaluate its value repeatedly."""
    match body:
        case Filter(_, domain, _) | Function(_, domain, _) | Quantified(_, _, domain, _):
            return uses(domain, name) == 0 or _repeated(domain, name)
        case Image(_, _, domain):
            return uses(domain, name) == 0 or _repeated(domain, name)
        case Lambda():
            return True
        case Name():
            return False
        case _:
            return any(_repeated(part, name) for part in children(body) if uses(part, name))


def _range_of(expr: ir.Demand) -> types.Number | None:
    """Returns the range that an integer expression must lie in, or None for other expressions."""
    match expr.condition, expr.body:
        case (
            ir.Fits(operand=tested, target=types.Integer()),
            ir.Convert(type=types.Integer() as target, operand=taken),
        ) if (
            tested == taken
            and target.low >= -values.MAX_INTEGER
            and target.high <= values.MAX_INTEGER
        ):
            return target
        case _:
            return None


def _surely_found(expr: ir.Let) -> ir.Extreme | ir.Find | None:
    """Returns the search if an expression is the result of a search that must not fail, and None
    for other expressions.
    """
    match expr.value, expr.body:
        case (
            (ir.Extreme() | ir.Find()) as search,
            ir.Demand(
                condition=ir.IsSome(ir.Local(slot=a)), body=ir.Content(option=ir.Local(slot=b))
            ),
        ) if a == b == expr.slot:
            return search
        case _:
            return None


def _stops(body: ir.Expr) -> bool:
    """Checks whether TLC stops at an operation that is not defined, without an explicit
    condition.
    """
    match body:
        case ir.At() | ir.Get() | ir.Content():
            return True
        case ir.Arithmetic(operator=operator):
            return operator.row.divides
        case _:
            return False


# ---------------------------------------------------------------- truth


def is_rest(model: ir.Model, expr: ir.Expr) -> bool:
    """Checks whether this expression is the meaning of `quiescent`, which says that no ordinary
    action is enabled.
    """
    owed = [n for n, action in enumerate(model.actions) if action.kind == "ordinary"]
    return (
        isinstance(expr, ir.And)
        and len(expr.parts) > 1
        and list(expr.parts) == [ir.Not(ir.Enabled(number)) for number in owed]
    )


def _less(scope: Scope, left: ir.Expr, right: ir.Expr, or_equal: bool) -> Expr:
    first, second = expression(scope, left), expression(scope, right)
    if isinstance(left.type, types.Integer):
        return Infix("<=" if or_equal else "<", first, second)

    def compared(a: Expr) -> Expr:
        def with_other(b: Expr) -> Expr:
            if or_equal:
                return opposite(values.before(b, a, left.type, scope.names))
            return values.before(a, b, left.type, scope.names)

        return shared(scope, second, with_other)

    return shared(scope, first, compared)


# ---------------------------------------------------------------- numbers


def _arithmetic(scope: Scope, expr: ir.Arithmetic) -> Expr:
    left, right = expression(scope, expr.left), expression(scope, expr.right)
    _wraps_unseen(expr.type)
    match expr.operator:
        case Operator.ADD if isinstance(right, Number) and right.value >= 0:
            return _wrapped(plus(left, right.value), expr.type)
        case Operator.SUBTRACT if isinstance(right, Number) and right.value >= 0:
            return _wrapped(plus(left, -right.value), expr.type)
        case Operator.MULTIPLY if (
            isinstance(expr.type, types.Machine) and 16 < expr.type.bits <= values.NARROW
        ):
            return _wrapped(_product(left, right, 1 << expr.type.bits), expr.type)
        case operator:
            positive = isinstance(expr.right.type, types.Int) and expr.right.type.low > 0
            result = _computed(scope, operator, left, right, positive)
            return result if _fits(expr) else _wrapped(result, expr.type)


def _computed(scope: Scope, operator: Operator, left: Expr, right: Expr, positive: bool) -> Expr:
    """Applies the operator to mathematical integers. ``positive`` says that the right operand is
    greater than zero.
    """
    row = operator.row
    if row.tla is None:
        lowered = row.lowered
        if lowered is None:
            raise NotExported(f"{operator.value} on integers, since TLC has no such operator")

        def apply(inner: Operator, a: Expr, b: Expr) -> Expr:
            return _computed(scope, inner, a, b, positive and b is right)

        return shared(scope, left, lambda a: shared(scope, right, lambda b: lowered(apply, a, b)))
    if row.tla_helper is None or positive:
        return Infix(row.tla, left, right)
    return call(row.tla_helper, left, right)


def _fits(expr: ir.Arithmetic) -> bool:
    """Checks whether the result lies in the type of the operands without wrapping."""
    if not isinstance(expr.type, types.Machine):
        return True
    whole = expr.type.low, expr.type.high
    low, high = result_range(expr.operator, whole, whole)
    return whole[0] <= low and high <= whole[1]


def _wraps_unseen(kind: Type) -> None:
    """Refuses arithmetic that would wrap before TLC reports that a number exceeds 32 bits, and that
    cannot be written without exceeding them.
    """
    if isinstance(kind, types.Machine) and values.NARROW < kind.bits <= 32:
        shown = types.describe(kind)
        raise NotExported(f"arithmetic on {shown}, since TLC's integers have 32 bits")


def _product(left: Expr, right: Expr, modulus: int) -> Expr:
    """Returns a product modulo a number. It is computed so that no part exceeds 32 bits."""
    return call("Product", left, Infix("%", right, Number(modulus)), Number(modulus))


def _wrapped(value: Expr, kind: Type) -> Expr:
    if isinstance(kind, types.Machine) and kind.bits <= values.NARROW:
        return call("Wrap", value, Number(1 << (kind.bits - 1)))
    return value
