"""Fencepost, a model checker for protocols: `check` runs a spec, `fencepost` is the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.checker.api import Result, check
    from fencepost.spec.text.problem import Rejected

__all__ = ["Rejected", "Result", "__version__", "check"]
__version__ = "0.1.0"

# Loaded on first use, so that a tool which needs only the language does not load the checker.
HOMES = {
    "check": "fencepost.checker.api",
    "Result": "fencepost.checker.api",
    "Rejected": "fencepost.spec.text.problem",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'fencepost' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value
