# pyright: basic
"""Permutations of model values, and the values that they make of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from fencepost.spec.tla.values.kinds import EvaluationError, Function, ModelValue, Value
from fencepost.spec.tla.values.universe import Universe

Permutation: TypeAlias = "Mapping[Value, Value]"
"""The images of the model values that a permutation moves."""
MAX_PERMUTATIONS: Final = 50_000
"""Largest group of permutations."""


def group(universe: Universe, permutations: Iterable[Value]) -> list[Permutation]:
    """Returns the group that permutations generate, without the identity. Each is a function on
    model values.

    Raises `EvaluationError` for other values, and for a group that is too large.
    """
    generators = [_checked(universe, permutation) for permutation in permutations]
    identity: frozenset[tuple[Value, Value]] = frozenset()
    reached = {identity}
    waiting = [identity]
    while waiting:
        before = dict(waiting.pop())
        for generator in generators:
            images = {value: generator.get(at, at) for value, at in before.items()}
            images = {**generator, **images}
            after = frozenset((value, at) for value, at in images.items() if value is not at)
            if after not in reached:
                if len(reached) >= MAX_PERMUTATIONS:
                    raise EvaluationError(
                        f"the permutations generate more than {MAX_PERMUTATIONS:,} others"
                    )
                reached.add(after)
                waiting.append(after)
    return [dict(pairs) for pairs in reached if pairs]


def _checked(universe: Universe, permutation: Value) -> dict[Value, Value]:
    pairs = universe.pairs(permutation)
    values = [*pairs, *pairs.values()]
    if {*pairs} != {*pairs.values()} or not all(isinstance(v, ModelValue) for v in values):
        raise universe.error("{} is not a permutation of model values", permutation)
    return pairs


def permuted(universe: Universe, value: Value, images: Permutation) -> Value:
    """Returns the value that a permutation makes of one in normal form."""

    def image(part: Value) -> Any:
        match part:
            case ModelValue():
                return images.get(part, part)
            case Function():
                pairs = {image(key): image(at) for key, at in part.items()}
                domain = universe.domain_of(frozenset(pairs))
                return domain.function([pairs[key] for key in domain.elements])
            case tuple():
                return tuple(map(image, part))
            case frozenset():
                return frozenset(map(image, part))
            case _:
                return part

    return universe.normalise(image(value))
