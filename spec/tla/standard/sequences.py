# pyright: basic
"""Sequences and SequencesExt."""

from __future__ import annotations

from itertools import permutations
from typing import Final

from fencepost.spec.tla.standard.rows import (
    Call,
    Operator,
    holds,
    integer,
    new_string,
    sequence,
    text_or_sequence,
    truth,
)
from fencepost.spec.tla.values.kinds import EvaluationError, Value
from fencepost.spec.tla.values.lazy_sets import SequenceSet
from fencepost.spec.tla.values.universe import Universe


def _concatenate(universe: Universe, left: Value, right: Value) -> Value:
    if type(left) is tuple and type(right) is tuple:
        return left + right
    if type(left) is str:
        if type(right) is not str:
            raise universe.error("\\o cannot append {} to the string {}", right, left)
        return new_string(universe, left + right)
    return sequence(universe, "\\o", left) + sequence(universe, "\\o", right)


def _append(universe: Universe, value: Value, item: Value) -> Value:
    return (*sequence(universe, "Append", value), item)


def _head(universe: Universe, value: Value) -> Value:
    items = sequence(universe, "Head", value)
    if not items:
        raise EvaluationError("Head is applied to the empty sequence.")
    return items[0]


def _tail(universe: Universe, value: Value) -> Value:
    items = text_or_sequence(universe, "Tail", value)
    if not items:
        raise EvaluationError("Tail is applied to the empty sequence.")
    return new_string(universe, items[1:]) if isinstance(items, str) else items[1:]


def _sub_sequence(universe: Universe, value: Value, low: Value, high: Value) -> Value:
    items = text_or_sequence(universe, "SubSeq", value)
    first, last = integer(universe, "SubSeq", low), integer(universe, "SubSeq", high)
    if first <= last and (first < 1 or last > len(items)):
        raise universe.error(f"SubSeq({{}}, {first}, {last}) is outside of the sequence", value)
    part = items[first - 1 : last] if first <= last else items[:0]
    return new_string(universe, part) if isinstance(part, str) else part


def _select(universe: Universe, value: Value, test: Operator) -> Value:
    items = sequence(universe, "SelectSeq", value)
    return tuple(item for item in items if holds(universe, "SelectSeq", test(item)))


def sort_sequence(universe: Universe, value: Value, before: Operator) -> Value:
    """Sorts by insertion, so that ``before`` need not be an order."""
    result: list[Value] = []
    for item in sequence(universe, "SortSeq", value):
        index = len(result)
        while index and holds(universe, "SortSeq", before(item, result[index - 1])):
            index -= 1
        result.insert(index, item)
    return tuple(result)


def _orders(universe: Universe, values: Value) -> Value:
    return frozenset(permutations(universe.ordered(values)))


def _fold_left(universe: Universe, operator: Operator, base: Value, value: Value) -> Value:
    for item in sequence(universe, "FoldLeft", value):
        base = operator(base, item)
    return base


def _fold_right(universe: Universe, operator: Operator, value: Value, base: Value) -> Value:
    for item in reversed(sequence(universe, "FoldRight", value)):
        base = operator(item, base)
    return base


def _flatten(universe: Universe, value: Value) -> Value:
    parts = sequence(universe, "FlattenSeq", value)
    return tuple(item for part in parts for item in sequence(universe, "FlattenSeq", part))


def _first(universe: Universe, value: Value, test: Operator) -> int:
    for index, item in enumerate(sequence(universe, "SelectInSeq", value), 1):
        if holds(universe, "SelectInSeq", test(item)):
            return index
    return 0


def _last(universe: Universe, value: Value, test: Operator) -> int:
    items = sequence(universe, "SelectLastInSeq", value)
    for index in range(len(items), 0, -1):
        if holds(universe, "SelectLastInSeq", test(items[index - 1])):
            return index
    return 0


def _is_prefix(universe: Universe, value: Value, other: Value) -> Value:
    items, longer = sequence(universe, "IsPrefix", value), sequence(universe, "IsPrefix", other)
    return truth(len(items) <= len(longer) and universe.equal(items, longer[: len(items)]))


def _sub_sequences(universe: Universe, value: Value) -> Value:
    items = sequence(universe, "SubSeqs", value)
    ends = range(len(items) + 1)
    return universe.set_of(items[low:high] for low in ends for high in ends)


SEQUENCES: Final[dict[str, tuple[int, Call]]] = {
    "Seq": (1, lambda _, values: SequenceSet(values)),
    "Len": (1, lambda universe, value: len(text_or_sequence(universe, "Len", value))),
    "\\o": (2, _concatenate),
    "Append": (2, _append),
    "Head": (1, _head),
    "Tail": (1, _tail),
    "SubSeq": (3, _sub_sequence),
    "SelectSeq": (2, _select),
}
SEQUENCES_EXT: Final[dict[str, tuple[int, Call]]] = {
    "ToSet": (1, lambda universe, value: universe.set_of(sequence(universe, "ToSet", value))),
    "SetToSeq": (1, lambda universe, values: universe.ordered(values)),
    "SetToSeqs": (1, _orders),
    "SetToSortSeq": (
        2,
        lambda universe, values, before: sort_sequence(universe, universe.ordered(values), before),
    ),
    "Reverse": (1, lambda universe, value: sequence(universe, "Reverse", value)[::-1]),
    "FoldLeft": (3, _fold_left),
    "FoldRight": (3, _fold_right),
    "FlattenSeq": (1, _flatten),
    "SelectInSeq": (2, _first),
    "SelectLastInSeq": (2, _last),
    "IsPrefix": (2, _is_prefix),
    "SubSeqs": (1, _sub_sequences),
}
