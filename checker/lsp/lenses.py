"""The code lenses of checks and scenarios. They run or stop a check, show its trace, and display
its last verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types as lsp

from fencepost.checker.lsp.desk import View
from fencepost.checker.lsp.runs import Runs, Verdict
from fencepost.spec.syntax import nodes as syntax

RUN, STOP, TRACE = "fencepost.run", "fencepost.stop", "fencepost.trace"


def lenses(view: View, uri: str, runs: Runs) -> Iterator[lsp.CodeLens]:
    """Yields the lenses of a file. If a spec has no checks, the lenses for the whole spec are on
    its first line.
    """
    tree = view.tree
    if tree is None:
        return
    kinds = (syntax.CheckDecl, syntax.ScenarioDecl)
    checks = [node for node in tree.declarations if isinstance(node, kinds)]
    for node in checks:
        where = view.text.range(node.name.span.start, node.name.span.end)
        for command in _commands(view, uri, node.name.text, runs):
            yield lsp.CodeLens(where, command)
    if not any(isinstance(node, syntax.CheckDecl) for node in checks) and any(
        isinstance(n, syntax.VarDecl | syntax.RoleDecl) for n in tree.declarations
    ):
        for command in _commands(view, uri, "", runs):
            yield lsp.CodeLens(view.text.range(0, 0), command)


def _commands(view: View, uri: str, check: str, runs: Runs) -> Iterator[lsp.Command]:
    arguments = [uri, check]
    if (view.path, check) in runs.under_way:
        yield lsp.Command("running… stop", STOP, arguments=arguments)
        return
    yield lsp.Command("run", RUN, arguments=arguments)
    verdict = runs.verdicts.get((view.path, check))
    if verdict is None:
        return
    if verdict.trace is not None:
        yield lsp.Command("show trace", TRACE, arguments=arguments)
    since = "" if fresh(view, verdict) else " (before the last change)"
    yield lsp.Command(f"{verdict.line}{since}", "", arguments=None)


def fresh(view: View, verdict: Verdict) -> bool:
    """Returns whether the texts have not changed since the verdict was computed."""
    return texts_of(view) == verdict.texts


def texts_of(view: View) -> dict[Path, str]:
    """Returns the texts of a spec's files."""
    files = {} if view.survey is None else view.survey.files.files
    return {path: tree.source.text for path, tree in files.items()}
