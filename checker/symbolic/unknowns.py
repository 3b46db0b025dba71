"""Creates unknown values of any type: their leaves, and the condition under which the leaves form a
value. Also finds the least values, in the order of the language, that satisfy a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fencepost.checker.symbolic import order, terms, values
from fencepost.checker.symbolic.order import equal
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import (
    Tree,
    all_values,
    bounds,
    leaf_kinds,
    least_tree,
    room,
    unpacked,
)
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import (
    UNBOUNDED,
    Bool,
    Elements,
    Flags,
    Numbers,
    Product,
    Scalar,
    Set,
    Sum,
    Type,
    view,
)


def fresh(kind: Type, name: str) -> tuple[Tree, Truth]:
    """Returns an unknown value of a type, and the condition that its leaves form a value of that
    type.
    """
    tree = _unknown(kind, name)
    return tree, is_value(kind, tree)


def _unknown(kind: Type, name: str) -> Tree:
    match view(kind):
        case Numbers(low, high, truth):
            return terms.fresh_truth(name) if truth else terms.fresh_number(name, low, high)[0]
        case Product(parts, None):
            return tuple(_unknown(part.type, f"{name}.{part.name}") for part in parts)
        case Product(parts, key):
            assert key is not None
            inner = parts[0].type
            return tuple(_unknown(inner, f"{name}[{show(k, key)}]") for k in all_values(key))
        case Sum(cases, tagged=True):
            # A slot holds a number of any of the variants, or 0 if the current variant does not use
            # it.
            widest: list[tuple[int, int]] = []
            for parts in cases:
                own = [leaf for part in parts for leaf in leaf_kinds(part.type)]
                ranges = [bounds(leaf) for leaf in own if not isinstance(leaf, Bool)]
                widest += [(0, 0)] * (len(ranges) - len(widest))
                for slot, (low, high) in enumerate(ranges):
                    widest_so_far = widest[slot]
                    widest[slot] = min(low, widest_so_far[0]), max(high, widest_so_far[1])
            return (
                terms.fresh_number(f"{name}.tag", 0, len(cases) - 1)[0],
                tuple(terms.fresh_number(name, low, high)[0] for low, high in widest),
                tuple(terms.fresh_truth(name) for _ in range(room(kind)[1])),
            )
        case Sum(cases):
            return terms.fresh_truth(f"{name}.some"), _unknown(cases[1][0].type, name)
        case Flags(element):
            return tuple(terms.fresh_truth(name) for _ in all_values(element))
        case Elements(element, capacity):
            length = terms.fresh_number(f"{name}.length", 0, capacity)[0]
            return length, tuple(_unknown(element, name) for _ in range(capacity))


def is_value(kind: Type, tree: Tree) -> Truth:
    """Returns the condition that leaves form a value: used leaves lie in their ranges, and unused
    leaves are minimal.
    """
    match view(kind):
        case Numbers(low, high, truth):
            return truth or terms.inside(tree, low, high)
        case Product() as shape:
            return terms.both(*map(is_value, shape.types, tree))
        case Sum(cases, tagged=True):
            facts = [terms.inside(tree[0], 0, len(cases) - 1)]
            for tag, parts in enumerate(cases):
                other = terms.negation(terms.same_number(tree[0], tag))
                trees, numbers, truths = unpacked(parts, tree)
                own = [
                    is_value(part.type, subtree) for part, subtree in zip(parts, trees, strict=True)
                ]
                own += [terms.same_number(leaf, 0) for leaf in numbers]
                own += [terms.negation(leaf) for leaf in truths]
                facts.append(terms.either(other, terms.both(*own)))
            return terms.both(*facts)
        case Sum(cases):
            element = cases[1][0].type
            inner = is_value(element, tree[1])
            nothing = equal(tree[1], least_tree(element), element)
            return terms.both(inner, terms.either(tree[0], nothing))
        case Flags():
            return True
        case Elements(element, capacity):
            length, items = tree
            facts = [terms.inside(length, 0, capacity)]
            nothing = least_tree(element)
            for index, item in enumerate(items):
                facts.append(is_value(element, item))
                in_use = terms.less(index, length)
                facts.append(terms.either(in_use, equal(item, nothing, element)))
                if isinstance(kind, Set):
                    same = [equal(item, other, element) for other in items[:index]]
                    facts.append(terms.negation(terms.both(in_use, terms.either(*same))))
            return terms.both(*facts)


# ---------------------------------------------------------------- least models


def least_model(
    ask: Callable[[Truth], Any | None],
    condition: Truth,
    trees: Sequence[tuple[Type, Tree]],
    model: Any,
) -> Any:
    """Returns a model of the condition that minimizes the first of these values, then the second,
    and so on, starting from the given ``model``. ``ask`` returns a model of a condition, or None.
    """
    for kind, tree in (part for whole in trees for part in _parts(*whole)):
        if values.known(tree) is not None:
            continue
        model = _least(ask, condition, kind, tree, model)
        minimum = values.tree_of(kind, values.value_in(model, tree, kind))
        condition = terms.both(condition, order.equal(tree, minimum, kind))
    return model


def _parts(kind: Type, tree: Tree) -> Iterator[tuple[Type, Tree]]:
    """Yields the parts that determine the order of a value, most significant first."""
    match view(kind):
        case Product() as shape:
            for part in map(_parts, shape.types, tree):
                yield from part
        case Sum(cases, tagged=False):
            yield Bool(), tree[0]
            yield from _parts(cases[1][0].type, tree[1])
        case _:
            yield kind, tree


def _least(
    ask: Callable[[Truth], Any | None], condition: Truth, kind: Type, tree: Tree, model: Any
) -> Any:
    if isinstance(kind, Scalar) and not isinstance(kind, Bool):
        low = values.bounds(kind)[0]
        if low == -UNBOUNDED:
            low = min(terms.number_in(model, tree), 0)
            while low > -UNBOUNDED and ask(terms.both(condition, terms.less(tree, low))):
                low = 2 * low - 1
        while low < (high := terms.number_in(model, tree)):
            middle = (low + high) // 2
            smaller = ask(terms.both(condition, terms.negation(terms.less(middle, tree))))
            if smaller is None:
                low = middle + 1
            else:
                model = smaller
        return model
    while True:
        current = values.tree_of(kind, values.value_in(model, tree, kind))
        smaller = ask(terms.both(condition, order.less(tree, current, kind)))
        if smaller is None:
            return model
        model = smaller
