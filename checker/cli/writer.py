"""Writes the reports of `fencepost check`: text as the run goes, the rest when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Generic, TypeVar

from fencepost import __version__
from fencepost.checker.cli.atomic_files import replace
from fencepost.checker.cli.models import warn
from fencepost.checker.cli.progress import Reporter
from fencepost.checker.cli.terminal import complain, new_page, say, versions, width
from fencepost.checker.report.assurance import strictly
from fencepost.checker.report.formats import Form, made
from fencepost.checker.report.several import Detail, Report
from fencepost.checker.report.whole_run import SpecRun, Whole, warnings_of
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.session import Plan, Refusal, SpecPlan, perform_all
from fencepost.checker.run.settings import Request, command_line
from fencepost.checker.run.words import runner
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

ALONE = ("json", "junit", "sarif", "html")
"""Formats that are a document: nothing else may stand on the same stream."""
LENIENT = ("text", "json")
"""Formats that cannot tell of a spec that cannot be used."""


F = TypeVar("F", bound=str)
"""The formats that a command has."""


@dataclass(frozen=True, slots=True)
class Outputs(Generic[F]):
    """Where reports go: the formats that are printed, and those that are written to files."""

    printed: tuple[F, ...]
    files: tuple[tuple[F, Path], ...]


def outputs_of(
    forms: Sequence[tuple[F, Path | None]], output: Path | None, default: F
) -> Outputs[F]:
    """What --format and --output ask for, in the ``default`` format if they name none.

    Raises `Rejected` if that is not clear.
    """
    printed = list(dict.fromkeys(form for form, path in forms if path is None))
    files = [(form, path) for form, path in forms if path is not None]
    if output is not None:
        if len(printed) > 1:
            raise _unclear("--output takes one format; say --format FORM=FILE for each")
        files.append((printed[0] if printed else default, output))
        printed = []
    elif not printed:
        printed = [default]
    if len(printed) > 1 and any(form in ALONE for form in printed):
        what = f"{' and '.join(printed)} cannot both be printed; say --format FORM=FILE"
        raise _unclear(what)
    paths = [path for _, path in files]
    for path in paths:
        if paths.count(path) > 1:
            raise _unclear(f"{path} is to hold two reports")
    return Outputs(tuple(printed), tuple(files))


def _unclear(what: str) -> Rejected:
    return Rejected([Problem("F021", None, what)])


@dataclass(slots=True)
class Writer:
    """Follows a run, spec by spec, and writes its reports."""

    plan: Plan
    outputs: Outputs[Form]
    detail: Detail
    problems: list[Problem] = field(default_factory=list[Problem])
    _specs: list[SpecRun] = field(default_factory=list[SpecRun])
    _useless: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.problems += self.plan.problems

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The checks that have run."""
        return self.whole.results

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the last check."""
        return bool(self.results) and self.results[-1].outcome.interrupted

    @property
    def _request(self) -> Request:
        return self.plan.request

    def _report(self) -> Report:
        count = sum(len(spec.jobs) for spec in self.plan.specs)
        return Report(self.detail, count, new_page)

    def run(self, reporter: Reporter) -> None:
        """Runs the checks, until the user stops one."""
        try:
            warn(warning for spec in self.plan.specs for warning in warnings_of(spec))
            for spec in self.plan.specs:
                if not self.interrupted:
                    self._spec(spec, reporter)
        finally:
            reporter.stop()
            if self.plan.crew is not None:
                self.plan.crew.close()

    def _spec(self, plan: SpecPlan, reporter: Reporter) -> None:
        """Runs the checks of a spec."""
        report = self._report()

        def tell(text: str) -> None:
            if "text" in self.outputs.printed:
                say(text)

        def ended(one: CheckResult | Refusal) -> None:
            reporter.stop()
            tell(report.ended(one, plan))

        tell(report.head(plan))
        done = perform_all(
            plan,
            lambda job: reporter.start(f"{job.title} ({runner(job)})"),
            reporter,
            ended,
            self._useless,
            None if self.plan.crew is None else self.plan.crew.result,
            strictly,
        )
        self.problems += done.problems
        self._specs.append(SpecRun(plan, done))
        tell(report.rest(plan, [job.title for job in done.left]))

    def finish(self) -> None:
        """Everything that is not printed as the run goes."""
        whole = self.whole
        for form in self.outputs.printed:
            if form != "text":
                say(made(form, whole, width()), commands=form == "github")
            elif whole.results:
                say(self._report().end(whole, command_line(self._request)))
        for form, path in self.outputs.files:
            if whole.unusable and form in LENIENT:
                complain(f"{path} is left as it was: not every spec could be checked")
            else:
                replace(path, made(form, whole, width(), self.detail))

    @property
    def whole(self) -> Whole:
        """The run, as far as it has gone."""
        specs, problems = tuple(self._specs), tuple(self.problems)
        return Whole(self._request, specs, problems, __version__, versions(), self.plan.unchecked)
