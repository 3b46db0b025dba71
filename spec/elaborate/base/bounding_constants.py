"""Finds the constants on which the declaration of a variable depends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from fencepost.spec.core.traverse import Node, children, walk
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

_Constant: TypeAlias = syntax.Const | syntax.Param
_Bound: TypeAlias = (
    _Constant | syntax.TypeDecl | syntax.SymmetricType | syntax.EnumDecl | syntax.RecordDecl
    | syntax.UnionDecl
)  # fmt: skip


def bounding_constants(files: Iterable[syntax.File], span: Span) -> tuple[str, ...]:
    """Returns the names of the constants that the type or the capacity of a variable depends on,
    directly or through other types and constants. The most direct ones come first.

    ``span`` is the span of the name of a variable or channel, or of a channel's fault. Names are
    looked up in all files, so a constant of another module may have the same name.
    """
    declared: defaultdict[str, list[_Bound]] = defaultdict(list)
    queue: list[Node] = []
    for file in files:
        for node in file.declarations:
            if isinstance(node, _Bound):
                declared[node.name.text].append(node)
            if file.source is span.source:
                queue += _sizing(node, span)
    names: dict[str, None] = {}
    constants: list[str] = []
    for part in queue:
        for name in (node.text for node in walk(part) if isinstance(node, syntax.Name)):
            if name in names:
                continue
            names[name] = None
            for entry in declared[name]:
                constants += [name] if isinstance(entry, _Constant) else []
                queue += [child for child in children(entry) if child is not entry.name]
    return tuple(dict.fromkeys(constants))


def _sizing(node: syntax.Declaration, span: Span) -> Iterator[syntax.Node]:
    """Yields the parts of a declaration that determine the values of the variable at ``span``."""
    match node:
        case syntax.VarDecl(name=name, type=kind):
            if name.span == span:
                yield kind
        case syntax.ChannelDecl(name=name, indices=indices, message=message, options=options):
            if name.span == span:
                yield from (option for option in options if isinstance(option, syntax.Capacity))
                yield from (*indices, message)
            yield from (option for option in options if option.span == span)
        case syntax.RoleDecl(index=index, members=members):
            for member in members:
                for part in _sizing(member, span):
                    yield part
                    if index is not None:
                        yield index.type
        case _:
            pass
