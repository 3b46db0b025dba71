"""Only one module names the kinds of properties; all others use the attributes of a kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from tests.support.core_builders import SKIP, TRUE, model
from tests.support.paths import ROOT

from fencepost.spec.core.properties import PropertyKind, Rank, SearchedProperties
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.source import Source

HOME = ROOT / "spec/core/properties.py"
FILES = [path for folder in ("spec", "checker") for path in (ROOT / folder).rglob("*.py")]
DECLARED = [kind for kind in PropertyKind if not kind.is_part]
WORDS = {str(kind) for kind in DECLARED}
MEMBERS = {f"PropertyKind.{kind.name}" for kind in PropertyKind}


def literals(tree: ast.AST) -> Iterator[str]:
    """Yields the words of kinds that a module uses as strings (in comparisons, patterns and
    tables).
    """
    for node in ast.walk(tree):
        # The word "property" also means all kinds.
        if isinstance(node, ast.Constant) and node.value in WORDS - {"property"}:
            yield f"line {node.lineno}: {node.value!r}"


def members(tree: ast.AST) -> Iterator[str]:
    """Yields the members of `PropertyKind` that a module names, except to construct a property."""
    constructed = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Property", "ir.Property")
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in constructed:
            name = ast.unparse(node)
            if name in MEMBERS:
                yield f"line {node.lineno}: {name}"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('kind == "step invariant"', 1),
        ('KINDS = ("terminal", "constraint")', 2),
        ('match kind:\n    case "lemma":\n        pass', 1),
        ("kind is PropertyKind.REACHABLE", 1),
        ("match kind:\n    case PropertyKind.LEMMA:\n        pass", 1),
        ('Property("", PropertyKind.LEMMA, body, span)', 0),
        ("PropertyKind.declared_by(word).of_steps", 0),
        ('"an invariant"', 0),
    ],
)
def test_uses_of_kinds_by_name(code: str, count: int) -> None:
    tree = ast.parse(code)
    assert len([*literals(tree), *members(tree)]) == count


def test_no_module_but_the_home_and_the_grammar_names_a_kind() -> None:
    for path in FILES:
        if path != HOME and ROOT / "spec/syntax" not in path.parents:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert not [*literals(tree), *members(tree)], path


def test_the_grammar_has_the_words_of_the_kinds() -> None:
    grammar = (ROOT / "spec/syntax/grammar.lark").read_text(encoding="utf-8")
    rules = re.findall(r"^!(?:property|open|formula)_kind: (.*)$", grammar, re.MULTILINE)
    words = {part.replace('"', "").strip() for rule in rules for part in rule.split("|")}
    # The syntax of a refinement is different.
    assert words | {"refinement"} == WORDS


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if not kind.of_initial_states])
def test_a_kind_is_declared_by_its_words(kind: PropertyKind) -> None:
    tree, problems = parse(Source("s", f"{kind} P: true\n"))
    (declared,) = tree.declarations
    assert not problems
    assert isinstance(declared, syntax.PropertyDecl)
    assert PropertyKind.declared_by(declared.kind) is kind


def test_searched_properties() -> None:
    kinds = ["constraint", "lemma", "step invariant", "reachable", "invariant", "terminal"]
    core = model(SKIP, [SKIP], [(kind, TRUE) for kind in [*kinds, *kinds]], variables=[])
    assert core.searched({1, 2, 3, 10}) == SearchedProperties((1, 10), (2,), (3,), (0, 6), (5, 11))
    assert core.searched(()) == SearchedProperties((), (), (), (0, 6), (5, 11))
    # Properties that shape the search cannot be selected.
    searched = core.searched(range(12))
    assert searched.chosen == {1, 2, 3, 4, 7, 8, 9, 10}
    assert searched.must_hold == (1, 2, 4, 7, 8, 10)
    assert sorted(searched.every) == [*range(12)]


def test_traits_of_kinds() -> None:
    def with_trait(trait: str) -> set[str]:
        return {str(kind) for kind in PropertyKind if getattr(kind, trait)}

    assert with_trait("of_steps") == {"step invariant", "refinement", "step predicate"}
    assert with_trait("of_initial_states") == {"refinement"}
    assert with_trait("of_behaviours") == {"property"}
    assert with_trait("of_states") == WORDS - {"step invariant", "refinement", "property"} | {
        "predicate"
    }
    assert with_trait("must_hold") == {
        "invariant", "lemma", "step invariant", "refinement", "property",
    }  # fmt: skip
    assert with_trait("selectable") == with_trait("must_hold") | {"reachable"}
    assert with_trait("is_part") == {"predicate", "step predicate"}
    assert with_trait("shapes_search") == {"constraint", "terminal"}
    assert with_trait("supports_proofs") == {"lemma"}
    ranks = {str(kind): kind.rank for kind in PropertyKind if kind.must_hold}
    assert sorted(ranks, key=ranks.__getitem__)[0] == "step invariant"
    assert ranks["invariant"] is ranks["lemma"] is Rank.INVARIANT


def test_where_a_kind_is_evaluated_at_the_end_of_a_path() -> None:
    for kind in PropertyKind:
        if kind.of_behaviours:
            continue
        assert kind.place((1,), (2,)) == (((1,), (2,)) if kind.of_steps else ((2,), None))
