"""TLA+ text to trees: definitions, and expressions with the precedences and the aligned lists of
conjuncts and disjuncts that "Specifying Systems" gives them (chapter 15).

A tree is a tuple whose first part says what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(
    r"(?P<space>\s+|\\\*[^\n]*)|(?P<string>\"[^\"]*\")|(?P<number>\d+)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>\(\+\)|\(-\)|\\[A-Za-z]+|\|->|->|==|=>|=|/=|<<|>>|<=|>=|\.\.|/\\|\\/|:>|@@|\[\]"
    r"|\\|[-+*%(){}\[\]<>,.:!'~_])"
)
BINARY = {
    "=>": (1, 1), "\\/": (3, 3), "/\\": (3, 3),
    "=": (5, 5), "/=": (5, 5), "<": (5, 5), "<=": (5, 5), ">": (5, 5), ">=": (5, 5),
    "\\in": (5, 5), "\\notin": (5, 5), "@@": (6, 6), ":>": (7, 7),
    "\\cup": (8, 8), "\\cap": (8, 8), "\\": (8, 8), "..": (9, 9),
    "+": (10, 10), "(+)": (10, 10), "-": (11, 11), "(-)": (11, 11),
    "%": (10, 11), "\\div": (13, 13), "*": (13, 13), "\\o": (13, 13),
}  # fmt: skip
"""Operators with the range of their precedences."""
PREFIX = {"~": 4, "-": 12, "SUBSET": 8, "UNION": 8, "DOMAIN": 9, "ENABLED": 4, "UNCHANGED": 4}
LISTS = ("/\\", "\\/")
Tree = Any


@dataclass(frozen=True)
class Token:
    text: str
    kind: str
    line: int
    column: int


@dataclass(frozen=True)
class Definition:
    """``name(parameters) == body``."""

    parameters: tuple[str, ...]
    body: Tree


@dataclass(frozen=True)
class Module:
    """What a module declares."""

    name: str
    variables: tuple[str, ...]
    definitions: dict[str, Definition]
    assumptions: tuple[Tree, ...]


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    place, line, start = 0, 1, 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match is not None, f"line {line}: {text[place : place + 40]!r}"
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(match[0], kind, line, place - start))
        for at in range(place, match.end()):
            if text[at] == "\n":
                line, start = line + 1, at + 1
        place = match.end()
    return found


def read(text: str) -> Module:
    """A module; every definition is read to its end."""
    head = re.match(r"-{4,} MODULE (\w+) -{4,}\n", text)
    assert head is not None
    body, line, _ = text.rpartition("\n====")
    assert line
    reader = _Reader(tokens(body[head.end() :]))
    variables: tuple[str, ...] = ()
    definitions: dict[str, Definition] = {}
    assumptions: list[Tree] = []
    while not reader.over:
        word = reader.take()
        match word.text:
            case "EXTENDS":
                reader.names()
            case "VARIABLES":
                variables = reader.names()
            case "RECURSIVE":
                reader.take()
                reader.arguments(lambda: reader.take().text)
            case "ASSUME":
                assumptions.append(reader.expression())
            case name:
                assert word.kind == "word", word
                assert name not in definitions, f"{name} is defined twice"
                definitions[name] = reader.definition()
    return Module(head[1], variables, definitions, tuple(assumptions))


class _Reader:
    """Reads from left to right; ``_limits`` are the columns of the lists that are open: a token at
    or left of the last one, on a line of its own, ends the item.
    """

    def __init__(self, words: list[Token]) -> None:
        self._words = words
        self._place = 0
        self._limits: list[int] = []

    @property
    def over(self) -> bool:
        return self._place == len(self._words)

    def peek(self, ahead: int = 0) -> str:
        place = self._place + ahead
        if place >= len(self._words):
            return ""
        word = self._words[place]
        if self._limits and word.column <= self._limits[-1]:
            return ""
        return word.text

    def take(self, *expected: str) -> Token:
        word = self._words[self._place]
        assert not expected or self.peek() in expected, (word, expected)
        self._place += 1
        return word

    def names(self) -> tuple[str, ...]:
        found = [self.take().text]
        while self.peek() == ",":
            self.take()
            found.append(self.take().text)
        return tuple(found)

    def arguments(self, item: Any) -> list[Any]:
        self.take("(")
        found = [item()]
        while self.peek() == ",":
            self.take()
            found.append(item())
        self.take(")")
        return found

    def definition(self) -> Definition:
        parameters: list[str] = []
        if self.peek() == "(":
            parameters = self.arguments(lambda: self.take().text)
        self.take("==")
        return Definition(tuple(parameters), self.expression())

    # ------------------------------------------------------------ expressions

    def expression(self, least: int = 0) -> Tree:
        left = self._prefix()
        while True:
            sign = self.peek()
            if sign not in BINARY or BINARY[sign][0] < least:
                return left
            if sign == "=" and self._defines():
                return left
            self.take()
            right = self.expression(BINARY[sign][1] + 1)
            left = ("binary", sign, left, right)

    def _defines(self) -> bool:
        return False

    def _prefix(self) -> Tree:
        word = self.peek()
        if word in LISTS:
            return self._list(word)
        if word == "[]":
            self.take()
            return ("always", self._prefix())
        if word in PREFIX:
            self.take()
            return ("prefix", word, self.expression(PREFIX[word]))
        if word in ("\\A", "\\E"):
            self.take()
            name = self.take().text
            self.take("\\in")
            domain = self.expression(6)
            self.take(":")
            return ("quantified", word, name, domain, self.expression())
        if word == "IF":
            self.take()
            condition = self.expression()
            self.take("THEN")
            then = self.expression()
            self.take("ELSE")
            return ("if", condition, then, self.expression())
        if word == "LET":
            return self._let()
        if word == "CHOOSE":
            self.take()
            name = self.take().text
            self.take("\\in")
            domain = self.expression(6)
            self.take(":")
            return ("choose", name, domain, self.expression())
        return self._postfix(self._primary())

    def _let(self) -> Tree:
        self.take("LET")
        name = self.take().text
        definition = self.definition()
        self.take("IN")
        return ("let", name, definition, self.expression())

    def _list(self, sign: str) -> Tree:
        column = self._words[self._place].column
        items: list[Tree] = []
        while self.peek() == sign and self._words[self._place].column == column:
            self.take()
            self._limits.append(column)
            items.append(self.expression())
            self._limits.pop()
        return ("list", sign, items)

    def _postfix(self, base: Tree) -> Tree:
        while True:
            match self.peek():
                case "[":
                    self.take()
                    index = self.expression()
                    self.take("]")
                    base = ("apply", base, index)
                case ".":
                    self.take()
                    base = ("apply", base, ("value", self.take().text))
                case "'":
                    self.take()
                    base = ("prime", base[1])
                case _:
                    return base

    def _primary(self) -> Tree:
        word = self.take()
        match word.kind, word.text:
            case "number", text:
                return ("value", int(text))
            case "string", text:
                return ("value", text[1:-1])
            case _, "TRUE" | "FALSE":
                return ("value", word.text == "TRUE")
            case _, "(":
                # Brackets shield what is in them from the lists outside? They do not in TLA+.
                inside = self.expression()
                self.take(")")
                return inside
            case _, "{":
                return self._set()
            case _, "<<":
                items: list[Tree] = []
                while self.peek() != ">>":
                    items.append(self.expression())
                    if self.peek() == ",":
                        self.take()
                self.take(">>")
                return ("tuple", items)
            case _, "[":
                return self._bracket()
            case "word", "LAMBDA":
                name = self.take().text
                self.take(":")
                return ("lambda", name, self.expression())
            case "word", name:
                if self.peek() == "(":
                    return ("call", name, self.arguments(self.expression))
                return ("name", name)
            case _:
                raise AssertionError(word)

    def _set(self) -> Tree:
        if self.peek() == "}":
            self.take()
            return ("set", [])
        if self.peek(1) == "\\in":
            start = self._place
            name = self.take().text
            self.take()
            domain = self.expression(6)
            if self.peek() == ":":
                self.take()
                condition = self.expression()
                self.take("}")
                return ("filter", name, domain, condition)
            self._place = start
        first = self.expression()
        if self.peek() == ":":
            self.take()
            name = self.take().text
            self.take("\\in")
            domain = self.expression()
            self.take("}")
            return ("map", first, name, domain)
        items = [first]
        while self.peek() == ",":
            self.take()
            items.append(self.expression())
        self.take("}")
        return ("set", items)

    def _bracket(self) -> Tree:
        """``[k \\in S |-> e]``, ``[f |-> e]``, ``[f : S]``, ``[S -> T]``, ``[f EXCEPT ...]``,
        ``[A]_vars``.
        """
        if self.peek(1) == "\\in":
            name = self.take().text
            self.take()
            domain = self.expression()
            self.take("|->")
            body = self.expression()
            self.take("]")
            return ("function", name, domain, body)
        if self.peek(1) in ("|->", ":"):
            kind = self.peek(1)
            fields: list[tuple[str, Tree]] = []
            while True:
                name = self.take().text
                self.take(kind)
                fields.append((name, self.expression()))
                if self.take(",", "]").text == "]":
                    return ("record" if kind == "|->" else "records", fields)
        base = self.expression()
        match self.take("->", "EXCEPT", "]").text:
            case "->":
                values = self.expression()
                self.take("]")
                return ("functions", base, values)
            case "EXCEPT":
                self.take("!")
                path: list[Tree] = []
                while self.peek() != "=":
                    if self.take("[", ".").text == "[":
                        path.append(self.expression())
                        self.take("]")
                    else:
                        path.append(("value", self.take().text))
                self.take("=")
                value = self.expression()
                self.take("]")
                return ("except", base, path, value)
            case _:
                under = self.take()
                assert under.text == "_vars", under
                return ("box", base)
