"""Renders the report on several files as an HTML page: its files, their checks, and the changes
since an earlier run.

The page contains no script: a browser opens and closes the part of a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from fencepost.checker.folders import summary
from fencepost.checker.printing.page import Page
from fencepost.checker.report.baseline import Baseline, EarlierResult, new_remarks
from fencepost.checker.report.html import page
from fencepost.checker.report.markup import filled, joined
from fencepost.checker.report.text import summarized, write_check, write_remarks
from fencepost.checker.report.whole_run import SpecRun, Whole, refusal, within
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found, plural
from fencepost.spec.text.problem import Problem

WIDTH = 100
"""The line width of the text report on a check."""
MIN_SECONDS, MIN_RATIO = 0.5, 1.2
"""An earlier time is shown only if it differs by at least this much, since smaller differences are
noise.
"""


def folder_page(whole: Whole, baseline: Baseline | None) -> str:
    """Renders the page. ``baseline`` is the earlier run, or None if there is no comparison."""
    title = summarized(whole.results, whole.missing)
    errors = any(not problem.warning for problem in whole.problems)
    bad = bool(whole.surprises or whole.missing or errors)
    body = filled(
        '<header><p><b class="{}">{}</b></p><h1>{}</h1>{}</header><main>{}{}</main>'
        "<footer>{}</footer>",
        *(("bad", "not ok") if bad else ("good", "ok")),
        title,
        joined(filled("<p>{}</p>", line) for line in _about(whole, baseline)),
        joined(_refused(whole)),
        joined(_file(spec, baseline) for spec in whole.specs),
        f"fencepost {whole.version}",
    )
    return page(title, body, style="folder.css")


def _about(whole: Whole, baseline: Baseline | None) -> Iterator[str]:
    """Yields sentences about the whole run."""
    if baseline is not None:
        now = {(spec.path, run.name) for spec in whole.specs for run in spec.plan.program.runs}
        gone = [f"{spec}: {check}" for spec, check in baseline.results if (spec, check) not in now]
        yield f"compared with {baseline.path}, which has {plural(len(baseline.results), 'check')}"
        if gone:
            yield f"only there: {', '.join(gone)}"
    if whole.skipped:
        yield summary(whole.skipped)
    yield from (text for _, text, _ in whole.resumed)


def _refused(whole: Whole) -> Iterator[Markup]:
    """Yields the specs that could not be checked, the other errors, the warnings and the notes."""
    for spec in whole.refused:
        yield _problems(f"✗ {refusal(spec)}", spec.problems)
    if whole.other_errors:
        yield _problems("✗ errors", whole.other_errors)
    others = [problem for problem in (*whole.problems, *whole.warnings) if problem.warning]
    for severity in ("warning", "note"):
        chosen = [problem for problem in others if problem.severity == severity]
        if chosen:
            yield _problems(plural(len(chosen), severity), chosen)


def _problems(title: str, problems: Sequence[Problem]) -> Markup:
    template = "<details open><summary>{}</summary><pre>{}</pre></details>"
    return filled(template, title, "\n\n".join(map(str, problems)))


def _file(spec: SpecRun, baseline: Baseline | None) -> Markup:
    """Returns the part of a file. It is open if a check is not as expected or did not run."""
    results = spec.done.results
    earlier = [baseline.of(result) if baseline is not None else None for result in results]
    wrong = sum(not result.as_expected for result in results)
    missing = len(spec.plan.jobs) - len(results)
    rest = (
        (wrong, "not as expected"), (missing, "did not run"), (len(spec.plan.left), "slow, not run")
    )  # fmt: skip
    counts = [plural(len(results), "check"), *(f"{count} {text}" for count, text in rest if count)]
    matched = [result for result in earlier if result is not None]
    complete = matched if len(matched) == len(results) else []
    states = sum(result.states or 0 for result in complete) if complete else None
    seconds = sum(result.seconds for result in complete) if complete else None
    return filled(
        '<details{}><summary><span class="{}">{}</span><span>{}</span>{}{}</summary>'
        "<table>{}</table>{}</details>",
        Markup(" open" if wrong or missing else ""),
        "bad" if wrong or missing else "good",
        spec.path,
        ", ".join(counts),
        _states(sum(_counted(result) or 0 for result in results), states),
        _time(sum(result.outcome.statistics.seconds for result in results), seconds),
        joined(_rows(spec, zip(results, earlier, strict=True), compared=baseline is not None)),
        joined(_report(result, baseline) for result in results),
    )


def _rows(
    spec: SpecRun, results: Iterator[tuple[CheckResult, EarlierResult | None]], *, compared: bool
) -> Iterator[Markup]:
    """Yields a row for each check: name, result, states, time."""
    template = '<tr class="{}"><th>{}</th><td>{}{}</td><td>{}</td><td>{}</td></tr>'
    for result, earlier in results:
        verdict = result.explanation or found(result.job.model, result.outcome)
        verdict = "; ".join([verdict, *within(result)])
        was = Markup("")
        if earlier is not None and earlier.as_expected != result.as_expected:
            was = _was("as expected" if earlier.as_expected else "not as expected")
        elif compared and earlier is None:
            was = filled(' <span class="was">new</span>')
        yield filled(
            template,
            "good" if result.as_expected else "bad",
            result.job.title,
            verdict,
            was,
            _states(_counted(result), None if earlier is None else earlier.states),
            _time(result.outcome.statistics.seconds, None if earlier is None else earlier.seconds),
        )
    for check, why, code in spec.not_run:
        kind = "bad" if code else "why"
        yield filled(template, kind, check.name, why, Markup(""), "", "")


def _report(result: CheckResult, baseline: Baseline | None) -> Markup:
    """Returns the text report on an unexpected result, or the remarks on another one. Remarks that
    the earlier run had are omitted.
    """
    text = Page(WIDTH)
    if not result.as_expected:
        write_check(text, result)
        return filled("<pre>{}</pre>", text.text())
    remarks = new_remarks(result, baseline)
    if not remarks:
        return Markup("")
    new = "" if baseline is None else "new "
    write_remarks(text, remarks)
    template = '<details class="remarks"><summary>{}: {}</summary><pre>{}</pre></details>'
    return filled(template, result.job.title, plural(len(remarks), f"{new}remark"), text.text())


def _counted(result: CheckResult) -> int | None:
    statistics = result.outcome.statistics
    return statistics.distinct if statistics.counted else None


def _states(now: int | None, before: int | None) -> Markup:
    text = "" if now is None else plural(now, "state")
    changed = before is not None and before != now
    return filled("<span>{}{}</span>", text, _was(f"{before:,}") if changed else Markup(""))


def _time(now: float, before: float | None) -> Markup:
    was = Markup("")
    if before is not None and abs(now - before) >= MIN_SECONDS:
        low, high = sorted((now, before))
        was = _was(f"{before:.2f} s") if high >= MIN_RATIO * low else was
    return filled("<span>{}{}</span>", f"{now:.2f} s", was)


def _was(text: str) -> Markup:
    return filled(' <span class="was">was {}</span>', text)
