"""Hover texts, and help with the parameters of a call."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types as lsp

from fencepost.checker.lsp.describe import in_markdown, signature
from fencepost.checker.lsp.desk import Desk, View
from fencepost.checker.lsp.patch import patched, word_at
from fencepost.checker.lsp.places import Text
from fencepost.spec.elaborate.ide.references import Declaration
from fencepost.spec.elaborate.values.functions import BUILT_IN
from fencepost.spec.syntax.formatter import keyword_starts
from fencepost.spec.syntax.tokens import CLOSING, NAME, OPENING, Token, scan
from fencepost.spec.syntax.vocabulary import FORMS, PLACES


def hover(view: View, offset: int) -> lsp.Hover | None:
    """Returns the hover text at an offset. It shows the declaration, type, meaning and comment of a
    name, the form of a keyword, or the meaning of a built-in function. For anything else, it shows
    the type of the expression.
    """
    span = view.name_at(offset)
    if span is not None:
        markdown = "\n\n---\n\n".join(
            in_markdown(declaration) for declaration in view.meant(offset)
        )
        types = view.references.type_at(view.source, offset) if view.source else ()
        declared = {kind for declaration in view.meant(offset) for kind in declaration.types}
        if set(types) - declared:
            markdown += f"\n\nhere: {' or '.join(f'`{kind}`' for kind in types)}"
        return _hover(markdown, view.text.range(span.start, span.end))
    text = view.text.text.removeprefix("\ufeff")
    start, end = word_at(text, offset)
    word = text[start:end]
    where = view.text.range(start, end)
    if start in keyword_starts(text) and word in FORMS:
        note = f"\n\n`{word}` {PLACES[word]}." if word in PLACES else ""
        return _hover(f"```fence\n{FORMS[word]}\n```{note}", where)
    if word in BUILT_IN and start not in keyword_starts(text):
        row = BUILT_IN[word]
        return _hover(f"```fence\n{row.form}\n```\n\n{row.meaning}", where)
    types = view.references.type_at(view.source, offset) if view.source else ()
    return _hover(" or ".join(f"`{kind}`" for kind in types), None) if types else None


def _hover(text: str, where: lsp.Range | None) -> lsp.Hover:
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), where)


async def signatures(desk: Desk, path: Path, shown: Text, offset: int) -> lsp.SignatureHelp | None:
    """Returns the parameters of the call around an offset, and marks the active one. Returns None
    if there is no such call.
    """
    text = shown.text.removeprefix("\ufeff")
    call = _call(text, offset)
    if call is None:
        return None
    callee, argument, named = call
    if callee.text in BUILT_IN:
        row = BUILT_IN[callee.text]
        written = lsp.SignatureInformation(row.form, documentation=row.meaning)
        return lsp.SignatureHelp([written], 0, 0)
    rows: list[lsp.SignatureInformation] = []
    for declaration in await _declarations(desk, path, text, callee, offset):
        signed = signature(declaration)
        if signed is None:
            continue
        label, parameters = signed
        active = next((n for n, p in enumerate(parameters) if p.split(":")[0] == named), argument)
        rows.append(
            lsp.SignatureInformation(
                label,
                declaration.docstring,
                [lsp.ParameterInformation(declaration) for declaration in parameters],
                active_parameter=min(active, max(len(parameters) - 1, 0)),
            )
        )
    return lsp.SignatureHelp(rows, 0, rows[0].active_parameter) if rows else None


async def _declarations(
    desk: Desk, path: Path, text: str, callee: Token, offset: int
) -> tuple[Declaration, ...]:
    """Returns the declarations of the called name. If the text is incomplete at the cursor, looks
    them up in a completed text.
    """
    view = desk.known(path)
    meant = () if view is None else view.meant(callee.start)
    if meant:
        return meant
    patch = patched(text, offset)
    if patch is None:
        return ()
    whole = await desk.with_texts(path, {path: patch.text})
    return whole.meant(callee.start)


def _call(text: str, offset: int) -> tuple[Token, int, str] | None:
    """Finds the innermost open call at an offset. Returns the name of the call, the index of the
    argument at the offset, and the name of this argument or "". Returns None if there is no open
    call.
    """
    start = text.rfind("\n\n", 0, offset) + 1
    open_: list[tuple[int, int, int]] = []
    tokens = [token for token in scan(text[start:offset]) if token.kind not in ("COMMENT", "BREAK")]
    for number, token in enumerate(tokens):
        if token.kind in OPENING:
            open_.append((number, 0, number + 1))
        elif token.kind in CLOSING and open_:
            open_.pop()
        elif token.kind == "," and open_:
            opened, count, _ = open_[-1]
            open_[-1] = (opened, count + 1, number + 1)
    for opened, count, first in reversed(open_):
        before = tokens[opened - 1] if opened else None
        if tokens[opened].kind == "(" and before is not None and before.kind == NAME:
            named = ""
            if first + 1 < len(tokens) and tokens[first + 1].kind == ":":
                named = tokens[first].text
            moved = before._replace(start=before.start + start, end=before.end + start)
            return moved, count, named
    return None
