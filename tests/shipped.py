"""The shipped models, and of those with many checks a few."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

Check = TypeVar("Check")

ROOT = Path(__file__).resolve().parents[1]
MODELS = sorted(path for path in (ROOT / "models").rglob("*.fence") if path.parent.name != "lib")
"""Folders named lib hold modules that models share."""


def has_many_checks(path: Path) -> bool:
    """Whether the checks of a model run much the same code, with other constants."""
    return path.stem.startswith(("txn_", "epoch_"))


def a_few(path: Path, checks: Sequence[Check], count: int) -> Sequence[Check]:
    """All checks, or where a model has many at most ``count`` of them, spread evenly."""
    if not has_many_checks(path) or len(checks) <= count:
        return checks
    return [checks[number * len(checks) // count] for number in range(count)]
