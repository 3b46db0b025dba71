"""The state graph: its contents, its marks, and how it is drawn."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.browser import WANTED
from tests.support.command import Ran, run
from tests.support.paths import ROOT
from tests.support.processes import finished
from tests.support.sample_traces import FAULTS

from fencepost.checker import api

MARKED = """\
var x: 0..4 = 0
action up: x += 1
action leap:
    require x == 1
    x = 3
invariant Low: x < 3
step invariant Small: next(x) - x < 2
constraint Most: x < 4
"""


def graph(folder: Path, spec: str, *words: str) -> Ran:
    (folder / "spec.fence").write_text(spec, encoding="utf-8")
    return run("graph", "spec.fence", *words, folder=folder)


def data(page: str) -> Any:
    return json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])


@pytest.mark.parametrize(
    ("spec", "check"),
    [
        ("models/classics/die_hard.fence", "every_state"),
        ("models/classics/peterson.fence", None),
        ("models/classics/transaction_commit.fence", None),
    ],
)
def test_the_graph_has_the_states_and_steps_of_a_search(spec: str, check: str | None) -> None:
    names = () if check is None else (check,)
    result = api.check(ROOT / spec, checks=names, engine="interpreter").first
    words = () if check is None else ("--check", check)
    drawn = run("graph", spec, "--as", "html", "--max-states", "5000", *words, folder=ROOT)
    assert drawn.code == 0
    drawn_graph = data(drawn.stdout)
    statistics = result.outcome.statistics
    levels = [vertex["level"] for vertex in drawn_graph["vertices"]]
    assert [levels.count(n) for n in range(len(statistics.levels))] == [*statistics.levels]
    steps = sum(len(edge["labels"]) for edge in drawn_graph["edges"])
    assert steps == sum(statistics.transitions)


def test_problems_are_marked(tmp_path: Path) -> None:
    drawn = data(graph(tmp_path, MARKED, "--as", "html").stdout)
    assert drawn["names"] == ["x"]
    values = [drawn["texts"][vertex["state"][0]] for vertex in drawn["vertices"]]
    notes = dict(zip(values, (vertex["notes"] for vertex in drawn["vertices"]), strict=True))
    outside = "outside a constraint: no step from here is shown"
    low = "violates invariant Low"
    assert notes == {"0": [], "1": [], "2": [], "3": [low], "4": [low, outside]}
    wrong = [edge["labels"] for edge in drawn["edges"] if edge["notes"]]
    assert wrong == [["leap"]]
    dot = graph(tmp_path, MARKED).stdout
    assert re.findall(r"n(\d) \[.*fillcolor=mistyrose", dot) == ["3", "4"]
    assert re.findall(r"(n\d -> n\d) \[.*color=red", dot) == ["n1 -> n3"]
    assert "{ rank=same; n2; n3; }" in dot


def test_deadlock_and_failures_are_marked(tmp_path: Path) -> None:
    spec = "var x: 0..2 = 0\naction up:\n    require x < 2\n    x += 1\n"
    drawn = data(graph(tmp_path, spec, "--as", "html").stdout)
    assert [vertex["bad"] for vertex in drawn["vertices"]] == [False, False, True]
    assert drawn["vertices"][2]["notes"][0].startswith("deadlock")
    drawn = data(graph(tmp_path, spec + "terminal: x == 2\n", "--as", "html").stdout)
    assert not any(vertex["bad"] for vertex in drawn["vertices"])
    drawn = data(graph(tmp_path, "var x: 0..1 = 1\naction a: x += 1\n", "--as", "html").stdout)
    assert drawn["vertices"][0]["notes"][0].startswith("a fails: ")


def test_names_are_escaped(tmp_path: Path) -> None:
    """Names in the language are harmless, but a path can contain any characters."""
    folder = tmp_path / '<img src=x onerror=alert(1)>"'
    folder.mkdir()
    (folder / "a.fence").write_text("var x: bool = any\nterminal: true\n", encoding="utf-8")
    ran = run("graph", f"{folder.name}/a.fence", "--as", "html", folder=tmp_path)
    assert ran.code == 0
    assert "<img" not in ran.stdout
    assert "&lt;img" in ran.stdout


def test_large_models_are_refused(tmp_path: Path) -> None:
    spec = "var x: 0..600 = any\nterminal: true\n"
    ran = graph(tmp_path, spec, "--output", "g.dot")
    assert ran.code == 151
    assert "error[F042]: spec.fence has more than 500 states" in ran.stderr
    assert not (tmp_path / "g.dot").exists()
    ran = graph(tmp_path, spec, "--max-states", "601", "--output", "g.dot")
    assert (ran.code, ran.stdout) == (0, "")
    assert ran.stderr == "601 states, 0 steps, 1 level written to g.dot\n"
    assert graph(tmp_path, spec, "--max-states", "5001").code == 151
    assert graph(tmp_path, spec, "--as", "svg").code == 151


if WANTED:

    @pytest.mark.parametrize("spec", [MARKED, FAULTS])
    def test_graphviz_draws_the_file(spec: str, tmp_path: Path) -> None:
        program = shutil.which("dot")
        assert program is not None, "graphviz is installed together with the browser"
        text = graph(tmp_path, spec, "--max-states", "5000").stdout
        done = finished(program, "-Tplain", text=text)
        assert (done.returncode, done.stderr) == (0, "")
        nodes = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("node")]
        assert len(nodes) == len(re.findall(r"^  n\d+ \[", text, re.M))


FAILING = "var x: 0..3 = 0\naction up:\n    require x < 3\n    x += 1\nterminal: x == 3\n"


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("invariant I: 3 // (x - 2) < 9", "invariant I has no value: the divisor is zero"),
        ("lemma L: 3 // (x - 2) < 9", "lemma L has no value: the divisor is zero"),
        ("reachable R: 3 // (x - 2) > 9", "reachable R has no value: the divisor is zero"),
        (
            "step invariant S: 3 // (x - 2) < 9",
            "step invariant S has no value: the divisor is zero",
        ),
        ("constraint C: 3 // (x - 2) < 9", "constraint C has no value: the divisor is zero"),
        ("terminal: 3 // (x - 3) < 9", "the divisor is zero"),
    ],
)
def test_an_evaluation_error_is_not_a_violation(
    tmp_path: Path, declaration: str, message: str
) -> None:
    spec = FAILING if "terminal" not in declaration else FAILING.replace("terminal: x == 3\n", "")
    ran = graph(tmp_path, f"{spec}{declaration}\n", "--as", "html")
    drawn = data(ran.stdout)
    notes = [note for part in (*drawn["vertices"], *drawn["edges"]) for note in part["notes"]]
    assert ran.code == 0
    assert any(message in note for note in notes), notes
    assert not any("violates" in note or "deadlock" in note for note in notes)


@pytest.mark.parametrize("command", ["check", "graph", "explore", "mutate"])
@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ("var x: 0..3 = 0\naction a:\n    y = 1\nchk c:\n", 150, 'error[F201]: no variable "y"'),
        ("var x: 0..3 = 0\naction a:\n    y = 1\n", 150, 'error[F201]: no variable "y"'),
        ("var x: 0..3 = 0\naction a: x = 7\n", 150, "error[F701]: x holds 0..3, but this is 7"),
        ("var x: 0..3 = 0\nassume 1 == 2\n", 10, "an assumption about the constants is false"),
        (
            "var x: 0..3 = 0\nassume first([1 // 0]) == 2\n",
            None,
            "error[F904]: the divisor is zero",
        ),
        (
            "var x: 0..3 = 3 // (len([1]) - 1)\naction a: skip\n",
            None,
            "error[F904]: the divisor is zero",
        ),
        ("var x: 0..3 = 0\naction a: skip\ninvariant I: x # true\n", 150, "error[F301]"),
        ("var x: 0..3 = 0\ninvariant I: x > 0 and x / 2 > 0\n", 150, "error[F111]"),
    ],
)
def test_every_command_reports_the_errors_of_a_spec_like_check(
    tmp_path: Path, command: str, spec: str, code: int | None, message: str
) -> None:
    (tmp_path / "s.fence").write_text(spec, encoding="utf-8")
    with mock.patch.object(sys, "stdin", io.StringIO("1\n")):
        ran = run(command, "s.fence", folder=tmp_path)
    shown = ran.stdout + ran.stderr
    assert message in shown
    assert "internal error" not in shown
    if code is not None:
        assert ran.code == code
        lines = run("check", "s.fence", folder=tmp_path)
        excerpt = (lines.stdout + lines.stderr).split(message)[1].split("\n")[1].strip()
        assert excerpt in shown


def test_no_graph_if_an_initial_state_fails(tmp_path: Path) -> None:
    ran = graph(tmp_path, "var x: 0..3 = 3 // (len([1]) - 1)\n")
    assert (ran.code, ran.stdout) == (75, "")
    assert "this happens in an initial state" in ran.stderr


def test_a_check_that_names_no_property_is_refused(tmp_path: Path) -> None:
    spec = "var x: 0..3 = 0\ninvariant I: x == 0\ncheck c:\n    expect violated J\n"
    ran = graph(tmp_path, spec, "--check", "c")
    assert (ran.code, "F822" in ran.stderr) == (150, True)
