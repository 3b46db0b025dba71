# pyright: basic
"""How values of the language stand in a table of Spark: for each type one of Parquet, and what is
written there for each value.

    bool                  boolean
    range, machine        long
    enum                  string, the name of the member
    record                struct of its fields
    union                 struct: `tag`, and for each variant with fields a struct, null in others
    option                the content, or null
    set, sequence, bag    array; of a set or bag ascending
    map                   map; keys that are no scalars are text

A struct without fields, which Parquet has not, is text. It does not know where tables are kept.
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
    """A type of Spark, and what makes a value of that type from one of the language."""

    type: DataType
    write: Write


def column(kind: Type) -> Column:
    """How values of ``kind`` stand in a table."""
    match kind:
        case types.Bool():
            return Column(BooleanType(), bool)
        case types.Int() | types.Machine():
            return Column(LongType(), int)
        case types.Enum(members=members):
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
            one = column(element)
            write = one.write
            return Column(ArrayType(one.type), lambda value: [write(item) for item in value])
        case types.Map(key, item):
            return _map(key, item)
        case _:
            return _text(kind)


def distinct(names: Iterable[str], taken: Sequence[str] = ()) -> list[str]:
    """The names, told apart from one another and from those ``taken``, also where case does not
    count: with underlines behind them.
    """
    known = {name.lower() for name in taken}
    found: list[str] = []
    for name in names:
        while name.lower() in known:
            name += "_"
        known.add(name.lower())
        found.append(name)
    return found


def _text(kind: Type) -> Column:
    """A value as the language writes it."""
    return Column(StringType(), lambda value: show(value, kind))


def _struct(names: Sequence[str], columns: Sequence[Column]) -> StructType:
    pairs = zip(names, columns, strict=True)
    return StructType([StructField(name, one.type) for name, one in pairs])


def _record(fields: Sequence[types.Field]) -> Column:
    columns = [column(field.type) for field in fields]
    writes = [one.write for one in columns]
    kind = _struct(distinct(field.name for field in fields), columns)
    return Column(
        kind,
        lambda value: tuple(write(part) for write, part in zip(writes, value, strict=True)),
    )


def _union(kind: types.Union) -> Column:
    # Variants without fields have no place of their own.
    places = [number for number, variant in enumerate(kind.variants) if variant.fields]
    columns = [_record(kind.variants[number].fields) for number in places]
    names = distinct((kind.variants[number].name for number in places), (TAG,))
    writes: dict[int, tuple[int, Write]] = {
        number: (place, one.write)
        for place, (number, one) in enumerate(zip(places, columns, strict=True), 1)
    }
    tags = [variant.name for variant in kind.variants]
    empty = (None,) * len(places)

    def write(value: tuple[Value, ...]) -> object:
        # The value of a union begins with the number of its variant.
        number = int(value[0])  # type: ignore[arg-type]
        row: list[object] = [tags[number], *empty]
        if number in writes:
            place, fields = writes[number]
            row[place] = fields(value[1:])
        return tuple(row)

    return Column(_struct((TAG, *names), (Column(StringType(), str), *columns)), write)


def _option(element: Type) -> Column:
    # There are no options of options: null is clear.
    assert not isinstance(element, types.Option)
    one = column(element)
    write = one.write
    return Column(one.type, lambda value: write(value[0]) if value else None)


def _map(key: Type, item: Type) -> Column:
    scalar = isinstance(key, types.Bool | types.Int | types.Machine | types.Enum)
    keys = column(key) if scalar else _text(key)
    written = [keys.write(value) for value in values(key)]
    one = column(item)
    write = one.write
    return Column(
        MapType(keys.type, one.type),
        lambda value: dict(zip(written, (write(part) for part in value), strict=True)),
    )
