"""Reads Kafka's models as text: the errors that they answer, their witnesses, checks and
definitions.

Nothing is run. `Text` reads a model with all its imports, and follows names from definition to
definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

from fencepost.spec.core.traverse import children, walk
from fencepost.spec.elaborate.base.files import Files
from fencepost.spec.elaborate.claims.program import Check, Program, load
from fencepost.spec.syntax import nodes as syntax

MODELS = ROOT / "models" / "kafka"
PAGES = ROOT / "docs" / "kafka"
PLANNED = {
    "F1": "txn_idempotence",
    "F2": "txn_init",
    "F3": "txn_core_v1",
    "F4": "txn_core_v2",
    "F5": "txn_failover",
    "F6": "txn_upgrade",
    "F7": "txn_group",
    "F8": "txn_expiration",
    "F9": "txn_read_committed",
    "F10": "txn_timeout",
    "F11": "txn_two_phase",
}
"""The names of the models, by the short names that the pages use."""

COMPARISONS = ("==", "!=", "in", "not in")

Definition = tuple[Path, str]
"""A def, a procedure or an action, by its file and its name (without the role's name)."""

Owner = syntax.File | syntax.RoleDecl


@dataclass(frozen=True, slots=True)
class Text:
    """A model in source form, with its modules."""

    program: Program
    _named: dict[Path, dict[str, list[syntax.Node]]] = field(
        default_factory=dict[Path, dict[str, list[syntax.Node]]]
    )

    @property
    def files(self) -> Files:
        return self.program.files

    @property
    def tree(self) -> syntax.File:
        return self.files.files[self.files.root]

    # ------------------------------------------------------------------------------ checks

    def check(self, name: str) -> Check:
        """Returns the check with this name. Raises `KeyError` if there is none."""
        matches = [item for item in self.program.checks if item.name == name]
        if not matches:
            raise KeyError(f"{self.program.name} has no check {name}")
        return matches[0]

    def held_in(self, prop: str) -> list[str]:
        """Returns the names of the quick checks that examine a property and expect ok."""
        return [
            check.name
            for check in self.program.checks
            if check.verdict == "ok" and not check.slow and looked_at(check, prop)
        ]

    def sets(self, check: Check) -> dict[str, str]:
        """Returns the constants that a check sets, in source form."""
        return {
            ".".join(part.text for part in item.path): item.value.span.text
            for item in check.constants
        }

    # -------------------------------------------------------------------------- properties

    def properties(self) -> dict[str, syntax.PropertyDecl]:
        return {
            declaration.name.text: declaration
            for declaration in self.tree.declarations
            if isinstance(declaration, syntax.PropertyDecl) and declaration.name is not None
        }

    def witnesses(self) -> dict[str, syntax.PropertyDecl]:
        return {
            name: declaration
            for name, declaration in self.properties().items()
            if declaration.kind == "reachable"
        }

    def definitions_of(self, prop: str) -> set[Definition]:
        """Returns every def that a property depends on, including those that it uses indirectly."""
        return set(self.reached([self.properties()[prop]], self.files.root))

    # ------------------------------------------------------------------------- definitions

    def actions(self) -> Iterator[tuple[syntax.ActionDecl, Path]]:
        """Yields the actions of this file and of the roles that it imports."""
        for declaration in _members(self.tree):
            if isinstance(declaration, syntax.ActionDecl):
                yield declaration, self.files.root
        for node in self.tree.declarations:
            if isinstance(node, syntax.Import) and node.names is not None:
                path = self._target(self.files.root, node)
                wanted = {name.text for name in node.names}
                for role in self.files.files[path].declarations:
                    if isinstance(role, syntax.RoleDecl) and role.name.text in wanted:
                        for declaration in role.members:
                            if isinstance(declaration, syntax.ActionDecl):
                                yield declaration, path

    def reached(
        self, nodes: Iterable[syntax.Node], path: Path
    ) -> dict[Definition, tuple[syntax.Node, ...]]:
        """Returns every definition used in these nodes, directly or indirectly."""
        reached: dict[Definition, tuple[syntax.Node, ...]] = {}
        work = [(node, path) for node in nodes]
        while work:
            node, here = work.pop()
            for where, name in self._mentioned(node, here):
                if (where, name) in reached:
                    continue
                # Several roles of one file may have definitions with the same name; all of them are
                # followed.
                definitions = self._definitions(where).get(name, [])
                if definitions:
                    reached[where, name] = tuple(definitions)
                    work += [(definition, where) for definition in definitions]
        return reached

    def _definitions(self, path: Path) -> dict[str, list[syntax.Node]]:
        if path not in self._named:
            named: dict[str, list[syntax.Node]] = {}
            for declaration in _members(self.files.files[path]):
                if isinstance(declaration, syntax.DefDecl | syntax.ProcedureDecl):
                    named.setdefault(declaration.name.text, []).append(declaration)
            self._named[path] = named
        return self._named[path]

    def _mentioned(self, node: syntax.Node, path: Path) -> Iterator[Definition]:
        """Yields the names that may be definitions: plain names, and those of modules and roles."""
        modules, names = self._imported(path)
        for part in walk(node):
            if isinstance(part, syntax.Name):
                yield names.get(part.text, path), part.text
            elif isinstance(part, syntax.Attribute):
                base = part.base.text if isinstance(part.base, syntax.Name) else ""
                if isinstance(part.base, syntax.Index) and isinstance(part.base.base, syntax.Name):
                    base = part.base.base.text
                yield modules.get(base, names.get(base, path)), part.name.text

    def _imported(self, path: Path) -> tuple[dict[str, Path], dict[str, Path]]:
        """Returns the files of the modules and names that a file imports."""
        modules: dict[str, Path] = {}
        names: dict[str, Path] = {}
        for node in self.files.files[path].declarations:
            if not isinstance(node, syntax.Import):
                continue
            target = self._target(path, node)
            if node.names is None:
                modules[(node.alias or node.module[-1]).text] = target
            else:
                names |= {name.text: target for name in node.names}
        return modules, names

    def _target(self, path: Path, node: syntax.Import) -> Path:
        return self.files.imports[path, tuple(part.text for part in node.module)]

    # ------------------------------------------------------------------------------ errors

    def error_codes(self) -> set[str]:
        """Returns the members of the enum ``Error``."""
        return {
            member.text
            for tree in self.files.files.values()
            for declaration in tree.declarations
            if isinstance(declaration, syntax.EnumDecl) and declaration.name.text == "Error"
            for member in declaration.members
        }

    def answered(self) -> set[str]:
        """Returns the errors, other than NONE, that this model's actions use as values."""
        codes = self.error_codes() - {"NONE"}
        errors: set[str] = set()
        for action, path in self.actions():
            reached = self.reached([action], path).values()
            for node in (action, *(definition for several in reached for definition in several)):
                errors |= set(_values(node)) & codes
        return errors

    def witnessed(self) -> dict[str, list[str]]:
        """Returns, for each error, the witnesses that compare something with it."""
        codes = self.error_codes()
        witnesses: dict[str, list[str]] = {}
        for name, declaration in self.witnesses().items():
            for part in walk(declaration.body):
                if isinstance(part, syntax.Binary) and part.operator == "==":
                    for side in (part.left, part.right):
                        if isinstance(side, syntax.Name) and side.text in codes:
                            witnesses.setdefault(side.text, []).append(name)
        return witnesses


@cache
def text_of(model: str) -> Text:
    """Reads a model by its name or its short name."""
    return Text(load(MODELS / f"{PLANNED.get(model, model)}.fence"))


def looked_at(check: Check, prop: str) -> bool:
    """Checks whether a check searches for violations of a property, or for a witness."""
    if check.properties is not None:
        return prop in check.properties
    return check.property is None or check.property == prop


def _members(tree: syntax.File) -> Iterator[syntax.Node]:
    for declaration in tree.declarations:
        yield declaration
        if isinstance(declaration, syntax.RoleDecl):
            yield from declaration.members


def _values(node: syntax.Node) -> Iterator[str]:
    """Yields the names in a node that are values, except those with which something is compared."""
    if isinstance(node, syntax.Pattern):
        return
    if isinstance(node, syntax.Name):
        yield node.text
        return
    for part in children(node):
        assert isinstance(part, syntax.Node)
        compared = isinstance(node, syntax.Binary) and node.operator in COMPARISONS
        if compared and isinstance(part, syntax.Name):
            continue
        if compared and isinstance(part, syntax.Collection):
            continue
        yield from _values(part)


# ---------------------------------------------------------------------------------- pages


def table(page: str, heading: str) -> list[list[str]]:
    """Returns the rows of the table below a heading of a page, without the header."""
    text = (PAGES / page).read_text(encoding="utf-8")
    _, mark, below = text.partition(f"\n## {heading}\n")
    assert mark, f"{page} has no part {heading!r}"
    rows: list[list[str]] = []
    for line in below.partition("\n## ")[0].splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    assert len(rows) > 2, f"{page}, {heading}: no table"
    return rows[2:]


def quoted(cell: str) -> list[str]:
    """Returns the texts between backticks in a cell."""
    return cell.split("`")[1::2]


def models_of(names: Sequence[str]) -> list[str]:
    return [PLANNED.get(name, name) for name in names]
