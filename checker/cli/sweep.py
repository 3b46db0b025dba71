"""The command `fencepost sweep`, which runs one check for several values of a constant, one after
the other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias, assert_never, get_args

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import check_meant, loaded
from fencepost.checker.cli.options import (
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    one_check,
    shared_option,
)
from fencepost.checker.cli.progress import Reporter
from fencepost.checker.cli.terminal import flush, is_terminal, new_page, say, width
from fencepost.checker.printing.page import Page
from fencepost.checker.report import json
from fencepost.checker.report.sweep import (
    Row,
    rows_of,
    sweep_csv,
    sweep_object,
    write_head,
    write_row,
)
from fencepost.checker.request import Limits
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, exit_code
from fencepost.checker.run.settings import Settings
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.text.problem import Problem, Rejected

MAX_ROWS = 1000
RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")
MAX_DIGITS = 40
"""Bounds of a range with more digits are not converted, because no integer type includes them."""

Form: TypeAlias = Literal["text", "csv", "json"]
"""The formats of the table."""
Values = Mapping[str, str]


@click.command(
    short_help="Run a check for several values of constants.",
    epilog="""\b
Example:  fencepost sweep race.fence --check fixed --const Transactions=1..4
Exit code: as for `fencepost check`, over all rows.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check("Run this check.")
@CONSTANTS
@PATHS
@shared_option("--engine", help="Engine: local (default), interpreter, bmc, ...")
@shared_option("--depth")
@shared_option("--max-states", help="Stop a row after N states.")
@shared_option("--timeout", help="Stop a row after 90s, 5m, 1h.")
@shared_option("--workers")
@shared_option("--memory", help="Stop a row at 4G, 512M, 80% of memory.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    default="text",
    help="Format of the table.",
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the table to a file.")
@click.option("--no-progress", "quiet", is_flag=True, help="Hide progress on stderr.")
def sweep(
    spec: Path,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    engine: str | None,
    depth: int | None,
    max_states: int | None,
    timeout: float | None,
    workers: int | None,
    memory: int | None,
    form: Form,
    output: Path | None,
    quiet: bool,
) -> int:
    """Run one check of SPEC for each value of a constant: `--const N=3..8` gives six values,
    `--const N=1,5,9` three. With several such constants, every combination is run."""
    if output is not None:
        check_writable(output)
    rows = _rows(constants)
    program = loaded(spec, search)
    check = check_meant(program, name)
    limits = Limits(depth, max_states, timeout, memory, workers)
    jobs = [prepare(program, check, Settings(dict(values), (), engine, limits)) for values in rows]
    swept = [{n: values[n] for n in values if len({row[n] for row in rows}) > 1} for values in rows]
    live = form == "text" and output is None
    results = _performed(jobs, swept, live, quiet)
    table = rows_of(swept, results)
    if not live:
        text = _text(form, program, check, swept, table)
        if output is None:
            say(text)
        else:
            replace(output, text)
    return exit_code(results)


def _rows(constants: Sequence[tuple[str, str]]) -> list[Values]:
    """Returns the combinations of values of all constants. Raises `Rejected` if no constant has
    several values.
    """
    choices = {name: _values(name, text) for name, text in constants}
    if all(len(values) < 2 for values in choices.values()):
        notes = ((None, "--const N=3..8 is six values, --const N=1,5,9 three"),)
        raise Rejected([Problem("F021", None, "no constant has several values", notes)])
    rows = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    if len(rows) > MAX_ROWS:
        raise Rejected([_too_many(f"{len(rows):,} rows")])
    return list(rows)


def _values(name: str, text: str) -> list[str]:
    """Returns the distinct values that a text denotes: a range of integers, a list, or one
    value.
    """
    span = RANGE.fullmatch(text)
    if span is None and ".." in text and not any(bracket in text for bracket in "([{"):
        message = f"--const {name}={text}: a range has an integer on each side, like 3..8"
        raise Rejected([Problem("F021", None, message)])
    if span is not None and max(map(len, span.groups())) > MAX_DIGITS:
        message = f"--const {name}: the bounds of a range have at most {MAX_DIGITS} digits"
        raise Rejected([Problem("F021", None, message)])
    if span is not None:
        low, high = map(int, span.groups())
        if high < low:
            raise Rejected([Problem("F021", None, f"--const {name}={text}: {text} is empty")])
        if high - low >= MAX_ROWS:
            raise Rejected([_too_many(f"--const {name}={text}: {high - low + 1:,} values")])
        return [str(number) for number in range(low, high + 1)]
    if any(bracket in text for bracket in "([{"):
        return [text]
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _too_many(subject: str) -> Problem:
    return Problem("F021", None, f"{subject} are too many; a sweep has at most {MAX_ROWS:,}")


def _performed(
    jobs: Sequence[Job], swept: Sequence[Values], live: bool, quiet: bool
) -> list[CheckResult]:
    """Runs all rows until the user interrupts. If ``live`` is true, prints each row as soon as it
    ends.
    """
    reporter = Reporter(sys.stderr, live=is_terminal(sys.stderr), quiet=quiet)
    results: list[CheckResult] = []
    if live:
        _show(swept, None)
    for job in jobs:
        values = ", ".join(f"{name} = {text}" for name, text in swept[len(results)].items())
        reporter.start(f"{job.title}, {values}")
        try:
            results.append(perform(job, reporter))
        finally:
            reporter.stop()
        if live:
            _show(swept, rows_of(swept, results)[-1])
        if results[-1].outcome.interrupted:
            break
    return results


def _show(swept: Sequence[Values], row: Row | None) -> None:
    page = new_page()
    if row is None:
        write_head(page, swept)
    else:
        write_row(page, swept, row)
    say(page.text())
    flush()


def _text(
    form: Form, program: Program, check: Check, swept: Sequence[Values], rows: Sequence[Row]
) -> str:
    match form:
        case "csv":
            return sweep_csv(rows)
        case "json":
            return json.dumps(sweep_object(str(program.path), check.name, rows, __version__))
        case "text":
            page = Page(width())
            write_head(page, swept)
            for row in rows:
                write_row(page, swept, row)
            return page.text()
        case _:
            assert_never(form)
