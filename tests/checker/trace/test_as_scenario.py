"""A trace written as a scenario and added to its spec fits a run with the same number of steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.amounts import everything
from tests.support.command import run
from tests.support.paths import ROOT
from tests.support.scenario_runs import SPEC

from fencepost.checker.report.scenario import scenario
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import load, perform, prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.trace import itf
from fencepost.checker.trace.of_search import result_document

FEW = [ROOT / "models/classics" / f"{name}.fence" for name in (
    "atomic_commitment", "die_hard", "disruptor", "lamport_mutex", "paxos", "peterson",
    "readers_writers", "snapshot_isolation",
)]  # fmt: skip
KAFKA = ROOT / "models/kafka/verification_race.fence"
ALL = [*sorted((ROOT / "models/classics").glob("*.fence")), KAFKA]
MODELS = ALL if everything("SHIPPED") else FEW


@pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])
def test_shipped_traces_fit_their_specs(tmp_path: Path, path: Path) -> None:
    program, written, counts = load(path), path.read_text(encoding="utf-8"), list[int]()
    wanted = [chosen for chosen in program.checks if chosen.verdict != "ok" and not chosen.slow]
    for check in wanted if everything("SHIPPED") else wanted[:1]:
        result = perform(prepare(program, check, Settings(limits=Limits(workers=1))), ignored)
        assert result.finding is not None
        assert result.finding.trace is not None
        data = itf.dumps(result_document(result, result.finding)).encode()
        written += f"\n\n{scenario(itf.read(data, 'trace'), 'trace')}"
        counts.append(sum(step.state is not None for step in result.finding.trace.steps))
    copy = tmp_path / path.name
    copy.write_text(written, encoding="utf-8")
    again = load(copy, [path.parent])
    for chosen, count in zip(again.scenarios, counts, strict=True):
        played = perform(prepare(again, chosen, Settings(engine="interpreter")), ignored)
        assert played.as_expected, written
        assert played.finding is not None
        assert played.finding.trace is not None
        assert len(played.finding.trace.steps) == count


def test_a_command_writes_one(tmp_path: Path) -> None:
    text = f"{SPEC}invariant Small: x < 3\ncheck c:\n    const N = 1\n    expect violated Small\n"
    text += "channel line[n: Name]: Message lossy(Ack) capacity 1 or block\n"
    text += "action put(n in Name): send Ack to line[n]\naction got on Ack from line[a]: skip\n"
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    words = ("check", "m.fence", "--trace", "t.itf.json", "--engine", "interpreter")
    assert run(*words, folder=tmp_path).code == 0
    shown = run("trace", "show", "t.itf.json", "--as", "scenario", folder=tmp_path)
    assert shown.stdout == (
        "scenario c_run:\n"
        "    const N = 1\n"
        "    Client[a].ask(3)\n"
        "    serve(Request(n: a, k: 3))\n"
        "    expect (\n"
        "        net == [Answer(n: a)]\n"
        "        and x == 3\n"
        "        and Client[a].busy\n"
        "    )\n"
    )


def test_losses_in_families_of_channels(tmp_path: Path) -> None:
    text = """
enum Name: a, b
channel net[x: Name, y: Name]: Name lossy capacity 1 or block
action put(x in Name, y in Name): pick z in Name; send z to net[x, y]
action got on b from net[a, b]: skip
action gone on a from net[a, b]: skip
var bad: bool = false
scenario s: put(b, a); net[b, a].lose(b); put; net[a, _].lose(_); put(a, b); gone; expect true
"""
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    words = ("check", "m.fence", "--check", "s", "--trace", "t.itf.json")
    ran = run(*words, "--engine", "interpreter", folder=tmp_path)
    assert ran.code == 0, ran.stdout
    shown = run("trace", "show", "t.itf.json", "--as", "scenario", folder=tmp_path)
    assert shown.stdout == (
        "scenario s_run:\n"
        "    put(b, a)\n"
        "    net[b, a].lose(b)\n"
        "    put(a, b)\n"
        "    net[a, b].lose(a)\n"
        "    put(a, b)\n"
        "    gone(a)\n"
        "    expect true\n"
    )


def test_a_trace_of_another_tool_has_no_steps(tmp_path: Path) -> None:
    (tmp_path / "t.itf.json").write_text(
        '{"vars": ["x"], "states": [{"x": 0}, {"x": 1}]}', encoding="utf-8"
    )
    shown = run("trace", "show", "t.itf.json", "--as", "scenario", folder=tmp_path)
    assert shown.code == 151
    assert "has no scenario names for its steps" in shown.stderr
