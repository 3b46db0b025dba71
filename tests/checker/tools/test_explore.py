"""`fencepost explore`: output, commands, and answers to invalid input."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from tests.support.command import Ran, run
from tests.support.paths import ROOT
from tests.support.sample_traces import FAULTS

Explore = Callable[..., Ran]


def typed(lines: list[str], *words: str, folder: Path) -> Ran:
    """Runs the command with these lines as its standard input."""
    stdin = io.StringIO("".join(f"{line}\n" for line in lines))
    with mock.patch.object(sys, "stdin", stdin):
        return run("explore", *words, folder=folder)


@pytest.fixture(name="explore")
def _explore(tmp_path: Path) -> Explore:
    (tmp_path / "faults.fence").write_text(FAULTS, encoding="utf-8")

    def call(*lines: str, spec: str = "faults.fence", words: tuple[str, ...] = ()) -> Ran:
        return typed([*lines], spec, *words, folder=tmp_path)

    return call


def test_the_transcript_of_the_documentation(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = ROOT / "docs" / "traces.md"
    text = page.read_text("utf-8")
    transcript = re.search(r"^\$ fencepost explore (\S+)\n(.*?)^```$", text, re.M | re.S)
    assert transcript is not None
    lines = re.findall(r"^> (.*)$", transcript[2], re.M)
    for shipped in ("models", "invariants"):
        (tmp_path / shipped).symlink_to(ROOT / shipped)
    shown = ""
    before = 0
    for count in range(len(lines) + 1):
        # The answer to a line is the output that it adds.
        whole = typed(lines[:count], transcript[1], folder=tmp_path).stdout
        shown += (f"> {lines[count - 1]}\n" if count else "") + whole[before:]
        before = len(whole)
    if request.config.getoption("--update-golden"):
        page.write_text(text.replace(transcript[2], shown), encoding="utf-8")
        return
    assert transcript[2] == shown


def test_steps_and_back(explore: Explore) -> None:
    ran = explore("1", "2", "back 2", "quit", "1")
    assert (ran.code, ran.stderr) == (0, "")
    parts = ran.stdout.split("\n\n")
    assert parts[0].startswith("  0  initial state\n     net            = []")
    assert parts[1].startswith(
        "  1  Client.ask\n  1  Client.ask\n     net           [] -> [Ask(n: 1)]"
    )
    assert parts[2].startswith("  1  net.lose(message: Ask(n: 1))\n  2  Client.ask\n  3  Server[1]")
    assert parts[-2].endswith("Server[*].seen = 0"), "it is at the start again, and shows it whole"
    assert parts[-1] == "  1  Client.ask\n"


def test_goto_finds_the_nearest_state(explore: Explore) -> None:
    ran = explore("goto Client.told == 1", "path", "is Client.told == 1", "goto Client.told >= 1")
    assert ran.code == 0
    assert "3 steps, " in ran.stdout
    assert ran.stdout.endswith("true\nit holds here\n")
    assert explore("goto Client.told == 3 and net == []", "g lost").stdout.endswith(
        "reachable from here\n"
    )
    words = ("--max-states", "5")
    assert "not within 5 states" in explore("g Client.told == 3", words=words).stdout


def test_effects_of_a_step_are_listed_before_it_is_taken(explore: Explore, tmp_path: Path) -> None:
    spec = (
        "var x: 0..2 = 0\naction up: x += 1\naction stay: x = x\n"
        "invariant Low: x < 1\nstep invariant Never: next(x) == x\nconstraint Few: x < 1\n"
        "terminal: true\n"
    )
    (tmp_path / "x.fence").write_text(spec, encoding="utf-8")
    ran = explore("1", "1", "1", "1", spec="x.fence")
    first, *_ = ran.stdout.split("  1  up\n", 1)
    assert "1  up (violates invariant Low; violates step invariant Never)" in first
    assert "2  stay (changes nothing)" in first
    assert "invariant Low is violated\n  step invariant Never is violated\n" in ran.stdout
    assert "outside a constraint" in ran.stdout
    assert "1  up (fails: " in ran.stdout
    assert "  3  up\n     this step fails\n" in ran.stdout
    assert ran.stdout.endswith("  there is no successor\nno step can be taken\n")
    assert "in none of the 2 states" in explore("goto x == 2", spec="x.fence").stdout


def test_several_initial_states_are_a_choice(explore: Explore, tmp_path: Path) -> None:
    text = "var x: 0..40 = any\nvar y: bool = true\naction a: y = false\nterminal: true\n"
    (tmp_path / "x.fence").write_text(text, encoding="utf-8")
    ran = explore("is y", "save t.json", "list", "3", spec="x.fence")
    assert "  initial states\n   1  x = 0, y = true\n   2  x = 1, y = true\n" in ran.stdout
    assert 'and 11 more; "list" shows all' in ran.stdout
    assert "there is no state here\nthere is nothing to save yet" in ran.stdout
    assert "41  x = 40, y = true" in ran.stdout
    assert "  0  initial state\n     x = 2\n     y = true\n" in ran.stdout
    ran = explore("goto x == 7 and not y", "path", spec="x.fence")
    assert (
        "  0  initial state\n     x = 7\n     y = true\n  1  a\n     y  true -> false\n"
        in ran.stdout
    )


def test_a_saved_walk_is_a_trace(explore: Explore, tmp_path: Path) -> None:
    wanted = "Client.told == 2 and Client.asked == 2 and own == [] and net == []"
    ran = explore(f"goto {wanted} and Server[2].seen == 1 and Server[1].seen == 0", "save w.json")
    assert ran.stdout.endswith("9 states saved in w.json\n")
    ran = run("trace", "replay", "w.json", "faults.fence", folder=tmp_path)
    assert (ran.code, "invariant Twice is violated at its end" in ran.stdout) == (0, True)
    ran = run("trace", "show", "w.json", "--as", "json", folder=tmp_path)
    document = json.loads(ran.stdout)
    assert document["headline"] == "invariant Twice is violated after 8 steps"
    assert document["failing_part"]["text"].startswith("not (")


def test_a_walk_with_detours_has_steps_to_spare(explore: Explore, tmp_path: Path) -> None:
    text = (
        "var a: 0..3 = 0\nvar b: 0..3 = 0\naction up: a += 1\naction other: b += 1\n"
        "invariant Low: a < 2\nterminal: true\n"
    )
    (tmp_path / "x.fence").write_text(text, encoding="utf-8")
    explore("1", "2", "2", "1", "save w.json", spec="x.fence")
    ran = run("trace", "show", "w.json", folder=tmp_path)
    lines = ran.stdout.splitlines()
    spare = [lines[n - 1] for n, line in enumerate(lines) if "does not need this step" in line]
    assert spare == ["  2  other", "  3  other"]
    page = run("trace", "show", "w.json", "--as", "html", folder=tmp_path).stdout
    assert re.findall(r'<li id="step-(\d+)" data-step="\d+" class="spare">', page) == ["2", "3"]
    assert page.count('<g class="step ordinary spare"') == 2


def test_a_failing_step_is_saved_too(explore: Explore, tmp_path: Path) -> None:
    (tmp_path / "x.fence").write_text('var x: 0..1 = 1\naction a: assert x == 0, "why"\n', "utf-8")
    ran = explore("1", "save w.json", spec="x.fence")
    assert "  1  a\n     this step fails\n" in ran.stdout
    ran = run("trace", "replay", "w.json", "x.fence", folder=tmp_path)
    assert (ran.code, ran.stdout) == (0, "w.json fits x.fence: 2 states\n")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("99", "there are steps 1 to 1\n"),
        ("0", "there are steps 1 to 1\n"),
        ("99999999999999999999", "there are steps 1 to 1\n"),
        ("pth", 'there is no command "pth"; did you mean "path"?; "help" lists the commands\n'),
        ("\x1b[2J", 'there is no command "?[2J"; "help" lists the commands\n'),
        ("back x", '"back" takes a number of steps, or nothing\n'),
        ("is", "error[F021]: a condition is missing, as in: is x > 3\n"),
        ("goto", "error[F021]: a condition is missing, as in: is x > 3\n"),
        ("save", "error[F021]: a file is missing, as in: save walk.itf.json\n"),
        (
            "save faults.fence/y",
            "error[F027]: cannot write faults.fence/y: Not a directory",
        ),
        (
            "is Client.tld > 0",
            'error[F201]: role Client has no variable "tld"; did you mean "told"?',
        ),
        ("goto Client.told +", "error[F101]: expected a value"),
        ("goto 1", "error[F301]: a condition is required here"),
        ("is 1 + 1", "2\n"),
        ("is next(lost)", "error[F"),
        ("is first(own) == Nudge", "it has no value here\n"),
        ("goto first(own) == Nudge", "error[F9"),
        ("", ""),
        ("help", "  NUMBER "),
    ],
)
def test_invalid_input(line: str, answer: str, explore: Explore) -> None:
    shown = explore().stdout
    ran = explore(line, "is true")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith(shown)
    assert ran.stdout[len(shown) :].startswith(answer)
    assert ran.stdout.endswith("true\n"), "it goes on"


def test_a_property_without_value_is_reported_with_its_span(
    explore: Explore, tmp_path: Path
) -> None:
    spec = "var x: 0..3 = 0\naction up: x += 1\ninvariant I: 3 // (x - 1) < 9\n"
    (tmp_path / "zero.fence").write_text(spec, encoding="utf-8")
    shown = explore("1", "save walk.itf.json", spec="zero.fence").stdout
    assert "1  up (invariant I has no value: the divisor is zero)" in shown
    assert (
        "invariant I has no value\n  error[F904]: the divisor is zero\n  zero.fence:3:14" in shown
    )
    assert "is violated" not in shown
    meta = json.loads((tmp_path / "walk.itf.json").read_text("utf-8"))["#meta"]
    assert meta["verdict"] == "error"
