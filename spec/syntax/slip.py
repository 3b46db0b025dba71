"""An unexpected token and its context, as input for hints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fencepost.spec.syntax.lalr import Unexpected
from fencepost.spec.syntax.tokens import CLOSING, END, LAYOUT, OPENING, Token
from fencepost.spec.text.problem import Note, Problem
from fencepost.spec.text.source import Source, Span


@dataclass(frozen=True)
class Slip:
    """An unexpected token and its context."""

    source: Source
    error: Unexpected

    @property
    def unexpected(self) -> Token:
        return self.near(0)

    @cached_property
    def expected(self) -> frozenset[str]:
        """The expected tokens, keywords and signs in their own spelling."""
        return self.error.expected()

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the grammar read so far, outermost first."""
        return self.error.symbols()

    def near(self, distance: int) -> Token:
        """The token ``distance`` positions after the unexpected one; an ``END`` outside the
        text.
        """
        index = self.error.index + distance
        if 0 <= index < len(self.error.tokens):
            return self.error.tokens[index]
        return Token(END, "", self.error.tokens[-1].end, self.error.tokens[-1].end)

    def begins_line(self, distance: int = 0) -> bool:
        """Whether that token is the first of its line."""
        return self.error.index + distance == 0 or self.near(distance - 1).kind in LAYOUT

    @cached_property
    def line(self) -> tuple[Token, ...]:
        """The tokens of the line before the unexpected one; the whole line if that ends it."""
        first = self.error.index
        while first > 0 and self.error.tokens[first - 1].kind not in LAYOUT:
            first -= 1
        return tuple(self.error.tokens[first : self.error.index])

    @cached_property
    def inside(self) -> tuple[Token, ...]:
        """The innermost open bracket of the line and the tokens after it; empty if there is
        none.
        """
        opened: list[int] = []
        for index, token in enumerate(self.line):
            if token.kind in OPENING:
                opened.append(index)
            elif token.kind in CLOSING and opened:
                opened.pop()
        return self.line[opened[-1] :] if opened else ()

    def span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def problem(self, code: str, message: str, *notes: Note, at: Token | None = None) -> Problem:
        return Problem(code, self.span(at or self.unexpected), message, notes)
