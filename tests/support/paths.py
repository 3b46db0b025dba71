"""The path of this checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def spec_text(name: str) -> str:
    """Reads a spec in the folder ``specs``, whose files are used by several tests."""
    return Path(__file__).with_name("specs").joinpath(f"{name}.fence").read_text("utf-8")
