"""Every command with variables of the type int: it works, or it refuses the spec by name (F810)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))
SPEC = (Path(__file__).with_name("int.fence")).read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "wanted"), TABLES["commands"])
def test_command(arguments: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "int.fence").write_text(SPEC, encoding="utf-8")
    (tmp_path / "in.jsonl").write_text(
        '{"source": "counter", "event": "counted", "count": 2}\n', encoding="utf-8"
    )
    run("check", "int.fence", "--check", "wrong", "--trace", "t.json", folder=tmp_path)
    ran = run(*arguments.split(), folder=tmp_path)
    assert "Traceback" not in ran.stderr
    shown = " ".join(f"{ran.stdout} {ran.stderr}".split())
    for part in wanted.split("; "):
        assert part in shown, f"{ran.stdout}\n{ran.stderr}"
