"""Values of the language as structures of leaves: truth values and numbers, known or unknown.

    bool                     Truth
    ranges, int[n], enums    Number
    record                   tuple of the fields
    union                    tag, and the leaves of the variant's fields: numbers, truth values
                             (as many as the largest variant has; unused ones are 0 and false)
    option                   flag, and the content (the minimum for none)
    set                      tuple of flags, one for each possible element, ascending
    seq, bag, capped set     length, and ``capacity`` elements (minimal beyond the length)
    map                      tuple of the values, in the order of the keys

Equal values have equal leaves, except bags and sets with a capacity: their elements are in any
order, and are sorted where it matters (`ascending`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import Any, TypeAlias, cast

from fencepost.checker.request import RangeNeeded, Unsupported
from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.terms import Leaf, Number, Truth
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.type_relations import least
from fencepost.spec.core.types import (
    Bool,
    Elements,
    Field,
    Flags,
    Int,
    Numbers,
    Product,
    Scalar,
    Sum,
    Type,
    Value,
    canonical,
    count_values,
    describe,
    values,
    view,
)
from fencepost.spec.records import dataclass

Tree: TypeAlias = Any
"""A structure of leaves, as described above."""

MAX_ELEMENTS = 4_096


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value that was picked from a collection. ``tree`` is the structure of the
    collection (a tuple of flags if the collection has no capacity), and ``index`` is the position
    of the value among the elements.
    """

    tree: Tree
    index: Number


@dataclass(frozen=True, slots=True)
class V:
    """A value of a type. ``origin`` describes the collection that the value was picked from, if
    any.
    """

    type: Type
    tree: Tree
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """The structure of a set of values of a large type, which is not represented by flags.
    ``contains`` is the condition that a value is an element.
    """

    contains: Callable[[Tree], Truth]


@cache
def all_values(kind: Type) -> tuple[Value, ...]:
    """Returns every value of a type, in ascending order."""
    if count_values(kind, MAX_ELEMENTS) > MAX_ELEMENTS:
        if is_open(kind):
            raise RangeNeeded(f"it does not go through the values of {describe(kind)}")
        message = f"it does not go through the values of {describe(kind)}, which has more than"
        raise Unsupported(f"{message} {MAX_ELEMENTS:,}")
    return tuple(values(kind))


def bounds(kind: Type) -> tuple[int, int]:
    """Returns the minimum and maximum of a scalar type, which may be those of `UNBOUNDED`. The
    values of an enum are represented by their positions.
    """
    assert isinstance(kind, Scalar), kind
    return kind.low, kind.high


def tree_of(kind: Type, value: Value) -> Tree:
    """Returns the structure of a known value."""
    match view(kind):
        case Numbers():
            return value
        case Product() as shape:
            assert isinstance(value, tuple)
            return tuple(map(tree_of, shape.types, value))
        case Sum(cases) as shape:
            case, payload = shape.opened(value)
            parts = [tree_of(p.type, v) for p, v in zip(cases[case], payload, strict=True)]
            if shape.tagged:
                return variant_tree(kind, case, parts)
            return bool(parts), *(parts or [least_tree(cases[1][0].type)])
        case Flags(element):
            assert isinstance(value, tuple)
            members = set(value)
            return tuple(item in members for item in all_values(element))
        case Elements(element, capacity):
            assert isinstance(value, tuple)
            items = [tree_of(element, item) for item in value]
            items += [least_tree(element)] * (capacity - len(items))
            return len(value), tuple(items)


@cache
def least_tree(kind: Type) -> Tree:
    """Returns the structure of the least value of a type."""
    return tree_of(kind, least(kind))


def known(tree: Tree) -> object:
    """Returns the structure of a value if all of its leaves are known, or None if some leaf is
    unknown.
    """
    if isinstance(tree, tuple):
        parts = [known(item) for item in cast("tuple[object, ...]", tree)]
        return None if any(part is None for part in parts) else tuple(parts)
    # True and 1 are equal in Python, but have different meanings here.
    return (type(tree), tree) if isinstance(tree, bool | int) else None


# ---------------------------------------------------------------- unions


@cache
def leaf_kinds(kind: Type) -> tuple[Type, ...]:
    """Returns the types of the leaves of a value."""
    return tuple(leaf_kind for leaf_kind, _ in leaves(kind, least_tree(kind)))


@cache
def room(kind: Type) -> tuple[int, int]:
    """Returns the maximum number of number leaves and of truth leaves over all variants."""
    numbers = truths = 0
    for parts in _cases(kind):
        kinds = [leaf for part in parts for leaf in leaf_kinds(part.type)]
        flags = sum(isinstance(leaf, Bool) for leaf in kinds)
        numbers, truths = max(numbers, len(kinds) - flags), max(truths, flags)
    return numbers, truths


def _cases(kind: Type) -> tuple[tuple[Field, ...], ...]:
    shape = view(kind)
    assert isinstance(shape, Sum)
    return shape.cases


def variant_tree(kind: Type, tag: int, trees: Sequence[Tree]) -> Tree:
    """Builds a union value from its tag and its fields."""
    numbers: list[Number] = []
    truths: list[Truth] = []
    for part, tree in zip(_cases(kind)[tag], trees, strict=True):
        for leaf_kind, leaf in leaves(part.type, tree):
            (truths if isinstance(leaf_kind, Bool) else numbers).append(leaf)
    number_slots, truth_slots = room(kind)
    numbers += [0] * (number_slots - len(numbers))
    truths += [False] * (truth_slots - len(truths))
    return tag, tuple(numbers), tuple(truths)


def unpacked(
    parts: Sequence[Field], tree: Tree
) -> tuple[list[Tree], Iterator[Number], Iterator[Truth]]:
    """Returns the fields of a union value, which must be of the variant with the fields ``parts``,
    and the unused leaves.
    """
    numbers, truths = iter(tree[1]), iter(tree[2])

    def leaf(leaf_kind: Type, _: Sequence[Leaf]) -> Leaf:
        return next(truths if isinstance(leaf_kind, Bool) else numbers)

    trees = [mapped(part.type, [least_tree(part.type)], leaf) for part in parts]
    return trees, numbers, truths


def payload_trees(parts: Sequence[Field], tree: Tree) -> list[Tree]:
    """Returns the fields of a union value, which must be of the variant with the fields
    ``parts``.
    """
    return unpacked(parts, tree)[0]


# ---------------------------------------------------------------- all leaves at once


def mapped(kind: Type, trees: Sequence[Tree], leaf: Callable[[Type, Sequence[Leaf]], Leaf]) -> Tree:
    """Applies ``leaf`` to the corresponding leaves of several structures of one type, and returns
    the resulting structure.
    """

    def each(types: Iterable[Type], rows: Sequence[Tree]) -> tuple[Tree, ...]:
        return tuple(
            mapped(part, column, leaf)
            for part, column in zip(types, zip(*rows, strict=True), strict=False)
        )

    match view(kind):
        case Numbers():
            return leaf(kind, trees)
        case Product() as shape:
            return each(shape.types, trees)
        case Sum(cases, tagged=True):
            numbers = Int(0, len(cases) - 1)
            tag = leaf(numbers, [tree[0] for tree in trees])
            return (
                tag,
                each(repeat(numbers), [tree[1] for tree in trees]),
                each(repeat(Bool()), [tree[2] for tree in trees]),
            )
        case Sum(cases):
            return each((Bool(), cases[1][0].type), trees)
        case Flags():
            return each(repeat(Bool()), trees)
        case Elements(element, capacity):
            length = leaf(Int(0, capacity), [tree[0] for tree in trees])
            return length, each(repeat(element), [tree[1] for tree in trees])


def leaves(kind: Type, tree: Tree) -> Iterator[tuple[Type, Leaf]]:
    """Returns the leaves of a structure, each with its type."""
    pairs: list[tuple[Type, Leaf]] = []

    def note(leaf_kind: Type, each: Sequence[Leaf]) -> Leaf:
        pairs.append((leaf_kind, each[0]))
        return each[0]

    mapped(kind, [tree], note)
    return iter(pairs)


def chosen(condition: Truth, then: Tree, otherwise: Tree, kind: Type) -> Tree:
    """Returns ``then`` if the condition holds, and ``otherwise`` if not."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if then is otherwise:
        return then

    def leaf(leaf_kind: Type, pair: Sequence[Leaf]) -> Leaf:
        if isinstance(leaf_kind, Bool):
            return terms.choose_truth(condition, pair[0], pair[1])
        return terms.choose_number(condition, pair[0], pair[1])

    return mapped(kind, [then, otherwise], leaf)


def named(kind: Type, tree: Tree, name: str) -> tuple[Tree, Truth]:
    """Returns the value with new constants as leaves, and the condition that these equal the
    original leaves.
    """
    facts: list[Truth] = []

    def leaf(_: Type, single: Sequence[Leaf]) -> Leaf:
        leaf_name, fact = terms.named(single[0], name)
        facts.append(fact)
        return leaf_name

    return mapped(kind, [tree], leaf), terms.both(*facts)


def value_in(model: Any, tree: Tree, kind: Type) -> Value:
    """Returns the value that a structure has in a solver model."""
    match view(kind):
        case Numbers(truth=truth):
            return terms.truth_in(model, tree) if truth else terms.number_in(model, tree)
        case Product() as shape:
            return _values_in(model, tree, shape.types)
        case Sum(cases, tagged=True) as shape:
            tag = terms.number_in(model, tree[0])
            types = (part.type for part in cases[tag])
            return tag, *_values_in(model, payload_trees(cases[tag], tree), types)
        case Sum(cases):
            if not terms.truth_in(model, tree[0]):
                return ()
            return (value_in(model, tree[1], cases[1][0].type),)
        case Flags(element):
            pairs = zip(all_values(element), tree, strict=True)
            return tuple(item for item, flag in pairs if terms.truth_in(model, flag))
        case Elements(element):
            items = tree[1][: terms.number_in(model, tree[0])]
            return canonical(kind, (value_in(model, item, element) for item in items))


def _values_in(model: Any, trees: Sequence[Tree], types: Iterable[Type]) -> tuple[Value, ...]:
    return tuple(value_in(model, t, kind) for t, kind in zip(trees, types, strict=True))


def at(kind: Type, conditions: Sequence[Truth], trees: Sequence[Tree]) -> Tree:
    """Returns the structure whose condition holds, or the last structure if no condition holds."""
    result = trees[-1]
    for condition, tree in zip(reversed(conditions[:-1]), reversed(trees[:-1]), strict=True):
        result = chosen(condition, tree, result, kind)
    return result


def picked(kind: Type, bits: Sequence[Truth], trees: Sequence[Tree]) -> Tree:
    """Returns the structure that the truth values select from at least one structure. Each truth
    value halves the remaining structures.
    """
    if len(trees) == 1:
        return trees[0]
    half = 1 << ((len(trees) - 1).bit_length() - 1)
    first = picked(kind, bits[1:], trees[:half])
    return chosen(bits[0], picked(kind, bits[1:], trees[half:]), first, kind)


def exclusive(kind: Type, selectors: Sequence[Truth], trees: Sequence[Tree], rest: Tree) -> Tree:
    """Returns the structure whose condition holds, or ``rest`` if none does. At most one condition
    may hold. A leaf only tests the conditions of structures where it differs from ``rest``.
    """

    def leaf(leaf_kind: Type, column: Sequence[Leaf]) -> Leaf:
        base, *others = column
        groups: list[tuple[Leaf, list[Truth]]] = []
        for condition, other in zip(selectors, others, strict=True):
            if terms.identical(other, base):
                continue
            for leaf_value, conditions in groups:
                if terms.identical(leaf_value, other):
                    conditions.append(condition)
                    break
            else:
                groups.append((other, [condition]))
        result = base
        choose = terms.choose_truth if isinstance(leaf_kind, Bool) else terms.choose_number
        for other, conditions in groups:
            result = choose(terms.either(*conditions), other, result)
        return result

    return mapped(kind, [rest, *trees], leaf)


def indexed(count: int, index: Number) -> list[Truth]:
    """Returns for each of ``count`` positions the condition that it equals the index."""
    return [terms.same_number(index, position) for position in range(count)]
