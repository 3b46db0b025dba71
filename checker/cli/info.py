"""The command `fencepost info`, which shows the parts of a spec."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.checker.cli.models import check_named
from fencepost.checker.cli.options import (
    CONSTANTS,
    PATHS,
    SPEC,
    one_check,
)
from fencepost.checker.cli.terminal import (
    new_page,
    say,
)
from fencepost.checker.report.info import write_info, write_translation
from fencepost.checker.run.check import load, looked_at, translate
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.session import missing_folders
from fencepost.spec.text.problem import Rejected


@click.command(
    short_help="Show the declarations and sizes of a spec.",
    epilog="\b\nExample:  fencepost info race.fence --const Verify=false",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check()
@CONSTANTS
@PATHS
def info(
    spec: Path, name: str | None, constants: tuple[tuple[str, str], ...], search: tuple[Path, ...]
) -> int:
    """Show the variables of SPEC and their bits, the sizes of a state and of the machine code, the
    actions, properties and constants, and the number of states, estimated by a short search. That
    search also finds the ranges of variables of the type int."""
    missing = missing_folders(search)
    if missing:
        raise Rejected(missing)
    program = load(spec, search)
    chosen = check_named(program, name)
    page = new_page()
    model, reached = looked_at(program, chosen, dict(constants))
    write_info(page, program, model, reached)
    write_translation(page, *translate(model, chosen))
    say(page.text())
    return Exit.OK
