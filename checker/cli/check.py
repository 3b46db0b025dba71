"""The command `fencepost check`, which runs the checks of specs and reports each result as soon as
its check ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import warn
from fencepost.checker.cli.options import (
    FILE,
    FORMATS,
    SPEC,
    OptionalValues,
    Outputs,
    Unlisted,
    checked,
    outputs_of,
    request_options,
    topics,
)
from fencepost.checker.cli.progress import Reporter
from fencepost.checker.cli.terminal import (
    complain,
    flush,
    is_terminal,
    new_page,
    refuse,
    say,
    versions,
    width,
)
from fencepost.checker.cli.watch import watch
from fencepost.checker.native.machine.code_cache import Cache, written_by_another_key
from fencepost.checker.options import LONG, MODULES, SPARK, SYMBOLIC
from fencepost.checker.report.assurance import strictly
from fencepost.checker.report.baseline import read
from fencepost.checker.report.formats import Form, made
from fencepost.checker.report.info import describe_check
from fencepost.checker.report.several import FULL, Detail, Report
from fencepost.checker.report.whole_run import SpecRun, Whole, warnings_of
from fencepost.checker.run.judge import CheckResult, Exit, exit_code
from fencepost.checker.run.session import (
    Plan,
    Refusal,
    SpecPlan,
    SpecResults,
    begun,
    perform_all,
    programs,
)
from fencepost.checker.run.settings import Request, request_of
from fencepost.checker.run.words import runner
from fencepost.checker.trace import itf
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.of_search import result_document
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected

SPECS = click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=SPEC)


@click.command(
    cls=OptionalValues,
    optional=("--cross-check",),
    short_help="Search the reachable states of specs.",
    epilog=f"""\b
{topics(SYMBOLIC, LONG, SPARK, MODULES)}
Reports (docs/ci.md): --trace-style, --summary, --remarks, --remarks-baseline, --baseline
Example:  fencepost check race.fence --const N=2;  fencepost check M.tla --config M2.cfg
Exit code: 0 as expected, 3 inconclusive, 4 not found, 10 assumption, 11 deadlock, 12 invariant,
13 step invariant, 14 assertion, 75 evaluation error, 150 error in a spec, 151 wrong option.""",
)
@SPECS
@request_options
@click.option("--list", "listed", is_flag=True, help="List the checks without running them.")
@click.option("--trace", "trace", metavar="FILE", type=FILE, help="Save the trace (ITF JSON).")
@FORMATS
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
@click.option("-v", "--verbose", count=True, help="Show a line per check; -vv: checks in full.")
@click.option("-q", "--quiet", is_flag=True, help="Show only unexpected results.")
@click.option("--trace-style", cls=Unlisted, type=click.Choice(["full", "steps"]), default="full")
@click.option("--summary", cls=Unlisted, is_flag=True)
@click.option("--remarks", cls=Unlisted, is_flag=True)
@click.option("--remarks-baseline", cls=Unlisted, metavar="FILE", type=FILE)
@click.option("--baseline", cls=Unlisted, metavar="FILE", type=FILE)
@click.option("--no-progress", "silent", is_flag=True, help="Hide progress on stderr.")
@click.option("--watch", "watching", is_flag=True, help="Rerun specs when they change.")
def check(
    specs: tuple[Path, ...],
    listed: bool,
    trace: Path | None,
    forms: tuple[tuple[Form, Path | None], ...],
    output: Path | None,
    verbose: int,
    quiet: bool,
    trace_style: str,
    summary: bool,
    remarks: bool,
    remarks_baseline: Path | None,
    baseline: Path | None,
    silent: bool,
    watching: bool,
    **values: Any,
) -> int:
    """Run the checks of each SPEC (a *.fence file, a folder, or a *.tla module)."""
    request = request_of(specs, checked(values))
    smt2: Path | None = values["smt2"]
    profile = request.settings.profile
    if listed:
        return _list(request)
    if quiet and (verbose or profile):
        louder = "--verbose" if verbose else "--profile"
        raise Rejected([Problem("F021", None, f"{louder} and --quiet contradict each other")])
    outputs: Outputs[Form] = outputs_of(forms, output, "text")
    if baseline is not None and "html" not in (*outputs.printed, *(f for f, _ in outputs.files)):
        raise Rejected([Problem("F021", None, "--baseline needs --format html")])
    detail = Detail(
        -1 if quiet else FULL if profile else verbose,
        trace_style == "steps",
        summary,
        remarks or remarks_baseline is not None,
        None if remarks_baseline is None else read(remarks_baseline),
        None if baseline is None else read(baseline),
    )
    for path in (*(path for _, path in outputs.files), trace, smt2):
        if path is not None:
            check_writable(path)

    def run(request: Request) -> int:
        return _run(request, outputs, detail, trace, smt2, silent)

    if watching:
        return watch(request, run, whole=bool(outputs.files or trace or smt2))
    return run(request)


def _run(
    request: Request,
    outputs: Outputs[Form],
    detail: Detail,
    trace: Path | None,
    smt2: Path | None,
    silent: bool,
) -> int:
    """Runs the checks, and reports the results and any problems. Returns the exit code."""
    if detail.verbosity > 0:
        foreign, entries = Cache().foreign()
        if foreign:
            complain(f"note: {written_by_another_key(foreign, entries)}")
    writer = Writer(begun(request), outputs, detail)
    writer.run(Reporter(sys.stderr, live=is_terminal(sys.stderr), quiet=silent))
    writer.finish()
    if trace is not None:
        _save_trace(trace, writer.whole)
    if smt2 is not None and writer.results:
        _save_script(smt2, writer.results)
    if writer.problems:
        return refuse(writer.problems, writer.results)
    return exit_code(writer.results)


def _list(request: Request) -> int:
    loaded, problems, *_ = programs(request)
    page = new_page()
    for program in loaded:
        page.line((str(program.path), "title"))
        for run in program.runs:
            if run.name:
                page.words("  ", describe_check(run), 4)
        if not any(run.name for run in program.runs):
            page.line("  no checks: the spec itself")
    say(page.text())
    return refuse(problems) if problems else Exit.OK


def _save_trace(path: Path, whole: Whole) -> None:
    chosen = whole.traced
    if chosen is None or chosen.finding is None:
        complain(f"no check found a trace: {path} is not written")
        return
    finding = chosen.finding
    assert finding.trace is not None
    why = causes(chosen.job.model, finding.trace, finding)
    replace(path, itf.dumps(result_document(chosen, finding, __version__, why)))
    complain(f"trace of {chosen.job.title} saved in {path}")


def _save_script(path: Path, results: Sequence[CheckResult]) -> None:
    """Writes the assertions and queries for Z3. Those of each check follow a ``(reset)``."""
    parts = [
        f"; {result.job.title}, engine {result.job.engine}\n(reset)\n{result.outcome.script}"
        for result in results
        if result.outcome.script is not None
    ]
    replace(path, "".join(parts))
    complain(f"questions to Z3 saved in {path}")


@dataclass(slots=True)
class Writer:
    """Runs a plan spec by spec and writes its reports."""

    plan: Plan
    outputs: Outputs[Form]
    detail: Detail
    problems: list[Problem] = field(default_factory=list[Problem])
    _specs: list[SpecRun] = field(default_factory=list[SpecRun])
    _useless: dict[str, tuple[Problem, ...]] = field(default_factory=dict[str, tuple[Problem, ...]])

    def __post_init__(self) -> None:
        self.problems += self.plan.problems

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The results so far."""
        return self.whole.results

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted the last check."""
        return bool(self.results) and self.results[-1].outcome.interrupted

    @property
    def _request(self) -> Request:
        return self.plan.request

    def _report(self) -> Report:
        return Report(self.detail, self.plan.specs, new_page, single=self._request.single)

    def run(self, reporter: Reporter) -> None:
        """Runs the checks until the last one ends or the user interrupts one."""
        try:
            warnings = [warning for spec in self.plan.specs for warning in warnings_of(spec)]
            warn(w for w in warnings if not (w.minor and self.detail.verbosity < 0))
            for spec in self.plan.specs:
                if self.interrupted:
                    report = self._report()
                    self._tell(report.head(spec))
                    self._end(SpecRun(spec, SpecResults((), spec.jobs)), report)
                else:
                    self._spec(spec, reporter)
        finally:
            reporter.stop()
            if self.plan.crew is not None:
                self.plan.crew.close()

    def _spec(self, plan: SpecPlan, reporter: Reporter) -> None:
        """Runs the checks of one spec."""
        report = self._report()

        def ended(result: CheckResult | Refusal) -> None:
            reporter.stop()
            self._tell(report.ended(result))

        self._tell(report.head(plan))
        done = perform_all(
            plan,
            lambda job: reporter.start(f"{job.title} ({runner(job)})"),
            reporter,
            ended,
            self._useless,
            None if self.plan.crew is None else self.plan.crew.result,
            self._judged,
        )
        self.problems += [problem for problem in done.problems if problem not in self.problems]
        self._end(SpecRun(plan, done), report)

    def _end(self, run: SpecRun, report: Report) -> None:
        self._specs.append(run)
        self._tell(report.rest(run))

    def _tell(self, text: str) -> None:
        if text and "text" in self.outputs.printed:
            say(text)
            # The log of a build shows each line as soon as it is known.
            flush()

    def _judged(self, result: CheckResult) -> CheckResult:
        baseline = self.detail.remarks_baseline
        return strictly(result, None if baseline is None else baseline.has)

    def finish(self) -> None:
        """Writes the reports that were not printed during the run."""
        whole = self.whole
        for form in self.outputs.printed:
            if form != "text":
                say(made(form, whole, width()), commands=form == "github")
            elif whole.has_summary:
                say(self._report().end(whole))
        for form, path in self.outputs.files:
            replace(path, made(form, whole, width(), self.detail))

    @property
    def whole(self) -> Whole:
        """The run so far."""
        plan, specs, problems = self.plan, tuple(self._specs), tuple(self.problems)
        return Whole(
            plan.request, specs, problems, __version__, versions(), plan.refused, plan.unchecked,
            plan.skipped,
        )  # fmt: skip
