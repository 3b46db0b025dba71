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
    bad = run("check", "Ends.tla", "--config", "Lively.cfg", *options, folder=tmp_path)
    assert (bad.code, "WF_x(Up)  not" in bad.stdout) == (13, True), bad
