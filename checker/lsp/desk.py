"""The texts that are open in an editor, and the surveys of their specs.

A survey takes a fraction of a second and runs in a separate thread. It is kept until one of its
texts changes. This module does not depend on the protocol.
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
from fencepost.checker.folders import SpecFinder
from fencepost.checker.lsp.places import Text
from fencepost.spec.elaborate.base.files import read_files
from fencepost.spec.elaborate.ide.references import Declaration, References
from fencepost.spec.elaborate.ide.survey import Survey, SurveyCache, survey
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text import inputs
from fencepost.spec.text.clock import TimeUp, limited
from fencepost.spec.text.library import package_root, real
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span

TIMEOUT_SECONDS = 20.0
"""The time in seconds after which a survey is abandoned."""
MAX_FILES = 2_000
"""The maximum number of specs in the open folders that are searched for uses of a name."""


Place: TypeAlias = tuple[Path, int, int]
"""A file, and the start and end of a name in it. Unlike spans, places can be compared between
surveys.
"""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a survey by place: the declarations that each use refers to, and every
    declaration.
    """

    uses: Mapping[Place, frozenset[Place]]
    declarations: Mapping[Place, Declaration]


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is open in the editor. ``path`` is resolved. If the text has no file, ``path`` is
    a path in the first open folder.
    """

    uri: str
    path: Path
    text: str
    version: int


@dataclass(frozen=True, slots=True)
class View:
    """A file and its survey. If the file could not be read, ``survey`` is None and ``problems``
    gives the reason.

    ``texts`` are the texts that replaced the content of files in the survey. ``stamps`` are the
    modification times of the other files.
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
        """Returns the declarations of the name at an offset, where the name is either used or
        declared.
        """
        return () if self.source is None else self.references.definition_at(self.source, offset)

    def name_at(self, offset: int) -> Span | None:
        """Returns the span of the name around an offset, or None if there is no name."""
        around = [
            span
            for spans in (self.references.uses, self.references.declarations)
            for span in spans
            if span.source is self.source and span.start <= offset <= span.end > span.start
        ]
        return min(
            around, key=lambda span: (span.end == offset, span.end - span.start), default=None
        )

    def path_of(self, source: Source) -> Path | None:
        """Returns the path of a source, or None if the survey does not include it."""
        files = {} if self.survey is None else self.survey.files.files
        return next((path for path, tree in files.items() if tree.source is source), None)


_NOTHING = References({}, {}, {}, {})
_NAMELESS = Names({}, {})


class Stale(Exception):
    """Raised when a survey was abandoned because a text has changed after the request."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A survey in progress, and the texts that it uses."""

    texts: Mapping[Path, str]
    unwanted: Event
    view: asyncio.Future[View | None]


@dataclass(slots=True)
class Desk:
    """The open documents by resolved path, and the surveys of requested files.

    ``search`` holds additional folders for modules, and ``folders`` the open folders.
    """

    search: tuple[Path, ...] = ()
    folders: list[Path] = field(default_factory=list[Path])
    encoding: str = "utf-16"
    documents: dict[Path, Document] = field(default_factory=dict[Path, Document])
    _known: dict[Path, View] = field(default_factory=dict[Path, View])
    _changed: View | None = None
    _kept: SurveyCache = field(default_factory=SurveyCache)
    _under_way: dict[Path, _Work] = field(default_factory=dict[Path, "_Work"])
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="survey")
    )

    # ------------------------------------------------------------ texts

    def put(self, document: Document) -> None:
        """Opens a document or changes its text. Abandons the surveys of older texts."""
        self.documents[document.path] = document
        for work in self._under_way.values():
            work.unwanted.set()

    def take(self, path: Path) -> None:
        """Closes a document, so that the file on disk is used again."""
        self.documents.pop(path, None)

    def forget(self) -> None:
        """Drops incomplete surveys, because the files that they lacked may exist now."""
        self._known = {path: view for path, view in self._known.items() if _whole(view)}

    def texts(self) -> dict[Path, str]:
        """Returns the texts that replace the content of files."""
        return {path: document.text for path, document in self.documents.items()}

    def text(self, path: Path, text: str) -> Text:
        """Returns a text with positions in the client's encoding. For an open document, this is the
        document's current text.
        """
        document = self.documents.get(path)
        return Text(text if document is None else document.text, self.encoding)

    def current(self, view: View) -> bool:
        """Returns whether all texts of a view are unchanged."""
        if not _whole(view):
            # The missing file may be any of the texts.
            return view.texts == self.texts()
        files = {view.path} if view.survey is None else view.survey.files.files.keys()
        if any(view.texts.get(p) != d.text for p, d in self.documents.items() if p in files):
            return False
        opened = view.texts.keys() & files
        return opened <= self.documents.keys() and all(
            p in self.documents or stamp(p) == s for p, s in view.stamps.items()
        )

    def writable(self, path: Path) -> bool:
        """Returns whether a file may be changed. It must not be part of Fencepost, and the file
        system must allow the change.
        """
        ours = [real(package_root() / name) for name in ("models", "invariants")]
        shipped = any(path.is_relative_to(folder) for folder in ours)
        if shipped and not any(path.is_relative_to(real(folder)) for folder in self.folders):
            return False
        return os.access(path, os.W_OK) if path.exists() else path in self.documents

    # ------------------------------------------------------------ surveys

    async def view(self, path: Path) -> View:
        """Returns the survey of a file with the current texts. Raises `Stale` if a text changes
        during the survey.
        """
        cached = self.known(path)
        if cached is not None:
            return cached
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
            # A more urgent survey replaced this one.
            return await self.view(path)
        self._known[path] = view
        return view

    def known(self, path: Path) -> View | None:
        """Returns the cached survey of a file if it is still valid, and otherwise None."""
        view = self._known.get(path)
        return view if view is not None and self.current(view) else None

    async def with_texts(self, path: Path, changes: Mapping[Path, str]) -> View:
        """Surveys a file after replacing some texts. Abandons the surveys in progress."""
        texts = {**self.texts(), **changes}
        last = self._changed
        # While the user types the rest of a word, the same changes are requested again.
        if (
            last is not None
            and (last.path, last.texts) == (path, texts)
            and _whole(last)
            and all(stamp(file) == time for file, time in last.stamps.items())
        ):
            return last
        for work in self._under_way.values():
            work.unwanted.set()
        view = await self._started(path, texts).view
        assert view is not None
        self._changed = view
        return view

    def _started(self, path: Path, texts: Mapping[Path, str]) -> _Work:
        unwanted = Event()
        view = asyncio.get_running_loop().run_in_executor(
            self._thread, surveyed, path, self.search, texts, self._kept, self.encoding, unwanted
        )
        return _Work(texts, unwanted, view)

    async def files(self, path: Path) -> Mapping[Path, syntax.File]:
        """Returns the parsed files of a spec, or an empty mapping if the spec's own file cannot be
        read.
        """
        texts = self.texts()
        cached = self.known(path)
        if cached is not None:
            return {} if cached.survey is None else cached.survey.files.files

        def read() -> Mapping[Path, syntax.File]:
            try:
                return read_files(path, self.search, texts, self._kept.trees).files
            except Rejected:
                return {}

        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    def specs(self) -> Iterator[tuple[Path, str]]:
        """Yields the open texts and the specs in the open folders, each as a path and its
        content.
        """
        finder = SpecFinder(self.folders)
        paths = [real(path) for folder in self.folders for path in finder.specs(folder)]
        for path in dict.fromkeys([*self.documents, *paths[:MAX_FILES]]):
            if path in self.documents:
                yield path, self.documents[path].text
                continue
            try:
                yield path, inputs.content(path, inputs.Kind.SPEC).decode("utf-8")
            except (OSError, UnicodeDecodeError):
                continue

    def close(self) -> None:
        """Stops the thread without waiting for surveys in progress."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _whole(view: View) -> bool:
    return view.survey is not None and not any(problem.code == "F601" for problem in view.problems)


def surveyed(
    path: Path,
    search: tuple[Path, ...],
    texts: Mapping[Path, str],
    kept: SurveyCache,
    encoding: str,
    unwanted: Event,
) -> View | None:
    """Surveys a file after replacing the content of some files by ``texts``. Returns None if the
    survey became unwanted.
    """
    try:
        with limited(TIMEOUT_SECONDS, unwanted.is_set):
            result = survey(path, search, texts, COUNTING, kept)
    except Rejected as rejected:
        problems = rejected.problems
    except TimeUp:
        if unwanted.is_set():
            return None
        message = f"this spec could not be read and checked within {TIMEOUT_SECONDS:g} s"
        problems = (Problem("F046", None, message),)
    else:
        return _view(path, texts, encoding, result)
    return View(path, Text(texts.get(path, ""), encoding), texts, None, problems, _NAMELESS, {})


def _view(path: Path, texts: Mapping[Path, str], encoding: str, surveyed_spec: Survey) -> View:
    source = surveyed_spec.files.files[path].source
    text = Text(texts.get(path, source.text), encoding)
    problems = Rejected(surveyed_spec.problems).problems
    stamps = {file: stamp(file) for file in surveyed_spec.files.files if file not in texts}
    return View(path, text, texts, surveyed_spec, problems, _names(surveyed_spec), stamps)


def stamp(path: Path) -> int:
    """Returns the modification time of a file, or 0 if the file does not exist."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _names(surveyed_spec: Survey) -> Names:
    paths = {id(tree.source): path for path, tree in surveyed_spec.files.files.items()}

    def place(span: Span) -> Place:
        return paths[id(span.source)], span.start, span.end

    return Names(
        {
            place(span): frozenset(place(declaration.span) for declaration in meant)
            for span, meant in surveyed_spec.references.uses.items()
        },
        {
            place(span): declaration
            for span, declaration in surveyed_spec.references.declarations.items()
        },
    )


def has_word(text: str, word: str) -> bool:
    """Returns whether a text contains ``word`` as a whole word."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
