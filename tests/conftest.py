"""Options of the test suite, and what it may not do."""

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
"""Pages are tried in a browser where there is one: see ``browser.py``."""
if not tlc.WANTED:
    collect_ignore += ["checker/tla/test_tlc.py", "docs/test_tla_pairs.py"]

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
"""Where the tests of ``pytest -m quick`` are: files, folders and single tests below this folder."""

SLOW = ("spec/syntax/test_formatter.py",)
"""Files in those folders whose tests take too long for the quick tier."""

COLLECT_AFTER = 100_000
"""Garbage is looked for when this many objects are new, as it is by the command."""

collect_ignore_glob = ["*.fence"]
"""Specs below this folder are the matter of tests; our plugin of pytest would run them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the expected output of golden specs"
    )


def pytest_report_header() -> list[str]:
    """What is not collected on this machine."""
    missing: list[str] = []
    if not browser.WANTED:
        missing.append("not installed: chromedriver; no page is tried in a browser")
    if not tlc.WANTED:
        what = ", ".join(tlc.MISSING)
        missing.append(f"not installed: {what}; TLC does not judge exported modules")
    return missing


def pytest_configure() -> None:
    """Tests interrupt what they start. A shell has what runs in its background ignore that, and so
    would all that is started there. And a checkout that was not installed has no parse table:
    that each of the many processes made its own would take longer than most tests.
    """
    parse_table.write()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Every worker collects all tests: no spec is read while that goes on, and no model built."""
    refused = AssertionError("a spec is read while tests are collected: do it in the test")
    with mock.patch.object(program, "read_files", side_effect=refused):
        return (yield)


def pytest_collection_finish() -> None:
    """Tests, modules and examples stay to the end, and the models that tests build are large:
    looking for garbage as often as Python usually does takes a third of the time of the tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignores the tests of Spark, which start Java, and those of brokers, unless they are named
    (``pytest tests/spark``). With ``-m quick``, ignores files without a test of the quick tier,
    since collecting all tests takes as long as running those.
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
    """In CI every test runs: one that would be skipped fails there, with its reason."""
    report = yield
    if "CI" in os.environ and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and CI skips nothing: {report.longrepr}"
    return report


@pytest.fixture(autouse=True, scope="session")
def _no_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """No test reads or leaves compiled code in the cache of the user. The workers of one run share
    what they compile, as the checks of a user do who runs several at once.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        yield
