"""Shrinks a failing spec by leaving out lines.

This is for specs that were not drawn by Hypothesis, which shrinks its own examples.
"""

from __future__ import annotations

from collections.abc import Callable


def reduced(text: str, fails: Callable[[str], bool]) -> str:
    """Returns a spec that fails like ``text`` and has no block of lines that could be left out.

    ``fails`` returns False, without an exception, for a text that is not a spec.
    """
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        rest = _without(lines, number)
        if rest and fails("\n".join(rest) + "\n"):
            # Lines that were needed before may be superfluous now.
            lines, number = rest, 0
        else:
            number += 1
    return "\n".join(lines) + "\n"


def _without(lines: list[str], number: int) -> list[str]:
    """Leaves out a line and its block."""
    end = number + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[number]):
        end += 1
    return lines[:number] + lines[end:]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
