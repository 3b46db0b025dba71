"""Every form of the language with its syntax tree, in short notation.

In the files of the folder ``forms``, a blank line ends a form, and ``=>`` separates its text from
its tree.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("grammar_texts")
EXPRESSIONS, DECLARATIONS, STATEMENTS = (
    (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    for name in ("expressions", "declarations", "statements")
)
