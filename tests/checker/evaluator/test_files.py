"""Modules read files only in the folders of --allow-read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.command import Ran, run

from fencepost.checker.evaluator.surroundings import runtime
from fencepost.spec.text.inputs import Kind
from fencepost.spec.tla.standard.files import IO_UTILS, JSON, MAX_JSON_DEPTH
from fencepost.spec.tla.values.kinds import EvaluationError, Value
from fencepost.spec.tla.values.universe import Universe

MODULE = r"""
---- MODULE Reads ----
EXTENDS Json, IOUtils
VARIABLE x
Init == x = (%s)
Next == x' = x
====
"""


def values(folder: Path, name: str, data: bytes, *, operator: str = "JsonDeserialize") -> str:
    """Returns the text of the value that an operator reads from a file, or of its error."""
    (folder / name).write_bytes(data)
    universe = Universe(runtime([folder]))
    try:
        value: Value = JSON[operator][1](universe, str(folder / name))
        return universe.show(value)
    except EvaluationError as error:
        return str(error).replace(f"{folder}/", "")


DEEP = MAX_JSON_DEPTH
NESTED = "<<" * DEEP + ">>" * DEEP


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"b": [1, true, "x"], "a": {}}', '[b |-> <<1, TRUE, "x">>, a |-> <<>>]'),
        (b"\xef\xbb\xbf[1.5, 2.0, 1e3, -3, null]", "<<1.5, 2, 1000, -3, null>>"),
        (b"1e999", "1e999"),
        (b'[1,\n "a\n', "as JSON, line 2, column 4: invalid control character at."),
        (b"[NaN]", "as JSON, line 1: NaN is not a number of JSON."),
        (b"", "as JSON, line 1, column 1: expecting value."),
        (b"[" * DEEP + b"]" * DEEP, NESTED),
        (b"[" * 100_000, "as JSON, line 1: it is nested more than 100 deep."),
        (b'["' + b"[" * 200 + b'"]', f'<<"{"[" * 200}">>'),
        (b"\xff", "cannot read data: 'utf-8' codec can't decode byte 0xff in position 0"),
    ],
)
def test_json(tmp_path: Path, data: bytes, expected: str) -> None:
    actual = values(tmp_path, "data", data)
    assert actual == expected or ("cannot read data" in actual and expected in actual)


def test_lines_end_as_in_java(tmp_path: Path) -> None:
    """Other characters that end lines in Python are part of a string."""
    data = '{"a": "\u2028"}\r\n\n  \n2\r3'.encode()
    assert values(tmp_path, "data", data, operator="ndJsonDeserialize") == (
        '<<[a |-> "\u2028"], 2, 3>>'
    )
    assert values(tmp_path, "data", b"1\n\n{\n", operator="ndJsonDeserialize") == (
        "ndJsonDeserialize cannot read data as JSON, line 3, column 2: "
        "expecting property name enclosed in double quotes."
    )


@pytest.mark.parametrize("kind", ["outside", "link", "pipe", "folder", "large", "missing", "nul"])
def test_only_regular_files_in_the_folder_are_read(tmp_path: Path, kind: str) -> None:
    inside, path = tmp_path / "in", tmp_path / "in" / "data.json"
    inside.mkdir()
    (tmp_path / "secret.json").write_text("[1]", encoding="utf-8")
    name = {"outside": "in/../secret.json", "nul": "in/\0"}.get(kind, "in/data.json")
    match kind:
        case "link":
            path.symlink_to(tmp_path / "secret.json")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            with path.open("wb") as file:
                file.truncate(Kind.DATA.max_bytes + 1)
        case _:
            pass
    universe = Universe(runtime([inside]))
    expected = {
        "outside": "may read", "link": "may read", "pipe": "not a regular file",
        "folder": "Is a directory", "large": "has more than", "missing": "No such file",
        "nul": "null byte",
    }  # fmt: skip
    with pytest.raises(EvaluationError, match=expected[kind]):
        JSON["JsonDeserialize"][1](universe, f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    "call",
    [
        'JsonSerialize("f", 1)', 'ndJsonSerialize("f", <<1>>)', 'IOExec(<<"ls">>)',
        'IOEnvExec([A |-> "b"], <<"ls">>)', 'IOSerialize(1, "f", TRUE)',
    ],
)  # fmt: skip
def test_writing_and_processes_are_refused(tmp_path: Path, call: str) -> None:
    ran = _check(tmp_path, call, "--allow-read", ".")
    assert ran.code == 75
    assert f"error[F912]: {call.partition('(')[0]} is refused: a module may not" in ran.stdout


def test_the_option_is_named(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("[1]", encoding="utf-8")
    assert "d.json only if --allow-read" in _check(tmp_path, 'JsonDeserialize("d.json")').stdout
    ran = _check(tmp_path, 'JsonDeserialize("d.json")', "--allow-read", "absent")
    assert (ran.code, ran.stderr) == (
        151,
        "error[F021]: --allow-read: there is no folder absent\n",
    )
    ran = _check(tmp_path, 'JsonDeserialize("d.json")', "--allow-read", ".")
    assert (ran.code, "The module read d.json." in ran.stdout) == (0, True)


def test_messages_have_no_values_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "confidential")
    assert _check(tmp_path, 'IOEnv.TOKEN = "confidential"', "--allow-read", ".").code == 0
    for wrong in ("IOEnv.ABSENT", "IOEnv + 1", "Len(IOEnv)", "IOEnv[1]", "{IOEnv} + 1"):
        ran = _check(tmp_path, wrong, "--allow-read", ".")
        assert ran.code == 75
        assert "confidential" not in ran.stdout


def test_without_the_option_the_environment_is_not_read() -> None:
    with pytest.raises(EvaluationError, match="only with --allow-read"):
        IO_UTILS["IOEnv"][1](Universe(runtime([])))


def _check(folder: Path, value: str, *options: str) -> Ran:
    text = MODULE.replace("Json,", "Integers, Sequences, Json,") % value
    (folder / "Reads.tla").write_text(text.strip(), encoding="utf-8")
    (folder / "Reads.cfg").write_text("INIT Init NEXT Next", encoding="utf-8")
    return run("check", "Reads.tla", *options, folder=folder)
