"""A lasso in every form: the repeated steps, the first state where a part of the formula fails, and
the reasons why the repetition is fair.
"""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest
from tests.support.agreement import model_of
from tests.support.command import run
from tests.support.sample_traces import ENDLESS, STAYS, saved
from tests.support.steps_taken import walk

from fencepost.checker.outcome import Finding, Trace, Verdict
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.message_flights import Causes

ROUND = "steps 2 to 4 repeat forever"


@pytest.fixture(name="traces", scope="module")
def _traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for name, text in (("round", ENDLESS), ("stays", STAYS)):
        paths[name] = saved(tmp_path_factory.mktemp(name), text)
    return paths


def shown(trace: Path, form: str) -> str:
    ran = run("trace", "show", trace.name, "--as", form, folder=trace.parent)
    assert ran.code == 0, ran
    return ran.stdout


@pytest.mark.parametrize(
    ("name", "form", "wanted"),
    [
        ("round", "text", ["Steps 2 to 4 repeat forever.", "it breaks here, from state 1 on: ",
                           "fair Process[2].enter  not possible in state 3"]),
        ("stays", "text", ["It stays there forever.", "from state 0 on: "]),
        ("round", "mermaid", ["    loop steps 2 to 4, forever\n    Note over p0: 2 want",
                              "Holding → Idle\n    end\n    rect", "false, from state 1 on#58; "]),
        ("round", "dot", ["s4 -> s2 [label=\" forever\"", "  s4 -> end"]),
        ("stays", "dot", ["s2 -> s2 [label=\" forever\""]),
        ("round", "html", ["This run never ends: step <a href=\"#step-4\">4</a> leads back",
                           "From state <a href=\"#step-1\">1</a> on, the marked part",
                           "<th>fair Process[2].enter</th><td>not possible in state 3</td>",
                           "false, from state 1 on: "]),
        ("stays", "html", ["In this run nothing happens after step",
                           "It stays there forever.", "<g class=\"back\">"]),
    ],
)  # fmt: skip
def test_forms(traces: dict[str, Path], name: str, form: str, wanted: list[str]) -> None:
    text = shown(traces[name], form)
    for part in wanted:
        assert part in text
    # No text occurs twice in a row.
    lines = text.replace("<br/>", "\n").replace("</text>", "\n").splitlines()
    assert sum(ROUND in line for line in lines if "✗" in line or line.startswith("steps")) <= 1


def test_data_agrees_with_the_text(traces: dict[str, Path]) -> None:
    document = json.loads(shown(traces["round"], "json"))
    assert (document["loop"], document["since"]) == (2, 1)
    assert {"to": "fair Process[1].enter", "why": "taken in step 3"} in document["fair"]
    again = json.loads(shown(traces["round"], "itf"))
    assert again == json.loads(traces["round"].read_text("utf-8"))
    # The index is that of the state that follows the last one.
    assert again["loop"] == 2
    stays = json.loads(shown(traces["stays"], "json"))
    assert (stays["loop"], stays["since"]) == (2, 0)


@pytest.fixture(name="surprise", scope="module")
def _surprise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surprise")
    text = ENDLESS.replace("violated Served", "ok")
    (folder / "spec.fence").write_text(text, encoding="utf-8")
    return folder


def reported(folder: Path, form: str) -> str:
    words = ("check", "spec.fence", "--engine", "interpreter", "--format", form)
    ran = run(*words, folder=folder)
    assert ran.code == 13, ran
    return ran.stdout


SENTENCE = f"starves: expected ok, but property Served is violated for i = 2: {ROUND}"


def test_an_annotation(surprise: Path) -> None:
    assert reported(surprise, "github").strip().endswith(f"::{SENTENCE}")


def test_junit(surprise: Path) -> None:
    failure = ElementTree.fromstring(reported(surprise, "junit")).find(".//failure")
    assert failure is not None
    assert failure.get("message") == SENTENCE
    assert "Steps 2 to 4 repeat forever." in (failure.text or "")


def test_sarif(surprise: Path) -> None:
    (result,) = json.loads(reported(surprise, "sarif"))["runs"][0]["results"]
    assert result["message"]["text"] == SENTENCE
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["nestingLevel"] for step in steps] == [0, 0, 1, 1, 1]
    assert steps[-1]["location"]["message"]["text"] == f"Process[1].leave; {ROUND}"
    messages = [location["message"]["text"] for location in result["relatedLocations"]]
    assert messages == ["the check", "it breaks here, from state 1 on"]


def test_replay_checks_the_present_fairness(traces: dict[str, Path]) -> None:
    trace = traces["round"]
    for words, code, says in (
        ("fair action enter", 0, "as when the trace was saved"),
        (
            "strongly fair action enter",
            4,
            "no longer allows this cycle: Process.enter would be postponed",
        ),
    ):
        text = ENDLESS.replace("fair action enter", words)
        (trace.parent / "now.fence").write_text(text, encoding="utf-8")
        ran = run("trace", "replay", trace.name, "now.fence", folder=trace.parent)
        assert ran.code == code, ran
        assert says in " ".join(ran.stdout.split())


@pytest.mark.parametrize(("loop", "code"), [(0, 4), (1, 0), (2, 4)])
def test_a_lasso_of_another_tool_is_replayed(loop: int, code: int, tmp_path: Path) -> None:
    """The states are 0, 1, 2, and then 0, 1 or 2 again; the spec has no step to 0."""
    text = """
        var x: 0..2 = 0
        fair action on: x = if x == 2 then 1 else x + 1
        property P: eventually always x == 1
    """
    (tmp_path / "spec.fence").write_text(dedent(text), encoding="utf-8")
    states = [{"x": n} for n in range(3)]
    root = {"#meta": {"property": "P"}, "vars": ["x"], "states": states, "loop": loop}
    trace = tmp_path / "t.itf.json"
    trace.write_text(json.dumps(root), encoding="utf-8")
    ran = run("trace", "replay", "t.itf.json", "spec.fence", folder=tmp_path)
    assert ran.code == code, ran
    for form in ("text", "html", "mermaid", "dot", "json"):
        assert shown(trace, form)
    drawn = "leads back" in shown(trace, "html"), "never ends" in shown(trace, "html")
    assert drawn == (False, loop < 2)


SLICED = """
var x: 0..2 = 0
var y: 0..3 = 0
action other: y = 1
action start:
    require x == 0
    x = 1
{}action back:
    require x == 1
    x = 2
action forth:
    require x == 2
    x = 1
property P: x == 1 leads to x == 0
"""


def sliced(text: str, loop: int, *titles: str) -> Causes:
    model = model_of(text)
    trace = Trace(walk(model, *titles).steps, loop)
    number = next(n for n, prop in enumerate(model.properties) if prop.kind.of_behaviours)
    finding = Finding(Verdict.VIOLATED, number, len(trace.steps), trace, since=2)
    return causes(model, trace, finding)


def test_steps_that_the_rest_does_not_need_are_spare() -> None:
    why = sliced(SLICED.format("fair "), 3, "other", "start", "back", "forth")
    assert (why.end, why.spare) == ((2, 3, 4), frozenset({1}))
    # Repeating this state is fair to all actions, with or without the other step.
    why = sliced(SLICED.format(""), 2, "other", "start")
    assert (why.end, why.spare) == ((2,), frozenset({1}))


def test_a_step_that_fairness_needs_is_not_spare() -> None:
    text = SLICED.format("fair ").replace("require x == 1", "require x == 1 and y == 0")
    why = sliced(text, 2, "other", "start")
    assert why.spare == frozenset(), "without it `back` could be taken, and would have to be"


def test_a_step_that_a_constraint_needs_is_not_spare() -> None:
    bounds = "constraint Few: x < 1 or y == 1\n"
    for words, spare in (("", {1}), (" within constraint", set[int]())):
        text = SLICED.format("fair ").replace("property P", f"property P{words}") + bounds
        why = sliced(text, 3, "other", "start", "back", "forth")
        assert why.spare == spare
