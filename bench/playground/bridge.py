"""Answers the requests of the playground. This module runs in a browser, in Pyodide's Python.

Requests and answers are JSON. A spec is stored in the file system of the browser tab, next to the
shipped models, so that it can import what they import.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencepost import __version__
from fencepost.checker import api
from fencepost.checker.report.html import html
from fencepost.checker.report.labels import MAX_DRAWN
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.of_search import result_document
from fencepost.spec.elaborate.ide.survey import survey
from fencepost.spec.text.library import package_root
from fencepost.spec.text.problem import Problem, Rejected

MODELS = package_root() / "models"
OWN = "spec"
"""The name of a spec that is not a shipped model."""
SHIPPED = {
    path.relative_to(MODELS).with_suffix("").as_posix(): text
    for path in sorted(MODELS.rglob("*.fence"))
    if "\ncheck " in (text := path.read_text(encoding="utf-8"))
}
DESKS: dict[str, Any] = {}
"""The exploration, once there is one."""


def answer(request: str) -> str:
    """Answers a request of the page."""
    asked = json.loads(request)
    verb: Callable[[dict[str, Any]], Any] = VERBS[asked["do"]]
    try:
        return json.dumps(verb(asked))
    except Rejected as rejected:
        return json.dumps({"report": "\n\n".join(map(str, rejected.problems)), "page": None})


def _stored(asked: dict[str, Any]) -> Path:
    name = asked["name"] if asked["name"] in SHIPPED else OWN
    path = MODELS / f"{name}.fence"
    path.write_text(asked["text"], encoding="utf-8")
    return path


def _models(asked: dict[str, Any]) -> Any:
    return SHIPPED


def _diagnose(asked: dict[str, Any]) -> Any:
    path = _stored(asked)
    try:
        problems = survey(path).problems
    except Rejected as rejected:
        problems = tuple(rejected.problems)
    return [_problem(problem, path) for problem in problems]


def _problem(problem: Problem, path: Path) -> dict[str, Any]:
    span = problem.span
    here = span is not None and Path(span.source.name).name == path.name
    line, column = span.source.position(span.start) if span is not None and here else (0, 0)
    kind = "warning" if problem.warning else "error"
    return {"line": line, "column": column, "code": problem.code, "kind": kind,
            "message": problem.message}  # fmt: skip


def _check(asked: dict[str, Any]) -> Any:
    path = _stored(asked)
    chosen = [asked["check"]] if asked["check"] else []
    result = api.check(path, engine="interpreter", checks=chosen, max_states=asked["limit"])
    page = None
    traced = [check for check in result.checks if check.finding and check.finding.trace]
    first = result.first if result.first in traced else next(iter(traced), None)
    if first is not None and first.finding is not None and first.finding.trace is not None:
        finding, trace = first.finding, first.finding.trace
        if len(trace.steps) <= MAX_DRAWN:
            why = causes(first.job.model, trace, finding)
            page = html(result_document(first, finding, __version__, why))
    return {"report": str(result), "page": page}


def _explore(asked: dict[str, Any]) -> Any:
    # These are loaded only for users who explore.
    from fencepost.checker.cli.models import check_named, concrete
    from fencepost.checker.tools.exploration import Exploration
    from fencepost.checker.web.words import Desk
    from fencepost.spec.elaborate.claims.program import load

    program = load(_stored(asked), ())
    check = check_named(program, asked["check"] or None)
    model = concrete(program, check, {})
    DESKS[OWN] = Desk(Exploration(program, check, {}, model, asked["limit"]))
    return {"report": "", "page": DESKS[OWN].page()}


def _step(asked: dict[str, Any]) -> Any:
    return json.loads(DESKS[OWN].answer(asked["body"].encode("utf-8")))


VERBS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "models": _models,
    "diagnose": _diagnose,
    "check": _check,
    "explore": _explore,
    "step": _step,
}
