"""Describes a declared name by the head of its declaration, its type, and its comment."""

from __future__ import annotations

from pathlib import Path

from fencepost.spec.elaborate.ide.references import Declaration
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

MAX_LINES = 12
"""The maximum number of lines that are shown of a declaration."""


def heading(declaration: Declaration) -> str:
    """Returns the declaration as it is written in the spec, without the bodies of actions, roles,
    defs and procedures.
    """
    node = declaration.node
    match node:
        case None:
            return f"module {declaration.name}"
        case syntax.EnumDecl() | syntax.SymmetricType() if declaration.kind == "enum member":
            return f"{declaration.name}: {node.name.text}"
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
            return (
                declaration.name
                if not declaration.types
                else f"{declaration.name}: {' or '.join(declaration.types)}"
            )
        case _:
            lines = node.span.text.split("\n")
            more = ["    …"] if len(lines) > MAX_LINES else []
            return "\n".join([*lines[:MAX_LINES], *more])


def _joined(span: Span, end: int) -> str:
    return " ".join(span.source.text[span.start : end].split())


def in_markdown(declaration: Declaration) -> str:
    """Returns the complete description of a name in Markdown."""
    parts = [f"```fence\n{heading(declaration)}\n```"]
    types = " or ".join(f"`{kind}`" for kind in declaration.types)
    module = Path(declaration.span.source.name).stem
    where = "" if declaration.node is None else f", in {module}, line {declaration.span.line}"
    parts.append(f"{declaration.kind}{f' of type {types}' if types else ''}{where}")
    if declaration.docstring:
        parts.append(declaration.docstring)
    return "\n\n".join(parts)


def signature(declaration: Declaration) -> tuple[str, tuple[str, ...]] | None:
    """Returns the signature of a call as text, and its parameters. Returns None for a name that
    cannot be called.
    """
    match declaration.node:
        case syntax.DefDecl() as node:
            texts = tuple(" ".join(part.span.text.split()) for part in node.parameters)
            result = " ".join(node.result.span.text.split())
            return f"{declaration.name}({', '.join(texts)}): {result}", texts
        case syntax.ProcedureDecl(parameters=parts):
            texts = tuple(" ".join(part.span.text.split()) for part in parts)
        case syntax.RecordDecl(fields=fields) | syntax.VariantDecl(fields=fields):
            texts = tuple(" ".join(part.span.text.split()) for part in fields)
        case _:
            return None
    return f"{declaration.name}({', '.join(texts)})", texts
