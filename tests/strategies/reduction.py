"""Makes a spec that shows a failure smaller, by leaving out lines.

For specs that were not drawn by Hypothesis, which shrinks those that were.
"""

from __future__ import annotations

from collections.abc import Callable


def reduced(text: str, fails: Callable[[str], bool]) -> str:
    """A spec that fails as ``text`` does, and of which no block of lines can be left out.

    ``fails`` is false, not an exception, for a text that is no spec.
    """
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        rest = _without(lines, place)
        if rest and fails("\n".join(rest) + "\n"):
            # What had to stay may be left out now.
            lines, place = rest, 0
        else:
            place += 1
    return "\n".join(lines) + "\n"


def _without(lines: list[str], place: int) -> list[str]:
    """The lines but for one and the block that belongs to it."""
    end = place + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[place]):
        end += 1
    return lines[:place] + lines[end:]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
