"""Text to tree: every declaration that can be read, and a problem for each that cannot.

A declaration that begins in the first column is read by itself, so one mistake costs one
declaration. Nothing here raises on any text, but `parse_expression`, which has nothing to give
for a text that is no expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fencepost.spec import hints
from fencepost.spec.automaton import TooDeep, Unexpected, run
from fencepost.spec.problem import Problem, Rejected
from fencepost.spec.source import Source, Span
from fencepost.spec.syntax import Broken, Declaration, Expr, File
from fencepost.spec.tokens import Line, chunks, layout, lines
from fencepost.spec.transform import Mistake, builder

MAX_PROBLEMS = 20
"""A file with more syntax errors is told about these; it may not be a spec at all."""


def parse(source: Source) -> tuple[File, tuple[Problem, ...]]:
    """The tree of a file without its broken declarations, and what is wrong with those."""
    docstring: str | None = None
    declarations: list[Declaration] = []
    problems: list[Problem] = []
    broken: set[str] = set()
    for number, chunk in enumerate(chunks(lines(source.text))):
        match _read(source, chunk):
            case Problem() as problem:
                broken |= _declared(source.text, chunk)
                if len(problems) < MAX_PROBLEMS:
                    problems.append(problem)
            case str() as text:
                if number == 0:
                    docstring = text
                else:
                    problems.append(hints.late_docstring(source, chunk[0].tokens[0]))
            case declaration:
                declarations.append(declaration)
    file = File(source, docstring, tuple(declarations), Broken(frozenset(broken)))
    return file, tuple(problems)


def parse_expression(source: Source) -> Expr:
    """The expression that ``source`` consists of; raises `Rejected`."""
    found = lines(source.text)
    if not found:
        raise Rejected([Problem("F101", Span(source, 0, 0), "expected a value, found nothing")])
    try:
        expr: Expr = run("expression", layout(found), builder(source))
    except (Unexpected, TooDeep, Mistake) as error:
        raise Rejected([_explained(source, error)]) from None
    return expr


def _read(source: Source, chunk: Sequence[Line]) -> Declaration | str | Problem:
    """A declaration or the text of a docstring, or what is wrong."""
    try:
        result: Declaration | str = run("chunk", layout(chunk), builder(source))
    except (Unexpected, TooDeep, Mistake) as error:
        return _explained(source, error)
    return result


def _explained(source: Source, error: Unexpected | TooDeep | Mistake) -> Problem:
    match error:
        case Unexpected():
            return hints.explain(source, error)
        case TooDeep():
            return hints.too_deep(source, error.token)
        case Mistake():
            return error.problem


_DECLARED = re.compile(
    r"\b(?:const|type|enum|record|union|channel|var|role|action|def|procedure|invariant|lemma"
    r"|reachable|terminal|constraint|property|check|as)[ \t]+([A-Za-z_]\w*)"
)
_MEMBERS = re.compile(r"^(?:enum|union|from)\b")


def _declared(text: str, chunk: Sequence[Line]) -> set[str]:
    """The names that a broken chunk seems to declare."""
    part = text[chunk[0].tokens[0].start : chunk[-1].tokens[-1].end]
    names = set(_DECLARED.findall(part))
    if _MEMBERS.match(part):
        names.update(re.findall(r"\b[A-Za-z_]\w*", part))
    return names
