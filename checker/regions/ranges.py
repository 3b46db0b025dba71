"""Sets of integers as ascending, separate ranges, both ends included."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def holding(low: int, high: int, starts: Iterable[int], test: Callable[[int], bool]) -> Ranges:
    """The numbers in ``low..high`` that satisfy ``test``, whose result changes only at
    ``starts``.
    """
    ranges: list[tuple[int, int]] = []
    inner = sorted({start for start in starts if low < start <= high})
    for first, end in zip([low, *inner], [*inner, high + 1], strict=True):
        if test(first):
            if ranges and ranges[-1][1] == first - 1:
                ranges[-1] = ranges[-1][0], end - 1
            else:
                ranges.append((first, end - 1))
    return tuple(ranges)


def common(left: Ranges, right: Ranges) -> Ranges:
    """Intersection."""
    ranges: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            ranges.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(ranges)


def without(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """The ranges without some numbers."""
    if not ranges:
        return ()
    rest: list[tuple[int, int]] = []
    holes = sorted(set(numbers))
    index = 0
    for low, high in ranges:
        while index < len(holes) and holes[index] < low:
            index += 1
        while index < len(holes) and holes[index] <= high:
            if low < holes[index]:
                rest.append((low, holes[index] - 1))
            low = holes[index] + 1
            index += 1
        if low <= high:
            rest.append((low, high))
    return tuple(rest)


def beyond(left: Ranges, right: Ranges) -> Ranges:
    """Difference."""
    ranges: list[tuple[int, int]] = []
    for first, last in left:
        low = first
        for start, end in right:
            if start > last:
                break
            if end >= low:
                if low < start:
                    ranges.append((low, start - 1))
                low = end + 1
        if low <= last:
            ranges.append((low, last))
    return tuple(ranges)


def size(ranges: Ranges) -> int:
    """The number of elements."""
    return sum(high - low + 1 for low, high in ranges)


def contains(ranges: Ranges, number: int) -> bool:
    return any(low <= number <= high for low, high in ranges)


def united(left: Ranges, right: Ranges) -> Ranges:
    """Union."""
    ranges: list[tuple[int, int]] = []
    for low, high in sorted([*left, *right]):
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], high)
        else:
            ranges.append((low, high))
    return tuple(ranges)
