# pyright: basic
"""The representation of values in a Spark table: the Parquet type for each type of the language,
and the conversion of its values.

    bool                  boolean
    range, machine        long
    enum                  string, the name of the member
    record                struct of its fields
    union                 struct: `tag`, and for each variant with fields a struct, null in others
    option                the content, or null
    set, sequence, bag    array; sorted for a set or bag
    map                   map; non-scalar keys are text

Parquet has no struct without fields, so a value without fields is stored as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from fencepost.spec.core import types
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Type, Value, values
from fencepost.spec.records import dataclass

Write: TypeAlias = Callable[[Any], object]
TAG = "tag"


@dataclass(frozen=True, slots=True)
class Column:
    """A Spark type, and the function that converts values of the language to it."""

    type: DataType
    write: Write


def column(kind: Type) -> Column:
    """Returns the column for values of ``kind``."""
    match kind:
        case types.Bool():
            return Column(BooleanType(), bool)
        case types.Integer():
            return Column(LongType(), int)
        case types.Nominal(members=members):
            return Column(StringType(), members.__getitem__)
        case types.Record(fields=fields) if fields:
            return _record(fields)
        case types.Union() if any(variant.fields for variant in kind.variants):
            return _union(kind)
        case types.Union(variants=variants):
            tags = [variant.name for variant in variants]
            return Column(StringType(), lambda value: tags[value[0]])
        case types.Option(element):
            return _option(element)
        case types.Set(element) | types.Seq(element) | types.Bag(element):
            of_element = column(element)
            write = of_element.write
            return Column(ArrayType(of_element.type), lambda value: [write(item) for item in value])
        case types.Map(key, item):
            return _map(key, item)
        case _:
            return _text(kind)


def distinct(names: Iterable[str], taken: Sequence[str] = ()) -> list[str]:
    """Returns the names, with underscores appended where necessary to make them differ from each
    other and from ``taken``, ignoring case.
    """
    lower_names = {name.lower() for name in taken}
    unique: list[str] = []
    for name in names:
        while name.lower() in lower_names:
            name += "_"
        lower_names.add(name.lower())
        unique.append(name)
    return unique


def _text(kind: Type) -> Column:
    """Returns a column that stores values as text, in the notation of the language."""
    return Column(StringType(), lambda value: show(value, kind))


def _struct(names: Sequence[str], columns: Sequence[Column]) -> StructType:
    pairs = zip(names, columns, strict=True)
    return StructType([StructField(name, part.type) for name, part in pairs])


def _record(fields: Sequence[types.Field]) -> Column:
    columns = [column(field.type) for field in fields]
    writes = [part.write for part in columns]
    kind = _struct(distinct(field.name for field in fields), columns)
    return Column(
        kind,
        lambda value: tuple(write(part) for write, part in zip(writes, value, strict=True)),
    )


def _union(kind: types.Union) -> Column:
    # Only variants with fields have a column.
    numbers = [number for number, variant in enumerate(kind.variants) if variant.fields]
    columns = [_record(kind.variants[number].fields) for number in numbers]
    names = distinct((kind.variants[number].name for number in numbers), (TAG,))
    writes: dict[int, tuple[int, Write]] = {
        number: (index, fields_column.write)
        for index, (number, fields_column) in enumerate(zip(numbers, columns, strict=True), 1)
    }
    tags = [variant.name for variant in kind.variants]
    empty = (None,) * len(numbers)

    def write(value: tuple[Value, ...]) -> object:
        # The first element of a union value is the number of its variant.
        number = int(value[0])  # type: ignore[arg-type]
        row: list[object] = [tags[number], *empty]
        if number in writes:
            index, fields = writes[number]
            row[index] = fields(value[1:])
        return tuple(row)

    return Column(_struct((TAG, *names), (Column(StringType(), str), *columns)), write)


def _option(element: Type) -> Column:
    # Options are never nested, so null is unambiguous.
    assert not isinstance(element, types.Option)
    of_element = column(element)
    write = of_element.write
    return Column(of_element.type, lambda value: write(value[0]) if value else None)


def _map(key: Type, item: Type) -> Column:
    keys = column(key) if isinstance(key, types.Scalar) else _text(key)
    written = [keys.write(value) for value in values(key)]
    of_item = column(item)
    write = of_item.write
    return Column(
        MapType(keys.type, of_item.type),
        lambda value: dict(zip(written, (write(part) for part in value), strict=True)),
    )
