"""Cuts excerpts out of a spec: whole declarations and parts of them. The end of a block is
recognized by indentation.
"""

from __future__ import annotations

from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span

MAX_LINES = 80
"""Excerpts are truncated to about this many lines."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of source text. ``place`` is ``file:line:column``, and ``line`` is the number of the
    first line, counted from 1.
    """

    place: str
    line: int
    text: str


def declaration(span: Span) -> Excerpt:
    """Returns the complete lines of the declaration that begins on the line of ``span``, including
    its block.
    """
    source, first = span.source, span.line
    last = source.position(span.end)[0]
    total = source.position(len(source.text))[0]
    lines = [source.line(number) for number in range(first, last + 1)]
    indent = _indent(lines[0])
    kept = len(lines)
    for number in range(last + 1, min(total, first + MAX_LINES) + 1):
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
    """Returns the text of ``span`` as an excerpt."""
    line, column = span.source.position(span.start)
    lines = span.text.split("\n")[:MAX_LINES]
    rest = [text[column - 1 :] if not text[: column - 1].strip() else text for text in lines[1:]]
    return Excerpt(str(span), line, "\n".join([lines[0], *rest]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def place(span: Span) -> str:
    """Formats the location of a span as ``file:line``."""
    return f"{span.source.name}:{span.line}"


def quoted(span: Span, most: int = 60) -> str:
    """Returns the source text of a span on one line, truncated to ``most`` characters."""
    text = " ".join(span.text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
