"""The specs that a folder on the command line selects, and what every command says about the
rest.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
from tests.checker.report.test_missing_results import GOOD, cases, entries, notifications, reports
from tests.support.command import run

from fencepost.checker import folders
from fencepost.checker.folders import Skipped, SpecFinder, summary

FILES = (
    "a.fence",
    "sub/b.fence",
    "sub/.hidden/h.fence",
    "sub/.hidden/deep/i.fence",
    "env/pyvenv.cfg",
    "env/lib/site-packages/p/v.fence",
    "web/node_modules/m/n.fence",
    "web/site-packages/s.fence",
    "build/g1.fence",
    "build/deep/g2.fence",
    "sub/c.tmp.fence",
    "sub/tracked.tmp.fence",
    "inner/x.fence",
    "inner/y.fence",
    ".empty/readme.txt",
)
REASONS = {
    "sub/.hidden": ("hidden", 2),
    "env": ("virtual environment", 1),
    "web/node_modules": ("installed packages", 1),
    "web/site-packages": ("installed packages", 1),
    "build": ("ignored by git", 2),
    "sub/c.tmp.fence": ("ignored by git", 1),
    "inner/y.fence": ("ignored by git", 1),
}
KEPT = ("a.fence", "inner/x.fence", "sub/b.fence", "sub/tracked.tmp.fence")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with another repository inside, and everything that is skipped."""
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD.replace("x += 1", "x +=  1") if "fence" in name else "", "utf-8")
    (tmp_path / ".gitignore").write_text("build/\n*.tmp.fence\n", "utf-8")
    (tmp_path / "inner" / ".gitignore").write_text("y.fence\n", "utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path / "inner", "init", "--quiet")
    git(tmp_path, "add", "--force", "sub/tracked.tmp.fence")
    (tmp_path / "sub" / "link").symlink_to(tmp_path / "build")
    return tmp_path


def specs(folder: Path, *named: str) -> tuple[list[str], dict[str, tuple[str, int]]]:
    """Returns the specs that arguments select, and the skipped ones."""
    paths = [folder / name for name in named]
    finder = SpecFinder(paths)
    selected = [str(spec.relative_to(folder)) for path in paths for spec in finder.specs(path)]
    assert not finder.problems
    rest = {str(s.path.relative_to(folder)): (s.reason, s.specs) for s in finder.skipped}
    return selected, rest


@pytest.mark.parametrize(
    ("named", "selected", "skipped"),
    [
        (["."], KEPT, REASONS),
        (["sub"], KEPT[2:], {n: r for n, r in REASONS.items() if n.startswith("sub")}),
        (["build"], ["build/deep/g2.fence", "build/g1.fence"], {}),
        (["build/deep"], ["build/deep/g2.fence"], {}),
        (["sub/c.tmp.fence"], ["sub/c.tmp.fence"], {}),
        (["sub/.hidden"], ["sub/.hidden/deep/i.fence", "sub/.hidden/h.fence"], {}),
        (["web/node_modules"], ["web/node_modules/m/n.fence"], {}),
        (["env"], [], {"env/lib/site-packages": ("installed packages", 1)}),
        (["env/lib/site-packages"], ["env/lib/site-packages/p/v.fence"], {}),
        (
            ["inner", "build", "env/lib/site-packages/p", "."],
            ["inner/x.fence", "build/deep/g2.fence", "build/g1.fence"],
            {n: r for n, r in REASONS.items() if n not in ("build", "env")},
        ),
        (["build/g1.fence", "."], ["build/g1.fence"], REASONS | {"build": ("ignored by git", 1)}),
    ],
    ids=lambda value: " ".join(cast("list[str]", value)) if isinstance(value, list) else "",
)  # fmt: skip
def test_specs(
    named: list[str], selected: Sequence[str], skipped: dict[str, tuple[str, int]], root: Path
) -> None:
    found_specs, rest = specs(root, *named)
    assert (found_specs[: len(selected)], rest) == ([*selected], skipped)


def test_without_git_the_other_rules_apply(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root / "nothing"))
    _, rest = specs(root, ".")
    assert rest == {n: r for n, r in REASONS.items() if r[0] != "ignored by git"}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo fatal: detected dubious ownership >&2; exit 128", "detected dubious ownership"),
        ("exec sleep 20", "no answer within 0.2 s"),
    ],
)
def test_git_that_fails(
    script: str, reason: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "GIT_SECONDS", 0.2)
    bin_folder = root / ".bin"
    bin_folder.mkdir()
    (bin_folder / "git").write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    (bin_folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    finder = SpecFinder([root])
    assert len(finder.specs(root)) == len(KEPT) + 4
    assert finder.problems
    assert all(problem.warning for problem in finder.problems)
    assert finder.problems[0].notes == ((None, reason),)
    before = (root / "a.fence").read_text("utf-8")
    ran = run("fmt", ".", folder=root)
    assert (ran.code, "error[F050]: git does not say" in ran.stderr) == (151, True)
    assert (root / "a.fence").read_text("utf-8") == before
    ran = run("fmt", "--check", "sub/b.fence", folder=root)
    assert (ran.code, ran.stderr) == (1, "")


def test_a_repository_runs_no_program(root: Path) -> None:
    (root / "hook").write_text(f"#!/bin/sh\ntouch {root}/ran\n", "utf-8")
    (root / "hook").chmod(0o755)
    git(root, "config", "core.fsmonitor", str(root / "hook"))
    assert specs(root, ".")[1] == REASONS
    assert not (root / "ran").exists()


def test_a_hook_of_git_selects_no_other_repository(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert "sub/c.tmp.fence" in specs(root, "sub")[1]


def test_counting_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_ENTRIES", 2)
    finder = SpecFinder([root])
    finder.specs(root)
    assert [s.complete for s in finder.skipped].count(False) > 0
    assert summary(finder.skipped).startswith("skipped at least ")


def test_the_summary() -> None:
    skipped = (Skipped(Path("b"), "hidden", 1200), Skipped(Path("c.fence"), "ignored by git", 1))
    sentence = "skipped 1,201 specs: 1,200 in b (hidden) and c.fence (ignored by git)"
    assert (summary(skipped), summary(())) == (sentence, "")
    assert summary(skipped[1:]) == "skipped 1 spec: c.fence (ignored by git)"


def test_every_report_names_what_was_skipped(root: Path) -> None:
    ran, report = reports(root, ".", "--engine", "interpreter")
    assert ran.code == 0
    sentence = " ".join(ran.stdout[ran.stdout.index("skipped 9 specs: ") :].split())
    for name, (reason, _) in REASONS.items():
        assert f"{name} ({reason})" in sentence
        objects = entries(report["json"])
        assert (objects[name]["skipped"]["reason"], objects[name]["checks"]) == (reason, [])
        case = cases(report["junit"])["skipped specs", name].find("skipped")
        assert case is not None
        assert reason in case.get("message", "")
    assert [files for _, _, files in notifications(report["sarif"])] == [
        [n] for n in sorted(REASONS)
    ]
    assert ElementTree.fromstring(report["junit"]).get("tests") == str(2 * len(KEPT) + len(REASONS))
    assert report["github"].startswith("::notice title=fencepost::skipped 9 specs%3A") or (
        report["github"].startswith("::notice title=fencepost::skipped 9 specs: ")
    )
    for form in ("text", "html"):
        assert "skipped 9 specs: " in report[form]
    assert "skipped" not in run("check", ".", "-q", "--engine=interpreter", folder=root).stdout


def test_a_folder_with_nothing_but_skipped_specs(root: Path) -> None:
    ran = run("check", "env", folder=root)
    assert ran.code == 151
    assert "note: skipped 1 spec: 1 in env/lib/site-packages (installed packages)" in ran.stderr


def test_fmt_leaves_what_is_skipped(root: Path) -> None:
    skipped = [root / name for name in FILES if name.endswith(".fence") and name not in KEPT]
    before = [path.read_text("utf-8") for path in skipped]
    check = run("fmt", "--check", ".", folder=root)
    diff = run("fmt", "--diff", ".", folder=root)
    assert (check.code, diff.code) == (1, 0)
    assert check.stderr.startswith("skipped 9 specs: ")
    assert "would change a.fence\n--- a.fence\n+++ a.fence\n@@ " in check.stdout
    changed = run("fmt", ".", folder=root)
    assert changed.stdout == "".join(f"formatted {name}\n" for name in KEPT)
    assert [path.read_text("utf-8") for path in skipped] == before
    # The printed diff is the change.
    result = (root / "a.fence").read_text("utf-8")
    (root / "a.fence").write_text(before[0], "utf-8")
    subprocess.run(["patch", "-p0"], input=diff.stdout.encode(), cwd=root, check=False)
    assert (root / "a.fence").read_text("utf-8") == result
    assert run("fmt", "--diff", ".", folder=root).stdout == ""
