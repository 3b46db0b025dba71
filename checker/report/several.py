"""Several checks as text: a line for each, then whole what did not come out as expected, and at the
end the sum.

A run of one check is shown whole; `Detail` says how much of the others is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fencepost.checker.printing.cells import cells, padded
from fencepost.checker.printing.page import Page
from fencepost.checker.report.assurance import remarks, searched_whole
from fencepost.checker.report.text import write_check, write_foot, write_verdict
from fencepost.checker.report.whole_run import Whole
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.session import Refusal, SpecPlan
from fencepost.checker.run.words import plural
from fencepost.spec.records import dataclass

MOST_SUMMED = 5
"""The checks in each list of a summary."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much a text report says.

    ``every``: each check whole, also where it is one of several. ``surprises``: nothing of checks
    that came out as expected. ``steps``: traces a line a step. ``summary``: what was slowest,
    largest and least covered.
    """

    every: bool = False
    surprises: bool = False
    steps: bool = False
    summary: bool = False


WHOLE = Detail(every=True)
"""Everything, for reports that are kept."""


class Report:
    """The parts of the text report of a run, in the order in which they are asked for.

    ``count`` is the number of checks that are to run: one is shown whole.
    """

    def __init__(self, detail: Detail, count: int, new_page: Callable[[], Page]) -> None:
        self._detail = detail
        self._whole = not detail.surprises and (detail.every or count == 1)
        self._new_page = new_page

    def head(self, plan: SpecPlan) -> str:
        """The name of the spec, where its checks do not say it."""
        page = self._new_page()
        named = len(plan.jobs) != 1 or plan.jobs[0].check.name or not self._whole
        if named and not self._detail.surprises:
            page.line((plan.path, "title"))
        return page.text()

    def ended(self, one: CheckResult | Refusal, plan: SpecPlan) -> str:
        """A check that has ended, or that its engine cannot run."""
        page = self._new_page()
        names = _column(plan)
        if isinstance(one, Refusal):
            _write_refusal(page, one, names)
        elif self._whole:
            write_check(page, one, names, steps=self._detail.steps)
        elif not self._detail.surprises:
            write_verdict(page, one, names, brief=True)
        # Two checks that are shown whole are apart by a line.
        return page.text() + ("\n" if self._whole else "")

    def rest(self, plan: SpecPlan, left: Sequence[str]) -> str:
        """The checks of a spec that did not run: those ``left`` when it was interrupted, and slow
        ones.
        """
        page = self._new_page()
        if left:
            page.words("", f"not run: {', '.join(left)}", 2, "warn")
        if plan.left and not self._detail.surprises:
            slow = ", ".join(plan.left)
            page.words("", f"slow, not run (--slow runs them): {slow}", 2, "dim")
        between = "" if self._whole or self._detail.surprises else "\n"
        return page.text() + between

    def end(self, whole: Whole, again: str) -> str:
        """What did not come out as expected, the sum of a run, and how to repeat it."""
        page = self._new_page()
        if self._detail.summary:
            _write_summary(page, whole)
        for result in () if self._whole else whole.surprises:
            page.blank()
            page.line((str(result.job.program.path), "title"))
            write_check(page, result, steps=self._detail.steps)
        write_foot(page, whole.results, again, whole.versions, self._notes(whole))
        return page.text()

    def _notes(self, whole: Whole) -> str:
        """That there is more to be known of checks that came out as expected."""
        if self._whole or self._detail.surprises:
            return ""
        noted: dict[str, None] = {}
        count = 0
        for result in whole.results:
            if result.as_expected:
                found = [one.topic for one in remarks(result) if not one.routine]
                noted |= dict.fromkeys(found)
                count += bool(found)
        if not count:
            return ""
        have = "check has" if count == 1 else "checks have"
        return f"{count:,} {have} remarks ({', '.join(noted)}): -v shows them"


def _write_refusal(page: Page, refused: Refusal, names: int) -> None:
    codes = ", ".join(dict.fromkeys(problem.code for problem in refused.problems))
    name = padded(refused.job.title, names)
    what = f"not run: the engine {refused.job.engine} cannot ({codes})"
    page.line((name, "title"), "  ", (what, "bad"))


def _column(plan: SpecPlan) -> int:
    """The width of the column of names of checks."""
    return max((cells(job.title) for job in plan.jobs), default=0)


# ---------------------------------------------------------------- the summary


def _write_summary(page: Page, whole: Whole) -> None:
    """What was slowest, largest and least covered."""
    results = whole.results
    counted = [one for one in results if one.outcome.statistics.counted]
    covered = [(*_covered(one), one) for one in counted if _searched_for_problems(one)]
    slowest = sorted(results, key=lambda one: -one.outcome.statistics.seconds)
    largest = sorted(counted, key=lambda one: -one.outcome.statistics.distinct)
    partly = [(done, all_, one) for done, all_, one in covered if done < all_]
    least = sorted(partly, key=lambda row: row[0] / row[1])
    _write_list(page, "slowest", ((one, _seconds(one)) for one in slowest))
    _write_list(page, "largest", ((one, _states(one)) for one in largest))
    rows = (
        (one, f"{done:,} of {all_:,} actions, guards and branches") for done, all_, one in least
    )
    _write_list(page, "least covered, of those searched whole", rows)


def _write_list(page: Page, title: str, rows: Iterator[tuple[CheckResult, str]]) -> None:
    shown = [row for row, _ in zip(rows, range(MOST_SUMMED), strict=False)]
    if not shown:
        return
    page.blank()
    page.line((title, "title"))
    names = [f"{result.job.program.path}: {result.job.title}" for result, _ in shown]
    column = max(map(cells, names))
    for name, (_, figure) in zip(names, shown, strict=True):
        page.line(f"  {padded(name, column)}  ", (figure, "dim"))


def _searched_for_problems(result: CheckResult) -> bool:
    """Whether all of a model was searched: not for a run that fits a scenario."""
    return result.job.scenario is None and searched_whole(result)


def _seconds(result: CheckResult) -> str:
    return f"{result.outcome.statistics.seconds:.2f} s"


def _states(result: CheckResult) -> str:
    return plural(result.outcome.statistics.distinct, "state")


def _covered(result: CheckResult) -> tuple[int, int]:
    """How many of a check's actions were taken, and of its guards and branches were met; and how
    many there are.
    """
    coverage, model = result.outcome.coverage, result.job.model
    taken = sum(1 for count in coverage.taken if count)
    return taken + len(coverage.marks), len(coverage.taken) + len(model.marks)
