"""Imports point one way, and each foreign library has its home (see ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = [path for folder in ("spec", "checker") for path in (ROOT / folder).rglob("*.py")]
NEVER = {  # What the modules whose names begin with the key do not import.
    "spec": ("checker",),
    "spec.parse": ("spec.ir", "spec.types"),
    "spec.semantics": ("spec.syntax", "spec.parse"),
    "checker": ("spec.syntax", "spec.parse"),
    "checker.reference": ("checker.report", "checker.run", "checker.cli"),
    "checker.report": ("checker.reference", "checker.cli"),
}
HOMES = {"lark": {"spec.grammar"}, "click": {"checker.cli"}, "rich": {"checker.progress"}}


def imports(path: Path) -> set[str]:
    """The modules, and what may be modules, that a file names in its imports."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}:{node.lineno}: relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert node in tree.body, f"{path}:{node.lineno}: an import inside something else"
    return {name.removeprefix("fencepost.") for name in found}


GRAPH = {".".join(path.relative_to(ROOT).with_suffix("").parts): imports(path) for path in FILES}


def test_imports_point_downwards() -> None:
    inside = {name: targets & GRAPH.keys() for name, targets in GRAPH.items()}
    TopologicalSorter(inside).prepare()  # Raises CycleError, which names the cycle.
    for start, forbidden in NEVER.items():
        for name, targets in GRAPH.items():
            wrong = {target for target in targets if target.startswith(forbidden)}
            assert not (name.startswith(start) and wrong), f"{name} imports {wrong}"


def test_foreign_libraries_have_homes() -> None:
    for library, homes in HOMES.items():
        users = {n for n, ts in GRAPH.items() if any(t.partition(".")[0] == library for t in ts)}
        assert users <= homes, library
