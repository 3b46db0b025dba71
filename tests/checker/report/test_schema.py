"""JSON reports conform to the published schema. The reports are those in golden files and in
documentation pages, and those of the checks of all golden specs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.checker.report.test_json import VALUES
from tests.support.command import run
from tests.support.paths import ROOT

from fencepost.checker.outcome import Verdict

GOLDEN = ROOT / "tests" / "golden" / "report"
SCHEMA = json.loads(
    (files("fencepost.checker.report") / "schema" / "report.schema.json").read_text("utf-8")
)
BEGIN = re.compile(r"^[\[{]$", re.M)
SYMBOLIC = """\
const E0: 0..9 = any where E0 > 1
var x: 0..9 = E0
action up:
    require x < 9
    x += 1
terminal: true
invariant I: x < 5
check c:
    expect violated I
"""


def reports(text: str) -> Iterator[Any]:
    """Yields the JSON reports that a text contains among other content."""
    # Golden files contain 0 in place of the number of workers.
    text = text.replace('"workers": 0', '"workers": 1')
    for begin in BEGIN.finditer(text):
        value, _ = json.JSONDecoder().raw_decode(text, begin.start())
        if '"as_expected"' in json.dumps(value):
            yield value


WRITTEN = [
    pytest.param(report, id=f"{path.name}-{number}")
    for path in (*sorted((ROOT / "docs").rglob("*.md")), *sorted(GOLDEN.glob("*.expect")))
    if '"as_expected"' in path.read_text("utf-8")
    for number, report in enumerate(reports(path.read_text("utf-8")))
]
SPECS = sorted(path for path in GOLDEN.glob("*.fence") if "\ncheck " in path.read_text("utf-8"))


@cache
def validator() -> Any:
    draft_report: Any = import_module("jsonschema").Draft202012Validator
    draft_report.check_schema(SCHEMA)
    return draft_report(SCHEMA)


@pytest.mark.parametrize("report", WRITTEN)
def test_reports_that_are_committed(report: Any) -> None:
    validator().validate(report)


def test_there_are_reports_that_are_committed() -> None:
    assert {str(parameters.id).rpartition("-")[0] for parameters in WRITTEN} == {
        "ci.md",
        "json.expect",
    }


def json_report(*words: str, folder: Path) -> Any:
    """Returns the JSON report of a run."""
    ran = run("check", *words, "--engine", "interpreter", "--format", "json", folder=folder)
    return json.loads(ran.stdout)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_reports_of_golden_specs(spec: Path) -> None:
    validator().validate(json_report(spec.name, "--path", ".", "--continue", folder=GOLDEN))


def test_the_report_of_several_specs() -> None:
    report = json_report("deadlock.fence", "error.fence", folder=GOLDEN)
    assert [entry["spec"] for entry in report] == ["deadlock.fence", "error.fence"]
    validator().validate(report)


def test_symbolic_constants(tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(SYMBOLIC, encoding="utf-8")
    report = json_report("s.fence", folder=tmp_path)
    assert report["checks"][0]["regions"]
    validator().validate(report)


@pytest.mark.parametrize("value", [value for _, _, value in VALUES], ids=str)
def test_values(value: Any) -> None:
    part = {**SCHEMA, "anyOf": [{"$ref": "#/$defs/value"}]}
    import_module("jsonschema").validate(value, part)


def test_the_schema_lists_every_verdict() -> None:
    assert SCHEMA["$defs"]["verdict"]["enum"] == [verdict.value for verdict in Verdict]


def wrong(report: Any) -> Iterator[Any]:
    """Yields copies of the report with a key missing, a key added, or a value of the wrong type."""
    paths: list[tuple[str | int, ...]] = [(), ("checks", 0), ("checks", 0, "trace", 0)]
    for path in paths:
        for key in _at(report, path):
            less, other = deepcopy(report), deepcopy(report)
            del _at(less, path)[key]
            _at(other, path)[key] = [{"other": 1.5}]
            yield from (less, other)
        more = deepcopy(report)
        _at(more, path)["more"] = 1
        yield more


def _at(report: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        report = report[step]
    return report


def test_the_schema_can_fail() -> None:
    report = json_report("deadlock.fence", folder=GOLDEN)
    validator().validate(report)
    ways = [*wrong(report)]
    assert len(ways) == 2 * (3 + 17 + 3) + 3
    for way in ways:
        assert not validator().is_valid(way), way
