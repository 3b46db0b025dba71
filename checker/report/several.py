"""The text report on several checks. It has a line per file or per check, followed by the
unexpected results and a summary.

A single check is shown in full. For several checks, `Detail` controls how much is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fencepost.checker.folders import summary
from fencepost.checker.outcome import NO_INITIAL_STATE
from fencepost.checker.printing.page import Page, cells, cut, padded
from fencepost.checker.report.assurance import searched_whole
from fencepost.checker.report.baseline import Baseline, new_remarks
from fencepost.checker.report.text import (
    MAX_LINES,
    write_check,
    write_foot,
    write_remarks,
    write_shortened,
    write_verdict,
)
from fencepost.checker.report.whole_run import SpecRun, Whole, refusal, within
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.session import Refusal, SpecPlan, has_name
from fencepost.checker.run.settings import Request, command_line
from fencepost.checker.run.words import plural
from fencepost.spec.records import dataclass, replace

MAX_SUMMED = 5
"""Maximum number of checks in each list of the summary."""


QUIET, FILES, CHECKS, FULL = range(4)
"""The levels of detail: only unexpected results, a line per file, a line per check, each check in
full.
"""


@dataclass(frozen=True, slots=True)
class Detail:
    """Settings for how much a report shows.

    ``verbosity`` is the number of levels to add, or negative for `QUIET`. ``steps`` shows one line
    per step of a trace. ``summary`` adds lists of the slowest, largest and least covered checks.
    ``remarks`` lists the remarks on results that are as expected, except those that the earlier run
    ``remarks_baseline`` had. ``baseline`` is the run that a page is compared with.
    """

    verbosity: int = 0
    steps: bool = False
    summary: bool = False
    remarks: bool = False
    remarks_baseline: Baseline | None = None
    baseline: Baseline | None = None


WHOLE = Detail(verbosity=FULL)
"""Full detail, for reports that are saved."""


class Report:
    """Renders the text report of a run part by part. ``single`` is set if the user named one file.

    The methods must be called in the order of the parts.
    """

    def __init__(
        self,
        detail: Detail,
        specs: Sequence[SpecPlan],
        new_page: Callable[[], Page],
        *,
        single: bool,
    ) -> None:
        base = CHECKS if single else FILES
        if sum(len(spec.jobs) for spec in specs) == 1:
            base = FULL
        self._detail = detail
        self._single = single
        self._level = QUIET if detail.verbosity < 0 else min(base + detail.verbosity, FULL)
        self._new_page = new_page
        self._names = 0
        self._paths = max((cells(spec.path) for spec in specs), default=0)

    def head(self, plan: SpecPlan) -> str:
        """Returns the path of the spec, or "" if a single check makes the path clear."""
        self._names = _column(plan)
        page = self._new_page()
        named = len(plan.jobs) != 1 or plan.jobs[0].check.name or self._level != FULL
        if named and self._level >= CHECKS:
            page.line((plan.path, "title"))
        return page.text()

    def ended(self, result: CheckResult | Refusal) -> str:
        """Returns the result of a check, or a line which says that its engine cannot run it."""
        page = self._new_page()
        names = self._names
        if isinstance(result, Refusal):
            if self._level != FILES:
                _write_refusal(page, result, names)
        elif self._level == FULL:
            write_check(page, result, names, steps=self._detail.steps)
        elif self._level == CHECKS:
            write_verdict(page, result, names, brief=True)
        # An empty line separates checks that are shown in full.
        return page.text() + ("\n" if self._level == FULL else "")

    def rest(self, run: SpecRun) -> str:
        """Lists the checks that did not run because of an interrupt or because they are slow. If a
        file has one line, returns this line.
        """
        page = self._new_page()
        if self._level == FILES:
            _write_file(page, run, self._paths)
            return page.text()
        if run.done.left:
            names = ", ".join(job.title for job in run.done.left)
            page.words("", f"not run: {names}", 2, "warn")
        if run.plan.left and self._level != QUIET:
            slow = ", ".join(run.plan.left)
            page.words("", f"slow, not run (--slow runs them): {slow}", 2, "dim")
        return page.text() + ("\n" if self._level == CHECKS else "")

    def end(self, whole: Whole) -> str:
        """Returns the unexpected results, the summary, and the command that repeats the run."""
        page = self._new_page()
        if self._level == FILES:
            # An empty line separates the lines of the files from the rest.
            page.line()
        if self._detail.summary:
            _write_summary(page, whole)
        shown = () if self._level == FULL else whole.surprises
        short = self._level != QUIET and (len(shown) > 1 or not self._single)
        for result in shown:
            page.blank()
            page.line((str(result.job.program.path), "title"))
            if short:
                again = command_line(alone(whole.request, result))
                # The path and the blank line count, too.
                write_shortened(page, result, again, limit=MAX_LINES - 2, steps=self._detail.steps)
            else:
                write_check(page, result, steps=self._detail.steps)
        if self._detail.remarks and (
            self._level != FULL or self._detail.remarks_baseline is not None
        ):
            _write_new_remarks(page, whole, self._detail.remarks_baseline)
        notes = [] if self._level == QUIET else [*self._notes(whole), summary(whole.skipped)]
        again = command_line(whole.request)
        write_foot(page, whole.results, again, whole.versions, notes, whole.missing)
        for spec in whole.refused:
            page.words("", refusal(spec), 2, "bad")
        return page.text()

    def _notes(self, whole: Whole) -> Iterator[str]:
        """Yields sentences about what the lines of files do not show."""
        if self._level != FILES:
            return
        bounded = sum(result.as_expected and bool(within(result)) for result in whole.results)
        if bounded:
            holds = "check holds" if bounded == 1 else "checks hold"
            yield f"{bounded:,} {holds} only within bounds that were reached: -v shows them"
        for result in whole.results:
            if NO_INITIAL_STATE in result.outcome.notes:
                yield f"{result.job.program.path}: {result.job.title}: {within(result)[0]}"
        slow = sum(len(spec.plan.left) for spec in whole.specs)
        if slow:
            them = "it" if slow == 1 else "them"
            yield f"{plural(slow, 'slow check')} did not run: --slow runs {them}"


def alone(request: Request, result: CheckResult) -> Request:
    """Returns the request that repeats a single check."""
    names = (result.job.check.name,) if has_name(result.job.check) else ()
    return replace(request, specs=(result.job.program.path,), checks=names)


def _write_file(page: Page, run: SpecRun, width: int) -> None:
    """Writes the line of a file: the number of checks, the states, the time and the slowest
    check.
    """
    results = run.done.results
    wrong = sum(not result.as_expected for result in results)
    refused = len(run.done.ended) - len(results)
    words = f"{plural(len(results), 'check')}{'' if wrong else ' as expected'}"
    counts = (
        (wrong, "NOT as expected"), (refused, "cannot run"), (len(run.done.left), "not run"),
        (len(run.plan.left), "slow"),
    )  # fmt: skip
    state = ", ".join([words, *(f"{count:,} {text}" for count, text in counts if count)])
    path = padded(run.path, width)
    style = "bad" if wrong or refused else "warn" if run.done.left else "good"
    figures = ""
    if results:
        statistics = [result.outcome.statistics for result in results]
        states = sum(counted.distinct for counted in statistics if counted.counted)
        figures = f"{plural(states, 'state')}, {sum(s.seconds for s in statistics):.2f} s"
    if len(results) > 1:
        slowest = max(results, key=lambda result: result.outcome.statistics.seconds)
        seconds = f" {slowest.outcome.statistics.seconds:.2f} s"
        room = page.width - cells(f"{path}  {state}   {figures}, slowest {seconds}")
        figures += f", slowest {cut(slowest.job.title, max(room, 8))}{seconds}"
    gap = " " * max(3, min(page.width, 100) - cells(f"{path}  {state}") - cells(figures))
    page.line((path, "title"), "  ", (state, style), gap, (figures, "dim"))


def _write_new_remarks(page: Page, whole: Whole, baseline: Baseline | None) -> None:
    """Writes the remarks on the results that are as expected, except the known ones."""
    new = [(r, new_remarks(r, baseline)) for r in whole.results if r.as_expected]
    count = sum(len(found_remarks) for _, found_remarks in new)
    page.blank()
    since = "" if baseline is None else f" that {baseline.path} does not have"
    page.line((f"{plural(count, 'remark')}{since}", "title"))
    for result, new_ones in new:
        if new_ones:
            page.line(f"{result.job.program.path}: {result.job.title}")
            write_remarks(page, new_ones)


def _write_refusal(page: Page, refused: Refusal, names: int) -> None:
    codes = ", ".join(dict.fromkeys(problem.code for problem in refused.problems))
    name = padded(refused.job.title, names)
    message = f"not run: the engine {refused.job.engine} cannot ({codes})"
    page.line((name, "title"), "  ", (message, "bad"))


def _column(plan: SpecPlan) -> int:
    """Returns the width of the column of check names."""
    return max((cells(job.title) for job in plan.jobs), default=0)


# ---------------------------------------------------------------- the summary


def _write_summary(page: Page, whole: Whole) -> None:
    """Writes the slowest, largest and least covered checks."""
    results = whole.results
    counted = [result for result in results if result.outcome.statistics.counted]
    covered = [(*_covered(result), result) for result in counted if _searched_for_problems(result)]
    slowest = sorted(results, key=lambda result: -result.outcome.statistics.seconds)
    largest = sorted(counted, key=lambda result: -result.outcome.statistics.distinct)
    partly = [(done, all_, result) for done, all_, result in covered if done < all_]
    least = sorted(partly, key=lambda row: row[0] / row[1])
    _write_list(page, "slowest", ((result, _seconds(result)) for result in slowest))
    _write_list(page, "largest", ((result, _states(result)) for result in largest))
    rows = (
        (result, f"{done:,} of {all_:,} actions, guards and branches")
        for done, all_, result in least
    )
    _write_list(page, "least covered, of those searched whole", rows)


def _write_list(page: Page, title: str, rows: Iterator[tuple[CheckResult, str]]) -> None:
    shown = [row for row, _ in zip(rows, range(MAX_SUMMED), strict=False)]
    if not shown:
        return
    page.blank()
    page.line((title, "title"))
    names = [f"{result.job.program.path}: {result.job.title}" for result, _ in shown]
    column = max(map(cells, names))
    for name, (_, figure) in zip(names, shown, strict=True):
        page.line(f"  {padded(name, column)}  ", (figure, "dim"))


def _searched_for_problems(result: CheckResult) -> bool:
    """Returns whether the whole model was searched for problems. A scenario never searches it for
    problems.
    """
    return result.job.scenario is None and searched_whole(result)


def _seconds(result: CheckResult) -> str:
    return f"{result.outcome.statistics.seconds:.2f} s"


def _states(result: CheckResult) -> str:
    return plural(result.outcome.statistics.distinct, "state")


def _covered(result: CheckResult) -> tuple[int, int]:
    """Counts the actions that were taken, the guards that were satisfied and the branches that were
    entered. Returns this count and the total.
    """
    coverage, model = result.outcome.coverage, result.job.model
    taken = sum(1 for count in coverage.taken if count)
    return taken + len(coverage.marks), len(coverage.taken) + len(model.marks)
