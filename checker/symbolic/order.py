"""Expresses the equality and the order of values as terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import repeat, starmap

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree, all_values, chosen, payload_trees, tree_of
from fencepost.spec.core.types import (
    Bag,
    Elements,
    Field,
    Flags,
    Map,
    Numbers,
    Product,
    Seq,
    Set,
    Sum,
    Type,
    components,
    view,
)


def equal(left: Tree, right: Tree, kind: Type) -> Truth:
    """Returns the condition that two values of a type are equal."""
    match view(kind):
        case Numbers(truth=truth):
            return terms.same_truth(left, right) if truth else terms.same_number(left, right)
        case Product() as shape:
            return terms.both(*map(equal, left, right, shape.types))
        case Sum(cases, tagged=True) if _unordered(kind):
            # A comparison of the leaves would distinguish values that differ only in the order of
            # elements.
            same: list[Truth] = [terms.same_number(left[0], right[0])]
            for tag, parts in enumerate(cases):
                other = terms.negation(terms.same_number(left[0], tag))
                equal_parts = terms.both(*starmap(equal, _payloads(left, right, parts)))
                same.append(terms.either(other, equal_parts))
            return terms.both(*same)
        case Sum(tagged=True):
            return terms.both(
                terms.same_number(left[0], right[0]),
                *map(terms.same_number, left[1], right[1]),
                *map(terms.same_truth, left[2], right[2]),
            )
        case Sum(cases):
            some = terms.same_truth(left[0], right[0])
            return terms.both(some, equal(left[1], right[1], cases[1][0].type))
        case Flags():
            return terms.both(*map(terms.same_truth, left, right))
        case Elements(element):
            if not isinstance(kind, Seq):
                left, right = ascending(left, element), ascending(right, element)
            lengths = terms.same_number(left[0], right[0])
            return terms.both(lengths, *map(equal, left[1], right[1], repeat(element)))


def _payloads(left: Tree, right: Tree, parts: Sequence[Field]) -> Iterator[tuple[Tree, Tree, Type]]:
    """Yields pairs of the corresponding fields of two values of a union case, each with its
    type.
    """
    types = (part.type for part in parts)
    return zip(payload_trees(parts, left), payload_trees(parts, right), types, strict=True)


@cache
def _unordered(kind: Type) -> bool:
    """Checks whether the type contains a bag or a set with a capacity."""
    match kind:
        case Set(capacity=None):
            return False
        case Set() | Bag():
            return True
        case Map(value=element):
            return _unordered(element)
        case _:
            return any(map(_unordered, components(kind)))


def ascending(tree: Tree, element: Type) -> Tree:
    """Sorts the elements of a bag or set. Slots beyond the length are unchanged."""
    length, items = tree
    if isinstance(length, int) and length <= 1:
        return tree
    ordered = list(items)
    for end in range(len(ordered) - 1, 0, -1):
        for index in range(end):
            a, b = ordered[index], ordered[index + 1]
            present = terms.less(index + 1, length)
            swap = terms.both(present, less(b, a, element))
            ordered[index] = chosen(swap, b, a, element)
            ordered[index + 1] = chosen(swap, a, b, element)
    return length, tuple(ordered)


def less(left: Tree, right: Tree, kind: Type) -> Truth:
    """Returns the condition that ``left`` precedes ``right`` in the order of values."""
    match view(kind):
        case Numbers(truth=True):
            return terms.both(terms.negation(left), right)
        case Numbers():
            return terms.less(left, right)
        case Product() as shape:
            return _lexicographic([*zip(left, right, shape.types, strict=True)])
        case Sum(cases, tagged=True):
            own: list[Truth] = [terms.less(left[0], right[0])]
            for tag, parts in enumerate(cases):
                here = terms.both(terms.same_number(left[0], tag), terms.same_number(right[0], tag))
                inside = _lexicographic([*_payloads(left, right, parts)])
                own.append(terms.both(here, inside))
            return terms.either(*own)
        case Sum(cases):
            inner = terms.both(left[0], right[0], less(left[1], right[1], cases[1][0].type))
            return terms.either(terms.both(terms.negation(left[0]), right[0]), inner)
        case Flags():
            return _less_set(left, right)
        case Elements(element):
            if not isinstance(kind, Seq):
                left, right = ascending(left, element), ascending(right, element)
            return _less_sequence(left, right, element)


def _lexicographic(pairs: Sequence[tuple[Tree, Tree, Type]]) -> Truth:
    result: Truth = False
    for left, right, kind in reversed(pairs):
        result = terms.either(less(left, right, kind), terms.both(equal(left, right, kind), result))
    return result


def _less_set(left: Sequence[Truth], right: Sequence[Truth]) -> Truth:
    """Compares two sets as sorted sequences. The least element that only one of the sets contains
    decides the result.
    """
    result: Truth = False
    more_left: Truth = False
    more_right: Truth = False
    for a, b in zip(reversed(left), reversed(right), strict=True):
        # The set that contains the element is less if the other set has a later element.
        here = terms.choose_truth(a, more_right, terms.negation(more_left))
        result = terms.choose_truth(terms.same_truth(a, b), result, here)
        more_left = terms.either(a, more_left)
        more_right = terms.either(b, more_right)
    return result


def _less_sequence(left: Tree, right: Tree, element: Type) -> Truth:
    result: Truth = terms.less(left[0], right[0])
    pairs = list(enumerate(zip(left[1], right[1], strict=True)))
    for index, (a, b) in reversed(pairs):
        in_both = terms.both(terms.less(index, left[0]), terms.less(index, right[0]))
        inner = terms.either(less(a, b, element), terms.both(equal(a, b, element), result))
        result = terms.choose_truth(in_both, inner, terms.less(left[0], right[0]))
    return result


def position(kind: Type, tree: Tree) -> list[Truth]:
    """Returns, for each value of a type in ascending order, the condition that ``tree`` equals this
    value.
    """
    return [equal(tree, tree_of(kind, value), kind) for value in all_values(kind)]
