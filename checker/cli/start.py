"""The entry point of the command. It installs signal handlers before it loads other modules."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import NoReturn

from fencepost.checker.cli import INTERRUPTED


def entry() -> NoReturn:
    """Runs the command and ends the process.

    A signal that arrives during imports ends the process at once, because a library that is
    interrupted may raise other exceptions.
    """
    # Loaded modules live until the process ends. `main.entry` enables collection again.
    gc.disable()
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handled = [number for number in numbers if signal.getsignal(number) in defaults]
    try:
        for number in handled:
            signal.signal(number, _leave)
        if sys.argv[1:2] == ["lsp"] and sys.argv[2:] in ([], ["--stdio"]):
            import_module("fencepost.checker.lsp.greeting").greet()
        command = import_module("fencepost.checker.cli.main")
        for number in handled:
            # SIGTERM and SIGHUP need this, too: their default handlers end the process with another
            # exit code.
            signal.signal(number, signal.default_int_handler)
        command.entry()
    except KeyboardInterrupt:
        # The interrupt arrived while the command was not handling interrupts.
        pass
    _leave(signal.SIGINT, None)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
