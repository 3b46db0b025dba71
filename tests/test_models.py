"""Every check of every shipped model comes out as it says, and the spec of page 1 gives its figures.

A check that takes long carries the marker ``slow_model``: one that is declared slow, and one
that expects so many successors that the interpreter needs more than about ten seconds for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fencepost
from fencepost.spec.library import read
from fencepost.spec.parse import parse
from fencepost.spec.syntax import CheckDecl, ExpectCount, ExpectVerdict

ROOT = Path(__file__).resolve().parents[1]
MODELS = sorted((ROOT / "models").rglob("*.fence"))
LONG = 100_000
"""So many generated states are too many for the fast suite."""


def checks(path: Path) -> list[CheckDecl]:
    """The checks of a spec, in file order."""
    tree, problems = parse(read(path))
    assert not problems, "\n".join(map(str, problems))
    return [one for one in tree.declarations if isinstance(one, CheckDecl)]


def cases() -> Iterator[object]:
    for path in MODELS:
        for check in checks(path):
            counts = {one.what: one.count for one in check.items if isinstance(one, ExpectCount)}
            long = check.slow or counts.get("generated", 0) > LONG
            marks = [pytest.mark.slow_model] if long else []
            name = f"{path.stem}-{check.name.text}"
            yield pytest.param(path, check.name.text, id=name, marks=marks)


@pytest.mark.parametrize(("path", "name"), cases())
def test_check_of_a_shipped_model(path: Path, name: str) -> None:
    result = fencepost.check(path, checks=[name])
    assert result.as_expected, str(result)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_model_says_what_is_expected_of_it(path: Path) -> None:
    tree, _ = parse(read(path))
    assert tree.docstring is not None
    assert "Expected:" in tree.docstring
    assert checks(path), "a shipped model has checks"
    for check in checks(path):
        assert any(isinstance(one, ExpectVerdict) for one in check.items), check.name.text


# The spec on the first page of the language reference, and what an independent search of the
# same machine found: verdict, distinct states, generated states, depth.
PAGE_ONE = {
    "unverified": ("violated", 22, 30, 8),
    "race": ("violated", 79, 117, 10),
    "fixed": ("ok", 180, 346, 15),
}


@pytest.fixture(scope="module")
def page_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    found = re.search(r"^```fence check file=race.fence\n(.*?)^```$", text, re.M | re.S)
    assert found is not None
    path = tmp_path_factory.mktemp("page_one") / "race.fence"
    path.write_text(found[1], encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PAGE_ONE)
def test_spec_of_page_one_gives_its_figures(page_one: Path, name: str) -> None:
    result = fencepost.check(page_one, checks=[name])
    found = (result.verdict.value, result.distinct, result.generated, result.depth)
    assert found == PAGE_ONE[name]
    assert result.as_expected, str(result)
    trace = result.trace
    assert (trace is None) if name == "fixed" else (trace is not None and len(trace) == result.depth)
