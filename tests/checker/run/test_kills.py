"""If a worker is killed at any moment, the run either reports it or has complete results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.amounts import amount
from tests.support.kills import LOGGED, Harm, Kind
from tests.support.lease import HISTORIES, folder_with, written

CHECKS = 6
SPEC = """\
const Top: int = 3
var a: 0..200 = 0
var b: 0..Top = 0
action up:
    require a < 200
    a += 1
action turn:
    b = if b < Top then b + 1 else 0
invariant Inside: a + b <= 200 + Top
terminal: true
""" + "".join(f"check c{n}:\n    const Top = {9 + n}\n    expect ok\n" for n in range(CHECKS))
HISTORIES_READ = 400


def checked(output: str) -> object:
    """Returns the counts and verdicts of a report, without times."""
    kept = ("name", "verdict", "distinct", "generated", "depth", "as_expected")
    return [[entry[name] for name in kept] for entry in json.loads(output)["checks"]]


def conformed(output: str) -> object:
    """Returns the report of `conform` without its time and version."""
    report = json.loads(output)
    return {name: value for name, value in report.items() if name not in ("seconds", "version")}


def is_python(line: str) -> bool:
    return "python" in line


KINDS = (
    Kind(
        "worker of check",
        ("check", "s.fence", "--jobs", "2", "--engine", "interpreter", "--format", "json"),
        is_python,
        checked,
        command=LOGGED,
    ),
    Kind(
        "worker of conform",
        ("conform", "map.fence", "r.jsonl", "--workers", "2", "--engine", "local",
         "--format", "json"),
        is_python,
        conformed,
    ),
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_killed_workers(kind: Kind, tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "s.fence").write_text(SPEC, "utf-8")
    events = [events for events, _, _ in HISTORIES.values() if events]
    many = {f"h{n}": events[n % len(events)] for n in range(HISTORIES_READ)}
    (folder / "r.jsonl").write_text(written(many), "utf-8")
    harm = Harm(kind, folder)
    harm.kill(amount("KILLS", 3), amount("FIRST", 1))
    print(kind.name, dict(harm.judge()))
