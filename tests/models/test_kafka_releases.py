"""The table of releases in docs/kafka/rules.md agrees with lib/release.fence."""

from __future__ import annotations

import pytest
from tests.support.kafka_text import MODELS, quoted, table

from fencepost.spec.core.types import Bool, Enum
from fencepost.spec.elaborate.claims.program import build, load

ROWS = table("rules.md", "Releases")
RELEASES = ("4.1.0", "4.2.0", "4.3.1", "4.4.0")
SAYS = {"yes": 1, "no": 0}


def switches(release: str) -> dict[str, int]:
    """Returns the Boolean constants of coordinator and leaders by name, for a release or for
    ``none``.
    """
    program = load(MODELS / "txn_core_v2.fence")
    check = next(item for item in program.checks if item.name == "fixed")
    model = build(program, check, {"release.Brokers": release})
    return {
        item.path.rpartition(".")[2]: int(item.value)
        for item in model.constants
        if isinstance(item.type, Bool) and isinstance(item.value, int)
    }


@pytest.fixture(scope="module")
def by_release() -> dict[str, dict[str, int]]:
    return {release: switches("R" + release.replace(".", "_")) for release in RELEASES}


def test_a_measured_cell_equals_the_switch(by_release: dict[str, dict[str, int]]) -> None:
    for _, switch, *cells in ROWS:
        [name] = quoted(switch)
        for release, cell in zip(RELEASES, cells, strict=True):
            assert by_release[release][name] == SAYS[cell], (name, release)


def test_each_switch_that_a_release_sets_has_a_row(by_release: dict[str, dict[str, int]]) -> None:
    """Without a release, all of these switches are on."""
    now = switches("none")
    set_by_release = {
        name for name in now if any(settings[name] != now[name] for settings in by_release.values())
    }
    assert set_by_release == {name for _, switch, *_ in ROWS for name in quoted(switch)}
    assert all(now[name] for name in set_by_release)


def test_releases_are_those_of_the_language() -> None:
    program = load(MODELS / "txn_core_v2.fence")
    check = next(item for item in program.checks if item.name == "fixed")
    types = [item.type for item in build(program, check).constants if item.path.endswith("Brokers")]
    [brokers] = [getattr(item, "element", item) for item in types]
    assert isinstance(brokers, Enum)
    assert list(brokers.members) == ["R" + item.replace(".", "_") for item in RELEASES]
