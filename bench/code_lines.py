"""Counts lines of code without blank lines, comments and docstrings: ``python -m
bench.code_lines``.

A line counts if it contains any part of a code token. Any string used as a statement counts as a
docstring, even one that follows a constant.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)


def lines(path: Path) -> tuple[int, int]:
    """Returns the number of code lines and the number of docstring lines in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    strings = {number for node in ast.walk(tree) for number in _docstring(node)}
    code: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in LAYOUT:
                code.update(range(token.start[0], token.end[0] + 1))
    return len(code - strings), len(strings)


def _docstring(node: ast.AST) -> Iterator[int]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
        case _:
            pass


def main(folders: list[str]) -> None:
    """Prints a row for each folder, and the totals."""
    total = [0, 0, 0]
    print(f"{'folder':<24}{'files':>8}{'code':>8}{'docstrings':>12}")
    for folder in folders:
        files = sorted(Path(folder).rglob("*.py"))
        counts = [lines(path) for path in files]
        row = [len(files), sum(code for code, _ in counts), sum(text for _, text in counts)]
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"{folder:<24}{row[0]:>8,}{row[1]:>8,}{row[2]:>12,}")
    print(f"{'together':<24}{total[0]:>8,}{total[1]:>8,}{total[2]:>12,}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["spec", "checker", "tests", "bench"])
