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
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
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
    terminals = [one for one in memo.values() if one["__type__"] == "TerminalDef"]
    rules = [one for one in memo.values() if one["__type__"] == "Rule"]
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
    """Numbers for values, each of which is written once."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def number(self, value: Any) -> int:
        if value not in self.found:
            self.found.append(value)
        return self.found.index(value)


def _in_order(table: Any, first_rule: int) -> Any:
    """A parse table whose states have the numbers in which they are met from the start.

    Lark numbers them in the order of a set, and the same sources should make the same package. Of
    each state there are the tokens to shift, with the states that they lead to; and rules, with the
    tokens in front of which a rule is reduced. ``first_rule`` is the number of the first.
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
    """What a table is made from: the version of Lark, the text of the grammar, and this module."""
    text = GRAMMAR.read_bytes() + Path(__file__).read_bytes()
    return f"{lark.__version__} {hashlib.sha256(text).hexdigest()}"


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
    """The grammar as Lark loads it, ``data`` and ``memo``, but for what it would take long to load:
    ``rules`` are made here, and the parse table is as `_in_order` makes it.
    """
    loaded = stored() or json.loads(made())
    symbols: list[Any] = [
        NonTerminal(one["name"])
        if one["__type__"] == "NonTerminal"
        else Terminal(one["name"], filter_out=one["filter_out"])
        for one in loaded["symbols"]
    ]
    options: list[Any] = [RuleOptions.deserialize(one, {}) for one in loaded["options"]]
    loaded["rules"] = [
        Rule(symbols[origin], [symbols[one] for one in expansion], order, alias, options[option])
        for origin, expansion, order, alias, option in loaded["rules"]
    ]
    loaded["memo"] = dict(enumerate([*loaded["terminals"], *loaded["rules"]]))
    return loaded


def terminals() -> list[Any]:
    """The terminals as data: ``name``, ``priority`` and ``pattern`` (``value``, ``__type__``)."""
    found: list[Any] = prepared()["terminals"]
    return found


if __name__ == "__main__":
    write()
