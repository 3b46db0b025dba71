"""Shipped models by name, and the template of `fencepost new`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command import run

from fencepost.spec.text.library import shipped_models


def test_models_are_listed_with_their_first_words(tmp_path: Path) -> None:
    listed = run("models", folder=tmp_path)
    assert listed.code == 0
    names = [line.split("  ")[0] for line in listed.stdout.splitlines() if line[0] != " "]
    assert names == list(shipped_models())
    assert "kafka/verification_race" in names
    assert not any("lib" in name for name in names)
    some = run("models", "two_phase", folder=tmp_path)
    assert some.stdout.count("two_phase") == 2
    assert "no model that comes with" in run("models", "cheese", folder=tmp_path).stderr


@pytest.mark.parametrize("words", [("check", "--list"), ("info",), ("export", "--list")])
def test_a_model_is_given_by_name(words: tuple[str, ...], tmp_path: Path) -> None:
    first, *more = words
    if first == "export":
        more = ["--to", "tla", "--check", "four_litres", "--output", "tla"]
    done = run(first, "classics/die_hard", *more, folder=tmp_path)
    assert done.code == 0, done.stderr


@pytest.mark.parametrize("name", ["classics/die_hard", "classics"])
def test_the_command_to_run_again_has_the_short_name(name: str, tmp_path: Path) -> None:
    done = run("check", name, "--check", "four_litres", folder=tmp_path)
    assert f"again: fencepost check {name} --check four_litres\n" in done.stdout
    (tmp_path / "classics").mkdir()
    hidden = run("check", str(shipped_models()["classics/die_hard"]), folder=tmp_path)
    assert "again: fencepost check classics/die_hard\n" in hidden.stdout
    (tmp_path / "classics" / "die_hard").write_text("", encoding="utf-8")
    hidden = run("check", str(shipped_models()["classics/die_hard"]), folder=tmp_path)
    assert "models/classics/die_hard.fence\n" in hidden.stdout


def test_the_command_to_simulate_again_has_the_short_name(tmp_path: Path) -> None:
    words = ("simulate", "classics/die_hard", "--check", "four_litres", "--runs", "3")
    done = run(*words, folder=tmp_path)
    assert "again: fencepost simulate classics/die_hard --check four_litres " in done.stdout


def test_a_file_takes_precedence_over_a_model_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "classics").mkdir()
    (tmp_path / "classics" / "die_hard").write_text("var x: 0..1 = 0\n", encoding="utf-8")
    done = run("info", "classics/die_hard", folder=tmp_path)
    assert "1 variable, 1 bit" in done.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kafka/verification_rac", "did you mean kafka/verification_race, which comes with"),
        (
            "../kafka/txn_init",
            "there is no file ../kafka/txn_init; did you mean kafka/txn_init, which",
        ),
        ("kafka/txn_init.fence", "there is no file kafka/txn_init.fence\n"),
        ("raft", "there is no file raft; did you mean classics/raft, which comes with"),
        ("models/raft", "did you mean classics/raft, which comes with"),
    ],
)
def test_unknown_models(name: str, message: str, tmp_path: Path) -> None:
    done = run("check", name, folder=tmp_path)
    assert done.code == 151
    assert message in done.stderr


def test_formatting_never_changes_shipped_models(tmp_path: Path) -> None:
    done = run("fmt", "classics/die_hard", folder=tmp_path)
    assert done.code == 151
    assert "a model with that name comes with Fencepost" in done.stderr


def test_the_checks_of_a_new_spec_are_as_expected(tmp_path: Path) -> None:
    assert run("new", "lease", folder=tmp_path).code == 0
    checked = run("check", "lease.fence", "--engine", "interpreter", folder=tmp_path)
    assert checked.code == 0, checked.stdout
    assert "2 checks, all as expected" in checked.stdout
    assert run("fmt", "--check", "lease.fence", folder=tmp_path).code == 0
    (tmp_path / "lease.fence").write_text("mine", encoding="utf-8")
    again = run("new", "lease.fence", folder=tmp_path)
    assert again.code == 151
    assert "already exists" in again.stderr
    assert (tmp_path / "lease.fence").read_text(encoding="utf-8") == "mine"
    assert run("new", "specs/lease", folder=tmp_path).code == 0
    assert (tmp_path / "specs" / "lease.fence").is_file()
