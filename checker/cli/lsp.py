"""The command `fencepost lsp`, which starts the language server."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import click

from fencepost.checker.run.judge import Exit
from fencepost.spec.text.problem import Problem, Rejected

_SERVER = "fencepost.checker.lsp.server"
NEEDED = ("pygls", "lsprotocol")


@click.command(
    short_help="Start the language server for editors.",
    epilog="""\b
Example:  fencepost lsp
Editors start this command; docs/editor.md describes the setup for each editor.""",
)
@click.option("--stdio", is_flag=True, help="Accepted for editors that pass it; has no effect.")
def lsp(stdio: bool) -> int:
    """Serve the Language Server Protocol on standard input and output. Editors use it for
    diagnostics, hover, navigation and completion."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        message = f"the language server needs {missing[0]}; pip install 'fencepost[lsp]'"
        raise Rejected([Problem("F021", None, message)])
    # The server is imported here because other commands must not load its libraries.
    import_module(_SERVER).serve()
    return Exit.OK
