"""Specs whose output is pinned; the first line of each spec is the command.

``golden/x.fence`` begins with ``# fencepost check x.fence ...``, which runs in the folder of the
spec; ``x.expect`` next to it contains the exit code and the output. A spec whose first line cannot
be a comment (an empty file, invalid bytes) runs with ``fencepost check``. Files without an
``.expect`` and without such a line are modules that others import. ``pytest --update-golden``
rewrites the expected output.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.support.command import run

FOLDER = Path(__file__).parent / "golden"
MARK = "# fencepost "
VOLATILE = (
    (re.compile(r"\b\d+\.\d\d s\b"), "T s"),
    (re.compile(r'"seconds": [\d.e-]+'), '"seconds": 0'),
    (re.compile(r'"states_per_second": (\d+|null)'), '"states_per_second": 0'),
    (re.compile(r'"peak_bytes": \d+'), '"peak_bytes": 0'),
    (re.compile(r'"version": "[^"]*"'), '"version": "V"'),
    (re.compile(r"fencepost \d+\.\d+\.\d+\S*, Python \d+\.\d+\.\d+"), "fencepost V, Python V"),
    (re.compile(r"\b\d+ workers?\b"), "W workers"),
    (re.compile(r'"workers": \d+'), '"workers": 0'),
    (re.compile(r"\bllvmlite \d+\.\d+\.\d+"), "llvmlite V"),
    (re.compile(r"\b\d+ kB\b"), "N kB"),
)


def command(spec: Path) -> list[str] | None:
    """Returns the arguments after ``fencepost``, or None if the file is not a test."""
    first = spec.read_bytes().split(b"\n", 1)[0].decode("utf-8", "replace")
    if first.startswith(MARK):
        return shlex.split(first.removeprefix(MARK))
    return ["check", spec.name] if spec.with_suffix(".expect").exists() else None


SPECS = [spec for spec in sorted(FOLDER.rglob("*.fence")) if command(spec) is not None]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec.relative_to(FOLDER)))
def test_golden(spec: Path, request: pytest.FixtureRequest) -> None:
    words = command(spec)
    assert words is not None
    ran = run(*words, folder=spec.parent)
    text = f"exit {ran.code}\n{ran.stdout}"
    if ran.stderr:
        text += f"--- stderr\n{ran.stderr}"
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    expect = spec.with_suffix(".expect")
    if request.config.getoption("--update-golden"):
        expect.write_text(text, encoding="utf-8")
    assert text == expect.read_text(encoding="utf-8")
