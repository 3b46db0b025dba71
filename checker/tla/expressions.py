"""Expressions of the core in TLA+.

An operation that is undefined in the language is one that TLC stops at: where it does so of itself
(an index outside a sequence, an empty CHOOSE) the condition is left out, elsewhere it is written.
TLC evaluates a definition in LET only where it needs it, and the language does so in any case; so
where that may fail, and nothing needs it, it is asked for (`Defined`, `After`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from fencepost.checker.tla import kinds
from fencepost.checker.tla.kinds import NotExported, literal, universe
from fencepost.checker.tla.scope import Scope, simple
from fencepost.checker.tla.tree import (
    FALSE,
    NOTHING,
    At,
    Dot,
    Except,
    Expr,
    Filter,
    Function,
    Image,
    Infix,
    Lambda,
    Listed,
    Name,
    Number,
    Prefix,
    Quantified,
    Tuple,
    among,
    call,
    children,
    chosen,
    conjoined,
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
from fencepost.spec.core import ir, types
from fencepost.spec.core.type_relations import within
from fencepost.spec.core.types import Type


def expression(scope: Scope, expr: ir.Expr) -> Expr:
    """An expression in TLA+. Raises `NotExported`, with the place."""
    found = scope.operators.called(scope, expr)
    if found is not None:
        return found
    try:
        return _expression(scope, expr)
    except NotExported as refused:
        if refused.span is None and expr.span is not None:
            raise NotExported(refused.reason, expr.span) from None
        raise


def _expression(scope: Scope, expr: ir.Expr) -> Expr:
    def made(part: ir.Expr) -> Expr:
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
                return made(body)
            target = _range_of(expr)
            if target is not None:
                return call("Within", made(body), kinds.interval(target.low, target.high))
            failing = call("Assert", FALSE, scope.work.fault(site))
            return chosen(made(condition), made(body), failing)
        case ir.Witness(body=body) | ir.Observe(body=body):
            return made(body)
        case ir.Not(operand=operand):
            return opposite(made(operand))
        case ir.And(parts=parts):
            if is_rest(scope.work.model, expr):
                return scope.operators.quiescent()
            return conjoined([made(part) for part in parts])
        case ir.Or(parts=(ir.Not(operand=premise), conclusion)):
            return implied(made(premise), made(conclusion))
        case ir.Or(parts=parts):
            return either([made(part) for part in parts])
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            return chosen(made(condition), made(then), made(otherwise))
        case ir.Arithmetic():
            return _arithmetic(scope, expr)
        case ir.Negate(kind, operand=operand):
            _wraps_unseen(kind)
            inner = made(operand)
            negative = Number(-inner.value) if isinstance(inner, Number) else Prefix("-", inner)
            return _wrapped(negative, kind)
        case ir.Equal(left=left, right=right):
            return equal(made(left), made(right))
        case ir.Less(left=left, right=right, or_equal=or_equal):
            return _less(scope, left, right, or_equal)
        case ir.Fits(operand=operand, target=target):
            whole = made(operand)
            if within(operand.type, target) and not scope.work.fails(operand):
                return Name("TRUE")
            return shared(scope, whole, lambda v: kinds.member(v, target, scope.names))
        case ir.Convert(operand=operand):
            return made(operand)
        case ir.MakeRecord(kind, fields=parts):
            assert isinstance(kind, types.Record)
            return kinds.record(kind, [made(part) for part in parts])
        case ir.GetField(record=record, index=index):
            assert isinstance(record.type, types.Record)
            return Dot(made(record), kinds.record_fields(record.type)[index])
        case ir.WithField(kind, record=record, index=index, value=value):
            assert isinstance(kind, types.Record)
            return Except(made(record), (kinds.record_fields(kind)[index],), made(value))
        case ir.MakeVariant(kind, tag=tag, fields=parts):
            assert isinstance(kind, types.Union)
            return kinds.variant(kind, tag, [made(part) for part in parts])
        case ir.HasTag(union=union, tag=tag):
            assert isinstance(union.type, types.Union)
            return kinds.has_tag(made(union), union.type, tag)
        case ir.Payload(union=union, tag=tag, index=index):
            assert isinstance(union.type, types.Union)
            return Dot(made(union), kinds.variant_fields(union.type)[tag][index])
        case ir.Some(value=value):
            return Tuple((made(value),))
        case ir.IsSome(option=option):
            return Infix("/=", made(option), NOTHING)
        case ir.Content(option=option):
            return At(made(option), Number(1))
        case ir.At(sequence=sequence, index=index):
            return At(made(sequence), plus(made(index), 1))
        case ir.Get(map=mapping, key=key):
            return At(made(mapping), made(key))
        case ir.BuildMap(kind, slot=slot, body=body):
            assert isinstance(kind, types.Map)
            name = scope.local(slot, "" if slot in scope.work.locals else "k")
            domain = universe(kind.key, scope.names)
            whole = Function(name, domain, expression(scope.bound(slot, Name(name)), body))
            return call("Evaluated", whole) if scope.work.fails(body) else whole
        case ir.Quantified():
            return _quantified(scope, expr)
        case ir.Enabled(action=action, instance=instance):
            return scope.operators.enabled(action, None if instance is None else made(instance))
        case ir.Symbol():
            raise NotExported("a constant that stands for all its values at once", expr.span)
        case _:
            return _of_collections(scope, expr)


# ---------------------------------------------------------------- names for values


Body: TypeAlias = "Callable[[Expr], Expr]"
"""What is made of a value."""


def shared(scope: Scope, value: Expr, body: Body, wanted: str = "v") -> Expr:
    """``body`` of a value that it writes several times: by a name, unless it is simple."""
    if simple(value):
        return body(value)
    name = scope.names.fresh(wanted)
    inside = body(Name(name))
    if uses(inside, name) == 1:
        return substituted(inside, {name: value})
    return let(name, value, inside)


def _let(scope: Scope, expr: ir.Let) -> Expr:
    value, body = expr.value, expr.body
    found = _surely_found(expr)
    if found is not None:
        return _found(scope, found)[1]
    made = expression(scope, value)
    fails = scope.work.fails(value)
    if simple(made) and not fails:
        return expression(scope.bound(expr.slot, made), body)
    name = scope.local(expr.slot, "" if expr.slot in scope.work.locals else "v")
    inside = expression(scope.bound(expr.slot, Name(name)), body)
    return named(name, made, inside, fails, isinstance(expr.type, types.Bool))


def named(name: str, value: Expr, body: Expr, fails: bool, truth: bool) -> Expr:
    """``body`` with a value by a name, or in the place of it where it is used once. A value that
    may fail is evaluated in any case.
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
    """Whether a name stands where TLC would evaluate its value again and again."""
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


def _range_of(expr: ir.Demand) -> types.Int | types.Machine | None:
    """The range, where an expression is an integer that has to lie in it."""
    match expr.condition, expr.body:
        case (
            ir.Fits(operand=tested, target=types.Int() | types.Machine()),
            ir.Convert(type=(types.Int() | types.Machine()) as target, operand=taken),
        ) if tested == taken and target.low >= -kinds.MOST and target.high <= kinds.MOST:
            return target
        case _:
            return None


def _surely_found(expr: ir.Let) -> ir.Extreme | ir.Find | None:
    """The search, where an expression is what it finds, and to find nothing is an error."""
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
    """Whether TLC stops of itself where an operation is not defined."""
    match body:
        case ir.At() | ir.Get() | ir.Content():
            return True
        case ir.Arithmetic(operator=ir.Operator.DIVIDE | ir.Operator.REMAINDER):
            return True
        case _:
            return False


# ---------------------------------------------------------------- truth


def is_rest(model: ir.Model, expr: ir.Expr) -> bool:
    """Whether this is what `quiescent` stands for: none of the actions that somebody owes can be
    taken.
    """
    owed = [n for n, action in enumerate(model.actions) if action.kind == "ordinary"]
    return (
        isinstance(expr, ir.And)
        and len(expr.parts) > 1
        and list(expr.parts) == [ir.Not(ir.Enabled(number)) for number in owed]
    )


def _less(scope: Scope, left: ir.Expr, right: ir.Expr, or_equal: bool) -> Expr:
    one, other = expression(scope, left), expression(scope, right)
    if isinstance(left.type, types.Int | types.Machine):
        return Infix("<=" if or_equal else "<", one, other)

    def compared(a: Expr) -> Expr:
        def with_other(b: Expr) -> Expr:
            if or_equal:
                return opposite(kinds.before(b, a, left.type, scope.names))
            return kinds.before(a, b, left.type, scope.names)

        return shared(scope, other, with_other)

    return shared(scope, one, compared)


def _quantified(scope: Scope, expr: ir.Quantified) -> Expr:
    sign = "\\A" if expr.every else "\\E"

    def over(name: str, domain: Expr, element: Expr) -> Expr:
        inside = expression(scope.bound(expr.slot, element), expr.body)
        return Quantified("\\A" if sign == "\\A" else "\\E", name, domain, inside)

    ordered_matters = scope.work.fails(expr.body) and not _ascends(expr.domain)
    return _through(scope, expr.domain, expr.slot, expr.name, over, ordered_matters)


def _ascends(domain: ir.Expr) -> bool:
    """Whether TLC goes through the elements in the order of the language."""
    if isinstance(domain.type, types.Seq):
        return True
    element = domain.type.element if isinstance(domain.type, types.Set | types.Bag) else None
    return isinstance(element, types.Int | types.Machine) and isinstance(
        domain, ir.Interval | ir.Universe
    )


def _through(
    scope: Scope,
    domain: ir.Expr,
    slot: int,
    wanted: str,
    body: Callable[[str, Expr, Expr], Expr],
    in_order: bool = False,
) -> Expr:
    """``body`` of a bound name, the set that it goes through, and the element that it stands for.

    A sequence is gone through by its positions, and so is what has to be in order.
    """
    if isinstance(domain.type, types.Seq) or in_order:

        def by_position(q: Expr) -> Expr:
            name = scope.names.fresh("i")
            return body(name, Prefix("DOMAIN", q), At(q, Name(name)))

        return shared(scope, ordered(scope, domain), by_position, "q")
    name = scope.local(slot, wanted)
    return body(name, elements(scope, domain), Name(name))


# ---------------------------------------------------------------- numbers


def _arithmetic(scope: Scope, expr: ir.Arithmetic) -> Expr:
    left, right = expression(scope, expr.left), expression(scope, expr.right)
    _wraps_unseen(expr.type)
    positive = isinstance(expr.right.type, types.Int) and expr.right.type.low > 0
    match expr.operator:
        case ir.Operator.DIVIDE:
            whole = Infix("\\div", left, right) if positive else call("FloorDiv", left, right)
            return _wrapped(whole, expr.type)
        case ir.Operator.REMAINDER:
            return Infix("%", left, right) if positive else call("FloorMod", left, right)
        case ir.Operator.ADD if isinstance(right, Number) and right.value >= 0:
            return _wrapped(plus(left, right.value), expr.type)
        case ir.Operator.SUBTRACT if isinstance(right, Number) and right.value >= 0:
            return _wrapped(plus(left, -right.value), expr.type)
        case ir.Operator.MULTIPLY if (
            isinstance(expr.type, types.Machine) and 16 < expr.type.bits <= kinds.NARROW
        ):
            return _wrapped(_product(left, right, 1 << expr.type.bits), expr.type)
        case ir.Operator.ADD | ir.Operator.SUBTRACT | ir.Operator.MULTIPLY:
            return _wrapped(Infix(expr.operator.value, left, right), expr.type)
        case _:
            assert_never(expr.operator)


def _wraps_unseen(kind: Type) -> None:
    """Refuses arithmetic that wraps before TLC says that a number leaves 32 bits, and that could
    not be written without leaving them.
    """
    if isinstance(kind, types.Machine) and kinds.NARROW < kind.bits <= 32:
        told = types.describe(kind)
        raise NotExported(f"arithmetic on {told}, since TLC's integers have 32 bits")


def _product(left: Expr, right: Expr, modulus: int) -> Expr:
    """A product modulo a number, of which no part leaves 32 bits."""
    return call("Product", left, Infix("%", right, Number(modulus)), Number(modulus))


def _wrapped(value: Expr, kind: Type) -> Expr:
    if isinstance(kind, types.Machine) and kind.bits <= kinds.NARROW:
        return call("Wrap", value, Number(1 << (kind.bits - 1)))
    return value


# ---------------------------------------------------------------- collections


_Collections: TypeAlias = (
    ir.Universe | ir.Interval | ir.Build | ir.Add | ir.Remove | ir.InsertAt | ir.RemoveAt
    | ir.Contains | ir.Size | ir.SetAlgebra | ir.Collect | ir.Sum | ir.Extreme | ir.Find
    | ir.Occurrences
)  # fmt: skip


def _of_collections(scope: Scope, expr: _Collections) -> Expr:
    def made(part: ir.Expr) -> Expr:
        return expression(scope, part)

    match expr:
        case ir.Universe(kind):
            assert isinstance(kind, types.Set)
            return universe(kind.element, scope.names)
        case ir.Interval(low=low, high=high):
            return Infix("..", made(low), made(high))
        case ir.Build(kind, elements=parts):
            listed = [made(part) for part in parts]
            match kind:
                case types.Set():
                    return Listed(tuple(listed))
                case types.Bag():
                    return kinds.bag(listed)
                case _:
                    return Tuple(tuple(listed))
        case ir.Add(kind, collection=collection, element=element):
            match kind:
                case types.Set():
                    return Infix("\\cup", made(collection), Listed((made(element),)))
                case types.Bag():
                    one = call("SetToBag", Listed((made(element),)))
                    return Infix("(+)", made(collection), one)
                case _:
                    return call("Append", made(collection), made(element))
        case ir.Remove(kind, collection=collection, element=element):
            if isinstance(kind, types.Set):
                return Infix("\\", made(collection), Listed((made(element),)))
            one = call("SetToBag", Listed((made(element),)))
            return Infix("(-)", made(collection), one)
        case ir.InsertAt(sequence=sequence, index=index, element=element):
            return _inserted(scope, made(sequence), made(index), made(element))
        case ir.RemoveAt(sequence=sequence, index=index):
            return _removed(scope, made(sequence), made(index))
        case ir.Contains(collection=collection, element=element):
            return _contains(scope, collection, made(element))
        case ir.Size(collection=collection):
            return _size(scope, collection)
        case ir.SetAlgebra(operator=combine, left=left, right=right):
            sign = {"|": "\\cup", "&": "\\cap", "-": "\\"}[combine.value]
            return Infix(sign, made(left), made(right))
        case ir.Collect():
            whole = _collect(scope, expr)
            parts = (expr.element, *(() if expr.condition is None else (expr.condition,)))
            return call("Evaluated", whole) if any(map(scope.work.fails, parts)) else whole
        case ir.Sum(collection=collection):
            return _sum(scope, collection)
        case ir.Extreme() | ir.Find():
            empty, found = _found(scope, expr)
            return chosen(empty, NOTHING, Tuple((found,)))
        case ir.Occurrences(collection=collection, element=element):
            if isinstance(collection.type, types.Bag):
                return call("CopiesIn", made(element), made(collection))

            def counted(q: Expr) -> Expr:
                name = scope.names.fresh("i")
                same = equal(At(q, Name(name)), made(element))
                return call("Cardinality", Filter(name, Prefix("DOMAIN", q), same))

            return shared(scope, made(collection), counted, "q")
        case _:
            assert_never(expr)


def _inserted(scope: Scope, q: Expr, index: Expr, element: Expr) -> Expr:
    def inside(whole: Expr) -> Expr:
        def at(place: Expr) -> Expr:
            left = call("SubSeq", whole, Number(1), place)
            right = call("SubSeq", whole, plus(place, 1), call("Len", whole))
            return Infix("\\o", Infix("\\o", left, Tuple((element,))), right)

        return shared(scope, index, at, "i")

    return shared(scope, q, inside, "q")


def _removed(scope: Scope, q: Expr, index: Expr) -> Expr:
    if index == Number(0):
        return call("Tail", q)

    def inside(whole: Expr) -> Expr:
        def at(place: Expr) -> Expr:
            left = call("SubSeq", whole, Number(1), place)
            right = call("SubSeq", whole, plus(place, 2), call("Len", whole))
            return Infix("\\o", left, right)

        return shared(scope, index, at, "i")

    return shared(scope, q, inside, "q")


def _contains(scope: Scope, collection: ir.Expr, element: Expr) -> Expr:
    if not isinstance(collection.type, types.Seq):
        return among(element, elements(scope, collection))

    def inside(q: Expr) -> Expr:
        name = scope.names.fresh("i")
        return Quantified("\\E", name, Prefix("DOMAIN", q), equal(At(q, Name(name)), element))

    if not simple(element):
        name = scope.names.fresh("v")
        element_value, element = element, Name(name)
        whole = shared(scope, expression(scope, collection), inside, "q")
        return let(name, element_value, conjoined([call("Defined", Name(name)), whole]))
    return shared(scope, expression(scope, collection), inside, "q")


def _size(scope: Scope, collection: ir.Expr) -> Expr:
    match collection:
        case ir.Collect(types.Seq(), slot, domain, condition, element) if isinstance(
            domain.type, types.Set
        ) and not scope.work.fails(element):
            # How many there are does not depend on their order.
            name = scope.local(slot)
            chosen_from = elements(scope, domain)
            if condition is not None:
                inside = expression(scope.bound(slot, Name(name)), condition)
                chosen_from = Filter(name, chosen_from, inside)
            return call("Cardinality", chosen_from)
        case _:
            pass
    match collection.type:
        case types.Seq():
            operator = "Len"
        case types.Bag():
            operator = "BagCardinality"
        case _:
            operator = "Cardinality"
    return call(operator, expression(scope, collection))


def elements(scope: Scope, collection: ir.Expr) -> Expr:
    """The set of the elements of a collection."""
    made = expression(scope, collection)
    match collection.type:
        case types.Seq():

            def images(q: Expr) -> Expr:
                name = scope.names.fresh("i")
                return Image(At(q, Name(name)), name, Prefix("DOMAIN", q))

            return shared(scope, made, images, "q")
        case types.Bag():
            return call("BagToSet", made)
        case _:
            return made


def _filtered(scope: Scope, name: str, domain: Expr, condition: Expr | None) -> Expr:
    return domain if condition is None else Filter(name, domain, condition)


def _collect(scope: Scope, expr: ir.Collect) -> Expr:
    if isinstance(expr.type, types.Set):

        def as_set(name: str, domain: Expr, element: Expr) -> Expr:
            inner = scope.bound(expr.slot, element)
            condition = None
            if expr.condition is not None:
                condition = expression(inner, expr.condition)
            other = scope.names.fresh(name) if condition is not None else name
            made = expression(inner, expr.element)
            if condition is not None and made != Name(name):
                made = substituted(made, {name: Name(other)})
            whole = _filtered(scope, name, domain, condition)
            return whole if made == Name(name) else Image(made, other, whole)

        return _through(scope, expr.domain, expr.slot, "", as_set)
    listed = _sequence(scope, expr)
    return call("BagOf", listed) if isinstance(expr.type, types.Bag) else listed


def _sequence(scope: Scope, expr: ir.Collect) -> Expr:
    whole = ordered(scope, expr.domain)
    if expr.condition is not None:
        name = scope.local(expr.slot)
        test = expression(scope.bound(expr.slot, Name(name)), expr.condition)
        whole = call("SelectSeq", whole, Lambda((name,), test))
    if isinstance(expr.element, ir.Local) and expr.element.slot == expr.slot:
        return whole

    def images(q: Expr) -> Expr:
        index = scope.names.fresh("i")
        element = expression(scope.bound(expr.slot, At(q, Name(index))), expr.element)
        return Function(index, Infix("..", Number(1), call("Len", q)), element)

    return shared(scope, whole, images, "q")


def ordered(scope: Scope, domain: ir.Expr) -> Expr:
    """The elements of a collection as a sequence, in the order of the language."""
    made = expression(scope, domain)
    match domain.type:
        case types.Seq():
            return made
        case types.Set(element):
            if isinstance(domain, ir.Universe) and types.cardinality(element) <= 64:
                every = [literal(v, element, scope.names) for v in types.values(element)]
                return Tuple(tuple(every))
            return call("Ordered", made, order(scope, element))
        case types.Bag(element):
            return call("Repeated", made, order(scope, element))
        case _:
            raise AssertionError(domain.type)


def order(scope: Scope, kind: Type, greatest: bool = False) -> Expr:
    """The order of a type's values as an operator of two."""
    if isinstance(kind, types.Int | types.Machine):
        return Name(">" if greatest else "<")
    one, other = scope.names.fresh("a"), scope.names.fresh("b")
    pair = (Name(other), Name(one)) if greatest else (Name(one), Name(other))
    return Lambda((one, other), kinds.before(*pair, kind, scope.names))


def _sum(scope: Scope, collection: ir.Expr) -> Expr:
    match collection:
        case ir.Collect(types.Seq(), slot, domain, condition, element) if isinstance(
            domain.type, types.Set
        ):
            # A sum does not depend on the order.
            name = scope.local(slot)
            inner = scope.bound(slot, Name(name))
            amounts = expression(inner, element)
            whole = elements(scope, domain)
            if condition is not None:
                other = scope.names.fresh(name)
                test = expression(scope.bound(slot, Name(other)), condition)
                whole = Filter(other, whole, test)
            return shared(scope, whole, lambda s: call("Total", Function(name, s, amounts), s), "s")
        case _:
            pass
    made = expression(scope, collection)

    def of_sequence(q: Expr) -> Expr:
        return call("Total", q, Prefix("DOMAIN", q))

    def of_bag(bag: Expr) -> Expr:
        name = scope.names.fresh("x")
        product = Infix("*", Name(name), At(bag, Name(name)))
        domain = Prefix("DOMAIN", bag)
        return call("Total", Function(name, domain, product), domain)

    def of_set(whole: Expr) -> Expr:
        name = scope.names.fresh("x")
        return call("Total", Function(name, whole, Name(name)), whole)

    match collection.type:
        case types.Seq():
            return shared(scope, made, of_sequence, "q")
        case types.Bag():
            return shared(scope, made, of_bag, "b")
        case _:
            return shared(scope, made, of_set, "s")


def _found(scope: Scope, expr: ir.Extreme | ir.Find) -> tuple[Expr, Expr]:
    """Whether nothing is found, and what is found otherwise."""
    if isinstance(expr, ir.Extreme):
        whole = elements(scope, expr.collection)
        least = call("Least", whole, order(scope, expr.type.element, expr.greatest))
        return equal(whole, Listed(())), least
    element = expr.type.element
    if expr.condition is not None and scope.work.fails(expr.condition):
        return _first_found(scope, expr)
    whole = elements(scope, expr.domain)
    if expr.condition is not None:
        name = scope.local(expr.slot)
        test = expression(scope.bound(expr.slot, Name(name)), expr.condition)
        whole = Filter(name, whole, test)
    return equal(whole, Listed(())), call("Least", whole, order(scope, element))


def _first_found(scope: Scope, expr: ir.Find) -> tuple[Expr, Expr]:
    """The first element in order that meets the condition; of those behind it, nothing is asked,
    since that might fail.
    """
    assert expr.condition is not None
    element = expr.type.element
    whole = expression(scope, expr.domain)
    if isinstance(expr.domain.type, types.Set):
        q = ordered(scope, expr.domain)
    else:
        bag = whole if isinstance(expr.domain.type, types.Bag) else call("BagOf", whole)
        q = call("Repeated", bag, order(scope, element))

    def tested(at: Expr) -> Expr:
        assert expr.condition is not None
        return expression(scope.bound(expr.slot, at), expr.condition)

    i, j, k = (scope.names.fresh(name) for name in ("i", "j", "i"))
    earlier = Quantified(
        "\\A", j, Infix("..", Number(1), plus(Name(i), -1)), opposite(tested(At(q, Name(j))))
    )
    place = Quantified(
        "CHOOSE", i, Prefix("DOMAIN", q), conjoined([tested(At(q, Name(i))), earlier])
    )
    some = Quantified("\\E", k, Prefix("DOMAIN", q), tested(At(q, Name(k))))
    return opposite(some), At(q, place)
