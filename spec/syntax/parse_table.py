"""Stores the grammar as data: grammar.lark, prepared by Lark and saved as JSON for the package.

Preparing the grammar takes Lark longer than a whole small check takes, so the build does it in
advance and writes grammar.json next to this module. In a checkout that was never built, or after a
change of the grammar or of Lark, the grammar is prepared at each start instead; to write the file
there, run ``python -m fencepost.spec.syntax.parse_table``. The build loads this module without the
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
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.lark import PostLex
from lark.lexer import TerminalDef, Token

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLE = Path(__file__).with_name("grammar.json")
STARTS = ("chunk", "expression")

_SHIFT = 0
_OPTIONS = ("parser", "lexer", "start", "maybe_placeholders")


class _Unused(PostLex):
    """Keeps terminals that no rule mentions, which Lark would drop."""

    always_accept = ("BREAK", "FOREIGN", "STRANGE")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def compiled(**options: Any) -> lark.Lark:
    """Returns the parser that Lark builds from the grammar. ``options`` are further options of
    Lark.
    """
    return lark.Lark(
        GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer="contextual", start=list(STARTS),
        maybe_placeholders=True, postlex=_Unused(), **options,
    )  # fmt: skip


def made() -> str:
    """Returns the text of grammar.json for the current grammar and the installed Lark."""
    parser: Any = compiled()
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"] = {name: data["options"][name] for name in _OPTIONS}
    terminals = [entry for entry in memo.values() if entry["__type__"] == "TerminalDef"]
    rules = [entry for entry in memo.values() if entry["__type__"] == "Rule"]
    assert [*memo.values()] == [*terminals, *rules]
    data["parser"]["parser"] = _in_order(data["parser"]["parser"], len(terminals))
    symbols, options = _Numbers(), _Numbers()
    prepared = {
        "stamp": stamp(),
        "data": data,
        "terminals": terminals,
        "rules": [
            [
                symbols.number(rule["origin"]),
                [symbols.number(symbol) for symbol in rule["expansion"]],
                rule["order"],
                rule["alias"],
                options.number(rule["options"]),
            ]
            for rule in rules
        ],
        "symbols": symbols.found,
        "options": options.found,
    }
    return json.dumps(prepared, separators=(",", ":"))


class _Numbers:
    """Assigns a number to each distinct value, so that it is stored only once."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def number(self, value: Any) -> int:
        if value not in self.found:
            self.found.append(value)
        return self.found.index(value)


def _in_order(table: Any, first_rule: int) -> Any:
    """Renumbers the states of a parse table in the order of a traversal from the start states.

    Lark numbers states in the order of a set, but the same sources should always produce the same
    package. Each state has a list of tokens to shift, with the states that they lead to, and a list
    of rules to reduce, with their lookahead tokens. ``first_rule`` is the number of the first rule.
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
    states: list[tuple[dict[int, int], dict[int, list[int]]]] = []
    for state in order:
        shifts: dict[int, int] = {}
        reductions: dict[int, list[int]] = {}
        for name, (kind, to) in rows[state]:
            if kind == _SHIFT:
                shifts[numbers[name]] = order[to]
            else:
                reductions.setdefault(to["@"] - first_rule, []).append(numbers[name])
        states.append((shifts, reductions))
    return {
        "tokens": [*numbers],
        "states": [[[*shifts.items()], [*reductions.items()]] for shifts, reductions in states],
        "start_states": {start: order[table["start_states"][start]] for start in STARTS},
        "end_states": {start: order[table["end_states"][start]] for start in STARTS},
    }


def stamp() -> str:
    """Returns a text that identifies the inputs of a table: the version of Lark, the grammar, and
    this module.
    """
    text = GRAMMAR.read_bytes() + Path(__file__).read_bytes()
    return f"{lark.__version__} {hashlib.sha256(text).hexdigest()}"


def stored() -> Any:
    """Returns the data in grammar.json, or None if the file is missing, or was written for another
    grammar or another version of Lark.
    """
    try:
        data: Any = json.loads(TABLE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return data if data["stamp"] == stamp() else None


def write() -> None:
    """Writes grammar.json if it is missing or out of date."""
    if stored() is None:
        # The write is atomic, because other processes may be reading the file, or writing the same
        # content.
        own = TABLE.with_suffix(f".{os.getpid()}")
        own.write_text(made(), encoding="utf-8")
        own.replace(TABLE)


@cache
def prepared() -> Any:
    """Returns the grammar in the form that Lark loads, with ``data`` and ``memo``.

    Parts that Lark loads slowly are handled here: this function builds ``rules``, and the parse
    table has the format of `_in_order`.
    """
    loaded = stored() or json.loads(made())
    symbols: list[Any] = [
        NonTerminal(entry["name"])
        if entry["__type__"] == "NonTerminal"
        else Terminal(entry["name"], filter_out=entry["filter_out"])
        for entry in loaded["symbols"]
    ]
    options: list[Any] = [RuleOptions.deserialize(entry, {}) for entry in loaded["options"]]
    loaded["rules"] = [
        Rule(
            symbols[origin], [symbols[entry] for entry in expansion], order, alias, options[option]
        )
        for origin, expansion, order, alias, option in loaded["rules"]
    ]
    loaded["memo"] = dict(enumerate([*loaded["terminals"], *loaded["rules"]]))
    return loaded


def terminals() -> list[Any]:
    """Returns the terminals as data, with ``name``, ``priority`` and ``pattern`` (``value``,
    ``__type__``).
    """
    entries: list[Any] = prepared()["terminals"]
    return entries


if __name__ == "__main__":
    write()
