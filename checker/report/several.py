"""The text report on several checks. It has a line per check, followed by the unexpected results in
full and a summary.

A single check is shown in full. For several checks, `Detail` controls how much is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fencepost.checker.folders import summary
from fencepost.checker.printing.page import Page, cells, padded
from fencepost.checker.report.assurance import remarks, searched_whole
from fencepost.checker.report.text import write_check, write_foot, write_verdict
from fencepost.checker.report.whole_run import Whole, refusal
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.session import Refusal, SpecPlan
from fencepost.checker.run.words import plural
from fencepost.spec.records import dataclass

MAX_SUMMED = 5
"""Maximum number of checks in each list of the summary."""


@dataclass(frozen=True, slots=True)
class Detail:
    """Settings for how much a text report shows.

    ``every`` shows each check in full. ``surprises`` omits checks that are as expected. ``steps``
    shows one line per step of a trace. ``summary`` adds lists of the slowest, largest and least
    covered checks.
    """

    every: bool = False
    surprises: bool = False
    steps: bool = False
    summary: bool = False


WHOLE = Detail(every=True)
"""Full detail, for reports that are saved."""


class Report:
    """Renders the text report of a run part by part. ``count`` is the number of planned checks.

    The methods must be called in the order of the parts.
    """

    def __init__(self, detail: Detail, count: int, new_page: Callable[[], Page]) -> None:
        self._detail = detail
        self._whole = not detail.surprises and (detail.every or count == 1)
        self._new_page = new_page
        self._names = 0

    def head(self, plan: SpecPlan) -> str:
        """Returns the path of the spec, or "" if a single check makes the path clear."""
        self._names = _column(plan)
        page = self._new_page()
        named = len(plan.jobs) != 1 or plan.jobs[0].check.name or not self._whole
        if named and not self._detail.surprises:
            page.line((plan.path, "title"))
        return page.text()

    def ended(self, result: CheckResult | Refusal, plan: SpecPlan) -> str:
        """Returns the result of a check, or a line which says that its engine cannot run it."""
        page = self._new_page()
        names = self._names
        if isinstance(result, Refusal):
            _write_refusal(page, result, names)
        elif self._whole:
            write_check(page, result, names, steps=self._detail.steps)
        elif not self._detail.surprises:
            write_verdict(page, result, names, brief=True)
        # An empty line separates checks that are shown in full.
        return page.text() + ("\n" if self._whole else "")

    def rest(self, plan: SpecPlan, left: Sequence[str]) -> str:
        """Lists the checks that did not run: those ``left`` after an interrupt, and slow ones."""
        page = self._new_page()
        if left:
            page.words("", f"not run: {', '.join(left)}", 2, "warn")
        if plan.left and not self._detail.surprises:
            slow = ", ".join(plan.left)
            page.words("", f"slow, not run (--slow runs them): {slow}", 2, "dim")
        between = "" if self._whole or self._detail.surprises else "\n"
        return page.text() + between

    def end(self, whole: Whole, again: str) -> str:
        """Returns the unexpected results, the summary, and the command that repeats the run."""
        page = self._new_page()
        if self._detail.summary:
            _write_summary(page, whole)
        for result in () if self._whole else whole.surprises:
            page.blank()
            page.line((str(result.job.program.path), "title"))
            write_check(page, result, steps=self._detail.steps)
        notes = [self._notes(whole), "" if self._detail.surprises else summary(whole.skipped)]
        write_foot(page, whole.results, again, whole.versions, notes, whole.missing)
        for spec in whole.refused:
            page.words("", refusal(spec), 2, "bad")
        return page.text()

    def _notes(self, whole: Whole) -> str:
        """Mentions that checks which were as expected have remarks."""
        if self._whole or self._detail.surprises:
            return ""
        noted: dict[str, None] = {}
        count = 0
        for result in whole.results:
            if result.as_expected:
                topics = [remark.topic for remark in remarks(result) if not remark.routine]
                noted |= dict.fromkeys(topics)
                count += bool(topics)
        if not count:
            return ""
        have = "check has" if count == 1 else "checks have"
        return f"{count:,} {have} remarks ({', '.join(noted)}): -v shows them"


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
