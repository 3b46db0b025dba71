"""What lies on an editor's desk: the open texts, and what was found out about them.

A survey of a spec takes a fraction of a second, in a thread of its own, and is kept until one of
its texts changes. Nothing here speaks the protocol.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from threading import Event
from typing import TypeAlias

from fencepost.checker.engines import COUNTING
from fencepost.checker.lsp.places import Text
from fencepost.spec.elaborate.base.files import read_files
from fencepost.spec.elaborate.ide.references import Declaration, References
from fencepost.spec.elaborate.ide.survey import Kept, Survey, survey
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text import inputs
from fencepost.spec.text.clock import TimeUp, limited
from fencepost.spec.text.library import package_root, real, specs_below
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span

LONGEST = 20.0
"""The seconds after which a survey ends without an answer."""
MOST_FILES = 2_000
"""The number of specs of the open folders that are searched for uses of a name."""


Place: TypeAlias = tuple[Path, int, int]
"""A file, and where in it a name begins and ends: the same for every survey that has the file."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a survey by place: what each use means, and every declaration."""

    uses: Mapping[Place, frozenset[Place]]
    declarations: Mapping[Place, Declaration]


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is open in the editor. ``path`` is the resolved one, of a text that is in no file
    the one that it would have in the first folder.
    """

    uri: str
    path: Path
    text: str
    version: int


@dataclass(frozen=True, slots=True)
class View:
    """A file and what is known of it. ``survey`` is None where the file could not be read at all;
    ``problems`` are then why. ``texts`` are the open ones, as they were then; ``stamps`` are those
    of the files that were not open.
    """

    path: Path
    text: Text
    texts: Mapping[Path, str]
    survey: Survey | None
    problems: tuple[Problem, ...]
    names: Names
    stamps: Mapping[Path, int]

    @property
    def tree(self) -> syntax.File | None:
        return None if self.survey is None else self.survey.files.files.get(self.path)

    @property
    def source(self) -> Source | None:
        return None if self.tree is None else self.tree.source

    @property
    def references(self) -> References:
        return _NOTHING if self.survey is None else self.survey.references

    def meant(self, offset: int) -> tuple[Declaration, ...]:
        """What the name at an offset means, or declares."""
        return () if self.source is None else self.references.definition_at(self.source, offset)

    def name_at(self, offset: int) -> Span | None:
        """The name around an offset, a use or a declaration."""
        found = [
            span
            for spans in (self.references.uses, self.references.declarations)
            for span in spans
            if span.source is self.source and span.start <= offset <= span.end > span.start
        ]
        return min(found, key=lambda one: (one.end == offset, one.end - one.start), default=None)

    def path_of(self, source: Source) -> Path | None:
        """The file of a source."""
        files = {} if self.survey is None else self.survey.files.files
        return next((path for path, tree in files.items() if tree.source is source), None)


_NOTHING = References({}, {}, {}, {})
_NAMELESS = Names({}, {})


class Stale(Exception):
    """A survey was given up, because a text has changed since it was asked for."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A survey under way, and the texts that it is of."""

    texts: Mapping[Path, str]
    unwanted: Event
    view: asyncio.Future[View | None]


@dataclass(slots=True)
class Desk:
    """The open texts by resolved path, and the surveys of those files that were asked about.

    ``search`` are more folders to look for modules in, ``folders`` those that are open.
    """

    search: tuple[Path, ...] = ()
    folders: list[Path] = field(default_factory=list[Path])
    encoding: str = "utf-16"
    documents: dict[Path, Document] = field(default_factory=dict[Path, Document])
    _known: dict[Path, View] = field(default_factory=dict[Path, View])
    _kept: Kept = field(default_factory=Kept)
    _under_way: dict[Path, _Work] = field(default_factory=dict[Path, "_Work"])
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="survey")
    )

    # ------------------------------------------------------------ texts

    def put(self, document: Document) -> None:
        """Opens a document, or changes its text: surveys of other texts are given up."""
        self.documents[document.path] = document
        for work in self._under_way.values():
            work.unwanted.set()

    def take(self, path: Path) -> None:
        """Closes a document: its file counts again."""
        self.documents.pop(path, None)

    def forget(self) -> None:
        """There may be new files: what lacked one is found out anew when it is wanted."""
        self._known = {path: view for path, view in self._known.items() if _whole(view)}

    def texts(self) -> dict[Path, str]:
        """The texts that stand for those of files."""
        return {path: one.text for path, one in self.documents.items()}

    def text(self, path: Path, text: str) -> Text:
        """A text with places as the client counts them; of an open document, its own."""
        document = self.documents.get(path)
        return Text(text if document is None else document.text, self.encoding)

    def current(self, view: View) -> bool:
        """Whether every text that a view is of is still the same."""
        if not _whole(view):
            # Any text may be what was missing.
            return view.texts == self.texts()
        files = {view.path} if view.survey is None else view.survey.files.files.keys()
        if any(view.texts.get(p) != d.text for p, d in self.documents.items() if p in files):
            return False
        opened = view.texts.keys() & files
        return opened <= self.documents.keys() and all(
            p in self.documents or stamp(p) == s for p, s in view.stamps.items()
        )

    def writable(self, path: Path) -> bool:
        """Whether a file may be changed: not one that came with Fencepost, nor one that the system
        protects.
        """
        ours = [real(package_root() / name) for name in ("models", "invariants")]
        shipped = any(path.is_relative_to(folder) for folder in ours)
        if shipped and not any(path.is_relative_to(real(folder)) for folder in self.folders):
            return False
        return os.access(path, os.W_OK) if path.exists() else path in self.documents

    # ------------------------------------------------------------ surveys

    async def view(self, path: Path) -> View:
        """What is known of a file as it is now."""
        known = self.known(path)
        if known is not None:
            return known
        texts = self.texts()
        work = self._under_way.get(path)
        if work is None or work.unwanted.is_set() or work.texts != texts:
            work = self._under_way[path] = self._started(path, texts)
        try:
            view = await asyncio.shield(work.view)
        finally:
            if self._under_way.get(path) is work and work.view.done():
                del self._under_way[path]
        if view is None:
            if self.texts() != texts:
                raise Stale
            # Something more urgent went before.
            return await self.view(path)
        self._known[path] = view
        return view

    def known(self, path: Path) -> View | None:
        """What is known of a file without looking, if it is still right."""
        view = self._known.get(path)
        return view if view is not None and self.current(view) else None

    async def with_texts(self, path: Path, changes: Mapping[Path, str]) -> View:
        """What would be known of a file if some texts were others. What is under way gives way."""
        for work in self._under_way.values():
            work.unwanted.set()
        view = await self._started(path, {**self.texts(), **changes}).view
        assert view is not None
        return view

    def _started(self, path: Path, texts: Mapping[Path, str]) -> _Work:
        unwanted = Event()
        view = asyncio.get_running_loop().run_in_executor(
            self._thread, surveyed, path, self.search, texts, self._kept, self.encoding, unwanted
        )
        return _Work(texts, unwanted, view)

    async def files(self, path: Path) -> Mapping[Path, syntax.File]:
        """The files of a spec, parsed; none where its own cannot be read."""
        texts = self.texts()
        known = self.known(path)
        if known is not None:
            return {} if known.survey is None else known.survey.files.files

        def read() -> Mapping[Path, syntax.File]:
            try:
                return read_files(path, self.search, texts, self._kept.trees).files
            except Rejected:
                return {}

        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    def specs(self) -> Iterator[tuple[Path, str]]:
        """The specs of the open folders and the open texts, with what is in them."""
        paths = [real(path) for folder in self.folders for path in specs_below(folder)]
        for path in dict.fromkeys([*self.documents, *paths[:MOST_FILES]]):
            if path in self.documents:
                yield path, self.documents[path].text
                continue
            try:
                yield path, inputs.content(path, inputs.Kind.SPEC).decode("utf-8")
            except (OSError, UnicodeDecodeError):
                continue

    def close(self) -> None:
        """Ends the thread; what is under way is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _whole(view: View) -> bool:
    return view.survey is not None and not any(one.code == "F601" for one in view.problems)


def surveyed(
    path: Path,
    search: tuple[Path, ...],
    texts: Mapping[Path, str],
    kept: Kept,
    encoding: str,
    unwanted: Event,
) -> View | None:
    """A survey of a file, with other texts for some files; None when it became unwanted."""
    try:
        with limited(LONGEST, unwanted.is_set):
            found = survey(path, search, texts, COUNTING, kept)
    except Rejected as rejected:
        problems = rejected.problems
    except TimeUp:
        if unwanted.is_set():
            return None
        what = f"this spec could not be read and checked within {LONGEST:g} s"
        problems = (Problem("F046", None, what),)
    else:
        return _view(path, texts, encoding, found)
    return View(path, Text(texts.get(path, ""), encoding), texts, None, problems, _NAMELESS, {})


def _view(path: Path, texts: Mapping[Path, str], encoding: str, found: Survey) -> View:
    source = found.files.files[path].source
    text = Text(texts.get(path, source.text), encoding)
    problems = Rejected(found.problems).problems
    stamps = {one: stamp(one) for one in found.files.files if one not in texts}
    return View(path, text, texts, found, problems, _names(found), stamps)


def stamp(path: Path) -> int:
    """What changes when a file does: the time of its last change, 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _names(found: Survey) -> Names:
    paths = {id(tree.source): path for path, tree in found.files.files.items()}

    def place(span: Span) -> Place:
        return paths[id(span.source)], span.start, span.end

    return Names(
        {
            place(span): frozenset(place(one.span) for one in meant)
            for span, meant in found.references.uses.items()
        },
        {place(span): one for span, one in found.references.declarations.items()},
    )


def has_word(text: str, word: str) -> bool:
    """Whether a text has a word in it."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
