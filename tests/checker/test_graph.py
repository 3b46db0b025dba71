"""The state graph: what is in it, what is marked, and how it is drawn."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.browser import WANTED
from tests.checker.traces import FAULTS
from tests.command import Ran, run

from fencepost.checker import api

ROOT = Path(__file__).resolve().parents[2]
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
def test_it_is_what_a_search_visits(spec: str, check: str | None) -> None:
    names = () if check is None else (check,)
    result = api.check(ROOT / spec, checks=names, engine="interpreter").first
    words = () if check is None else ("--check", check)
    drawn = run("graph", spec, "--as", "html", "--max-states", "5000", *words, folder=ROOT)
    assert drawn.code == 0
    found = data(drawn.stdout)
    statistics = result.outcome.statistics
    levels = [vertex["level"] for vertex in found["vertices"]]
    assert [levels.count(n) for n in range(len(statistics.levels))] == [*statistics.levels]
    steps = sum(len(edge["labels"]) for edge in found["edges"])
    assert steps == sum(statistics.transitions)


def test_what_is_wrong_is_marked(tmp_path: Path) -> None:
    found = data(graph(tmp_path, MARKED, "--as", "html").stdout)
    assert found["names"] == ["x"]
    values = [found["texts"][vertex["state"][0]] for vertex in found["vertices"]]
    notes = dict(zip(values, (vertex["notes"] for vertex in found["vertices"]), strict=True))
    outside = "outside a constraint: no step from here is shown"
    low = "violates invariant Low"
    assert notes == {"0": [], "1": [], "2": [], "3": [low], "4": [low, outside]}
    wrong = [edge["labels"] for edge in found["edges"] if edge["notes"]]
    assert wrong == [["leap"]]
    dot = graph(tmp_path, MARKED).stdout
    assert re.findall(r"n(\d) \[.*fillcolor=mistyrose", dot) == ["3", "4"]
    assert re.findall(r"(n\d -> n\d) \[.*color=red", dot) == ["n1 -> n3"]
    assert "{ rank=same; n2; n3; }" in dot


def test_deadlock_and_failures_are_marked(tmp_path: Path) -> None:
    spec = "var x: 0..2 = 0\naction up:\n    require x < 2\n    x += 1\n"
    found = data(graph(tmp_path, spec, "--as", "html").stdout)
    assert [vertex["bad"] for vertex in found["vertices"]] == [False, False, True]
    assert found["vertices"][2]["notes"][0].startswith("deadlock")
    found = data(graph(tmp_path, spec + "terminal: x == 2\n", "--as", "html").stdout)
    assert not any(vertex["bad"] for vertex in found["vertices"])
    found = data(graph(tmp_path, "var x: 0..1 = 1\naction a: x += 1\n", "--as", "html").stdout)
    assert found["vertices"][0]["notes"][0].startswith("a fails: ")


def test_names_are_escaped(tmp_path: Path) -> None:
    """Names of the language are harmless; a path is anything."""
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
    def test_graphviz_draws_it(spec: str, tmp_path: Path) -> None:
        program = shutil.which("dot")
        assert program is not None, "graphviz is installed together with the browser"
        text = graph(tmp_path, spec, "--max-states", "5000").stdout
        ran = subprocess.run([program, "-Tplain"], input=text, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        nodes = [line.split()[1] for line in ran.stdout.splitlines() if line.startswith("node")]
        assert len(nodes) == len(re.findall(r"^  n\d+ \[", text, re.M))
