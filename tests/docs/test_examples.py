"""Every example of the documentation runs, and the output on a page is the actual output.

The info string of a fenced block says what the block claims:

    fence check         a whole spec; each of its checks has the expected result
    fence error F401    a whole spec, refused with exactly these codes
    fence refused F811  a whole spec, which the engine that runs it refuses with these codes
    fence warning F420  a whole spec, usable, with exactly these warnings
    fence fails F901    a whole spec whose run ends in an error with this code
    fence module        a module that the specs below it can import
    fence prelude       declarations shared by the blocks below (a new prelude replaces them)
    fence declarations  declarations that may follow the prelude
    fence statements    the body of an action after the prelude
    fence true          lines that are true in the prelude's initial state
    console             commands and their exact output; a line "..." matches any lines
    python              a program that runs to its end
    mermaid of=M.C      the diagram of the trace that check C of Kafka's model M finds
    diff                a change to the file named by ``file=``, visible to later blocks

A block with ``file=NAME`` is also a file for the commands of later blocks. Numbers that differ from
run to run (times, memory, versions) are not compared.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from tests.support.paths import ROOT

from fencepost.checker import api
from fencepost.checker.cli import mutate, progress
from fencepost.checker.cli.main import main
from fencepost.checker.report.whole_run import warnings_of
from fencepost.checker.run.check import load
from fencepost.checker.run.session import plan
from fencepost.checker.run.settings import Request
from fencepost.spec.elaborate.claims.program import build, select
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.library import read
from fencepost.spec.text.problem import Problem, Rejected

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.M | re.S)
VARYING = [
    (re.compile(r"\b\d[\d,.]*( ?)(ms|s|min|states/s|B|kB|KB|MB|KiB|MiB|GB)(?![\w/])"), r"N\1\2"),
    (re.compile(r"\b\d[\d,.]* states/s"), "N states/s"),
    (re.compile(r"\b(Python|llvmlite|z3) \d[\d.]*"), r"\1 N"),
    (re.compile(r"\b\d+ workers?\b"), "N workers"),
    (re.compile(r" +\d[\d,]* ns\b"), "  N ns"),
    (re.compile(r" +(?=\d[\d,]* distinct)"), "  "),
    (re.compile(r" +(?=\d[\d,]* states?, N s)"), "  "),
    (re.compile(r"slowest \S+ N s"), "slowest CHECK N s"),
    (re.compile(r'"(seconds|states_per_second|peak_bytes|workers)": [^,]*'), r'"\1": N'),
]


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, with the prelude and the files that earlier blocks define."""

    page: Path
    line: int
    words: tuple[str, ...]
    text: str
    prelude: str
    files: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yields the blocks on a page that make a claim, in order."""
    text = page.read_text(encoding="utf-8")
    prelude = ""
    files: dict[str, str] = {}
    for match in FENCE.finditer(text):
        words = tuple(match["info"].split())
        named = [word.removeprefix("file=") for word in words if word.startswith("file=")]
        line = text.count("\n", 0, match.start()) + 1
        if words[:1] == ("diff",):
            assert named, f"{page.name}:{line}: a diff needs file="
            files[named[0]] = patched(files[named[0]], match["text"], f"{page.name}:{line}")
        elif words[:1] in (("fence",), ("console",), ("python",)) or "of=" in match["info"]:
            if words[1:2] == ("prelude",):
                prelude = match["text"]
            yield Block(page, line, words, match["text"], prelude, dict(files))
        if named and words[:1] != ("diff",):
            files[named[0]] = match["text"]


def patched(text: str, diff: str, where: str) -> str:
    """Returns ``text`` after a change; ``@@`` separates the hunks of the change, and each hunk must
    match exactly once.
    """
    for hunk in re.split(r"^@@\n", diff, flags=re.M):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-", ""))
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+", ""))
        assert ("\n" + text).count("\n" + old) == 1, f"{where}: this does not fit once:\n{old}"
        text = ("\n" + text).replace("\n" + old, "\n" + new)[1:]
    return text


BLOCKS = [block for page in PAGES for block in blocks(page)]
SPECS = [block for block in BLOCKS if block.words[0] == "fence"]
SESSIONS = [block for block in BLOCKS if block.words[0] == "console"]
PROGRAMS = [block for block in BLOCKS if block.words[0] == "python"]
DIAGRAMS = [block for block in BLOCKS if block.words[0] == "mermaid"]


def run(words: list[str], folder: Path) -> tuple[int, str]:
    """Returns the exit code of the command, and its output without a terminal."""
    printed = StringIO()
    with chdir(folder), redirect_stdout(printed), redirect_stderr(printed):
        code = main(words)
    return code, printed.getvalue()


def indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))


def spec_of(block: Block) -> str:
    """Returns the complete spec of a ``fence`` block."""
    match block.words[1:2]:
        case ("check" | "error" | "refused" | "warning" | "note" | "fails" | "prelude" | "module",):
            return block.text
        case ("declarations",):
            return block.prelude + block.text
        case ("statements",):
            return f"{block.prelude}action example:\n{indented(block.text)}"
        case ("true",):
            lines = [line for line in block.text.splitlines() if line.strip()]
            claims = [f"invariant Line{n}: {line}\n" for n, line in enumerate(lines, 1)]
            return block.prelude + "terminal: true\n" + "".join(claims)
        case _:
            raise AssertionError(f"{block}: what does {block.words!r} claim?")


def build_all(path: Path) -> list[Problem]:
    """Returns the warnings of a spec; raises `Rejected` if the spec cannot be used."""
    program = load(path)
    models = [build(program, check) for check in program.checks]
    for model, check in zip(models, program.checks, strict=True):
        select(model, check)
    return [*program.warnings, *(warning for model in models for warning in model.warnings)]


def problems(path: Path) -> list[Problem]:
    """Returns all problems of a spec."""
    try:
        return build_all(path)
    except Rejected as rejected:
        return list(rejected.problems)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates the same terminal everywhere: its width, its capabilities, and a machine that is
    fast enough.
    """
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(progress, "PLAIN_AFTER", float("inf"))
    monkeypatch.setattr(mutate, "PROGRESS_SECONDS", float("inf"))


@pytest.mark.parametrize("block", SPECS, ids=str)
def test_spec(block: Block, tmp_path: Path) -> None:
    set_up(block, tmp_path)
    path = tmp_path / "example.fence"
    path.write_text(spec_of(block), encoding="utf-8")
    codes = [word for word in block.words[2:] if "=" not in word]
    match block.words[1]:
        case "error" | "warning" as kind:
            reported = problems(path)
            assert sorted({problem.code for problem in reported}) == codes, [*map(str, reported)]
            assert all(problem.warning == (kind == "warning") for problem in reported)
        case "refused":
            assert not build_all(path)
            refusals = plan(Request((path,))).problems
            assert sorted({problem.code for problem in refusals}) == codes, [*map(str, refusals)]
        case "note":
            (spec,) = plan(Request((path,))).specs
            assert sorted({note.code for note in warnings_of(spec) if note.minor}) == codes
        case "fails":
            finding = api.check(path).first.finding
            assert finding is not None
            assert finding.site is not None
            assert [finding.site.code] == codes
        case "check" | "true":
            code, printed = run(["check", "example.fence", "--slow"], tmp_path)
            assert code == 0, printed
        case "module":
            assert not parse(read(path))[1]
        case _:
            assert not build_all(path)


def set_up(block: Block, folder: Path) -> None:
    """Prepares the folder as a reader of the page has it at this block."""
    for shipped in ("models", "invariants", "docs"):
        (folder / shipped).symlink_to(ROOT / shipped)
    for name, text in block.files.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_program(block: Block, tmp_path: Path) -> None:
    set_up(block, tmp_path)
    with chdir(tmp_path):
        exec(compile(block.text, str(block), "exec"), {})


@pytest.mark.parametrize("block", SESSIONS, ids=str)
def test_session(
    block: Block,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_up(block, tmp_path)
    shown: list[str] = []
    status = 0
    for line in re.findall(r"^\$ (.*)$", block.text, re.M):
        words = shlex.split(line)
        if words == ["echo", "$?"]:
            shown.append(f"$ {line}\n{status}\n")
            continue
        while re.fullmatch(r"[A-Z]+=.*", words[0]):
            monkeypatch.setenv(*words.pop(0).split("=", 1))
        assert Path(words[0]).name == "fencepost", f"{block}: only fencepost is run, not {line}"
        status, printed = run(words[1:], tmp_path)
        shown.append(f"$ {line}\n{printed}")
    printed = steady("".join(shown))
    expected = re.escape(steady(block.text)).replace("\\.\\.\\.\\\n", "(?:.*\n)*?")
    if re.fullmatch(expected, printed):
        return
    if request.config.getoption("--update-golden") and "\n...\n" not in block.text:
        page = block.page.read_text(encoding="utf-8")
        new = "".join(f"{line.rstrip()}\n" for line in "".join(shown).splitlines())
        block.page.write_text(page.replace(f"\n{block.text}```", f"\n{new}```"), encoding="utf-8")
    pytest.fail(f"{block} prints:\n{''.join(shown)}")


def steady(text: str) -> str:
    """Returns ``text`` without the parts that differ from run to run, and without spaces at line
    ends.
    """
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@pytest.mark.parametrize("block", DIAGRAMS, ids=str)
def test_diagram(block: Block, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The diagram on the page shows the trace found by the interpreter, which needs no compilation
    for these few thousand states.
    """
    model, check = block.words[1].removeprefix("of=").split(".")
    words = ["check", f"kafka/{model}", "--check", check, "--engine", "interpreter", "--slow"]
    run([*words, "--trace", "trace.itf.json"], tmp_path)
    _, drawn = run(["trace", "show", "trace.itf.json", "--as", "mermaid"], tmp_path)
    if request.config.getoption("--update-golden"):
        page = block.page.read_text(encoding="utf-8")
        block.page.write_text(page.replace(block.text, drawn), encoding="utf-8")
    else:
        assert block.text == drawn


AT_THE_TOP = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")


def test_links_lead_somewhere() -> None:
    for page in [
        *PAGES,
        *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING")),
    ]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert link.startswith("https:") or (page.parent / link).exists(), f"{page}: {link}"
