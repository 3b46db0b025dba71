"""Definitions in the files of a spec: spans of their bodies, and names of their parameters. For
modules that know the core but not the syntax.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.spec.core.traverse import walk
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A ``def``: its name, parameters and spans. ``used`` are the parameters in the order of their
    first use in the body.
    """

    name: str
    parameters: tuple[str, ...]
    span: Span
    body: Span
    used: tuple[str, ...]


def definitions(files: Iterable[syntax.File]) -> tuple[Definition, ...]:
    """The definitions in some files, including those of roles."""
    return tuple(
        _definition(node)
        for file in files
        for node in walk(file.declarations)
        if isinstance(node, syntax.DefDecl)
    )


def _definition(node: syntax.DefDecl) -> Definition:
    parameters = tuple(parameter.name.text for parameter in node.parameters)
    names = [part.text for part in walk(node.body) if isinstance(part, syntax.Name)]
    used = dict.fromkeys(name for name in names if name in parameters)
    return Definition(node.name.text, parameters, node.span, node.body.span, tuple(used))


def role_indices(files: Iterable[syntax.File]) -> dict[str, str]:
    """The index names of role families, by role name."""
    return {
        node.name.text: node.index.name.text
        for file in files
        for node in walk(file.declarations)
        if isinstance(node, syntax.RoleDecl) and node.index is not None
    }
