"""Runs checks for the editor, each in a separate process, and keeps their verdicts.

A run reads the file on disk. Its trace is saved in a temporary folder of this server.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fencepost.checker.printing.page import Page
from fencepost.checker.report.html import html
from fencepost.checker.report.labels import MAX_DRAWN
from fencepost.checker.report.replayed import write_document
from fencepost.checker.trace import itf
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, Rejected

WIDTH = 100
"""The number of columns of a trace that is shown as text."""
_START = "from fencepost.checker.cli.start import entry; entry()"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a run as one line, and whether it was expected. ``trace`` is the file of the
    trace, if there is one, and ``texts`` are the texts of the spec's files at the time of the run.
    """

    line: str
    as_expected: bool
    trace: Path | None
    texts: Mapping[Path, str]


@dataclass(slots=True)
class Runs:
    """The runs of checks by file and name: those in progress, and the verdicts of the last ones."""

    search: tuple[Path, ...]
    verdicts: dict[tuple[Path, str], Verdict] = field(
        default_factory=dict[tuple[Path, str], Verdict]
    )
    under_way: dict[tuple[Path, str], asyncio.subprocess.Process] = field(
        default_factory=dict[tuple[Path, str], asyncio.subprocess.Process]
    )
    _folder: TemporaryDirectory[str] | None = None
    _made: int = 0

    def _new(self, name: str) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="fencepost-lsp-")
        self._made += 1
        return Path(self._folder.name, f"{self._made}-{name}")

    async def run(self, path: Path, check: str, texts: Mapping[Path, str]) -> Verdict:
        """Runs a check and keeps its verdict. ``check`` is "" for a spec without checks, and
        ``texts`` are the texts of the spec's files.
        """
        trace = self._new("trace.itf.json")
        words = ["check", str(path), "--format", "json", "--trace", str(trace), "--no-progress"]
        words += [*(["--check", check] if check else []), "--slow"]
        words += [word for folder in self.search for word in ("--path", str(folder))]
        key = (path, check)
        self.stop(path, check)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _START,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.under_way[key] = process
        try:
            out, err = await process.communicate()
        finally:
            if self.under_way.get(key) is process:
                del self.under_way[key]
        verdict = _verdict(out, err, process.returncode, trace, texts)
        self.verdicts[key] = verdict
        return verdict

    def stop(self, path: Path, check: str) -> bool:
        """Stops the run of a check. Returns whether there was such a run."""
        process = self.under_way.pop((path, check), None)
        if process is not None:
            with suppress(ProcessLookupError):
                process.terminate()
        return process is not None

    def page(self, verdict: Verdict) -> Path:
        """Writes the trace of a verdict to a file as an HTML page. Raises `Rejected` if that is
        impossible.
        """
        return self._drawn(verdict, "trace.html")

    def text(self, verdict: Verdict) -> Path:
        """Writes the trace of a verdict to a file as text. Raises `Rejected` if that is
        impossible.
        """
        return self._drawn(verdict, "trace.txt")

    def _drawn(self, verdict: Verdict, name: str) -> Path:
        assert verdict.trace is not None
        document = itf.read(inputs.content(verdict.trace, inputs.Kind.TRACE), str(verdict.trace))
        if name.endswith(".html"):
            if len(document.steps) > MAX_DRAWN:
                message = f"the trace has {len(document.steps):,} states, too many to be drawn"
                raise Rejected([Problem("F040", None, message)])
            content = html(document)
        else:
            page = Page(WIDTH)
            write_document(page, document)
            content = page.text()
        file = self._new(name)
        file.write_text(content, encoding="utf-8")
        return file

    def close(self) -> None:
        """Stops every run and deletes the traces."""
        for path, check in list(self.under_way):
            self.stop(path, check)
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _verdict(
    out: bytes, err: bytes, code: int | None, trace: Path, texts: Mapping[Path, str]
) -> Verdict:
    row: dict[str, Any] | None = None
    with suppress(ValueError, LookupError, TypeError):
        row = json.loads(out)["checks"][0]
    if row is None:
        message = err.decode("utf-8", "replace").strip().partition("\n")[0]
        return Verdict(message or f"ended with exit code {code}", False, None, texts)
    result = f"{row['verdict']} {row['property'] or ''}".strip()
    expected = "as expected" if row["as_expected"] else f"expected {row['expected']}"
    size = f"{row['depth'] - 1} steps"
    if row["distinct"] is not None:
        size = f"{row['distinct']:,} states, depth {row['depth']}"
    line = f"{result}, {expected}: {size}, {row['seconds']:.2f} s"
    return Verdict(line, row["as_expected"], trace if trace.exists() else None, texts)
