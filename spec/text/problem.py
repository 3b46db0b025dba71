"""What a user can fix: problems with a code and a place, and how they read.

It does not decide what is wrong, and it does not print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span

Note = tuple[Span | None, str]
"""Another place that matters (or none), and why it does."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing the user can fix: a stable code, a place, and a sentence.

    The sentence says what was found and what would have been right, in the words of the
    language, never of its implementation. Notes point at the other places that matter.
    ``span`` is None only where there is no text to point at (a missing file, an option).
    A ``warning`` is shown, and does not stop a run.
    """

    code: str
    span: Span | None
    message: str
    notes: tuple[Note, ...] = ()
    warning: bool = False

    def __str__(self) -> str:
        kind = "warning" if self.warning else "error"
        lines = [f"{kind}[{self.code}]: {printable(self.message)}"]
        if self.span is not None:
            lines.append(self.span.excerpt())
        for span, remark in self.notes:
            lines.append(f"note: {printable(remark)}")
            if span is not None:
                lines.append(span.excerpt())
        return harmless("\n".join(lines))


class Rejected(Exception):
    """A spec, file or option that cannot be used; carries every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = in_order(problems)
        super().__init__("\n\n".join(str(problem) for problem in self.problems))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems by file (in order of first mention), then by position.

    What is wrong at one place is reported once, also where several calls led there.
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
    """``text`` with control characters shown as ``?``; line ends stay."""
    return "".join(char if char == "\n" or char.isprintable() else "?" for char in text)


_AT_LINE_START = re.compile(r"((?:^|[\r\v\f\x1c-\x1e\x85\u2028\u2029])[^\S\n]*)::", re.MULTILINE)
_ANYWHERE = re.compile(r"##(?=\w*\[)")


def harmless(text: str) -> str:
    """``text`` without commands to a build that reads the output of its steps.

    GitHub takes a line for a command that begins with ``::``, behind blanks, too; Azure, TeamCity
    and older runners of GitHub one that has ``##vso[`` and its like anywhere. What a spec or a file
    is called, and what it says, must not get there.
    """
    return _ANYWHERE.sub("# #", _AT_LINE_START.sub(r"\1\\::", text))


MAX_COMPARED = 500
"""Maximum number of names to search for a similar one: an unknown word is compared with each."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` for the known word most like ``word``, or nothing. Never suggests
    ``word`` itself.
    """
    names = set(known) - {word}
    lower = word.lower()
    close = sorted(name for name in names if name.lower() == lower)
    if not close and len(names) <= MAX_COMPARED:
        close = get_close_matches(word, sorted(names), n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


def listing(words: Sequence[str], conjunction: str = "or") -> str:
    """``a, b or c``; at most twelve words, the rest counted."""
    shown = list(words[:12])
    if len(words) > len(shown):
        shown.append(f"{len(words) - len(shown)} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {conjunction} {shown[-1]}"
