"""Translates collections to TLA+: sets, sequences and bags, their elements in the order of the
language, and expressions on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from fencepost.checker.tla_export import values
from fencepost.checker.tla_export.scope import Scope, shared
from fencepost.checker.tla_export.simplify import (
    among,
    call,
    chosen,
    equal,
    opposite,
    plus,
    substituted,
)
from fencepost.checker.tla_export.tree import (
    NOTHING,
    At,
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
    SetLiteral,
    Tuple,
)
from fencepost.checker.tla_export.values import literal, universe
from fencepost.spec.core import ir, types
from fencepost.spec.core.types import Type


def through(
    scope: Scope,
    domain: ir.Expr,
    slot: int,
    wanted: str,
    body: Callable[[str, Expr, Expr], Expr],
    in_order: bool = False,
) -> Expr:
    """Writes a quantifier or comprehension over a domain. ``body`` receives the bound name, the set
    that it ranges over, and the element that it denotes. Returns the result of ``body``.

    The name ranges over positions if the domain is a sequence or the order matters.
    """
    if isinstance(domain.type, types.Seq) or in_order:

        def by_position(q: Expr) -> Expr:
            name = scope.names.fresh("i")
            return body(name, Prefix("DOMAIN", q), At(q, Name(name)))

        return shared(scope, ordered(scope, domain), by_position, "q")
    name = scope.local(slot, wanted)
    return body(name, elements(scope, domain), Name(name))


_FIRST = ir.Literal(types.Int(0, 0), 0)


def of_collections(scope: Scope, expr: ir.Collecting) -> Expr:
    def made(part: ir.Expr) -> Expr:
        return scope.value(part)

    match expr:
        case ir.Universe(kind):
            assert isinstance(kind, types.Set)
            return universe(kind.element, scope.names)
        case ir.Subsets(collection=collection):
            return Prefix("SUBSET", made(collection))
        case ir.Interval(low=low, high=high):
            return Infix("..", made(low), made(high))
        case ir.Build(kind, elements=parts):
            listed = [made(part) for part in parts]
            match kind:
                case types.Set():
                    return SetLiteral(tuple(listed))
                case types.Bag():
                    return values.bag(listed)
                case _:
                    return Tuple(tuple(listed))
        case ir.Add(kind, collection=collection, element=element):
            match kind:
                case types.Set():
                    return Infix("\\cup", made(collection), SetLiteral((made(element),)))
                case types.Bag():
                    single = call("SetToBag", SetLiteral((made(element),)))
                    return Infix("(+)", made(collection), single)
                case _:
                    return call("Append", made(collection), made(element))
        case ir.Remove(kind, collection=collection, element=element):
            if isinstance(kind, types.Set):
                return Infix("\\", made(collection), SetLiteral((made(element),)))
            single = call("SetToBag", SetLiteral((made(element),)))
            return Infix("(-)", made(collection), single)
        case ir.InsertAt(sequence=sequence, index=index, element=element):
            if index == _FIRST:
                return Infix("\\o", Tuple((made(element),)), made(sequence))
            return call("InsertAt", made(sequence), made(index), made(element))
        case ir.RemoveAt(sequence=sequence, index=index):
            if index == _FIRST:
                return call("Tail", made(sequence))
            return call("RemoveAt", made(sequence), made(index))
        case ir.Contains(collection=collection, element=element):
            return among(made(element), elements(scope, collection))
        case ir.Size(collection=collection):
            return _size(scope, collection)
        case ir.SetAlgebra(operator=combine, left=left, right=right):
            sign = {"|": "\\cup", "&": "\\cap", "-": "\\"}[combine.value]
            return Infix(sign, made(left), made(right))
        case ir.At(sequence=sequence, index=index):
            return At(made(sequence), plus(made(index), 1))
        case ir.Get(map=mapping, key=key):
            return At(made(mapping), made(key))
        case ir.BuildMap(kind, slot=slot, body=body):
            assert isinstance(kind, types.Map)
            name = scope.local(slot, "" if slot in scope.work.locals else "k")
            domain = universe(kind.key, scope.names)
            function = Function(name, domain, scope.bound(slot, Name(name)).value(body))
            return call("Evaluated", function) if scope.work.fails(body) else function
        case ir.Quantified():
            return _quantified(scope, expr)
        case ir.Collect():
            whole = _collect(scope, expr)
            parts = (expr.element, *(() if expr.condition is None else (expr.condition,)))
            return call("Evaluated", whole) if any(map(scope.work.fails, parts)) else whole
        case ir.Gather(kind, slot, domain, inner):
            if isinstance(kind, types.Set):

                def union(name: str, over: Expr, element: Expr) -> Expr:
                    return Prefix(
                        "UNION", Image(scope.bound(slot, element).value(inner), name, over)
                    )

                gathered = through(scope, domain, slot, "", union)
            else:
                gathered = _sequence(scope, expr)
                if isinstance(kind, types.Bag):
                    gathered = call("BagOf", gathered)
            return call("Evaluated", gathered) if scope.work.fails(inner) else gathered
        case ir.Fold(_, slot, accumulator, domain, start, body):
            names = scope.local(accumulator, "result"), scope.local(slot)
            inside = scope.bound(accumulator, Name(names[0])).bound(slot, Name(names[1]))
            following = Lambda(names, inside.value(body))
            return call("Folded", following, made(start), ordered(scope, domain))
        case ir.Sum(collection=collection):
            return _sum(scope, collection)
        case ir.Extreme() | ir.Find():
            empty, item = found_in(scope, expr)
            return chosen(empty, NOTHING, Tuple((item,)))
        case ir.Occurrences(collection=collection, element=element):
            copies = "CopiesIn" if isinstance(collection.type, types.Bag) else "TimesIn"
            return call(copies, made(element), made(collection))
        case _:
            assert_never(expr)


def _quantified(scope: Scope, expr: ir.Quantified) -> Expr:
    def over(name: str, domain: Expr, element: Expr) -> Expr:
        inside = scope.bound(expr.slot, element).value(expr.body)
        return Quantified("\\A" if expr.every else "\\E", name, domain, inside)

    order_matters = scope.work.fails(expr.body) and not _ascends(expr.domain)
    return through(scope, expr.domain, expr.slot, expr.name, over, order_matters)


def _ascends(domain: ir.Expr) -> bool:
    """Checks whether TLC visits the elements in the order of the language."""
    if isinstance(domain.type, types.Seq):
        return True
    element = domain.type.element if isinstance(domain.type, types.Set | types.Bag) else None
    return isinstance(element, types.Integer) and isinstance(domain, ir.Interval | ir.Universe)


def _size(scope: Scope, collection: ir.Expr) -> Expr:
    match collection:
        case ir.Collect(types.Seq(), slot, domain, condition, element) if isinstance(
            domain.type, types.Set
        ) and not scope.work.fails(element):
            # The number of elements does not depend on their order.
            name = scope.local(slot)
            chosen_from = elements(scope, domain)
            if condition is not None:
                inside = scope.bound(slot, Name(name)).value(condition)
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
    return call(operator, scope.value(collection))


def elements(scope: Scope, collection: ir.Expr) -> Expr:
    """Returns the set of the elements of a collection."""
    value = scope.value(collection)
    match collection.type:
        case types.Seq():
            return call("Range", value)
        case types.Bag():
            return call("BagToSet", value)
        case _:
            return value


def _filtered(scope: Scope, name: str, domain: Expr, condition: Expr | None) -> Expr:
    return domain if condition is None else Filter(name, domain, condition)


def _collect(scope: Scope, expr: ir.Collect) -> Expr:
    if isinstance(expr.type, types.Set):

        def as_set(name: str, domain: Expr, element: Expr) -> Expr:
            inner = scope.bound(expr.slot, element)
            condition = None
            if expr.condition is not None:
                condition = inner.value(expr.condition)
            other = scope.names.fresh(name) if condition is not None else name
            written = inner.value(expr.element)
            if condition is not None and written != Name(name):
                written = substituted(written, {name: Name(other)})
            whole = _filtered(scope, name, domain, condition)
            return whole if written == Name(name) else Image(written, other, whole)

        return through(scope, expr.domain, expr.slot, "", as_set)
    both = isinstance(expr.type, types.Bag) and isinstance(expr.domain.type, types.Bag)
    if both and expr.condition is None:
        return call(
            "BagOfImages", scope.value(expr.domain), _lambda(scope, expr.slot, expr.element)
        )
    listed = _sequence(scope, expr)
    return call("BagOf", listed) if isinstance(expr.type, types.Bag) else listed


def _lambda(scope: Scope, slot: int, body: ir.Expr) -> Lambda:
    """Translates an expression to an operator whose parameter is the value bound to a slot."""
    name = scope.local(slot)
    return Lambda((name,), scope.bound(slot, Name(name)).value(body))


def _sequence(scope: Scope, expr: ir.Collect | ir.Gather) -> Expr:
    """Returns the elements of a `Collect` or `Gather` as a sequence."""
    whole = ordered(scope, expr.domain)
    if isinstance(expr, ir.Gather):
        inner = expr.parts

        def joined(q: Expr) -> Expr:
            index = scope.names.fresh("i")
            inside = scope.bound(expr.slot, At(q, Name(index)))
            if isinstance(inner, ir.Collect | ir.Gather):
                part = _sequence(inside, inner)
            else:
                part = ordered(inside, inner)
            every = Function(index, Infix("..", Number(1), call("Len", q)), part)
            return call("Joined", every, call("Len", q))

        return shared(scope, whole, joined, "q")
    if expr.condition is not None:
        whole = call("SelectSeq", whole, _lambda(scope, expr.slot, expr.condition))
    if isinstance(expr.element, ir.Local) and expr.element.slot == expr.slot:
        return whole

    def images(q: Expr) -> Expr:
        index = scope.names.fresh("i")
        element = scope.bound(expr.slot, At(q, Name(index))).value(expr.element)
        return Function(index, Infix("..", Number(1), call("Len", q)), element)

    return shared(scope, whole, images, "q")


def ordered(scope: Scope, domain: ir.Expr) -> Expr:
    """Returns the elements of a collection as a sequence, in the order of the language."""
    translated = scope.value(domain)
    match domain.type:
        case types.Seq():
            return translated
        case types.Set(element):
            if isinstance(domain, ir.Universe) and types.cardinality(element) <= 64:
                every = [literal(v, element, scope.names) for v in types.values(element)]
                return Tuple(tuple(every))
            if isinstance(domain, ir.Interval) and domain.low == ir.Literal(types.Int(0, 0), 0):
                index = scope.names.fresh("i")
                last = plus(scope.value(domain.high), 1)
                return Function(index, Infix("..", Number(1), last), plus(Name(index), -1))
            return call("Ordered", translated, order(scope, element))
        case types.Bag(element):
            return call("Repeated", translated, order(scope, element))
        case _:
            raise AssertionError(domain.type)


def order(scope: Scope, kind: Type, greatest: bool = False) -> Expr:
    """Returns the order of a type's values as an operator with two parameters. With ``greatest``,
    returns the reverse order.
    """
    if isinstance(kind, types.Integer):
        return Name(">" if greatest else "<")
    left, right = scope.names.fresh("a"), scope.names.fresh("b")
    pair = (Name(right), Name(left)) if greatest else (Name(left), Name(right))
    return Lambda((left, right), values.before(*pair, kind, scope.names))


def _sum(scope: Scope, collection: ir.Expr) -> Expr:
    match collection:
        case ir.Collect(types.Seq(), slot, domain, condition, element) if isinstance(
            domain.type, types.Set
        ):
            # A sum does not depend on the order of its elements.
            name = scope.local(slot)
            inner = scope.bound(slot, Name(name))
            amounts = inner.value(element)
            whole = elements(scope, domain)
            if condition is not None:
                other = scope.names.fresh(name)
                test = scope.bound(slot, Name(other)).value(condition)
                whole = Filter(other, whole, test)
            return shared(scope, whole, lambda s: call("Total", Function(name, s, amounts), s), "s")
        case _:
            pass
    match collection.type:
        case types.Seq():
            operator = "SumOfSequence"
        case types.Bag():
            operator = "SumOfBag"
        case _:
            operator = "SumOfSet"
    return call(operator, scope.value(collection))


def found_in(scope: Scope, expr: ir.Extreme | ir.Find) -> tuple[Expr, Expr]:
    """Returns the condition that nothing is found, and the value that is found otherwise."""
    if isinstance(expr, ir.Extreme):
        whole = elements(scope, expr.collection)
        least = call("Least", whole, order(scope, expr.type.element, expr.greatest))
        return equal(whole, SetLiteral(())), least
    element = expr.type.element
    if expr.condition is not None and scope.work.fails(expr.condition):
        return _first_found(scope, expr)
    whole = elements(scope, expr.domain)
    if expr.condition is not None:
        name = scope.local(expr.slot)
        test = scope.bound(expr.slot, Name(name)).value(expr.condition)
        whole = Filter(name, whole, test)
    return equal(whole, SetLiteral(())), call("Least", whole, order(scope, element))


def _first_found(scope: Scope, expr: ir.Find) -> tuple[Expr, Expr]:
    """Returns the condition that no element satisfies the condition of a search, and the first
    element in order that does. The condition is not evaluated for later elements, where it might
    fail.
    """
    assert expr.condition is not None
    element = expr.type.element
    whole = scope.value(expr.domain)
    if isinstance(expr.domain.type, types.Set):
        q = ordered(scope, expr.domain)
    else:
        bag = whole if isinstance(expr.domain.type, types.Bag) else call("BagOf", whole)
        q = call("Repeated", bag, order(scope, element))

    test = _lambda(scope, expr.slot, expr.condition)
    return opposite(call("HasOne", q, test)), call("First", q, test)
