"""The command `fencepost fmt`, which rewrites specs in the standard layout."""

from __future__ import annotations

from difflib import unified_diff
from io import StringIO
from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import replace as write
from fencepost.checker.cli.options import FILE, refuse_modules
from fencepost.checker.cli.terminal import complain, refuse, say
from fencepost.checker.folders import SpecFinder, summary
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.words import plural
from fencepost.spec.records import replace
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.library import read
from fencepost.spec.text.problem import Rejected, printable
from fencepost.spec.text.source import Source

UNFORMATTED = 1


@click.command(
    short_help="Format specs.",
    epilog="""\b
Example:  fencepost fmt models/ --check
Exit code: 0 success, 1 with --check if a spec would change.""",
)
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=FILE)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Change nothing; print a diff and exit 1 if a spec would change.",
)
@click.option("--diff", "only_diff", is_flag=True, help="Change nothing; print a diff.")
def fmt(specs: tuple[Path, ...], only_check: bool, only_diff: bool) -> int:
    """Format each SPEC (a *.fence file or a folder of them) in the standard layout."""
    for spec in specs:
        refuse_modules(spec, "fmt")
    finder = SpecFinder(specs)
    paths = [path for spec in specs for path in finder.specs(spec)]
    problems = finder.problems
    if finder.problems and not (only_check or only_diff):
        # A file that git ignores may belong to an installed package.
        raise Rejected(replace(problem, warning=False) for problem in finder.problems)
    changed = 0
    for path in dict.fromkeys(paths):
        try:
            source = read(path)
            text = formatted(source)
            if text == source.text:
                continue
            if not (only_check or only_diff):
                write(path, text)
        except Rejected as rejected:
            problems += rejected.problems
            continue
        changed += 1
        if not only_diff:
            say(printable(f"{'would change' if only_check else 'formatted'} {path}") + "\n")
        if only_check or only_diff:
            say(printable(_diff(source, text)))
    if not changed and all(p.warning for p in problems) and not only_diff:
        say(f"{plural(len(paths), 'spec')} already in the standard layout\n")
    if skipped := summary(finder.skipped):
        complain(skipped)
    code = refuse(problems) if problems else Exit.OK
    return UNFORMATTED if only_check and changed and not code else code


def _diff(source: Source, text: str) -> str:
    """Returns the changes of a spec as a unified diff, which `patch` can apply."""
    before, after = (StringIO(part).readlines() for part in (source.text, text))
    lines = unified_diff(before, after, source.name, source.name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
