"""docs/kafka/liveness.md gives the purpose of each promise, and a lasso for each issue that causes
a hang.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.support.kafka_text import MODELS, PAGES, models_of, quoted, table, text_of

from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.syntax.nodes import PropertyDecl

PROMISES = table("liveness.md", "What a cluster owes")
HANGING = table("liveness.md", "Issues that hang something")
ISSUE = re.compile(r"KAFKA-\d+|KIP-\d+")
LIVE = re.compile(r"L\dEventually")
APPLICATION = ("Client.commit", "Client.abort")
"""Actions that need not happen if transactions time out."""


def promises(check: Check) -> tuple[str, ...]:
    """Returns the obligations of the cluster that a check removes."""
    owed = tuple(action for action in check.without if action not in APPLICATION)
    assert len(check.without) in (len(owed), len(owed) + len(APPLICATION)), check.name
    return owed


def lassos(cell: str) -> Iterator[tuple[str, Check]]:
    """Yields the checks of a cell, with their models; each check violates the property at the end
    of its name.
    """
    for path in quoted(cell):
        model, _, name = path.partition(".")
        check = text_of(model).check(name)
        assert check.verdict == "violated", path
        assert check.property is not None
        assert LIVE.fullmatch(check.property), path
        assert name.endswith(f"_{check.property.lower()}"), path
        yield model, check


@pytest.mark.parametrize("row", PROMISES, ids=lambda row: quoted(row[2])[0])
def test_each_promise_is_taken_away(row: list[str]) -> None:
    [promise] = quoted(row[1])
    violations = list(lassos(row[2]))
    assert violations
    assert all(promises(check) == (promise,) for _, check in violations)


@pytest.mark.parametrize("row", HANGING, ids=lambda row: quoted(row[2])[0])
def test_each_issue_has_a_lasso_although_everything_is_promised(row: list[str]) -> None:
    violations = list(lassos(row[2]))
    assert violations
    for model, check in violations:
        assert not check.without
        sets = text_of(model).sets(check)
        off = {name.rpartition(".")[2] for name, value in sets.items() if value == "false"}
        assert set(quoted(row[1])) <= off, check.name


def test_every_starred_issue_that_breaks_liveness_is_there() -> None:
    listed = {issue for row in HANGING for issue in ISSUE.findall(row[0])}
    for issue, _, breaks, *_ in table("issues.md", "Issues"):
        if issue.startswith("★") and re.search(r"\bL\d", breaks):
            assert set(ISSUE.findall(issue)[:1]) <= listed, issue


def test_every_check_without_a_promise_is_on_the_page() -> None:
    listed = {path for row in PROMISES for path in quoted(row[2])}
    listed |= {path for row in HANGING for path in quoted(row[2])}
    for path in sorted(MODELS.glob("*.fence")):
        for check in text_of(path.stem).program.checks:
            if promises(check):
                assert f"{path.stem}.{check.name}" in listed


def test_every_model_has_the_properties_on_the_page() -> None:
    """In each model, the property holds in a check that removes no promise."""
    text = (PAGES / "liveness.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (L\dEventually) \| .* \| ([^|]*) \|$", text, re.M)
    assert len(rows) == 5
    for prop, models in rows:
        for model in models_of(models.split(", ")):
            declaration = text_of(model).properties()[prop]
            assert isinstance(declaration, PropertyDecl)
            assert declaration.kind == "property"
            held = text_of(model).held_in(prop)
            assert any(not text_of(model).check(name).without for name in held), (model, prop)
