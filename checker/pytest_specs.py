"""The tests that the plugin of pytest makes of specs, loaded when there is one.

It runs checks as the command does, with one worker where pytest itself runs in several processes,
and fails where a check does not come out as expected; the report of the check, with the trace, is
then the report of the failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import pytest

from fencepost.checker.printing.page import Page
from fencepost.checker.printing.units import duration
from fencepost.checker.report.text import write_check
from fencepost.checker.report.whole_run import place, sentence
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import load, perform, prepare
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.session import has_name
from fencepost.checker.run.settings import Settings
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected

Node = TypeVar("Node", bound=pytest.Collector | pytest.Item)
WIDTH = 100


def timeout(config: pytest.Config) -> float | None:
    """The seconds that a check may take; raises `UsageError` for a duration that is none."""
    given: str | None = config.getoption("--fence-timeout")
    try:
        return None if given is None else duration(given)
    except ValueError as error:
        raise pytest.UsageError(f"--fence-timeout: {error}") from None


def file(path: Path, parent: pytest.Collector) -> SpecFile:
    """A spec as a file of tests."""
    return _maker(SpecFile)(parent, path=path)


def _maker(kind: type[Node]) -> Callable[..., Node]:
    """How pytest wants nodes of a kind to be made; it does not say what it takes."""
    make: Callable[..., Node] = cast(Any, kind).from_parent
    return make


class SpecFile(pytest.File):
    """The checks and scenarios of a spec; a module without any has no tests."""

    def collect(self) -> Iterator[CheckItem]:
        """Reads the spec. Raises `Rejected`, which pytest reports as an error of collection."""
        folders: list[str] = self.config.getoption("--fence-path") or []
        search = [Path(folder) for folder in folders]
        program = load(self._shown(), search)
        for check in program.runs:
            if has_name(check):
                yield _maker(CheckItem)(self, name=check.name, program=program, check=check)

    def _shown(self) -> Path:
        """The path as reports show it: from where pytest was called, if that is possible."""
        here = self.config.invocation_params.dir
        return self.path.relative_to(here) if self.path.is_relative_to(here) else self.path

    # Pytest's own class narrows the type of its hook, and so do both classes here.
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        """A spec that cannot be used: every problem, with its place."""
        if isinstance(excinfo.value, Rejected):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))


class CheckItem(pytest.Item):
    """One check or scenario."""

    def __init__(self, *, program: Program, check: Check, **rest: object) -> None:
        # Pytest hands its own arguments through (`from_parent`), and may add to them.
        super().__init__(**rest)  # type: ignore[arg-type]
        self.program = program
        self.check = check
        if check.slow and not self.config.getoption("--fence-slow"):
            self.add_marker(pytest.mark.skip("slow: --fence-slow runs it"))

    def runtest(self) -> None:
        """Runs the check. Raises `Unexpected`, and `Rejected` where it cannot be run."""
        result = perform(prepare(self.program, self.check, self._settings()), ignored)
        if result.outcome.interrupted:
            raise KeyboardInterrupt
        if not result.as_expected:
            raise Unexpected(result)

    def repr_failure(  # type: ignore[override]
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> str | Failure:
        """The report of the check."""
        error = excinfo.value
        if isinstance(error, Rejected):
            return str(error)
        if not isinstance(error, Unexpected):
            return str(super().repr_failure(excinfo))
        page = Page(WIDTH)
        page.line(str(error))
        page.blank()
        write_check(page, error.result)
        return Failure(page.text(), Crash(str(error)))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the check stands."""
        line = self.check.span.line - 1 if self.check.span else 0
        kind = "check" if self.check.scenario is None else "scenario"
        return self.path, line, f"{kind} {self.check.name}"

    def _settings(self) -> Settings:
        seconds = timeout(self.config)
        # Where pytest is parallel a check is not.
        workers = 1 if "PYTEST_XDIST_WORKER" in os.environ else None
        limits = Limits(timeout=seconds, workers=workers)
        return Settings(engine=self.config.getoption("--fence-engine"), limits=limits)


class Unexpected(Exception):
    """A check that did not come out as expected."""

    def __init__(self, result: CheckResult) -> None:
        where = place(result)
        super().__init__(f"{where.source.name}:{where.line}: {sentence(result)}")
        self.result = result


@dataclass(frozen=True, slots=True)
class Crash:
    """What pytest's summary says of a failure."""

    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The report of a failure, with the line for pytest's summary: what pytest expects of one."""

    text: str
    reprcrash: Crash

    def __str__(self) -> str:
        return self.text

    def toterminal(self, terminal: Lines) -> None:
        """Writes the report, in red its first line."""
        first, _, rest = self.text.partition("\n")
        terminal.line(first, red=True, bold=True)
        terminal.line(rest.rstrip("\n"))


class Lines(Protocol):
    """The part of pytest's writer that is used here."""

    def line(self, text: str = "", **markup: bool) -> None: ...
