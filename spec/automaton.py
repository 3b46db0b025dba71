"""Runs the parse table: tokens in, nodes out, by the usual shifting and reducing.

It knows neither the language nor its nodes: a `Builder` makes those. A word is a keyword where
the table has a place for that keyword, else a name unless it is reserved.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from fencepost.spec.tokens import END, NAME, Token, word_set

Start: TypeAlias = Literal["chunk", "expression"]

_ALWAYS_RESERVED = word_set("and or not implies iff in is if then else elif for case where with")
"""No place for a name has room for these, but nobody could read a spec that used them as names."""


class Rule(NamedTuple):
    """A rule of the table; `grammar.made` tells what each part is."""

    origin: str
    name: str | None
    size: int
    single: bool
    children: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Table:
    """The parse table: per state what to do on a token, and where to go after a rule.

    ``reserved`` are the keywords that stand where a name could stand too.
    """

    starts: Mapping[str, tuple[int, int]]
    rules: Sequence[Rule]
    actions: Sequence[Mapping[str, int]]
    gotos: Sequence[Mapping[str, int]]
    keywords: frozenset[str]
    reserved: frozenset[str]


@cache
def table() -> Table:
    """The table that is shipped beside this module."""
    text = pkgutil.get_data("fencepost.spec", "grammar.json")
    assert text is not None
    data: Any = json.loads(text)
    actions: list[dict[str, int]] = [row[0] for row in data["states"]]
    keywords = frozenset(
        word for row in actions for word in row if word.isidentifier() and word.islower()
    )
    beside = {word for row in actions if NAME in row for word in row}
    return Table(
        starts={start: (first, last) for start, (first, last) in data["starts"].items()},
        rules=[Rule(*rule) for rule in data["rules"]],
        actions=actions,
        gotos=[row[1] for row in data["states"]],
        keywords=keywords,
        reserved=_ALWAYS_RESERVED | (keywords & beside),
    )


Builder: TypeAlias = Callable[[str, Sequence[Any], int, int], Any]
"""Makes the node of a rule from its name, its children, and where it starts and ends."""


MAX_DEPTH = 120
"""How deep a tree may be, so that every later phase may walk it by recursion."""


class Unexpected(Exception):
    """A token that has no place where it stands; ``stack`` are the states in front of it."""

    def __init__(self, start: Start, tokens: Sequence[Token], index: int) -> None:
        self.tokens = tokens
        self.index = index
        # By now the run may have reduced by rules that only this token, in another place, would
        # call for, and what could have stood here is lost. So the tokens are followed again.
        self.stack, _ = follow(start, tokens[:index])
        super().__init__(tokens[index])


class TooDeep(Exception):
    """A node with more than `MAX_DEPTH` nodes below each other; ``token`` is the first in it."""

    def __init__(self, token: Token) -> None:
        self.token = token
        super().__init__(token)


def run(start: Start, tokens: Sequence[Token], build: Builder) -> Any:
    """The node for ``tokens``, which end with ``END``; raises `Unexpected` and `TooDeep`."""
    rules, actions, gotos = table().rules, table().actions, table().gotos
    reserved = table().reserved
    first, last = table().starts[start]
    states = [first]
    values: list[Any] = []
    depths: list[int] = []
    starts: list[int] = []
    end = tokens[0].start
    for index, token in enumerate(tokens):
        kind = token.kind
        while True:
            action = actions[states[-1]].get(_symbol(actions[states[-1]], token, reserved))
            if action is None:
                raise Unexpected(start, tokens, index)
            if action >= 0:
                states.append(action)
                values.append(token)
                depths.append(0)
                starts.append(token.start)
                end = token.end
                break
            rule = rules[-1 - action]
            size = rule.size
            if size:
                begin = starts[-size]
                depth = max(depths[-size:])
                children = _children(rule.children, values[-size:])
                del states[-size:], values[-size:], depths[-size:], starts[-size:]
            else:
                begin, depth = token.start, 0
                children = []
            if rule.name is None:
                value = children
            elif rule.single and len(children) == 1:
                value = children[0]
            else:
                value = build(rule.name, children, begin, end)
                depth += not isinstance(value, tuple)
                if depth > MAX_DEPTH:
                    raise TooDeep(next(t for t in tokens if t.start >= begin))
            states.append(gotos[states[-1]][rule.origin])
            values.append(value)
            depths.append(depth)
            starts.append(begin)
            if kind == END and states[-1] == last:
                return value
    raise AssertionError("the tokens do not end with END")


def _symbol(row: Mapping[str, int], token: Token, reserved: Set[str]) -> str:
    """What a token counts as in a state: a keyword by its text, anything else by its kind."""
    if token.kind == NAME and (token.text in row or token.text in reserved):
        return token.text
    return token.kind


def follow(start: Start, tokens: Sequence[Token]) -> tuple[Sequence[int], Sequence[str]]:
    """The states after ``tokens``, and what each of them counts as; each must have its place."""
    rules, actions, gotos = table().rules, table().actions, table().gotos
    states = [table().starts[start][0]]
    symbols: list[str] = []
    for token in tokens:
        while True:
            symbol = _symbol(actions[states[-1]], token, table().reserved)
            action = actions[states[-1]][symbol]
            if action >= 0:
                states.append(action)
                symbols.append(symbol)
                break
            rule = rules[-1 - action]
            if rule.size:
                del states[-rule.size :]
            states.append(gotos[states[-1]][rule.origin])
    return states, symbols


def _children(recipe: Sequence[int | None], values: Sequence[Any]) -> list[Any]:
    children: list[Any] = []
    for index in recipe:
        if index is None:
            children.append(None)
        elif index >= 0:
            children.append(values[index])
        elif children:
            children += values[-1 - index]
        else:
            # The list of an inlined rule belongs to nobody else, so it may grow in place.
            children = values[-1 - index]
    return children


def symbol_of(state: int) -> str:
    """The symbol of the grammar that every way into a state reads last."""
    return _symbols()[state]


@cache
def _symbols() -> Mapping[int, str]:
    symbols: dict[int, str] = {}
    for actions, gotos in zip(table().actions, table().gotos, strict=True):
        symbols.update((state, symbol) for symbol, state in actions.items() if state >= 0)
        symbols.update((state, symbol) for symbol, state in gotos.items())
    return symbols


def expected(stack: Sequence[int]) -> frozenset[str]:
    """The tokens (keywords and signs as they are written) that could stand here.

    The table alone says too much: a look-ahead may be fine for a rule, and then find no place in
    what the rule is a part of. So each candidate is tried.
    """
    candidates = table().actions[stack[-1]]
    return frozenset(symbol for symbol in candidates if _accepts(list(stack), symbol))


def _accepts(states: list[int], symbol: str) -> bool:
    rules, actions, gotos = table().rules, table().actions, table().gotos
    while (action := actions[states[-1]].get(symbol)) is not None:
        if action >= 0:
            return True
        rule = rules[-1 - action]
        if rule.size:
            del states[-rule.size :]
        states.append(gotos[states[-1]][rule.origin])
        if symbol == END and len(states) == 2:
            return True
    return False
