"""The output of the command about modules with mistakes, problems and expectations.

``pytest --update-golden`` rewrites the expected output.
"""

from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from tests.support.command import run
from tests.test_golden import VOLATILE

COMMANDS = ("explore", "simulate")
TABLE = Path(__file__).with_name("reports.txt")
INPUT, OUTPUT = "<<<< ", ">>>> "
_TEXT = TABLE.read_text(encoding="utf-8")
_BLOCKS = {
    block.partition(":")[0]: block for block in re.split(r"^==== ", _TEXT, flags=re.MULTILINE)[1:]
}


@pytest.mark.parametrize("name", _BLOCKS)
def test_reports(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = _BLOCKS[name]
    written, _, expected = block.partition(OUTPUT)
    head, config, body = written.split("\n", 2)
    body, _, typed = body.partition(INPUT)
    monkeypatch.setattr(sys, "stdin", StringIO(typed.replace("; ", "\n")))
    module = f"---- MODULE {name} ----\n{body.strip()}\n====\n"
    (tmp_path / f"{name}.tla").write_text(module, encoding="utf-8")
    if config != "none":
        (tmp_path / f"{name}.cfg").write_text(config.replace("; ", "\n"), encoding="utf-8")
    words = head.partition(":")[2].split()
    command = words.pop(0) if words[:1] and words[0] in COMMANDS else "check"
    ran = run(command, f"{name}.tla", *words, folder=tmp_path)
    text = f"exit {ran.code}\n{ran.stdout}{ran.stderr}"
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    text = re.sub(r" +$", "", text, flags=re.MULTILINE).rstrip("\n") + "\n\n"
    if request.config.getoption("--update-golden"):
        old = TABLE.read_text(encoding="utf-8")
        new = f"{written.rstrip()}\n{OUTPUT}{text}"
        TABLE.write_text(old.replace(f"==== {block}", f"==== {new}"), encoding="utf-8")
        return
    assert text.rstrip() == expected.rstrip()
