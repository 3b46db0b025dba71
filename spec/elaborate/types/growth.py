"""Determines the ranges and capacities of values that are computed again and again, each from the
one before: accumulators of folds, and parameters and results of recursive defs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from fencepost.spec.core.type_relations import join
from fencepost.spec.core.types import (
    INT64_HIGH,
    INT64_LOW,
    UNBOUNDED,
    Bag,
    Int,
    Map,
    Option,
    Seq,
    Set,
    Type,
)
from fencepost.spec.elaborate.base.context import Context, Reported, Stop
from fencepost.spec.records import replace

MAX_ROUNDS = 64
"""The maximum number of rounds that are tried if the types do not grow evenly."""

T = TypeVar("T")
Types: TypeAlias = tuple[Type, ...]
Step: TypeAlias = "Callable[[Types, bool], Types | None]"


def attempted(
    context: Context, attempt: Callable[[Context], T | None], *, reporting: bool
) -> T | None:
    """Returns the result of an attempt to elaborate an expression, or None if it found problems.
    The attempt leaves no entries in the tables. Its problems are reported only if ``reporting``.
    """
    work = context.work
    scratch = replace(work.scratch(muted=False), problems=[], recorder=None)
    try:
        result = attempt(replace(context, work=scratch))
    except Stop:
        work.problems += scratch.problems
        raise
    finally:
        work.expanded, work.visited = scratch.expanded, scratch.visited
    errors = [problem for problem in scratch.problems if not problem.warning]
    if reporting:
        work.problems += errors
    return None if errors else result


def grown(kinds: Types, rounds: int, step: Step, unknown: Callable[[], Reported]) -> Types | None:
    """Returns types that include the values of every round, if there are at most ``rounds`` rounds
    after the first. ``step`` returns the types of a round, given those of the rounds before, or
    None if there is a problem; it also receives whether this is its first call, which reports the
    problem. If no such types are known, calls ``unknown`` and returns None.

    If the types grow evenly, the types of the last round are extrapolated. Otherwise, the rounds
    are tried one by one. If ``kinds`` cannot be combined with the types of the next round, they are
    returned unchanged.
    """
    before: tuple[int, ...] | None = None
    for done in range(min(rounds, MAX_ROUNDS) + 1):
        if done == rounds:
            return kinds
        new = step(kinds, done == 0)
        if new is None and done == 0:
            return None
        following = None if new is None else _together(kinds, new)
        if following is None:
            break
        growth = _difference(kinds, following)
        if following == kinds or growth is None:
            return kinds
        if growth == before:
            last = _extrapolated(kinds, growth, rounds - done)
            new = None if last is None else step(last, False)
            after = None if last is None or new is None else _together(last, new)
            if last is not None and after is not None:
                difference = _difference(last, after)
                if difference is not None and _at_most(difference, growth):
                    return last
        kinds, before = following, growth
    return unknown()


def _together(kinds: Types, new: Types) -> Types | None:
    """Returns the types of the rounds so far and of a new one, or None if they exceed 64 bits."""
    joined = [join(a, b) for a, b in zip(kinds, new, strict=True)]
    together = tuple(b if a is None else a for a, b in zip(joined, new, strict=True))
    return together if all(all(_in_64_bits(kind)) for kind in together) else None


def _in_64_bits(kind: Type) -> Iterator[bool]:
    return (
        INT64_LOW <= number <= INT64_HIGH or abs(number) == UNBOUNDED for number in _numbers(kind)
    )


def _difference(kinds: Types, wider: Types) -> tuple[int, ...] | None:
    """Returns the differences of the ranges and capacities, or None if the types differ in other
    respects.
    """
    before, after = ([n for kind in row for n in _numbers(kind)] for row in (kinds, wider))
    if len(before) != len(after) or None in map(join, kinds, wider):
        return None
    return tuple(b - a for a, b in zip(before, after, strict=True))


def _at_most(difference: Sequence[int], growth: Sequence[int]) -> bool:
    return all(abs(a) <= abs(b) for a, b in zip(difference, growth, strict=True))


def _extrapolated(kinds: Types, growth: Sequence[int], rounds: int) -> Types | None:
    numbers = [n for kind in kinds for n in _numbers(kind)]
    later = [n + by * rounds for n, by in zip(numbers, growth, strict=True)]
    if not all(INT64_LOW <= number <= INT64_HIGH for number in later):
        return None
    remaining = iter(later)
    return tuple(_with_numbers(kind, remaining) for kind in kinds)


def _numbers(kind: Type) -> Iterator[int]:
    """Yields the ends of the ranges in a type, and its capacities."""
    match kind:
        case Int(low, high):
            yield from (low, high)
        case Set(element, capacity) | Seq(element, capacity) | Bag(element, capacity):
            yield from _numbers(element)
            if capacity is not None:
                yield capacity
        case Option(element) | Map(_, element):
            yield from _numbers(element)
        case _:
            pass


def _with_numbers(kind: Type, numbers: Iterator[int]) -> Type:
    """Returns a type with other ends of ranges and capacities, in the order of `_numbers`."""
    match kind:
        case Int():
            return Int(next(numbers), next(numbers))
        case Set(element, None):
            return Set(_with_numbers(element, numbers))
        case Set(element) | Seq(element) | Bag(element):
            inner = _with_numbers(element, numbers)
            return replace(kind, element=inner, capacity=next(numbers))
        case Option(element):
            return Option(_with_numbers(element, numbers))
        case Map(key, element):
            return Map(key, _with_numbers(element, numbers))
        case _:
            return kind
