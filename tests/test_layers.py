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
    "checker.native": ("checker.report", "checker.run", "checker.cli"),
    "checker.symbolic": ("checker.report", "checker.run", "checker.cli", "checker.native"),
    "checker.report": ("checker.reference", "checker.native", "checker.cli"),
}
HOMES = {  # Where a foreign library may be imported: modules whose names begin so.
    "lark": ("spec.grammar", "spec.lalr", "spec.layout"),
    "click": ("checker.cli", "checker.commands", "checker.options"),
    "rich": ("checker.progress",),
    "llvmlite": ("checker.native.",),
    "py4j": ("checker.spark.",),
    "pyspark": ("checker.spark.",),
    "pytest": ("checker.pytest_plugin",),
    "z3": ("checker.symbolic.terms", "checker.symbolic.solver"),
}


def imports(path: Path) -> set[str]:
    """What a file imports: modules, and names that may be modules."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names: set[str] = set()
        if isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names} | {f"{node.module}"}
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        # A heavy library may be imported where it is needed; ours are imported at the top.
        ours = any(name.startswith("fencepost") for name in names)
        assert node in tree.body or not ours, f"{path}: {names} are imported inside"
        assert not getattr(node, "level", 0), f"{path}: {names} are imported relatively"
        found |= names
    return {name.removeprefix("fencepost.") for name in found}


GRAPH = {".".join(path.relative_to(ROOT).with_suffix("").parts): imports(path) for path in FILES}


def test_imports_point_downwards() -> None:
    TopologicalSorter({n: t & GRAPH.keys() for n, t in GRAPH.items()}).prepare()  # No cycle.
    for start, forbidden in NEVER.items():
        for name in (name for name in GRAPH if name.startswith(start)):
            assert not {t for t in GRAPH[name] if t.startswith(forbidden)}, name


def test_foreign_libraries_have_homes() -> None:
    for library, homes in HOMES.items():
        users = {n for n, ts in GRAPH.items() if any(t.partition(".")[0] == library for t in ts)}
        assert not {user for user in users if not user.startswith(homes)}, library
