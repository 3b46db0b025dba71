"""When a text is looked at again, and what the client has been told is wrong.

A text that rests is surveyed; a file that is opened or saved is looked at with every check of it;
and while nobody types, so are the specs that import what is open, and those that import the same
modules.
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

DELAY = 0.15
"""How many seconds a text must rest before it is looked at, unless a request wants it sooner."""
REST = 1.5
"""The seconds without a change after which other specs are looked at."""
MOST_LOOKED_AT = 60
"""The number of specs that are looked at before anyone asks about them."""

Tasks: TypeAlias = dict[Path, "asyncio.Task[None]"]


@dataclass(slots=True)
class Watch:
    """What is to be looked at, and the diagnostics by the file that was looked at and the file that
    they are in; ``publish`` sends those of a file. ``delay`` is in seconds; ``every_check``:
    a file that is opened or saved is looked at with all of its checks.
    """

    desk: Desk
    publish: Callable[[lsp.PublishDiagnosticsParams], None]
    delay: float = DELAY
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
        """A document is open: it is looked at, with every check of it."""
        self._look(path, 0)
        self.saved(path)
        self._rest()

    def changed(self, path: Path) -> None:
        """A text is another: it and those that may import it are looked at when it has rested."""
        _stop(self._thorough, path)
        self.look()
        self._rest()

    def look(self) -> None:
        """Everything that is open is looked at after the delay."""
        for path in self.desk.documents:
            self._look(path, self.delay)

    def saved(self, path: Path) -> None:
        """A file is as its text: every check of it is looked at."""
        _stop(self._thorough, path)
        if self.every_check:
            self._thorough[path] = asyncio.ensure_future(self._looked_thoroughly(path))

    def closed(self, path: Path) -> None:
        """What the text of a document has made known is taken back."""
        _stop(self._timers, path)
        _stop(self._thorough, path)
        self._marks.pop(path, None)
        for one in self._told.pop(path, {}):
            self._publish(one)
        self.look()

    def close(self) -> None:
        """Nothing is looked at any more."""
        for task in (*self._timers.values(), *self._thorough.values(), self._resting):
            if task is not None:
                task.cancel()

    def _look(self, path: Path, delay: float) -> None:
        """Looks at a document after a while, unless it is to be looked at again before."""
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
        """Publishes what is wrong with a view, and takes back what is no longer."""
        text, more = self._marks.get(view.path, ("", []))
        found = [*marks(view.problems), *(more if text == view.text.text else ())]
        now = shown(self.desk, view, found)
        before = self._told[view.path]
        self._told[view.path] = now
        for path in dict.fromkeys([*now, *before]):
            self._publish(path)

    def _publish(self, path: Path) -> None:
        """The diagnostics of a file, whichever open document they come from."""
        rows: dict[str, lsp.Diagnostic] = {}
        for root in dict.fromkeys([path, *self._told]):
            for one in self._told[root].get(path, []) if root in self._told else ():
                rows.setdefault(f"{one.code} {one.range} {one.message}", one)
        document = self.desk.documents.get(path)
        self.publish(
            lsp.PublishDiagnosticsParams(
                uri_of(path) if document is None else document.uri,
                list(rows.values()),
                None if document is None else document.version,
            )
        )

    def _rest(self) -> None:
        """While nobody types, the specs that have a file in common with what is open are looked at,
        so that uses of names in them are known when they are asked for; those first that import
        what is open.
        """
        if self._resting is not None:
            self._resting.cancel()
        self._resting = asyncio.ensure_future(self._rested())

    async def _rested(self) -> None:
        await asyncio.sleep(REST)
        # The server itself never looks for garbage in old objects: it would do so in the middle of
        # an answer, which then takes half as long again.
        gc.collect()
        opened = set(self.desk.documents)
        shared = set(opened)
        for path in opened:
            shared |= (await self.desk.files(path)).keys()
        others = [path for path, _ in list(self.desk.specs())[:MOST_LOOKED_AT]]
        for common in (opened, shared):
            for path in others:
                with suppress(Stale):
                    if common & (await self.desk.files(path)).keys():
                        await self.desk.view(path)

    async def _looked_thoroughly(self, path: Path) -> None:
        """Finds what is wrong with every check of a saved file, in a process of its own."""
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
        found = heard(out)
        now = self.desk.documents.get(path)
        if found is not None and now is not None and now.text == document.text:
            self._marks[path] = (document.text, found)
            await self._looked(path, 0)


def stored(path: Path) -> str | None:
    """What is in a file; None where it cannot be read."""
    try:
        return read(path).text
    except Rejected:
        return None


def _stop(tasks: Tasks, path: Path) -> None:
    task = tasks.pop(path, None)
    if task is not None:
        task.cancel()
