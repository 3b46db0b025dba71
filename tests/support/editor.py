"""A client of the language server's protocol over pipes, which acts like an editor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

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
    """Returns the URI of a file."""
    return str(from_fs_path(str(path)))


def position(text: str, offset: int) -> lsp.Position:
    """Converts an offset in a text to a position in UTF-16 units, as the protocol requires."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le", "surrogatepass")) // 2)


def offset(text: str, at: lsp.Position) -> int:
    """Converts a position to a character offset, in a text whose lines end with a line feed."""
    lines = text.split("\n")
    line = lines[at.line].encode("utf-16-le", "surrogatepass")[: 2 * at.character]
    before = sum(len(previous) + 1 for previous in lines[: at.line])
    return before + len(line.decode("utf-16-le", "surrogatepass"))


def edited(text: str, edits: Sequence[Any]) -> str:
    """Applies edits to a text."""
    for edit in sorted(edits, key=lambda edit: offset(text, edit.range.start), reverse=True):
        start, end = offset(text, edit.range.start), offset(text, edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


class Editor:
    """A client with its open texts, the last diagnostics, and the duration of each answer."""

    def __init__(self) -> None:
        self.client = LanguageClient("tests", "1")
        self.texts: dict[Path, str] = {}
        self.versions: dict[Path, int] = {}
        self.diagnostics: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.shown: list[str] = []
        self.refreshed = 0
        self._heard = asyncio.Event()
        feature: Any = self.client.feature

        # Functions, since registration sets an attribute.
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.diagnostics[params.uri] = params
            self._heard.set()

        def message(params: lsp.ShowMessageParams) -> None:
            self.messages.append(params.message)

        def show(params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
            self.shown.append(params.uri)
            return lsp.ShowDocumentResult(success=True)

        def refresh(params: None) -> None:
            del params
            self.refreshed += 1

        feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(published)
        feature(lsp.WINDOW_SHOW_MESSAGE)(message)
        feature(lsp.WINDOW_SHOW_DOCUMENT)(show)
        feature(lsp.WORKSPACE_CODE_LENS_REFRESH)(refresh)

    # ------------------------------------------------------------ user actions

    def open(self, path: Path, text: str | None = None) -> None:
        """Opens a file, optionally with an unsaved text instead of the file's contents."""
        self.texts[path] = path.read_text(encoding="utf-8") if text is None else text
        self.versions[path] = 1
        item = lsp.TextDocumentItem(uri(path), "fence", 1, self.texts[path])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def type(self, path: Path, text: str) -> None:
        """Replaces the text of an open file."""
        self.texts[path] = text
        self.versions[path] += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.versions[path], uri(path)),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def save(self, path: Path) -> None:
        """Saves the text of an open file."""
        path.write_bytes(self.texts[path].encode("utf-8", "surrogatepass"))
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(self.doc(path)))

    def doc(self, path: Path) -> lsp.TextDocumentIdentifier:
        """Returns the identifier of a file for use in requests."""
        return lsp.TextDocumentIdentifier(uri(path))

    def at(self, path: Path, mark: str, shift: int = 0) -> lsp.Position:
        """Returns the position of a text that occurs exactly once, moved right by ``shift``
        characters.
        """
        text = self.texts[path]
        assert text.count(mark) == 1, (mark, text.count(mark))
        return position(text, text.index(mark) + shift)

    async def answer(self, request: Awaitable[T]) -> T:
        """Awaits the answer to a request."""
        return await asyncio.wait_for(asyncio.ensure_future(request), PATIENCE)

    async def wrong(self, path: Path) -> list[lsp.Diagnostic]:
        """Waits for the diagnostics of the present text and returns them."""
        async with asyncio.timeout(PATIENCE):
            while True:
                published = self.diagnostics.get(uri(path))
                if published is not None and published.version == self.versions[path]:
                    return list(published.diagnostics)
                self._heard.clear()
                await self._heard.wait()


@asynccontextmanager
async def editor(
    folder: Path, options: Mapping[str, Any] | None = None, words: Sequence[str] = SERVER
) -> AsyncGenerator[Editor]:
    """Starts an editor with an open folder and a separate server, which must exit cleanly."""
    client_ = Editor()
    start = cast("Any", client_.client).start_io
    await start(*words, cwd=folder, env=environment())
    server: Any = client_.client._server  # pyright: ignore[reportPrivateUsage]
    try:
        async with asyncio.timeout(PATIENCE):
            await client_.client.initialize_async(
                lsp.InitializeParams(
                    capabilities=CAPABILITIES,
                    root_uri=uri(folder),
                    workspace_folders=[lsp.WorkspaceFolder(uri(folder), folder.name)],
                    initialization_options=dict(options or {}),
                )
            )
        client_.client.initialized(lsp.InitializedParams())
        yield client_
        async with asyncio.timeout(PATIENCE):
            await client_.client.shutdown_async(None)
            client_.client.exit(None)
            await cast("Any", client_.client).stop()
            assert server.returncode == 0, (await server.stderr.read()).decode()
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()
