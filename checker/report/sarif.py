"""Reports a run as SARIF 2.1.0, the format of code scanning. Each unexpected result or problem
becomes a result with a location, and traces become code flows.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.whole_run import (
    RULES,
    Whole,
    place,
    refusal,
    related,
    rule,
    sentence,
)
from fencepost.checker.run.judge import CheckResult, exit_code
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.of_search import result_document
from fencepost.checker.trace.value_tree import text
from fencepost.spec.text.problem import Problem, printable
from fencepost.spec.text.source import Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_object(whole: Whole) -> dict[str, Json]:
    """Returns a log with a single run. Checks that are as expected do not appear in it.

    Columns count Unicode code points, as in Python.
    """
    shown = (*whole.placed_problems, *whole.warnings)
    results = [_result(result) for result in whole.surprises]
    exit_ = int(exit_code(whole.results, whole.problems))
    notes = [
        _note("note" if signed else "warning", caption) for _, caption, signed in whole.resumed
    ]
    notes += [_note("error", refusal(spec), spec.path) for spec in whole.refused]
    notes += [_note("note", f"skipped {folder}", folder.path) for folder in whole.skipped]
    return log(
        whole.version, RULES, shown, results, successful=not whole.unusable, exit_code=exit_,
        notes=notes,
    )  # fmt: skip


def _note(level: str, text: str, file: Path | None = None) -> Json:
    """Returns a notification about the run, which may concern a file."""
    note: dict[str, Json] = {"level": level, "message": message(text)}
    if file is not None:
        note["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": uri(str(file))}}}]
    return note


def log(
    version: str,
    rules: Mapping[str, str],
    problems: Sequence[Problem],
    other_results: Sequence[Json],
    *,
    successful: bool,
    exit_code: int,
    notes: Sequence[Json] = (),
) -> dict[str, Json]:
    """Returns a log with problems and other results. ``rules`` describes the kinds of results, and
    ``notes`` are notifications about the run.
    """
    results: list[Json] = [*(_problem_result(problem) for problem in problems), *other_results]
    codes = sorted({problem.code for problem in problems})
    every: list[Json] = [_rule(name, caption) for name, caption in rules.items()]
    every += [_rule(code, f"{code}: see docs/errors.md") for code in codes]
    driver: dict[str, Json] = {"name": "fencepost", "version": version, "rules": every}
    invocation: dict[str, Json] = {"executionSuccessful": successful, "exitCode": exit_code}
    if notes:
        invocation["toolExecutionNotifications"] = [*notes]
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str, caption: str) -> dict[str, Json]:
    return {"id": name, "shortDescription": {"text": caption}}


def _problem_result(problem: Problem) -> dict[str, Json]:
    result: dict[str, Json] = {
        "ruleId": problem.code,
        "level": problem.severity,
        "message": message(problem.message),
    }
    if problem.span is not None:
        result["locations"] = [location(problem.span)]
    notes: list[Json] = [
        location(span, remark) for span, remark in problem.notes if span is not None
    ]
    if notes:
        result["relatedLocations"] = notes
    return result


def _result(result: CheckResult) -> dict[str, Json]:
    others: list[Json] = [location(span, why) for span, why in related(result)]
    result_object: dict[str, Json] = {
        "ruleId": rule(result),
        "level": "error",
        "message": message(sentence(result)),
        "locations": [location(place(result))],
        "partialFingerprints": {"check/v1": f"{result.job.program.name}#{result.job.title}"},
    }
    if others:
        result_object["relatedLocations"] = others
    finding = result.finding
    if finding is not None and finding.trace is not None:
        document = result_document(result, finding)
        spans = [_span(result, step.action) for step in finding.trace.steps]
        result_object["codeFlows"] = code_flows(document, spans)
    return result_object


def code_flows(document: TraceDocument, spans: Sequence[Span]) -> list[Json]:
    """Returns a trace as code flows. ``spans`` are the declarations that its steps come from."""
    steps: list[Json] = [_step(document, n, span) for n, span in enumerate(spans)]
    return [{"threadFlows": [{"locations": steps}]}]


def _span(result: CheckResult, action: int | None) -> Span:
    """Returns the declaration of an action, or the location of the result for an initial state."""
    return place(result) if action is None else result.job.model.actions[action].span


def _step(document: TraceDocument, position: int, span: Span) -> dict[str, Json]:
    """Returns a step of a trace with the declaration of its action and its changes."""
    step = document.steps[position]
    caption = step.title
    if document.loop is not None and position == len(document.steps) - 1:
        caption += f"; {document.endless}"
    shown: dict[str, Json] = {"executionOrder": position, "location": location(span, caption)}
    if document.goes_round:
        # The steps of a cycle are nested one level deeper.
        shown["nestingLevel"] = int(position >= (document.loop or 0))
    # The first step shows the whole state.
    changed = {change.path: text(change.after) for change in document.changes(position)}
    if position == 0 and step.state is not None:
        changed = {name: text(value) for name, value in step.state.items()}
    if changed:
        shown["state"] = {name: {"text": printable(value)} for name, value in changed.items()}
    return shown


def location(span: Span, remark: str | None = None) -> dict[str, Json]:
    """Returns a SARIF location with an optional message."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(max(span.end, span.start))
    region: dict[str, Json] = {"startLine": line, "startColumn": column}
    region |= {"endLine": end_line, "endColumn": end_column}
    result: dict[str, Json] = {
        "physicalLocation": {"artifactLocation": {"uri": uri(span.source.name)}, "region": region}
    }
    if remark is not None:
        result["message"] = message(remark)
    return result


def uri(name: str) -> str:
    """Converts a file name to a URI, which is relative to the working directory or absolute."""
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def message(words: str) -> dict[str, Json]:
    """Returns a SARIF message object."""
    return {"text": printable(words)}
