"""Makes grammar.json, the parse table, from grammar.lark: the only user of Lark.

Run ``python -m fencepost.spec.grammar`` after each change of the grammar; a test fails when the
table is out of date. At run time `automaton.py` reads the table, and Lark is not needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import Rule
from lark.lexer import PatternStr
from lark.parsers.lalr_analysis import Shift

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLE = Path(__file__).with_name("grammar.json")
STARTS = ("chunk", "expression")


def made() -> str:
    """The text of grammar.json for the grammar as it stands; the same on every run.

    Each state has its actions and its gotos. An action is a state to shift to, or ``-1 - rule``.
    A rule is the symbol it reduces to, the name of the node to build (null: a part of another
    node), the number of symbols, whether a single child stands for the whole, and how the
    children are made of the symbols: ``n`` is symbol n, ``-1 - n`` the list that symbol n is,
    null an optional part that is absent.
    """
    text = GRAMMAR.read_text(encoding="utf-8")
    lark = Lark(text, parser="lalr", lexer="basic", start=list(STARTS), maybe_placeholders=True)
    frontend: Any = lark.parser
    table = frontend.parser._parse_table
    spelled = {
        terminal.name: terminal.pattern.value
        for terminal in lark.terminals
        if isinstance(terminal.pattern, PatternStr)
    }
    rules = {rule: number for number, rule in enumerate(lark.rules)}
    # Lark numbers the states in the order of a set, so they get new numbers here.
    order: dict[int, int] = {}
    queue: list[int] = [table.start_states[start] for start in STARTS]
    for state in queue:
        if state not in order:
            order[state] = len(order)
            entries = sorted(table.states[state].items())
            queue += (argument for _, (action, argument) in entries if action is Shift)
    rows = [json.dumps(_row(table.states[state], spelled, rules, order)) for state in order]
    starts = {s: [order[table.start_states[s]], order[table.end_states[s]]] for s in STARTS}
    lines = [
        f'"grammar": "{hashlib.sha256(text.encode()).hexdigest()}"',
        f'"starts": {json.dumps(starts)}',
        '"rules": [\n' + ",\n".join(json.dumps(_rule(rule)) for rule in lark.rules) + "\n]",
        '"states": [\n' + ",\n".join(rows) + "\n]",
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _row(
    entries: Mapping[str, tuple[Any, Any]],
    spelled: Mapping[str, str],
    rules: Mapping[Rule, int],
    order: Mapping[int, int],
) -> list[dict[str, int]]:
    actions: dict[str, int] = {}
    gotos: dict[str, int] = {}
    for symbol, (action, argument) in sorted(entries.items()):
        if action is not Shift:
            actions[spelled.get(symbol, symbol)] = -1 - rules[argument]
        elif symbol.isupper():
            actions[spelled.get(symbol, symbol)] = order[argument]
        else:
            gotos[symbol] = order[argument]
    return [actions, gotos]


def _rule(rule: Rule) -> list[object]:
    inlined = rule.origin.name.startswith("_")
    name = None if inlined else str(rule.alias or rule.origin.name)
    single = bool(rule.options.expand1) and not rule.alias
    return [str(rule.origin.name), name, len(rule.expansion), single, _children(rule)]


def _children(rule: Rule) -> Sequence[int | None]:
    present: Sequence[bool] = rule.options.empty_indices or (False,) * len(rule.expansion)
    children: list[int | None] = []
    index = 0
    for absent in present:
        if absent:
            children.append(None)
            continue
        symbol: Any = rule.expansion[index]
        if symbol.is_term:
            if rule.options.keep_all_tokens or not symbol.filter_out:
                children.append(index)
        else:
            children.append(-1 - index if symbol.name.startswith("_") else index)
        index += 1
    return children


if __name__ == "__main__":
    TABLE.write_text(made(), encoding="utf-8")
