"""``python -m bench.errors_page``: docs/errors.md with the titles and texts of the table of codes.

What stands behind the first example of a code is written by hand, and stays.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from fencepost.spec.text.codes import codes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
PARTS = re.compile(r"^(?=##)", re.M)
"""Where the part of a section or a code begins."""


def made(page: str) -> str:
    """The page with a part for every code and for no other. A new one follows the one before it."""
    old = {code_of(part): part for part in PARTS.split(page)}
    every = list(codes())
    result: list[str] = []
    for part in PARTS.split(page):
        code = code_of(part)
        if not code:
            result.append(part)
        elif code in every:
            behind = every[every.index(code) + 1 :]
            new = takewhile(lambda one: one not in old, behind)
            result += [_part(one, old.get(one, "")) for one in (code, *new)]
    return "".join(result).strip("\n") + "\n"


def code_of(part: str) -> str:
    """The code that a part of the page is about, or ""."""
    found = re.match(r"### (F\d{3})\b", part)
    return found[1] if found else ""


def _part(code: str, old: str) -> str:
    about = codes()[code]
    examples = old[old.index("\n```") :] if "\n```" in old else ""
    paragraphs = (f"### {code} {about.title}", about.text.strip("\n"), examples.strip("\n"))
    return "\n\n".join(text for text in paragraphs if text) + "\n\n"


def main() -> None:
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
