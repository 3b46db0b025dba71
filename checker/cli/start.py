"""The command as a shell starts it: it hears Ctrl-C before anything else is loaded."""

from __future__ import annotations

import gc
import os
import signal
from importlib import import_module
from types import FrameType
from typing import NoReturn

from fencepost.checker.cli import INTERRUPTED


def entry() -> NoReturn:
    """Runs the command and ends the process. While modules are loaded an interrupt, or a request to
    end, ends it at once: a library that is interrupted there may report something else.
    """
    # What is loaded stays; `main.entry` says when garbage is looked for.
    gc.disable()
    usual = (signal.SIG_DFL, signal.default_int_handler)
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) in usual]
    try:
        for number in heard:
            signal.signal(number, _leave)
        command = import_module("fencepost.checker.cli.main")
        for number in heard:
            # SIGTERM and SIGHUP, too: their default would end the process with another code.
            signal.signal(number, signal.default_int_handler)
        command.entry()
    except KeyboardInterrupt:
        # Before or behind everything that hears of one.
        pass
    _leave(signal.SIGINT, None)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
