"""The command `fencepost export`, which writes the checks of a spec for another checker."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import cannot_write, check_writable, replace
from fencepost.checker.cli.models import check_meant, loaded
from fencepost.checker.cli.options import CHECKS, CONSTANTS, FILE, PATHS, SPEC
from fencepost.checker.cli.terminal import say
from fencepost.checker.run.check import prepare
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.session import unknown_checks
from fencepost.checker.run.settings import Request, Settings
from fencepost.checker.tla_export.module import Export, exported
from fencepost.checker.tla_export.names import Names, names_of
from fencepost.checker.tla_export.values import NotExported
from fencepost.spec.text.problem import Problem, Rejected, printable


@click.command(
    short_help="Export the checks of a spec to TLA+.",
    epilog="\b\nExample:  fencepost export race.fence --to tla --check fixed --output tla/",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@click.option("--to", "target", type=click.Choice(["tla"]), required=True, help="Target language.")
@CHECKS
@CONSTANTS
@PATHS
@click.option(
    "--output",
    metavar="DIR",
    type=FILE,
    default=Path("."),
    help="Output folder (default: the current folder).",
)
def export(
    spec: Path,
    target: str,
    checks: tuple[str, ...],
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    output: Path,
) -> int:
    """Write a TLA+ module and a configuration for each check of SPEC. TLC then visits the same
    states. Checks that cannot be exported are reported, and the others are exported."""
    program = loaded(spec, search)
    unknown = list(unknown_checks(Request((spec,), checks), (program,)))
    if unknown:
        raise Rejected(unknown)
    for name in checks:
        check_meant(program, name)
    chosen = [check for check in program.checks if not checks or check.name in checks]
    taken = Names()
    names = names_of(program.name, [check.name for check in chosen], taken)
    # No engine will run. This engine is always installed.
    settings = Settings(dict(constants), (), "interpreter")
    exports: list[Export] = []
    problems: list[Problem] = []
    for check in chosen:
        try:
            exports.append(exported(prepare(program, check, settings), names[check.name], taken))
        except NotExported as reason:
            subject = check.name or program.name
            message = f"{subject} cannot be written as TLA+: {reason.reason}"
            problems.append(Problem("F045", reason.span, message))
        except Rejected as rejected:
            problems += rejected.problems
    if exports:
        _write(exports, output)
    if problems:
        # The other checks are exported even if one cannot be.
        raise Rejected(problems)
    return Exit.OK


def _write(exports: list[Export], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise cannot_write(folder, "it is not a folder") from None
    except OSError as error:
        raise cannot_write(folder, error.strerror or "the system refuses") from None
    texts = {folder / name: text for export in exports for name, text in export.files.items()}
    for path in texts:
        check_writable(path)
    for path, text in texts.items():
        replace(path, text)
        say(printable(f"written {path}") + "\n")
