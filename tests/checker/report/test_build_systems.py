"""Reports for build systems, each read by an independent reader: an XML parser for JUnit, the JSON
schema for SARIF, and the documented rules for GitHub annotations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support.command import Ran, run
from tests.support.lease import HISTORIES, folder_with, written
from tests.support.paths import ROOT

SCHEMA = ROOT / "tests" / "schemas" / "sarif-2.1.0-rtm.5.json"
Fencepost = Callable[..., Ran]

GOOD = """\
var x: 0..3 = 0
action up:
    require x < 3
    x += 1
terminal: x == 3
invariant Small: x < 3
check bug:
    expect violated Small
check long slow:
    expect ok
"""
# Each unexpected outcome has its own line, at a known position.
BAD = """\
const Wrong: bool = false
var x: 0..3 = 0
var q: seq[0..3, 3] = []
action up:
    require x < 3
    x += 1
    q.append(x)
action check_it:
    require Wrong and x == 2
    assert x < 2, "100% wrong: <b>]]></b>,\\n::error::x & y"
terminal: x == 3
invariant Small:
    forall i in indices(q): q[i] < 2
reachable Far: x == 3 and q == []
assume not Wrong or true
check violated:
    properties: Small
    expect ok
check not_found:
    properties: Far
    expect deadlock
check not_violated:
    expect violated Far
check counts:
    properties: Small
    expect violated Small
    expect depth == 99
check assertion:
    const Wrong = true
    properties: Far
    expect ok
"""
ODD = "ba,d: 100% <ü>.fence"


@pytest.fixture
def fencepost_in(tmp_path: Path) -> Fencepost:
    (tmp_path / "good.fence").write_text(GOOD, encoding="utf-8")
    (tmp_path / ODD).write_text(BAD, encoding="utf-8")
    (tmp_path / "broken.fence").write_text("var x: 0..3 = y\ncheck c:\n    expect ok\n", "utf-8")

    def call(*words: str) -> Ran:
        return run("check", *words, "--engine", "interpreter", folder=tmp_path)

    return call


# ---------------------------------------------------------------- JUnit


def test_junit(fencepost_in: Fencepost) -> None:
    ran = fencepost_in("good.fence", ODD, "broken.fence", "--format", "junit")
    assert ran.code == 150
    root = ElementTree.fromstring(ran.stdout)
    assert root.tag == "testsuites"
    sums = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert sums == {"tests": "8", "failures": "5", "errors": "1", "skipped": "1"}
    good, bad, broken = root
    assert [suite.get("name") for suite in root] == ["good.fence", ODD, "broken.fence"]
    for suite in root:
        assert suite.get("tests") == str(len(suite))
    bug, slow = good
    assert (bug.get("classname"), bug.get("name"), bug.get("line")) == ("good", "bug", "7")
    assert not list(bug)
    skipped = slow.find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "slow: --slow runs it"
    failures = {case.get("name"): case.find("failure") for case in bad}
    kinds = {name: failure.get("type") for name, failure in failures.items() if failure is not None}
    assert kinds == {
        "violated": "violated",
        "not_found": "unreached",
        "not_violated": "unreached",
        "counts": "counts",
        "assertion": "assertion",
    }
    violated = failures["violated"]
    assert violated is not None
    assert violated.get("message") == (
        "violated: expected ok, but invariant Small is violated after 2 steps for i = 1"
    )
    assert "2  up\n" in (violated.text or "")
    assertion = failures["assertion"]
    assert assertion is not None
    assert "100% wrong: <b>]]></b>" in (assertion.get("message") or "")
    error = broken.find("testcase/error")
    assert error is not None
    assert error.get("type", "").startswith("F")
    assert "broken.fence:1:15" in (error.text or "")


def test_junit_of_a_cut_check_is_an_error(fencepost_in: Fencepost) -> None:
    ran = fencepost_in("good.fence", "--max-states", "1", "--format", "junit")
    error = ElementTree.fromstring(ran.stdout).find("testsuite/testcase/error")
    assert error is not None
    assert (ran.code, error.get("type")) == (3, "inconclusive")


def test_an_ok_names_its_bounds(tmp_path: Path) -> None:
    text = """
var n: 0..3 = 0
channel net[i: 0..1]: int8 capacity 1 or block
action go(i in 0..1):
    require n < 3
    n += 1
    send 1 to net[i]
constraint Few: n < 2
terminal: true
check c:
"""
    (tmp_path / "full.fence").write_text(text + "    expect ok\n", encoding="utf-8")
    bounds = [
        "within the capacity of net: 2 sends were blocked",
        "within constraint Few: 1 state lies outside",
    ]
    for engine in ("local", "interpreter"):
        words = ("check", "full.fence", "--engine", engine)
        root = json.loads(run(*words, "--format", "json", folder=tmp_path).stdout)
        assert root["checks"][0]["within"] == bounds
        ran = run(*words, "--format", "junit", folder=tmp_path)
        case = ElementTree.fromstring(ran.stdout).find("testsuite/testcase/system-out")
        assert case is not None
        assert case.text == f"ok {'; '.join(bounds)}"
        printed = " ".join(run(*words, folder=tmp_path).stdout.split())
        assert f"c ok, as expected ({'; '.join(bounds)})" in printed


def test_junit_holds_only_what_xml_can_hold(tmp_path: Path) -> None:
    text = 'var x: 0..1 = 0\naction a:\n    assert false, "\x1b[31m\x00\ufffe\\u"\n'
    (tmp_path / "odd.fence").write_text(text.replace("\x00", "\x01"), encoding="utf-8")
    ran = run("check", "odd.fence", "--format", "junit", folder=tmp_path)
    assert ran.code == 14
    root = ElementTree.fromstring(ran.stdout)
    assert root.get("failures") == "1"
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", ran.stdout)


# ---------------------------------------------------------------- SARIF


@pytest.fixture(scope="module")
def valid() -> Callable[[Any], None]:
    validator: Any = import_module("jsonschema").Draft4Validator
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator.check_schema(schema)
    draft4 = validator(schema)

    def validate(log: Any) -> None:
        draft4.validate(log)

    return validate


def test_sarif(fencepost_in: Fencepost, valid: Callable[[Any], None]) -> None:
    ran = fencepost_in("good.fence", ODD, "broken.fence", "--format", "sarif")
    assert ran.code == 150
    log = json.loads(ran.stdout)
    valid(log)
    (sarif_run,) = log["runs"]
    (invocation,) = sarif_run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 150)
    rules = {rule["id"] for rule in sarif_run["tool"]["driver"]["rules"]}
    results = {result["ruleId"]: result for result in sarif_run["results"]}
    assert results.keys() <= rules
    assert {"violated", "unreached", "counts", "assertion"} < results.keys()
    violated = results["violated"]
    assert violated["message"]["text"] == (
        "violated: expected ok, but invariant Small is violated after 2 steps for i = 1"
    )
    (location,) = violated["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "ba%2Cd%3A%20100%25%20%3C%C3%BC%3E.fence"
    assert physical["region"]["startLine"] == 12
    (flow,) = violated["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == ["initial state", "up", "up"]
    lines = [s["location"]["physicalLocation"]["region"]["startLine"] for s in steps]
    assert lines == [12, 4, 4]
    assert [step["state"] for step in steps] == [
        {"x": {"text": "0"}, "q": {"text": "[]"}},
        {"x": {"text": "1"}, "q": {"text": "[1]"}},
        {"x": {"text": "2"}, "q": {"text": "[1, 2]"}},
    ]
    assert [step["executionOrder"] for step in steps] == [0, 1, 2]
    others = {related["message"]["text"] for related in violated["relatedLocations"]}
    assert others == {"the check", "it breaks here"}
    (assertion,) = results["assertion"]["locations"]
    assert assertion["physicalLocation"]["region"]["startLine"] == 10


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["good.fence"], 0),
        (["good.fence", "--max-states", "1"], 1),
        (["broken.fence"], 1),
        ([ODD, "--check", "assertion", "--const", "Wrong=false"], 1),
        (["nowhere.fence"], 1),
    ],
)
def test_sarif_is_always_valid(
    fencepost_in: Fencepost, valid: Callable[[Any], None], words: list[str], count: int
) -> None:
    log = json.loads(fencepost_in(*words, "--format", "sarif").stdout)
    valid(log)
    assert len(log["runs"][0]["results"]) == count


def test_the_schema_can_fail(valid: Callable[[Any], None]) -> None:
    with pytest.raises(import_module("jsonschema").ValidationError):
        valid({"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]})


# ---------------------------------------------------------------- GitHub

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-zA-Z]+=[^,:]*,?)+)::(.*)")


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """Returns the kind, the properties and the message that a runner reads from a line."""
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    return match[1], {k: unescaped(v) for k, v in properties.items()}, unescaped(match[3])


def unescaped(text: str) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, char)
    return text


def test_github(fencepost_in: Fencepost) -> None:
    ran = fencepost_in("good.fence", ODD, "broken.fence", "--format", "github")
    annotations = [read_command(line) for line in ran.stdout.splitlines()]
    assert [
        (kind, properties["file"], properties["line"]) for kind, properties, _ in annotations
    ] == [
        ("error", "broken.fence", "1"),
        ("error", ODD, "12"),
        ("error", ODD, "14"),
        ("error", ODD, "14"),
        ("error", ODD, "24"),
        ("error", ODD, "10"),
    ]
    assert annotations[1][1]["title"] == "fencepost: invariant Small"
    assert "invariant Small is violated after 2 steps" in annotations[1][2]
    assert annotations[0][1]["title"].startswith("fencepost F")
    # Text of a spec does not start a command.
    assert "100% wrong: <b>]]></b>,\\n::error::x & y" in annotations[5][2]


def test_github_has_no_output_if_all_is_as_expected(fencepost_in: Fencepost) -> None:
    assert fencepost_in("good.fence", "--format", "github").stdout == ""


def test_a_warning_is_in_every_report_and_changes_no_exit_code(
    fencepost_in: Fencepost, tmp_path: Path, valid: Callable[[Any], None]
) -> None:
    text = (
        "var done: bool = true\naction a: skip\ninvariant I: done # true\ncheck c:\n    expect ok\n"
    )
    (tmp_path / "warned.fence").write_text(text, encoding="utf-8")
    forms = [f"--format={form}=out.{form}" for form in ("json", "sarif", "github", "junit")]
    ran = fencepost_in("warned.fence", *forms)
    assert ran.code == 0
    assert ran.stderr.startswith('warning[F126]: "#" begins a comment')
    (check,) = json.loads((tmp_path / "out.json").read_text("utf-8"))["checks"]
    (note,) = [note for note in check["notes"] if note.startswith("warning: ")]
    assert note.startswith('warning: F126 at warned.fence:3:19: "#" begins a comment')
    log = json.loads((tmp_path / "out.sarif").read_text("utf-8"))
    valid(log)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("F126", "warning")
    assert log["runs"][0]["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]
    (line,) = (tmp_path / "out.github").read_text("utf-8").splitlines()
    kind, properties, _ = read_command(line)
    assert (kind, properties["file"], properties["line"]) == ("warning", "warned.fence", "3")
    suites = ElementTree.fromstring((tmp_path / "out.junit").read_text("utf-8"))
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("1", "0", "0")


def test_a_warning_with_an_error_is_not_a_second_error(
    fencepost_in: Fencepost, tmp_path: Path
) -> None:
    text = "var x: 0..3 = 1\ninvariant I: x # 2\n"
    (tmp_path / "warned.fence").write_text(text, encoding="utf-8")
    ran = fencepost_in("warned.fence", "--format", "junit=out.xml")
    assert ran.code == 150
    assert ("error[F301]" in ran.stderr, "warning[F126]" in ran.stderr) == (True, True)
    assert 'errors="1"' in (tmp_path / "out.xml").read_text("utf-8")


# ---------------------------------------------------------------- several formats at once


def test_several_formats_and_files_in_one_run(fencepost_in: Fencepost, tmp_path: Path) -> None:
    ran = fencepost_in(
        ODD, "--check", "violated", "--format", "text", "--format", "github",
        "--format", "junit=out.xml", "--format", "sarif=out.sarif", "--format", "json=out.json",
        "--format", "text=out.txt",
    )  # fmt: skip
    assert ran.code == 12
    lines = ran.stdout.splitlines()
    assert "violated Small, NOT as expected" in ran.stdout
    assert lines[-1].startswith("::error file=ba%2Cd%3A 100%25 <ü>.fence,line=12,")
    ElementTree.fromstring((tmp_path / "out.xml").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "out.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["checks"][0]["name"] == "violated"
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == lines[:-1]


def test_formats_in_files_keep_the_text_on_the_terminal(
    fencepost_in: Fencepost, tmp_path: Path
) -> None:
    ran = fencepost_in("good.fence", "--format", "junit=out.xml")
    assert "bug  violated Small, as expected" in ran.stdout
    assert (tmp_path / "out.xml").exists()
    assert fencepost_in("good.fence", "--format", "json", "--output", "out.json").stdout == ""
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["checks"]


def test_histories_of_a_recording(tmp_path: Path, valid: Callable[[Any], None]) -> None:
    """Each history is a test case, and a history that is not allowed is a result with its run."""
    folder = folder_with(tmp_path)
    names = ("both", "twice", "a huge number")
    text = written({name: HISTORIES[name][0] for name in names})
    bad = {"file": "a\x00<b>]]>", "source": "server", "event": "granted"}
    (folder / "r.jsonl").write_text(f"{text}{json.dumps(bad)}\n", encoding="utf-8")
    forms = ("--format", "junit=out.xml", "--format", "sarif=out.sarif", "--format", "json")
    ran = run("conform", "map.fence", "r.jsonl", *forms, folder=folder)
    assert (ran.code, json.loads(ran.stdout)["exit"]) == (151, 151)
    root = ElementTree.fromstring((folder / "out.xml").read_text("utf-8"))
    sums = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert sums == {"tests": "5", "failures": "1", "errors": "3", "skipped": "0"}
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert [*cases] == ["a?<b>]]>", "a huge number", "both", "twice", "command line"]
    assert len(cases["both"]) == 0
    failure = cases["twice"].find("failure")
    assert failure is not None
    assert failure.get("type") == "not-allowed"
    assert (failure.get("message") or "").startswith(
        "twice is not allowed: 2 of 3 events can be read; server: all of 1 event; store: next is"
    )
    assert "at        store, r.jsonl:8\n" in (failure.text or "")
    log = json.loads((folder / "out.sarif").read_text("utf-8"))
    valid(log)
    (sarif_run,) = log["runs"]
    assert sarif_run["invocations"] == [{"executionSuccessful": False, "exitCode": 151}]
    results = {entry["ruleId"]: entry for entry in sarif_run["results"]}
    assert [*results] == ["F047", "unknown", "not-allowed", "unread"]
    (flow,) = results["not-allowed"]["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    lines = [entry["location"]["physicalLocation"]["region"]["startLine"] for entry in steps]
    files = {entry["location"]["physicalLocation"]["artifactLocation"]["uri"] for entry in steps}
    # The mapping comes first, then the actions of the model: grant, granted, write, on_write.
    assert lines == [2, 12, 23, 25, 31]
    assert files == {"map.fence", "lease.fence"}
    assert "codeFlows" not in results["unread"]


def test_a_format_that_a_comparison_does_not_have(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    ran = run("conform", "map.fence", "r.jsonl", "--format", "html", folder=folder)
    assert (ran.code, '"html" is not a format' in ran.stderr) == (151, True)
