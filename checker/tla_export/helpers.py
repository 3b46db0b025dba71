"""Provides the helper definitions of ``helpers.tla``, which are included in a module that uses
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from fencepost.checker.tla_export.simplify import everything
from fencepost.checker.tla_export.tree import Apply, Expr, WrittenUnit


@cache
def _library() -> dict[str, str]:
    """Returns the texts of the definitions by the names that they define. A definition follows
    those that it uses.
    """
    text = (files("fencepost.checker.tla_export") / "helpers.tla").read_text(encoding="utf-8")
    return {
        name: paragraph.strip()
        for paragraph in text.split("\n\n")
        for name in re.findall(r"^(\w+)\(.*\) ==", paragraph, re.MULTILINE)
    }


def wanted(bodies: Iterable[Expr]) -> list[WrittenUnit]:
    """Returns the definitions that some expressions use, in order."""
    library = _library()
    needed: set[str] = set()
    pending = [
        node.operator for body in bodies for node in everything(body) if isinstance(node, Apply)
    ]
    while pending:
        name = pending.pop()
        if name in library and name not in needed:
            needed.add(name)
            pending += re.findall(r"\w+(?=\()", library[name])
    return [WrittenUnit(text) for name, text in library.items() if name in needed]
