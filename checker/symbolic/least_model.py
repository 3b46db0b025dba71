"""The least values that satisfy a condition, in the order of the language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fencepost.checker.symbolic import order, terms, values
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree
from fencepost.spec.core.types import (
    Bool,
    Product,
    Scalar,
    Sum,
    Type,
    view,
)


def least_model(
    ask: Callable[[Truth], Any | None],
    condition: Truth,
    trees: Sequence[tuple[Type, Tree]],
    model: Any,
) -> Any:
    """A model of the condition that minimizes the first of these values, then the second, and so
    on, starting from the given ``model``. ``ask`` returns a model, if there is one.
    """
    for kind, tree in (part for whole in trees for part in _parts(*whole)):
        if values.known(tree) is not None:
            continue
        model = _least(ask, condition, kind, tree, model)
        minimum = values.tree_of(kind, values.value_in(model, tree, kind))
        condition = terms.both(condition, order.equal(tree, minimum, kind))
    return model


def _parts(kind: Type, tree: Tree) -> Iterator[tuple[Type, Tree]]:
    """The parts that determine the order of a value, most significant first."""
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
