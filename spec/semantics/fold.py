"""The meaning of every node of the core, defined once for all domains of values.

`evaluate` and `execute` fold an expression or a statement over a `Domain`. The rules in `domain`
allow the same fold to run Python values, emit machine code and build solver terms. This module
determines the order of evaluation, short circuits and loops; except for quantifiers, every loop is
derived from `Domain.fold`. The domain defines values and the order of choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar, assert_never

from fencepost.spec.core import ir, types
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.type_relations import component_pairs, within
from fencepost.spec.core.types import Type
from fencepost.spec.semantics.domain import AtIndex, AtKey, Domain, Place

V = TypeVar("V")
C = TypeVar("C")

Scope: TypeAlias = Mapping[int, V]
"""The values of the slots that have been bound."""


# ---------------------------------------------------------------- expressions


def evaluate(domain: Domain[V, C], scope: Scope[V], expr: ir.Expr) -> V:
    """Evaluates ``expr`` in ``domain``. ``scope`` contains the values of its free slots."""

    def value(part: ir.Expr) -> V:
        return evaluate(domain, scope, part)

    def later(part: ir.Expr) -> Callable[[], V]:
        return lambda: evaluate(domain, scope, part)

    def under(slot: int, part: ir.Expr) -> Callable[[V], V]:
        return lambda bound: evaluate(domain, {**scope, slot: bound}, part)

    match expr:
        case ir.Literal(type, constant):
            return domain.constant(constant, type)
        case ir.Symbol(type, index):
            return domain.symbol(index, type)
        case ir.Variable(type, index, next):
            return domain.variable(index, next, type)
        case ir.Local(_, slot):
            return scope[slot]
        case ir.Let(_, slot, bound, body):
            return domain.let(value(bound), under(slot, body))
        case ir.Demand(_, condition, site, body):
            return domain.demand(value(condition), site, later(body))
        case ir.Recursion(_, slots, arguments, _, body):
            values = [value(argument) for argument in arguments]
            return domain.recursion(
                expr,
                values,
                lambda bound: evaluate(domain, dict(zip(slots, bound, strict=True)), body),
            )
        case ir.Recall(_, _, arguments):
            return domain.recall(expr, [value(argument) for argument in arguments])
        case ir.Not(operand):
            return domain.negation(value(operand))
        case ir.And(parts):
            return domain.conjunction([later(part) for part in parts])
        case ir.Or(parts):
            return domain.disjunction([later(part) for part in parts])
        case ir.Conditional(type, condition, then, otherwise):
            return domain.conditional(value(condition), later(then), later(otherwise), type)
        case ir.Witness(mark, body):
            return domain.witness(mark, value(body))
        case ir.Observe(_, number, condition, operands, body):
            seen = [value(condition), *(value(operand) for operand in operands)]
            return domain.observe(number, seen[0], seen[1:], later(body))
        case ir.Equal(left, right):
            return domain.equal(value(left), value(right))
        case ir.Less(left, right, or_equal):
            return domain.less(value(left), value(right), or_equal)
        case ir.Arithmetic(type, operator, left, right):
            return domain.arithmetic(operator, value(left), value(right), type)
        case ir.Negate(type, operand):
            zero = domain.constant(0, type if isinstance(type, types.Machine) else types.Int(0, 0))
            return domain.arithmetic(Operator.SUBTRACT, zero, value(operand), type)
        case ir.Fits(operand, target):
            return _fits(domain, value(operand), operand.type, target)
        case ir.Convert(type, operand):
            return domain.convert(value(operand), operand.type, type)
        case ir.MakeRecord(type, fields):
            return domain.record([value(field) for field in fields], type)
        case ir.GetField(type, record, index):
            return domain.field(value(record), index, type)
        case ir.WithField(type, record, index, new):
            return domain.replace(value(record), ir.FieldStep(index), value(new), type)
        case ir.MakeVariant(type, tag, fields):
            return domain.variant(tag, [value(field) for field in fields], type)
        case ir.HasTag(union, tag):
            return domain.has_tag(value(union), tag)
        case ir.Payload(type, union, tag, index):
            return domain.payload(value(union), tag, index, type)
        case ir.Some(type, inner):
            return domain.some(value(inner), type)
        case ir.IsSome(option):
            return domain.is_some(value(option))
        case ir.Content(type, option):
            return domain.content(value(option), type)
        case ir.Universe(type):
            assert isinstance(type, types.Set)
            return domain.universe(type)
        case ir.Subsets(type, collection):
            assert isinstance(type, types.Set)
            return domain.subsets(value(collection), type)
        case ir.Interval(type, low, high):
            return domain.interval(value(low), value(high), type)
        case ir.Build(type, elements):
            return domain.build([value(element) for element in elements], type)
        case ir.Add(type, collection, element):
            return domain.add(value(collection), value(element), type)
        case ir.Remove(type, collection, element):
            return domain.remove(value(collection), value(element), type)
        case ir.InsertAt(type, sequence, index, element):
            return domain.insert_at(value(sequence), value(index), value(element), type)
        case ir.RemoveAt(type, sequence, index):
            return domain.remove_at(value(sequence), value(index), type)
        case ir.Contains(collection, element):
            return domain.contains(value(collection), value(element))
        case ir.Size(type, collection):
            return domain.size(value(collection), type)
        case ir.SetAlgebra(type, operator, left, right):
            return domain.algebra(operator, value(left), value(right), type)
        case ir.At(type, sequence, index):
            return domain.at(value(sequence), value(index), type)
        case ir.Get(_, map, key):
            assert isinstance(map.type, types.Map)
            return domain.get(value(map), value(key), map.type)
        case ir.BuildMap(type, slot, body):
            assert isinstance(type, types.Map)
            return domain.build_map(under(slot, body), type)
        case ir.Quantified(every, slot, over, body):
            return domain.holds(every, value(over), under(slot, body))
        case ir.Collect(type) | ir.Gather(type):
            return _collected(domain, scope, expr, domain.constant((), type), type)
        case ir.Fold(type, slot, accumulator, over, start, body):
            return domain.fold(
                value(over),
                value(start),
                lambda x, result: evaluate(domain, {**scope, slot: x, accumulator: result}, body),
                None,
                type,
            )
        case ir.Sum(type, collection):
            return _sum(domain, value(collection), type)
        case ir.Extreme(type, greatest, collection):
            return _extreme(domain, value(collection), collection.type, greatest, type)
        case ir.Find(type, slot, over, condition):
            test = None if condition is None else under(slot, condition)
            return _find(domain, _ascending(domain, value(over), over.type), test, type)
        case ir.Occurrences(type, collection, element):
            return domain.let(
                value(collection),
                lambda bag: domain.let(
                    value(element), lambda x: _occurrences(domain, bag, x, type)
                ),
            )
        case ir.Enabled(action, choices):
            return domain.enabled(action, [value(choice) for choice in choices])
        case _:
            assert_never(expr)


def _fits(domain: Domain[V, C], operand: V, source: Type, target: Type) -> V:
    """Returns whether ``operand``, of type ``source``, is also a value of ``target``."""

    def inside(value: V, element: Type, wider: Type) -> V:
        return domain.holds(True, value, lambda x: _fits(domain, x, element, wider))

    if within(source, target):
        return domain.let(operand, lambda _: domain.constant(True, ir.BOOL))
    match source, target:
        case types.Integer(), types.Integer():
            return domain.between(operand, target.low, target.high)
        case types.Option(element), types.Option(wider):
            return domain.let(
                operand,
                lambda option: domain.disjunction(
                    [
                        lambda: domain.negation(domain.is_some(option)),
                        lambda: _fits(domain, domain.content(option, element), element, wider),
                    ]
                ),
            )
        case (
            (types.Set(element, size), types.Set(wider, capacity))
            | (types.Seq(element, size), types.Seq(wider, capacity))
            | (types.Bag(element, size), types.Bag(wider, capacity))
        ):
            most = types.cardinality(element) if size is None else size
            count = types.Int(0, most)

            room = most if capacity is None else capacity

            def small(value: V) -> V:
                return domain.between(domain.size(value, count), 0, room)

            if within(element, wider):
                return small(operand)
            if most <= room:
                return inside(operand, element, wider)
            return domain.let(
                operand,
                lambda value: domain.conjunction(
                    [lambda: small(value), lambda: inside(value, element, wider)]
                ),
            )
        case types.Record(), types.Record() if pairs := component_pairs(source, target):
            return domain.let(
                operand,
                lambda whole: domain.conjunction(
                    [
                        partial(_part_fits, domain, whole, index, *pair)
                        for index, pair in enumerate(pairs)
                    ]
                ),
            )
        case types.Map(key, value), types.Map(_, wider):
            return domain.let(
                operand,
                lambda map: domain.holds(
                    True,
                    domain.universe(types.Set(key)),
                    lambda k: _fits(domain, domain.get(map, k, source), value, wider),
                ),
            )
        case _:
            raise AssertionError(f"{source} and {target} differ in more than ranges")


def _part_fits(domain: Domain[V, C], whole: V, index: int, source: Type, target: Type) -> V:
    return _fits(domain, domain.field(whole, index, source), source, target)


def _collected(domain: Domain[V, C], scope: Scope[V], expr: ir.Expr, start: V, type: Type) -> V:
    """Adds the elements of a collection, in order, to ``start``, which is of type ``type``.

    The elements of a `Gather` are added to the result directly, without building the parts.
    """

    def inside(slot: int, part: ir.Expr, element: V) -> V:
        return evaluate(domain, {**scope, slot: element}, part)

    over: ir.Expr
    match expr:
        case ir.Gather(_, slot, over, parts):

            def grown(x: V, result: V) -> V:
                return _collected(domain, {**scope, slot: x}, parts, result, type)

        case ir.Collect(_, slot, over, condition, element):

            def grown(x: V, result: V) -> V:
                def more() -> V:
                    return domain.add(result, inside(slot, element, x), type)

                if condition is None:
                    return more()
                return domain.conditional(inside(slot, condition, x), more, lambda: result, type)

        case over:

            def grown(x: V, result: V) -> V:
                return domain.add(result, x, type)

    return domain.fold(evaluate(domain, scope, over), start, grown, None, type)


def _sum(domain: Domain[V, C], collection: V, type: Type) -> V:
    def plus(x: V, result: V) -> V:
        return domain.arithmetic(Operator.ADD, result, x, type)

    return domain.fold(collection, domain.constant(0, type), plus, None, type)


def _extreme(
    domain: Domain[V, C], collection: V, kind: Type, greatest: bool, type: types.Option
) -> V:
    def better(x: V, best: V) -> V:
        content = domain.content(best, type.element)
        return domain.less(content, x, False) if greatest else domain.less(x, content, False)

    def step(x: V, best: V) -> V:
        # Sets and bags are in ascending order: the first element is the least, the last the
        # greatest.
        if not isinstance(kind, types.Seq):
            return domain.some(x, type)
        return domain.conditional(
            domain.disjunction(
                [lambda: domain.negation(domain.is_some(best)), lambda: better(x, best)]
            ),
            lambda: domain.some(x, type),
            lambda: best,
            type,
        )

    stop = None if greatest or isinstance(kind, types.Seq) else domain.is_some
    return domain.fold(collection, domain.constant((), type), step, stop, type)


def _ascending(domain: Domain[V, C], collection: V, kind: Type) -> V:
    """Returns the elements of a collection in ascending order."""
    if not isinstance(kind, types.Seq):
        return collection
    bag = types.Bag(kind.element, kind.capacity)
    return domain.fold(
        collection, domain.constant((), bag), lambda x, all: domain.add(all, x, bag), None, bag
    )


def _find(
    domain: Domain[V, C], over: V, condition: Callable[[V], V] | None, type: types.Option
) -> V:
    def step(x: V, none: V) -> V:
        if condition is None:
            return domain.some(x, type)
        return domain.conditional(condition(x), lambda: domain.some(x, type), lambda: none, type)

    return domain.fold(over, domain.constant((), type), step, domain.is_some, type)


def _occurrences(domain: Domain[V, C], collection: V, element: V, type: Type) -> V:
    def plus(x: V, count: V) -> V:
        unit = types.Int(1, 1)
        return domain.conditional(
            domain.equal(x, element),
            lambda: domain.arithmetic(Operator.ADD, count, domain.constant(1, unit), type),
            lambda: count,
            type,
        )

    return domain.fold(collection, domain.constant(0, type), plus, None, type)


def updated(domain: Domain[V, C], base: V, type: Type, path: Sequence[Place[V]], value: V) -> V:
    """Returns ``base``, which is of type ``type``, with ``value`` at ``path`` inside it."""
    if not path:
        return value
    if len(path) == 1:
        return domain.replace(base, path[0], value, type)

    def deeper(whole: V, place: Place[V], part: V, kind: Type) -> V:
        return domain.replace(whole, place, updated(domain, part, kind, path[1:], value), type)

    def inside(whole: V) -> V:
        match path[0], type:
            case ir.FieldStep(index) as place, types.Record(fields=fields):
                kind = fields[index].type
                return deeper(whole, place, domain.field(whole, index, kind), kind)
            case AtKey(key), types.Map(value=kind) as map:
                return domain.let(
                    key, lambda k: deeper(whole, AtKey(k), domain.get(whole, k, map), kind)
                )
            case AtIndex(index), types.Seq(element=kind):
                return domain.let(
                    index, lambda i: deeper(whole, AtIndex(i), domain.at(whole, i, kind), kind)
                )
            case place, _:
                raise AssertionError(f"{place} leads into {type}")

    return domain.let(base, inside)


# ---------------------------------------------------------------- statements


def execute(domain: Domain[V, C], scope: Scope[V], statement: ir.Statement) -> C:
    """Executes ``statement`` in ``domain``. ``scope`` contains the values of its free slots."""

    def value(part: ir.Expr) -> V:
        return evaluate(domain, scope, part)

    def later(part: ir.Statement) -> Callable[[], C]:
        return lambda: execute(domain, scope, part)

    def under(slot: int, part: ir.Statement) -> Callable[[V], C]:
        return lambda bound: execute(domain, {**scope, slot: bound}, part)

    def given(slot: int, part: ir.Expr) -> Callable[[V], V]:
        return lambda bound: evaluate(domain, {**scope, slot: bound}, part)

    match statement:
        case ir.Sequence(statements):
            return domain.sequence([later(part) for part in statements])
        case ir.Assign(variable, path, new):
            places = [_place(domain, scope, step) for step in path]
            return domain.assign(variable, places, value(new))
        case ir.Bind(slot, bound, body):
            return domain.bind(value(bound), under(slot, body))
        case ir.Pick(slot, over, condition, body=body):
            test = None if condition is None else given(slot, condition)
            return domain.pick(value(over), test, under(slot, body), statement)
        case ir.Require(condition, guard):
            return domain.require(value(condition), guard)
        case ir.Assert(condition, site):
            return domain.affirm(value(condition), site)
        case ir.Ensure(condition, site):
            return domain.ensure(value(condition), site)
        case ir.If(condition, then, otherwise):
            return domain.branch(value(condition), later(then), later(otherwise))
        case ir.ForEach(slot, over, body):
            return domain.each(value(over), under(slot, body))
        case ir.Block(label, body):
            return domain.block(label, later(body))
        case ir.Leave(label):
            return domain.leave(label)
        case ir.Mark(mark):
            return domain.mark(mark)
        case _:
            assert_never(statement)


def _place(domain: Domain[V, C], scope: Scope[V], step: ir.Step) -> Place[V]:
    match step:
        case ir.FieldStep():
            return step
        case ir.KeyStep(key):
            return AtKey(evaluate(domain, scope, key))
        case ir.IndexStep(index):
            return AtIndex(evaluate(domain, scope, index))
        case _:
            assert_never(step)
