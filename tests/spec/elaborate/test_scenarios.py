"""Scenarios in source form (docs/language.md section 10): those that are refused, and positions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, refused
from tests.support.scenario_runs import SPEC
from tests.support.text_tables import tables

from fencepost.spec.elaborate.ide.survey import survey

TABLES = tables(Path(__file__))


@pytest.mark.parametrize(("steps", "code", "phrase"), TABLES["misuse"])
def test_misuse(steps: str, code: str, phrase: str) -> None:
    refused(f"{SPEC}scenario s: {steps}\n", code, phrase)


def test_every_mistake_of_a_scenario_is_reported() -> None:
    assert codes(f"{SPEC}scenario s: tik; Client[a].asc; expect y\n") == ["F322", "F322", "F201"]


def test_checks_and_scenarios_have_names_of_one_kind() -> None:
    text = "check c: expect ok\nscenario c: tick; expect true\n"
    refused(SPEC + text, "F202", "declared twice, as a check or scenario")


@pytest.mark.parametrize(
    "text",
    ["invariant I: f(...) == 1\n", "action act: x = f(...)\n", "def g(): int = f(...)\n"],
)
def test_dots_are_arguments_in_scenarios_only(text: str) -> None:
    refused(SPEC + text, "F849", "is allowed in the steps of a scenario only")


def test_an_editor_sees_scenarios(tmp_path: Path) -> None:
    """An editor also sees scenarios with their own constants, and the meanings of the names in
    them.
    """
    path = tmp_path / "m.fence"
    text = f"{SPEC}check c: const N = 1\nscenario s: tik; expect true\n"
    path.write_text(f"{text}scenario t: const N = 2; Client[a].ask(N + 2); expect y\n")
    analysis = survey(path)
    assert [problem.code for problem in analysis.problems] == ["F322", "F701", "F201"]
    source = next(iter(analysis.files.files.values())).source
    last = source.text.rindex("ask")
    used = [span for span in analysis.references.uses if span.start == last]
    (meant,) = analysis.references.uses[used[0]]
    assert source.text[meant.span.start :].startswith("ask(k in")
