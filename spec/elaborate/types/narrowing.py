"""Derives facts about the tags of union values from conditions and from the values themselves.

The key of a fact is the expression that reads the value, stripped of its guards (see `reading`). As
a result, two mentions of ``log[i]`` have the same key although each has a guard of its own. A fact
about a collection holds for each of its elements.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import cast

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import operands, with_children
from fencepost.spec.core.type_relations import element_of
from fencepost.spec.core.types import Bag, Seq, Set, Type, Union, Value
from fencepost.spec.elaborate.base.context import Context

Facts = Mapping[ir.Expr, frozenset[int]]


def reading(expr: ir.Expr) -> ir.Expr:
    """Strips ``expr`` of the guards and bindings that make it total. Equal values have equal
    readings.
    """
    return _reading(expr, {})


def _reading(expr: ir.Expr, bound: Mapping[int, ir.Expr]) -> ir.Expr:
    match expr:
        case ir.Local(slot=slot):
            return bound.get(slot, expr)
        case ir.Let(slot=slot, value=value, body=body):
            return _reading(body, {**bound, slot: _reading(value, bound)})
        case ir.Demand(body=body):
            return _reading(body, bound)
        case ir.GetField() | ir.Payload() | ir.Content() | ir.At() | ir.Get():
            return with_children(expr, [_reading(part, bound) for part in operands(expr)])
        case ir.Convert(operand=inner):
            return _reading(inner, bound)
        case _:
            return expr


def when(condition: ir.Expr, holds: bool) -> Facts:
    """Returns the tags that union values can have if ``condition`` is true (``holds``) or false."""
    return _when(condition, holds, {})


def _when(condition: ir.Expr, holds: bool, bound: Mapping[int, ir.Expr]) -> Facts:
    match condition:
        case ir.HasTag(union, tag):
            assert isinstance(union.type, Union)
            every = frozenset(range(len(union.type.variants)))
            tags = frozenset([tag]) if holds else every - {tag}
            return {_reading(union, bound): tags}
        case ir.Not(operand):
            return _when(operand, not holds, bound)
        case ir.Witness(body=body) | ir.Demand(body=body):
            return _when(body, holds, bound)
        case ir.Let(slot=slot, value=value, body=body):
            return _when(body, holds, {**bound, slot: _reading(value, bound)})
        case ir.And(parts):
            each = [_when(part, holds, bound) for part in parts]
            return _every(each) if holds else _some(each)
        case ir.Or(parts):
            each = [_when(part, holds, bound) for part in parts]
            return _some(each) if holds else _every(each)
        case _:
            return {}


def _every(each: Sequence[Facts]) -> Facts:
    """Combines several sets of facts that all hold."""
    merged: dict[ir.Expr, frozenset[int]] = {}
    for facts in each:
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
    return merged


def _some(each: Sequence[Facts]) -> Facts:
    """Combines alternative sets of facts, at least one of which holds."""
    shared = set(each[0]).intersection(*each[1:]) if each else set[ir.Expr]()
    return {expr: frozenset[int]().union(*(facts[expr] for facts in each)) for expr in shared}


def known_tags(facts: Facts, expr: ir.Expr) -> frozenset[int] | None:
    """Returns the tags that a union value, or each union value in a collection, can have. Returns
    None if nothing is known.
    """
    return _tags(facts, expr) if _holds_unions(expr.type) else None


def _holds_unions(kind: Type) -> bool:
    while isinstance(kind, Set | Seq | Bag):
        kind = kind.element
    return isinstance(kind, Union)


def _tags(facts: Facts, expr: ir.Expr) -> frozenset[int] | None:
    expr = reading(expr)
    if expr in facts:
        return facts[expr]
    match expr:
        case ir.Literal(type=kind, value=value):
            return frozenset(_variants(kind, value))
        case ir.MakeVariant(tag=tag):
            return frozenset([tag])
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            first = _tags(_every([facts, when(condition, True)]), then)
            return _either(first, _tags(_every([facts, when(condition, False)]), otherwise))
        case ir.Build(elements=(first_element, *rest)):
            tags = _tags(facts, first_element)
            for element in rest:
                tags = _either(tags, _tags(facts, element))
            return tags
        case ir.Add(collection=collection, element=element):
            return _either(_tags(facts, collection), _tags(facts, element))
        case ir.SetAlgebra(operator=ir.SetOperator.UNION, left=left, right=right):
            return _either(_tags(facts, left), _tags(facts, right))
        case ir.SetAlgebra(operator=ir.SetOperator.DIFFERENCE, left=collection):
            return _tags(facts, collection)
        case ir.SetAlgebra(operator=ir.SetOperator.INTERSECTION, left=left, right=right):
            first, second = _tags(facts, left), _tags(facts, right)
            if first is None or second is None:
                return second if first is None else first
            return first & second
        case (
            ir.At(sequence=collection)
            | ir.Remove(collection=collection)
            | ir.RemoveAt(sequence=collection)
        ):
            return _tags(facts, collection)
        case ir.Collect(slot=slot, domain=domain, condition=condition, element=element):
            return _tags(_within(facts, slot, domain, condition), element)
        case ir.Gather(slot=slot, domain=domain, parts=parts):
            return _tags(_within(facts, slot, domain, None), parts)
        case ir.Content(option=ir.Find(slot=slot, domain=domain, condition=condition)):
            return _within(facts, slot, domain, condition).get(ir.Local(expr.type, slot))
        case _:
            return None


def _variants(kind: Type, value: Value) -> Iterator[int]:
    """Yields the tags of the union values in a value."""
    assert isinstance(value, tuple)
    if isinstance(kind, Set | Seq | Bag):
        for element in value:
            yield from _variants(kind.element, element)
    else:
        yield cast("int", value[0])


def _either(left: frozenset[int] | None, right: frozenset[int] | None) -> frozenset[int] | None:
    return None if left is None or right is None else left | right


def _within(facts: Facts, slot: int, domain: ir.Expr, condition: ir.Expr | None) -> Facts:
    """Returns the facts about an element of ``domain`` that satisfies ``condition``, in addition to
    ``facts``.
    """
    kind = element_of(domain.type)
    assert kind is not None
    tags = known_tags(facts, domain)
    element: Facts = {} if tags is None else {ir.Local(kind, slot): tags}
    return _every([facts, element, {} if condition is None else when(condition, True)])


def bound_to(context: Context, name: ir.Expr, value: ir.Expr) -> Context:
    """Returns the context after ``name`` is bound to ``value`` or to an element of it."""
    tags = known_tags(context.facts, value)
    return context if tags is None else context.learn({name: tags})


def mentions(expr: ir.Expr, variables: Container[int]) -> bool:
    """Whether a change to one of ``variables`` may invalidate a fact about the reading ``expr``."""
    match expr:
        case ir.Variable(index=index):
            return index in variables
        case ir.Local() | ir.Literal() | ir.Symbol():
            return False
        case ir.GetField() | ir.Payload() | ir.Content() | ir.At() | ir.Get():
            return any(mentions(part, variables) for part in operands(expr))
        case _:
            # Facts about more complicated readings are dropped whenever a variable changes.
            return True
