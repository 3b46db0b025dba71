"""Parts of a state by names: a variable, or a field in it, whatever the keys and places on the way.

It knows what a value looks like without some of its parts, and in which parts two values differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, assert_never

from fencepost.spec.core.types import Bag, Field, Map, Option, Record, Scalar, Seq, Set, Type, Union

Part: TypeAlias = tuple[str, ...]
"""The name of a variable, and of the fields that lead to the part; of a variant its name stands
before that of its field.
"""

_View: TypeAlias = Callable[[Any], Any]


def view(kind: Type, part: Part, hidden: frozenset[Part]) -> _View:
    """What is left of a value of this type, which is the part ``part``, without the hidden ones. It
    has the form of the value: in place of what is hidden it has the same value everywhere.
    """
    if part in hidden:
        return _nothing
    if not any(other[: len(part)] == part for other in hidden):
        return _everything
    match kind:
        case Record(fields=fields):
            return _of_fields(fields, part, hidden)
        case Union(variants=variants):
            views = [_of_fields(one.fields, (*part, one.name), hidden) for one in variants]
            return lambda value: (value[0], *views[value[0]](value[1:]))
        case Option(element) | Seq(element) | Map(_, element):
            of_element = view(element, part, hidden)
            return lambda value: tuple(map(of_element, value))
        case Set(element) | Bag(element):
            of_element = view(element, part, hidden)
            return lambda value: tuple(sorted(map(of_element, value)))
        case Scalar():
            return _everything
        case _:
            assert_never(kind)


def _of_fields(fields: tuple[Field, ...], part: Part, hidden: frozenset[Part]) -> _View:
    views = [view(field.type, (*part, field.name), hidden) for field in fields]
    return lambda value: tuple(one(inner) for one, inner in zip(views, value, strict=True))


def _nothing(value: Any) -> Any:
    return ()


def _everything(value: Any) -> Any:
    return value


def differing(one: Any, other: Any, kind: Type, part: Part) -> Iterator[Part]:
    """The smallest parts in which two different values of a type differ; of two collections that
    keep no order, and are as large, those of the elements that only one of them has, one by one.
    What is hidden has the same value in both.
    """
    if one == other:
        return
    match kind:
        case Record(fields=fields):
            yield from _of_pairs(one, other, fields, part)
        case Union(variants=variants) if one[0] == other[0]:
            tag: int = one[0]
            variant = variants[tag]
            yield from _of_pairs(one[1:], other[1:], variant.fields, (*part, variant.name))
        case Option(element) | Seq(element) | Map(_, element) if len(one) == len(other):
            for a, b in zip(one, other, strict=True):
                yield from differing(a, b, element, part)
        case Set(element) | Bag(element) if len(one) == len(other):
            here: Counter[Any] = Counter(one)
            there: Counter[Any] = Counter(other)
            gone, new = (here - there).elements(), (there - here).elements()
            for a, b in zip(gone, new, strict=True):
                yield from differing(a, b, element, part)
        case _:
            yield part


def _of_pairs(one: Any, other: Any, fields: tuple[Field, ...], part: Part) -> Iterator[Part]:
    for a, b, field in zip(one, other, fields, strict=True):
        yield from differing(a, b, field.type, (*part, field.name))
