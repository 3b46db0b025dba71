"""The text report on a check, with the verdict, the counterexample, and remarks that qualify the
verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.checker.outcome import Finding, Proof, Statistics, Verdict
from fencepost.checker.printing.page import Page, cells, padded
from fencepost.checker.printing.units import rate, size
from fencepost.checker.report.assurance import Remark, remarks, valued
from fencepost.checker.report.counterexamples import write_counterexamples
from fencepost.checker.report.profile import write_profile
from fencepost.checker.report.regions import alike, write_regions
from fencepost.checker.report.whole_run import spot, within
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import UNSIGNED, claim, found, plural, runner, runners
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.findings import NO_CHOICE, UNFITTING, blocked_rows, headline
from fencepost.checker.trace.of_search import document
from fencepost.checker.trace.steps import (
    WriteTrace,
    write_fair,
    write_misfit,
    write_read,
    write_steps,
    write_trace,
)
from fencepost.spec.core.ir import Model, Property, Site
from fencepost.spec.text.source import Span

TOPIC = 13
"""Width of the column of topics in the remarks."""
LONG_SECONDS = 5.0
"""The rate of a search is reported only if the search took at least this long, since the rate of a
short search is noise.
"""
DECIDED_SECONDS = 1.0
"""The time of the decision phase is reported only if the phase took at least this long."""


def write_check(
    page: Page,
    result: CheckResult,
    names: int = 0,
    *,
    steps: bool = False,
    brief: bool = False,
) -> None:
    """Writes a check in full. ``names`` is the width of the column of check names. If ``steps`` is
    set, a trace has one line per step. ``brief`` omits the remarks, and the reasons why a trace is
    fair.
    """
    trace = write_steps if steps else write_trace
    write_verdict(page, result, names)
    write_regions(page, result)
    for finding in result.outcome.findings:
        page.blank()
        write_finding(page, result, finding, trace, brief=brief)
        page.blank()
    write_counterexamples(page, result)
    for proof in result.outcome.proofs:
        if proof.finding is not None:
            page.blank()
            _write_counterexample(page, result, proof, proof.finding, trace)
            page.blank()
    if not brief:
        _write_assurance(page, result, trace)


MAX_LINES = 25
"""Maximum number of lines of an unexpected result in the report of several files or failures."""


def write_shortened(
    page: Page, result: CheckResult, again: str, *, limit: int = MAX_LINES, steps: bool = False
) -> None:
    """Writes a check in at most ``limit`` lines. If it has more, the remarks and the reasons for
    fairness are omitted first, and then the middle. ``again`` is the command that shows it in full.
    """
    part = page.column(page.width)
    write_check(part, result, steps=steps)
    if len(part) > limit:
        part = page.column(page.width)
        write_check(part, result, steps=steps, brief=True)
    page.shortened(part, limit, lambda count: (f"  ... {count:,} more lines: {again}", "dim"))


def write_foot(
    page: Page,
    results: Sequence[CheckResult],
    again: str,
    versions: str,
    notes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> None:
    """Writes the summary of a run and the command that repeats it. ``missing`` are phrases about
    specs and checks without a result.
    """
    wrong = [result for result in results if not result.as_expected]
    page.blank()
    if len(results) > 1 or missing:
        page.line((summarized(results, missing), "bad" if wrong or missing else "good"))
    for note in filter(None, notes):
        page.words("", note, 2, "dim")
    engines = runners([result.job for result in results])
    used = ", ".join(filter(None, [versions, engines]))
    page.line((f"{used}; again: {again}", "dim"))
    if len(results) > 1:
        # The unexpected results are repeated for readers who only look at the end.
        for result in wrong:
            page.words("", spot(result), 2, "bad")


def summarized(results: Sequence[CheckResult], missing: Sequence[str] = ()) -> str:
    """Returns the summary of a run: the number of checks, and whether they are as expected."""
    wrong = sum(not result.as_expected for result in results)
    text = plural(len(results), "check")
    if wrong:
        text += f", {wrong} not as expected"
    elif results:
        text += " as expected" if missing else ", all as expected"
    return ", ".join([text, *missing])


def took(statistics: Statistics) -> str:
    """Formats a time as ``0.01 s``, or as ``51.80 s (searched 7.41, decided 44.39)`` if deciding
    took long.
    """
    decided = statistics.decided_seconds or 0.0
    searched = statistics.searched_seconds
    parts = f" (searched {searched:.2f}, decided {decided:.2f})"
    return f"{statistics.seconds:.2f} s{parts if decided >= DECIDED_SECONDS else ''}"


def figures(statistics: Statistics, *, brief: bool = False) -> str:
    """Formats the size of a search as ``22 distinct, 30 generated, depth 8, 0.01 s``, or as ``22
    states, 0.01 s`` if ``brief``. If states were not counted, formats the steps of the longest
    path that was searched, as ``8 steps, 0.01 s``.
    """
    if brief and statistics.counted:
        return f"{plural(statistics.distinct, 'state')}, {took(statistics)}"
    if not statistics.counted and not statistics.depth:
        return took(statistics)
    if not statistics.counted:
        return f"{plural(statistics.depth - 1, 'step')}, {took(statistics)}"
    orbits = ""
    if statistics.orbits is not None:
        orbits = f" in {plural(statistics.orbits, 'orbit')}"
    return (
        f"{statistics.distinct:,} distinct{orbits}, {statistics.generated:,} generated, "
        f"depth {statistics.depth:,}, {took(statistics)}"
    )


def write_verdict(page: Page, result: CheckResult, names: int, *, brief: bool = False) -> None:
    """Writes the verdict and the size of the search. If ``brief`` is set, both are on one line if
    they fit.
    """
    verdict = found(result.job.model, result.outcome)
    bounds = "; ".join(within(result))
    start = result.outcome.resumed
    declared = result.job.check.span is not None
    if result.as_expected:
        style, remark = "good", ", as expected" if declared else ""
    elif result.outcome.verdict is Verdict.INCONCLUSIVE:
        style, remark = "warn", ""
    else:
        style, remark = "bad", ", NOT as expected" if declared else ""
    name = padded(result.job.title, names)
    sums = figures(result.outcome.statistics, brief=brief)
    if bounds:
        remark += f" ({bounds})"
    if start is not None:
        remark += " (resumed)" if start.signed else f" ({UNSIGNED})"
        style = "warn" if style == "good" and not start.signed else style
    head = f"{name}  {verdict}{remark}"
    if cells(head) > page.width:
        page.words(f"{name}  ", verdict + remark, cells(name) + 2, style)
        page.line("  ", (sums, "dim"))
    elif cells(head) + 3 + len(sums) <= page.width:
        gap = " " * max(3, min(page.width, 100) - cells(head) - len(sums))
        page.line((name, "title"), "  ", (verdict + remark, style), gap, (sums, "dim"))
    else:
        page.line((name, "title"), "  ", (verdict + remark, style))
        page.line("  ", (sums, "dim"))
    if brief:
        return
    shown = result.finding is not None and result.finding.fit is not None
    cut = result.outcome.verdict is Verdict.INCONCLUSIVE
    if result.explanation and (result.remarked or (not shown and (declared or cut))):
        page.words("  ", result.explanation, 2, style)


def write_finding(
    page: Page,
    result: CheckResult,
    finding: Finding,
    write: WriteTrace = write_trace,
    *,
    brief: bool = False,
) -> None:
    """Writes a problem with its title, its reason and its trace. ``brief`` omits the reasons why
    the trace is fair.
    """
    model = result.job.model
    prop = None if finding.property is None else model.properties[finding.property]
    page.words("  ", headline(model, finding, prop), 2, "title")
    _write_reason(page, result, finding, prop)
    if finding.trace is None:
        return
    page.blank()
    trace = document(model, finding.trace, finding)
    write(page, trace)
    if trace.loop is None or not brief:
        _write_around(page, model, finding, trace)


def _write_counterexample(
    page: Page, result: CheckResult, proof: Proof, finding: Finding, write: WriteTrace
) -> None:
    """Explains why a property is not inductive."""
    assert finding.trace is not None
    model = result.job.model
    prop = None if finding.property is None else model.properties[finding.property]
    page.words("  ", f"{claim(proof)} is not inductive", 2, "title")
    steps = plural(len(finding.trace.steps) - 1, "step")
    message = (
        f"the first state is fine, and {steps} later there is a problem; it is unknown whether "
        "the spec can reach the first state, and a lemma that excludes it would help"
    )
    page.words("    ", message, 4)
    _write_reason(page, result, finding, prop)
    page.blank()
    trace = document(model, finding.trace, finding)
    first = replace(trace.steps[0], title="some state")
    write(page, replace(trace, steps=(first, *trace.steps[1:])))
    _write_around(page, model, finding, trace)


def _write_reason(page: Page, result: CheckResult, finding: Finding, prop: Property | None) -> None:
    """Writes the location that failed and the values with which it failed."""
    if prop is not None and not _beside(finding.failing, prop):
        page.lines(prop.span.excerpt(), 4)
    if finding.site is not None:
        write_site(page, finding.site, 4, assertion=finding.verdict is Verdict.ASSERTION)
    elif prop is None and finding.failing is not None:
        page.lines(finding.failing.excerpt(), 4)
    if finding.constants:
        page.words("    ", f"with {valued(finding.constants)}{alike(result, finding)}", 6)
    if finding.instance:
        page.words("    ", f"it fails for {valued(finding.instance)}", 6)
    if prop is not None and finding.failing is not None:
        _write_failing(page, finding.failing, finding.since)


def _write_around(page: Page, model: Model, finding: Finding, trace: TraceDocument) -> None:
    """Explains the last state of the trace."""
    if finding.blocked:
        _write_blocked(page, model, finding)
    elif trace.images:
        write_misfit(page, trace)
    elif trace.loop is not None:
        write_fair(page, trace)
    else:
        write_read(page, trace)


CURES = {
    "F907": (
        "to make senders wait for room, add `or block` after the capacity; a sender that waits "
        "forever can deadlock or violate a liveness property"
    )
}
"""Remedies for evaluation errors, by code."""


def write_site(page: Page, site: Site, indent: int, *, assertion: bool = False) -> None:
    """Writes an evaluation error or a failed assertion with its location and the calls that led to
    it.
    """
    blanks = " " * indent
    code = "" if assertion else f"error[{site.code}]: "
    page.words(blanks, f"{code}{site.message}", indent + 2, "bad")
    page.lines(site.span.excerpt(), indent)
    for call in reversed(site.calls):
        page.line(f"{blanks}called from")
        page.lines(call.excerpt(), indent)
    if cure := CURES.get(site.code):
        page.words(blanks, f"note: {cure}", indent + 2)


def _beside(failing: Span | None, prop: Property) -> bool:
    """Returns whether the excerpt of the failing part includes the first line of the property."""
    same = failing is not None and failing.source is prop.span.source
    return same and failing is not None and failing.line == prop.span.line


def _write_failing(page: Page, failing: Span, since: int | None) -> None:
    page.line(f"    it breaks here{'' if since is None else f', from state {since} on'}:")
    page.lines(failing.excerpt(), 4)


def _write_blocked(page: Page, model: Model, finding: Finding) -> None:
    page.blank()
    why = "why no action is possible there"
    if finding.fit is not None:
        why = "why the next step is not possible there"
    page.line("  ", (why, "title"))
    nothing = NO_CHOICE if finding.fit is None else UNFITTING
    rows = blocked_rows(model, finding.blocked, nothing)
    column = max(cells(name) for name, _, _ in rows)
    for name, reason, where in rows:
        page.words(f"    {padded(name, column)}  ", f"{reason}  ({where})", column + 6)


def write_remarks(page: Page, remarks: Sequence[Remark]) -> None:
    """Writes remarks, each after its topic."""
    for remark in remarks:
        lead = f"  {remark.topic:<{TOPIC}} "
        style = "dim" if remark.routine else "warn"
        by = ", " if remark.listed else " "
        text = remark.brief or remark.text
        page.words((lead, "dim"), text, len(lead), "" if remark.routine else style, by=by)


def _write_assurance(page: Page, result: CheckResult, write: WriteTrace) -> None:
    write_remarks(page, remarks(result))
    write_profile(page, result)
    statistics = result.outcome.statistics
    if statistics.seconds >= LONG_SECONDS:
        figure = size(statistics.peak_bytes)
        if statistics.counted and statistics.searched_seconds >= LONG_SECONDS:
            figure = f"{rate(statistics.distinct, statistics.searched_seconds)}, {figure}"
        page.line((f"  {'took':<{TOPIC}} ", "dim"), f"{runner(result.job)}, {figure} of memory")
    stuck = result.outcome.coverage.stuck
    if stuck.count and stuck.trace is not None:
        page.blank()
        page.line("  ", (f"the way to a stuck state, in {_steps(stuck.trace.steps)}", "title"))
        write(page, document(result.job.model, stuck.trace), 4)


def _steps(steps: Sequence[object]) -> str:
    return plural(len(steps) - 1, "step")
