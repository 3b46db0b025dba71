# pyright: basic
"""TLC, TLCExt and Randomization."""

from __future__ import annotations

from itertools import permutations
from typing import Final

from fencepost.spec.tla.standard.rows import (
    Call,
    Operator,
    integer,
    new_string,
    string,
    truth,
)
from fencepost.spec.tla.standard.sequences import sort_sequence
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    AssertionFailed,
    EvaluationError,
    Value,
)
from fencepost.spec.tla.values.lazy_sets import ANY
from fencepost.spec.tla.values.universe import Universe

MAX_PERMUTED: Final = 9
"""Size of the largest set that `Permutations` permutes."""


def _assert(universe: Universe, condition: Value, message: Value) -> Value:
    if condition is TRUE:
        return TRUE
    if condition is FALSE:
        raise AssertionFailed(message if isinstance(message, str) else universe.show(message))
    raise universe.error("The condition of Assert must be a Boolean, not {}", condition)


def _print(universe: Universe, shown: Value, value: Value) -> Value:
    universe.runtime.write(f"{universe.show(shown)}  {universe.show(value)}")
    return value


def _print_text(universe: Universe, shown: Value) -> Value:
    universe.runtime.write(universe.show(shown))
    return TRUE


def _permutations(universe: Universe, values: Value) -> Value:
    domain = universe.domain_of(values)
    if len(domain.elements) > MAX_PERMUTED:
        raise universe.error("Permutations is applied to the large set {}", values)
    return universe.set_of(map(domain.function, permutations(domain.elements)))


def _get(universe: Universe, key: Value) -> Value:
    registers = universe.runtime.registers
    if type(key) is str:
        value = universe.runtime.statistic(key)
        if value is None:
            raise universe.error("TLCGet has no value for {}", key)
        return value
    if integer(universe, "TLCGet", key) not in registers:
        raise universe.error("TLCGet({}) has no value: no TLCSet came before", key)
    return registers[key]


def _set(universe: Universe, key: Value, value: Value) -> Value:
    if type(key) is str:
        raise universe.error("TLCSet is not supported for {}, only for numbers", key)
    universe.runtime.registers[integer(universe, "TLCSet", key)] = universe.normalise(value)
    return TRUE


def _get_and_set(
    universe: Universe, key: Value, operator: Operator, value: Value, default: Value
) -> Value:
    old = universe.runtime.registers.get(key, default)
    _set(universe, key, operator(old, value))
    return old


def _trace(universe: Universe) -> Value:
    if universe.runtime.trace is None:
        raise EvaluationError("Trace has no value here.")
    return universe.runtime.trace()


def _evaluated(universe: Universe, value: Value) -> Value:
    """Returns a value written out, unless it is infinite."""
    try:
        return universe.normalise(value)
    except EvaluationError:
        return value


def _java_time(universe: Universe) -> Value:
    raise EvaluationError("JavaTime is not supported: its value depends on the time.")


def _random_element(universe: Universe, values: Value) -> Value:
    elements = universe.ordered(values)
    if not elements:
        raise EvaluationError("RandomElement is applied to the empty set.")
    return universe.runtime.random.choice(elements)


def _random_subset(universe: Universe, size: Value, values: Value) -> Value:
    elements, count = universe.ordered(values), integer(universe, "RandomSubset", size)
    if not 0 <= count <= len(elements):
        raise universe.error(f"RandomSubset cannot take {count} elements of {{}}", values)
    return frozenset(universe.runtime.random.sample(elements, count))


def _random_subsets(universe: Universe, count: Value, size: Value, values: Value) -> Value:
    """Returns at most ``count`` subsets of ``size`` elements on average."""
    elements, mean = universe.ordered(values), integer(universe, "RandomSetOfSubsets", size)
    random, share = universe.runtime.random, mean / max(1, len(elements))
    return frozenset(
        frozenset(element for element in elements if random.random() < share)
        for _ in range(integer(universe, "RandomSetOfSubsets", count))
    )


def _random_subset_set(universe: Universe, count: Value, share: Value, values: Value) -> Value:
    elements, random = universe.ordered(values), universe.runtime.random
    try:
        chance = float(string(universe, "RandomSubsetSet", share))
    except ValueError:
        raise universe.error("RandomSubsetSet needs a number, not {}", share) from None
    return frozenset(
        frozenset(element for element in elements if random.random() < chance)
        for _ in range(integer(universe, "RandomSubsetSet", count))
    )


TLC: Final[dict[str, tuple[int, Call]]] = {
    ":>": (2, Universe.single),
    "@@": (2, Universe.merge),
    "Any": (0, lambda _: ANY),
    "Assert": (2, _assert),
    "JavaTime": (0, _java_time),
    "Permutations": (1, _permutations),
    "Print": (2, _print),
    "PrintT": (1, _print_text),
    "RandomElement": (1, _random_element),
    "SortSeq": (2, sort_sequence),
    "TLCEval": (1, _evaluated),
    "TLCGet": (1, _get),
    "TLCSet": (2, _set),
    "ToString": (1, lambda universe, value: new_string(universe, universe.show(value))),
}
TLC_EXT: Final[dict[str, tuple[int, Call]]] = {
    "AssertEq": (2, lambda universe, left, right: truth(universe.equal(left, right))),
    "PickSuccessor": (1, lambda _, value: TRUE),
    "TLCCache": (2, lambda _, value, closure: value),
    "TLCDefer": (1, lambda _, value: TRUE),
    "TLCGetAndSet": (4, _get_and_set),
    "TLCGetOrDefault": (
        2,
        lambda universe, key, default: universe.runtime.registers.get(key, default),
    ),
    "TLCModelValue": (
        1,
        lambda universe, name: universe.model_value(string(universe, "TLCModelValue", name)),
    ),
    "TLCNoOp": (1, lambda _, value: value),
    "Trace": (0, _trace),
}
RANDOMIZATION: Final[dict[str, tuple[int, Call]]] = {
    "RandomSubset": (2, _random_subset),
    "RandomSetOfSubsets": (3, _random_subsets),
    "RandomSubsetSet": (3, _random_subset_set),
    "TestRandomSetOfSubsets": (3, _random_subsets),
}
CHANGING: Final = frozenset(
    {
        "Any", "PickSuccessor", "Print", "PrintT", "RandomElement", "TLCGet", "TLCGetAndSet",
        "TLCGetOrDefault", "TLCSet", "Trace", *RANDOMIZATION,
    }
)  # fmt: skip
"""Operators that are evaluated at each use: their value is not constant, or they have an effect."""
