"""Text to tree: every declaration that can be read, and a problem for each that cannot.

A declaration that begins in the first column is read by itself, so one mistake costs one
declaration. Nothing here raises on any text, but `parse_expression`, which has nothing to give
for a text that is no expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fencepost.spec import hints
from fencepost.spec.automaton import Builder, TooDeep, Unexpected, run
from fencepost.spec.problem import Problem, Rejected
from fencepost.spec.source import Source, Span
from fencepost.spec.syntax import Broken, Declaration, Expr, File
from fencepost.spec.tokens import Line, chunks, layout, lines
from fencepost.spec.transform import TERMS, Mistake
from fencepost.spec.transform_declarations import DECLARATIONS

MAX_PROBLEMS = 20
"""A file with more syntax errors is told about these; it may not be a spec at all."""


def parse(source: Source) -> tuple[File, tuple[Problem, ...]]:
    """The tree of a file without its broken declarations, and what is wrong with those."""
    docstring: str | None = None
    declarations: list[Declaration] = []
    problems: list[Problem] = []
    broken: set[str] = set()
    for number, chunk in enumerate(chunks(lines(source.text))):
        first = chunk[0].tokens[0]
        if len(problems) > MAX_PROBLEMS:
            broken |= _declared(source.text, chunk)
            continue
        found, wrong, names = _read(source, chunk)
        if isinstance(found, str):
            if number == 0:
                docstring = found
            else:
                wrong = (hints.late_docstring(source, first),)
        elif found is not None:
            declarations.append(found)
        problems += wrong
        broken |= names
    file = File(source, docstring, tuple(declarations), Broken(frozenset(broken)))
    return file, _at_most(problems)


def _at_most(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    *shown, last = problems[:MAX_PROBLEMS]
    remark = "there are more syntax errors in this file"
    return (*shown, replace(last, notes=(*last.notes, (None, remark))))


def parse_expression(source: Source) -> Expr:
    """The expression that ``source`` consists of; raises `Rejected`."""
    found = lines(source.text)
    if not found:
        raise Rejected([Problem("F101", Span(source, 0, 0), "expected a value, found nothing")])
    if len(found) > 1:
        token = found[1].tokens[0]
        span = Span(source, token.start, token.end)
        raise Rejected([Problem("F101", span, "expected a single value")])
    only = Line("", found[0].tokens)
    try:
        expr: Expr = run("expression", layout([only]), _builder(source))
    except (Unexpected, TooDeep, Mistake) as error:
        raise Rejected([_explained(source, error)]) from None
    return expr


def _read(
    source: Source, chunk: Sequence[Line]
) -> tuple[Declaration | str | None, tuple[Problem, ...], set[str]]:
    """A declaration or the text of a docstring, what is wrong, and the names that are missing.

    A broken member of a role, or line of a check, is told, taken out, and the rest read again.
    """
    problems: list[Problem] = []
    names: set[str] = set()
    while True:
        try:
            return run("chunk", layout(chunk), _builder(source)), tuple(problems), names
        except (Unexpected, TooDeep, Mistake) as error:
            problem = _explained(source, error)
            offset = _offset(error)
        problems.append(problem)
        first, last = _member(chunk, offset)
        left = (*chunk[:first], *chunk[last:])
        names |= _declared(source.text, chunk[first:last])
        if len(left) < 2 or len(problems) > MAX_PROBLEMS:
            return None, tuple(problems), names | _declared(source.text, chunk)
        chunk = left


def _member(chunk: Sequence[Line], offset: int) -> tuple[int, int]:
    """The lines of the member of a role or check that the offset is in; else the whole chunk."""
    at = max((n for n, line in enumerate(chunk) if line.tokens[0].start <= offset), default=0)
    if at == 0 or chunk[0].tokens[0].text not in ("role", "check"):
        return 0, len(chunk)
    starts = [n for n, line in enumerate(chunk) if n and line.indent == chunk[1].indent]
    first = max(n for n in starts if n <= at)
    return first, min((n for n in starts if n > first), default=len(chunk))


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
            return hints.explain(source, error)
        case TooDeep():
            return hints.too_deep(source, error.token)
        case Mistake():
            return error.problem


_FORMS = {**TERMS, **DECLARATIONS}


def _builder(source: Source) -> Builder:
    """Makes the nodes of ``source``; raises `Mistake`."""

    def build(rule: str, children: Sequence[Any], start: int, end: int) -> Any:
        return _FORMS[rule](Span(source, start, end), *children)

    return build


_DECLARED = re.compile(
    r"\b(?:const|type|enum|record|union|channel|var|role|action|def|procedure|invariant|lemma"
    r"|reachable|terminal|constraint|property|check|as)[ \t]+([A-Za-z_]\w*)"
)
_MEMBERS = re.compile(r"^(?:enum|union|from|import)\b")


def _declared(text: str, chunk: Sequence[Line]) -> set[str]:
    """The names that a broken chunk seems to declare."""
    part = text[chunk[0].tokens[0].start : chunk[-1].tokens[-1].end]
    names = set(_DECLARED.findall(part))
    if _MEMBERS.match(part):
        names.update(re.findall(r"\b[A-Za-z_]\w*", part))
    return names
