"""Unknown values of any type: their leaves, and what must hold for leaves to be a value."""

from __future__ import annotations

from typing import assert_never

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.order import equal
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import (
    Tree,
    all_values,
    bounds,
    leaf_kinds,
    least_tree,
    payload_tree,
    room,
)
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
)


def fresh(kind: Type, name: str) -> tuple[Tree, Truth]:
    """An unknown value of a type, and that it is one."""
    tree = _unknown(kind, name)
    return tree, is_value(kind, tree)


def _unknown(kind: Type, name: str) -> Tree:
    match kind:
        case Bool():
            return terms.fresh_truth(name)
        case Scalar():
            return terms.fresh_number(name, *bounds(kind))[0]
        case Record(fields=fields):
            return tuple(_unknown(field.type, f"{name}.{field.name}") for field in fields)
        case Union(variants=variants):
            # A place holds a number of one variant or of another, and 0 where it is unused.
            widest: list[tuple[int, int]] = []
            for variant in variants:
                own = [leaf for f in variant.fields for leaf in leaf_kinds(f.type)]
                ranges = [bounds(leaf) for leaf in own if not isinstance(leaf, Bool)]
                widest += [(0, 0)] * (len(ranges) - len(widest))
                for place, (low, high) in enumerate(ranges):
                    known = widest[place]
                    widest[place] = min(low, known[0]), max(high, known[1])
            return (
                terms.fresh_number(f"{name}.tag", 0, len(variants) - 1)[0],
                tuple(terms.fresh_number(name, low, high)[0] for low, high in widest),
                tuple(terms.fresh_truth(name) for _ in range(room(kind)[1])),
            )
        case Option(element):
            return terms.fresh_truth(f"{name}.some"), _unknown(element, name)
        case Set(element, None):
            return tuple(terms.fresh_truth(name) for _ in all_values(element))
        case Set(element, capacity) | Seq(element, capacity) | Bag(element, capacity):
            assert capacity is not None
            length = terms.fresh_number(f"{name}.length", 0, capacity)[0]
            return length, tuple(_unknown(element, name) for _ in range(capacity))
        case Map(key, element):
            return tuple(_unknown(element, f"{name}[{show(k, key)}]") for k in all_values(key))
        case _:
            assert_never(kind)


def is_value(kind: Type, tree: Tree) -> Truth:
    """Whether leaves of the right kinds are those of a value: in their ranges, and the least ones
    where nothing is.
    """
    match kind:
        case Bool():
            return True
        case Scalar():
            return terms.inside(tree, *bounds(kind))
        case Record(fields=fields):
            parts = zip(fields, tree, strict=True)
            return terms.both(*(is_value(field.type, part) for field, part in parts))
        case Union(variants=variants):
            facts = [terms.inside(tree[0], 0, len(variants) - 1)]
            for tag, variant in enumerate(variants):
                other = terms.negation(terms.same_number(tree[0], tag))
                own: list[Truth] = []
                numbers = truths = 0
                for index, field in enumerate(variant.fields):
                    own.append(is_value(field.type, payload_tree(kind, tree, tag, index)))
                    flags = sum(isinstance(leaf, Bool) for leaf in leaf_kinds(field.type))
                    numbers += len(leaf_kinds(field.type)) - flags
                    truths += flags
                own += [terms.same_number(leaf, 0) for leaf in tree[1][numbers:]]
                own += [terms.negation(leaf) for leaf in tree[2][truths:]]
                facts.append(terms.either(other, terms.both(*own)))
            return terms.both(*facts)
        case Option(element):
            inner = is_value(element, tree[1])
            nothing = equal(tree[1], least_tree(element), element)
            return terms.both(inner, terms.either(tree[0], nothing))
        case Set(_, None):
            return True
        case Set(element, capacity) | Seq(element, capacity) | Bag(element, capacity):
            assert capacity is not None
            length, items = tree
            facts = [terms.inside(length, 0, capacity)]
            nothing = least_tree(element)
            for place, item in enumerate(items):
                facts.append(is_value(element, item))
                there = terms.less(place, length)
                facts.append(terms.either(there, equal(item, nothing, element)))
                if isinstance(kind, Set):
                    same = [equal(item, other, element) for other in items[:place]]
                    facts.append(terms.negation(terms.both(there, terms.either(*same))))
            return terms.both(*facts)
        case Map(_, element):
            return terms.both(*(is_value(element, item) for item in tree))
        case _:
            assert_never(kind)
