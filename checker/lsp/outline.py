"""The structure of a file: its symbols and folding ranges."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from fencepost.checker.lsp.describe import heading
from fencepost.checker.lsp.desk import View
from fencepost.checker.lsp.places import Text
from fencepost.spec.core.traverse import children
from fencepost.spec.elaborate.ide.references import Declaration, Kind, declared_names
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.layout import lines
from fencepost.spec.syntax.tokens import COMMENT, DOCSTRING, scan
from fencepost.spec.text.source import Source

SYMBOLS: dict[Kind, lsp.SymbolKind] = {
    "constant": lsp.SymbolKind.Constant,
    "type": lsp.SymbolKind.Struct,
    "enum member": lsp.SymbolKind.EnumMember,
    "variant": lsp.SymbolKind.EnumMember,
    "field": lsp.SymbolKind.Field,
    "variable": lsp.SymbolKind.Variable,
    "channel": lsp.SymbolKind.Interface,
    "role": lsp.SymbolKind.Class,
    "action": lsp.SymbolKind.Method,
    "fairness": lsp.SymbolKind.Property,
    "def": lsp.SymbolKind.Function,
    "procedure": lsp.SymbolKind.Function,
    "property": lsp.SymbolKind.Property,
    "module": lsp.SymbolKind.Module,
    "check": lsp.SymbolKind.Event,
    "scenario": lsp.SymbolKind.Event,
}
"""Maps each kind of name to its symbol kind. Parameters and locals are not listed."""


def symbols(view: View) -> list[lsp.DocumentSymbol]:
    """Returns the declarations of a file. Those within a role or type are nested."""
    tree = view.tree
    return (
        [] if tree is None else [symbol for node in tree.declarations for symbol in _of(view, node)]
    )


def _of(view: View, node: syntax.Node) -> Iterator[lsp.DocumentSymbol]:
    names = [named for named in declared_names(node) if named[1] in SYMBOLS]
    if not names:
        return
    first, *members = names
    inner = [_symbol(view, name, kind, node, name) for name, kind in members]
    for part in children(node):
        if isinstance(part, syntax.Node):
            inner += _of(view, part)
    yield _symbol(view, *first, node, node, inner)


def _symbol(
    view: View,
    name: syntax.Name,
    kind: Kind,
    node: syntax.Node,
    whole: syntax.Node,
    inner: list[lsp.DocumentSymbol] | None = None,
) -> lsp.DocumentSymbol:
    text = heading(Declaration(name.text, kind, name.span, node=node))
    return lsp.DocumentSymbol(
        name.text,
        SYMBOLS[kind],
        view.text.range(min(whole.span.start, name.span.start), whole.span.end),
        view.text.range(name.span.start, name.span.end),
        detail=text.partition("\n")[0] if whole is node else None,
        children=inner or None,
    )


def folds(text: Text) -> list[lsp.FoldingRange]:
    """Returns the folding ranges of a text for blocks, comments and docstrings. Blocks are
    determined by indentation, so that syntax errors do no harm.
    """
    source = Source("", text.text.removeprefix("\ufeff"))
    ranges = [*_blocks(text, source), *_comments(text, source)]
    return [fold for fold in ranges if fold.end_line > fold.start_line]


def _blocks(text: Text, source: Source) -> Iterator[lsp.FoldingRange]:
    rows = [row for row in lines(source.text) if not row.text.startswith('"""')]
    opened: list[tuple[int, int]] = []
    last = 0
    for row in rows:
        while opened and len(row.indent) <= opened[-1][0]:
            yield lsp.FoldingRange(opened.pop()[1], last)
        opened.append((len(row.indent), text.line(row.start)))
        last = text.line(row.end)
    for _, line in reversed(opened):
        yield lsp.FoldingRange(line, last)


def _comments(text: Text, source: Source) -> Iterator[lsp.FoldingRange]:
    """Yields folding ranges for docstrings and for blocks of comment lines."""
    first = last = -2
    for token in scan(source.text):
        if token.kind == DOCSTRING:
            start, end = text.line(token.start), text.line(token.end)
            yield lsp.FoldingRange(start, end, kind=lsp.FoldingRangeKind.Comment)
        if (
            token.kind != COMMENT
            or source.line(source.position(token.start)[0]).lstrip()[:1] != "#"
        ):
            continue
        line = text.line(token.start)
        if line != last + 1:
            if last > first:
                yield lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind.Comment)
            first = line
        last = line
    if last > first:
        yield lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind.Comment)
