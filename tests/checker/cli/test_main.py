"""The command line: valid and invalid arguments, files, output and exit codes."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO
from unittest import mock

import pytest
from tests.support.command import Ran, run
from tests.support.examples import EXPLICIT
from tests.support.processes import COMMAND, finished, started
from tests.support.text_tables import tables

import fencepost
from fencepost.checker.cli import check as cli
from fencepost.checker.cli import terminal
from fencepost.checker.engines import COUNTING, ENGINES
from fencepost.checker.native import search
from fencepost.checker.printing import units
from fencepost.checker.report import json as report

COUNTER = """\
const N: int = 3
var x: 0..9 = 0
action up:
    require x < N
    x += 1
invariant Small: x < 3
reachable Two: x == 2
terminal: x == N
check small:
    expect violated Small
    expect depth == 4
check fine:
    const N = 2
    expect ok
    expect states == 3
"""
BIG = """\
var x: 0..99999999 = 0
var y: 0..99999999 = 0
action a: x = x + 1
action b: y = y + 1
check all:
    expect ok
"""
TABLES = tables(Path(__file__))
Fencepost = Callable[..., Ran]
PATIENCE = 30.0
"""An interrupted search ends within a second; the margin is for a busy machine."""


@pytest.fixture
def fencepost_in(tmp_path: Path) -> Fencepost:
    (tmp_path / "counter.fence").write_text(COUNTER, encoding="utf-8")

    def call(*words: str, **environment: str) -> Ran:
        return run(*words, folder=tmp_path, environment=environment)

    return call


@pytest.mark.parametrize(("words", "message"), TABLES["wrong_words"])
def test_wrong_words(fencepost_in: Fencepost, tmp_path: Path, words: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = fencepost_in(*words.split())
    assert message in ran.stderr
    assert (ran.code, ran.stdout) == (151, "")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--const M=3", "N"),
        ("--const N=true", "N"),
        ("--const N=((", ""),
        ("--invariant Smal", 'did you mean "Small"?'),
    ],
)
def test_words_that_do_not_fit_the_spec(fencepost_in: Fencepost, words: str, message: str) -> None:
    ran = fencepost_in("check", "counter.fence", *words.split())
    assert ran.code in (150, 151)
    assert message in ran.stderr
    assert ran.stdout == ""


def test_help_fits_a_screen(fencepost_in: Fencepost) -> None:
    for words in ("", "check", "info", "fmt", "trace", "trace show"):
        ran = fencepost_in(*words.split(), "--help")
        assert ran.code == 0
        assert len(ran.stdout.splitlines()) <= 50
        assert max(map(len, ran.stdout.splitlines())) <= 100
    assert fencepost_in().stdout == fencepost_in("--help").stdout


def test_a_terminal_shows_colours_unless_they_are_refused(
    fencepost_in: Fencepost, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("check", "counter.fence", "--check", "small")
    piped = fencepost_in(*words).stdout

    def is_standard_output(stream: TextIO | None) -> bool:
        return stream is sys.stdout

    monkeypatch.setattr(terminal, "is_terminal", is_standard_output)
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = fencepost_in(*words, TERM="xterm").stdout
    assert re.search(r"\x1b\[[0-9;]+mviolated Small", shown)
    assert steady(re.sub(r"\x1b\[[0-9;]*m", "", shown)) == steady(piped)
    assert "\x1b" not in fencepost_in(*words, TERM="dumb").stdout
    assert "\x1b" not in fencepost_in(*words, TERM="xterm", NO_COLOR="1").stdout


def steady(text: str) -> str:
    """Returns the report with its durations replaced by a placeholder."""
    return re.sub(r" +[\d.]+ s\b", " N s", text)


def test_version(fencepost_in: Fencepost) -> None:
    assert fencepost_in("--version").stdout == f"fencepost {fencepost.__version__}\n"


def test_every_check_runs(fencepost_in: Fencepost) -> None:
    ran = fencepost_in("check", "counter.fence")
    assert (ran.code, ran.stderr) == (0, "")
    assert "small  violated Small, as expected" in ran.stdout
    assert "2 checks, all as expected\n" in ran.stdout
    assert "again: fencepost check counter.fence\n" in ran.stdout


def test_a_constant_changes_the_verdict_and_the_code(fencepost_in: Fencepost) -> None:
    ran = fencepost_in("check", "counter.fence", "--check", "fine", "--const", "N=4")
    assert ran.code == 12
    assert "expected ok, but invariant Small is violated" in ran.stdout
    ran = fencepost_in("check", "counter.fence", "--check", "small", "--const", "N=4")
    assert ran.code == 0
    assert "counts were not compared: constants were given on the command line" in ran.stdout


def test_a_limit_is_inconclusive_whatever_was_expected(fencepost_in: Fencepost) -> None:
    for name in ("small", "fine"):
        ran = fencepost_in("check", "counter.fence", "--check", name, "--depth", "1")
        assert ran.code == 3
        assert "inconclusive" in ran.stdout
        assert "--depth 1" in ran.stdout


def test_a_folder_means_its_specs_with_checks(fencepost_in: Fencepost, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.fence").write_text(COUNTER, encoding="utf-8")
    (tmp_path / "sub" / "module.fence").write_text("const N: int = 3\n", encoding="utf-8")
    ran = fencepost_in("check", ".", "--list")
    assert "counter.fence" in ran.stdout
    assert "more.fence" in ran.stdout
    assert "module.fence" not in ran.stdout
    ran = fencepost_in("check", ".", "--format", "json")
    assert [len(spec["checks"]) for spec in json.loads(ran.stdout)] == [2, 2, 0]


def test_a_broken_spec_does_not_hide_the_others(fencepost_in: Fencepost, tmp_path: Path) -> None:
    (tmp_path / "broken.fence").write_text("var x: 0..3 = y\n", encoding="utf-8")
    ran = fencepost_in("check", "broken.fence", "counter.fence")
    assert ran.code == 150
    assert "error[F2" in ran.stderr
    assert "2 checks as expected, 1 spec could not be checked" in ran.stdout


def test_output_is_written_whole_or_not_at_all(fencepost_in: Fencepost, tmp_path: Path) -> None:
    written = tmp_path / "report.json"
    written.write_text("old", encoding="utf-8")
    words = ["check", "counter.fence", "--format", "json", "--output", "report.json"]
    with mock.patch.object(report, "dumps", side_effect=KeyError("bug")):
        assert fencepost_in(*words, FENCEPOST_TRACEBACK="1").code == 255
    assert written.read_text(encoding="utf-8") == "old"
    ran = fencepost_in(*words)
    assert (ran.code, ran.stdout) == (0, "")
    assert json.loads(written.read_text(encoding="utf-8"))["spec"] == "counter.fence"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["counter.fence", "report.json"]


def test_a_saved_trace_is_shown_like_the_printed_one(fencepost_in: Fencepost) -> None:
    ran = fencepost_in("check", "counter.fence", "-v", "--trace", "t.itf.json")
    assert "trace of small saved in t.itf.json" in ran.stderr
    shown = fencepost_in("trace", "show", "t.itf.json")
    about, problem, steps = shown.stdout.split("\n\n", 2)
    assert about == "counter.fence, small: violated Small, 4 states"
    assert problem.startswith("  invariant Small is violated after 3 steps\n    it breaks here")
    assert steps.startswith("  0  initial state\n     x = 0\n  1  up\n     x  0 -> 1\n")
    assert steps in ran.stdout
    ran = fencepost_in("check", "counter.fence", "--check", "fine", "--trace", "u.itf.json")
    assert "no check found a trace: u.itf.json is not written" in ran.stderr


def test_fmt(fencepost_in: Fencepost, tmp_path: Path) -> None:
    spec = tmp_path / "counter.fence"
    fencepost_in("fmt", "counter.fence")
    neat = spec.read_text(encoding="utf-8")
    assert fencepost_in("fmt", "counter.fence").stdout == "1 spec already in the standard layout\n"
    spec.write_text(neat.replace("x < N", "x   <   N"), encoding="utf-8")
    spec.chmod(0o640)
    ran = fencepost_in("fmt", "--check", "counter.fence")
    assert (ran.code, ran.stdout.startswith("would change counter.fence\n---")) == (1, True)
    assert "\n-    require x   <   N\n+    require x < N\n" in ran.stdout
    ran = fencepost_in("fmt", ".")
    assert (ran.code, ran.stdout) == (0, "formatted counter.fence\n")
    assert spec.read_text(encoding="utf-8") == neat
    assert spec.stat().st_mode & 0o777 == 0o640
    spec.write_text("var x 3\n", encoding="utf-8")
    assert fencepost_in("fmt", "counter.fence").code == 150
    assert spec.read_text(encoding="utf-8") == "var x 3\n"


def test_an_internal_error_is_one_line(fencepost_in: Fencepost) -> None:
    with mock.patch.object(cli, "begun", side_effect=KeyError("secret\x1b")):
        ran = fencepost_in("check", "counter.fence")
        shown = fencepost_in("check", "counter.fence", FENCEPOST_TRACEBACK="1")
    assert (ran.code, shown.code) == (255, 255)
    assert ran.stderr.count("\n") == 1
    assert f"internal error in fencepost {fencepost.__version__} (KeyError" in ran.stderr
    details = Path(ran.stderr.rsplit("saved in ", 1)[1].strip())
    assert "Traceback" in details.read_text(encoding="utf-8")
    details.unlink()
    assert "Traceback" in shown.stderr
    assert "\x1b" not in ran.stderr + shown.stderr


def test_running_out_of_memory_is_inconclusive(fencepost_in: Fencepost) -> None:
    with mock.patch.object(cli, "begun", side_effect=MemoryError):
        ran = fencepost_in("check", "counter.fence")
    assert (ran.code, ran.stderr) == (3, "out of memory; --memory SIZE stops a search in time\n")


def test_workers_and_memory_are_repeated_in_the_foot(fencepost_in: Fencepost) -> None:
    words = ("check", "counter.fence", "--workers", "3", "--memory", "1.5G")
    ran = fencepost_in(*words)
    assert ran.code == 0
    assert ", engine local, 3 workers, llvmlite " in ran.stdout
    assert "again: fencepost check counter.fence --workers 3 --memory 1536M\n" in ran.stdout
    ran = fencepost_in("check", "counter.fence", "--engine", "interpreter", "--workers", "1")
    assert ran.code == 0
    assert ", engine interpreter; again: " in ran.stdout


def test_a_share_of_the_available_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "memory_bytes", lambda: 1 << 30)
    assert units.memory("25%") == 1 << 28
    assert units.memory(" 100% ") == 1 << 30
    assert units.memory("12.5%") == 1 << 27
    monkeypatch.setattr(units, "memory_bytes", lambda: sys.maxsize)
    with pytest.raises(ValueError, match="does not report its memory"):
        units.memory("80%")


def test_a_check_may_name_its_engine(fencepost_in: Fencepost, tmp_path: Path) -> None:
    spec = COUNTER.replace("check fine:\n", "check fine:\n    engine interpreter\n")
    (tmp_path / "two.fence").write_text(spec, encoding="utf-8")
    ran = fencepost_in("check", "two.fence", "--format", "json")
    assert [check["engine"] for check in json.loads(ran.stdout)["checks"]] == [
        "local",
        "interpreter",
    ]
    ran = fencepost_in("check", "two.fence", "--workers", "2")
    assert (ran.code, ran.stdout) == (151, "")
    ran = fencepost_in("check", "two.fence", "--workers", "2", "--engine", "local")
    assert ran.code == 0


UNSUPPORTED = """\
var n: 0..1 = 0
action change: n = 1 - n
def opens(k: 0..1): bool at most 2 = if k == 0 then enabled(change) else opens(k - 1)
invariant Opens: opens(n)
check native:
    expect ok
check interpreted:
    engine interpreter
    expect ok
"""


def test_unsupported_specs_are_reported(fencepost_in: Fencepost, tmp_path: Path) -> None:
    (tmp_path / "rows.fence").write_text(UNSUPPORTED, encoding="utf-8")
    ran = fencepost_in("check", "rows.fence", "--max-states", "1", "--output", "report.txt")
    assert ran.code == 150
    assert 'error[F807]: the engine "local" cannot run this: it does not ' in ran.stderr
    assert "rows.fence:4:11\n" in ran.stderr
    assert 'note: "--engine interpreter" runs it\n' in ran.stderr
    report = (tmp_path / "report.txt").read_text("utf-8")
    assert "native       not run: the engine local cannot (F807)" in report
    assert "1 check as expected" not in report
    # The other check still runs.
    ran = fencepost_in("check", "rows.fence", "--max-states", "1")
    assert ran.code == 150
    assert "interpreted  inconclusive" in ran.stdout
    ran = fencepost_in("info", "rows.fence")
    assert ran.code == 0
    assert 'the engine "local" cannot run this: it does not ' in ran.stdout
    with pytest.raises(fencepost.Rejected, match="F807"):
        fencepost.check(tmp_path / "rows.fence")


def test_info_optimizes_no_large_code(
    fencepost_in: Fencepost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counter.fence").write_text(COUNTER, "utf-8")
    monkeypatch.setattr(search, "MAX_OPTIMIZED_SECONDS", 0.0)
    ran = fencepost_in("info", "counter.fence")
    assert ran.code == 0
    assert re.search(r"better code   not compiled here; it takes about \d+ s,", ran.stdout)


@pytest.mark.parametrize(
    ("preparation", "reason"),
    [
        ("sys.modules['llvmlite'] = None", "llvmlite is not installed"),
        ("sys.platform = 'win32'", "it does not run on Windows"),
        ("sys.byteorder = 'big'", "it needs a little-endian processor"),
    ],
)
def test_an_engine_without_its_requirements_is_reported(
    tmp_path: Path, preparation: str, reason: str
) -> None:
    (tmp_path / "counter.fence").write_text(COUNTER, encoding="utf-8")
    code = (
        "import sys, fencepost.checker.cli.main as cli, fencepost.checker.resources\n"
        f"{preparation}\n"
        "for words in sys.argv[1:]:\n"
        "    print(cli.main(words.split()), end='===')\n"
    )
    check = "check counter.fence"
    words = (check, f"{check} --engine interpreter", "info counter.fence")
    done = finished(sys.executable, "-c", code, *words, folder=tmp_path)
    assert done.returncode == 0
    refused, interpreted, info, _ = done.stdout.split("===")
    assert refused == "151"
    assert done.stderr.startswith('error[F030]: the engine "local" cannot run here (')
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert interpreted.endswith("\n0")
    assert 'the engine "local" cannot run here (' in info
    assert info.endswith("\n0")


def test_a_limit_on_memory(fencepost_in: Fencepost, tmp_path: Path) -> None:
    (tmp_path / "big.fence").write_text(BIG, encoding="utf-8")
    for engine in EXPLICIT:
        options = ("--memory", "80M", "--engine", engine, "--no-progress")
        done = finished(*COMMAND, "check", "big.fence", *options, folder=tmp_path)
        assert (done.returncode, done.stderr) == (3, ""), engine
        assert "expected ok, but the search was cut by --memory 80M after " in done.stdout


def test_output_to_a_device(fencepost_in: Fencepost) -> None:
    assert fencepost_in("check", "counter.fence", "--output", "/dev/null").code == 0
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("engine", EXPLICIT)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_reports_the_coverage_so_far(
    engine: str, number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "big.fence").write_text(BIG, encoding="utf-8")
    words = ("check", "big.fence", "--engine", engine, "--no-progress")
    with started(*COMMAND, *words, folder=tmp_path, PYTHONUNBUFFERED="1") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "big.fence\n"
        time.sleep(1.0)
        process.send_signal(number)
        sent = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
        assert time.monotonic() - sent < PATIENCE
    assert (process.returncode, stderr) == (3, "")
    assert stdout.startswith("all  inconclusive")
    counted = re.search(
        "expected ok, but the search was interrupted after ([0-9,]+) states", stdout
    )
    assert counted is not None
    assert int(counted[1].replace(",", "")) > 1
    assert "levels, then interrupted: later levels are unknown" in stdout
    note = "The search was not saved. With --checkpoint DIR, an interrupted search is saved in DIR"
    assert (note in " ".join(stdout.split())) == ("--checkpoint" in ENGINES[engine].options)


@pytest.mark.parametrize("engine", [engine for engine in COUNTING if engine != "spark"])
def test_nothing_heavy_is_loaded(engine: str, tmp_path: Path) -> None:
    (tmp_path / "counter.fence").write_text(COUNTER, encoding="utf-8")
    code = (
        "import sys, fencepost.checker.cli.main as cli\n"
        "cli.main(sys.argv[1:])\n"
        "print(*sys.modules)\n"
    )
    words = ("check", "counter.fence", "--engine", engine, "--depth", "3")
    done = finished(sys.executable, "-c", code, *words, folder=tmp_path)
    assert done.returncode == 0
    loaded = set(done.stdout.splitlines()[-1].split())
    heavy = {"numpy", "concurrent", "asyncio", "multiprocessing"}
    if engine != "bmc":
        heavy |= {"z3", "pyspark", "py4j"}
    assert not loaded & heavy
    # Of rich, only the text measurement is loaded, not the console or the progress bars.
    measuring = ("rich.cells", "rich._extension", "rich._unicode_data")
    assert not [
        module
        for module in loaded
        if module.startswith("rich.") and not module.startswith(measuring)
    ]
    assert ("llvmlite" in loaded) == (engine == "local")
    # The packages of other commands are not loaded either.
    ours = {
        ".".join(module.split(".")[1:3]) for module in loaded if module.startswith("fencepost.")
    }
    packages = ("lsp", "simulate", "spark", "systems", "tla_export", "tools", "web")
    assert not ours & {"spec.mutation", *(f"checker.{package}" for package in packages)}


def test_the_process_does_not_wait_for_threads(tmp_path: Path) -> None:
    (tmp_path / "counter.fence").write_text(COUNTER, encoding="utf-8")
    code = (
        "import sys, threading, time, fencepost.checker.cli.main as cli\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "cli.entry()\n"
    )
    words = ("check", "counter.fence", "--const", "N=4")
    done = finished(sys.executable, "-c", code, *words, folder=tmp_path, patience=30)
    assert done.returncode == 12
    assert "again: fencepost check counter.fence --const N=4\n" in done.stdout


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "counter.fence").write_text(COUNTER, encoding="utf-8")
    with started(*COMMAND, "check", "counter.fence", folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 0
