"""The entry point of the command: it handles signals before other modules are loaded."""

from __future__ import annotations

import gc
import os
import signal
from importlib import import_module
from types import FrameType
from typing import NoReturn

from fencepost.checker.cli import INTERRUPTED


def entry() -> NoReturn:
    """Runs the command and ends the process.

    A signal during imports ends the process at once, since an interrupted library may raise other
    exceptions.
    """
    # Loaded modules are long-lived; `main.entry` enables collection.
    gc.disable()
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handled = [number for number in numbers if signal.getsignal(number) in defaults]
    try:
        for number in handled:
            signal.signal(number, _leave)
        command = import_module("fencepost.checker.cli.main")
        for number in handled:
            # For SIGTERM and SIGHUP too, whose default handlers end the process with another exit
            # code.
            signal.signal(number, signal.default_int_handler)
        command.entry()
    except KeyboardInterrupt:
        # An interrupt outside the command's own handling.
        pass
    _leave(signal.SIGINT, None)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
