"""The reports on several files: a line per file, shortened failures, remarks, and comparisons with
an earlier run.
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from tests.checker.report.test_several import SPEC, has
from tests.support.command import Ran, run
from tests.support.paths import ROOT

from fencepost.checker.cli import check
from fencepost.checker.report.text import MAX_LINES

WORKER = """\
var n: 0..40 = 0
action step:
    require n < {}
    n += 1
terminal: true
invariant Few: n < 30
check works:
    expect ok
check again:
    expect ok
"""
BLOCKED = """\
var n: 0..3 = 0
channel net: int8 capacity 1 or block
action go:
    require n < 3
    n += 1
    send 1 to net
terminal: true
check blocked:
    expect ok
check nothing:
    expect ok
"""


def checked(folder: Path, *words: str) -> Ran:
    return run("check", ".", "--engine", "interpreter", *words, folder=folder)


def lines(ran: Ran) -> list[str]:
    """Returns the printed lines without figures and without the line about the run."""
    figures = r"   +[\d,]+ (states?|distinct), .* s$"
    printed = [re.sub(figures, "", line) for line in ran.stdout.splitlines()]
    return [line for line in printed if not line.startswith("fencepost ")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.fence").write_text(SPEC.format(expected="violated Small"), "utf-8")
    (tmp_path / "longer.fence").write_text(WORKER.format(20), "utf-8")
    slow = "check late slow:\n    expect ok\n"
    (tmp_path / "net.fence").write_text(BLOCKED + slow, "utf-8")
    return tmp_path


FILES = [
    "a.fence       3 checks as expected",
    "longer.fence  2 checks as expected",
    "net.fence     2 checks as expected, 1 slow",
    "",
    "7 checks, all as expected",
    "2 checks hold only within bounds that were reached: -v shows them",
    "1 slow check did not run: --slow runs it",
]


def test_one_line_per_file_if_all_is_as_expected(folder: Path) -> None:
    ran = checked(folder)
    assert lines(ran) == FILES
    figures = r"   42 states, \d+\.\d\d s, slowest (works|again) \d+\.\d\d s$"
    assert re.search(figures, ran.stdout.splitlines()[1])
    assert all(len(line) <= 100 for line in ran.stdout.splitlines())


def test_each_line_is_flushed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a build shows a file when its checks end."""
    printed: list[int] = []

    def count_lines() -> None:
        assert isinstance(sys.stdout, StringIO)
        printed.append(sys.stdout.getvalue().count("\n"))

    monkeypatch.setattr(check, "flush", count_lines)
    assert checked(folder).code == 0
    assert printed == [1, 2, 3]


@pytest.mark.parametrize(
    ("words", "shown", "omitted"),
    [
        (["-v"], ["longer.fence", "works  ok, as expected", "again  ok, as expected"], FILES[:1]),
        (["-vv"], ["     x = 0"], FILES[:1]),
        (["-q"], ["7 checks, all as expected"], FILES[:1]),
        (["--remarks"], ["net.fence: blocked"], ["a.fence"]),
        (["--summary"], ["slowest"], ["a.fence"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_options(words: list[str], shown: list[str], omitted: list[str], folder: Path) -> None:
    printed = lines(checked(folder, *words))
    assert has(printed, shown)
    assert not has(printed, omitted)


def test_a_check_without_initial_states_is_named(tmp_path: Path) -> None:
    text = "var x: 0..1 in {n for n in 0..1 if n > 1}\naction up: x = 1\ncheck c:\n    expect ok\n"
    for name in ("a.fence", "b.fence"):
        (tmp_path / name).write_text(text, "utf-8")
    printed = lines(checked(tmp_path))
    assert "b.fence: c: there is no initial state, so nothing was checked" in printed


def test_each_failure_is_short_and_names_the_command_for_the_rest(folder: Path) -> None:
    (folder / "longer.fence").write_text(WORKER.format(40), "utf-8")
    ran = checked(folder)
    printed = ran.stdout.splitlines()
    assert ran.code == 12
    assert "longer.fence  2 checks, 2 NOT as expected" in lines(ran)
    begin, second = (number for number, line in enumerate(printed) if line == "longer.fence")
    end = printed.index("7 checks, 2 not as expected")
    assert MAX_LINES - 2 <= second - begin <= MAX_LINES
    assert MAX_LINES - 2 <= end - second <= MAX_LINES
    assert "  invariant Few is violated after 30 steps" in printed[begin:second]
    assert "      n  29 -> 30" in printed[begin:second]
    (pointer,) = [line for line in printed[begin:second] if " more lines: " in line]
    command = "fencepost check longer.fence --check works --engine interpreter"
    assert pointer.endswith(f" more lines: {command}")
    whole = run(*command.split()[1:], folder=folder).stdout
    assert int(pointer.split()[1]) > 20
    assert "  14  step\n" in whole


def test_a_failure_of_a_single_file_is_whole_unless_there_are_more(tmp_path: Path) -> None:
    (tmp_path / "w.fence").write_text(WORKER.format(40), "utf-8")
    both = run("check", "w.fence", "--engine=interpreter", folder=tmp_path).stdout
    text = WORKER.format(40).replace("again:\n    expect ok", "again:\n    expect violated Few")
    (tmp_path / "w.fence").write_text(text, "utf-8")
    alone = run("check", "w.fence", "--engine=interpreter", folder=tmp_path).stdout
    assert (both.count(" more lines: "), alone.count(" more lines: ")) == (2, 0)


# ---------------------------------------------------------------- comparisons


@pytest.fixture
def baseline(folder: Path) -> str:
    assert checked(folder, "--format", "json=base.json").code == 0
    return "base.json"


def edited(folder: Path) -> None:
    """Moves a spec by a line, and adds an action that is never taken to another one."""
    a, longer = folder / "a.fence", folder / "longer.fence"
    a.write_text(f"# a comment\n{a.read_text('utf-8')}", "utf-8")
    more = "action idle:\n    require n > 39\n    n = 0\n"
    longer.write_text(f"{longer.read_text('utf-8').replace('n < 20', 'n < 25')}{more}", "utf-8")


def test_only_new_remarks(folder: Path, baseline: str) -> None:
    known = ("--remarks-baseline", baseline)
    none = "0 remarks that base.json does not have"
    assert none in lines(checked(folder, *known))
    edited(folder)
    printed = lines(checked(folder, *known))
    new = ["longer.fence: works", "  never taken   idle"]
    assert has(printed, new)
    assert "a.fence: low" not in printed
    assert none not in printed


def test_strict_fails_on_new_remarks_only(folder: Path, baseline: str) -> None:
    assert checked(folder, "--strict").code == 4
    known = ("--strict", "--remarks-baseline", baseline)
    assert checked(folder, *known).code == 0
    edited(folder)
    ran = checked(folder, *known)
    assert (ran.code, "7 checks, 2 not as expected" in ran.stdout) == (4, True)
    assert "--strict allows no remarks (never taken: idle; never true: " in ran.stdout


@pytest.mark.parametrize("option", ["--baseline", "--remarks-baseline"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        ("[", "it is not a report in JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[1]", "it is not a report in JSON"),
        ("{}", "it is not a report in JSON"),
        ('{"spec": "a", "checks": [{"distinct": 1}]}', "it is not a report in JSON"),
        ('{"spec": "a", "checks": [[]]}', "it is not a report in JSON"),
    ],
)
def test_an_unusable_baseline(option: str, content: str | None, reason: str, folder: Path) -> None:
    if content is not None:
        (folder / "b.json").write_text(content, "utf-8")
    ran = checked(folder, option, "b.json", "--format", "html=out.html")
    assert ran.code == 151
    assert ran.stderr == (
        f"error[F051]: b.json cannot be compared with: {reason}\n"
        "note: fencepost check SPEC... --format json=b.json writes such a report\n"
    )


def test_a_baseline_needs_a_page(folder: Path, baseline: str) -> None:
    ran = checked(folder, "--baseline", baseline)
    assert (ran.code, "--baseline needs --format html" in ran.stderr) == (151, True)


# ---------------------------------------------------------------- the page


class Text(HTMLParser):
    """Collects the text of a page, with a line for each row and summary."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines = [""]
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag == "style"
        if tag in ("tr", "summary", "p", "h1", "pre"):
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag == "style"
        self.lines[-1] += " "

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.lines[-1] += data

    @property
    def rows(self) -> list[str]:
        """The lines without times."""
        return [re.sub(r"\d+\.\d\d s", "T", " ".join(line.split())) for line in self.lines]


def page(folder: Path, *words: str) -> list[str]:
    checked(folder, "--format", "html=out.html", *words)
    return Text((folder / "out.html").read_text("utf-8")).rows


def test_the_page_of_a_folder(folder: Path) -> None:
    rows = page(folder)
    assert rows[1:3] == ["ok", "7 checks, all as expected"]
    assert "longer.fence 2 checks 42 states T" in rows
    assert "net.fence 2 checks, 1 slow, not run 4 states T" in rows
    assert "late slow: --slow runs it" in rows
    assert any(row.startswith("blocked ok; within the capacity of net: ") for row in rows)
    assert any(row.startswith("low: ") and "remark" in row for row in rows)
    assert "never taken never" in "\n".join(rows)


def test_the_page_shows_what_changed(folder: Path, baseline: str) -> None:
    base = json.loads((folder / baseline).read_text("utf-8"))
    slower = {check["name"]: check for spec in base for check in spec["checks"]}
    slower["works"]["seconds"] += 60
    base[0]["checks"] = [*base[0]["checks"][:1], {**slower["low"], "name": "gone"}]
    (folder / baseline).write_text(json.dumps(base), "utf-8")
    (folder / "longer.fence").write_text(WORKER.format(40), "utf-8")
    (folder / "bad.fence").write_text("var x 3\n", "utf-8")
    rows = page(folder, "--baseline", baseline)
    joined = "\n".join(rows)
    assert rows[1:3] == ["not ok", "7 checks, 2 not as expected, 1 spec could not be checked"]
    assert "compared with base.json, which has 6 checks" in rows
    assert "only there: a.fence: gone" in rows
    assert "longer.fence 2 checks, 2 not as expected 62 states was 42 T was T" in rows
    failed = "expected ok, but invariant Few is violated was as expected 31 states was 21 T"
    assert f"works {failed} was T" in rows
    assert f"again {failed}" in rows
    assert "ends ok new 4 states T" in rows
    assert "✗ bad.fence could not be checked: bad.fence:1:7: error[F101]" in joined
    # A failure has its whole trace.
    assert "14 step n 13 -> 14" in joined


def test_the_page_distinguishes_notes_from_warnings(folder: Path) -> None:
    unused = WORKER.format(1) + "const Spare: int = 1\n"
    (folder / "unused.fence").write_text(unused, "utf-8")
    (folder / "part.fence").write_text("var n: 0..3 = 0\n", "utf-8")
    rows = page(folder)
    assert "1 warning" in rows
    assert "2 notes" in rows
    assert any("note[F421]: nothing uses the constant Spare" in row for row in rows)


def test_the_log_of_the_kafka_models_is_short() -> None:
    """Every file of a folder has one line, and at most ten lines follow."""
    files = [*(ROOT / "models" / "kafka").glob("*.fence")]
    assert len(files) + 10 <= 40
