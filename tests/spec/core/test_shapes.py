"""Functions over shapes agree with definitions over types.

The sizes, values and codes of random types are compared with the second interpreter and with the
docstring of `layout`.
"""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from tests.naive.values import belongs, every
from tests.support import random_values
from tests.support.amounts import numbers

from fencepost.checker.layout import decode, encode
from fencepost.spec.core.type_relations import least
from fencepost.spec.core.types import (
    Bag,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Value,
    bits,
    cardinality,
    components,
    is_value,
    values,
)

NO_VALUES: tuple[Value, ...] = (
    True, 0, -9, (), (0,), (1,), (5,), (-1,), (0, 0), ((),), ((0,), (0,)), (True,), (0, 1, 2),
)  # fmt: skip
"""Values that belong to few types."""


class SmallTypes(random_values.Types):
    """Draws types with at most 1,000 values."""

    def scalar(self) -> Type:
        while True:
            kind = super().scalar()
            if bits(kind) <= 8:
                return kind

    def small(self) -> Type:
        while True:
            kind = self.any()
            if _is_small(kind) and cardinality(kind) > 0:
                return kind


def _is_small(kind: Type) -> bool:
    few = bits(kind) <= 24 and cardinality(kind) <= 1_000
    return few and all(map(_is_small, components(kind)))


def _types(seed: int, count: int) -> list[Type]:
    types = SmallTypes(Random(seed))
    return [types.small() for _ in range(count)]


@pytest.mark.parametrize("seed", numbers(40))
def test_sizes_and_values(seed: int) -> None:
    kinds = _types(seed, 12)
    for kind in kinds:
        listed = tuple(values(kind))
        assert listed == every(kind)
        assert cardinality(kind) == len(listed)
        assert least(kind) == listed[0]
        for other in kinds:
            for value in (*NO_VALUES, *islice(every(other), 20)):
                assert is_value(value, kind) == belongs(value, kind), (kind, value)


@pytest.mark.parametrize("seed", numbers(40))
def test_codes(seed: int) -> None:
    random = Random(seed)
    for kind in _types(seed, 12):
        for value in random.sample(every(kind), min(40, len(every(kind)))):
            text = _packed(value, kind)
            assert len(text) == bits(kind)
            assert encode(kind, value) == int(text or "0", 2)
            assert decode(kind, encode(kind, value)) == value


def _packed(value: Value, kind: Type) -> str:
    """Returns the bits of a value, highest first, as the docstring of `layout` describes them."""
    width = max(len(every(kind)) - 1, 0).bit_length()
    match kind, value:
        case Scalar(), int():
            return _binary(value - kind.low, width)
        case Record(fields=fields), tuple():
            return "".join(map(_packed, value, (field.type for field in fields)))
        case Union(variants=variants), (int(tag), *payload):
            fields = variants[tag].fields
            head = _binary(tag, (len(variants) - 1).bit_length())
            return (head + "".join(map(_packed, payload, (f.type for f in fields)))).ljust(
                bits(kind), "0"
            )
        case Option(element), tuple():
            inside = _packed(value[0], element) if value else ""
            return ("1" + inside).ljust(bits(kind), "0") if value else "0" * bits(kind)
        case Set(element, None), tuple():
            return "".join("01"[item in value] for item in reversed(every(element)))
        case ((Set(element, int(n)) | Seq(element, n) | Bag(element, n)), tuple()):
            items = "".join(_packed(item, element) for item in reversed(value))
            return (items + _binary(len(value), n.bit_length())).rjust(bits(kind), "0")
        case Map(_, element), tuple():
            return "".join(_packed(item, element) for item in reversed(value))
        case _:
            raise AssertionError((kind, value))


def _binary(number: int, width: int) -> str:
    return f"{number:0{width}b}" if width else ""
