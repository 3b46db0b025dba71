"""Converts problems to diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types as lsp

from fencepost.checker.lsp.desk import Desk, View
from fencepost.checker.lsp.marks import Mark
from fencepost.checker.lsp.places import uri_of
from fencepost.spec.text.library import read
from fencepost.spec.text.problem import Rejected

SOURCE = "fencepost"
PARAMETER = "F605"
"""The code for a module with parameters that is opened on its own. This is not an error."""

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Hint,
}


def shown(desk: Desk, view: View, new_marks: Iterable[Mark]) -> dict[Path, list[lsp.Diagnostic]]:
    """Returns the diagnostics of a view, grouped by file. The view's own file is always
    included.
    """
    result: dict[Path, list[lsp.Diagnostic]] = {view.path: []}
    for mark in dict.fromkeys(new_marks):
        path = view.path if mark.path is None else Path(mark.path)
        result.setdefault(path, []).append(_diagnostic(desk, view, path, mark))
    return result


def _diagnostic(desk: Desk, view: View, path: Path, mark: Mark) -> lsp.Diagnostic:
    message = mark.message
    related: list[lsp.DiagnosticRelatedInformation] = []
    for where, start, end, text in mark.notes:
        if where is None:
            message += f"\n{text}"
            continue
        location = lsp.Location(uri_of(Path(where)), _range(desk, view, Path(where), start, end))
        related.append(lsp.DiagnosticRelatedInformation(location, text))
    severity = SEVERITIES[mark.severity]
    if mark.code == PARAMETER and path == view.path and "can only be imported" in message:
        severity = lsp.DiagnosticSeverity.Information
    return lsp.Diagnostic(
        _range(desk, view, path, mark.start, mark.end),
        message,
        severity,
        mark.code,
        source=SOURCE,
        tags=[lsp.DiagnosticTag.Unnecessary] if mark.severity == "note" else None,
        related_information=related or None,
    )


def _range(desk: Desk, view: View, path: Path, start: int, end: int) -> lsp.Range:
    if path == view.path:
        return view.text.range(start, end)
    files = {} if view.survey is None else view.survey.files.files
    if path in files:
        return desk.text(path, files[path].source.text).range(start, end)
    try:
        return desk.text(path, read(path).text).range(start, end)
    except Rejected:
        return lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
