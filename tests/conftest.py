"""The options of the test suite, and hooks that restrict which tests run."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from unittest import mock

import pytest
from tests.support import browser, tlc

from fencepost.spec.elaborate.claims import program
from fencepost.spec.syntax import parse_table

collect_ignore = (
    []
    if browser.WANTED
    else ["checker/report/test_trace_page.py", "checker/web/test_explorer_page.py"]
)
"""Pages are tested in a browser if one is installed; see ``browser.py``."""
if not tlc.WANTED:
    collect_ignore += ["checker/tla_export/test_tlc.py", "docs/test_tla_pairs.py"]
    collect_ignore += ["spec/tla/test_expressions.py"]

HERE = Path(__file__).resolve().parent

QUICK = (
    "test_layers.py", "test_golden.py", "spec/core", "spec/elaborate", "spec/semantics",
    "spec/syntax", "spec/text", "checker/printing", "checker/reference", "checker/search",
    "checker/report/test_text.py", "checker/test_api.py", "checker/test_layout.py",
    "checker/test_operators.py",
    *(
        f"models/test_shipped.py::test_checks_of_a_shipped_model[{model}-{engine}]"
        for model in ("die_hard", "ewd840", "lamport_mutex")
        for engine in ("local", "bmc", "induction")
    ),
)  # fmt: skip
"""The tests that ``pytest -m quick`` runs: files, folders and single tests in this folder."""

SLOW = ("spec/syntax/test_formatter.py",)
"""Files in these folders whose tests take too long for the quick tier."""

COLLECT_AFTER = 100_000
"""Garbage is collected after this number of new objects, as in the command."""

collect_ignore_glob = ["*.fence"]
"""Specs below this folder are test data; our plugin for pytest would run them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the expected output of golden specs"
    )


def pytest_report_header() -> list[str]:
    """Lists the tests that are not collected on this machine."""
    missing: list[str] = []
    if not browser.WANTED:
        missing.append("not installed: chromedriver; no page is tried in a browser")
    if not tlc.WANTED:
        names = ", ".join(tlc.MISSING)
        missing.append(f"not installed: {names}; TLC does not judge exported modules")
    return missing


def pytest_configure() -> None:
    """Prepares the process for tests that start child processes.

    Some tests interrupt their children. A shell makes background processes ignore SIGINT, and their
    children would inherit that. A checkout that is not installed has no parse table: generating it
    in each of the many processes would take longer than most tests.
    """
    parse_table.write()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Forbids reading specs and building models during collection, since every worker collects all
    tests.
    """
    refused = AssertionError("a spec is read while tests are collected: do it in the test")
    with mock.patch.object(program, "read_files", side_effect=refused):
        return (yield)


def pytest_collection_finish() -> None:
    """Freezes the objects that exist after collection.

    Tests, modules and examples live until the end, and the models that tests build are large:
    collecting garbage at Python's default rate takes a third of the time of the tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignores the tests of Spark, which start Java, and the tests that need brokers, unless they
    are named (``pytest tests/spark``).

    With ``-m quick``, also ignores files without a test of the quick tier, since collecting all
    tests takes as long as running that tier.
    """
    if config.option.markexpr == "quick" and collection_path.is_file():
        name = collection_path.relative_to(HERE).as_posix()
        if name != "conftest.py" and not any(name.startswith(q.partition("::")[0]) for q in QUICK):
            return True
    if collection_path not in (HERE / "spark", HERE / "live"):
        return None
    named = [(config.invocation_params.dir / arg.partition("::")[0]) for arg in config.args]
    return None if any(path.is_relative_to(collection_path) for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the quick tier."""
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name.startswith(QUICK) and not name.startswith(SLOW):
            item.add_marker("quick")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes a skipped test fail in CI, with the reason why it was skipped."""
    report = yield
    if "CI" in os.environ and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and CI skips nothing: {report.longrepr}"
    return report


@pytest.fixture(autouse=True, scope="session")
def _no_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Prevents tests from using the user's cache.

    The workers of one run share their compiled code, as concurrent checks of one user do.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        yield
