"""Parses text to a tree of the declarations that can be read, and reports problems in the others.

Each declaration that begins in the first column is parsed separately, so one mistake costs one
declaration. No function raises an exception for any text, except for `parse_expression`,
which has no result for a text that is not an expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from fencepost.spec.syntax import syntax_errors, vocabulary
from fencepost.spec.syntax.build import FORMS, Mistake
from fencepost.spec.syntax.lalr import Builder, TooDeep, Unexpected, keywords
from fencepost.spec.syntax.layout import Chunk, chunks, lines
from fencepost.spec.syntax.nodes import BrokenDeclarations, Declaration, Expr, File
from fencepost.spec.syntax.tokens import DOCSTRING, INDENT, MISALIGNED, Token, scan, word_set
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
            return File(source, None, ()), (other,)
    docstring: str | None = None
    declarations: list[Declaration] = []
    problems: list[Problem] = []
    broken: list[Chunk] = []
    builder = Builder(source, FORMS)
    for number, chunk in enumerate(chunks(lines(source.text))):
        if len(problems) > MAX_PROBLEMS:
            broken.append(chunk)
            continue
        declaration, errors, left_out = _read(source, builder, chunk)
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
        broken += left_out
    file = File(source, docstring, tuple(declarations), _declared(broken))
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
    first, last = _member(chunk, _line(chunk, offset))
    rest = chunk.lines[first:last]
    source = Source("", before)
    try:
        Builder(source, FORMS).read("chunk", Chunk((chunk.lines[0], *rest) if first else rest))
    except Unexpected as error:
        at_place = error.unexpected.start == offset
        return error.expected() if at_place else frozenset()
    except (TooDeep, Mistake):
        pass
    return frozenset()


def _read(
    source: Source, builder: Builder, chunk: Chunk
) -> tuple[Declaration | str | None, tuple[Problem, ...], list[Chunk]]:
    """Reads a chunk. Returns a declaration or the text of a docstring, the problems, and the parts
    that are broken.

    If a member of a role or a line of a check is broken, it is reported and removed, and the rest
    is parsed again.
    """
    problems: list[Problem] = []
    broken: list[Chunk] = []
    while True:
        try:
            return builder.read("chunk", chunk), tuple(problems), broken
        except (Unexpected, TooDeep, Mistake) as error:
            problem = _explained(source, error)
            at = _line(chunk, _offset(error))
            indented = isinstance(error, Unexpected) and error.unexpected.kind in _INDENTED
        problems.append(problem)
        first, last = _member(chunk, at)
        left = (*chunk.lines[:first], *chunk.lines[last:])
        if not _CHECK.match(chunk.lines[0].text):
            broken.append(Chunk(chunk.lines[first:last]))
            if indented:
                # Without its keyword, a declaration seems to belong to the one above it.
                broken.append(Chunk(chunk.lines[at:last]))
        if len(left) < 2 or len(problems) > MAX_PROBLEMS:
            return None, tuple(problems), [*broken, chunk]
        chunk = Chunk(left)


def _line(chunk: Chunk, offset: int) -> int:
    """Returns the number of the line that contains ``offset``."""
    return max((n for n, line in enumerate(chunk.lines) if line.start <= offset), default=0)


def _member(chunk: Chunk, at: int) -> tuple[int, int]:
    """Returns the range of lines of the member of a role or check that contains line ``at``. If no
    member does, returns the range of the whole chunk.
    """
    lines = chunk.lines
    if at == 0 or not _WITH_MEMBERS.match(lines[0].text):
        return 0, len(lines)
    starts = [n for n, line in enumerate(lines) if n and line.indent == lines[1].indent]
    first = max(n for n in starts if n <= at)
    return first, min((n for n in starts if n > first), default=len(lines))


def _offset(error: Unexpected | TooDeep | Mistake) -> int:
    match error:
        case Unexpected():
            return error.unexpected.start
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

_INDENTED = frozenset({INDENT, MISALIGNED})
_WITH_MEMBERS = re.compile(r"(?:role|check)(?!\w)")
_CHECK = re.compile(r"(?:check|scenario)(?!\w)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_FIRST_WORDS = re.compile(rf"(?:{_WORD.pattern}[ \t]*)+")
_LISTS = frozenset({"enum", "union", "symmetric", "import", "from"})
"""First words of declarations that consist of names. If such a declaration is broken, a name may be
missing.
"""
_NAMELESS = word_set(
    "assume initially terminal constraint recording check scenario shows ahead answers drop hidden"
    " tolerate explain at"
)
"""First words of declarations that declare no name which other declarations use."""


def _declared(broken: Sequence[Chunk]) -> BrokenDeclarations:
    """Returns the names that broken chunks and members of roles may declare.

    These are the words at the start of each of them. If the first word is unknown, or begins a list
    of names, every word may be a declared name. An unknown first word may also consist of a keyword
    and a name without a space between them.
    """
    names: set[str] = set()
    unnamed = False
    for part in broken:
        texts = [line.text for line in part.lines]
        start = _FIRST_WORDS.match(texts[0])
        first = start[0].split() if start else [""]
        names.update(first)
        is_keyword = first[0] in vocabulary.PLACES
        if first[0] in _LISTS or not is_keyword:
            names.update(*map(_WORD.findall, texts))
            names |= {first[0].removeprefix(word) for word in vocabulary.PLACES}
        rest = [word for word in first if word not in vocabulary.PLACES and word != "each"]
        is_named = first[0] in _NAMELESS or (bool(rest) and rest[0] not in keywords())
        unnamed |= first[0] in _LISTS or (is_keyword and not is_named)
    return BrokenDeclarations(frozenset(names), unnamed)
