"""What is written becomes this tree: every form of the language, in its short form.

In the files of the folder ``forms`` a blank line ends a form, and ``=>`` parts text and tree.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("grammar_texts")
EXPRESSIONS, DECLARATIONS, STATEMENTS = (
    (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    for name in ("expressions", "declarations", "statements")
)
