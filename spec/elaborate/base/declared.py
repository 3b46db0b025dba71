"""What the files of a spec declare, for those who know the core and no syntax: where the body of a
definition stands, and what its parameters are called.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.spec.core.traverse import walk
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A ``def``: its name, its parameters, and where it and its body stand. ``used`` are the
    parameters in the order in which the body first names them.
    """

    name: str
    parameters: tuple[str, ...]
    span: Span
    body: Span
    used: tuple[str, ...]


def definitions(files: Iterable[syntax.File]) -> tuple[Definition, ...]:
    """The definitions of some files, those of roles included."""
    return tuple(
        _definition(one)
        for file in files
        for one in walk(file.declarations)
        if isinstance(one, syntax.DefDecl)
    )


def _definition(one: syntax.DefDecl) -> Definition:
    parameters = tuple(parameter.name.text for parameter in one.parameters)
    names = [node.text for node in walk(one.body) if isinstance(node, syntax.Name)]
    used = dict.fromkeys(name for name in names if name in parameters)
    return Definition(one.name.text, parameters, one.span, one.body.span, tuple(used))


def role_indices(files: Iterable[syntax.File]) -> dict[str, str]:
    """What role families call their index, by the roles' names."""
    return {
        one.name.text: one.index.name.text
        for file in files
        for one in walk(file.declarations)
        if isinstance(one, syntax.RoleDecl) and one.index is not None
    }
