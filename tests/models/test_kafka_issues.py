"""Every known issue in docs/kafka/issues.md has a check that reintroduces it with its switch."""

from __future__ import annotations

import re

import pytest
from tests.support.kafka_text import PLANNED, looked_at, quoted, table, text_of

STARRED = (
    "KAFKA-14402", "KIP-890", "KAFKA-17754", "KAFKA-14884", "KAFKA-6119", "KAFKA-9600",
    "KAFKA-10080", "KAFKA-16352", "KAFKA-15784", "KAFKA-9346", "KAFKA-9365", "KAFKA-17507",
    "KAFKA-18019", "KAFKA-18227", "KAFKA-18464", "KAFKA-18575", "KAFKA-18660", "KAFKA-19367",
    "KAFKA-20090", "KAFKA-19446", "KAFKA-19999", "KAFKA-20310", "KAFKA-20357", "KAFKA-20785",
)  # fmt: skip
"""The issues that must have a check."""

OTHERS = (
    "KAFKA-12671", "KAFKA-14053", "KAFKA-14904", "KAFKA-14920", "KAFKA-14359", "KAFKA-18202",
    "KAFKA-15591", "KAFKA-5231", "KAFKA-9666", "KAFKA-5351", "KAFKA-5416", "KAFKA-7519",
    "KAFKA-9777", "KAFKA-15449", "KAFKA-14505", "KAFKA-18401", "KAFKA-14563", "KAFKA-18654",
    "KAFKA-19690", "KAFKA-9144", "KAFKA-7190", "KAFKA-8710", "KAFKA-5385", "KAFKA-14830",
    "librdkafka#3575", "KAFKA-9807", "KAFKA-7866", "KAFKA-13727", "KAFKA-14055", "KAFKA-10687",
)  # fmt: skip

RELEASE = re.compile(r"4\.\d\.\d")
ISSUE = re.compile(r"KAFKA-\d+|KIP-\d+|librdkafka#\d+")
ROWS = table("issues.md", "Issues")
FOUND = table("issues.md", "Found here, and seen on brokers")


def name(row: list[str]) -> str:
    return row[0].removeprefix("★").strip().replace(" ", "_")


def belongs_to(prop: str | None, wanted: str) -> bool:
    """Checks whether a property belongs to an id, as ``S15Gap`` belongs to S15 and ``L4Alive`` to
    L4.
    """
    return prop is not None and re.fullmatch(rf"{wanted}([A-Z]\w*)?", prop) is not None


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_issue_is_brought_back(row: list[str]) -> None:
    """Each broken property has a check that must report its violation, with that switch turned
    off.
    """
    issue, _, breaks, switch, checks = row
    broken: set[str] = set()
    for path in quoted(checks):
        model, _, check_name = path.partition(".")
        check = text_of(model).check(check_name)
        assert check.verdict == "violated", path
        broken |= {wanted for wanted in breaks.split(", ") if belongs_to(check.property, wanted)}
        off = {
            constant.rpartition(".")[2]
            for constant, value in text_of(model).sets(check).items()
            if value == "false"
        }
        for constant in quoted(switch):
            assert constant in off, f"{path} does not turn {constant} off"
    assert broken == set(breaks.split(", ")), issue


def test_every_known_issue_has_a_row() -> None:
    starred = {issue for row in ROWS if row[0].startswith("★") for issue in ISSUE.findall(row[0])}
    listed = {issue for row in ROWS for issue in ISSUE.findall(row[0])}
    assert starred >= set(STARRED)
    assert listed >= {*STARRED, *OTHERS}


def test_checks_of_issues_exist_once() -> None:
    """Each check demonstrates one issue, so no row relies on the check of another row."""
    checks = [path for row in ROWS for path in quoted(row[4])]
    assert len(checks) == len(set(checks))


def test_issues_that_are_not_here_have_a_reason() -> None:
    rows = table("issues.md", "Not here")
    assert all(why for _, why in rows)
    listed = {issue for row in ROWS for issue in ISSUE.findall(row[0])}
    assert not listed & {issue for issues, _ in rows for issue in ISSUE.findall(issues)}


BOUNDS = {"Transactional", "LogHeldRecords", "Timeouts", "Expiry", "VerificationOn"}
"""Constants that describe the environment, not the rules in force."""


@pytest.mark.parametrize("model", PLANNED)
def test_every_switch_has_a_row(model: str) -> None:
    """Every switch that a check turns off to break a property is in the table."""
    text = text_of(model)
    listed = {constant for row in ROWS for constant in quoted(row[3])}
    listed |= {constant for row in FOUND for constant in quoted(row[2])}
    for check in text.program.checks:
        if check.verdict == "violated":
            for constant, value in text.sets(check).items():
                name = constant.rpartition(".")[2]
                assert value != "false" or name in listed | BOUNDS, f"{check.name}: {name}"


@pytest.mark.parametrize("row", FOUND, ids=lambda row: quoted(row[3])[0])
def test_a_finding_breaks_its_property_and_its_control_does_not(row: list[str]) -> None:
    """The control examines the property that the check breaks."""
    _, seen_on, switch, checks, controls = row
    assert RELEASE.search(seen_on), row
    broken: set[str | None] = set()
    for path in quoted(checks):
        model, _, name = path.partition(".")
        check = text_of(model).check(name)
        assert check.verdict == "violated", path
        broken.add(check.property)
        off = {
            constant.rpartition(".")[2]
            for constant, value in text_of(model).sets(check).items()
            if value == "false"
        }
        assert set(quoted(switch)) <= off, path
    held: set[str | None] = set()
    for path in quoted(controls):
        model, _, name = path.partition(".")
        check = text_of(model).check(name)
        assert check.verdict == "ok", path
        held |= {prop for prop in broken if prop is not None and looked_at(check, prop)}
    assert held == broken
