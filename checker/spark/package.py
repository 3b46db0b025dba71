"""This package as a file that executors can import, for those that do not have it."""

from __future__ import annotations

import zipfile
from pathlib import Path

SHIPPED = ("spec", "checker")
"""What tasks import is below these; models are not, and llvmlite must be there."""


def pack(target: Path) -> None:
    """Writes the package to a zip file."""
    # Links are followed as they are: in a checkout they show the package as it is installed.
    package = Path(__file__).absolute().parents[2]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(package / "__init__.py", "fencepost/__init__.py")
        for folder in SHIPPED:
            for path in sorted((package / folder).rglob("*.py")):
                file.write(path, f"fencepost/{path.relative_to(package).as_posix()}")
