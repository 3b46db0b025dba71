"""A plugin of pytest: every `check` of every ``*.fence`` that pytest meets is a test.

pytest finds it by the entry point ``fencepost``, and loads it in every session of whoever has
installed Fencepost: so it loads nothing itself until there is a spec, or an option of its own.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SPECS = "fencepost.checker.pytest_specs"
"""What makes tests of specs."""
SUFFIX = ".fence"
"""That of specs (`spec.text.library`)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin; what they mean is what they mean for `fencepost check`."""
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
    """Refuses a duration that is none before anything is collected."""
    if config.getoption("--fence-timeout") is not None:
        _specs().timeout(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """A spec is a file of tests."""
    if file_path.suffix != SUFFIX or parent.config.getoption("--no-fence"):
        return None
    made: pytest.File = _specs().file(file_path, parent)
    return made


def _specs() -> Any:
    return import_module(SPECS)
