"""docs/kafka/properties.md lists the properties that each model checks, and their definitions."""

from __future__ import annotations

import re

import pytest
from tests.support.kafka_text import MODELS, PLANNED, Text, models_of, quoted, table, text_of
from tests.support.paths import ROOT

from fencepost.spec.syntax.nodes import DefDecl

ROWS = table("properties.md", "Properties")
PROMISED = [*(f"S{n}" for n in range(1, 19)), "S1T", *(f"L{n}" for n in range(1, 6))]
ALL = sorted(path.stem for path in MODELS.glob("*.fence"))
OWN_WORDS = {
    ("txn_group", "L1"),
    ("txn_read_committed", "L1"),
    ("txn_idempotence", "L4"),
    ("txn_two_phase", "S5"),
}
"""The section of docs/kafka/properties.md on models that state their own version of a property."""


def named(text: Text, prop: str) -> list[str]:
    """Returns the properties of a model that belong to an id: S15 and S15Gap for S15, but not S1T
    for S1.
    """
    return [
        name
        for name, declaration in text.properties().items()
        if declaration.kind in ("invariant", "step invariant")
        and re.fullmatch(rf"{prop}([A-Z][a-z]\w*)?", name)
    ]


def rests_on(text: Text, prop: str, definition: str) -> bool:
    """Checks whether a definition states a property, or a step evaluates it for the property."""
    module, _, name = definition.partition(".")
    wanted = (ROOT / "invariants" / f"{module}.fence", name)
    if wanted in text.definitions_of(prop):
        return True
    actions = [action for action, path in text.actions() if path == text.files.root]
    flag = (
        len(text.definitions_of(prop)) <= 1
    )  # a property without further definitions is only a flag
    return flag and wanted in text.reached(actions, text.files.root)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].replace(" ", "_"))
def test_models_check_the_properties_in_the_table(row: list[str]) -> None:
    prop, [definition], models = row[0].split()[0], quoted(row[3]), row[4].split(", ")
    for model in models_of(models):
        text = text_of(model)
        resting = [
            property_ for property_ in named(text, prop) if rests_on(text, property_, definition)
        ]
        assert resting, f"{model} has no {prop} that rests on {definition}"
        assert any(text.held_in(property_) for property_ in resting), (
            f"no check of {model} holds {prop}"
        )


@pytest.mark.parametrize("prop", PROMISED)
def test_table_has_every_model_that_checks_a_property(prop: str) -> None:
    rows = [row for row in ROWS if row[0].split()[0] == prop]
    assert rows, prop
    listed = {model for row in rows for model in models_of(row[4].split(", "))}
    having = {model for model in PLANNED.values() if named(text_of(model), prop)}
    assert having - listed <= {model for model, other in OWN_WORDS if other == prop}


def test_every_definition_is_used() -> None:
    """Every definition is in the table, or is needed by another definition."""
    listed = {quoted(row[3])[0] for row in ROWS}
    used: set[str] = set()
    for model in ALL:
        text = text_of(model)
        nodes = [*text.properties().values(), *(action for action, _ in text.actions())]
        for path, name in text.reached(nodes, text.files.root):
            used.add(f"{path.stem}.{name}")
    for path in sorted((ROOT / "invariants").glob("*.fence")):
        for name in definitions(path.stem):
            assert f"{path.stem}.{name}" in listed | used, f"{path.stem}.{name}"


def definitions(module: str) -> list[str]:
    files = [
        tree
        for model in ALL
        for path, tree in text_of(model).files.files.items()
        if path == ROOT / "invariants" / f"{module}.fence"
    ]
    assert files, f"no model imports {module}"
    return [
        declaration.name.text
        for declaration in files[0].declarations
        if isinstance(declaration, DefDecl)
    ]


@pytest.mark.parametrize("module", sorted(p.stem for p in (ROOT / "invariants").glob("*.fence")))
def test_definitions_have_their_source(module: str) -> None:
    """The comment above each property names its source."""
    text = (ROOT / "invariants" / f"{module}.fence").read_text(encoding="utf-8")
    for row in ROWS:
        owner, _, name = quoted(row[3])[0].partition(".")
        if owner == module:
            before = text[: text.index(f"def {name}(")]
            *_, begin = re.finditer(r"^# (\.\.\. )?[SL]\d", before, re.M)
            assert "Source:" in before[begin.start() :], name
