"""Every report of a resumed search names its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.command import run

from fencepost.checker import api

SPEC = """
var n: 0..9 = 0
var m: 0..2 = 0
action up:
    require n < 9
    n += 1
action turn: m = (m + 1) % 3
invariant Low: n < {bound}
check all:
    expect ok
check rest:
    expect ok
"""
SENTENCE = "resumed from saved/spec-all, which had 4 levels"


@pytest.fixture(name="folder", params=["ok", "violated"], scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Creates a folder with the spec and a checkpoint of its check ``all``."""
    folder = tmp_path_factory.mktemp("resumed")
    bound = {"ok": 10, "violated": 8}[request.param]
    (folder / "spec.fence").write_text(SPEC.format(bound=bound), encoding="utf-8")
    cut = run(*CHECK, "--checkpoint", "saved", "--depth", "3", folder=folder)
    assert "The search is saved in saved/spec-all" in cut.stdout, cut
    return folder


CHECK = ("check", "spec.fence", "--check", "all", "--no-progress", "--workers", "1")


def in_json(text: str) -> bool:
    (check,) = json.loads(text)["checks"]
    assert check["resumed"]["from"] == "saved/spec-all"
    assert check["resumed"]["levels"] == 4
    assert check["resumed"]["signed"] is True
    assert any(note.startswith("resumed: from saved/spec-all") for note in check["notes"])
    return True


def in_sarif(text: str) -> bool:
    (invocation,) = json.loads(text)["runs"][0]["invocations"]
    (note,) = invocation["toolExecutionNotifications"]
    return SENTENCE in note["message"]["text"]


FORMATS: dict[str, Callable[[str], bool]] = {
    "text": lambda text: SENTENCE in f"resumed {' '.join(text.split()).split('resumed ')[-1]}",
    "json": in_json,
    "junit": lambda text: SENTENCE in text,
    "sarif": in_sarif,
    "github": lambda text: f"all: {SENTENCE}" in text,
    "html": lambda text: SENTENCE in " ".join(text.split()),
}


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_names_the_checkpoint(form: str, folder: Path) -> None:
    plain = run(*CHECK, "--format", form, folder=folder)
    resumed = run(*CHECK, "--format", form, "--resume", "saved", folder=folder)
    assert plain.code == resumed.code
    assert FORMATS[form](resumed.stdout), resumed.stdout
    assert "saved/spec-all" not in plain.stdout


def test_several_checks(folder: Path) -> None:
    """A check that is reported in one line says in that line that it was resumed."""
    words = [*CHECK, "--check", "rest", "--resume", "saved"]
    lines = run(*words, folder=folder).stdout.splitlines()
    line, *_ = [line for line in lines if line.startswith("all ")]
    assert "(resumed)" in line
    other, *_ = [line for line in lines if line.startswith("rest ")]
    assert "checkpoint" not in other
    assert "resumed" not in other


def test_the_python_interface(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    plain = api.check("spec.fence", checks=["all"], workers=1)
    assert plain.resumed is None
    result = api.check("spec.fence", checks=["all"], workers=1, resume="saved")
    assert result.resumed is not None
    assert (result.resumed.place, result.resumed.levels) == ("saved/spec-all", 4)
    assert "from saved/spec-all, which had 4 levels" in " ".join(str(result).split())


def test_a_search_without_a_checkpoint_is_not_resumed(folder: Path) -> None:
    words = ("--resume", "saved", "--check", "rest", "--format", "json")
    ran = run("check", "spec.fence", "--no-progress", *words, folder=folder)
    (check,) = json.loads(ran.stdout)["checks"]
    assert "resumed" not in check
