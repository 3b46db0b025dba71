"""Syntax errors by example: what a token out of place means, in words of the language."""

from __future__ import annotations

from fencepost.spec.automaton import Unexpected, expected
from fencepost.spec.problem import Problem, listing
from fencepost.spec.source import Source, Span
from fencepost.spec.tokens import Token


def late_docstring(source: Source, token: Token) -> Problem:
    span = Span(source, token.start, token.end)
    return Problem("F106", span, "the text that describes a file comes first in it")


def too_deep(source: Source, token: Token) -> Problem:
    return Problem("F111", Span(source, token.start, token.end), "this is nested too deeply")


def explain(source: Source, error: Unexpected) -> Problem:
    token = error.tokens[error.index]
    words = listing(sorted(expected(error.stack)))
    span = Span(source, token.start, token.end)
    return Problem("F101", span, f"expected {words}, found {token.text or token.kind}")
