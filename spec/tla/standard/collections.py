# pyright: basic
"""FiniteSets, FiniteSetsExt, Functions, Folds, and Bags.

A fold goes through a set in TLC's order. Operators that TLC's community modules implement in Java
apply the operator to the first element first; `MapThenFoldSet` follows its definition, which
applies it to the last element first.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from fencepost.spec.tla.standard.rows import Call, Operator, holds, integer, truth, values_of
from fencepost.spec.tla.values.kinds import EvaluationError, Value
from fencepost.spec.tla.values.universe import Universe


def _map_then_fold(
    universe: Universe,
    operator: Operator,
    base: Value,
    change: Operator,
    choose: Operator,
    values: Value,
) -> Value:
    rest = universe.finite(values)
    order: list[Value] = []
    while rest:
        order.append(choose(rest))
        rest = rest - {universe.normalise(order[-1])}
    for element in reversed(order):
        base = operator(change(element), base)
    return base


def _fold_set(universe: Universe, operator: Operator, base: Value, values: Value) -> Value:
    for element in universe.elements(values):
        base = operator(element, base)
    return base


def _fold_function(
    universe: Universe, operator: Operator, base: Value, function: Value, values: Value = None
) -> Value:
    domain = universe.domain(function) if values is None else values
    for element in universe.elements(domain):
        base = operator(universe.apply(function, element), base)
    return base


def _sum(universe: Universe, function: Value, values: Value = None) -> int:
    domain = universe.domain(function) if values is None else values
    parts = (universe.apply(function, element) for element in universe.elements(domain))
    return sum(integer(universe, "+", part) for part in parts)


def _largest(sign: int) -> Call:
    def call(universe: Universe, values: Value) -> int:
        numbers = [integer(universe, ">=", number) for number in universe.elements(values)]
        if not numbers:
            raise EvaluationError("Max or Min is applied to the empty set.")
        return max(numbers, key=lambda number: sign * number)

    return call


def _count(universe: Universe, values: Value, test: Operator) -> int:
    return sum(holds(universe, "Quantify", test(element)) for element in universe.elements(values))


def _of_size(universe: Universe, size: Value, values: Value) -> Value:
    count = integer(universe, "kSubset", size)
    if count < 0:
        return frozenset()
    return frozenset(map(frozenset, combinations(universe.ordered(values), count)))


def _range(universe: Universe, function: Value) -> Value:
    return universe.set_of(values_of(universe, "Range", function))


FINITE_SETS: Final[dict[str, tuple[int, Call]]] = {
    "Cardinality": (1, Universe.cardinality),
    "IsFiniteSet": (1, lambda universe, values: truth(universe.is_finite(values))),
}
FINITE_SETS_EXT: Final[dict[str, tuple[int, Call]]] = {
    "FoldSet": (3, _fold_set),
    "ReduceSet": (
        3,
        lambda universe, operator, values, base: _fold_set(universe, operator, base, values),
    ),
    "Quantify": (2, _count),
    "kSubset": (2, _of_size),
    "Max": (1, _largest(1)),
    "Min": (1, _largest(-1)),
}
FUNCTIONS: Final[dict[str, tuple[int, Call]]] = {
    "Range": (1, _range),
    "FoldFunction": (3, _fold_function),
    "FoldFunctionOnSet": (4, _fold_function),
    "SumFunction": (1, _sum),
    "SumFunctionOnSet": (2, _sum),
}
FOLDS: Final[dict[str, tuple[int, Call]]] = {"MapThenFoldSet": (5, _map_then_fold)}


# ---------------------------------------------------------------- bags


def _bag(universe: Universe, name: str, value: Value) -> dict[Value, int]:
    counts = universe.pairs(value)
    if not _is_bag(counts):
        raise universe.error(f"An argument of {name} must be a bag, not {{}}", value)
    return counts


def _is_bag(counts: dict[Value, Value]) -> bool:
    return all(type(count) is int and count > 0 for count in counts.values())


def _compared(universe: Universe, left: Value, right: Value) -> dict[Value, Value]:
    """Returns the counts of the first bag.

    Raises `EvaluationError` if its elements cannot be compared with those of the other one.
    """
    counts, others = universe.pairs(left), universe.pairs(right)
    universe.check_comparable(frozenset(counts), frozenset(others))
    return counts


def _has(universe: Universe, element: Value, counts: dict[Value, Value]) -> bool:
    return universe.contains(frozenset(counts), element)


def _of_counts(universe: Universe, counts: dict[Value, int]) -> Value:
    domain = universe.domain_of(
        frozenset(element for element, count in counts.items() if count > 0)
    )
    return domain.function([counts[element] for element in domain.elements])


def _added(universe: Universe, left: Value, right: Value) -> Value:
    _bag(universe, "(+)", left)
    counts = _compared(universe, left, right)
    for element, count in _bag(universe, "(+)", right).items():
        counts[element] = counts.get(element, 0) + count
    return _of_counts(universe, counts)


def _removed(universe: Universe, left: Value, right: Value) -> Value:
    counts = _compared(universe, left, right)
    for element, count in universe.pairs(right).items():
        if element in counts:
            counts[element] -= integer(universe, "(-)", count)
    for count in counts.values():
        integer(universe, "(-)", count)
    return _of_counts(universe, counts)


def _bag_union(universe: Universe, bags: Value) -> Value:
    result: Value = ()
    for bag in universe.elements(bags):
        result = _added(universe, result, bag)
    return result


def _is_sub_bag(universe: Universe, left: Value, right: Value) -> Value:
    larger = _bag(universe, "\\sqsubseteq", right)
    counts = _compared(universe, left, right)
    return truth(all(count <= larger.get(element, 0) for element, count in counts.items()))


def _sub_bags(universe: Universe, bag: Value) -> Value:
    bags: list[dict[Value, int]] = [{}]
    for element, count in _bag(universe, "SubBag", bag).items():
        bags = [{**smaller, element: some} for smaller in bags for some in range(count + 1)]
    return universe.set_of(_of_counts(universe, smaller) for smaller in bags)


def _bag_of_all(universe: Universe, operator: Operator, bag: Value) -> Value:
    counts: dict[Value, int] = {}
    for element, count in _bag(universe, "BagOfAll", bag).items():
        image = universe.normalise(operator(element))
        counts[image] = counts.get(image, 0) + count
    return _of_counts(universe, counts)


def _copies(universe: Universe, element: Value, bag: Value) -> int:
    counts = universe.pairs(bag)
    return counts[universe.normalise(element)] if _has(universe, element, counts) else 0


def _set_to_bag(universe: Universe, values: Value) -> Value:
    domain = universe.domain_of(values)
    return domain.function([1] * len(domain.elements))


def _fold_bag(universe: Universe, operator: Operator, base: Value, bag: Value) -> Value:
    for element, count in _bag(universe, "FoldBag", bag).items():
        for _ in range(count):
            base = operator(base, element)
    return base


def _is_a_bag(universe: Universe, value: Value) -> Value:
    return truth(isinstance(value, tuple) and _is_bag(universe.pairs(value)))


BAGS: Final[dict[str, tuple[int, Call]]] = {
    "IsABag": (1, _is_a_bag),
    "BagToSet": (1, Universe.domain),
    "SetToBag": (1, _set_to_bag),
    "BagIn": (
        2,
        lambda universe, element, bag: truth(universe.contains(universe.domain(bag), element)),
    ),
    "EmptyBag": (0, lambda _: ()),
    "\\oplus": (2, _added),
    "\\ominus": (2, _removed),
    "BagUnion": (1, _bag_union),
    "\\sqsubseteq": (2, _is_sub_bag),
    "SubBag": (1, _sub_bags),
    "BagOfAll": (2, _bag_of_all),
    "BagCardinality": (
        1,
        lambda universe, bag: sum(_bag(universe, "BagCardinality", bag).values()),
    ),
    "CopiesIn": (2, _copies),
}
BAGS_EXT: Final[dict[str, tuple[int, Call]]] = {"FoldBag": (3, _fold_bag)}
