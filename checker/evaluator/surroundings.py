"""The surroundings of a module: files in named folders, the environment, and standard error for
Print.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fencepost.spec.text.inputs import Kind, content
from fencepost.spec.text.library import is_folder, real
from fencepost.spec.text.problem import Problem, Rejected, harmless, printable
from fencepost.spec.tla.values.runtime import Runtime


def runtime(folders: Sequence[Path]) -> Runtime:
    """Returns the surroundings of a module that may read files in the given folders, and the
    environment if there are any. Raises `Rejected` if one of them is not a folder.
    """
    for folder in folders:
        if not is_folder(folder):
            message = f"--allow-read: there is no folder {folder}"
            raise Rejected([Problem("F021", None, message)])
    roots = [real(folder) for folder in folders]

    def read(file: str) -> str | None:
        path = real(Path(file))
        if not any(path.is_relative_to(root) for root in roots):
            return None
        # The path has no links, so a link that appears later is not followed.
        return content(path, Kind.DATA).decode("utf-8").removeprefix("\ufeff")

    surroundings = Runtime()
    surroundings.write = _printed
    if roots:
        surroundings.read = read
        surroundings.environment = {
            os.fsencode(name).decode("utf-8", "replace"): os.fsencode(value).decode(
                "utf-8", "replace"
            )
            for name, value in os.environ.items()
        }
    return surroundings


def _printed(text: str) -> None:
    # Output that cannot be written does not change the result.
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"{harmless(printable(text))}\n")
