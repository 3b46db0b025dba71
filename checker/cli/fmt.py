"""The command `fencepost fmt`, which rewrites specs in the standard layout."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import replace
from fencepost.checker.cli.options import (
    FILE,
)
from fencepost.checker.cli.terminal import refuse, say
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.words import plural
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.library import is_folder, read, specs_below
from fencepost.spec.text.problem import Problem, Rejected, printable

UNFORMATTED = 1


@click.command(
    short_help="Format specs.",
    epilog="""\b
Example:  fencepost fmt models/ --check
Exit code: 0 success, 1 with --check if a spec would change.""",
)
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=FILE)
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit 1 if a spec would change."
)
def fmt(specs: tuple[Path, ...], only_check: bool) -> int:
    """Format each SPEC (a *.fence file or a folder of them) in the standard layout."""
    paths = [p for spec in specs for p in (specs_below(spec) if is_folder(spec) else [spec])]
    problems: list[Problem] = []
    changed = 0
    for path in dict.fromkeys(paths):
        try:
            source = read(path)
            text = formatted(source)
            if text == source.text:
                continue
            if not only_check:
                replace(path, text)
        except Rejected as rejected:
            problems += rejected.problems
            continue
        changed += 1
        say(printable(f"{'would change' if only_check else 'formatted'} {path}") + "\n")
    if not changed and not problems:
        say(f"{plural(len(paths), 'spec')} already in the standard layout\n")
    if problems:
        return refuse(problems)
    return UNFORMATTED if only_check and changed else Exit.OK
