"""Definitions that a module has where it uses them: they stand in ``helpers.tla``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from fencepost.checker.tla.simplify import everything
from fencepost.checker.tla.tree import Apply, Expr, Written


@cache
def _library() -> dict[str, str]:
    """The texts by the names that they define; one that uses another stands behind it."""
    text = (files("fencepost.checker.tla") / "helpers.tla").read_text(encoding="utf-8")
    return {
        name: one.strip()
        for one in text.split("\n\n")
        for name in re.findall(r"^(\w+)\(.*\) ==", one, re.MULTILINE)
    }


def wanted(bodies: Iterable[Expr]) -> list[Written]:
    """The definitions that some expressions use, in order."""
    library = _library()
    found: set[str] = set()
    pending = [
        node.operator for body in bodies for node in everything(body) if isinstance(node, Apply)
    ]
    while pending:
        name = pending.pop()
        if name in library and name not in found:
            found.add(name)
            pending += re.findall(r"\w+(?=\()", library[name])
    return [Written(text) for name, text in library.items() if name in found]
