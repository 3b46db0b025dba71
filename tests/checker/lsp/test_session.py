"""Sessions with the language server over the protocol, with requests, random edits and runs of
checks.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from tests.support.command import run
from tests.support.editor import SERVER, Editor, edited, editor, offset, position, uri
from tests.support.paths import ROOT
from tests.support.processes import finished

from fencepost.checker.cli import lsp as lsp_command
from fencepost.checker.run.session import plan
from fencepost.checker.run.settings import Request
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.source import Source

KAFKA = ROOT / "models" / "kafka"
FORMAT = lsp.FormattingOptions(4, True)
EDITS = int(os.environ.get("FENCEPOST_EDITS", "25"))
"""The number of random edits. Long manual runs use a thousand."""


def test_a_session_on_a_model_of_kafka(tmp_path: Path) -> None:
    """A session edits, completes, renames, formats and requests lenses with correct answers."""
    shutil.copytree(KAFKA / "lib", tmp_path / "lib")
    shutil.copy(KAFKA / "txn_core_v1.fence", tmp_path)
    asyncio.run(_session(tmp_path.resolve()))


async def _session(folder: Path) -> None:
    model, library = folder / "txn_core_v1.fence", folder / "lib" / "transaction_metadata.fence"
    # Building all forty checks takes a long time and is not needed, since this test breaks none.
    async with editor(folder, {"everyCheck": False}) as ours:
        client, doc = ours.client, ours.doc(model)
        ours.open(model)
        text = ours.texts[model]
        assert await ours.wrong(model) == []

        # A misspelling is reported with its position and a suggested fix.
        right = "Coordinator.metadata.state == CompleteCommit\n"
        ours.type(model, text.replace(right, right.replace("CompleteCommit", "CompleteComit"), 1))
        (wrong,) = await ours.wrong(model)
        assert (wrong.code, wrong.severity) == ("F211", lsp.DiagnosticSeverity.Error) or (
            wrong.code == "F201"
        )
        assert wrong.range.start == ours.at(model, "CompleteComit\n")
        actions = await ours.answer(
            client.text_document_code_action_async(
                lsp.CodeActionParams(doc, wrong.range, lsp.CodeActionContext([wrong]))
            ),
        )
        (action,) = list(actions or ())
        assert isinstance(action, lsp.CodeAction)
        assert action.edit is not None
        assert action.edit.changes is not None
        assert edited(ours.texts[model], action.edit.changes[uri(model)]) == text

        # An incomplete name is completed.
        ours.type(model, text.replace(right, "Coordinator.metadata.\n", 1))
        cursor = ours.at(model, "Coordinator.metadata.\n", len("Coordinator.metadata."))
        listed = await ours.answer(
            client.text_document_completion_async(lsp.CompletionParams(doc, cursor))
        )
        assert isinstance(listed, lsp.CompletionList)
        labels = [item.label for item in listed.items]
        assert {"state", "epoch", "producer_id"} <= set(labels)
        assert "S1" not in labels

        ours.type(model, text)
        assert await ours.wrong(model) == []
        rule = ours.at(model, "coordinator_rules.may_follow(", len("coordinator_rules.m"))
        hovered = await ours.answer(client.text_document_hover_async(lsp.HoverParams(doc, rule)))
        assert hovered is not None
        assert isinstance(hovered.contents, lsp.MarkupContent)
        assert "def may_follow(" in hovered.contents.value
        places = await ours.answer(
            client.text_document_definition_async(lsp.DefinitionParams(doc, rule))
        )
        assert isinstance(places, list | tuple)
        (place_of_rule,) = places
        assert isinstance(place_of_rule, lsp.Location)
        assert place_of_rule.uri == uri(library)
        used = await ours.answer(
            client.text_document_references_async(
                lsp.ReferenceParams(lsp.ReferenceContext(True), doc, rule)
            ),
        )
        texts = {uri(p): p.read_text(encoding="utf-8") for p in folder.rglob("*.fence")}
        assert used is not None
        assert len(used) == sum(text_.count("may_follow") for text_ in texts.values())

        # Renaming changes both files, and changes nothing except the name.
        change = await ours.answer(
            client.text_document_rename_async(lsp.RenameParams(doc, rule, "can_come_after")),
        )
        assert change is not None
        assert change.changes is not None
        assert len(change.changes) == 2
        for address, edits in change.changes.items():
            new = edited(texts[address], edits)
            assert new == texts[address].replace("may_follow", "can_come_after"), address
            # The client writes files that are not open, as editors do.
            path = next(p for p in folder.rglob("*.fence") if uri(p) == address)
            if path == model:
                ours.type(model, new)
            else:
                path.write_text(new, encoding="utf-8")
        ours.save(model)
        assert await ours.wrong(model) == []

        ours.type(model, ours.texts[model].replace("invariant S2: ", "invariant   S2 :", 1))
        laid = await ours.answer(
            client.text_document_formatting_async(lsp.DocumentFormattingParams(doc, FORMAT)),
        )
        assert laid is not None
        assert len(laid) == 1
        assert edited(ours.texts[model], laid) == formatted(Source("", ours.texts[model]))

        seen = await ours.answer(client.text_document_code_lens_async(lsp.CodeLensParams(doc)))
        assert seen is not None
        titles = [lens.command.title for lens in seen if lens.command is not None]
        assert titles == ["run"] * sum(line.startswith("check ") for line in text.split("\n"))


RACE = '''\
"""A counter that two workers raise. 🦀"""
import steps as 𝑠𝑡𝑒𝑝
import steps as step
enum Worker: Ada, Ben
record Place: at: 0..2, busy: bool
union Message: Ask(who: Worker), Answer(n: 0..2)
channel net: Message capacity 2
const Most: int = 2
var counter: 0..Most = 0
role Client[w: Worker]:
    var place: Place = Place(at: 0, busy: false)  # where "🦀" sits
    action ask:
        require not place.busy and step.small(place.at)
        place.busy = true
        send Ask(w) to net
    action hear on Answer(n) from net:
        if n < Most:
            place.at = n
            return
        place.busy = false
action serve on Ask(who) from net:
    match who:
        case Ada: counter = 1
        case Ben: skip
    send Answer(counter) to net
invariant Low: forall w in Worker: Client[w].place.at <= counter
terminal: true
check every:
    expect ok
'''.replace("import steps as 𝑠𝑡𝑒𝑝\n", "")
STEPS = "def small(n: 0..2): bool = n < 2\n"
PIECES = [
    "(", ")", "[", "]", "}", ":", " ", "\n", "    ", "=", "==", ".", "x", "w", "0", "🦀", "\t", "#",
    '"', '"""', "require ", "if ", "forall q in Worker: ", "\r\n", "\r", "\u2028", "é", "send ",
    "check d:\n    expect violated Low\n", "\ufeff", "\x0b", "import steps\n", "not ", "𝑠",
]  # fmt: skip


def random_edit(text: str, draw: random.Random) -> str:
    """Returns the text with a random part removed, inserted, doubled or moved."""
    start = draw.randrange(len(text) + 1)
    end = min(len(text), start + draw.choice((0, 0, 1, 3, 20)))
    new = draw.choice([*PIECES, "", "", text[start:end] * 2, text[end : end + 30]])
    return text[:start] + new + text[end:]


def test_random_edits(tmp_path: Path) -> None:
    """Random edits never end the server, which reports the same problems as the command does for
    the saved file.
    """
    (tmp_path / "steps.fence").write_text(STEPS, encoding="utf-8")
    asyncio.run(_random_edits(tmp_path.resolve() / "race.fence", EDITS))


async def _random_edits(path: Path, count: int) -> None:
    draw = random.Random(20)
    path.write_text(RACE, encoding="utf-8")
    async with editor(path.parent, {"delay": 0}) as ours:
        ours.open(path)
        assert await ours.wrong(path) == []
        text = RACE
        wrong = 0
        for number in range(count):
            # Most edits start from the valid text, since an entirely broken text tests little.
            text = random_edit(text if number % 3 else RACE, draw)
            ours.type(path, text)
            await _ask_something(ours, path, text, draw)
            path.write_bytes(text.encode("utf-8"))
            problems = [
                problem for problem in plan(Request((path,))).problems if not problem.warning
            ]
            expected = {
                (problem.code, None if problem.span is None else problem.span.start)
                for problem in problems
            }
            shift = text.startswith("\ufeff")
            reported = {
                (diagnostic.code, offset_of(text, diagnostic.range.start) - shift)
                for diagnostic in await ours.wrong(path)
                if diagnostic.severity == lsp.DiagnosticSeverity.Error
            }
            where = {(code, 0 if start is None else start) for code, start in expected}
            assert {(code, max(start, 0)) for code, start in reported} == where, text
            wrong += bool(where)
        assert wrong > count // 2


def offset_of(text: str, cursor: lsp.Position) -> int:
    """Returns the offset of a position in a text that may mix all kinds of line endings."""
    plain = text.replace("\r\n", "\x00\n").replace("\r", "\n").replace("\x00\n", "\r\n")
    return offset(plain, cursor)


async def _ask_something(ours: Editor, path: Path, text: str, draw: random.Random) -> None:
    """Sends a random request at a random position. A refusal is a valid answer."""
    client, doc = ours.client, ours.doc(path)
    start = draw.randrange(len(text) + 1)
    cursor = position(text, start)
    here = lsp.Range(cursor, position(text, min(len(text), start + 20)))
    context = lsp.CodeActionContext([])
    with_declaration = lsp.ReferenceContext(True)
    questions: list[Callable[[], Awaitable[object]]] = [
        lambda: client.text_document_hover_async(lsp.HoverParams(doc, cursor)),
        lambda: client.text_document_completion_async(lsp.CompletionParams(doc, cursor)),
        lambda: client.text_document_signature_help_async(lsp.SignatureHelpParams(doc, cursor)),
        lambda: client.text_document_definition_async(lsp.DefinitionParams(doc, cursor)),
        lambda: client.text_document_references_async(
            lsp.ReferenceParams(with_declaration, doc, cursor)
        ),
        lambda: client.text_document_rename_async(lsp.RenameParams(doc, cursor, "new_name")),
        lambda: client.text_document_document_symbol_async(lsp.DocumentSymbolParams(doc)),
        lambda: client.text_document_folding_range_async(lsp.FoldingRangeParams(doc)),
        lambda: client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(doc)),
        lambda: client.text_document_formatting_async(lsp.DocumentFormattingParams(doc, FORMAT)),
        lambda: client.text_document_code_action_async(lsp.CodeActionParams(doc, here, context)),
        lambda: client.text_document_code_lens_async(lsp.CodeLensParams(doc)),
    ]
    try:
        await ours.answer(draw.choice(questions)())
    except JsonRpcException as refused:
        if refused.code != -32803:
            raise


def test_no_other_command_loads_the_server_library() -> None:
    code = (
        "import sys, fencepost.checker.cli.main as main\n"
        "main.main(['fmt', '--help'])\n"
        "assert not {'pygls', 'lsprotocol'} & sys.modules.keys(), 'loaded'"
    )
    done = finished(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr


def test_without_the_library_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        del name

    monkeypatch.setattr(lsp_command, "find_spec", absent)
    ran = run("lsp", folder=tmp_path)
    assert (ran.code, ran.stdout) == (151, "")
    assert "pip install 'fencepost[lsp]'" in ran.stderr


SEVERAL = """\
var x: 0..3 = 0
const N: int = 3
action up:
    require x < N
    x += 1
terminal: true
invariant Low: x < 3
check low:
    expect violated Low
check other:
    const N = true
    expect ok
"""


def test_checks_are_run(tmp_path: Path) -> None:
    """The lens of a check runs it on the saved file and shows its trace. A mistake in another check
    is reported when the file is saved.
    """
    asyncio.run(_runs(tmp_path.resolve() / "several.fence"))


async def _runs(path: Path) -> None:
    path.write_text(SEVERAL, encoding="utf-8")
    async with editor(path.parent, {"delay": 0}) as ours:
        client, doc = ours.client, ours.doc(path)

        async def titles() -> list[str]:
            lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(doc))
            return [lens.command.title for lens in lenses or () if lens.command is not None]

        async def command(name: str) -> object:
            arguments = [uri(path), "low"]
            asked = client.workspace_execute_command_async(
                lsp.ExecuteCommandParams(name, arguments)
            )
            return await ours.answer(asked)

        ours.open(path)
        while not await ours.wrong(path):
            # The background process that builds all checks takes a while.
            await asyncio.sleep(0.05)
        (wrong,) = await ours.wrong(path)
        assert wrong.range.start == ours.at(path, "true\n    expect")
        right = SEVERAL.replace("const N = true", "const N = 2")
        ours.type(path, right)
        assert await ours.wrong(path) == []

        assert await command("fencepost.run") is None
        assert "not saved" in ours.messages[-1]
        ours.save(path)
        assert await titles() == ["run", "run"]
        assert await command("fencepost.run") is not None
        first, trace, verdict, second = await titles()
        assert (first, trace, second) == ("run", "show trace", "run")
        assert verdict.startswith("violated Low, as expected: ")
        assert ours.messages[-1] == f"low: {verdict}"
        shown = await command("fencepost.trace")
        assert shown is not None
        (page,) = ours.shown
        assert page.endswith(".html")
        # The lenses were refreshed before the next answer arrived.
        assert ours.refreshed >= 2
        ours.type(path, f"{right}# changed\n")
        assert (await titles())[2].endswith("(before the last change)")


INVALID_POSITIONS: tuple[object, ...] = (
    {"line": -1, "character": 0},
    {"line": 0, "character": -1},
    {"line": 1 << 31, "character": 0},
    {"line": "one", "character": 0},
    {"line": 0},
    None,
    [],
)
POSITIONED = (
    lsp.TEXT_DOCUMENT_HOVER,
    lsp.TEXT_DOCUMENT_DEFINITION,
    lsp.TEXT_DOCUMENT_REFERENCES,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,
    lsp.TEXT_DOCUMENT_PREPARE_RENAME,
    lsp.TEXT_DOCUMENT_RENAME,
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
    lsp.TEXT_DOCUMENT_CODE_ACTION,
)
OTHERS = (
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
    lsp.TEXT_DOCUMENT_FORMATTING,
    lsp.TEXT_DOCUMENT_CODE_LENS,
    lsp.WORKSPACE_EXECUTE_COMMAND,
)


def test_requests_with_invalid_parameters_are_answered_with_errors(tmp_path: Path) -> None:
    """The test sends raw messages, since the client library would not write such requests."""
    document = {"uri": uri(tmp_path / "a.fence")}
    cases: list[tuple[str, object]] = [
        (
            method,
            {
                "textDocument": document,
                "position": invalid,
                "range": {"start": invalid, "end": invalid},
                "context": {"includeDeclaration": True, "diagnostics": []},
                "newName": "b",
            },
        )
        for method in POSITIONED
        for invalid in INVALID_POSITIONS
    ]
    cases += [(method, {"textDocument": 1, "command": 1}) for method in OTHERS]
    begin: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}
    asked = [(lsp.INITIALIZE, begin), *cases, (lsp.SHUTDOWN, None)]
    sent = b""
    for number, (method, params) in enumerate(asked):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        body = json.dumps(request).encode()
        sent += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    body = json.dumps({"jsonrpc": "2.0", "method": lsp.EXIT}).encode()
    sent += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    ended = subprocess.run(SERVER, input=sent, capture_output=True, timeout=120, check=False)
    answers: dict[int, dict[str, object]] = {}
    rest = ended.stdout
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        (size,) = re.findall(rb"Content-Length: (\d+)", head)
        message = json.loads(rest[: int(size)])
        rest = rest[int(size) :]
        if "id" in message and "method" not in message:
            answers[message["id"]] = message
    silent = [asked[n] for n in range(len(asked)) if n not in answers]
    assert silent == []
    accepted = [case for n, case in enumerate(cases, start=1) if "error" not in answers[n]]
    assert accepted == []
