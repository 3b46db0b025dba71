"""`fencepost drive` on lock desks, in this process."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.checker.systems.drive import desks
from tests.support.paths import ROOT

from fencepost.checker.cli.main import main
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort
from fencepost.checker.systems.drive import driver as module
from fencepost.checker.systems.drive.driver import Driver, Episode
from fencepost.checker.systems.drive.requests import kinds
from fencepost.checker.systems.drive.system import GuardedSystem
from fencepost.spec.elaborate.claims.program import load, mapped

HERE = ROOT / "tests" / "checker" / "systems" / "drive"
SPEC = str(HERE / "asked.fence")
DESKS = f"{HERE / 'desks.py'}:"


@cache
def compared() -> MappedModel:
    program = load(HERE / "asked.fence", ())
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    return MappedModel(model, recording)


def driver(desk: desks.Desk, seed: int = 1) -> Driver:
    mapping = compared()
    return Driver(mapping, GuardedSystem(desk), kinds(mapping.recording, SPEC), seed)


def walked(desk: desks.Desk, seed: int, length: int = 40) -> Episode:
    return driver(desk, seed).walk(length, lambda: True)


def event_texts(episode: Episode) -> list[str]:
    names = ((line["event"], line.get("client"), line.get("token")) for line in episode.lines)
    return [" ".join(str(part) for part in name if part is not None) for name in names]


def test_a_correct_desk_is_always_allowed() -> None:
    asking = driver(desks.Desk())
    episodes = [asking.walk(50, lambda: True) for _ in range(3)]
    assert [(episode.agreed, episode.certain, len(episode.requests)) for episode in episodes] == [
        (True, True, 50)
    ] * 3
    assert asking.sent == 150
    # Every possible answer has occurred.
    kinds_of = {("ask", "true"), ("ask", "false"), ("write", "true"), ("write", "false")}
    assert set(asking.answers) == kinds_of | {("expire", "")}


@pytest.mark.parametrize("desk", [desks.Trusting, desks.Forgetful, desks.Eager])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_faulty_desk_is_found_and_its_history_shortened(
    desk: type[desks.Desk], seed: int
) -> None:
    asking = driver(desk(), seed)
    episodes = [asking.walk(60, lambda: True)]
    while episodes[-1].agreed and len(episodes) < 5:
        episodes.append(asking.walk(60, lambda: True))
    assert not episodes[-1].agreed
    short = asking.shortened(episodes[-1], lambda: True)
    assert (short.agreed, short.certain) == (False, True)
    assert len(short.requests) <= 8, event_texts(short)
    for at in range(len(short.requests)):
        fewer = short.requests[:at] + short.requests[at + 1 :]
        assert asking.replay(fewer).agreed, event_texts(short)
    assert judge(compared(), short.history(0), Effort()).verdict == "not allowed"


@pytest.mark.parametrize(
    "desk", [desks.Desk, desks.Trusting, desks.Forgetful, desks.Eager, desks.Large]
)
def test_the_kept_states_agree_with_a_search_of_the_whole_history(
    desk: type[desks.Desk],
) -> None:
    for seed in range(6):
        episode = walked(desk(), seed, 12)
        verdict = judge(compared(), episode.history(0), Effort()).verdict
        assert (verdict == "allowed") == episode.agreed, event_texts(episode)
        if not episode.agreed:
            assert (verdict == "not allowed") == episode.certain, event_texts(episode)


def test_refused_requests_are_in_no_history() -> None:
    episode = walked(desks.Discreet(), 3)
    assert 0 < len(episode.requests) < 40
    assert episode.agreed
    assert all(line.get("client", "Alice") == "Alice" for line in episode.lines)


def test_weights_of_requests() -> None:
    lines = walked(desks.Weighing(), 3, 200).lines
    asked = [line["event"] for line in lines]
    assert "write" not in asked
    assert 0 < asked.count("expire") < asked.count("ask") / 2


@pytest.mark.parametrize(("share", "kinds"), [(0.0, 20), (1.0, 3)])
def test_requests_are_repeated_and_come_late(
    share: float, kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a share of 1, only the first request of each event kind is new."""
    assert 0 < module.REPEATED < 0.5
    monkeypatch.setattr(module, "REPEATED", share)
    requests = walked(desks.Desk(), 5, 60).requests
    assert len({(request.kind.event.name, request.given) for request in requests}) == kinds


def test_a_walk_is_the_same_each_time() -> None:
    assert event_texts(walked(desks.Desk(), 7)) == event_texts(walked(desks.Desk(), 7))
    assert event_texts(walked(desks.Desk(), 7)) != event_texts(walked(desks.Desk(), 8))


# ---------------------------------------------------------------- the command


def run(
    capsys: pytest.CaptureFixture[str], desk: str, *words: str, spec: str = SPEC
) -> tuple[int, str]:
    code = main(["drive", spec, "--system", f"{DESKS}{desk}", *words])
    output = capsys.readouterr()
    return code, output.out + output.err


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, report = run(capsys, "Desk", "--requests", "60", "--length", "20")
    assert (code, report.splitlines()[0].split("   ")[0]) == (0, "asked.fence  3 allowed")
    recording, trace = tmp_path / "all.jsonl", tmp_path / "trace.itf.json"
    saved = ("--record", str(recording), "--trace", str(trace))
    code, report = run(capsys, "Trusting", *saved)
    assert code == 15
    assert "not allowed" in report
    assert main(["conform", SPEC, str(recording)]) == 15
    assert main(["trace", "show", str(trace)]) == 0
    capsys.readouterr()
    code, _ = run(capsys, "Trusting", "--follow", str(recording))
    assert code == 15
    code, _ = run(capsys, "Desk", "--follow", str(recording), "--follow", str(trace))
    assert code == 0
    code, report = run(capsys, "Large")
    assert code == 3
    assert "unknown" in report


def test_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(capsys, "Desk", "--requests", "30", "--format", "json")
    root: dict[str, Any] = json.loads(report)
    assert code == root["exit"] == 0
    assert root["counts"] == {"allowed": 1, "not allowed": 0, "unknown": 0, "unread": 0}
    assert sum(count for *_, count in root["answers"]) == 30


def test_the_trace_of_a_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A check of the model with its own clients gives a trace, which the real desk follows."""
    trace, recording = tmp_path / "late.itf.json", tmp_path / "late.jsonl"
    assert main(["check", str(HERE / "clients.fence"), "--trace", str(trace)]) == 0
    capsys.readouterr()
    words = ("--follow", str(trace), "--record", str(recording))
    code, _ = run(capsys, "Desk", *words)
    assert code == 0
    lines = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    assert [(line["event"], line.get("ok")) for line in lines] == [
        ("ask", True), ("expire", None), ("ask", True), ("write", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("desk", "words", "why"),
    [
        ("Raising", (), ": RuntimeError: the printer is on fire ("),
        ("Weightless", (), "the system accepts no request of the spec"),
        ("Negative", (), "weight of ask gives -1.0; it must be a number, at least 0"),
        ("Curt", (), " gives int; it must be an object with fields"),
        ("Closed", (), "100 walks found no request to begin with"),
        ("Vague", (), ' has no field "ok"'),
        ("Repeating", (), " has a field of the request, client"),
        ("Named", ("--option", "name=x"), "has no reset, send and observe"),
        ("Named", (), "cannot be created with these options: missing a required argument: 'name'"),
        ("Named", ("--option", "nam=x"), 'Named has no option nam; did you mean "name"?'),
        ("NOTHING", (), "NOTHING of "),
        ("Desc", (), 'has no Desc; did you mean "Desk"?'),
        ("Desk", ("--follow", "nothing.jsonl"), "has no request of the spec"),
        ("Desk", ("--follow", "bad.jsonl"), "bad.jsonl:1: the line is not JSON"),
        ("Desk", ("--follow", "missing.jsonl"), "missing.jsonl"),
        ("Desk", ("--option", "x"), '"x" is not of the form NAME=VALUE'),
    ],
)
def test_faulty_systems_and_files_are_refused(
    desk: str,
    words: tuple[str, ...],
    why: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = {"history": 1, "source": "store", "event": "written", "token": 1}
    Path("nothing.jsonl").write_text(json.dumps(nothing) + "\n", encoding="utf-8")
    Path("bad.jsonl").write_text("?\n", encoding="utf-8")
    code, report = run(capsys, desk, "--seed", "1", "--requests", "40", *words)
    assert (code, why in report) == (151, True), report


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("desks", "desks is not a system: FILE.py:NAME, MODULE:NAME, or kafka"),
        ("kafak", 'MODULE:NAME, or kafka; did you mean "kafka"?'),
        ("nowhere.py:Desk", "No such file or directory"),
        ("no.such.module:Desk", "ModuleNotFoundError: No module named 'no'"),
    ],
)
def test_unknown_systems_are_refused(
    location: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drive", SPEC, "--system", location]) == 151
    assert why in capsys.readouterr().err


MAPPINGS = {
    "binds names": "    bind client: m.Client\nevent asked(client: client) from requests\nshows "
    "asked(client) on m.Desk.on_ask(client)\n",
    "guesses": "event asked(client: m.Client) from requests\nahead asked:\n    send Ask(client)"
    " to m.net\n",
    "nothing to send": "event asked(client: m.Client) from requests\nshows asked(client) on "
    "m.Desk.on_ask(client)\n",
    "has no `key`": "input over(client: m.Client) from requests: m.Desk.expire\n",
}


@pytest.mark.parametrize("why", MAPPINGS)
def test_mappings_that_cannot_be_driven(
    why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    head = '"""A desk."""\nimport desk as m\nfrom desk import Message\n\nrecording:\n'
    spec = tmp_path / "own.fence"
    spec.write_text(f"{head}    source requests ordered\n{MAPPINGS[why]}", encoding="utf-8")
    words = ("--path", str(HERE), "--record", str(tmp_path / "out.jsonl"))
    code, report = run(capsys, "Desk", *words, spec=str(spec))
    assert (code, why in report) == (151, True), report


def test_a_run_with_an_immediate_timeout_has_a_request(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(capsys, "Desk", "--timeout", "0.000001s", "--seed", "2")
    assert (code, report.splitlines()[0]) == (0, "asked.fence  1 allowed   1 history, 1 event")
