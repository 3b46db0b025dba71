"""Names the integers without a declared range after the declarations that contain them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fencepost.spec.core.ir import OpenRange
from fencepost.spec.elaborate.base.symbols import Instance
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


def named(ranges: Iterable[OpenRange], instances: Sequence[Instance]) -> tuple[OpenRange, ...]:
    """Returns the ranges with names such as ``Leader.term``. Integers that would have the same name
    also have their positions in it. Integers in the signature of a def or procedure have no name
    if they get their ranges from the arguments.
    """
    files = {id(instance.file.source): instance.file for instance in instances}
    named = [(item, _name(files[id(item.span.source)].declarations, item.span)) for item in ranges]
    count = Counter(name for _, name in named)
    return tuple(
        replace(item, name=name if count[name] == 1 or not name else f"{name} ({item.span})")
        for item, name in named
    )


def _name(nodes: Iterable[syntax.Node], span: Span) -> str:
    """Returns the names of the declarations around ``span``, joined by dots."""
    for node in nodes:
        where = node.span
        if where.source is span.source and where.start <= span.start and span.end <= where.end:
            if any(span.start < end and start <= span.start for start, end in _signature(node)):
                return ""
            own: object = getattr(node, "name", None)
            inner = _name(_inside(node), span)
            names = [own.text] if isinstance(own, syntax.Name) else []
            if isinstance(node, syntax.RoleDecl) and not inner:
                return ""
            return ".".join([*names, *([inner] if inner else [])])
    return ""


def _signature(node: syntax.Node) -> Iterator[tuple[int, int]]:
    """Yields the places of the types in the signature of a procedure, or of a def that is not
    recursive.
    """
    if isinstance(node, syntax.ProcedureDecl) or (
        isinstance(node, syntax.DefDecl) and node.bound is None
    ):
        types = [parameter.type for parameter in node.parameters]
        types += [node.result] if isinstance(node, syntax.DefDecl) else []
        yield from ((kind.span.start, kind.span.end) for kind in types)


def _inside(node: syntax.Node) -> tuple[syntax.Node, ...]:
    """Returns the declarations inside a declaration."""
    match node:
        case syntax.RoleDecl(members=members):
            return members
        case syntax.RecordDecl(fields=fields):
            return fields
        case syntax.UnionDecl(variants=variants):
            return variants
        case syntax.VariantDecl(fields=fields):
            return fields
        case syntax.DefDecl(parameters=parameters):
            return parameters
        case _:
            return ()
