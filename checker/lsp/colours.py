"""Semantic tokens: determines the kind of each word in a text from the lexer, the grammar and the
survey.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from fencepost.checker.lsp.desk import View
from fencepost.spec.elaborate.ide.references import Kind
from fencepost.spec.elaborate.values.functions import BUILT_IN
from fencepost.spec.syntax.formatter import keyword_starts
from fencepost.spec.syntax.tokens import COMMENT, DOCSTRING, INTEGER, NAME, STRING, Token, scan

TYPES = (
    "namespace", "type", "class", "enumMember", "property", "variable", "parameter", "function",
    "method", "event", "keyword", "comment", "string", "number", "interface",
)  # fmt: skip
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
LEGEND = lsp.SemanticTokensLegend(TYPES, MODIFIERS)

_PLAIN = {COMMENT: "comment", DOCSTRING: "string", STRING: "string", INTEGER: "number"}
_KINDS: dict[Kind, str] = {
    "constant": "variable",
    "type": "type",
    "enum member": "enumMember",
    "variant": "enumMember",
    "field": "property",
    "variable": "variable",
    "channel": "interface",
    "role": "class",
    "action": "method",
    "fairness": "function",
    "def": "function",
    "procedure": "method",
    "parameter": "parameter",
    "local": "variable",
    "property": "function",
    "module": "namespace",
    "check": "event",
    "scenario": "event",
}
_READONLY = ("constant", "parameter", "local", "enum member")


def tokens(view: View) -> list[int]:
    """Returns the tokens of a file in the protocol's encoding, which uses five numbers for each
    token.
    """
    data: list[int] = []
    line = column = 0
    for token, kind, modifiers in _known(view):
        start = token.start
        for part in token.text.split("\n"):
            position = view.text.position(start)
            width = view.text.units(start, start + len(part.rstrip("\r")))
            start += len(part) + 1
            if not width:
                continue
            behind = position.character - (column if position.line == line else 0)
            bits = sum(1 << MODIFIERS.index(modifier) for modifier in modifiers)
            data += [position.line - line, behind, width, TYPES.index(kind), bits]
            line, column = position.line, position.character
    return data


def _known(view: View) -> Iterator[tuple[Token, str, tuple[str, ...]]]:
    text = view.text.text.removeprefix("\ufeff")
    uses = {s.start: m for s, m in view.references.uses.items() if s.source is view.source}
    declared = {
        s.start: d
        for s, d in view.references.declarations.items()
        if s.source is view.source and s.end > s.start
    }
    keywords = keyword_starts(text)
    for token in scan(text):
        if token.kind in _PLAIN:
            yield token, _PLAIN[token.kind], ()
        elif token.kind != NAME:
            continue
        elif token.start in keywords:
            yield token, "keyword", ()
        elif token.start in declared or token.start in uses:
            declaring = token.start in declared
            declaration = declared[token.start] if declaring else uses[token.start][0]
            modifiers = ("declaration",) if declaring else ()
            readonly = ("readonly",) if declaration.kind in _READONLY else ()
            yield token, _KINDS[declaration.kind], (*modifiers, *readonly)
        elif token.text in BUILT_IN:
            kind = BUILT_IN[token.text].kind
            yield token, "keyword" if kind == "value" else kind, ("defaultLibrary",)
