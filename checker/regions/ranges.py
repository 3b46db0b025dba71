"""Sets of integers as ranges: ascending, apart from each other, both ends included."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def holding(low: int, high: int, starts: Iterable[int], test: Callable[[int], bool]) -> Ranges:
    """The numbers of ``low..high`` for which ``test`` holds, which changes at ``starts`` only."""
    found: list[tuple[int, int]] = []
    inner = sorted({start for start in starts if low < start <= high})
    for first, behind in zip([low, *inner], [*inner, high + 1], strict=True):
        if test(first):
            if found and found[-1][1] == first - 1:
                found[-1] = found[-1][0], behind - 1
            else:
                found.append((first, behind - 1))
    return tuple(found)


def common(one: Ranges, other: Ranges) -> Ranges:
    """What is in both."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            found.append((low, high))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def without(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """What is left when some numbers are taken away."""
    if not ranges:
        return ()
    found: list[tuple[int, int]] = []
    holes = sorted(set(numbers))
    place = 0
    for low, high in ranges:
        while place < len(holes) and holes[place] < low:
            place += 1
        while place < len(holes) and holes[place] <= high:
            if low < holes[place]:
                found.append((low, holes[place] - 1))
            low = holes[place] + 1
            place += 1
        if low <= high:
            found.append((low, high))
    return tuple(found)


def beyond(one: Ranges, other: Ranges) -> Ranges:
    """What is in the first and not in the other."""
    found: list[tuple[int, int]] = []
    for first, last in one:
        low = first
        for least, most in other:
            if least > last:
                break
            if most >= low:
                if low < least:
                    found.append((low, least - 1))
                low = most + 1
        if low <= last:
            found.append((low, last))
    return tuple(found)


def size(ranges: Ranges) -> int:
    """How many numbers there are."""
    return sum(high - low + 1 for low, high in ranges)


def contains(ranges: Ranges, number: int) -> bool:
    return any(low <= number <= high for low, high in ranges)


def united(one: Ranges, other: Ranges) -> Ranges:
    """What is in one or the other."""
    found: list[tuple[int, int]] = []
    for low, high in sorted([*one, *other]):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)
