"""Decides when texts are surveyed, and publishes diagnostics.

A text is surveyed after a pause in typing. When a file is opened or saved, the problems of all its
checks are determined as well. In longer pauses, specs that share modules with the open ones are
surveyed.
"""

from __future__ import annotations

import asyncio
import gc
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types as lsp

from fencepost.checker.lsp.desk import Desk, Stale, View
from fencepost.checker.lsp.diagnostics import shown
from fencepost.checker.lsp.marks import Mark, command, heard, marks
from fencepost.checker.lsp.places import uri_of
from fencepost.spec.text.library import read
from fencepost.spec.text.problem import Rejected

DELAY_SECONDS = 0.15
"""The time in seconds without a change after which a text is surveyed, unless a request needs the
survey sooner.
"""
PAUSE_SECONDS = 1.5
"""The time in seconds without a change after which other specs are surveyed."""
MAX_EXAMINED = 60
"""The maximum number of specs that are surveyed before they are requested."""

Tasks: TypeAlias = dict[Path, "asyncio.Task[None]"]


@dataclass(slots=True)
class Watch:
    """The scheduled surveys, and the diagnostics, which are grouped by the file that was surveyed
    and then by the file that contains them.

    ``publish`` sends the diagnostics of one file. ``delay`` is in seconds. If ``every_check`` is
    true, all checks of a file are examined when it is opened or saved.
    """

    desk: Desk
    publish: Callable[[lsp.PublishDiagnosticsParams], None]
    delay: float = DELAY_SECONDS
    every_check: bool = True
    _timers: Tasks = field(default_factory=Tasks)
    _thorough: Tasks = field(default_factory=Tasks)
    _resting: asyncio.Task[None] | None = None
    _marks: dict[Path, tuple[str, list[Mark]]] = field(
        default_factory=dict[Path, tuple[str, list[Mark]]]
    )
    _told: defaultdict[Path, dict[Path, list[lsp.Diagnostic]]] = field(
        default_factory=lambda: defaultdict[Path, dict[Path, list[lsp.Diagnostic]]](dict)
    )

    def opened(self, path: Path) -> None:
        """Handles the opening of a document: surveys it and examines all of its checks."""
        self._look(path, 0)
        self.saved(path)
        self._rest()

    def changed(self, path: Path) -> None:
        """Handles a change of a text: surveys every open document, since it may import the text,
        after a pause.
        """
        _stop(self._thorough, path)
        self.look()
        self._rest()

    def look(self) -> None:
        """Surveys every open document after the delay."""
        for path in self.desk.documents:
            self._look(path, self.delay)

    def saved(self, path: Path) -> None:
        """Handles the saving of a file: examines all of its checks."""
        _stop(self._thorough, path)
        if self.every_check:
            self._thorough[path] = asyncio.ensure_future(self._looked_thoroughly(path))

    def closed(self, path: Path) -> None:
        """Handles the closing of a document: withdraws its diagnostics."""
        _stop(self._timers, path)
        _stop(self._thorough, path)
        self._marks.pop(path, None)
        for affected in self._told.pop(path, {}):
            self._publish(affected)
        self.look()

    def close(self) -> None:
        """Cancels all surveys."""
        for task in (*self._timers.values(), *self._thorough.values(), self._resting):
            if task is not None:
                task.cancel()

    def _look(self, path: Path, delay: float) -> None:
        """Surveys a document after a delay. A later call for the same document replaces this
        one.
        """
        _stop(self._timers, path)
        self._timers[path] = asyncio.ensure_future(self._looked(path, delay))

    async def _looked(self, path: Path, delay: float) -> None:
        await asyncio.sleep(delay)
        document = self.desk.documents.get(path)
        if document is None:
            return
        with suppress(Stale):
            view = await self.desk.view(path)
            if self.desk.current(view) and path in self.desk.documents:
                self._tell(view)

    def _tell(self, view: View) -> None:
        """Publishes the problems of a view, and withdraws those that no longer exist."""
        text, more = self._marks.get(view.path, ("", []))
        all_marks = [*marks(view.problems), *(more if text == view.text.text else ())]
        now = shown(self.desk, view, all_marks)
        before = self._told[view.path]
        self._told[view.path] = now
        for path in dict.fromkeys([*now, *before]):
            self._publish(path)

    def _publish(self, path: Path) -> None:
        """Publishes the diagnostics of a file that the surveys of all open documents contribute."""
        rows: dict[str, lsp.Diagnostic] = {}
        for root in dict.fromkeys([path, *self._told]):
            for diagnostic in self._told[root].get(path, []) if root in self._told else ():
                rows.setdefault(
                    f"{diagnostic.code} {diagnostic.range} {diagnostic.message}", diagnostic
                )
        document = self.desk.documents.get(path)
        self.publish(
            lsp.PublishDiagnosticsParams(
                uri_of(path) if document is None else document.uri,
                list(rows.values()),
                None if document is None else document.version,
            )
        )

    def _rest(self) -> None:
        """In a pause, surveys the specs that share a file with the open ones, so that uses of names
        in them are available when they are requested. Specs that import open files come first.
        """
        if self._resting is not None:
            self._resting.cancel()
        self._resting = asyncio.ensure_future(self._rested())

    async def _rested(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        # Collect old garbage now. If the collector ran while the server computes an answer, that
        # would take half as long again.
        gc.collect()
        opened = set(self.desk.documents)
        shared = set(opened)
        for path in opened:
            shared |= (await self.desk.files(path)).keys()
        others = [path for path, _ in list(self.desk.specs())[:MAX_EXAMINED]]
        for common in (opened, shared):
            for path in others:
                with suppress(Stale):
                    if common & (await self.desk.files(path)).keys():
                        await self.desk.view(path)

    async def _looked_thoroughly(self, path: Path) -> None:
        """Finds the problems of every check of a saved file, in a separate process."""
        document = self.desk.documents.get(path)
        if document is None or stored(path) != document.text.removeprefix("\ufeff"):
            return
        process = await asyncio.create_subprocess_exec(
            *command(path, self.desk.search),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
        reported = heard(out)
        now = self.desk.documents.get(path)
        if reported is not None and now is not None and now.text == document.text:
            self._marks[path] = (document.text, reported)
            await self._looked(path, 0)


def stored(path: Path) -> str | None:
    """Returns the content of a file, or None if it cannot be read."""
    try:
        return read(path).text
    except Rejected:
        return None


def _stop(tasks: Tasks, path: Path) -> None:
    task = tasks.pop(path, None)
    if task is not None:
        task.cancel()
