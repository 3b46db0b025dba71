"""Creates pytest tests from specs. The plugin imports this module when it finds a spec.

Checks run as in the command, but with one worker if pytest itself runs in several processes. A
check with an unexpected result fails, and its report, including the trace, is shown as the failure.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import pytest

from fencepost.checker.evaluator.program import EXPECTED
from fencepost.checker.printing.page import Page
from fencepost.checker.printing.units import duration
from fencepost.checker.report.baseline import new_remarks
from fencepost.checker.report.text import MAX_LINES, write_check, write_remarks, write_shortened
from fencepost.checker.report.whole_run import place, sentence
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import is_module, load, perform, prepare
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.session import has_name
from fencepost.checker.run.settings import Settings
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.records import dataclass
from fencepost.spec.text.library import CONFIG_SUFFIX, is_file, read
from fencepost.spec.text.problem import Rejected

Node = TypeVar("Node", bound=pytest.Collector | pytest.Item)
WIDTH = 100


def timeout(config: pytest.Config) -> float | None:
    """Returns the timeout of a check in seconds. Raises `UsageError` if the option is not a valid
    duration.
    """
    text: str | None = config.getoption("--fence-timeout")
    try:
        return None if text is None else duration(text)
    except ValueError as error:
        raise pytest.UsageError(f"--fence-timeout: {error}") from None


def file(path: Path, parent: pytest.Collector) -> SpecFile:
    """Creates the collector for a spec's tests."""
    return _maker(SpecFile)(parent, path=path)


def is_tested(module: Path, parent: pytest.Collector) -> bool:
    """Returns whether a TLA+ module is a test: its configuration states the expected result, or the
    command line of pytest names the module.
    """
    config = module.with_suffix(CONFIG_SUFFIX)
    if not is_file(config):
        return False
    return parent.session.isinitpath(module) or EXPECTED.search(read(config).text) is not None


def _maker(kind: type[Node]) -> Callable[..., Node]:
    """Returns the factory with which pytest requires nodes of a class to be created. The factory is
    untyped.
    """
    make: Callable[..., Node] = cast(Any, kind).from_parent
    return make


class SpecFile(pytest.File):
    """The checks and scenarios of a spec. A spec without any has no tests."""

    def collect(self) -> Iterator[CheckItem]:
        """Reads the spec and yields its tests. Raises `Rejected`, which pytest reports as a
        collection error.
        """
        folders: list[str] = self.config.getoption("--fence-path") or []
        search = [Path(folder) for folder in folders]
        program = load(self._shown(), search)
        for check in program.runs:
            if has_name(check) or is_module(program):
                name = check.name or program.name
                yield _maker(CheckItem)(self, name=name, program=program, check=check)

    def _shown(self) -> Path:
        """Returns the path as reports show it: relative to pytest's working directory if
        possible.
        """
        here = self.config.invocation_params.dir
        return self.path.relative_to(here) if self.path.is_relative_to(here) else self.path

    # Pytest narrows the type of this hook in its own subclass. Both classes here do the same.
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        """Formats every problem of a spec that was rejected."""
        if isinstance(excinfo.value, Rejected):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))


class CheckItem(pytest.Item):
    """One check or scenario."""

    def __init__(self, *, program: Program, check: Check, **rest: object) -> None:
        # Pytest passes its own arguments through `from_parent` and may add more.
        super().__init__(**rest)  # type: ignore[arg-type]
        self.program = program
        self.check = check
        if check.slow and not self.config.getoption("--fence-slow"):
            self.add_marker(pytest.mark.skip("slow: --fence-slow runs it"))

    def runtest(self) -> None:
        """Runs the check. Raises `Unexpected` if the result is unexpected, and `Rejected` if the
        check cannot run.
        """
        result = perform(prepare(self.program, self.check, self._settings()), ignored)
        if result.outcome.interrupted:
            raise KeyboardInterrupt
        remarks = Page(WIDTH)
        write_remarks(remarks, new_remarks(result))
        if text := remarks.text():
            # pytest -rP shows the sections of tests that passed.
            self.add_report_section("call", "remarks", text)
        if not result.as_expected:
            raise Unexpected(result)

    def repr_failure(  # type: ignore[override]
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> str | Failure:
        """Formats the report of the check."""
        error = excinfo.value
        if isinstance(error, Rejected):
            return str(error)
        if not isinstance(error, Unexpected):
            return str(super().repr_failure(excinfo))
        page = Page(WIDTH)
        page.line(str(error))
        page.blank()
        if self.config.get_verbosity() > 0:
            write_check(page, error.result)
        else:
            write_shortened(page, error.result, self._again(), limit=MAX_LINES - len(page))
        return Failure(page.text(), Crash(str(error)))

    def _again(self) -> str:
        """Returns the command that shows the check in full."""
        words = ["fencepost", "check", str(self.program.path)]
        words += ["--check", self.check.name] if has_name(self.check) else []
        folders: list[str] = self.config.getoption("--fence-path") or []
        for folder in folders:
            words += ["--path", folder]
        return shlex.join(words)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Returns the location of the check in the spec."""
        line = self.check.span.line - 1 if self.check.span else 0
        kind = "check" if self.check.scenario is None else "scenario"
        return self.path, line, f"{kind} {self.name}"

    def _settings(self) -> Settings:
        seconds = timeout(self.config)
        # If pytest runs tests in parallel, the check itself uses one worker.
        workers = 1 if "PYTEST_XDIST_WORKER" in os.environ else None
        limits = Limits(timeout=seconds, workers=workers)
        engine = None if is_module(self.program) else self.config.getoption("--fence-engine")
        return Settings(engine=engine, limits=limits)


class Unexpected(Exception):
    """Raised when a check has an unexpected result."""

    def __init__(self, result: CheckResult) -> None:
        where = place(result)
        super().__init__(f"{where.source.name}:{where.line}: {sentence(result)}")
        self.result = result


@dataclass(frozen=True, slots=True)
class Crash:
    """The message of a failure in pytest's short summary."""

    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure report in the form that pytest expects."""

    text: str
    reprcrash: Crash

    def __str__(self) -> str:
        return self.text

    def toterminal(self, terminal: Lines) -> None:
        """Writes the report with the first line in red."""
        first, _, rest = self.text.partition("\n")
        terminal.line(first, red=True, bold=True)
        terminal.line(rest.rstrip("\n"))


class Lines(Protocol):
    """The methods of pytest's terminal writer that are used here."""

    def line(self, text: str = "", **markup: bool) -> None: ...
