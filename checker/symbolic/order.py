"""The equality and the order of values, as terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import assert_never

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree, all_values, chosen, payload_tree, tree_of
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    components,
)


def equal(left: Tree, right: Tree, kind: Type) -> Truth:
    """Whether two values of a type are the same."""
    match kind:
        case Bool():
            return terms.same_truth(left, right)
        case Scalar():
            return terms.same_number(left, right)
        case Record(fields=fields):
            return _equal_fields(left, right, fields)
        case Union(variants=variants) if _unordered(kind):
            # Leaves would tell apart what differs in order only.
            tags = terms.same_number(left[0], right[0])
            same: list[Truth] = []
            for tag, variant in enumerate(variants):
                other = terms.negation(terms.same_number(left[0], tag))
                parts = [
                    equal(
                        payload_tree(kind, left, tag, index),
                        payload_tree(kind, right, tag, index),
                        field.type,
                    )
                    for index, field in enumerate(variant.fields)
                ]
                same.append(terms.either(other, terms.both(*parts)))
            return terms.both(tags, *same)
        case Union():
            numbers = zip((left[0], *left[1]), (right[0], *right[1]), strict=True)
            truths = zip(left[2], right[2], strict=True)
            return terms.both(
                *(terms.same_number(a, b) for a, b in numbers),
                *(terms.same_truth(a, b) for a, b in truths),
            )
        case Option(element):
            return terms.both(
                terms.same_truth(left[0], right[0]), equal(left[1], right[1], element)
            )
        case Set(_, None):
            pairs = zip(left, right, strict=True)
            return terms.both(*(terms.same_truth(a, b) for a, b in pairs))
        case Set(element) | Bag(element) | Seq(element):
            if isinstance(kind, Set | Bag):
                left, right = ascending(left, element), ascending(right, element)
            pairs = zip(left[1], right[1], strict=True)
            lengths = terms.same_number(left[0], right[0])
            return terms.both(lengths, *(equal(a, b, element) for a, b in pairs))
        case Map(_, element):
            pairs = zip(left, right, strict=True)
            return terms.both(*(equal(a, b, element) for a, b in pairs))
        case _:
            assert_never(kind)


@cache
def _unordered(kind: Type) -> bool:
    """Whether a bag or a set with a capacity is somewhere inside."""
    match kind:
        case Set(capacity=None):
            return False
        case Set() | Bag():
            return True
        case Map(value=element):
            return _unordered(element)
        case _:
            return any(map(_unordered, components(kind)))


def _equal_fields(left: Tree, right: Tree, fields: Sequence[Field]) -> Truth:
    parts = zip(left, right, fields, strict=True)
    return terms.both(*(equal(a, b, field.type) for a, b, field in parts))


def ascending(tree: Tree, element: Type) -> Tree:
    """A bag or set with its elements in order; what lies behind the length stays there."""
    length, items = tree
    if isinstance(length, int) and length <= 1:
        return tree
    ordered = list(items)
    for end in range(len(ordered) - 1, 0, -1):
        for place in range(end):
            a, b = ordered[place], ordered[place + 1]
            present = terms.less(place + 1, length)
            swap = terms.both(present, less(b, a, element))
            ordered[place] = chosen(swap, b, a, element)
            ordered[place + 1] = chosen(swap, a, b, element)
    return length, tuple(ordered)


def less(left: Tree, right: Tree, kind: Type) -> Truth:
    """Whether ``left`` comes before ``right`` in the order of values."""
    match kind:
        case Bool():
            return terms.both(terms.negation(left), right)
        case Scalar():
            return terms.less(left, right)
        case Record(fields=fields):
            return _lexicographic(
                [(a, b, f.type) for a, b, f in zip(left, right, fields, strict=True)]
            )
        case Union(variants=variants):
            own: list[Truth] = [terms.less(left[0], right[0])]
            for tag, variant in enumerate(variants):
                here = terms.both(terms.same_number(left[0], tag), terms.same_number(right[0], tag))
                pairs = [
                    (
                        payload_tree(kind, left, tag, index),
                        payload_tree(kind, right, tag, index),
                        field.type,
                    )
                    for index, field in enumerate(variant.fields)
                ]
                own.append(terms.both(here, _lexicographic(pairs)))
            return terms.either(*own)
        case Option(element):
            inner = terms.both(left[0], right[0], less(left[1], right[1], element))
            return terms.either(terms.both(terms.negation(left[0]), right[0]), inner)
        case Set(_, None):
            return _less_set(left, right)
        case Set(element) | Bag(element):
            return _less_sequence(ascending(left, element), ascending(right, element), element)
        case Seq(element):
            return _less_sequence(left, right, element)
        case Map(_, element):
            return _lexicographic([(a, b, element) for a, b in zip(left, right, strict=True)])
        case _:
            assert_never(kind)


def _lexicographic(pairs: Sequence[tuple[Tree, Tree, Type]]) -> Truth:
    result: Truth = False
    for left, right, kind in reversed(pairs):
        result = terms.either(less(left, right, kind), terms.both(equal(left, right, kind), result))
    return result


def _less_set(left: Sequence[Truth], right: Sequence[Truth]) -> Truth:
    """As sorted sequences: decided by the least element that only one of them has."""
    result: Truth = False
    more_left: Truth = False
    more_right: Truth = False
    for a, b in zip(reversed(left), reversed(right), strict=True):
        # The set that has the element is less if the other one goes on behind it.
        here = terms.choose_truth(a, more_right, terms.negation(more_left))
        result = terms.choose_truth(terms.same_truth(a, b), result, here)
        more_left = terms.either(a, more_left)
        more_right = terms.either(b, more_right)
    return result


def _less_sequence(left: Tree, right: Tree, element: Type) -> Truth:
    result: Truth = terms.less(left[0], right[0])
    pairs = list(enumerate(zip(left[1], right[1], strict=True)))
    for place, (a, b) in reversed(pairs):
        here = terms.both(terms.less(place, left[0]), terms.less(place, right[0]))
        inner = terms.either(less(a, b, element), terms.both(equal(a, b, element), result))
        result = terms.choose_truth(here, inner, terms.less(left[0], right[0]))
    return result


def position(kind: Type, tree: Tree) -> list[Truth]:
    """For each value of a type, ascending, whether it is this one."""
    return [equal(tree, tree_of(kind, value), kind) for value in all_values(kind)]
