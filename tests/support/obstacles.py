"""Simulates an incomplete machine in a process: ``python -m tests.support.obstacles TASK``.

The missing parts are removed before anything of the package is loaded. Then the commands run, and
their results are written as JSON.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.command import Ran


@dataclass(frozen=True)
class Machine:
    """A simulated machine without some modules and attributes of modules (given by dotted names).

    Unless ``locks`` is set, it cannot lock files. ``variables`` are added to its environment.
    """

    modules: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    locks: bool = True
    variables: dict[str, str] = field(default_factory=dict[str, str])


def run_there(machine: Machine, folder: Path, commands: Sequence[str]) -> list[Ran]:
    """Runs commands on such a machine, one after the other in a folder, and returns their
    results.
    """
    from tests.support.command import Ran
    from tests.support.processes import finished

    task = json.dumps({"machine": asdict(machine), "commands": [*commands]})
    words = (sys.executable, "-m", "tests.support.obstacles", task)
    done = finished(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    return [Ran(*left) for left in json.loads(done.stdout)]


def _take_away(machine: dict[str, Any]) -> None:
    os.environ.update(machine["variables"])
    # This module depends on the system's real name, so it is loaded before the name changes.
    import_module("platformdirs")
    for name in machine["modules"]:
        sys.modules[name] = None  # type: ignore[assignment]
    for path in machine["attributes"]:
        name, _, attribute = path.rpartition(".")
        delattr(import_module(name), attribute)
    if not machine["locks"]:
        import fcntl

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        fcntl.flock = refuse


def _main() -> None:
    task = json.loads(sys.argv[1])
    _take_away(task["machine"])
    from tests.support.command import run

    left = [run(*words.split(), folder=Path(os.getcwd())) for words in task["commands"]]
    json.dump([[ran.code, ran.stdout, ran.stderr] for ran in left], sys.stdout)


if __name__ == "__main__":
    _main()
