"""What is said of a declared name: how its declaration begins, its type, its comment."""

from __future__ import annotations

from pathlib import Path

from fencepost.spec.elaborate.ide.references import Declaration
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

MOST_LINES = 12
"""Of a longer declaration the beginning is shown."""


def heading(one: Declaration) -> str:
    """The declaration as it is written, without bodies of actions, roles, defs and procedures."""
    node = one.node
    match node:
        case None:
            return f"module {one.name}"
        case syntax.EnumDecl() | syntax.SymmetricType() if one.kind == "enum member":
            return f"{one.name}: {node.name.text}"
        case syntax.DefDecl():
            return _joined(node.span, node.result.span.end)
        case syntax.ActionDecl(receive=syntax.Receive() as receive):
            return _joined(node.span, receive.span.end)
        case syntax.ActionDecl(choices=choices):
            return _joined(node.span, (choices or node.name).span.end)
        case syntax.ProcedureDecl(parameters=parameters):
            end = parameters[-1].span.end if parameters else node.name.span.end
            return _joined(node.span, end) + (")" if parameters else "")
        case syntax.RoleDecl() | syntax.CheckDecl():
            return node.span.text.partition("\n")[0].partition("#")[0].strip().rstrip(":")
        case syntax.Binder() | syntax.Parameter():
            return " ".join(node.span.text.split())
        case syntax.Let() | syntax.LetIn() | syntax.Bind() | syntax.Pattern():
            return one.name if not one.types else f"{one.name}: {' or '.join(one.types)}"
        case _:
            lines = node.span.text.split("\n")
            more = ["    …"] if len(lines) > MOST_LINES else []
            return "\n".join([*lines[:MOST_LINES], *more])


def _joined(span: Span, end: int) -> str:
    return " ".join(span.source.text[span.start : end].split())


def in_markdown(one: Declaration) -> str:
    """All that is known of a name."""
    parts = [f"```fence\n{heading(one)}\n```"]
    types = " or ".join(f"`{kind}`" for kind in one.types)
    place = Path(one.span.source.name).stem
    where = "" if one.node is None else f", in {place}, line {one.span.line}"
    parts.append(f"{one.kind}{f' of type {types}' if types else ''}{where}")
    if one.docstring:
        parts.append(one.docstring)
    return "\n\n".join(parts)


def signature(one: Declaration) -> tuple[str, tuple[str, ...]] | None:
    """How a call is written, and its parameters; None for what is not called."""
    match one.node:
        case syntax.DefDecl() as node:
            texts = tuple(" ".join(part.span.text.split()) for part in node.parameters)
            result = " ".join(node.result.span.text.split())
            return f"{one.name}({', '.join(texts)}): {result}", texts
        case syntax.ProcedureDecl(parameters=parts):
            texts = tuple(" ".join(part.span.text.split()) for part in parts)
        case syntax.RecordDecl(fields=fields) | syntax.VariantDecl(fields=fields):
            texts = tuple(" ".join(part.span.text.split()) for part in fields)
        case _:
            return None
    return f"{one.name}({', '.join(texts)})", texts
