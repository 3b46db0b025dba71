"""Reports of the engine ``compiled``."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import run

MODULE = r"""
---- MODULE Ends ----
EXTENDS Naturals
VARIABLES x
Up == x < 2 /\ x' = x + 1
Terminating == x = 2 /\ UNCHANGED x
Spec == x = 0 /\ [][Up \/ Terminating]_x /\ WF_x(Up)
Ends == <>(x = 3)
====
"""


def test_states_that_only_lead_to_themselves_and_behaviours(tmp_path: Path) -> None:
    (tmp_path / "Ends.tla").write_text(MODULE.strip(), encoding="utf-8")
    for name, line in (("Ends", ""), ("Lively", "PROPERTY Ends")):
        text = f"SPECIFICATION Spec\n{line}\n"
        (tmp_path / f"{name}.cfg").write_text(text, encoding="utf-8")
    options = ("--engine", "compiled", "--no-progress")
    good = run("check", "Ends.tla", *options, folder=tmp_path)
    assert (good.code, "3 distinct, 4 generated" in good.stdout) == (0, True), good
    assert "stuck" not in good.stdout, good
    bad = run("check", "Ends.tla", "--config", "Lively.cfg", *options, folder=tmp_path)
    assert (bad.code, "WF_x(Up)  not" in bad.stdout) == (13, True), bad


def test_options_of_searches(tmp_path: Path) -> None:
    (tmp_path / "Ends.tla").write_text(MODULE.strip(), encoding="utf-8")
    (tmp_path / "Ends.cfg").write_text("SPECIFICATION Spec\n", encoding="utf-8")
    options = ("check", "Ends.tla", "--engine", "compiled", "--no-progress")
    small = run(*options, "--max-states", "2", "--memory", "2G", folder=tmp_path)
    assert (small.code, "cut by --max-states 2" in small.stdout) == (3, True), small
    refused = run(*options, "--checkpoint", "saved", folder=tmp_path)
    assert (refused.code, "F032" in refused.stderr) == (151, True), refused
