"""The Python interface: `check` runs a spec like the command ``fencepost check`` and returns the
results.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from fencepost import __version__
from fencepost.checker.options import OPTIONS, mistakes
from fencepost.checker.outcome import Resumed, Verdict
from fencepost.checker.printing import units
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report.assurance import strictly
from fencepost.checker.report.json import natural_step, spec_object
from fencepost.checker.report.text import write_check, write_foot
from fencepost.checker.request import ignored
from fencepost.checker.resources import roomy
from fencepost.checker.run.check import perform
from fencepost.checker.run.cross_check import cross_checked
from fencepost.checker.run.judge import CheckResult, Exit, exit_code
from fencepost.checker.run.session import Plan, plan
from fencepost.checker.run.settings import Request, command_line, request_of
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected, listing


@dataclass(frozen=True, slots=True)
class Result:
    """The results of a spec's checks, in file order. ``str`` formats them as the text report.

    ``verdict``, the counts and ``trace`` belong to `first`: the first check with an unexpected
    result, or the first check if every result is as expected.
    """

    request: Request
    checks: tuple[CheckResult, ...]

    @property
    def first(self) -> CheckResult:
        return next((result for result in self.checks if not result.as_expected), self.checks[0])

    @property
    def as_expected(self) -> bool:
        return all(result.as_expected for result in self.checks)

    @property
    def exit_code(self) -> Exit:
        """The exit code that the command would return for these results."""
        return exit_code(self.checks)

    @property
    def verdict(self) -> Verdict:
        return self.first.outcome.verdict

    @property
    def property_name(self) -> str | None:
        """The name of the violated or unreached property; None if there is none or it has no
        name.
        """
        finding = self.first.finding
        if finding is None or finding.property is None:
            return None
        return self.first.job.model.properties[finding.property].name or None

    @property
    def distinct(self) -> int | None:
        """The number of distinct states. This and `generated` are None if the engine does not count
        states.
        """
        statistics = self.first.outcome.statistics
        return statistics.distinct if statistics.counted else None

    @property
    def generated(self) -> int | None:
        statistics = self.first.outcome.statistics
        return statistics.generated if statistics.counted else None

    @property
    def depth(self) -> int:
        return self.first.outcome.statistics.depth

    @property
    def trace(self) -> list[dict[str, Json]] | None:
        """The steps of the trace as ``{"action", "arguments", "state"}``, with values in natural
        JSON form.
        """
        finding = self.first.finding
        if finding is None or finding.trace is None:
            return None
        return [natural_step(self.first.job.model, step) for step in finding.trace.steps]

    @property
    def resumed(self) -> Resumed | None:
        """The checkpoint that the search continued; None if it started from the beginning."""
        return self.first.outcome.resumed

    def to_json(self) -> dict[str, Json]:
        """Returns the object that ``--format json`` prints."""
        return spec_object(str(self.request.specs[0]), __version__, self.checks)

    def __getitem__(self, name: str) -> CheckResult:
        """Returns the result of the check ``name``. Raises `KeyError` if there is no such check."""
        for result in self.checks:
            if result.job.check.name == name:
                return result
        raise KeyError(name)

    def __str__(self) -> str:
        page = Page()
        names = max(len(result.job.title) for result in self.checks)
        for result in self.checks:
            write_check(page, result, names)
        python = ".".join(map(str, sys.version_info[:3]))
        versions = f"fencepost {__version__}, Python {python}"
        write_foot(page, self.checks, command_line(self.request), versions)
        return page.text()


@roomy
def check(
    spec: str | PathLike[str],
    *,
    const: Mapping[str, bool | int | str] | None = None,
    checks: Sequence[str] = (),
    invariants: Sequence[str] = (),
    config: Sequence[str | PathLike[str]] = (),
    allow_read: Sequence[str | PathLike[str]] = (),
    engine: str | None = None,
    path: Sequence[str | PathLike[str]] = (),
    slow: bool = False,
    strict: bool = False,
    keep_going: bool = False,
    counterexamples: int | None = None,
    symmetry: bool = True,
    depth: int | None = None,
    max_states: int | None = None,
    timeout: float | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    solver_timeout: float | None = None,
    cross_check: bool | Sequence[str] = False,
    master: str | None = None,
    partitions: int | None = None,
    spark_conf: Mapping[str, str] | None = None,
    session: object = None,
    checkpoint: str | None = None,
    resume: str | None = None,
    resume_unsigned: bool = False,
    spill: str | None = None,
    save_states: str | None = None,
    ship_package: bool = False,
) -> Result:
    """Runs the checks of ``spec`` (one file) and compares the results with their expectations.

    ``const`` overrides constants with numbers, booleans, or text in the specification language.
    ``config`` holds the TLC configurations of a TLA+ module; each is a check. The module may read
    files in the folders ``allow_read``. ``memory`` is a number of bytes, or text as on the command
    line. ``session`` is a `SparkSession` or
    `SparkContext`, which the engine ``spark`` uses unchanged. ``cross_check`` may be a sequence of
    engine names. The other arguments are the options of ``fencepost check``; ``symmetry=False`` is
    the same as ``--no-symmetry``.

    Raises `Rejected`, whose text is the command's message, if the spec or an argument cannot be
    used, and `cross_check.Disagreement` if the compared engines disagree.
    """
    # The parameters have the names that the table of options lists for Python.
    values = locals()
    values["const"] = tuple((name, _text(value)) for name, value in (const or {}).items())
    values["no_symmetry"] = not symmetry
    values["memory"] = _bytes(memory)
    values["path"] = tuple(Path(folder) for folder in path)
    values["config"] = tuple(Path(file) for file in config)
    values["allow_read"] = tuple(Path(folder) for folder in allow_read)
    values["spark_conf"] = tuple((spark_conf or {}).items())
    default = () if cross_check else None
    values["cross_check"] = default if isinstance(cross_check, bool) else tuple(cross_check)
    wrong = [Problem("F021", None, text) for text in mistakes(values, NAMES)]
    if wrong:
        raise Rejected(wrong)
    return _run(plan(request_of((Path(spec),), values)))


NAMES = {option.flag: option.name for option in OPTIONS}


def _run(prepared: Plan) -> Result:
    if prepared.problems:
        raise Rejected(prepared.problems)
    results: list[CheckResult] = []
    for job in (job for spec in prepared.specs for job in spec.jobs):
        run = perform if job.settings.cross_check is None else cross_checked
        results.append(strictly(run(job, ignored)))
        if results[-1].outcome.interrupted:
            break
    if not results:
        slow = [name for spec in prepared.specs for name in spec.left]
        message = f"every check of the spec is slow ({listing(slow, 'and')}); say slow=True"
        raise Rejected([Problem("F023", None, message)])
    return Result(prepared.request, tuple(results))


def _bytes(memory: int | str | None) -> int | None:
    try:
        return units.memory(memory) if isinstance(memory, str) else memory
    except ValueError as error:
        raise Rejected([Problem("F021", None, f"memory: {error}")]) from None


def _text(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
