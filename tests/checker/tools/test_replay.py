"""Saved traces are replayed on specs that have changed since."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.command import Ran, run
from tests.support.sample_traces import FAULTS, saved

Replay = Callable[..., Ran]


@pytest.fixture(scope="module", name="trace")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("faults"), FAULTS)


@pytest.fixture(name="replay")
def _replay(trace: Path, tmp_path: Path) -> Replay:
    """Returns a function that replays the trace on a spec."""

    def call(spec: str, *words: str) -> Ran:
        (tmp_path / "now.fence").write_text(spec, encoding="utf-8")
        (tmp_path / "t.itf.json").write_bytes(trace.read_bytes())
        return run("trace", "replay", "t.itf.json", "now.fence", *words, folder=tmp_path)

    return call


def changed(old: str, new: str) -> str:
    assert old in FAULTS
    return FAULTS.replace(old, new)


def test_on_its_own_spec(replay: Replay) -> None:
    ran = replay(FAULTS)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == (
        "t.itf.json fits now.fence, twice: 9 states\n"
        "  invariant Twice is violated at its end, as when the trace was saved\n"
    )


def test_a_stricter_guard(replay: Replay) -> None:
    ran = replay(changed("require asked < 2", "require asked < 1"))
    assert ran.code == 4
    assert (
        ran.stdout
        == """\
t.itf.json stops fitting now.fence, twice at step 2 of 8

  2  Client.ask
     it cannot be taken
     this is false:
     now.fence:14:9
       14 |         require asked < 1
                    ^^^^^^^^^^^^^^^^^
"""
    )


@pytest.mark.parametrize(
    ("spec", "step", "reason"),
    [
        (changed("seen += 1", "seen += 2"), 3, "Server[2].seen is 1 in the trace and 2 here"),
        (changed("send Nudge to own", "skip"), 3, "own is [Nudge] in the trace and [] here"),
        (changed("action on_tell", "action on_told"), 5, 'did you mean "Client.on_told"?'),
        (changed(" duplicating(Tell) at most 1", ""), 4, 'no action "net.duplicate"'),
        (changed("var asked: 0..3 = 0", "var asked: 0..3 = 1"), 0, "no initial state matches"),
        (changed("on Tell(n) from net:", "on Tell(==3) from net:"), 5, "there is no such message"),
        (changed("(loud in bool) on", " on"), 3, "none of its choices matches the trace"),
        (changed("told += 1", "assert told > 3"), 5, "it fails here: the assertion"),
        (changed("var seen: 0..3", "var seen: 0..0"), 3, "it fails here"),
        ("var v: bool = true\nterminal: true\n", 0, "none of the variables of the trace"),
    ],
)
def test_the_step_where_replay_stops(spec: str, step: int, reason: str, replay: Replay) -> None:
    ran = replay(spec)
    assert ran.code == 4
    assert f"at step {step} of 8" in ran.stdout
    assert reason in " ".join(ran.stdout.split())


def test_the_property_holds_now(replay: Replay) -> None:
    ran = replay(changed("Client.told == 2 and", "Client.told == 3 and"))
    assert ran.code == 4
    assert "invariant Twice was violated at its end, and holds here" in ran.stdout


def test_variables_that_only_one_has_are_not_compared(replay: Replay) -> None:
    ran = replay(changed("var lost: bool = false", "var found: 0..1 = any"))
    assert ran.code == 0
    assert "not compared, variables that the spec does not have: lost" in ran.stdout
    assert "not compared, variables that the trace does not have: found" in ran.stdout


def test_a_removed_check(replay: Replay) -> None:
    ran = replay(changed("check twice", "check other"))
    assert ran.code == 0
    assert "the spec no longer has the check twice" in ran.stdout
    ran = replay(changed("check twice", "check other"), "--check", "othr")
    assert ran.code == 151
    assert 'did you mean "other"?' in ran.stderr


def test_a_step_that_fails(tmp_path: Path) -> None:
    spec = "const N: int = 2\nvar x: 0..N = 0\naction up: x += 1\ncheck c:\n    expect error\n"
    trace = saved(tmp_path, spec)
    ran = run("trace", "replay", trace.name, "spec.fence", folder=tmp_path)
    assert (ran.code, ran.stdout) == (0, "t.itf.json fits spec.fence, c: 4 states\n")
    ran = run("trace", "replay", trace.name, "spec.fence", "--const", "N=5", folder=tmp_path)
    assert ran.code == 4
    assert "it failed when it was saved, but completes here" in ran.stdout
    assert "N is 2 in the trace and 5 here" in ran.stdout


def test_a_symbolic_constant_has_the_value_of_the_trace(tmp_path: Path) -> None:
    spec = (
        "const E: int8 = any where E > 3\nvar x: int8 = E\naction up: x += 1\n"
        "invariant P: x > 0\nterminal: true\n"
    )
    (tmp_path / "s.fence").write_text(spec, encoding="utf-8")
    states = [{"x": 127}, {"x": -128}]
    root = {"#meta": {"constants": {"E": {"#bigint": "127"}}}, "vars": ["x"], "states": states}
    (tmp_path / "t.json").write_text(json.dumps(root), encoding="utf-8")
    assert run("trace", "replay", "t.json", "s.fence", folder=tmp_path).code == 0
    ran = run("trace", "replay", "t.json", "s.fence", "--const", "E=5", folder=tmp_path)
    assert ran.code == 4
    del root["#meta"]
    (tmp_path / "t.json").write_text(json.dumps(root), encoding="utf-8")
    ran = run("trace", "replay", "t.json", "s.fence", folder=tmp_path)
    assert (ran.code, "error[F041]: E must have a value here" in ran.stderr) == (151, True)


def test_a_trace_without_actions(tmp_path: Path) -> None:
    """In another tool's trace, any action may have made a step, and sets may have any order."""
    spec = "var s: set[0..3] = {2}\naction add(n in 0..3): s.add(n)\nterminal: true\n"
    (tmp_path / "s.fence").write_text(spec, encoding="utf-8")
    states = [{"s": {"#set": [2]}}, {"s": {"#set": [{"#bigint": "2"}, 0]}}, {"s": {"#set": [3]}}]
    (tmp_path / "t.json").write_text(json.dumps({"states": states[:2]}), encoding="utf-8")
    assert run("trace", "replay", "t.json", "s.fence", folder=tmp_path).code == 0
    (tmp_path / "t.json").write_text(json.dumps({"states": states}), encoding="utf-8")
    ran = run("trace", "replay", "t.json", "s.fence", folder=tmp_path)
    assert (ran.code, "s is {2, 0} in the trace" in ran.stdout) == (4, False)
    assert "it leads to another state" in ran.stdout


@pytest.mark.parametrize("words", [("gone.json", "now.fence"), ("t.itf.json", "gone.fence")])
def test_missing_files(words: tuple[str, str], replay: Replay, tmp_path: Path) -> None:
    replay(FAULTS)
    ran = run("trace", "replay", *words, folder=tmp_path)
    assert ran.code == 151
    assert "gone." in ran.stderr
    assert "Traceback" not in ran.stderr


ROUND = """
var x: 0..3 = 0
fair action up: require x < 3; x += 1
fair action back: require x == 3; x = 0
property Rests: eventually always x == 2
check c:
    expect ok
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("", "", 0, "is violated by its cycle, as when the trace was saved"),
        ("always x == 2", "x == 2", 4, "was violated by its cycle, and holds here"),
        # Repeating the steps would be unfair to an action that is always enabled.
        (
            "fair action back",
            "fair action skips: x = (x + 2) % 4\nfair action back",
            4,
            "longer allows this cycle: skips would be postponed",
        ),
        (
            "require x == 3; x = 0",
            "require x == 3; x = 1",
            4,
            "fitting now.fence, c at step 4",
        ),
    ],
)
def test_lassos(tmp_path: Path, old: str, new: str, code: int, words: str) -> None:
    (tmp_path / "now.fence").write_text(ROUND, encoding="utf-8")
    ran = run("check", "now.fence", "--trace", "t.itf.json", folder=tmp_path)
    assert ran.code == 13
    (tmp_path / "now.fence").write_text(ROUND.replace(old, new, 1) if old else ROUND)
    ran = run("trace", "replay", "t.itf.json", "now.fence", folder=tmp_path)
    assert (ran.code, ran.stderr) == (code, "")
    assert words in ran.stdout


@pytest.mark.parametrize(
    ("property", "code", "words"),
    [
        ("Rests", 0, "is violated by its cycle, as when the trace was saved"),
        ("Rests within constraint", 4, "was violated by its cycle, and holds here"),
    ],
)
def test_a_lasso_that_leaves_a_constraint(
    tmp_path: Path, property: str, code: int, words: str
) -> None:
    (tmp_path / "now.fence").write_text(ROUND, encoding="utf-8")
    run("check", "now.fence", "--trace", "t.itf.json", folder=tmp_path)
    bounded = ROUND.replace("Rests", property, 1) + "constraint Few: x < 3\n"
    (tmp_path / "now.fence").write_text(bounded, encoding="utf-8")
    ran = run("trace", "replay", "t.itf.json", "now.fence", folder=tmp_path)
    assert (ran.code, words in ran.stdout) == (code, True), ran.stdout
