"""`fencepost sweep`: rows, growth, formats, exit codes and rejected arguments."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from tests.support.command import Ran, run

GRID = """\
enum Kind: Round, Square
const N: int = 3
const M: int = 1
const K: Kind = Round
var x: 0..20 = 0
var y: 0..20 = 0
action right:
    require x < N
    x += 1
action up:
    require y < M and K == Round
    y += 1
terminal: x == N and (y == M or K == Square)
invariant Small: x < 6
check grid:
    expect ok
    expect states == 1
"""
ENGINE = ("--engine", "interpreter")


def swept(tmp_path: Path, *words: str, text: str = GRID) -> Ran:
    (tmp_path / "s.fence").write_text(text, encoding="utf-8")
    return run("sweep", "s.fence", *ENGINE, *words, folder=tmp_path)


def rows(tmp_path: Path, *words: str) -> list[dict[str, str]]:
    ran = swept(tmp_path, "--format", "csv", *words)
    return list(csv.DictReader(io.StringIO(ran.stdout)))


def test_rows_have_the_counts_of_check(tmp_path: Path) -> None:
    table = rows(tmp_path, "--const", "N=1..3", "--const", "M=2")
    assert [row["N"] for row in table] == ["1", "2", "3"]
    assert "M" not in table[0]
    for row in table:
        words = ("check", "s.fence", *ENGINE, "--const", f"N={row['N']}", "--const", "M=2")
        report: dict[str, Any] = json.loads(run(*words, "--format", "json", folder=tmp_path).stdout)
        (check,) = report["checks"]
        figures = (row["verdict"], row["states"], row["generated"], row["depth"])
        wanted = (check["verdict"], check["distinct"], check["generated"], check["depth"])
        assert figures == tuple(map(str, wanted))
    assert [row["growth"] for row in table] == ["", "1.5", "1.333"]


def test_combinations_and_names(tmp_path: Path) -> None:
    table = rows(tmp_path, "--const", "K=Round,Square", "--const", "M=1..2")
    assert [(row["K"], row["M"], row["states"], row["growth"]) for row in table] == [
        ("Round", "1", "8", ""),
        ("Round", "2", "12", "1.5"),
        ("Square", "1", "4", ""),
        ("Square", "2", "4", "1.0"),
    ]


def test_a_violation_and_a_limit_have_no_growth(tmp_path: Path) -> None:
    ran = swept(tmp_path, "--const", "N=5..7")
    assert ran.code == 12
    lines = ran.stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["5", "ok"],
        ["6", "violated"],
        ["7", "violated"],
    ]
    assert " x " not in ran.stdout
    cut = swept(tmp_path, "--const", "N=2,5", "--max-states", "4")
    assert (cut.code, cut.stdout.count("inconclusive")) == (3, 2)


REASONS = """\
const N: int = 1
assume N < 6
var x: 0..9 = 0
action up:
    require x < N
    x += 1
    assert x < 2 or N != 2
    x = x + (if N == 3 then 0 // (2 - x) else 0)
terminal: true
invariant Low: x < 4 or N != 4
check c:
    expect ok
"""


def test_a_row_has_the_reason_for_its_verdict(tmp_path: Path) -> None:
    words = ("--const", "N=1..6", "--max-states", "4")
    verdicts = {
        "ok": None,
        "assertion": "the assertion is false (s.fence:7)",
        "error": "F904: the divisor is zero (s.fence:8)",
        "violated Low": None,
        "inconclusive": "cut by --max-states 4",
        "assumption": "`N < 6` is false (s.fence:2)",
    }
    shown = {
        form: swept(tmp_path, *words, "--format", form, text=REASONS).stdout
        for form in ("text", "csv", "json")
    }
    rows = [(row["verdict"], row["reason"]) for row in json.loads(shown["json"])["rows"]]
    assert rows == [*verdicts.items()]
    table = csv.DictReader(io.StringIO(shown["csv"]))
    assert [(row["verdict"], row["reason"] or None) for row in table] == rows
    lines = [line.strip() for line in shown["text"].splitlines()]
    assert all(reason in lines for reason in verdicts.values() if reason)


def test_text_has_a_bar(tmp_path: Path) -> None:
    ran = swept(tmp_path, "--const", "N=3..4")
    assert ran.code == 0
    head, first, second = ran.stdout.splitlines()
    assert head.split() == ["N", "verdict", "states", "generated", "depth", "seconds", "growth"]
    assert (first.split()[2], first.split()[-1]) == ("8", "###")
    assert second.split()[-3:] == ["x", "1.25", "####"]


def test_json_to_a_file(tmp_path: Path) -> None:
    ran = swept(tmp_path, "--const", "N=3..4", "--format", "json", "--output", "o.json")
    assert (ran.code, ran.stdout) == (0, "")
    report: dict[str, Any] = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert [row["constants"] for row in report["rows"]] == [{"N": "3"}, {"N": "4"}]
    assert [row["growth"] for row in report["rows"]] == [None, 1.25]
