"""Tables over a fixed set of keys have a row for each key.

The tables are the mappings in all modules whose keys are the members of an enum or, according to
their annotation, the words of a literal type or the classes of a union.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Literal, cast, get_args, get_origin

from tests.support.paths import ROOT

import fencepost
from fencepost.spec.core import ir
from fencepost.spec.core.signatures import takes_collection
from fencepost.spec.elaborate.claims import symmetry

PARTIAL: Mapping[str, frozenset[object]] = {
    "fencepost.checker.lsp.outline.SYMBOLS": frozenset({"local", "parameter"}),
    "fencepost.checker.lsp.places._WIDE": frozenset({"Utf32"}),
    "fencepost.checker.native.search.SHARES": frozenset({"automaton", "lasso"}),
    "fencepost.checker.temporal.decide.SHARES": frozenset({"automaton", "edges", "lasso"}),
    "fencepost.checker.report.conformance.RULES": frozenset({"allowed"}),
    "TITLES": frozenset({"KILLED", "SAME", "REFUSED"}),
}
"""Tables that lack a row for some keys.

The outline omits locals, no character takes two units of UTF-32, a phase without a share takes
hardly any time, and the reports do not list allowed histories or killed mutants one by one.
"""


def _tables() -> Iterator[tuple[str, Mapping[Any, object], object]]:
    """Yields the tables of all modules, each as its name (with the module if it is annotated), the
    table, and its annotation.
    """
    seen = set[int]()
    for entry in walk_packages(fencepost.__path__, "fencepost."):
        if entry.name.endswith("__main__"):
            continue
        module = import_module(entry.name)
        annotations: Mapping[str, str] = getattr(module, "__annotations__", {})
        for name, value in vars(module).items():
            if not isinstance(value, Mapping) or name.startswith("__"):
                continue
            table = cast("Mapping[Any, object]", value)
            if name in annotations:
                yield (
                    f"{entry.name}.{name}",
                    table,
                    eval(annotations[name], vars(typing) | vars(module)),
                )
            elif id(table) not in seen:
                yield name, table, None
            seen.add(id(table))


def _keys(table: Mapping[Any, object], annotation: object) -> frozenset[object]:
    """Returns all keys that a table could have; the members of an enum are given by name.

    The set is empty if the keys are not fixed.
    """
    kind = next(iter(get_args(annotation)), None)
    if get_origin(kind) is Literal:
        return frozenset(get_args(kind))
    if get_origin(kind) is type:
        (union,) = get_args(kind)
        return frozenset(get_args(union))
    kinds: set[type[object]] = {type(key) for key in table}
    if len(kinds) == 1 and issubclass(enum := kinds.pop(), Enum):
        return frozenset(member.name for member in enum)
    return frozenset()


def test_tables_have_every_row() -> None:
    missing: dict[str, frozenset[object]] = {}
    closed = set[str]()
    for name, table, annotation in _tables():
        if keys := _keys(table, annotation):
            closed.add(name)
            present = {key.name if isinstance(key, Enum) else key for key in table}
            if absent := keys - present:
                missing[name] = absent
    assert len(closed) > 10
    assert missing == PARTIAL


def _below(kind: type[object]) -> Iterator[type[object]]:
    """Yields the subclasses of a class that have no subclasses themselves, or the class if it has
    none.
    """
    inner = kind.__subclasses__()
    if not inner:
        yield kind
    for each in inner:
        yield from _below(each)


def test_symmetry_has_a_case_for_each_node_that_may_depend_on_an_order() -> None:
    nodes = [kind for kind in _below(ir.Node) if issubclass(kind, ir.Node)]
    expected = set(filter(takes_collection, nodes))
    assert len(expected) > 5
    tree = ast.parse(textwrap.dedent(inspect.getsource(symmetry.Look.at)))
    (match,) = (node for node in ast.walk(tree) if isinstance(node, ast.Match))
    cases: set[str] = set()
    for case in match.cases:
        alternatives = (
            case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
        )
        cases |= {
            ast.unparse(pattern.cls)
            for pattern in alternatives
            if isinstance(pattern, ast.MatchClass)
        }
    assert cases == {f"ir.{kind.__name__}" for kind in (*expected, *symmetry.COMPARING)}


def test_every_amount_of_the_nightly_run_is_used() -> None:
    script = (ROOT / ".ci/nightly").read_text("utf-8")
    (listed,) = re.findall(r"^for amount in (.*?); do$", script, re.M | re.S)
    names = set(re.findall(r"\b([A-Z_]+)=", listed))
    pattern = re.compile(r'\b(?:amount|everything)\("([A-Z_]+)"|FENCEPOST_([A-Z_]+)')
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    used = {
        "".join(groups) for path in paths for groups in pattern.findall(path.read_text("utf-8"))
    }
    used |= set(re.findall(r'\$FENCEPOST_([A-Z_]+)"', script))
    assert len(names) > 15
    assert names <= used
