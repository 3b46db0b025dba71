"""Reads the tokens of a module one by one, within the columns that junction lists allow."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span
from fencepost.spec.tla.syntax.lexer import Token, refused, tokens

MAX_DEPTH = 300
"""The maximum nesting of expressions."""
_END = Token("end", "", 0, 0, -1)


class Reader:
    """The tokens of a source, with a position. ``whole`` says what the source is, for errors.

    An item of a junction list ends before the first token that is not to the right of its bullet:
    `peek` shows it as the end of the text.
    """

    def __init__(self, source: Source, start: int = 0, whole: str = "module") -> None:
        self.source = source
        self.whole = whole
        self.tokens = tokens(source, start)
        self.position = 0
        self.limit = -1
        self.depth = 0

    # ------------------------------------------------------------ tokens

    def peek(self, ahead: int = 0) -> Token:
        """Returns a following token without reading it."""
        index = min(self.position + ahead, len(self.tokens) - 1)
        token = self.tokens[index]
        return token if token.column > self.limit else _END

    def next(self) -> Token:
        """Reads a token."""
        token = self.peek()
        if token is _END or token.kind == "end":
            self.fail("more is expected here")
        self.position += 1
        return token

    def sees(self, *texts: str, ahead: int = 0) -> bool:
        """Returns whether the next token is a sign or word with one of these texts."""
        token = self.peek(ahead)
        return token.text in texts and token.kind not in ("string", "end")

    def takes(self, *texts: str) -> bool:
        """Reads the next token if it has one of these texts, and returns whether it does."""
        if self.sees(*texts):
            self.position += 1
            return True
        return False

    def expect(self, text: str, where: str = "") -> Token:
        """Reads a token that must have this text."""
        if not self.sees(text):
            self.fail(f'"{text}" is expected here{where}')
        return self.next()

    def name(self, expected: str = "a name") -> Token:
        """Reads an identifier."""
        if self.peek().kind != "name" or self.peek().text in RESERVED:
            self.fail(f"{expected} is expected here")
        return self.next()

    @property
    def last_end(self) -> int:
        """The end of the token that was read last."""
        return self.tokens[self.position - 1].end if self.position else 0

    def span(self, start: int) -> Span:
        """Returns the span from ``start`` to the token that was read last."""
        return Span(self.source, start, max(self.last_end, start))

    def words(self, kind: str) -> tuple[str, ...]:
        """Returns the identifiers or the strings, by their first appearance."""
        return tuple({token.text.strip('"'): None for token in self.tokens if token.kind == kind})

    # ------------------------------------------------------------ errors

    def fail(self, message: str, *notes: str) -> NoReturn:
        """Refuses the next token."""
        token = self.tokens[self.position]
        if token.kind == "end":
            at = self.last_end
            raise refused(self.source, max(at - 1, 0), at, f"the {self.whole} ends here: {message}")
        ending = "" if token.text in message else f', not "{token.text}"'
        raise refused(self.source, token.start, token.end, message + ending, *notes)

    def conflict(self, left: str, right: Token) -> NoReturn:
        """Refuses two operators that need parentheses."""
        message = f'"{left}" and "{right.text}" need parentheses here: neither binds tighter'
        if left == right.text:
            message = f'"{left}" does not associate: parentheses are needed here'
        span = Span(self.source, right.start, right.end)
        raise Rejected([Problem("F651", span, message)])

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Counts the nesting of expressions."""
        tick()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"expressions are nested more than {MAX_DEPTH} deep here")
        yield
        self.depth -= 1

    @contextmanager
    def right_of(self, column: int) -> Generator[None]:
        """Shows only tokens to the right of a column."""
        before, self.limit = self.limit, max(column, self.limit)
        yield
        self.limit = before


RESERVED = frozenset({
    "ASSUME", "ASSUMPTION", "AXIOM", "CASE", "CHOOSE", "CONSTANT", "CONSTANTS", "COROLLARY",
    "DOMAIN", "ELSE", "ENABLED", "EXCEPT", "EXTENDS", "IF", "IN", "INSTANCE", "LAMBDA", "LEMMA",
    "LET", "LOCAL", "MODULE", "OTHER", "PROPOSITION", "RECURSIVE", "SUBSET", "THEN", "THEOREM",
    "UNCHANGED", "UNION", "VARIABLE", "VARIABLES", "WITH",
})  # fmt: skip
"""The words that cannot be names."""
