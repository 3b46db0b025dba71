"""Processes started by tests. Each has a timeout, so that no test hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from tests.support.paths import ROOT

PATIENCE = 120.0
"""A process is killed after this many seconds, which is many times the usual duration."""
COMMAND = (sys.executable, "-m", "fencepost.checker.cli.main")


def environment(**variables: str) -> dict[str, str]:
    """Returns the environment of this process with these variables added.

    ``PYTHONPATH`` is set so that processes import the package of this checkout.
    """
    return {**os.environ, "PYTHONPATH": f"{ROOT / '.dev'}{os.pathsep}{ROOT}", **variables}


def finished(
    *words: str,
    folder: Path | None = None,
    text: str | None = None,
    patience: float = PATIENCE,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Runs a command until it ends; ``text`` is its input, empty by default."""
    return subprocess.run(
        words,
        cwd=folder,
        env=environment(**variables),
        input=text or "",
        capture_output=True,
        text=True,
        check=False,
        timeout=patience,
    )


@contextmanager
def started(
    *words: str,
    folder: Path | None = None,
    errors: int = subprocess.PIPE,
    patience: float = PATIENCE,
    **variables: str,
) -> Generator[subprocess.Popen[str]]:
    """Starts a process that is ended with the block, and after ``patience`` seconds at the latest.

    Its standard output is a pipe, and so is its standard error by default.
    """
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    end = Timer(patience, process.kill)
    end.daemon = True
    end.start()
    with process:
        try:
            yield process
        finally:
            process.kill()
            end.cancel()
