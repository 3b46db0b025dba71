"""The grammar as data: what Lark makes of grammar.lark, prepared for the package as JSON.

Preparing takes Lark longer than a small check takes altogether, so the build does it beforehand,
and writes grammar.json beside this module. In a checkout that was never built, or where the
grammar or Lark has changed since, it is done at each start instead; there ``python -m
fencepost.spec.syntax.parse_table`` writes the file. The build loads this module without the
package.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import lark
from lark.grammar import Rule
from lark.lark import PostLex
from lark.lexer import TerminalDef, Token

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLE = Path(__file__).with_name("grammar.json")
STARTS = ("chunk", "expression")

_SHIFT = 0
_OPTIONS = ("parser", "lexer", "start", "maybe_placeholders")


class _Unused(PostLex):
    """Keeps the terminals that no rule names; Lark would drop them."""

    always_accept = ("BREAK", "FOREIGN", "STRANGE")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def compiled(**options: Any) -> lark.Lark:
    """The parser that Lark makes from the grammar itself, with further ``options`` of Lark's."""
    return lark.Lark(
        GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer="contextual", start=list(STARTS),
        maybe_placeholders=True, postlex=_Unused(), **options,
    )  # fmt: skip


def made() -> str:
    """The text of grammar.json for the grammar as it stands and the Lark that is installed."""
    parser: Any = compiled()
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"] = {name: data["options"][name] for name in _OPTIONS}
    data["parser"]["parser"] = _in_order(data["parser"]["parser"])
    return json.dumps({"stamp": stamp(), "data": data, "memo": memo}, separators=(",", ":"))


def _in_order(table: Any) -> Any:
    """A parse table whose states have the numbers in which they are met from the start.

    Lark numbers them in the order of a set, and the same sources should make the same package.
    """
    names: dict[int, str] = table["tokens"]
    rows = {
        state: sorted((names[number], action) for number, action in row.items())
        for state, row in table["states"].items()
    }
    order: dict[int, int] = {}
    queue: list[int] = [table["start_states"][start] for start in STARTS]
    for state in queue:
        if state not in order:
            order[state] = len(order)
            queue += (to for _, (kind, to) in rows[state] if kind == _SHIFT)
    numbers = {name: number for number, name in enumerate(sorted(names.values()))}
    return {
        "tokens": {number: name for name, number in numbers.items()},
        "states": {
            number: {
                numbers[name]: (kind, order[to] if kind == _SHIFT else to)
                for name, (kind, to) in rows[state]
            }
            for state, number in order.items()
        },
        "start_states": {start: order[table["start_states"][start]] for start in STARTS},
        "end_states": {start: order[table["end_states"][start]] for start in STARTS},
    }


def stamp() -> str:
    """What a table is made from: the version of Lark and the text of the grammar."""
    return f"{lark.__version__} {hashlib.sha256(GRAMMAR.read_bytes()).hexdigest()}"


def stored() -> Any:
    """The data in grammar.json, or None if there is none for this grammar and this Lark."""
    try:
        data: Any = json.loads(TABLE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return data if data["stamp"] == stamp() else None


def write() -> None:
    """Writes grammar.json if it is missing or out of date."""
    if stored() is None:
        # At once and whole: others may be reading, or writing the same.
        own = TABLE.with_suffix(f".{os.getpid()}")
        own.write_text(made(), encoding="utf-8")
        own.replace(TABLE)


@cache
def prepared() -> Any:
    """The grammar as Lark loads it: ``data`` and ``memo``, with the numbers that JSON has not."""
    loaded = stored() or json.loads(made())
    loaded["memo"] = {int(number): value for number, value in loaded["memo"].items()}
    table = loaded["data"]["parser"]["parser"]
    table["tokens"] = {int(number): name for number, name in table["tokens"].items()}
    table["states"] = {
        int(state): {int(token): action for token, action in row.items()}
        for state, row in table["states"].items()
    }
    return loaded


def terminals() -> list[Any]:
    """The terminals as data: ``name``, ``priority`` and ``pattern`` (``value``, ``__type__``)."""
    return [item for item in prepared()["memo"].values() if item["__type__"] == "TerminalDef"]


if __name__ == "__main__":
    write()
