"""Words of the command line: values of options, and what to say about a wrong word.

It does not know what the options mean.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from fencepost.checker.cli import completing
from fencepost.checker.printing import units
from fencepost.checker.report.formats import FORMS
from fencepost.checker.search.interrupts import deferred
from fencepost.spec.text.library import SUFFIX, is_file, is_folder, shipped, shipped_models
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

_Command = TypeVar("_Command", bound=Callable[..., Any])
F = TypeVar("F", bound=str)


def constant(text: str) -> tuple[str, str]:
    """``K=V``, as a pair."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise click.BadParameter(f'"{text}" does not read NAME=VALUE')
    return name.strip(), value.strip()


def constants(
    ctx: click.Context, param: click.Parameter, given: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """The values of constants, of which each is set once."""
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f'the constant "{name}" is set more than once')
    return given


def setting(text: str) -> tuple[str, str]:
    """``spark.x.y=V``, as a pair; V may be empty."""
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.BadParameter(f'"{text}" does not read spark.NAME=VALUE')
    return name, value


def at_least(low: int, most: int | None = None) -> Callable[[str], int]:
    """Whole numbers from ``low`` up, or to ``most``; ``1_000_000`` is one."""

    def convert(text: str) -> int:
        digits = text.strip().replace("_", "")
        if digits.isascii() and digits.isdigit() and len(digits) <= 18:
            number = int(digits)
            if number >= low and (most is None or number <= most):
                return number
        where = f"from {low} up" if most is None else f"from {low} to {most}"
        raise click.BadParameter(f'"{text}" is no whole number {where}')

    return convert


def size(text: str) -> int:
    """``4G``, ``512M``, ``80%``: bytes."""
    try:
        return units.memory(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def duration(text: str) -> float:
    """``90``, ``90s``, ``1.5m``, ``2h``: seconds."""
    try:
        return units.duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def names(text: str) -> tuple[str, ...]:
    """``a,b``; nothing at all is no name."""
    found = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    if "" in found:
        raise click.BadParameter(f'"{text}" is no list of names')
    return found


def report_form(forms: Sequence[F]) -> Callable[[str], tuple[F, Path | None]]:
    """``junit`` or ``junit=FILE``, as a pair; one of these forms."""

    def convert(text: str) -> tuple[F, Path | None]:
        word, equals, file = text.partition("=")
        form = next((known for known in forms if known == word), None)
        if form is None:
            hint = suggestion(word, forms) or f"; there is {listing(forms, 'and')}"
            raise click.BadParameter(f'"{word}" is no format{hint}')
        if equals and not file:
            raise click.BadParameter(f'"{text}" names no file')
        return form, Path(file) if equals else None

    return convert


FORMATS = click.option(
    "--format",
    "forms",
    metavar="FORM[=FILE]",
    type=report_form(FORMS),
    multiple=True,
    shell_complete=completing.one_of(FORMS),
    help="text, json, junit, sarif, github, html; several.",
)
FILE = click.Path(path_type=Path, readable=False)
"""A file or folder by name, of which a shell completes the name; whether it is there, and what is
in it, is for those who read it."""


class _Spec(click.Path):
    """A spec or a folder of them, by its path; or the name of one that comes with Fencepost."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        there = is_file(path) or is_folder(path)
        return path if there else shipped(str(path)) or path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        files = super().shell_complete(ctx, param, incomplete)
        if not incomplete:
            return files
        ours = [name for name in shipped_models() if name.startswith(incomplete)]
        return [*files, *(CompletionItem(name) for name in ours)]


SPEC = _Spec(path_type=Path, readable=False)


def refuse_exchanged(command: str, spec: Path, other: Path | str, *, spec_first: bool) -> None:
    """Raises `Rejected` if ``other`` is a spec and ``spec`` is none: the user exchanged them."""
    if spec.suffix == SUFFIX or not str(other).endswith(SUFFIX) or not is_file(Path(other)):
        return
    ordered = (other, spec) if spec_first else (spec, other)
    words = shlex.join(["fencepost", *command.split(), *map(str, ordered)])
    what = f"{other} is a spec and {spec} is not, so these two arguments are exchanged"
    raise Rejected([Problem("F021", None, what, ((None, f"write: {words}"),))])


PATHS = click.option(
    "--path", "search", metavar="DIR", multiple=True, type=FILE, help="Also look for modules here."
)
CONSTANTS = click.option(
    "--const",
    "constants",
    metavar="K=V",
    multiple=True,
    type=constant,
    callback=constants,
    shell_complete=completing.constants,
    help="Set a constant.",
)


def one_check(help: str = "With the constants of this check.") -> Callable[[_Command], _Command]:
    """The option that names a check."""
    return click.option(
        "--check", "name", metavar="NAME", shell_complete=completing.checks, help=help
    )


CHECKS = click.option(
    "--check",
    "checks",
    metavar="NAME",
    multiple=True,
    shell_complete=completing.checks,
    help="Only this check.",
)
INVARIANTS = click.option(
    "--invariant",
    "invariants",
    metavar="I",
    multiple=True,
    shell_complete=completing.properties,
    help="Only this property.",
)


class Unlisted(click.Option):
    """An option that the help only names, in one line with the others of its kind."""

    def get_help_record(self, ctx: click.Context) -> None:
        return None


class OptionalValues(click.Command):
    """A command with options that may have a value, written behind ``=``: ``--x`` or ``--x=V``.

    What click knows as an optional value may also be the next word, which may be a file here.
    """

    def __init__(self, *, optional: Sequence[str], **rest: Any) -> None:
        super().__init__(**rest)
        self._optional = frozenset(optional)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        given = [f"{word}=" if word in self._optional else word for word in args[:end]]
        return super().parse_args(ctx, [*given, *args[end:]])


class SuggestingGroup(click.Group):
    """A group of commands that knows what a misspelt one may have meant.

    ``elsewhere`` are commands whose modules are loaded when they are wanted, so that none pays for
    another's: the module and the name of each there.
    """

    def __init__(
        self, *, elsewhere: Mapping[str, tuple[str, str]] | None = None, **rest: Any
    ) -> None:
        super().__init__(**rest)
        self._elsewhere = elsewhere or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        # The same order whichever are loaded by now.
        return [*(name for name in self.commands if name not in self._elsewhere), *self._elsewhere]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._elsewhere and cmd_name not in self.commands:
            module, name = self._elsewhere[cmd_name]
            with deferred():
                self.add_command(getattr(import_module(module), name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            names = self.list_commands(ctx)
            hint = suggestion(word, names)
            if not hint and word.endswith(".fence"):
                hint = f'; did you mean "fencepost check {word}"?'
            known = ", ".join(names)
            ctx.fail(f'there is no command "{word}"{hint}\nnote: the commands are {known}')
        return super().resolve_command(ctx, args)


def usage_problem(error: click.UsageError) -> Problem:
    """A wrong word on the command line as a problem, with a suggestion where there is one."""
    help_ = f"{error.ctx.command_path} --help" if error.ctx else "fencepost --help"
    notes = ((None, f'"{help_}" lists what there is'),)
    match error:
        case click.NoSuchOption():
            known: list[str] = []
            if error.ctx is not None:
                for parameter in error.ctx.command.params:
                    known += parameter.opts if isinstance(parameter, click.Option) else []
            hint = suggestion(error.option_name, known)
            return Problem("F020", None, f'there is no option "{error.option_name}"{hint}', notes)
        case click.MissingParameter():
            name = error.param.make_metavar(error.ctx) if error.param and error.ctx else "argument"
            if isinstance(error.param, click.Option):
                name = error.param.opts[0]
            return Problem("F021", None, f"{name} is missing", notes)
        case click.BadParameter():
            name = error.param.opts[0] if error.param and error.param.opts else "argument"
            return Problem("F021", None, f"{name}: {_lower(error.message)}", notes)
        case _:
            first, _, more = _lower(error.format_message()).partition("\nnote: ")
            code = "F022" if first.startswith("there is no command") else "F021"
            extra = ((None, more),) if more else notes
            return Problem(code, None, first, extra)


def _lower(message: str) -> str:
    """click's sentences in the form of ours."""
    return f"{message[:1].lower()}{message[1:]}".rstrip(".")
