"""Runs the command inside the test process, as a user runs it in a folder."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from fencepost.checker.cli.main import main


@dataclass(frozen=True)
class Ran:
    """The result of a command: its exit code, standard output and standard error."""

    code: int
    stdout: str
    stderr: str


def run(*words: str, folder: Path, environment: Mapping[str, str] | None = None) -> Ran:
    """Runs ``fencepost WORDS`` in ``folder`` and captures the output."""
    stdout, stderr = io.StringIO(), io.StringIO()
    variables = {"COLUMNS": "100", **(environment or {})}
    with (
        _inside(folder),
        mock.patch.dict(os.environ, variables),
        mock.patch.object(sys, "stdout", stdout),
        mock.patch.object(sys, "stderr", stderr),
    ):
        code = main(words)
    return Ran(code, stdout.getvalue(), stderr.getvalue())


@contextmanager
def _inside(folder: Path) -> Generator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
