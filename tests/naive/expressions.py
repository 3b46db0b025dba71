"""Evaluates expressions in a state, and checks every value against its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import TypeAlias, assert_never

from tests.naive.values import belongs, collected, every, wrapped
from tests.support.core_builders import python_value

from fencepost.spec.core import ir
from fencepost.spec.core.types import Map, Set, State, Value

Enabling: TypeAlias = "Callable[[ir.Model, int, State, tuple[Value, ...]], bool]"


CHECKED_BEFORE = (ir.Variable, ir.Local, ir.Universe)
"""Expressions whose values need no check: they were checked when stored, or come from the type
itself.
"""


class Undefined(Exception):
    """An evaluation error at a site."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


@dataclass(frozen=True, slots=True)
class Place:
    """The context of an expression: the state, its successor in case of a step, and the bound
    slots.

    ``seen`` collects the coverage marks of conditions that were true. ``enabled`` decides for
    properties whether an action can be taken in a state, optionally with its first choices given.
    """

    model: ir.Model
    state: State
    after: State | None = None
    slots: Mapping[int, Value] = field(default_factory=dict[int, Value])
    seen: set[int] = field(default_factory=set[int])
    enabled: Enabling | None = None
    functions: Mapping[tuple[int, ...], ir.Recursion] = field(
        default_factory=dict[tuple[int, ...], ir.Recursion]
    )

    def bind(self, slot: int, value: Value) -> Place:
        return replace(self, slots={**self.slots, slot: value})

    def value(self, expr: ir.Expr) -> Value:
        """Returns the value of an expression. Raises `Undefined`."""
        value = _value(self, expr)
        if not isinstance(expr, CHECKED_BEFORE):
            assert belongs(value, expr.type), f"{value} is no value of {expr.type}: {expr}"
        return value

    def truth(self, expr: ir.Expr) -> bool:
        value = self.value(expr)
        assert isinstance(value, bool)
        return value

    def number(self, expr: ir.Expr) -> int:
        value = self.value(expr)
        assert isinstance(value, int)
        return value

    def parts(self, expr: ir.Expr) -> tuple[Value, ...]:
        value = self.value(expr)
        assert isinstance(value, tuple)
        return value


def _value(at: Place, expr: ir.Expr) -> Value:
    match expr:
        case ir.Literal(value=value):
            return value
        case ir.Observe(body=body):
            return at.value(body)
        case ir.Symbol():
            raise AssertionError("a symbolic constant has no value")
        case ir.Variable(index=index, next=False):
            return at.state[index]
        case ir.Variable(index=index):
            assert at.after is not None
            return at.after[index]
        case ir.Local(slot=slot):
            return at.slots[slot]
        case ir.Let(slot=slot, value=bound, body=body):
            return at.bind(slot, at.value(bound)).value(body)
        case ir.Demand(condition=condition, site=site, body=body):
            if not at.truth(condition):
                raise Undefined(site)
            return at.value(body)
        case ir.Recursion(slots=slots, arguments=arguments):
            inner = replace(at, functions={**at.functions, slots: expr})
            return called(inner, expr, [at.value(argument) for argument in arguments])
        case ir.Recall(slots=slots, arguments=arguments):
            return called(at, at.functions[slots], [at.value(argument) for argument in arguments])
        case ir.Not(operand):
            return not at.truth(operand)
        case ir.And(parts):
            return all(at.truth(part) for part in parts)
        case ir.Or(parts):
            return any(at.truth(part) for part in parts)
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            return at.value(then) if at.truth(condition) else at.value(otherwise)
        case ir.Witness(mark, body):
            if at.truth(body):
                at.seen.add(mark)
                return True
            return False
        case ir.Equal(left, right):
            return at.value(left) == at.value(right)
        case ir.Less(left, right, or_equal):
            lesser, greater = (at.value(left),), (at.value(right),)
            return lesser <= greater if or_equal else lesser < greater
        case ir.Enabled(action, choices):
            first = tuple(at.value(choice) for choice in choices)
            assert at.enabled is not None
            return at.enabled(at.model, action, at.state, first)
        case ir.Arithmetic() | ir.Negate() | ir.Fits() | ir.Convert():
            return _number(at, expr)
        case _:
            if isinstance(expr, ir.Structural):
                return _structure(at, expr)
            return _collection(at, expr)


def _number(
    at: Place,
    expr: ir.Arithmetic | ir.Negate | ir.Fits | ir.Convert,
) -> Value:
    match expr:
        case ir.Arithmetic(kind, operator, left, right):
            a, b = at.number(left), at.number(right)
            return wrapped(python_value(operator, a, b), kind)
        case ir.Negate(kind, operand):
            return wrapped(-at.number(operand), kind)
        case ir.Fits(operand, target):
            return belongs(at.value(operand), target)
        case ir.Convert(operand=operand):
            return at.value(operand)
        case _:
            assert_never(expr)


def _structure(
    at: Place,
    expr: ir.Structural,
) -> Value:
    match expr:
        case ir.MakeRecord(fields=fields):
            return tuple(at.value(item) for item in fields)
        case ir.GetField(record=record, index=index):
            return at.parts(record)[index]
        case ir.WithField(record=record, index=index, value=new):
            return put(at.parts(record), index, at.value(new))
        case ir.MakeVariant(tag=tag, fields=fields):
            return (tag, *(at.value(item) for item in fields))
        case ir.HasTag(union, tag):
            return at.parts(union)[0] == tag
        case ir.Payload(union=union, tag=tag, index=index):
            value = at.parts(union)
            assert value[0] == tag, f"{value} has not tag {tag}"
            return value[1 + index]
        case ir.Some(value=inner):
            return (at.value(inner),)
        case ir.IsSome(option):
            return at.value(option) != ()
        case ir.Content(option=option):
            return at.parts(option)[0]
        case _:
            assert_never(expr)


def called(at: Place, function: ir.Recursion, arguments: list[Value]) -> Value:
    """Returns the value of the body of a recursion for some arguments."""
    slots = dict(zip(function.slots, arguments, strict=True))
    return replace(at, slots=slots).value(function.body)


def put(parts: tuple[Value, ...], index: int, value: Value) -> tuple[Value, ...]:
    """Returns a tuple with one part replaced."""
    assert 0 <= index < len(parts), f"{index} in {parts}"
    return tuple(value if position == index else old for position, old in enumerate(parts))


def _collection(
    at: Place,
    expr: ir.Collecting,
) -> Value:
    match expr:
        case ir.Universe(kind):
            assert isinstance(kind, Set)
            return every(kind.element)
        case ir.Subsets(collection=collection):
            parts = at.parts(collection)
            sizes = range(len(parts) + 1)
            return tuple(sorted(chain.from_iterable(combinations(parts, n) for n in sizes)))
        case ir.Interval(low=low, high=high):
            return tuple(range(at.number(low), at.number(high) + 1))
        case ir.Build(kind, elements):
            return collected([at.value(element) for element in elements], kind)
        case ir.Add(kind, collection, element):
            return collected([*at.parts(collection), at.value(element)], kind)
        case ir.Remove(kind, collection, element):
            rest, gone = list(at.parts(collection)), at.value(element)
            if gone in rest:
                rest.remove(gone)
            return collected(rest, kind)
        case ir.InsertAt(sequence=sequence, index=index, element=element):
            items, position = list(at.parts(sequence)), at.number(index)
            assert 0 <= position <= len(items)
            items.insert(position, at.value(element))
            return tuple(items)
        case ir.RemoveAt(sequence=sequence, index=index):
            items, position = list(at.parts(sequence)), at.number(index)
            assert 0 <= position < len(items)
            del items[position]
            return tuple(items)
        case ir.Contains(collection, element):
            items = list(at.parts(collection))
            return at.value(element) in items
        case ir.Size(collection=collection):
            return len(at.parts(collection))
        case ir.SetAlgebra(kind, operator, left, right):
            left_items, right_items = set(at.parts(left)), set(at.parts(right))
            match operator:
                case ir.SetOperator.UNION:
                    return collected(list(left_items | right_items), kind)
                case ir.SetOperator.INTERSECTION:
                    return collected(list(left_items & right_items), kind)
                case ir.SetOperator.DIFFERENCE:
                    return collected(list(left_items - right_items), kind)
                case _:
                    assert_never(operator)
        case ir.At(sequence=sequence, index=index):
            items, position = list(at.parts(sequence)), at.number(index)
            assert 0 <= position < len(items)
            return items[position]
        case ir.Get(map=map, key=key):
            assert isinstance(map.type, Map)
            values = at.parts(map)
            return values[every(map.type.key).index(at.value(key))]
        case ir.BuildMap(kind, slot, body):
            assert isinstance(kind, Map)
            return tuple(at.bind(slot, key).value(body) for key in every(kind.key))
        case ir.Quantified(must, slot, domain, body):
            decide = all if must else any
            return decide(at.bind(slot, x).truth(body) for x in at.parts(domain))
        case ir.Collect(kind, slot, domain, condition, element):
            chosen: list[Value] = []
            for x in at.parts(domain):
                inside = at.bind(slot, x)
                if condition is None or inside.truth(condition):
                    chosen.append(inside.value(element))
            return collected(chosen, kind)
        case ir.Gather(kind, slot, domain, inner):
            gathered = [at.bind(slot, x).parts(inner) for x in at.parts(domain)]
            return collected([x for part in gathered for x in part], kind)
        case ir.Fold(slot=slot, accumulator=accumulator, domain=domain, start=start, body=body):
            result = at.value(start)
            for x in at.parts(domain):
                result = at.bind(slot, x).bind(accumulator, result).value(body)
            return result
        case ir.Sum(collection=collection):
            return sum(x for x in at.parts(collection) if isinstance(x, int))
        case ir.Extreme(greatest=greatest, collection=collection):
            items = sorted(at.parts(collection))
            return () if not items else (items[-1 if greatest else 0],)
        case ir.Find(slot=slot, domain=domain, condition=condition):
            for x in sorted(at.parts(domain)):
                if condition is None or at.bind(slot, x).truth(condition):
                    return (x,)
            return ()
        case ir.Occurrences(collection=collection, element=element):
            items = list(at.parts(collection))
            return items.count(at.value(element))
        case _:
            assert_never(expr)
