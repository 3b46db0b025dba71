"""Names and texts of a spec are never commands to the build system that runs Fencepost."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from tests.support.command import Ran, run

from fencepost.checker.cli.progress import Reporter
from fencepost.checker.layout import Layout
from fencepost.checker.native.search import translated
from fencepost.checker.printing.page import Page, ansi, plain
from fencepost.checker.request import Progress
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Problem, Rejected, harmless

# The command syntax of GitHub, Azure and TeamCity runners, in either output stream.
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
NAME = "::error file=a.py,line=1::X"
SPEC = """\
\"""::error::of the text ##[error]that comes first\"""
enum E: A, B
var x: 0..3 = 0   # ::warning::remark ##vso[task.complete result=Failed] # #
var e: E = A
action up:
    assert x < 2, "::error file=a.py,line=1::PWNED ]]> %0A::warning::x & < > ##[command]y \
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ::stop-commands::x ##teamcity[message text='z']"
    x += 1
invariant I: x < 9   # ##[group]a
reachable R: x == 2   # ::debug::b
check c:
    expect ok
"""
BROKEN = SPEC + "invariant J: x = 9 # ##[error]c\ninvariant K: ##[x]\n"
WRONG = SPEC + "invariant J: y ==\\\n9 # ##[error]c\ninvariant K: x > true # ##[x]\n"
WARNED = "var done: bool = true # ##[error]c\naction a: skip\ninvariant J: done # ready\n"
TRACE = {
    "vars": ["x"],
    "#meta": {"description": "::error::a ##[b]c", "source": "::error::d"},
    "states": [{"x": "::error::e ##[error]f", "action": "::error::g"}, {"x": "##vso[a]b"}],
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for name, text in (
        (NAME, SPEC),
        (f"{NAME}broken", BROKEN),
        (f"{NAME}wrong", WRONG),
        (f"{NAME}warned", WARNED),
        ("two\n::error::lines", SPEC),
        ("##[error]hash", SPEC),
    ):
        (tmp_path / f"{name}.fence").write_text(text.replace("\\\n", ""), encoding="utf-8")
    (tmp_path / "::error::t.itf.json").write_text(json.dumps(TRACE), encoding="utf-8")
    (tmp_path / "module.fence").write_text("import nowhere\n", encoding="utf-8")
    return tmp_path


def silent(ran: Ran) -> bool:
    """Returns whether the output contains no command to a build system."""
    return COMMAND.search(ran.stdout) is None and COMMAND.search(ran.stderr) is None


SPECS = (
    NAME,
    f"{NAME}broken",
    f"{NAME}wrong",
    f"{NAME}warned",
    "two\n::error::lines",
    "##[error]hash",
    "::error::nowhere",
)
COMMANDS = {
    "check": ("check", "@"),
    "check-trace": ("check", "@", "--trace", "::error::out.itf.json"),
    "check-output": ("check", "@", "--output", "/dev/stdout"),
    "check-wrong-output": ("check", "@", "--output", "no/::error::x\n::error::y"),
    "check-no-check": ("check", "@", "--check", "\n::error::x"),
    "check-no-constant": ("check", "@", "--const", "\n::error::x=\n::error::y"),
    "check-no-engine": ("check", "@", "--engine", "\n::error::x"),
    "check-no-option": ("check", "@", "--\n::error::x"),
    "check-no-path": ("check", "@", "--path", "\n::error::x"),
    "list": ("check", "@", "--list"),
    "json": ("check", "@", "--format", "json"),
    "junit": ("check", "@", "--format", "junit"),
    "sarif": ("check", "@", "--format", "sarif"),
    "continue": ("check", "@", "--continue", "--engine", "interpreter"),
    "info": ("info", "@"),
    "fmt-check": ("fmt", "@", "--check"),
    "fmt": ("fmt", "@"),
    "graph": ("graph", "@"),
    "graph-html": ("graph", "@", "--as", "html"),
    "graph-output": ("graph", "@", "--output", "::error::out"),
    "explore": ("explore", "@"),
    "mutate": ("mutate", "@"),
    "mutate-list": ("mutate", "@", "--list"),
    "mutate-json": ("mutate", "@", "--format", "json"),
    "sweep": ("sweep", "@", "--const", "N=1..2"),
    "simulate": ("simulate", "@", "--runs", "9"),
    "simulate-json": ("simulate", "@", "--runs", "9", "--format", "json"),
    "export": ("export", "@", "--to", "tla", "--output", "::error::folder"),
    "no-command": ("::error::x\n::error::y", "@"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_line_is_a_command(folder: Path, words: tuple[str, ...]) -> None:
    for spec in SPECS:
        arguments = [f"{spec}.fence" if word == "@" else word for word in words]
        stdin = io.StringIO(
            "1\n::error::x\nis ::error::x\ngoto x > 1\npath\nstate\nsave no/\nquit\n"
        )
        with mock.patch.object(sys, "stdin", stdin):
            ran = run(*arguments, folder=folder)
        assert ran.code != 255, ran.stderr
        assert silent(ran), f"{spec}: {ran.stdout}{ran.stderr}"


def test_a_file_name_does_not_inject_machine_code(tmp_path: Path) -> None:
    name = 'x"\n@injected = global i64 7\n; "'
    (tmp_path / f"{name}.fence").write_text("var x: bool = true\naction a: skip\n", "utf-8")
    model = program.build(program.load(tmp_path / f"{name}.fence"), None)
    code, _ = translated(model, Layout(model), frozenset())
    assert "injected" not in code.text
    ran = run("check", f"{name}.fence", folder=tmp_path)
    assert ran.code == 0, ran.stderr


@pytest.mark.parametrize("form", ["text", "html", "mermaid", "dot", "itf", "json"])
def test_no_line_of_a_trace_is_a_command(folder: Path, form: str) -> None:
    ran = run("trace", "show", "::error::t.itf.json", "--as", form, folder=folder)
    assert (ran.code, silent(ran)) == (0, True), ran.stdout + ran.stderr
    assert silent(run("trace", "replay", "::error::t.itf.json", f"{NAME}.fence", folder=folder))


def test_a_folder_of_specs(folder: Path) -> None:
    for words in (["check", "."], ["check", ".", "--list"], ["fmt", ".", "--check"]):
        assert silent(run(*words, folder=folder))


def test_the_report_for_github_has_its_own_commands_only(folder: Path) -> None:
    specs = [f"{spec}.fence" for spec in SPECS[:-1]]
    ran = run("check", *specs, "--format", "github", folder=folder)
    lines = ran.stdout.splitlines()
    assert lines
    assert all(re.match(r"::(error|warning|notice) (file|title)=[^:]*::", line) for line in lines)
    assert COMMAND.search(ran.stderr) is None


def test_json_is_not_escaped(folder: Path) -> None:
    ran = run("trace", "show", "::error::t.itf.json", "--as", "itf", folder=folder)
    assert json.loads(ran.stdout)["states"][1]["x"] == "##vso[a]b"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("::error::x", "\\::error::x"),
        ("a\n  ::error::x", "a\n  \\::error::x"),
        ("a\r::error::x", "a\r\\::error::x"),
        ("a\u2028\t::x", "a\u2028\t\\::x"),
        ("a ::error::x", "a ::error::x"),
        (":x", ":x"),
        ("a ##[error]x", "a # #[error]x"),
        ("##vso[task]x", "# #vso[task]x"),
        ("###[error]x", "## #[error]x"),
        ("## Title [1]", "## Title [1]"),
        ("a # b", "a # b"),
    ],
)
def test_harmless(text: str, escaped: str) -> None:
    assert harmless(text) == escaped
    assert harmless(escaped) == escaped
    assert (COMMAND.search(text) is None) == (text == escaped) or "\r" in text or "\u2028" in text


@pytest.mark.parametrize("paint", [plain, ansi])
def test_adjacent_pieces_do_not_form_a_command(paint: Callable[[str, str], str]) -> None:
    page = Page(60, paint)
    page.line("  ", (":", "bad"), (":error::x", ""))
    page.line(("a #", "dim"), ("#[error]x", "bad"))
    page.words("  ", f"{'word ' * 11} ::error::x", 2)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", page.text())
    assert COMMAND.search(shown) is None
    assert shown.count("\\::error::x") == 2


def test_problems_and_progress_are_not_commands() -> None:
    text = str(Rejected([Problem("F001", None, "a\n::error::x")]))
    assert COMMAND.search(text) is None
    stream = io.StringIO()
    now = iter([0.0, 10.0])
    reporter = Reporter(stream, live=False, clock=lambda: next(now))
    reporter.start("::error::x\n::error::y")
    reporter(Progress(1, 1, 1, 1, 1.0, 1))
    assert stream.getvalue().count("\n") == 1
    assert COMMAND.search(stream.getvalue()) is None
