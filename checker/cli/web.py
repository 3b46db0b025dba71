"""`fencepost explore --web`: the server, from its start to Ctrl-C."""

from __future__ import annotations

from contextlib import suppress

from fencepost.checker.cli.terminal import complain, flush, say
from fencepost.checker.run.judge import Exit
from fencepost.checker.tools.exploration import Exploration
from fencepost.checker.web.gate import ADDRESS
from fencepost.checker.web.server import Server
from fencepost.checker.web.words import Desk
from fencepost.spec.text.problem import Problem, Rejected


def serve(exploration: Exploration, port: int) -> int:
    """Serves the page of an exploration until the user ends it; the exit code. Raises `Rejected`
    where the port cannot be had.
    """
    desk = Desk(exploration)
    try:
        server = Server(desk, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "there is no such port"
        what = f"cannot serve at {ADDRESS}:{port}: {reason}"
        raise Rejected([Problem("F871", None, what)]) from None
    with server:
        say(f"the explorer is at {server.gate.url}\n")
        flush()
        complain(
            "Ctrl-C ends it; the address is a secret of yours: whoever has it can use the page"
        )
        with suppress(KeyboardInterrupt):
            server.serve_forever()
        desk.stop()
    if server.broken is not None:
        raise server.broken
    return Exit.OK
