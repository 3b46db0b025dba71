"""A pytest plugin that turns every `check` of every collected ``*.fence`` file into a test. It does
so with every TLA+ module whose configuration states the expected result, too.

pytest loads this module through the entry point ``fencepost`` in every session of an environment
that has Fencepost installed. It therefore imports the rest of the plugin on demand.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SPECS = "fencepost.checker.pytest_specs"
"""The module that creates tests from specs."""
SUFFIXES = (".fence", ".tla")
"""The suffixes of spec files and TLA+ modules, the same as in `spec.text.library`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the plugin's options. They have the same meaning as the options of `fencepost check`."""
    group = parser.getgroup("fencepost", "specs of protocols (*.fence)")
    group.addoption("--fence-slow", action="store_true", help="run slow checks of specs, too")
    group.addoption("--fence-timeout", metavar="T", help="stop a check of a spec after 90s, 5m, 1h")
    group.addoption("--fence-engine", metavar="NAME", help="the engine that runs checks of specs")
    group.addoption(
        "--fence-path", metavar="DIR", action="append", default=[],
        help="look for modules of specs here, too",
    )  # fmt: skip
    group.addoption("--no-fence", action="store_true", help="collect no specs")


def pytest_configure(config: pytest.Config) -> None:
    """Rejects an invalid timeout before collection."""
    if config.getoption("--fence-timeout") is not None:
        _specs().timeout(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collects a spec as a file of tests."""
    if file_path.suffix not in SUFFIXES or parent.config.getoption("--no-fence"):
        return None
    if file_path.suffix != SUFFIXES[0] and not _specs().is_tested(file_path, parent):
        return None
    spec_file: pytest.File = _specs().file(file_path, parent)
    return spec_file


def _specs() -> Any:
    return import_module(SPECS)
