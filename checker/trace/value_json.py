"""Values as JSON: what every form of it has in common, whatever it makes of what JSON lacks."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.printing.json_values import Json
from fencepost.spec.core import types
from fencepost.spec.core.types import Field, Type, Value, values
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """Booleans are booleans, members of enums strings, records objects, unions ``{"tag": ...,
    "value": {fields}}``, sequences and bags arrays; the rest is up to the form.
    """

    integer: Callable[[int], Json]
    some: Callable[[Json, Type], Json]
    """The content of an option, written, and its type."""
    none: Json
    set: Callable[[list[Json]], Json]
    map: Callable[[list[Json]], Json]
    """Of the pairs ``[key, value]``."""

    def of(self, value: Value, kind: Type) -> Json:
        """A value of type ``kind``."""
        match kind, value:
            case types.Bool(), _:
                return bool(value)
            case types.Integer(), int():
                return self.integer(value)
            case types.Enum(members=members), int():
                return members[value]
            case types.Record(fields=fields), tuple():
                return self._fields(value, fields)
            case types.Union(variants=variants), (int(tag), *payload):
                variant = variants[tag]
                return {"tag": variant.name, "value": self._fields(tuple(payload), variant.fields)}
            case types.Option(element), tuple():
                return self.some(self.of(value[0], element), element) if value else self.none
            case types.Set(element), tuple():
                return self.set([self.of(item, element) for item in value])
            case ((types.Seq(element) | types.Bag(element)), tuple()):
                return [self.of(item, element) for item in value]
            case types.Map(key, item), tuple():
                pairs = zip(values(key), value, strict=True)
                return self.map([[self.of(k, key), self.of(v, item)] for k, v in pairs])
            case _:
                raise AssertionError(f"{value!r} is not a value of {kind!r}")

    def _fields(self, payload: tuple[Value, ...], fields: tuple[Field, ...]) -> dict[str, Json]:
        return {f.name: self.of(v, f.type) for f, v in zip(fields, payload, strict=True)}
