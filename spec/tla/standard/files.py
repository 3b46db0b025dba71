# pyright: basic
"""Json, IOUtils, CSV and SVG: the runtime allows reading; writing and commands are refused."""

from __future__ import annotations

import json
import math
import re
from html import escape
from typing import Any, Final, NoReturn

from fencepost.spec.tla.standard.rows import Call, integer, new_string, record, string
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    Boolean,
    EvaluationError,
    Function,
    ModelValue,
    NotAllowed,
    Value,
)
from fencepost.spec.tla.values.universe import Universe

MAX_JSON_DEPTH: Final = 100
"""Maximum nesting of JSON."""
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)


def _text(universe: Universe, name: str, path: Value) -> str:
    file = string(universe, name, path)
    try:
        text = universe.runtime.read(file)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else None
        raise EvaluationError(f"{name} cannot read {file}: {reason or problem}.") from None
    if text is None:
        raise NotAllowed(f"{name} may read {file} only if --allow-read names its folder.")
    universe.runtime.files[file] = None
    return text


def _value(universe: Universe, data: Any) -> Value:
    """Returns JSON as a value: arrays are sequences and objects are records. What TLA+ does not
    have is a model value, which equals nothing else: null, and a number with decimals.
    """
    match data:
        case None:
            return universe.model_value("null")
        case bool():
            return TRUE if data else FALSE
        case str():
            return new_string(universe, data)
        case list():
            return tuple(_value(universe, item) for item in data)
        case dict():
            return record(universe, {key: _value(universe, item) for key, item in data.items()})
        case _:
            return data


def _parsed(universe: Universe, name: str, text: str, file: Value, line: int = 1) -> Value:
    """Returns the value of a text of JSON, which begins in a line of a file."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number of JSON")

    def decimal(digits: str) -> Value:
        number = float(digits)
        return int(number) if number.is_integer() else universe.model_value(digits)

    try:
        if _nesting(text) > MAX_JSON_DEPTH:
            raise ValueError(f"it is nested more than {MAX_JSON_DEPTH} deep")
        return _value(universe, json.loads(text, parse_float=decimal, parse_constant=refuse))
    except ValueError as problem:
        where, reason = f"line {line}", str(problem)
        if isinstance(problem, json.JSONDecodeError):
            where, reason = f"line {line + problem.lineno - 1}", problem.msg.lower()
            where += f", column {problem.colno}"
        message = f"{name} cannot read {file} as JSON, {where}: {reason}."
        raise EvaluationError(message) from None


def _nesting(text: str) -> int:
    """Returns the nesting of JSON, or 0 if it cannot be too deep."""
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return 0
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        deepest = max(deepest, depth)
    return deepest


def _deserialize(universe: Universe, path: Value) -> Value:
    name = "JsonDeserialize"
    return _parsed(universe, name, _text(universe, name, path), path)


def _deserialize_lines(universe: Universe, path: Value) -> Value:
    name = "ndJsonDeserialize"
    lines = re.split(r"\r\n|\n|\r", _text(universe, name, path))
    return tuple(
        _parsed(universe, name, line, path, number)
        for number, line in enumerate(lines, 1)
        if line.strip()
    )


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
        raise NotAllowed("IOEnv may be read only with --allow-read.")
    universe.environment = _value(universe, dict(universe.runtime.environment))
    return universe.environment


def _number(universe: Universe, text: Value) -> int:
    try:
        return int(string(universe, "atoi", text))
    except ValueError:
        raise universe.error("atoi is applied to {}, which is not a number", text) from None


def _refused(name: str, reason: str) -> Call:
    def call(universe: Universe, *arguments: Value) -> Value:
        raise NotAllowed(f"{name} is refused: a module may not {reason}.")

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
    return record(universe, position)


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
