"""``python -m bench.errors_page`` updates docs/errors.md with the titles and texts from the table
of codes.

The text from the first example of a code onwards is written by hand and is preserved.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from fencepost.spec.text.codes import codes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
PARTS = re.compile(r"^(?=##)", re.M)
"""Matches the start of a section or of the part for a code."""


def updated_page(page: str) -> str:
    """Returns the page with exactly one part for each code. A new part follows the part of the
    previous code.
    """
    old = {code_of(part): part for part in PARTS.split(page)}
    every = list(codes())
    result: list[str] = []
    for part in PARTS.split(page):
        code = code_of(part)
        if not code:
            result.append(part)
        elif code in every:
            later = every[every.index(code) + 1 :]
            new = takewhile(lambda other: other not in old, later)
            result += [_part(each, old.get(each, "")) for each in (code, *new)]
    return "".join(result).strip("\n") + "\n"


def code_of(part: str) -> str:
    """Returns the code that a part of the page describes, or "" if it describes none."""
    heading = re.match(r"### (F\d{3})\b", part)
    return heading[1] if heading else ""


def _part(code: str, old: str) -> str:
    about = codes()[code]
    examples = old[old.index("\n```") :] if "\n```" in old else ""
    paragraphs = (f"### {code} {about.title}", about.text.strip("\n"), examples.strip("\n"))
    return "\n\n".join(text for text in paragraphs if text) + "\n\n"


def main() -> None:
    PAGE.write_text(updated_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
