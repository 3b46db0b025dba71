"""The pytest plugin and the pre-commit hooks in a repository with specs."""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.command import run
from tests.support.paths import ROOT
from tests.support.processes import finished
from tests.support.sample_traces import ENDLESS

from fencepost.checker.pytest_plugin import SUFFIXES
from fencepost.checker.report.text import MAX_LINES
from fencepost.spec.text import library

PLUGIN = "fencepost.checker.pytest_plugin"
GATE = """\
import counting as c

invariant Small: c.n < 3
terminal: c.n == 3

check bug:
    expect violated Small
check fixed:
    expect ok
check long slow:
    expect ok
"""
COUNTING = """\
const Most: int = 3
var n: 0..9 = 0
action up:
    require n < Most
    n += 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    models = tmp_path / "models"
    models.mkdir()
    (models / "gate.fence").write_text(GATE, encoding="utf-8")
    (models / "counting.fence").write_text(COUNTING, encoding="utf-8")
    return tmp_path


def test_a_session_without_specs_loads_nothing() -> None:
    code = f"import sys, {PLUGIN}\nprint(*sorted(m for m in sys.modules if 'fencepost' in m))"
    done = finished(sys.executable, "-c", code)
    assert done.stdout.split() == ["fencepost", "fencepost.checker", PLUGIN]
    assert SUFFIXES == (library.SUFFIX, library.MODULE_SUFFIX)


def ran_by_pytest(folder: Path, *words: str) -> tuple[int, str]:
    """Runs ``pytest WORDS`` in a folder, with the plugin enabled as if it were installed."""
    installed = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull]
    command += [f"--rootdir={folder}", *([] if installed else ["-p", PLUGIN])]
    command += ["--fence-engine", "interpreter", *words]
    done = finished(*command, folder=folder, COLUMNS="200", NO_COLOR="1")
    return done.returncode, done.stdout + done.stderr


def test_checks_are_tests(folder: Path) -> None:
    code, output = ran_by_pytest(folder, "models", "--junitxml=out.xml")
    assert code == 1
    assert "collected 3 items" in output
    assert "1 failed, 1 passed, 1 skipped" in output
    # The failure shows its location, the property and the trace.
    line = "models/gate.fence:3: fixed: expected ok, but invariant Small is violated after 3 steps"
    assert f"FAILED models/gate.fence::fixed - {line}" in output
    assert "3  c.up\n     c.n  2 -> 3" in output
    assert "Traceback" not in output
    assert "pytest_specs.py" not in output
    (failure,) = ElementTree.parse(folder / "out.xml").iter("failure")
    assert failure.get("message", "").startswith(line)

    # Once the property is fixed, the check that expects the bug fails. The configuration of a
    # module states the expected result; that of another one does not.
    for name, comment in (("Stated", "\\* fencepost: expect deadlock"), ("Silent", "")):
        module = (
            f"---- MODULE {name} ----\nVARIABLE x\nInit == x = 0\nNext == FALSE /\\ x' = x\n===="
        )
        (folder / "models" / f"{name}.tla").write_text(module, encoding="utf-8")
        config = f"INIT Init\nNEXT Next\n{comment}\n"
        (folder / "models" / f"{name}.cfg").write_text(config, encoding="utf-8")
    mended = GATE.replace("c.n < 3", "c.n <= 3")
    (folder / "models" / "gate.fence").write_text(mended, encoding="utf-8")
    code, output = ran_by_pytest(folder, "models/gate.fence::fixed", "models/gate.fence::long")
    assert code == 0
    code, output = ran_by_pytest(folder, "models", "--fence-slow")
    assert "1 failed, 3 passed" in output
    assert "bug: expected violated Small, but no state violates it" in output


def test_a_lasso(tmp_path: Path) -> None:
    text = ENDLESS.replace("violated Served", "ok")
    (tmp_path / "endless.fence").write_text(text, encoding="utf-8")
    code, output = ran_by_pytest(tmp_path, "endless.fence")
    assert code == 1
    sentence = "property Served is violated for i = 2: steps 2 to 4 repeat forever"
    # The sentence is above the report, and in pytest's summary.
    assert output.count(sentence) == 2
    assert "Steps 2 to 4 repeat forever." in output
    assert " more lines: fencepost check endless.fence --check " in output
    report = output.partition(" FAILURES ")[2].partition(" short test summary info ")[0]
    assert len(report.splitlines()) <= MAX_LINES + 3
    # In full, the report explains why the lasso is fair.
    fair = "fair Process[2].enter  not possible in state 3"
    assert fair not in output
    assert fair in ran_by_pytest(tmp_path, "endless.fence", "-v")[1]


def test_an_expected_inconclusive(tmp_path: Path) -> None:
    text = """\
var x: 0..9 = 0
fair action up: x += 1
constraint Small: x < 5
property P: eventually x == 3
check a:
    expect ok
check b:
    expect inconclusive
check c:
    depth 3
    expect inconclusive
"""
    (tmp_path / "incon.fence").write_text(text, encoding="utf-8")
    code, output = ran_by_pytest(tmp_path, "incon.fence")
    assert (code, "2 failed, 1 passed" in output) == (1, True)
    assert "incon.fence::a - incon.fence:5: a: expected ok, but property P depends" in output
    assert "incon.fence::c - incon.fence:9: c: expected inconclusive because of a cons" in output


def test_remarks_are_shown_on_request(folder: Path) -> None:
    text = f"{COUNTING}action never:\n    require n > 5\n    n = 0\n"
    (folder / "models" / "counting.fence").write_text(text, encoding="utf-8")
    mended = GATE.replace("c.n < 3", "c.n <= 3").replace("violated Small", "ok")
    (folder / "models" / "gate.fence").write_text(mended, encoding="utf-8")
    remark = "never taken   c.never"
    assert remark not in ran_by_pytest(folder, "models")[1]
    assert remark in ran_by_pytest(folder, "models", "-rP")[1]


def test_several_processes(folder: Path) -> None:
    code, output = ran_by_pytest(folder, "models", "-n", "2", "--fence-slow")
    assert code == 1
    assert "2 failed, 1 passed" in output
    assert "INTERNALERROR" not in output
    assert "invariant Small is violated after 3 steps" in output


def test_specs_that_cannot_be_read_or_run(folder: Path) -> None:
    (folder / "models" / "broken.fence").write_text("var x: 0..3 = \n", encoding="utf-8")
    text = GATE.replace("import counting as c", "import counting as c with Most = y")
    (folder / "models" / "gate.fence").write_text(text, encoding="utf-8")
    words = ("--continue-on-collection-errors", "--fence-timeout", "5m")
    code, output = ran_by_pytest(folder, "models", *words)
    assert code == 1
    assert "models/broken.fence:1:" in output
    assert "error[F1" in output
    assert "Traceback" not in output
    assert "models/gate.fence:" in output
    assert output.count("error[F") > 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--no-fence"], 5, "no tests ran"),
        (["--fence-timeout", "soon"], 4, '--fence-timeout: "soon" is not a duration like 90s'),
    ],
)
def test_options(folder: Path, words: list[str], code: int, message: str) -> None:
    status, output = ran_by_pytest(folder, "models", *words)
    assert (status, message in output) == (code, True)


def hooks() -> dict[str, dict[str, str]]:
    """Returns the hooks by their ids; the file is a YAML list of scalars."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entries = [dict(re.findall(r"(\w+): (.*)", part)) for part in text.split("- id: ")[1:]]
    names = [part.split("\n", 1)[0] for part in text.split("- id: ")[1:]]
    return dict(zip(names, entries, strict=True))


def test_hooks_fail_on_a_violation_and_pass_after_the_fix(folder: Path) -> None:
    check = shlex.split(hooks()["fencepost-check"]["entry"])
    assert check[0] == "fencepost"
    words = [*check[1:], "models", "--engine", "interpreter"]
    ran = run(*words, folder=folder)
    assert ran.code == 12
    assert "models/gate.fence:3:" in ran.stdout
    assert "invariant Small" in ran.stdout
    (folder / "models" / "counting.fence").write_text(COUNTING.replace("= 3", "= 2"), "utf-8")
    mended = GATE.replace("== 3", "== 2").replace("violated Small", "ok")
    (folder / "models" / "gate.fence").write_text(mended, encoding="utf-8")
    assert run(*words, folder=folder).code == 0
    fmt = shlex.split(hooks()["fencepost-fmt"]["entry"])
    assert run(*fmt[1:], "models/gate.fence", folder=folder).code == 0
    for hook in hooks().values():
        assert re.search(hook["files"], "models/gate.fence")
        assert not re.search(hook["files"], "models/gate.py")
