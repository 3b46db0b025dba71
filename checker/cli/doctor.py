"""The commands `fencepost doctor` and `fencepost completion`, which concern the installation."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fencepost.checker.cli.terminal import new_page, say
from fencepost.checker.run.judge import Exit
from fencepost.checker.tools.doctor import findings

TOPIC = 19
STYLES = {"works": "good", "missing": "warn", "fails": "bad"}
PROGRAM = "fencepost"
VARIABLE = "_FENCEPOST_COMPLETE"
"""The environment variable through which the shell requests completions."""


@click.command(
    short_help="Check the installation.",
    epilog="""\b
Example:  fencepost doctor
Exit code: 0 all required parts work, 151 one of them fails; other engines may be missing.""",
)
def doctor() -> int:
    """Check Python, processors and memory, and run each engine on a small spec."""
    code = Exit.OK
    for finding in findings():
        page = new_page()
        lead = f"{finding.topic:<{TOPIC}} {finding.state:<8} "
        page.words((lead, STYLES[finding.state]), finding.detail, len(lead))
        say(page.text())
        if finding.state == "fails" and finding.needed:
            code = Exit.USAGE
    return code


@click.command(
    short_help="Print the completion script for a shell.",
    epilog="""\b
Example:  fencepost completion bash >> ~/.bashrc
          fencepost completion fish > ~/.config/fish/completions/fencepost.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print a script for SHELL that completes commands, options and files."""
    completion_class = get_completion_class(shell)
    assert completion_class is not None, shell
    root = click.get_current_context().find_root().command
    say(completion_class(root, {}, PROGRAM, VARIABLE).source() + "\n")
    return Exit.OK
