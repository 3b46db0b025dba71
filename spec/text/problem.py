"""Problems that a user can fix, with a code and a span, and their textual form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal

from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span

Note = tuple[Span | None, str]
"""A remark with the span that it refers to. The span is None if the remark refers to no part of the
text.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that the user can fix. It has a stable code, a span and a sentence.

    The sentence says what is wrong and what would be right, in terms of the language, never in
    terms of its implementation. Notes point at other relevant parts of the text. ``span`` is None
    only if the problem is not in a text (a missing file, an option). A ``warning`` is shown, but
    does not prevent a run. A ``minor`` warning points at text without effect, and is shown as a
    note.
    """

    code: str
    span: Span | None
    message: str
    notes: tuple[Note, ...] = ()
    warning: bool = False
    minor: bool = False

    @property
    def severity(self) -> Literal["error", "warning", "note"]:
        """The severity as a word."""
        if not self.warning:
            return "error"
        return "note" if self.minor else "warning"

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {printable(self.message)}"]
        if self.minor:
            # There may be many, so each takes one line.
            remarks = [remark for _, remark in self.notes] + [str(self.span)]
            return harmless(f"{lines[0]} ({printable('; '.join(remarks))})")
        if self.span is not None:
            lines.append(self.span.excerpt())
        for span, remark in self.notes:
            lines.append(f"note: {printable(remark)}")
            if span is not None:
                lines.append(span.excerpt())
        return harmless("\n".join(lines))


class Rejected(Exception):
    """A spec, file or option cannot be used. ``problems`` contains all problems that were found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = in_order(problems)
        super().__init__("\n\n".join(str(problem) for problem in self.problems))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorts problems by file (in order of first mention), then by position.

    Equal problems at the same position are reported only once, even if they arise in several calls.
    """
    first: dict[tuple[str, Span | None, str], Problem] = {}
    for problem in problems:
        first.setdefault((problem.code, problem.span, problem.message), problem)
    unique = list(first.values())
    files: dict[str, int] = {}
    for problem in unique:
        if problem.span is not None:
            files.setdefault(problem.span.source.name, len(files))

    def key(problem: Problem) -> tuple[int, int, int]:
        if problem.span is None:
            return (-1, 0, 0)
        return (files[problem.span.source.name], problem.span.start, problem.span.end)

    return tuple(sorted(unique, key=key))


def printable(text: str) -> str:
    """Replaces control characters in ``text`` by ``?``, except for line breaks."""
    return "".join(char if char == "\n" or char.isprintable() else "?" for char in text)


_AT_LINE_START = re.compile(r"((?:^|[\r\v\f\x1c-\x1e\x85\u2028\u2029])[^\S\n]*)::", re.MULTILINE)
_ANYWHERE = re.compile(r"##(?=\w*\[)")


def harmless(text: str) -> str:
    """Defuses commands to CI systems in ``text``. These systems read commands from the output of a
    step.

    GitHub executes lines that begin with ``::``, even after blanks; Azure, TeamCity and older
    GitHub runners execute ``##vso[`` and similar sequences anywhere in a line. Such a command may
    occur in names, and in the contents of specs and files.
    """
    return _ANYWHERE.sub("# #", _AT_LINE_START.sub(r"\1\\::", text))


MAX_COMPARED = 500
"""The maximum number of names that `suggestion` compares with a word."""


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """Returns ``; did you mean "x"?`` for the candidate most similar to ``word``, or "" if no
    candidate is similar. Never suggests ``word`` itself.
    """
    names = set(candidates) - {word}
    lower = word.lower()
    close = sorted(name for name in names if name.lower() == lower)
    if not close:
        # Transposed letters make short words too different for the comparison below.
        close = sorted(name for name in names if sorted(name.lower()) == sorted(lower))
    if not close and len(names) <= MAX_COMPARED:
        close = get_close_matches(word, sorted(names), n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


def suggestion_or_all(word: str, names: Sequence[str], verb: str = "it has") -> str:
    """Returns the `suggestion` for a word or, if no name is similar, a list of all names."""
    return suggestion(word, names) or (f"; {verb} {listing(names, 'and')}" if names else "")


def listing(words: Sequence[str], conjunction: str = "or") -> str:
    """Returns a list such as ``a, b or c``. At most twelve words are shown; the others are
    counted.
    """
    shown = list(words[:12])
    if len(words) > len(shown):
        shown.append(f"{len(words) - len(shown)} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {conjunction} {shown[-1]}"
