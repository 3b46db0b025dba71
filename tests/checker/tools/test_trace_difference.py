"""`fencepost trace diff`: the first difference between two saved traces, and errors about unusable
files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Ran, run
from tests.support.sample_traces import ENDLESS, FAULTS, hostile, saved

from fencepost.checker.printing.page import cells

Trace = dict[str, Any]


def trace(*states: Trace, **root: Any) -> Trace:
    """Returns a trace in the form of another tool: its states, perhaps with ``#meta``."""
    return {"vars": [], "states": [*states], **root}


def step(action: str, state: Trace, **meta: Any) -> Trace:
    return {"#meta": {"action": action, "title": action, **meta}, **state}


def diff(folder: Path, left: Trace | bytes, right: Trace | bytes, *words: str) -> Ran:
    for name, content in (("a.json", left), ("b.json", right)):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name).write_bytes(data)
    return run("trace", "diff", "a.json", "b.json", *words, folder=folder)


START = {"x": 0, "y": {"#set": [1, 2]}}
UP = step("up", {"x": 1, "y": {"#set": [1, 2]}}, arguments={"by": 1})

CASES: dict[str, tuple[Trace, Trace, tuple[int, str, list[tuple[str, str, str]]] | None]] = {
    "alike": (trace(START, UP), trace(START, UP), None),
    "written otherwise": (
        trace(START, UP),
        trace({"y": {"#set": [2, 1]}, "x": {"#bigint": "0"}}, UP),
        None,
    ),
    "by another tool": (trace(START, UP), trace(START, {k: UP[k] for k in "xy"}), None),
    "action": (
        trace(START, UP),
        trace(START, step("jump", {**START, "x": 2})),
        (1, "action", [("x", "1", "2")]),
    ),
    "choices": (
        trace(START, UP),
        trace(START, {**UP, "#meta": {**UP["#meta"], "arguments": {"by": 2}}}),
        (1, "arguments", []),
    ),
    "state": (
        trace(START, UP),
        trace(START, {**UP, "y": {"#set": [1, 3]}}),
        (1, "state", [("y", "{1, 2}", "{1, 3}")]),
    ),
    "first state": (trace(START), trace({**START, "x": 7}), (0, "state", [("x", "0", "7")])),
    "a place inside": (
        trace({"m": {"#map": [[1, {"a": 1, "b": 2}], [2, {"a": 1, "b": 2}]]}}),
        trace({"m": {"#map": [[1, {"a": 1, "b": 2}], [2, {"a": 1, "b": 3}]]}}),
        (0, "state", [("m[2].b", "2", "3")]),
    ),
    "not told": (
        trace(START, UP),
        trace(START, step("up", {"x": 1})),
        (1, "state", [("y", "{1, 2}", "?")]),
    ),
    "shorter": (trace(START, UP), trace(START), (1, "length", [])),
    "fails": (
        trace(START, UP),
        trace(START, **{"#meta": {"failing": {"action": "up", "arguments": {"by": 1}}}}),
        (1, "failure", []),
    ),
    "loop": (trace(START, UP, loop=0), trace(START, UP), (1, "loop", [])),
    "end": (
        trace(START, UP, **{"#meta": {"status": "violation", "property": "P"}}),
        trace(START, UP, **{"#meta": {"status": "violation", "property": "Q"}}),
        (1, "outcome", []),
    ),
    "new variable": (trace(START, UP), trace({**START, "z": 0}, {**UP, "z": 1}), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_first_difference(name: str, tmp_path: Path) -> None:
    trace_a, trace_b, expected = CASES[name]
    for left, right, turned in ((trace_a, trace_b, False), (trace_b, trace_a, True)):
        ran = diff(tmp_path, left, right, "--as", "json")
        report = json.loads(ran.stdout)
        assert (ran.stderr, ran.code) == ("", 0 if expected is None else 4)
        assert report["alike"] == (expected is None)
        if expected is None:
            assert report["first_difference"] is None
            continue
        first, (number, kind, fields) = report["first_difference"], expected
        assert (first["step"], first["kind"]) == (number, kind)
        if turned:
            fields = [(field, b, a) for field, a, b in fields]
        assert [(f["place"], f["a"], f["b"]) for f in first["fields"]] == fields
        for side in ("a", "b"):
            assert [entry["number"] for entry in report[side]["steps"][:1]] in ([number], [])
        # The printed text agrees with the JSON.
        text = diff(tmp_path, left, right)
        assert text.code == 4
        assert f"differ first at step {number}: " in text.stdout


def test_variables_and_constants_that_differ_are_named(tmp_path: Path) -> None:
    left = trace({"x": 0, "y": 1}, **{"#meta": {"constants": {"N": 1, "M": 1}}})
    right = trace({"x": 0, "z": 1}, **{"#meta": {"constants": {"N": 2, "M": 1}}})
    assert diff(tmp_path, left, right).stdout == (
        "a.json and b.json agree: 1 state\n\n"
        "  N is 1 in a.json and 2 in b.json\n"
        "  not compared, variables of a.json only: y\n"
        "  not compared, variables of b.json only: z\n"
    )


DAMAGED: dict[str, tuple[Trace | bytes, str]] = {
    "text": (b"{", "F028]: b.json is not JSON: "),
    "bytes": (b"\xff\xfe", "F028]: b.json is not UTF-8 text"),
    "no trace": ({"x": 1}, 'F028]: b.json is not an ITF trace: it has no list of "states"'),
    "empty": (trace(), "F870]: b.json has no states to compare"),
    "another spec": (
        trace({"p": 1, "q": 2}, **{"#meta": {"source": "other.fence"}}),
        "F870]: a.json and b.json are of different specs: they have no variable in common\n"
        "note: a.json has x and y\n"
        "note: b.json of other.fence has p and q\n",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_files_that_cannot_be_compared(name: str, tmp_path: Path) -> None:
    other, message = DAMAGED[name]
    ran = diff(tmp_path, trace(START), other)
    assert (ran.code, ran.stdout) == (151, "")
    assert message in ran.stderr


def test_a_missing_file(tmp_path: Path) -> None:
    ran = run("trace", "diff", "a.json", "a.json", folder=tmp_path)
    assert (ran.code, "F026]: there is no file a.json" in ran.stderr) == (151, True)


def test_side_by_side(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The command prints the difference between a trace and a walk in 80 columns."""
    path = saved(tmp_path, FAULTS)
    root = json.loads(path.read_bytes())
    other = {**root, "states": [dict(state) for state in root["states"]]}
    other["states"][3] = {**other["states"][3], "lost": False, "Client.asked": 1}
    other["#meta"] = {k: v for k, v in root["#meta"].items() if k not in ("headline", "verdict")}
    (tmp_path / "walk.json").write_text(json.dumps(other), encoding="utf-8")
    assert root["states"][3] != other["states"][3]
    ran = run(
        "trace", "diff", "t.itf.json", "walk.json", folder=tmp_path, environment={"COLUMNS": "80"}
    )
    assert ran.code == 4
    assert max(map(len, ran.stdout.splitlines())) <= 80
    golden = Path(__file__).parents[2] / "golden" / "trace" / "difference.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(ran.stdout, encoding="utf-8")
    assert ran.stdout == golden.read_text("utf-8")


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_any_text_fits(columns: str, tmp_path: Path) -> None:
    """Words longer than a column are broken, and unprintable text from a file is escaped."""
    long = {"name_" + "x" * 150: "状態" * 60}
    left = trace({**START, **long}, step("very_" * 30, {**START, **long, "x": 3}))
    right = trace({**START, **long}, step("much.", {**START, **long, "x": 4, "z": 1}))
    (tmp_path / "a.json").write_text(json.dumps(left), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(right), encoding="utf-8")
    (tmp_path / "evil.json").write_bytes(hostile())
    (tmp_path / "evil2.json").write_bytes(hostile().replace(b"evil", b"kind"))
    for pair in (("a.json", "b.json"), ("evil.json", "evil2.json")):
        words = ("trace", "diff", *pair)
        ran = run(*words, folder=tmp_path, environment={"COLUMNS": columns})
        assert ran.code == 4
        assert "\x1b" not in ran.stdout
        assert max(map(cells, ran.stdout.splitlines())) <= int(columns)


def test_a_trace_without_end(tmp_path: Path) -> None:
    path = saved(tmp_path, ENDLESS)
    root = json.loads(path.read_bytes())
    cut = {k: v for k, v in root.items() if k != "loop"}
    cut["#meta"] = {k: v for k, v in root["#meta"].items() if k in ("types", "families")}
    ran = diff(tmp_path, root, cut)
    assert "step 4: the repeated part differs" in ran.stdout
    end = ran.stdout.splitlines()[-2:]
    assert [line[:50].strip() for line in end] == [
        "property Served is violated: steps 2 to 4",
        "repeat forever for i = 2",
    ]
    assert diff(tmp_path, root, root, "--output", "out.txt").stdout == ""
    assert (tmp_path / "out.txt").read_text() == "a.json and b.json agree: 5 states\n"
