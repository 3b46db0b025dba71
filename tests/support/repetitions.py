"""The repetitions and recursive rules of the grammar, and how many times each occurs in a text.

The rules are taken from Lark after compilation, when ``*`` and ``+`` have become separate rules
that begin with themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lark.grammar import Rule

from fencepost.spec.syntax.lalr import loaded_parser, rules
from fencepost.spec.syntax.layout import chunks, lines

Site = tuple[str, str]
"""A rule of grammar.lark and its repeated part: either an item of a list, or an alternative that
contains the rule itself.
"""


@dataclass(frozen=True, slots=True)
class _Counts:
    """The number of repetitions in a part of a text, by site.

    ``open`` has the numbers for lists whose rule is not complete yet.
    """

    closed: Mapping[Site, int]
    open: Mapping[str, int]


def _symbols(rule: Rule) -> list[str]:
    return [str(symbol.name) for symbol in rule.expansion]


def _is_generated(name: str) -> bool:
    """Checks whether Lark generated a rule for a repetition or a template."""
    return name.startswith("__") or "{" in name


@cache
def _reachable() -> Mapping[str, frozenset[str]]:
    """Returns for each rule the rules that it may contain, directly or indirectly."""
    direct: dict[str, set[str]] = {}
    for rule in rules():
        direct.setdefault(rule.origin.name, set()).update(_symbols(rule))
    return {name: _closure(direct, direct[name]) for name in direct}


def _closure(direct: Mapping[str, Iterable[str]], names: Iterable[str]) -> frozenset[str]:
    closure: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name in direct and name not in closure:
            closure.add(name)
            queue += direct[name]
    return frozenset(closure)


def _repeated(rule: Rule) -> str | None:
    """Returns the item by which a generated rule extends its list, or None."""
    symbols = _symbols(rule)
    extends = _is_generated(rule.origin.name) and symbols[0] == rule.origin.name
    return " ".join(symbols[1:]) if extends else None


def _nested(rule: Rule) -> Site | None:
    """Returns the site of an alternative that contains its own rule and something else, or None."""
    name = rule.origin.name
    if _is_generated(name) or len(rule.expansion) == 1:
        return None
    inner = (symbol for symbol in _symbols(rule) if symbol in _reachable())
    if not any(symbol == name or name in _reachable()[symbol] for symbol in inner):
        return None
    return name, str(rule.alias or " ".join(_symbols(rule)))


def sites() -> set[Site]:
    """Returns every site of the grammar."""
    generated: dict[str, set[str]] = {}
    items: dict[str, str] = {}
    for rule in rules():
        below = {symbol for symbol in _symbols(rule) if _is_generated(symbol)}
        generated.setdefault(rule.origin.name, set()).update(below)
        if (item := _repeated(rule)) is not None:
            items[rule.origin.name] = item
    inside = {name: below for name, below in generated.items() if _is_generated(name)}
    lists = {
        (name, items[inner])
        for name in generated.keys() - inside.keys()
        for inner in _closure(inside, generated[name])
        if inner in items
    }
    return lists | {site for rule in rules() if (site := _nested(rule)) is not None}


def repetitions(text: str) -> Mapping[Site, int]:
    """Returns the maximal number of repetitions of each site at one place of a text that has no
    syntax errors.
    """
    return _joined([_of_chunk(chunk.text) for chunk in chunks(lines(text))])


def _of_chunk(text: str) -> Mapping[Site, int]:
    parser = loaded_parser().parse_interactive(text, start="chunk")
    parser.parser_state.parse_conf.callbacks = _callbacks()
    counts: _Counts = parser.resume_parse().children
    return counts.closed


def _joined(parts: Sequence[Mapping[Any, int]]) -> dict[Any, int]:
    joined: dict[Any, int] = {}
    for part in parts:
        for site, count in part.items():
            joined[site] = max(count, joined.get(site, 0))
    return joined


@dataclass(slots=True)
class _Node:
    """The interface that Lark expects of a node: a result and an end."""

    children: _Counts
    end_pos: int = 0


@cache
def _callbacks() -> Mapping[Rule, Any]:
    return {rule: _callback(rule) for rule in rules()}


def _callback(rule: Rule) -> Any:
    name, item, site = rule.origin.name, _repeated(rule), _nested(rule)

    def reduce(symbols: Sequence[Any]) -> _Node:
        parts = [symbol.children for symbol in symbols if isinstance(symbol, _Node)]
        closed = _joined([part.closed for part in parts])
        open_ = _joined([part.open for part in parts])
        if item is not None:
            open_[item] = open_.get(item, 0) + 1
        if not _is_generated(name):
            closed = _joined([closed, {(name, item): count for item, count in open_.items()}])
            open_ = {}
        if site is not None:
            closed[site] = closed.get(site, 0) + 1
        return _Node(_Counts(closed, open_))

    return reduce
