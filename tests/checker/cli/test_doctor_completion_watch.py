"""`fencepost doctor`, `fencepost completion`, `check --watch`, and the size of help texts."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from tests.support.command import run
from tests.support.processes import COMMAND, finished, started

from fencepost.checker import engines
from fencepost.checker.cli.check import check
from fencepost.checker.cli.main import cli
from fencepost.checker.cli.watch import watch
from fencepost.checker.request import Engine, Limits
from fencepost.checker.run.settings import Request, Settings
from fencepost.checker.tools import doctor
from fencepost.spec.text.problem import Problem, Rejected

SCREEN = 40
WORKS = "var x: 0..3 = 0\naction up: require x < 3; x += 1\nterminal: x == 3\n"


def commands(group: click.Group, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Returns the full command line of each command, including those of nested groups."""
    lines: list[tuple[str, ...]] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        lines.append((*words, name))
        if isinstance(command, click.Group):
            lines += commands(command, (*words, name))
    return lines


@pytest.mark.parametrize("words", commands(cli), ids=" ".join)
def test_help_fits_on_a_screen(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*words, "--help", folder=tmp_path)
    assert done.code == 0
    assert len(done.stdout.splitlines()) <= SCREEN
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    group = any(other[:-1] == words for other in commands(cli))
    assert group or "Example:" in done.stdout


def test_help_of_check_names_every_option(tmp_path: Path) -> None:
    """This includes the options that the help documents outside its list of options."""
    done = run("check", "--help", folder=tmp_path)
    names = {name for option in check.params for name in option.opts if "--" in name}
    assert {name for name in names if name not in done.stdout.replace(",", " ").split()} == set()


# ---------------------------------------------------------------- doctor


def test_doctor_checks_every_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = engines.load

    def without_spark(name: str) -> Engine:
        if name == "spark":
            raise Rejected([Problem("F030", None, "there is no java here")])
        return load(name)

    monkeypatch.setattr(engines, "load", without_spark)
    done = run("doctor", folder=tmp_path)
    assert done.code == 0
    rows = {line[:19].strip(): line[20:28].strip() for line in done.stdout.splitlines()}
    assert rows["engine spark"] == "missing"
    for name in ("local", "interpreter", "bmc", "induction"):
        assert rows[f"engine {name}"] == "works"
    assert rows["processors"] == rows["memory"] == "works"
    assert "there is no java here" in done.stdout


def test_doctor_fails_without_a_required_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> Engine:
        raise Rejected([Problem("F030", None, f"the library of {name} does not load")])

    monkeypatch.setattr(engines, "load", broken)
    done = run("doctor", folder=tmp_path)
    assert done.code == 151
    assert "engine local        fails    the library of local does not load" in done.stdout


def test_doctor_notices_a_wrong_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SPEC", doctor.SPEC.replace("x < 3\ninv", "x < 4\ninv"))
    states = {
        finding.topic: finding
        for finding in doctor.findings()
        if finding.topic == "engine interpreter"
    }
    assert states["engine interpreter"].state == "fails"
    assert states["engine interpreter"].needed


# ---------------------------------------------------------------- completion


def complete(words: str) -> list[str]:
    """Returns the completions that bash receives with the cursor at the end of ``words``."""
    done = finished(
        *COMMAND,
        _FENCEPOST_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split(" ")) - 1),
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, tmp_path: Path) -> None:
    done = run("completion", shell, folder=tmp_path)
    assert done.code == 0
    assert f"_FENCEPOST_COMPLETE={shell}_complete" in done.stdout
    assert run("completion", "tcsh", folder=tmp_path).code == 151


def test_commands_options_and_files_are_completed() -> None:
    assert "plain,mutate" in complete("fencepost mu")
    assert complete("fencepost check --form") == ["plain,--format"]
    assert complete("fencepost check mod") == ["file,mod"]


RACE = "fencepost check kafka/verification_race"


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("fencepost check kafka/ver", "kafka/verification_race"),
        ("fencepost info classics/raft --check fig", "figure_8"),
        ("fencepost simulate classics/raft --const OwnT", "OwnTermOnly="),
        (f"{RACE} --invariant S1", "S1 S1T S12 S11"),
        (f"{RACE} --engine int", "interpreter"),
        (f"{RACE} --format sa", "sarif"),
        ("fencepost check nowhere.fence --check a", ""),
    ],
)
def test_names_of_the_spec_on_the_line_are_completed(words: str, completions: str) -> None:
    plain = [line.removeprefix("plain,") for line in complete(words) if line.startswith("plain,")]
    assert plain == completions.split()


# ---------------------------------------------------------------- watch


class User:
    """A simulated user who performs one action per polling interval, then interrupts the watch."""

    def __init__(self, *deeds: Callable[[], object]) -> None:
        self.deeds = list(deeds)

    def __call__(self) -> None:
        if not self.deeds:
            raise KeyboardInterrupt
        self.deeds.pop(0)()


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models"
    folder.mkdir()
    check = "check c:\n    expect ok\n"
    (folder / "one.fence").write_text(f"import part\n{WORKS}{check}", encoding="utf-8")
    (folder / "two.fence").write_text(WORKS + check, encoding="utf-8")
    (folder / "part.fence").write_text("def small(n: 0..3): bool = n < 3\n", encoding="utf-8")
    return folder


def runs(
    specs: Path, user: User, *, whole: bool = False, timeout: float | None = None
) -> list[list[str]]:
    """Watches the specs until the user interrupts, and returns the names of the specs of each
    run.
    """
    checked: list[list[str]] = []

    def run(request: Request) -> int:
        checked.append([path.name for path in request.specs])
        return 0

    request = Request((Path("models"),), settings=Settings(limits=Limits(timeout=timeout)))
    assert watch(request, run, whole=whole, wait=user) == 0
    return checked


def appended(path: Path) -> Callable[[], object]:
    def write() -> None:
        path.write_text(path.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")

    return write


def test_changed_specs_run_again(specs: Path) -> None:
    new = specs / "three.fence"
    user = User(
        appended(specs / "two.fence"),
        lambda: None,
        appended(specs / "part.fence"),
        lambda: new.write_text(WORKS + "check c:\n    expect ok\n", encoding="utf-8"),
        lambda: new.write_text("var x\n", encoding="utf-8"),
        new.unlink,
    )
    assert runs(specs, user) == [
        ["models"],
        ["two.fence"],
        ["one.fence"],
        ["three.fence"],
        ["three.fence"],
        ["models"],
    ]


def test_a_spec_that_takes_too_long_to_read_is_still_watched(specs: Path) -> None:
    """If a spec was not read in time, its imports are unknown, so only its own changes rerun it."""
    user = User(appended(specs / "one.fence"), appended(specs / "two.fence"))
    assert runs(specs, user, timeout=1e-9) == [["models"], ["one.fence"], ["two.fence"]]
    assert runs(specs, User(appended(specs / "part.fence")), timeout=1e-9) == [
        ["models"],
        ["part.fence"],
    ]


def test_with_reports_in_files_all_runs_again(specs: Path) -> None:
    assert runs(specs, User(appended(specs / "two.fence")), whole=True) == [["models"], ["models"]]


def test_watching_as_a_process(specs: Path) -> None:
    line = 'exec "$0" -m fencepost.checker.cli.main check models/two.fence --watch "$@" 2>&1'
    words = ("/bin/sh", "-c", line, sys.executable, "--engine", "interpreter")
    with started(*words, PYTHONUNBUFFERED="1") as process:
        assert process.stdout is not None
        printed: list[str] = []

        def until(words: str) -> None:
            for line in process.stdout or ():
                printed.append(line)
                if words in line:
                    return
            raise AssertionError("".join(printed))

        until("watching 1 file; Ctrl-C ends")
        assert any("c  ok, as expected" in line for line in printed)
        time.sleep(0.05)
        changed = WORKS.replace("x == 3", "x == 2") + "check c:\n    expect ok\n"
        (specs / "two.fence").write_text(changed, encoding="utf-8")
        until("deadlock, NOT as expected")
        until("watching 1 file; Ctrl-C ends")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 11
