"""Imports point in one direction, and each third-party library is used in one place (see
ARCHITECTURE.md).
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.support.paths import ROOT

FILES = [path for folder in ("spec", "checker") for path in (ROOT / folder).rglob("*.py")]

FOLDERS = (
    "spec.records",
    "spec.text",
    "spec.syntax",
    "spec.core",
    "spec.semantics",
    "spec.elaborate.base",
    "spec.elaborate.types",
    "spec.elaborate.values",
    "spec.elaborate.actions",
    "spec.elaborate.claims",
    "spec.elaborate.ide",
    "spec.elaborate",
    "spec.mutation",
    "spec.tla.syntax",
    "spec.tla.values",
    "spec.tla.standard",
    "spec.tla.modules",
    "spec.tla.evaluate",
    "spec.tla.inference",
    "spec.tla.lowering",
    "spec.tla",
    "checker.profile",
    "checker.estimate",
    "checker.growth",
    "checker.outcome",
    "checker.request",
    "checker.resources",
    "checker.user_key",
    "checker.printing",
    "checker.options",
    "checker.folders",
    "checker.search",
    "checker.layout",
    "checker.temporal",
    "checker.reference",
    "checker.evaluator",
    "checker.native.codegen",
    "checker.native.kernels",
    "checker.native.machine",
    "checker.native.visited",
    "checker.native",
    "checker.compiled",
    "checker.spark",
    "checker.symbolic",
    "checker.regions",
    "checker.simulate",
    "checker.engines",
    "checker.trace.message_flights",
    "checker.trace.causes",
    "checker.run",
    "checker.trace",
    "checker.tools",
    "checker.systems.conform",
    "checker.systems.drive",
    "checker.systems.kafka",
    "checker.systems.spark",
    "checker.systems",
    "checker.tla_export",
    "checker.report",
    "checker.lsp",
    "checker.web",
    "checker.cli",
    "checker.api",
    "checker.pytest_specs",
    "checker.pytest_plugin",
)
"""Folders and single modules in the order of imports: each imports only from itself and from the
entries above it.
"""

USERS = {
    "checker.systems": ("checker.cli.", "checker.report.", "checker.lsp."),
    "checker.systems.kafka": ("checker.cli.record",),
}
"""Folders with the modules that may import them, given as prefixes of names."""

STRANGERS = {
    "checker.reference": ("checker.native", "checker.spark", "checker.symbolic"),
    "checker.symbolic": ("checker.reference", "checker.native", "checker.spark"),
    "checker.spark": ("checker.reference",),
    "checker.native": ("checker.reference",),
    "checker.report": ("checker.reference", "checker.native", "checker.spark", "checker.symbolic"),
}
"""Folders that do not depend on each other, although the order would allow imports between them.

Engines do not import each other (but Spark runs the native kernels), and reports depend on results,
not on engines.
"""

HOMES = {
    "lark": ("spec.syntax.parse_table", "spec.syntax.lalr", "spec.syntax.layout"),
    "click": ("checker.cli",),
    "markupsafe": ("checker.report.",),
    "rich": ("checker.cli.progress", "checker.printing.page"),
    "llvmlite": ("checker.native.",),
    "lsprotocol": ("checker.lsp.",),
    "numpy": (
        "checker.native.behaviours",
        "checker.native.components",
        "checker.native.graph",
        "checker.native.lassos",
        "checker.native.product",
        "checker.native.profile",
        "checker.native.streett",
    ),
    "platformdirs": ("checker.native.machine.code_cache", "checker.user_key"),
    "py4j": ("checker.spark.", "checker.systems.spark."),
    "pygls": ("checker.lsp.",),
    "pyspark": ("checker.spark.", "checker.systems.spark."),
    "pytest": ("checker.pytest_plugin", "checker.pytest_specs"),
    "z3": ("checker.symbolic.terms", "checker.symbolic.solver"),
}
"""The only modules that may import a third-party library, given as prefixes of names."""


def imports(path: Path) -> set[str]:
    """Returns the imports of a file: modules, and names that may be modules."""
    targets: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names: set[str] = set()
        if isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names} | {f"{node.module}"}
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        # Heavy libraries may be imported inside functions; our own modules only at the top.
        ours = any(name.startswith("fencepost") for name in names)
        assert node in tree.body or not ours, f"{path}: {names} are imported inside"
        assert not getattr(node, "level", 0), f"{path}: {names} are imported relatively"
        targets |= names
    return {name.removeprefix("fencepost.") for name in targets}


@cache
def graph() -> dict[str, set[str]]:
    """Returns the imports of each module."""
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): imports(path) for path in FILES}


def home(module: str) -> str:
    """Returns the innermost entry of `FOLDERS` that contains a module."""
    inside = [folder for folder in FOLDERS if f"{module}.".startswith(f"{folder}.")]
    assert inside or module in ("spec.__init__", "checker.__init__"), f"{module} is in no folder"
    return max(inside, key=len, default="")


def test_folders_are_imported_in_order() -> None:
    for module, targets in graph().items():
        own = home(module)
        for target in targets & graph().keys():
            other = home(target)
            assert not other or FOLDERS.index(other) <= FOLDERS.index(own), f"{module}: {target}"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    TopologicalSorter({n: t & graph().keys() for n, t in graph().items()}).prepare()


def test_strangers_do_not_import_each_other() -> None:
    for folder, others in STRANGERS.items():
        for name in (name for name in graph() if name.startswith(f"{folder}.")):
            imported = {
                t for t in graph()[name] if t.startswith(tuple(f"{other}." for other in others))
            }
            assert not imported, f"{name}: {imported}"


def test_folders_have_no_other_users() -> None:
    for folder, users in USERS.items():
        importers = {n for n, ts in graph().items() if any(t.startswith(f"{folder}.") for t in ts)}
        assert not {name for name in importers if not name.startswith((f"{folder}.", *users))}


def test_foreign_libraries_have_homes() -> None:
    for library, homes in HOMES.items():
        users = {n for n, ts in graph().items() if any(t.partition(".")[0] == library for t in ts)}
        assert not {user for user in users if not user.startswith(homes)}, library
