"""Modules in the command and in Python: configurations, formats, traces, and commands that refuse
modules.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command import run

from fencepost.checker import api
from fencepost.checker.evaluator.program import load

MODULE = r"""
---- MODULE Jobs ----
EXTENDS Naturals
CONSTANTS Worker, Idle
VARIABLES owner, log
Init == owner = [j \in {"a", "b"} |-> Idle] /\ log = <<>>
Take(w, j) == /\ owner[j] = Idle
              /\ owner' = [owner EXCEPT ![j] = w]
              /\ log' = Append(log, [by |-> w, done |-> {j}])
LOCAL Append(s, e) == [i \in 1..(Size(s) + 1) |-> IF i <= Size(s) THEN s[i] ELSE e]
LOCAL Size(s) == CHOOSE n \in 0..9 : DOMAIN s = 1..n
Next == \E w \in Worker, j \in DOMAIN owner : Take(w, j)
OneFree == \E j \in DOMAIN owner : owner[j] = Idle
====
"""
CONFIG = "CONSTANTS Worker = {w1, w2} Idle = Idle\nINIT Init NEXT Next\nCHECK_DEADLOCK FALSE\n"
LAST = {
    "owner": {"a": "w1", "b": "w1"},
    "log": [{"by": "w1", "done": ["a"]}, {"by": "w1", "done": ["b"]}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Jobs.tla").write_text(_in_order(MODULE).strip(), encoding="utf-8")
    (tmp_path / "Jobs.cfg").write_text(f"{CONFIG}INVARIANT OneFree\n", encoding="utf-8")
    (tmp_path / "Free.cfg").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def _in_order(module: str) -> str:
    """Moves the local definitions before their first use."""
    lines = module.splitlines()
    local = [line for line in lines if line.startswith("LOCAL")]
    rest = [line for line in lines if not line.startswith("LOCAL")]
    at = next(number for number, line in enumerate(rest) if line.startswith("Init"))
    return "\n".join([*rest[:at], *reversed(local), *rest[at:]])


def test_each_configuration_is_a_check(folder: Path) -> None:
    ran = run(
        "check", "Jobs.tla", "--config", "Free.cfg", "--config", "Jobs.cfg", "--format", "json",
        folder=folder,
    )  # fmt: skip
    checks = json.loads(ran.stdout)["checks"]
    assert ran.code == 12
    assert [(check["name"], check["verdict"], check["distinct"]) for check in checks] == [
        ("Free", "ok", 13),
        ("Jobs", "violated", 13),
    ]


def test_a_folder_selects_modules_with_a_configuration(folder: Path) -> None:
    exported = "---- MODULE Exported ----\n\\* From jobs.\n\\*\n\\* jobs, check a: expect ok.\n===="
    (folder / "Exported.tla").write_text(exported, encoding="utf-8")
    (folder / "Exported.cfg").write_text("", encoding="utf-8")
    (folder / "Helper.tla").write_text("---- MODULE Helper ----\n====", encoding="utf-8")
    ran = run("check", ".", "-v", folder=folder)
    assert "Jobs.tla  violated OneFree" in ran.stdout
    assert "skipped 1 spec: Exported.tla (exported from a spec)" in ran.stdout
    assert "Helper" not in ran.stdout + ran.stderr
    assert run("check", ".", "--engine", "local", folder=folder).code == 151
    ran = run("check", ".", "--config", "Free.cfg", folder=folder)
    assert ran.stderr == "error[F052]: --config is for a module, but . is a folder\n"


def test_every_file_of_a_module_is_watched(folder: Path) -> None:
    (folder / "Base.tla").write_text("---- MODULE Base ----\n====", encoding="utf-8")
    (folder / "Sum.tla").write_text("---- MODULE Sum ----\n====", encoding="utf-8")
    module = folder / "Jobs.tla"
    text = module.read_text(encoding="utf-8").replace("Naturals", "Naturals, Sum,\n  Base")
    module.write_text(text, encoding="utf-8")
    files = load(module, (), ()).files.files
    assert {path.name for path in files} == {"Jobs.tla", "Jobs.cfg", "Sum.tla", "Base.tla"}


def test_json_has_the_structure_of_values(folder: Path) -> None:
    ran = run("check", "Jobs.tla", "--format", "json", folder=folder)
    trace = json.loads(ran.stdout)["checks"][0]["trace"]
    assert trace[-1] == {"action": "Take", "arguments": {"w": "w1", "j": "b"}, "state": LAST}


def test_a_saved_trace_is_shown_as_it_was_reported(folder: Path) -> None:
    ran = run("check", "Jobs.tla", "--trace", "t.json", folder=folder)
    shown = run("trace", "show", "t.json", folder=folder).stdout
    steps = ran.stdout[ran.stdout.index("  0  initial") : ran.stdout.index("  searched")].strip()
    assert 'owner = [a |-> Idle, b |-> Idle]\n     log   = <<>>\n  1  Take(w1, "a")' in steps
    assert steps in shown


def test_a_saved_trace_is_replayed(folder: Path) -> None:
    run("check", "Jobs.tla", "--trace", "t.json", folder=folder)
    ran = run("trace", "replay", "t.json", "Jobs.tla", folder=folder)
    assert ran.code == 0
    assert "OneFree is violated at its end, as when the trace was saved" in ran.stdout
    module = folder / "Jobs.tla"
    changed = module.read_text(encoding="utf-8").replace("owner[j] = Idle\n", 'j = "a"\n', 1)
    module.write_text(changed, encoding="utf-8")
    ran = run("trace", "replay", "t.json", "Jobs.tla", folder=folder)
    assert (ran.code, ran.stdout.splitlines()[2:]) == (
        4,
        ['  2  Take(w1, "b")', "     it cannot be taken"],
    )


LIVE = r"""
---- MODULE Live ----
EXTENDS Naturals
VARIABLE x
Up == x < 2 /\ x' = x + 1
Back == x = 2 /\ x' = 0
Done == x = 1 /\ x' = 5
Next == Up \/ Back \/ Done
Spec == x = 0 /\ [][Next]_x /\ WF_x(Next)
Ends == []<><<Done>>_x
====
"""


@pytest.mark.parametrize(
    ("change", "end"),
    [
        (("", ""), "property Ends is violated by its cycle, as when the trace was saved"),
        (("<<Done>>", "<<Back>>"), "property Ends was violated by its cycle, and holds here"),
        (("WF_x(Next)", "SF_x(Done)"), "SF_x(Done) would be postponed"),
    ],
)
def test_a_trace_of_a_formula_is_replayed(
    tmp_path: Path, change: tuple[str, str], end: str
) -> None:
    (tmp_path / "Live.tla").write_text(LIVE.strip(), encoding="utf-8")
    config = "SPECIFICATION Spec PROPERTY Ends CHECK_DEADLOCK FALSE"
    (tmp_path / "Live.cfg").write_text(config, encoding="utf-8")
    run("check", "Live.tla", "--trace", "t.json", folder=tmp_path)
    (tmp_path / "Live.tla").write_text(LIVE.strip().replace(*change), encoding="utf-8")
    ran = run("trace", "replay", "t.json", "Live.tla", folder=tmp_path)
    assert end in ran.stdout


@pytest.mark.parametrize("form", ["junit", "sarif", "github", "html"])
def test_reports_have_the_place_in_the_module(folder: Path, form: str) -> None:
    ran = run("check", "Jobs.tla", "--format", form, folder=folder)
    line = (folder / "Jobs.tla").read_text(encoding="utf-8").splitlines().index(
        "OneFree == \\E j \\in DOMAIN owner : owner[j] = Idle"
    ) + 1  # fmt: skip
    position = {"sarif": f'"startLine": {line}', "github": f"line={line}"}
    assert position.get(form, f"Jobs.tla:{line}:1") in ran.stdout


def test_python_checks_modules(folder: Path) -> None:
    result = api.check(folder / "Jobs.tla")
    assert (result.property_name, result.distinct, result.exit_code) == ("OneFree", 13, 12)
    assert result.trace is not None
    assert result.trace[-1]["state"] == LAST
    assert api.check(folder / "Jobs.tla", config=[folder / "Free.cfg"]).as_expected


@pytest.mark.parametrize(
    "words",
    [
        ["info"], ["graph"], ["export"], ["mutate"], ["fmt"],
        ["conform", "--recording"], ["eval"], ["sweep"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_other_commands_refuse_modules(folder: Path, words: list[str]) -> None:
    more = {"eval": ["x"], "conform": ["r.jsonl"], "sweep": ["--const", "N=1..2"]}
    ran = run(words[0], "Jobs.tla", *more.get(words[0], []), folder=folder)
    assert (ran.code, ran.stderr.splitlines()) == (
        151,
        [
            f"error[F052]: fencepost {words[0]} does not read TLA+ modules",
            "note: fencepost check Jobs.tla checks the module",
        ],
    )
