# pyright: basic
"""Json, IOUtils, CSV and SVG: the runtime allows reading; writing and commands are refused."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any, Final

from fencepost.spec.tla.standard.rows import Call, integer, new_string, string
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    Boolean,
    EvaluationError,
    Function,
    ModelValue,
    Value,
)
from fencepost.spec.tla.values.universe import Universe


def _text(universe: Universe, name: str, path: Value) -> str:
    file = string(universe, name, path)
    if universe.runtime.read is None:
        raise EvaluationError(f"{name} may read {file} only if --allow-read names its folder.")
    try:
        return universe.runtime.read(file)
    except (OSError, ValueError) as problem:
        raise EvaluationError(f"{name} cannot read {file}: {problem}.") from None


def _value(universe: Universe, name: str, data: Any) -> Value:
    """Returns JSON as a value: arrays are sequences and objects are records."""
    match data:
        case bool():
            return TRUE if data else FALSE
        case int():
            return data
        case str():
            return new_string(universe, data)
        case list():
            return tuple(_value(universe, name, item) for item in data)
        case dict():
            fields = {new_string(universe, key): item for key, item in data.items()}
            domain = universe.domain_of(frozenset(fields))
            return domain.function(
                [_value(universe, name, fields[str(key)]) for key in domain.elements]
            )
        case _:
            raise EvaluationError(f"{name} reads {json.dumps(data)}, which is not a TLA+ value.")


def _parsed(universe: Universe, name: str, text: str) -> Value:
    try:
        return _value(universe, name, json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise EvaluationError(f"{name} reads a text that is not JSON: {problem}.") from None


def _deserialize(universe: Universe, path: Value) -> Value:
    return _parsed(universe, "JsonDeserialize", _text(universe, "JsonDeserialize", path))


def _deserialize_lines(universe: Universe, path: Value) -> Value:
    lines = _text(universe, "ndJsonDeserialize", path).splitlines()
    return tuple(_parsed(universe, "ndJsonDeserialize", line) for line in lines if line.strip())


def _data(universe: Universe, value: Value) -> Any:
    """Returns a value as JSON data: sets and sequences as arrays, functions as objects."""
    match value:
        case int() | str():
            return value
        case Boolean():
            return value is TRUE
        case ModelValue():
            return value.name
        case Function():
            names = [
                key if isinstance(key, str) else universe.show(key) for key, _ in value.items()
            ]
            return dict(zip(names, (_data(universe, item) for item in value[1:]), strict=True))
        case tuple():
            return [_data(universe, item) for item in value]
        case _:
            return [_data(universe, item) for item in universe.elements(value)]


def _to_json(universe: Universe, value: Value) -> str:
    text = json.dumps(_data(universe, universe.normalise(value)), separators=(",", ":"))
    return new_string(universe, text)


def _environment(universe: Universe) -> Value:
    if universe.runtime.environment is None:
        raise EvaluationError("IOEnv may be read only with --allow-read.")
    return _value(universe, "IOEnv", dict(universe.runtime.environment))


def _number(universe: Universe, text: Value) -> int:
    try:
        return int(string(universe, "atoi", text))
    except ValueError:
        raise universe.error("atoi is applied to {}, which is not a number", text) from None


def _refused(name: str, reason: str) -> Call:
    def call(universe: Universe, *arguments: Value) -> Value:
        raise EvaluationError(f"{name} is refused: a module may not {reason}.")

    return call


def _writes(name: str, arity: int) -> tuple[int, Call]:
    return arity, _refused(name, "write files")


def _runs(name: str, arity: int) -> tuple[int, Call]:
    return arity, _refused(name, "start processes")


def _csv(universe: Universe, columns: Value, delimiter: Value, path: Value) -> Value:
    names = [string(universe, "CSVRead", name) for name in columns]
    domain = universe.domain_of(frozenset(names))
    rows: list[Value] = []
    for line in _text(universe, "CSVRead", path).splitlines():
        cells = dict(zip(names, line.split(string(universe, "CSVRead", delimiter)), strict=False))
        rows.append(
            domain.function([new_string(universe, cells.get(str(n), "")) for n in domain.elements])
        )
    return tuple(rows)


# ---------------------------------------------------------------- drawings


def _element(universe: Universe, element: Value) -> str:
    parts = universe.pairs(element)
    name = string(universe, "SVGElemToString", parts.get("name"))
    attributes = "".join(
        f" {key}='{escape(str(value))}'" for key, value in universe.pairs(parts["attrs"]).items()
    )
    inner = "".join(_element(universe, child) for child in parts["children"])
    return f"<{name}{attributes}>{inner}{escape(str(parts['innerText']))}</{name}>"


def _ring_node(
    universe: Universe, x: Value, y: Value, radius: Value, node: Value, count: Value
) -> Value:
    angle = 2 * math.pi * integer(universe, "NodeOfRingNetwork", node) / count
    position = {"x": int(x + radius * math.cos(angle)), "y": int(y + radius * math.sin(angle))}
    return _value(universe, "NodeOfRingNetwork", position)


JSON: Final[dict[str, tuple[int, Call]]] = {
    "ToJson": (1, _to_json),
    "ToJsonArray": (1, _to_json),
    "ToJsonObject": (1, _to_json),
    "JsonDeserialize": (1, _deserialize),
    "ndJsonDeserialize": (1, _deserialize_lines),
    "JsonSerialize": _writes("JsonSerialize", 2),
    "ndJsonSerialize": _writes("ndJsonSerialize", 2),
}
IO_UTILS: Final[dict[str, tuple[int, Call]]] = {
    "IOEnv": (0, _environment),
    "atoi": (1, _number),
    "zeroPadN": (
        2,
        lambda universe, number, width: new_string(universe, str(number).zfill(width)),
    ),
    "IODeserialize": (2, _refused("IODeserialize", "read Java objects")),
    "Deserialize": (2, _refused("Deserialize", "read Java objects")),
    "IOSerialize": _writes("IOSerialize", 3),
    "Serialize": _writes("Serialize", 3),
    "IOExec": _runs("IOExec", 1),
    "IOEnvExec": _runs("IOEnvExec", 2),
    "IOExecTemplate": _runs("IOExecTemplate", 2),
    "IOEnvExecTemplate": _runs("IOEnvExecTemplate", 3),
}
CSV: Final[dict[str, tuple[int, Call]]] = {
    "CSVRead": (3, _csv),
    "CSVRecords": (
        1,
        lambda universe, path: len(_text(universe, "CSVRecords", path).splitlines()),
    ),
    "CSVWrite": _writes("CSVWrite", 3),
    "CSVWriteRecord": _writes("CSVWriteRecord", 4),
}
SVG: Final[dict[str, tuple[int, Call]]] = {
    "SVGElemToString": (
        1,
        lambda universe, element: new_string(universe, _element(universe, element)),
    ),
    "NodeOfRingNetwork": (5, _ring_node),
    "SVGSerialize": _writes("SVGSerialize", 3),
}
