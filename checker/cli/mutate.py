"""The command `fencepost mutate`, which finds out which changes of a spec its checks notice."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.options import (
    CHECKS,
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    at_least,
    duration,
    shared_option,
)
from fencepost.checker.cli.terminal import complain, new_page, say, width
from fencepost.checker.printing.page import Page
from fencepost.checker.report import json
from fencepost.checker.report.mutation import campaign_object, write_campaign, write_mutant
from fencepost.checker.report.text import write_check
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import perform
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, Exit
from fencepost.checker.run.session import chosen, programs, unknown_checks
from fencepost.checker.run.settings import Request, Settings
from fencepost.checker.run.words import plural
from fencepost.checker.tools.mutate import (
    Campaign,
    Fate,
    Trial,
    attempt,
    campaign,
    changes,
    jobs,
    sampled,
)
from fencepost.spec.mutation.mutants import KINDS, Mutant
from fencepost.spec.text.library import is_folder
from fencepost.spec.text.problem import Problem, Rejected

PROGRESS_SECONDS = 5.0


@click.command(
    short_help="Find changes of a spec that no check detects.",
    epilog="""\b
Example:  fencepost mutate race.fence --check fixed --sample 50
Exit code: 0 all changes detected or without effect, 3 inconclusive, 4 a change not detected; that
of `fencepost check` if a check of the unchanged spec is not as expected.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@CHECKS
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Try only changes of this kind.",
)
@click.option("--sample", metavar="N", type=at_least(1), help="Try N evenly spaced changes.")
@CONSTANTS
@PATHS
@shared_option("--engine", help="Engine: local (default), interpreter.")
@shared_option("--slow", help="Include slow checks.")
@shared_option("--timeout", help="Stop each check of a mutant after T.")
@click.option("--total", metavar="T", type=duration, help="Start no mutant after 90s, 5m, 1h.")
@shared_option("--workers")
@shared_option("--memory", help="Stop a check at 4G, 512M, 80% of memory.")
@click.option("--list", "listed", is_flag=True, help="List the changes without trying them.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List the detected changes, too, and show every change in full.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the report.",
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
@click.option("--no-progress", "quiet", is_flag=True, help="Hide progress on stderr.")
def mutate(
    spec: Path,
    checks: tuple[str, ...],
    kinds: tuple[str, ...],
    sample: int | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    engine: str | None,
    slow: bool,
    timeout: float | None,
    total: float | None,
    workers: int | None,
    memory: int | None,
    listed: bool,
    everything: bool,
    form: str,
    output: Path | None,
    quiet: bool,
) -> int:
    """Weaken the protocol of SPEC by one change at a time, and run its checks on each mutant. A
    change that no check detects shows a part of the spec that no property covers."""
    limits = Limits(None, None, timeout, memory, workers)
    settings = Settings(dict(constants), (), engine, limits)
    if output is not None:
        check_writable(output)
    ready = _ready(Request((spec,), checks, slow, search, settings))
    every = changes(ready, kinds)
    if listed:
        return _list(sampled(every, sample))
    began = time.monotonic()
    baseline: list[CheckResult] = []
    for job in ready:
        result = perform(job, ignored)
        if not result.as_expected:
            return _unexpected(result)
        baseline.append(result)
    work = campaign(baseline, every, sample)
    reports = _reports(work, began, total, quiet)
    _tell(work, reports, form == "json", everything, output)
    return _exit(work, reports)


def _ready(request: Request) -> tuple[Job, ...]:
    """Prepares the selected checks. Raises `Rejected` if the spec or a check cannot be used."""
    if is_folder(request.specs[0]):
        message = f"{request.specs[0]} is a folder, not a spec"
        raise Rejected([Problem("F003", None, message)])
    loaded, problems, *_ = programs(request)
    unknown = list(unknown_checks(request, loaded))
    if problems or unknown:
        raise Rejected([*problems, *unknown])
    checks, _ = chosen(request, loaded[0])
    if not checks:
        message = f"every check of {request.specs[0]} is slow; --slow runs them"
        raise Rejected([Problem("F023", None, message)])
    return jobs(loaded[0], checks, request.settings)


def _list(every: Sequence[Mutant]) -> int:
    page = new_page()
    for mutant in every:
        write_mutant(page, mutant)
    page.line(f"{plural(len(every), 'change')}")
    say(page.text())
    return Exit.OK


def _unexpected(result: CheckResult) -> int:
    page = new_page()
    write_check(page, result)
    say(page.text())
    complain("this check fails without any change, so no change is tried")
    return result.exit


def _reports(work: Campaign, began: float, total: float | None, quiet: bool) -> list[Trial]:
    """Tries the changes until the user interrupts or the total time is used up."""
    reports: list[Trial] = []
    shown = began
    try:
        for number, mutant in enumerate(work.mutants):
            now = time.monotonic()
            if total is not None and now - began > total:
                break
            if not quiet and now - shown > PROGRESS_SECONDS:
                shown = now
                all_ = plural(len(work.mutants), "change")
                complain(f"{number:,} of {all_}, {now - began:,.0f} s")
            report = attempt(work, mutant)
            if report is None:
                break
            reports.append(report)
    except KeyboardInterrupt:
        pass
    return reports


def _tell(
    work: Campaign, reports: Sequence[Trial], as_json: bool, everything: bool, output: Path | None
) -> None:
    if as_json:
        text = json.dumps(campaign_object(work, reports, __version__))
    else:
        page = new_page() if output is None else Page(width())
        write_campaign(page, work, reports, everything)
        text = page.text()
    if output is None:
        say(text)
    else:
        replace(output, text)


def _exit(work: Campaign, reports: Sequence[Trial]) -> int:
    fates = {report.fate for report in reports}
    if Fate.SURVIVED in fates:
        return Exit.NOT_FOUND
    undecided = Fate.UNDECIDED in fates or len(reports) < len(work.mutants)
    return Exit.INCONCLUSIVE if undecided else Exit.OK
