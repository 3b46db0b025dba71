"""Reports a run as GitHub workflow commands. Unexpected results and problems become annotations on
the lines of a pull request.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.folders import summary
from fencepost.checker.report.whole_run import Whole, place, property_name, refusal, sentence
from fencepost.spec.text.problem import Problem, printable
from fencepost.spec.text.source import Source, Span

MAX_MESSAGE = 1000
"""GitHub truncates longer messages."""


def dumps(whole: Whole) -> str:
    """Returns one line per annotation. Returns "" if every result is as expected and no search was
    resumed.
    """
    return "".join(f"{line}\n" for line in _lines(whole))


def _lines(whole: Whole) -> Iterator[str]:
    for problem in (*whole.placed_problems, *whole.warnings):
        yield _problem(problem)
    for spec in whole.refused:
        if all(p.span and p.span.source.name != str(spec.path) for p in spec.problems):
            start = Span(Source(str(spec.path), ""), 0, 0)
            yield _command("error", start, "fencepost", refusal(spec))
    for result in whole.surprises:
        name = property_name(result)
        title = f"fencepost: {name}" if name else "fencepost"
        yield _command("error", place(result), title, sentence(result))
    for result, text, signed in whole.resumed:
        kind = "notice" if signed else "warning"
        yield _command(kind, result.job.check.span, "fencepost", text)
    if whole.skipped:
        yield _command("notice", None, "fencepost", summary(whole.skipped))


def _problem(problem: Problem) -> str:
    notes = "".join(f"\nnote: {remark}" for _, remark in problem.notes)
    kind = "notice" if problem.severity == "note" else problem.severity
    return _command(kind, problem.span, f"fencepost {problem.code}", problem.message + notes)


def _command(kind: str, span: Span | None, title: str, message: str) -> str:
    fields: dict[str, str] = {}
    if span is not None:
        line, column = span.source.position(span.start)
        end_line, end_column = span.source.position(span.end)
        fields = {"file": span.source.name, "line": str(line), "endLine": str(end_line)}
        if line == end_line:
            # Columns apply only to a range within one line. The end column is inclusive.
            fields |= {"col": str(column), "endColumn": str(max(end_column - 1, column))}
    fields["title"] = title
    parts = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::{kind} {parts}::{_data(printable(message)[:MAX_MESSAGE])}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
