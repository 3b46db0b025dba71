"""A pytest plugin: every `check` of every ``*.fence`` file that pytest collects is a test.

pytest loads it through the entry point ``fencepost`` in every session of every environment with
Fencepost installed, so it imports the rest on demand.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SPECS = "fencepost.checker.pytest_specs"
"""The module that creates tests from specs."""
SUFFIX = ".fence"
"""The suffix of specs (`spec.text.library`)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the plugin's options, which mean the same as for `fencepost check`."""
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
    """Rejects an invalid duration before collection."""
    if config.getoption("--fence-timeout") is not None:
        _specs().timeout(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collects a spec as a file of tests."""
    if file_path.suffix != SUFFIX or parent.config.getoption("--no-fence"):
        return None
    spec_file: pytest.File = _specs().file(file_path, parent)
    return spec_file


def _specs() -> Any:
    return import_module(SPECS)
