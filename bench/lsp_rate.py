"""Response times of the language server for each kind of request, on a model of Kafka.

`python -m bench.lsp_rate [MODEL]` copies the models of Kafka to a folder, opens one, and sends
requests. Times are in milliseconds, measured by the client: for a text at rest, and for a text that
has just been changed and must be analysed first.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from lsprotocol import types as lsp
from tests.support.editor import Editor, editor, position
from tests.support.paths import ROOT

KAFKA = ROOT / "models" / "kafka"
ROUNDS = 5
PAUSE = 25.0
"""Time for the server to analyse the other models, some forty, one after the other, in seconds."""

Question = Callable[[], Awaitable[Any]]


def questions(ours: Editor, path: Path) -> Mapping[str, Question]:
    """A request of each kind about the present text."""
    client, doc, text = ours.client, ours.doc(path), ours.texts[path]
    at = position(text, text.index("Coordinator.metadata") + len("Coordinator.m"))
    call = text.index("properties.appends_of_replaced(") + len("properties.appends_of_replaced(")
    inside = position(text, call)
    all_ = lsp.Range(lsp.Position(0, 0), lsp.Position(10**6, 0))
    layout = lsp.FormattingOptions(4, True)
    with_declaration = lsp.ReferenceContext(True)
    return {
        "hover": lambda: client.text_document_hover_async(lsp.HoverParams(doc, at)),
        "definition": lambda: client.text_document_definition_async(lsp.DefinitionParams(doc, at)),
        "references": lambda: client.text_document_references_async(
            lsp.ReferenceParams(with_declaration, doc, at)
        ),
        "rename": lambda: client.text_document_rename_async(
            lsp.RenameParams(doc, at, "what_is_known")
        ),
        "completion": lambda: client.text_document_completion_async(lsp.CompletionParams(doc, at)),
        "signature": lambda: client.text_document_signature_help_async(
            lsp.SignatureHelpParams(doc, inside)
        ),
        "symbols": lambda: client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(doc)
        ),
        "folding": lambda: client.text_document_folding_range_async(lsp.FoldingRangeParams(doc)),
        "tokens": lambda: client.text_document_semantic_tokens_full_async(
            lsp.SemanticTokensParams(doc)
        ),
        "formatting": lambda: client.text_document_formatting_async(
            lsp.DocumentFormattingParams(doc, layout)
        ),
        "code actions": lambda: client.text_document_code_action_async(
            lsp.CodeActionParams(doc, all_, lsp.CodeActionContext([]))
        ),
        "code lens": lambda: client.text_document_code_lens_async(lsp.CodeLensParams(doc)),
    }


async def measured(path: Path) -> dict[str, tuple[list[float], list[float]]]:
    """For each kind of request, the seconds for a text at rest and after a change."""
    times: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    async with editor(path.parent) as ours:
        ours.open(path)
        await ours.wrong(path)
        await asyncio.sleep(PAUSE)
        for _ in range(ROUNDS):
            for name, ask in questions(ours, path).items():
                await ours.answer(name, ask())
                times[name][0].append(ours.took[-1][1])
        for number in range(ROUNDS):
            for name, ask in questions(ours, path).items():
                ours.type(path, f"{ours.texts[path]}# {number}\n")
                await ours.answer(name, ask())
                times[name][1].append(ours.took[-1][1])
                await ours.wrong(path)
    return times


def main() -> int:
    """Prints a table."""
    name = sys.argv[1] if len(sys.argv) > 1 else "txn_core_v1"
    with TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "kafka"
        shutil.copytree(KAFKA, copy)
        times = asyncio.run(measured(copy / f"{name}.fence"))
    print(f"{'milliseconds':<14}{'at rest':>10}{'most':>8}{'changed':>10}{'most':>8}")
    for kind, (rested, changed) in times.items():
        columns = [f"{1000 * median(rested):10.0f}{1000 * max(rested):8.0f}"]
        columns += [f"{1000 * median(changed):10.0f}{1000 * max(changed):8.0f}"]
        print(f"{kind:<14}{''.join(columns)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
