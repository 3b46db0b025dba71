"""Renders the report on a whole run in any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, get_args

from fencepost.checker.printing.page import Page
from fencepost.checker.report import github, json, junit, sarif
from fencepost.checker.report.baseline import Baseline
from fencepost.checker.report.counterexamples import counterexamples_markup
from fencepost.checker.report.folder_page import folder_page
from fencepost.checker.report.growth import grows_with
from fencepost.checker.report.html import html, report_page
from fencepost.checker.report.labels import MAX_DRAWN
from fencepost.checker.report.several import WHOLE, Detail, Report
from fencepost.checker.report.text import summarized
from fencepost.checker.report.whole_run import Whole
from fencepost.checker.run.words import plural
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.of_search import result_document
from fencepost.spec.records import dataclass

Form: TypeAlias = Literal["text", "json", "junit", "sarif", "github", "html"]
"""The formats of a report of `fencepost check`."""
FORMS: tuple[Form, ...] = get_args(Form)
WIDTH = 100
"""The line width of text on a page."""


def made(form: Form, whole: Whole, width: int, detail: Detail = WHOLE) -> str:
    """Renders the report. Returns "" if the format has nothing to show. ``detail`` only affects
    text.
    """
    return REPORTS[form].render(whole, width, detail)


def _json(whole: Whole) -> str:
    objects = json.objects(whole)
    single = whole.request.single and objects
    return json.dumps(objects[0] if single else objects)


def _html(whole: Whole, baseline: Baseline | None) -> str:
    """Returns the page of the files, or for a single file the page of the first trace, if a trace
    should be shown. Otherwise returns a page with the problems and the text report.
    """
    if not whole.request.single or baseline is not None:
        return folder_page(whole, baseline)
    chosen = whole.traced
    hidden = whole.surprises and (chosen is None or chosen.as_expected)
    if chosen is not None and not hidden and not whole.problems:
        finding = chosen.finding
        assert finding is not None
        assert finding.trace is not None
        if len(finding.trace.steps) <= MAX_DRAWN:
            why = causes(chosen.job.model, finding.trace, finding)
            remarks = [text for _, text, _ in whole.resumed]
            remarks += [f"the number of states grows with {line}" for line in grows_with(chosen)]
            trace = result_document(chosen, finding, whole.version, why)
            return html(trace, remarks, counterexamples_markup(chosen))
    title = summarized(whole.results, whole.missing)
    if whole.unusable:
        title = f"not every spec could be checked: {plural(len(whole.problems), 'problem')}"
    good = not whole.surprises and all(problem.warning for problem in whole.problems)
    report = _text(whole, WIDTH, WHOLE)
    return report_page(title, report, f"fencepost {whole.version}", good=good)


def _text(whole: Whole, width: int, detail: Detail) -> str:
    plans = [spec.plan for spec in whole.specs]
    report = Report(detail, plans, lambda: Page(width), single=whole.request.single)
    # The command prints the problems to standard error.
    parts = [f"{problem}\n\n" for problem in whole.problems]
    for spec in whole.specs:
        parts.append(report.head(spec.plan))
        parts += map(report.ended, spec.done.ended)
        parts.append(report.rest(spec))
    if whole.has_summary:
        parts.append(report.end(whole))
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of a report. ``render`` receives the report, the width of text and its detail.
    ``alone`` is set if the report is a complete document, so that nothing else may be written to
    the same stream.
    """

    render: Callable[[Whole, int, Detail], str]
    alone: bool


REPORTS: Mapping[Form, Format] = {
    "text": Format(_text, alone=False),
    "json": Format(lambda whole, width, detail: _json(whole), alone=True),
    "junit": Format(lambda whole, width, detail: junit.dumps(whole), alone=True),
    "sarif": Format(lambda whole, width, detail: json.dumps(sarif.sarif_object(whole)), alone=True),
    "github": Format(lambda whole, width, detail: github.dumps(whole), alone=False),
    "html": Format(lambda whole, width, detail: _html(whole, detail.baseline), alone=True),
}
"""The formats in the order of the help."""
