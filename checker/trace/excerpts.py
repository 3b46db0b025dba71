"""Pieces of a spec to be shown beside a trace: whole declarations and parts of them.

It knows that blocks are indented, and nothing else of the language.
"""

from __future__ import annotations

from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span

MOST_LINES = 80
"""Longer declarations are cut."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some text of a spec. ``place`` is ``file:line:column``, ``line`` the number of its first
    line, counted from 1.
    """

    place: str
    line: int
    text: str


def declaration(span: Span) -> Excerpt:
    """The whole lines of the declaration that begins on the line of ``span``, block included."""
    source, first = span.source, span.line
    last = source.position(span.end)[0]
    total = source.position(len(source.text))[0]
    lines = [source.line(number) for number in range(first, last + 1)]
    indent = _indent(lines[0])
    kept = len(lines)
    for number in range(last + 1, min(total, first + MOST_LINES) + 1):
        line = source.line(number)
        if (
            line.strip()
            and _indent(line) <= indent
            and not line.strip().startswith((")", "]", "}"))
        ):
            break
        lines.append(line)
        if line.strip() and (_indent(line) > indent or not line.strip().startswith("#")):
            kept = len(lines)
    cut = [line[indent:] if not line[:indent].strip() else line for line in lines[:kept]]
    return Excerpt(str(span), first, "\n".join(cut))


def part(span: Span) -> Excerpt:
    """The text of ``span`` itself, its lines as they are."""
    line, column = span.source.position(span.start)
    lines = span.text.split("\n")[:MOST_LINES]
    rest = [text[column - 1 :] if not text[: column - 1].strip() else text for text in lines[1:]]
    return Excerpt(str(span), line, "\n".join([lines[0], *rest]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def place(span: Span) -> str:
    """``file:line``."""
    return f"{span.source.name}:{span.line}"


def quoted(span: Span, most: int = 60) -> str:
    """The source text of a span on one line, cut to ``most`` characters."""
    text = " ".join(span.text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
