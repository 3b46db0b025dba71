"""A whole run in any format, and the parts of the text report that stand between checks."""

from __future__ import annotations

from fencepost.checker.printing.cells import cells
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report import github, json, junit, sarif
from fencepost.checker.report.html import html, report_page
from fencepost.checker.report.labels import MOST_DRAWN
from fencepost.checker.report.text import write_check, write_foot
from fencepost.checker.report.whole_run import SpecRun, Whole
from fencepost.checker.run.session import Performed, SpecPlan, command_line
from fencepost.checker.run.words import plural
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.of_search import result_document

WIDTH = 100
"""Characters of a line of the text on a page."""


def made(form: str, whole: Whole, width: int) -> str:
    """The report in this format; "" where there is nothing to report on in it."""
    match form:
        case "json":
            return _json(whole)
        case "junit":
            return junit.dumps(whole)
        case "sarif":
            return json.dumps(sarif.sarif_object(whole))
        case "github":
            return github.dumps(whole)
        case "html":
            return _html(whole)
        case _:
            return _text(whole, width)


def _json(whole: Whole) -> str:
    objects: list[Json] = [
        json.spec_object(spec.path, whole.version, spec.done.results) for spec in whole.specs
    ]
    if whole.problems and not objects:
        return ""
    single = whole.request.single and objects
    return json.dumps(objects[0] if single else objects)


def _html(whole: Whole) -> str:
    """The page of the first trace, if there is one to show and nothing is wrong without one; else a
    page with the problems and the text of the report.
    """
    chosen = whole.traced
    hidden = whole.surprises and (chosen is None or chosen.as_expected)
    if chosen is not None and not hidden and not whole.problems:
        finding = chosen.finding
        assert finding is not None
        assert finding.trace is not None
        if len(finding.trace.steps) <= MOST_DRAWN:
            why = causes(chosen.job.model, finding.trace, finding)
            return html(result_document(chosen, finding, whole.version, why))
    wrong = len(whole.surprises)
    count = plural(len(whole.results), "check")
    title = f"{count}, {f'{wrong} not as expected' if wrong else 'all as expected'}"
    if whole.problems:
        title = f"not every spec could be checked: {plural(len(whole.problems), 'problem')}"
    parts = [*map(str, whole.problems), _text(whole, WIDTH)]
    good = not wrong and not whole.problems
    return report_page(title, "\n\n".join(parts), f"fencepost {whole.version}", good=good)


def _text(whole: Whole, width: int) -> str:
    parts: list[str] = []
    for spec in whole.specs:
        page = Page(width)
        write_head(page, spec.plan)
        for result in spec.done.results:
            write_check(page, result, names(spec.plan))
            # Two checks are apart by a line.
            parts.append(page.text() + "\n")
            page = Page(width)
        write_rest(page, spec)
        parts.append(page.text())
    if whole.results:
        page = Page(width)
        write_end(page, whole)
        parts.append(page.text())
    return "".join(parts)


def names(plan: SpecPlan) -> int:
    """The width of the column of names of checks."""
    return max((cells(job.title) for job in plan.jobs), default=0)


def write_head(page: Page, plan: SpecPlan) -> None:
    """The name of the spec, where its checks do not say it."""
    if len(plan.jobs) != 1 or plan.jobs[0].check.name:
        page.line((str(plan.program.path), "title"))


def write_rest(page: Page, spec: SpecRun) -> None:
    """The checks of a spec that did not run."""
    done: Performed = spec.done
    if done.left:
        rest = ", ".join(job.title for job in done.left)
        page.words("", f"not run: {rest}", 2, "warn")
    if spec.plan.left:
        page.words("", f"slow, not run (--slow runs them): {', '.join(spec.plan.left)}", 2, "dim")


def write_end(page: Page, whole: Whole) -> None:
    """The sum of a run, and how to repeat it."""
    write_foot(page, whole.results, command_line(whole.request), whole.versions)
