"""Parses text to a tree of the declarations that can be read, and reports problems in the others.

Each declaration that begins in the first column is parsed separately, so one mistake costs one
declaration. No function raises an exception for any text, except for `parse_expression`,
which has no result for a text that is not an expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from fencepost.spec.syntax import syntax_errors
from fencepost.spec.syntax.build import FORMS, Mistake
from fencepost.spec.syntax.lalr import Builder, TooDeep, Unexpected
from fencepost.spec.syntax.layout import Chunk, chunks, lines
from fencepost.spec.syntax.nodes import BrokenDeclaration, Declaration, Expr, File
from fencepost.spec.syntax.tokens import DOCSTRING, Token, scan
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span

MAX_PROBLEMS = 20
"""The maximum number of syntax errors reported per file. A file with more may not be a spec at
all.
"""
OTHER_FORMATS = (
    (re.compile(r"\s*(-{4,}[ \t]*MODULE\b)"), syntax_errors.tla_module),
    (re.compile(r"\s*(\{)\s*[\"}]"), syntax_errors.json_text),
    (re.compile(r"\s*(\[)\s*[\[{\"]"), syntax_errors.json_text),
)
"""Patterns for the first characters of files in other formats, with functions that explain them."""


def parse(source: Source) -> tuple[File, tuple[Problem, ...]]:
    """Returns the tree of a file without its broken declarations, and the problems in the broken
    ones.
    """
    for pattern, explain in OTHER_FORMATS:
        header = pattern.match(source.text)
        if header is not None:
            other = explain(source, *header.span(1))
            return File(source, None, (), BrokenDeclaration(frozenset())), (other,)
    docstring: str | None = None
    declarations: list[Declaration] = []
    problems: list[Problem] = []
    broken: set[str] = set()
    builder = Builder(source, FORMS)
    for number, chunk in enumerate(chunks(lines(source.text))):
        if len(problems) > MAX_PROBLEMS:
            broken |= _declared(source.text, chunk)
            continue
        declaration, errors, names = _read(source, builder, chunk)
        if isinstance(declaration, str):
            if number == 0:
                docstring = declaration
            else:
                text = chunk.lines[0].text
                token = Token(DOCSTRING, text, chunk.start, chunk.end)
                errors = (syntax_errors.late_docstring(source, token),)
        elif declaration is not None:
            declarations.append(declaration)
        problems += errors
        broken |= names
    file = File(source, docstring, tuple(declarations), BrokenDeclaration(frozenset(broken)))
    return file, _at_most(problems)


def _at_most(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    *shown, last = problems[:MAX_PROBLEMS]
    remark = "there are more syntax errors in this file"
    return (*shown, replace(last, notes=(*last.notes, (None, remark))))


def parse_expression(source: Source) -> Expr:
    """Parses the expression in ``source``. Raises `Rejected`."""
    source_lines = lines(source.text)
    if not source_lines:
        raise Rejected([Problem("F101", Span(source, 0, 0), "expected a value, found nothing")])
    if len(source_lines) > 1:
        token = scan(source_lines[1].text)[0]
        span = Span(source, source_lines[1].start, source_lines[1].start + token.end)
        raise Rejected([Problem("F101", span, "expected a single value")])
    only = Chunk([replace(source_lines[0], indent="")])
    try:
        expr: Expr = Builder(source, FORMS).read("expression", only)
    except (Unexpected, TooDeep, Mistake) as error:
        raise Rejected([_explained(source, error)]) from None
    return expr


def expected_at(text: str, offset: int) -> frozenset[str]:
    """Returns the tokens that could occur at the start of a word, judging by the text before it.

    Keywords and signs are in their own spelling, and names and numbers are given by their kinds.
    The result is empty if the declaration has an error before this point.
    """
    before = f"{text[:offset]}{_NO_TOKEN}"
    declarations = list(chunks(lines(before)))
    if not declarations:
        # The text contains only comments, and the offset is in one of them.
        return frozenset()
    chunk = declarations[-1]
    first, last = _member(chunk, offset)
    rest = chunk.lines[first:last]
    source = Source("", before)
    try:
        Builder(source, FORMS).read("chunk", Chunk((chunk.lines[0], *rest) if first else rest))
    except Unexpected as error:
        at_place = error.tokens[error.index].start == offset
        return error.expected() if at_place else frozenset()
    except (TooDeep, Mistake):
        pass
    return frozenset()


def _read(
    source: Source, builder: Builder, chunk: Chunk
) -> tuple[Declaration | str | None, tuple[Problem, ...], set[str]]:
    """Reads a chunk. Returns a declaration or the text of a docstring, the problems, and the names
    that the broken parts seem to declare.

    If a member of a role or a line of a check is broken, it is reported and removed, and the rest
    is parsed again.
    """
    problems: list[Problem] = []
    names: set[str] = set()
    while True:
        try:
            return builder.read("chunk", chunk), tuple(problems), names
        except (Unexpected, TooDeep, Mistake) as error:
            problem = _explained(source, error)
            offset = _offset(error)
        problems.append(problem)
        first, last = _member(chunk, offset)
        left = (*chunk.lines[:first], *chunk.lines[last:])
        names |= _declared(source.text, Chunk(chunk.lines[first:last]))
        if len(left) < 2 or len(problems) > MAX_PROBLEMS:
            return None, tuple(problems), names | _declared(source.text, chunk)
        chunk = Chunk(left)


def _member(chunk: Chunk, offset: int) -> tuple[int, int]:
    """Returns the range of lines of the member of a role or check that contains ``offset``. If no
    member does, returns the range of the whole chunk.
    """
    lines = chunk.lines
    at = max((n for n, line in enumerate(lines) if line.start <= offset), default=0)
    if at == 0 or not _WITH_MEMBERS.match(lines[0].text):
        return 0, len(lines)
    starts = [n for n, line in enumerate(lines) if n and line.indent == lines[1].indent]
    first = max(n for n in starts if n <= at)
    return first, min((n for n in starts if n > first), default=len(lines))


def _offset(error: Unexpected | TooDeep | Mistake) -> int:
    match error:
        case Unexpected():
            return error.tokens[error.index].start
        case TooDeep():
            return error.token.start
        case Mistake():
            assert error.problem.span is not None
            return error.problem.span.start


def _explained(source: Source, error: Unexpected | TooDeep | Mistake) -> Problem:
    match error:
        case Unexpected():
            return syntax_errors.explain(source, error)
        case TooDeep():
            return syntax_errors.too_deep(source, error)
        case Mistake():
            return error.problem


_NO_TOKEN = "@"
"""A token that no rule of the grammar accepts."""

_WITH_MEMBERS = re.compile(r"(?:role|check)(?!\w)")
_DECLARED = re.compile(
    r"\b(?:const|type|enum|record|union|channel|var|role|action|def|procedure|invariant|lemma"
    r"|reachable|terminal|constraint|property|check|as)[ \t]+([A-Za-z_]\w*)"
)
_MEMBERS = re.compile(r"^(?:enum|union|from|import)\b")


def _declared(text: str, chunk: Chunk) -> set[str]:
    """Returns the names that a broken chunk seems to declare."""
    part = text[chunk.lines[0].start : chunk.end]
    names = set(_DECLARED.findall(part))
    if _MEMBERS.match(part):
        names.update(re.findall(r"\b[A-Za-z_]\w*", part))
    return names
