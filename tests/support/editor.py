"""An editor, as far as the language server knows: a client of the protocol over pipes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path
from tests.support.processes import PATIENCE, environment

T = TypeVar("T")
SERVER = (sys.executable, "-m", "fencepost.checker.cli.main", "lsp")
CAPABILITIES = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(
        code_lens=lsp.CodeLensWorkspaceClientCapabilities(refresh_support=True)
    ),
    window=lsp.WindowClientCapabilities(show_document=lsp.ShowDocumentClientCapabilities(True)),
    general=lsp.GeneralClientCapabilities(position_encodings=["utf-16"]),
)


def uri(path: Path) -> str:
    """The address of a file."""
    return str(from_fs_path(str(path)))


def position(text: str, offset: int) -> lsp.Position:
    """A place in a text, counted here as the protocol says: UTF-16 units."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le", "surrogatepass")) // 2)


def offset(text: str, place: lsp.Position) -> int:
    """The character offset of a place in a text whose lines end with a line feed."""
    lines = text.split("\n")
    line = lines[place.line].encode("utf-16-le", "surrogatepass")[: 2 * place.character]
    before = sum(len(one) + 1 for one in lines[: place.line])
    return before + len(line.decode("utf-16-le", "surrogatepass"))


def edited(text: str, edits: Sequence[Any]) -> str:
    """A text after some edits."""
    for one in sorted(edits, key=lambda one: offset(text, one.range.start), reverse=True):
        start, end = offset(text, one.range.start), offset(text, one.range.end)
        text = text[:start] + one.new_text + text[end:]
    return text


class Editor:
    """A client with its open texts, the last diagnostics, and how long each answer took."""

    def __init__(self) -> None:
        self.client = LanguageClient("tests", "1")
        self.texts: dict[Path, str] = {}
        self.versions: dict[Path, int] = {}
        self.diagnostics: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.shown: list[str] = []
        self.refreshed = 0
        self.took: list[tuple[str, float]] = []
        self._heard = asyncio.Event()
        feature: Any = self.client.feature

        # Functions, because what is registered gets an attribute.
        @feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: lsp.PublishDiagnosticsParams) -> None:
            self.diagnostics[params.uri] = params
            self._heard.set()

        @feature(lsp.WINDOW_SHOW_MESSAGE)
        def _(params: lsp.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @feature(lsp.WINDOW_SHOW_DOCUMENT)
        def _(params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
            self.shown.append(params.uri)
            return lsp.ShowDocumentResult(success=True)

        @feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
        def _(params: None) -> None:
            del params
            self.refreshed += 1

    # ------------------------------------------------------------ what a user does

    def open(self, path: Path, text: str | None = None) -> None:
        """Opens a file, or a text that is not in it."""
        self.texts[path] = path.read_text(encoding="utf-8") if text is None else text
        self.versions[path] = 1
        item = lsp.TextDocumentItem(uri(path), "fence", 1, self.texts[path])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def type(self, path: Path, text: str) -> None:
        """Makes the text of an open file another."""
        self.texts[path] = text
        self.versions[path] += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.versions[path], uri(path)),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def save(self, path: Path) -> None:
        """Writes the text of an open file."""
        path.write_bytes(self.texts[path].encode("utf-8", "surrogatepass"))
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(self.doc(path)))

    def doc(self, path: Path) -> lsp.TextDocumentIdentifier:
        """How a request names a file."""
        return lsp.TextDocumentIdentifier(uri(path))

    def at(self, path: Path, mark: str, behind: int = 0) -> lsp.Position:
        """The place of the only occurrence of a text, or so many characters behind its start."""
        text = self.texts[path]
        assert text.count(mark) == 1, (mark, text.count(mark))
        return position(text, text.index(mark) + behind)

    async def answer(self, name: str, asked: Awaitable[T]) -> T:
        """An answer, whose time is kept."""
        start = time.perf_counter()
        found = await asyncio.wait_for(asyncio.ensure_future(asked), PATIENCE)
        self.took.append((name, time.perf_counter() - start))
        return found

    async def wrong(self, path: Path) -> list[lsp.Diagnostic]:
        """The diagnostics of the text as it is, as soon as they are there."""
        async with asyncio.timeout(PATIENCE):
            while True:
                known = self.diagnostics.get(uri(path))
                if known is not None and known.version == self.versions[path]:
                    return list(known.diagnostics)
                self._heard.clear()
                await self._heard.wait()


@asynccontextmanager
async def editor(
    folder: Path, options: Mapping[str, Any] | None = None, words: Sequence[str] = SERVER
) -> AsyncGenerator[Editor]:
    """An editor with a folder open, and a server of its own, which ends well."""
    one = Editor()
    start: Any = one.client.start_io  # pyright: ignore[reportUnknownMemberType]
    await start(*words, cwd=folder, env=environment())
    server: Any = one.client._server  # pyright: ignore[reportPrivateUsage]
    try:
        async with asyncio.timeout(PATIENCE):
            await one.client.initialize_async(
                lsp.InitializeParams(
                    capabilities=CAPABILITIES,
                    root_uri=uri(folder),
                    workspace_folders=[lsp.WorkspaceFolder(uri(folder), folder.name)],
                    initialization_options=dict(options or {}),
                )
            )
        one.client.initialized(lsp.InitializedParams())
        yield one
        async with asyncio.timeout(PATIENCE):
            await one.client.shutdown_async(None)
            one.client.exit(None)
            await one.client.stop()
            assert server.returncode == 0, (await server.stderr.read()).decode()
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()
