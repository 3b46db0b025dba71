"""The command as a process, from its first moment: an interrupt ends it without a traceback even
while Python is still loading what `cli` needs.

It imports nothing heavy, and it does not know what the command does.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module
from typing import NoReturn

INTERRUPTED = 130


def entry() -> NoReturn:
    """Runs the command, and ends the process with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    import_module("fencepost.checker.cli").entry()
    raise AssertionError("the command ends the process")


def ready() -> None:
    """From here on an interrupt is Python's own `KeyboardInterrupt`: somebody is there for it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    """There is nothing to tidy up yet."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
