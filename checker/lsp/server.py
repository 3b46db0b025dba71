"""The server: the requests of the protocol that it answers, and the events that update documents.

The other modules of this package compute the answers.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from fencepost import __version__
from fencepost.checker.lsp import completion, hover, lenses, renaming
from fencepost.checker.lsp.colours import LEGEND, tokens
from fencepost.checker.lsp.cures import cures
from fencepost.checker.lsp.desk import Desk, Document, Stale, View
from fencepost.checker.lsp.diagnostics import shown
from fencepost.checker.lsp.greeting import Greeted
from fencepost.checker.lsp.marks import marks
from fencepost.checker.lsp.outline import folds, symbols
from fencepost.checker.lsp.places import Edits, Text, path_of, uri_of
from fencepost.checker.lsp.rewriting import layout
from fencepost.checker.lsp.runs import Runs, Verdict
from fencepost.checker.lsp.watch import Watch, stored
from fencepost.spec.text.library import SUFFIX, is_folder, read, real
from fencepost.spec.text.problem import Rejected

_REFUSED = -32803
"""The protocol's code RequestFailed, for a valid request that cannot be fulfilled."""
_CHANGED = -32801
"""The protocol's code ContentModified, for a text that has changed since the request."""
OLD_GENERATION_THRESHOLD = 1_000
"""The threshold that keeps the garbage collector from the oldest generation. `Watch` collects it
when the user pauses.
"""


def serve() -> None:
    """Serves the protocol on standard input and output until the client ends the session."""
    # Errors go to standard error, which clients log. All other output goes there, too: on standard
    # output, it would appear between the protocol's messages.
    logging.basicConfig(level=logging.ERROR)
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, OLD_GENERATION_THRESHOLD)
    output = os.dup(1)
    os.dup2(2, 1)
    service = Service()
    protocol = service.server.protocol
    greeted = getattr(getattr(sys.stdin, "buffer", None), "raw", None)
    if isinstance(greeted, Greeted) and isinstance(protocol, Protocol):
        protocol.answered = greeted.answered
        source = sys.stdin.buffer
    else:
        source = os.fdopen(os.dup(0), "rb")
    with source as input_stream, os.fdopen(output, "wb") as output_stream:
        service.server.start_io(input_stream, output_stream)


class Protocol(LanguageServerProtocol):
    """The protocol, extended so that requests with invalid parameters are answered, and so that the
    request with the id ``answered`` is not answered again.
    """

    answered: object = None

    def _send_response(
        self, msg_id: int | str, result: Any | None = None, error: Any | None = None
    ) -> None:
        if msg_id == self.answered:
            self.answered = None
            self._result_types.pop(msg_id, None)
        else:
            super()._send_response(msg_id, result, error)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Converts a JSON object to a message. Raises `JsonRpcException` if the parameters are
        invalid.
        """
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


class Service:
    """The state of a session: the desk, the runs, and the published diagnostics."""

    def __init__(self) -> None:
        self.server = LanguageServer(
            "fencepost",
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
            protocol_cls=Protocol,
        )
        self.desk = Desk()
        self.runs = Runs(())
        self.watch = Watch(self.desk, self.server.text_document_publish_diagnostics)
        self.trace_form = "page"
        self._register()

    def _register(self) -> None:
        features: dict[str, tuple[Callable[..., Any], Any]] = {
            lsp.INITIALIZE: (self.initialize, None),
            lsp.SHUTDOWN: (self.shutdown, None),
            lsp.TEXT_DOCUMENT_DID_OPEN: (self.opened, None),
            lsp.TEXT_DOCUMENT_DID_CHANGE: (self.changed, None),
            lsp.TEXT_DOCUMENT_DID_CLOSE: (self.closed, None),
            lsp.TEXT_DOCUMENT_DID_SAVE: (self.saved, None),
            lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: (self.files_changed, None),
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (self.folders_changed, None),
            lsp.TEXT_DOCUMENT_HOVER: (self.hover, None),
            lsp.TEXT_DOCUMENT_DEFINITION: (self.definition, None),
            lsp.TEXT_DOCUMENT_REFERENCES: (self.references, None),
            lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (self.highlights, None),
            lsp.TEXT_DOCUMENT_PREPARE_RENAME: (self.prepare_rename, None),
            lsp.TEXT_DOCUMENT_RENAME: (self.rename, lsp.RenameOptions(prepare_provider=True)),
            lsp.TEXT_DOCUMENT_COMPLETION: (
                self.completion,
                lsp.CompletionOptions(trigger_characters=["."]),
            ),
            lsp.TEXT_DOCUMENT_SIGNATURE_HELP: (
                self.signature_help,
                lsp.SignatureHelpOptions(trigger_characters=["(", ","]),
            ),
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (self.symbols, None),
            lsp.TEXT_DOCUMENT_FOLDING_RANGE: (self.folding, None),
            lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (self.tokens, LEGEND),
            lsp.TEXT_DOCUMENT_FORMATTING: (self.formatting, None),
            lsp.TEXT_DOCUMENT_CODE_ACTION: (
                self.actions,
                lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]),
            ),
            lsp.TEXT_DOCUMENT_CODE_LENS: (self.lenses, lsp.CodeLensOptions()),
        }
        for name, (handler, options) in features.items():
            self.server.feature(name, options)(_function(handler))
        for name, handler in (
            (lenses.RUN, self.run),
            (lenses.STOP, self.stop),
            (lenses.TRACE, self.trace),
        ):
            self.server.command(name)(_function(handler))

    # ------------------------------------------------------------ the session

    def initialize(self, params: lsp.InitializeParams) -> None:
        """Reads the folders and the options of the client. ``path`` lists additional folders for
        modules, ``delay`` is in milliseconds, and ``everyCheck`` is explained in `Watch`. ``trace``
        is the form of "show trace": page, text, or client. A client that chooses the latter
        receives the files and shows them itself.
        """
        options = _table(params.initialization_options)
        uris = [folder.uri for folder in params.workspace_folders or ()]
        uris += [params.root_uri] if params.root_uri and not uris else []
        self.desk.folders = [path for uri in uris if (path := path_of(uri)) is not None]
        base = self.desk.folders[0] if self.desk.folders else Path.cwd()
        paths = options.get("path")
        listed: list[Any] = [paths] if isinstance(paths, str) else _listed(paths)
        folders = [base / folder for folder in listed if isinstance(folder, str)]
        self.desk.search = tuple(folder for folder in folders if is_folder(folder))
        self.runs.search = self.desk.search
        delay = options.get("delay")
        if isinstance(delay, int | float) and 0 <= delay <= 60_000:
            self.watch.delay = delay / 1000
        self.watch.every_check = options.get("everyCheck") is not False
        if options.get("trace") in ("page", "text", "client"):
            self.trace_form = str(options["trace"])

    def shutdown(self, params: object) -> None:
        """Ends all activity."""
        self.watch.close()
        self.runs.close()
        self.desk.close()

    def _path(self, uri: str) -> Path:
        """Returns the resolved path of a document. If the document has no file, returns a path in
        the first folder.
        """
        path = path_of(uri)
        if path is not None:
            return real(path)
        folder = self.desk.folders[0] if self.desk.folders else Path.cwd()
        name = "".join(char if char.isalnum() else "_" for char in uri)
        return real(folder) / f"{name}{SUFFIX}"

    # ------------------------------------------------------------ texts

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Handles the opening of a document: surveys it and examines all of its checks."""
        self.desk.encoding = str(self.server.workspace.position_encoding or "utf-16")
        document = params.text_document
        path = self._path(document.uri)
        self.desk.put(Document(document.uri, path, document.text, document.version))
        self.watch.opened(path)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Handles a change of a text: surveys the text and the open documents that may import it
        after a pause.
        """
        path = self._path(params.text_document.uri)
        document = self.desk.documents.get(path)
        if document is None:
            return
        text = self.server.workspace.get_text_document(params.text_document.uri).source
        version = params.text_document.version
        self.desk.put(Document(document.uri, path, text, version))
        self.watch.changed(path)

    def saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Handles the saving of a file: examines all of its checks."""
        self.watch.saved(self._path(params.text_document.uri))

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Handles the closing of a document: uses the file on disk again, and withdraws the
        document's diagnostics.
        """
        path = self._path(params.text_document.uri)
        self.desk.take(path)
        self.watch.closed(path)

    def files_changed(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        """Handles a change of files on disk."""
        self.desk.forget()
        self.watch.look()

    def folders_changed(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        """Handles the opening and closing of folders."""
        uris = [folder.uri for folder in self.server.workspace.folders.values()]
        self.desk.folders = [path for uri in uris if (path := path_of(uri)) is not None]

    # ------------------------------------------------------------ requests

    async def _view(self, uri: str) -> View:
        return await self.desk.view(self._path(uri))

    async def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """Returns the text for the name under the mouse, see `hover.hover`."""
        view = await self._view(params.text_document.uri)
        return hover.hover(view, view.text.offset(params.position))

    async def definition(self, params: lsp.DefinitionParams) -> list[lsp.Location]:
        """Returns the declarations of the name at the cursor, in any file."""
        view = await self._view(params.text_document.uri)
        locations: list[lsp.Location] = []
        for declaration in view.meant(view.text.offset(params.position)):
            path = view.path_of(declaration.span.source)
            if path is not None:
                text = self.desk.text(path, declaration.span.source.text)
                where = text.range(declaration.span.start, declaration.span.end)
                locations.append(lsp.Location(self._uri(path), where))
        return locations

    async def references(self, params: lsp.ReferenceParams) -> list[lsp.Location]:
        """Returns the uses of the name at the cursor in the specs of the open folders."""
        view = await self._view(params.text_document.uri)
        offset = view.text.offset(params.position)
        declared, places = await renaming.uses(self.desk, view, offset)
        if params.context.include_declaration:
            places |= declared
        texts = self._texts(view, {path for path, _, _ in places})
        return [
            lsp.Location(self._uri(path), texts[path].range(start, end))
            for path, start, end in sorted(places)
        ]

    async def highlights(self, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        """Returns the uses of the name at the cursor in this file."""
        view = await self._view(params.text_document.uri)
        meant = view.meant(view.text.offset(params.position))
        spans = [
            declaration.span for declaration in meant if declaration.span.source is view.source
        ]
        spans += [
            span
            for span, several in view.references.uses.items()
            if span.source is view.source and any(declaration in meant for declaration in several)
        ]
        return [
            lsp.DocumentHighlight(view.text.range(declaration.start, declaration.end))
            for declaration in spans
            if declaration.end > declaration.start
        ]

    async def prepare_rename(self, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
        """Returns the name at the cursor. Raises `Refused` if it cannot be renamed."""
        view = await self._view(params.text_document.uri)
        offset = view.text.offset(params.position)
        span = renaming.renamable(view, offset)
        return lsp.PrepareRenamePlaceholder(view.text.range(span.start, span.end), span.text)

    async def rename(self, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        """Renames the name at the cursor, see `renaming.renamed`."""
        view = await self._view(params.text_document.uri)
        offset = view.text.offset(params.position)
        changes = await renaming.renamed(self.desk, view, offset, params.new_name)
        texts = self._texts(view, set(changes))
        return lsp.WorkspaceEdit(
            {self._uri(path): texts[path].edits(edits) for path, edits in changes.items()}
        )

    async def completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        """Returns the completions at the cursor, see `completion.completions`."""
        path = self._path(params.text_document.uri)
        text = self.desk.text(path, "")
        items = await completion.completions(self.desk, path, text, text.offset(params.position))
        return lsp.CompletionList(False, items)

    async def signature_help(self, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        """Returns help with the call at the cursor, see `hover.signatures`."""
        path = self._path(params.text_document.uri)
        text = self.desk.text(path, "")
        return await hover.signatures(self.desk, path, text, text.offset(params.position))

    async def symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        """Returns the symbols of a file, see `outline.symbols`."""
        return symbols(await self._view(params.text_document.uri))

    def folding(self, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        """Returns the folding ranges of a file, see `outline.folds`."""
        document = self.desk.documents.get(self._path(params.text_document.uri))
        return [] if document is None else folds(Text(document.text, self.desk.encoding))

    async def tokens(self, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        """Returns the semantic tokens of a file, see `colours.tokens`."""
        return lsp.SemanticTokens(tokens(await self._view(params.text_document.uri)))

    def formatting(self, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        """Returns the edits that `fencepost fmt` would make. Returns none if the text has syntax
        errors.
        """
        document = self.desk.documents.get(self._path(params.text_document.uri))
        if document is None:
            return []
        return Text(document.text, self.desk.encoding).edits(layout(document.text))

    async def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Returns the quick fixes for the problems in a range."""
        view = await self._view(params.text_document.uri)
        start, end = view.text.offset(params.range.start), view.text.offset(params.range.end)
        fixes: list[lsp.CodeAction] = []
        for problem in view.problems:
            span = problem.span
            if span is None or span.source is not view.source:
                continue
            if span.start > end or max(span.end, span.start) < start:
                continue
            own = shown(self.desk, view, marks([problem]))[view.path]
            for number, cure in enumerate(cures(view, problem)):
                edits: Edits = cure.edits
                fixes.append(
                    lsp.CodeAction(
                        cure.title,
                        lsp.CodeActionKind.QuickFix,
                        own,
                        is_preferred=number == 0,
                        edit=lsp.WorkspaceEdit({params.text_document.uri: view.text.edits(edits)}),
                    )
                )
        return fixes

    async def lenses(self, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        """Returns the code lenses of a file, see `lenses.lenses`."""
        view = await self._view(params.text_document.uri)
        return list(lenses.lenses(view, params.text_document.uri, self.runs))

    def _uri(self, path: Path) -> str:
        document = self.desk.documents.get(path)
        return uri_of(path) if document is None else document.uri

    def _texts(self, view: View, paths: set[Path]) -> Mapping[Path, Text]:
        """Returns the texts of files, with positions in the client's encoding."""
        files = {} if view.survey is None else view.survey.files.files
        texts: dict[Path, Text] = {}
        for path in paths:
            tree = files.get(path)
            try:
                text = read(path, self.desk.texts()).text if tree is None else tree.source.text
            except Rejected:
                text = ""
            texts[path] = self.desk.text(path, text)
        return texts

    # ------------------------------------------------------------ commands

    async def run(self, uri: str, check: str) -> dict[str, Any] | None:
        """Runs a check of a saved file and reports its verdict."""
        path = self._path(uri)
        document = self.desk.documents.get(path)
        if document is not None and stored(path) != document.text.removeprefix("\ufeff"):
            self._say(f"{path.name} has changes that are not saved; save it, and run it then")
            return None
        view = await self.desk.view(path)
        going = asyncio.ensure_future(self.runs.run(path, check, lenses.texts_of(view)))
        await asyncio.sleep(0)
        self._refresh()
        verdict = await going
        self._refresh()
        kind = lsp.MessageType.Info if verdict.as_expected else lsp.MessageType.Warning
        self._say(f"{check or path.name}: {verdict.line}", kind)
        return _summary(verdict)

    async def stop(self, uri: str, check: str) -> bool:
        """Stops the run of a check. Returns whether there was such a run."""
        stopped = self.runs.stop(self._path(uri), check)
        self._refresh()
        return stopped

    async def trace(self, uri: str, check: str) -> dict[str, str] | None:
        """Shows the trace of the last run of a check. Returns the URIs of its page and its text, or
        None if there is no trace.
        """
        verdict = self.runs.verdicts.get((self._path(uri), check))
        if verdict is None or verdict.trace is None:
            self._say(f"no run of {check or 'this spec'} has found a trace yet")
            return None
        try:
            text = self.runs.text(verdict)
            page = text if self.trace_form == "text" else self.runs.page(verdict)
        except (Rejected, OSError) as error:
            self._say(str(error), lsp.MessageType.Error)
            return None
        window = self.server.client_capabilities.window
        if self.trace_form == "client":
            pass
        elif window is not None and window.show_document is not None:
            self.server.window_show_document(
                lsp.ShowDocumentParams(uri_of(page), external=page != text, take_focus=True)
            )
        else:
            self._say(f"the trace is in {page}")
        return {"page": uri_of(page), "text": uri_of(text)}

    def _say(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        self.server.window_show_message(lsp.ShowMessageParams(kind, text))

    def _refresh(self) -> None:
        """Asks the client to reload the lenses, if it supports that."""
        workspace = self.server.client_capabilities.workspace
        lens = None if workspace is None else workspace.code_lens
        if lens is not None and lens.refresh_support:
            self.server.workspace_code_lens_refresh(None)


def _table(value: Any) -> dict[str, Any]:
    """Returns the settings of a client as a table, which is empty if they are not one."""
    return dict(value) if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownArgumentType]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType]


def _function(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a method in a function. Registration sets attributes, which a method cannot have."""
    if not inspect.iscoroutinefunction(method):
        return lambda *arguments: method(*arguments)

    async def called(*arguments: Any) -> Any:
        try:
            return await method(*arguments)
        except Stale:
            raise JsonRpcException("the text has changed in the meantime", _CHANGED) from None
        except renaming.Refused as refused:
            raise JsonRpcException(str(refused), _REFUSED) from None

    return called


def _summary(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.line,
        "asExpected": verdict.as_expected,
        "trace": verdict.trace is not None,
    }
