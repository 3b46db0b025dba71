"""The table of releases in docs/kafka/rules.md, held to lib/release.fence."""

from __future__ import annotations

import pytest
from tests.support.kafka_text import MODELS, quoted, table

from fencepost.spec.core.types import Bool, Enum
from fencepost.spec.elaborate.claims.program import build, load

ROWS = table("rules.md", "Releases")
RELEASES = ("4.1.0", "4.2.0", "4.3.1", "4.4.0")
SAYS = {"yes": 1, "no": 0}


def switches(release: str) -> dict[str, int]:
    """The bools of coordinator and leaders, by name, for the brokers of a release or of none."""
    program = load(MODELS / "txn_core_v2.fence")
    check = next(one for one in program.checks if one.name == "fixed")
    model = build(program, check, {"release.Brokers": release})
    return {
        one.path.rpartition(".")[2]: int(one.value)
        for one in model.constants
        if isinstance(one.type, Bool) and isinstance(one.value, int)
    }


@pytest.fixture(scope="module")
def by_release() -> dict[str, dict[str, int]]:
    return {one: switches("R" + one.replace(".", "_")) for one in RELEASES}


def test_a_measured_cell_is_what_the_switch_is(by_release: dict[str, dict[str, int]]) -> None:
    for _, switch, *cells in ROWS:
        [name] = quoted(switch)
        for release, cell in zip(RELEASES, cells, strict=True):
            assert by_release[release][name] == SAYS[cell], (name, release)


def test_each_switch_that_a_release_sets_has_a_row(by_release: dict[str, dict[str, int]]) -> None:
    """And with no release every one of them is on."""
    now = switches("none")
    set_by_release = {
        name for name in now if any(one[name] != now[name] for one in by_release.values())
    }
    assert set_by_release == {name for _, switch, *_ in ROWS for name in quoted(switch)}
    assert all(now[name] for name in set_by_release)


def test_releases_are_those_of_the_language() -> None:
    program = load(MODELS / "txn_core_v2.fence")
    check = next(one for one in program.checks if one.name == "fixed")
    types = [one.type for one in build(program, check).constants if one.path.endswith("Brokers")]
    [brokers] = [getattr(one, "element", one) for one in types]
    assert isinstance(brokers, Enum)
    assert list(brokers.members) == ["R" + one.replace(".", "_") for one in RELEASES]
